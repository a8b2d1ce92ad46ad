/**
 * Goal: a capture of a device in a worker shows what one in this thread shows. Method: both ends of a cable captured,
 * compared.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { type LinkFacts, openDevice } from '../../../src/index.ts';
import type { CaptureSink } from '../../../src/node/links/index.ts';
import { CaptureFeed, unpackFrames } from '../../../src/node/worker/capture-feed.ts';
import { makeControl, Word } from '../../../src/node/worker/control.ts';
import type { Outbox } from '../../../src/node/worker/outbox.ts';
import type { WorkerEvent } from '../../../src/node/worker/wire.ts';
import { connectSides } from './support.ts';

interface Seen {
  readonly timeNs: number;
  readonly direction: 'in' | 'out';
  readonly bytes: string;
  readonly comment: string | undefined;
}

class Notes implements CaptureSink {
  readonly seen: Seen[] = [];

  frame(
    timeNs: number,
    direction: 'in' | 'out',
    bytes: Uint8Array,
    start: number,
    end: number,
    comment?: string,
  ): void {
    this.seen.push({ timeNs, direction, bytes: Buffer.from(bytes.subarray(start, end)).toString('hex'), comment });
  }
}

const mirrored = (direction: 'in' | 'out'): string => (direction === 'in' ? 'out' : 'in');

describe('a capture across threads', () => {
  it('has the frames of the wire in their order, at the time of this process', async () => {
    const directory = mkdtempSync(join(tmpdir(), 'roce-worker-'));
    const path = join(directory, 'wire.sock');
    const [near, far] = [new Notes(), new Notes()];
    let link: LinkFacts | undefined;
    const ours = await openDevice({
      link: `qemu:${path}`,
      addresses: ['10.0.0.1/24'],
      thread: 'worker',
      captureSink: (facts) => {
        link = facts;
        return near;
      },
    });
    expect(link).toEqual(ours.link);
    const addresses = ['10.0.0.2/24'];
    const theirs = await openDevice({ link: `qemu:${path},connect`, addresses, captureSink: far });
    const began = performance.now() * 1e6;
    const { ourEnd } = await connectSides({ ours, theirs, close: () => Promise.resolve() });
    await ourEnd.disconnect();
    await ours.close();
    await theirs.close();
    rmSync(directory, { recursive: true });
    const ended = performance.now() * 1e6;
    expect(near.seen.length).toBeGreaterThan(5);
    for (const direction of ['in', 'out'] as const) {
      const here = near.seen.filter((frame) => frame.direction === direction).map(({ bytes }) => bytes);
      const there = far.seen.filter((frame) => frame.direction === mirrored(direction)).map(({ bytes }) => bytes);
      expect(here.slice(0, there.length)).toEqual(there.slice(0, here.length));
    }
    expect(near.seen.every(({ timeNs }, i) => i === 0 || timeNs >= (near.seen[i - 1]?.timeNs ?? 0))).toBe(true);
    // Clocks of two threads agree to what their origins are told in.
    expect(near.seen[0]?.timeNs).toBeGreaterThan(began - 1e6);
    expect(near.seen.at(-1)?.timeNs).toBeLessThan(ended + 1e6);
  });

  it('tells how many frames nobody read in time, with the next one', async () => {
    const words = new Int32Array(makeControl().words);
    const packed: Uint8Array[] = [];
    const outbox: Pick<Outbox, 'post'> = {
      post: (event: WorkerEvent) => {
        if (event.kind === 'frames') packed.push(event.packed);
      },
    };
    const feed = new CaptureFeed(outbox, words);
    const frame = (fill: number): void => feed.frame(fill, 'out', new Uint8Array(61).fill(fill), 0, 61);
    frame(1);
    await null;
    Atomics.store(words, Word.Captured, 2 ** 27);
    for (const fill of [2, 3, 4]) frame(fill);
    Atomics.store(words, Word.Captured, 0);
    frame(5);
    frame(6);
    await null;
    const notes = new Notes();
    for (const bytes of packed) unpackFrames(bytes, 1000, notes);
    expect(notes.seen.map(({ timeNs, bytes, comment }) => [timeNs, bytes.slice(0, 2), bytes.length, comment])).toEqual([
      [1001, '01', 122, undefined],
      [1005, '05', 122, '3 frames before this one are missing: they were not read in time'],
      [1006, '06', 122, undefined],
    ]);
    expect(Atomics.load(words, Word.Captured)).toBe(packed[1]?.length);
  });
});
