/**
 * What every link must do, as a suite that any implementation runs: order, batches, backpressure, sizes, ends, and no bytes used after free.
 * Method: two ends, numbered frames whose content follows from their number, a sender that overwrites its batch as soon as `send` returns.
 */
import { describe, expect, it } from 'vitest';
import type { RoceError } from '../../packets/errors.ts';
import { Medium } from '../../packets/frame.ts';
import { type FrameBatch, FrameWriter } from '../../packets/frame-writer.ts';
import type { Link, LinkSink } from '../../src/links/link.ts';

export interface LinkPair {
  readonly a: Link;
  readonly b: Link;
  /** Resolves when frames can go both ways, after both ends have started. */
  ready(): Promise<void>;
  /** Lets the medium make progress: virtual time for a simulated link, a round of the event loop for a real one. */
  pump(): Promise<void>;
  /** Frees what `close` of both ends does not. */
  dispose(): Promise<void>;
}

export interface ComplianceOptions {
  /** Every frame that `send` took arrives, in order. */
  readonly lossless: true;
}

const HEADER_BYTES = 14;
const MIN_FRAME_BYTES = 60;

export function linkCompliance(name: string, makePair: () => Promise<LinkPair>, _options: ComplianceOptions): void {
  const inPair = (test: (ends: Ends) => Promise<void>) => async (): Promise<void> => {
    const pair = await makePair();
    const ends = { pair, a: new End(pair.a, 1), b: new End(pair.b, 2) };
    try {
      await ends.b.start();
      await ends.a.start();
      await pair.ready();
      await test(ends);
    } finally {
      await Promise.all([pair.a.close(), pair.b.close()]);
      await pair.dispose();
    }
  };

  describe(`${name} is a link`, () => {
    it('says what it is', async () => {
      const pair = await makePair();
      expect(pair.a.name).not.toBe('');
      expect(pair.a.mtu).toBeGreaterThanOrEqual(576);
      expect(pair.a.medium).toBe(pair.b.medium);
      await Promise.all([pair.a.close(), pair.b.close()]);
      await pair.dispose();
    });

    it(
      'delivers batches of every size in order, both ways at once',
      inPair(async ({ pair, a, b }) => {
        for (let size = 1; size <= 64; size++) {
          a.queue(size);
          b.queue(size);
          a.offer();
          b.offer();
        }
        await finish(pair, a, b);
      }),
    );

    it(
      'carries the shortest frame and the longest that the MTU allows, unchanged',
      inPair(async ({ pair, a, b }) => {
        for (const length of [MIN_FRAME_BYTES, 255, 256, 257, a.link.mtu, a.link.mtu + HEADER_BYTES])
          a.queue(3, length);
        await finish(pair, a, b);
        expect(b.longest).toBe(a.link.mtu + HEADER_BYTES);
      }),
    );

    it(
      'stops taking frames when the other end is slow, and takes all of them in the end',
      inPair(async ({ pair, a, b }) => {
        // Sent in one go, so that a reader in the same process has no turn: the link must say stop at some point.
        a.queue(6000, a.link.mtu);
        a.offer();
        expect(a.pending).toBeGreaterThan(0);
        expect(a.shortSends).toBe(1);
        await finish(pair, a, b);
        expect(a.writableCalls).toBeGreaterThan(0);
      }),
    );

    it(
      'carries 100,000 frames without loss',
      inPair(async ({ pair, a, b }) => {
        a.queue(100_000, MIN_FRAME_BYTES);
        await finish(pair, a, b);
      }),
    );

    it(
      'delivers what it has taken before it closes, and then nothing',
      inPair(async ({ pair, a, b }) => {
        a.queue(500, 1000);
        a.offer();
        const taken = a.sent;
        const closing = a.link.close();
        await until(pair, () => b.received === taken);
        await closing;
        expect(b.received).toBe(taken);
        expect([a.closedCalls, a.closedError]).toEqual([1, undefined]);
        a.queue(1);
        expect(() => a.offer()).not.toThrow();
        await a.link.close();
        for (let round = 0; round < 3; round++) await pair.pump();
        expect([b.received, a.closedCalls]).toEqual([taken, 1]);
      }),
    );

    it(
      'delivers nothing to an end that has closed',
      inPair(async ({ pair, a, b }) => {
        a.queue(500, 1000);
        a.offer();
        await b.link.close();
        const received = b.received;
        for (let round = 0; round < 10; round++) await pair.pump();
        expect([b.received, b.closedCalls]).toEqual([received, 1]);
      }),
    );
  });
}

interface Ends {
  readonly pair: LinkPair;
  readonly a: End;
  readonly b: End;
}

async function finish(pair: LinkPair, a: End, b: End): Promise<void> {
  a.offer();
  b.offer();
  await until(pair, () => a.pending + b.pending === 0 && b.received === a.sent && a.received === b.sent);
  for (let round = 0; round < 3; round++) await pair.pump();
  expect([a.received, b.received]).toEqual([b.sent, a.sent]);
}

/** Bounded by the time limit of the test for a real link; a simulated one would otherwise spin for ever. */
async function until(pair: LinkPair, condition: () => boolean): Promise<void> {
  for (let round = 0; round < 1_000_000 && !condition(); round++) await pair.pump();
  expect(condition()).toBe(true);
}

/** One end of the pair: sends numbered frames as the link takes them, checks those that arrive one by one. */
class End implements LinkSink {
  readonly link: Link;
  sent = 0;
  received = 0;
  longest = 0;
  shortSends = 0;
  writableCalls = 0;
  closedCalls = 0;
  closedError: RoceError | undefined;
  readonly #id: number;
  readonly #writer: FrameWriter;
  readonly #lengths: number[] = [];
  #next = 0;
  #sending = false;
  #blocked = false;

  constructor(link: Link, id: number) {
    this.link = link;
    this.#id = id;
    this.#writer = new FrameWriter(64, link.mtu + HEADER_BYTES);
  }

  start(): Promise<void> {
    return this.link.start(this);
  }

  /** Adds frames to be sent; of Ethernet size even on the IP medium, which does not look inside. */
  queue(count: number, length = 100): void {
    for (let i = 0; i < count; i++) this.#lengths.push(length);
  }

  get pending(): number {
    return this.#lengths.length - this.#next;
  }

  /** Sends what is queued until the link says stop. */
  offer(): void {
    while (this.pending > 0 && !this.#blocked) {
      const writer = this.#writer;
      writer.reset();
      while (!writer.full && writer.count < this.pending) this.#append(writer, this.#next + writer.count);
      this.#sending = true;
      const taken = this.link.send(writer, 0);
      this.#sending = false;
      // The batch is ours again: whatever the link wanted to keep it has copied.
      writer.bytes.fill(0xa5);
      expect(taken).toBeLessThanOrEqual(writer.count);
      this.#next += taken;
      this.sent += taken;
      if (taken === writer.count) continue;
      this.#blocked = true;
      this.shortSends++;
    }
  }

  receive(batch: FrameBatch): void {
    expect(this.#sending).toBe(false);
    expect(batch.count).toBeGreaterThan(0);
    for (let i = 0; i < batch.count; i++) {
      const start = batch.starts[i] ?? 0;
      const length = batch.lengths[i] ?? 0;
      this.longest = Math.max(this.longest, length);
      this.#check(batch, start, length, this.received++);
    }
  }

  writable(): void {
    expect(this.#sending).toBe(false);
    this.writableCalls++;
    this.#blocked = false;
    this.offer();
  }

  closed(error?: RoceError): void {
    this.closedCalls++;
    this.closedError = error;
  }

  #append(writer: FrameWriter, number: number): void {
    const length = this.#lengths[number] ?? 0;
    const bytes = new Uint8Array(length);
    const view = new DataView(bytes.buffer);
    if (this.link.medium === Medium.Ethernet) {
      bytes.set([2, 0, 0, 0, 0, 3 - this.#id, 2, 0, 0, 0, 0, this.#id, 0x88, 0xb5]);
    }
    view.setUint32(HEADER_BYTES, number);
    for (let at = HEADER_BYTES + 4; at < length; at++) bytes[at] = (at + number) & 0xff;
    writer.appendRaw(bytes, 0, length);
  }

  /** Content follows from the number; compared without an assertion per byte. */
  #check(batch: FrameBatch, start: number, length: number, number: number): void {
    const seen = batch.view.getUint32(start + HEADER_BYTES);
    let wrong = seen === number ? 0 : 1;
    for (let at = HEADER_BYTES + 4; at < length; at++) {
      if (batch.bytes[start + at] !== ((at + number) & 0xff)) wrong++;
    }
    if (wrong > 0) expect({ frame: seen, wrongBytes: wrong }).toEqual({ frame: number, wrongBytes: 0 });
  }
}
