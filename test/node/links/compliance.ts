/**
 * What every link must do, as a suite that any implementation runs: order, batches, backpressure, sizes, ends, and no
 * bytes used after free. Method: two ends and numbered RoCE packets whose payload follows from their number, so that a
 * header that a link builds or a byte that it loses shows in the ICRC; a sender that overwrites its batch as soon as
 * `send` returns. `compliance-end.ts` is one end, `compliance-lifecycle.ts` has the rules of starting and closing.
 */
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { describe, expect, it } from 'vitest';
import type { MacAddress } from '../../../packets/address.ts';
import { Medium } from '../../../packets/frame.ts';
import type { Link } from '../../../src/ground/link.ts';
import { End, MIN_PACKET_BYTES, type Station } from './compliance-end.ts';
import { checkFailedStart, LIFECYCLE_RULES } from './compliance-lifecycle.ts';

export interface LinkPair {
  readonly a: Link;
  readonly b: Link;
  /** IP addresses of `a` and `b`; default 10.0.0.1 and 10.0.0.2. */
  readonly addresses?: Addresses;
  /** Default 02:00:00:00:00:01 and :02. */
  readonly macs?: readonly [MacAddress, MacAddress];
  /** Starts an end; default its `start`. For links that have to be opened in a namespace. */
  start?(link: Link, start: () => Promise<void>): Promise<void>;
  /** Resolves when frames can go both ways, after both ends have started. */
  ready(): Promise<void>;
  /** Lets the medium make progress: virtual time for a simulated link, a round of the event loop for a real one. */
  pump(): Promise<void>;
  /** Frees what `close` of both ends does not. */
  dispose(): Promise<void>;
}

export interface ComplianceOptions {
  /** Every frame that `send` took arrives, however slow the receiver. Otherwise: every frame within `window`. */
  readonly lossless: boolean;
  /** Frames that may be under way in one direction on a medium that drops what the receiver has no room for. */
  readonly window?: number;
  /** Makes a link of this kind that cannot start, whatever namespace it is in. Absent: the kind always starts. */
  readonly unavailable?: () => Link;
}

export function linkCompliance(name: string, makePair: () => Promise<LinkPair>, options: ComplianceOptions): void {
  const { lossless } = options;
  const window = lossless ? Infinity : (options.window ?? 32);
  /** On an Ethernet link the addresses may be any. */
  const inPair = (test: (ends: Ends) => Promise<void>, any?: Addresses) => async (): Promise<void> => {
    const pair = await makePair();
    const addresses = pair.a.medium === Medium.Ethernet ? (any ?? pair.addresses) : pair.addresses;
    const ends = makeEnds(pair, window, addresses);
    const { a, b } = ends;
    try {
      await startEnds(ends);
      await test(ends);
    } finally {
      await Promise.all([a.link.close(), b.link.close()]);
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
      'carries the shortest packet and the longest that the MTU allows, unchanged',
      inPair(async ({ pair, a, b }) => {
        for (const length of [MIN_PACKET_BYTES, 255, 256, 257, 260, a.link.mtu - 1, a.link.mtu]) a.queue(3, length);
        await finish(pair, a, b);
        expect(b.longest).toBe(a.link.mtu & ~3);
      }),
    );

    it('carries the traffic class of every packet, marks of the network among them, as far as it says that it does', async () => {
      for (const addresses of ANY_ADDRESSES) await inPair(carriesClasses, addresses)();
    });

    it(
      'survives a packet beyond the MTU',
      inPair(async ({ pair, a, b }) => {
        a.queue(1);
        await finish(pair, a, b);
        a.sendOversize();
        a.queue(100);
        await finish(pair, a, b);
      }),
    );

    if (lossless)
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
    else
      it(
        'takes all frames in the end when the other end is slow, and what arrives keeps its order',
        inPair(async ({ pair, a, b }) => {
          a.flood(6000, a.link.mtu);
          await until(pair, () => a.pending === 0);
          const beforeMarker = a.sent;
          // What is repeated until it arrives shows that nothing is still under way; ever more slowly, for what carries
          // the frames may be a process that has to wait for its turn.
          for (let attempt = 0, rounds = 50; attempt < 18 && b.newest < beforeMarker; attempt++, rounds *= 2) {
            a.queue(1);
            a.offer();
            for (let round = 0; round < rounds && b.newest < beforeMarker; round++) await pair.pump();
          }
          expect(b.newest).toBeGreaterThanOrEqual(beforeMarker);
          expect(b.received).toBeGreaterThan(0);
          expect(b.outOfOrder).toBe(0);
        }),
      );

    it(
      'carries 100,000 frames without loss',
      inPair(async ({ pair, a, b }) => {
        a.queue(100_000, MIN_PACKET_BYTES);
        await finish(pair, a, b);
      }),
    );

    it(
      'goes on while garbage is collected around it',
      inPair(async ({ pair, a, b }) => {
        const collectGarbage = garbageCollector();
        for (let round = 0; round < 30; round++) {
          a.queue(50, 500);
          b.queue(50, 500);
          a.offer();
          b.offer();
          collectGarbage();
          await pair.pump();
        }
        await finish(pair, a, b);
      }),
    );

    it(
      'delivers what it has taken before it closes, and then nothing',
      inPair(async ({ pair, a, b }) => {
        a.queue(Math.min(500, window), 1000);
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
        a.queue(Math.min(500, window), 1000);
        a.offer();
        await b.link.close();
        const { received } = b;
        for (let round = 0; round < 10; round++) await pair.pump();
        expect([b.received, b.closedCalls]).toEqual([received, 1]);
      }),
    );

    it(
      'closes from inside a delivery',
      inPair(async ({ pair, a, b }) => {
        let closing: Promise<void> | undefined;
        let atClose = 0;
        b.onReceive = () => {
          closing ??= b.link.close();
          atClose ||= b.received;
        };
        a.flood(200, 300);
        await until(pair, () => closing !== undefined);
        await closing;
        for (let round = 0; round < 10; round++) await pair.pump();
        expect(b.closedCalls).toBe(1);
        expect(b.received).toBe(atClose);
      }),
    );

    for (const rule of LIFECYCLE_RULES)
      it(rule.name, async () => {
        const pair = await makePair();
        const { a, b } = makeEnds(pair, window, pair.addresses);
        const start = (end: End, started: () => Promise<void>) =>
          pair.start === undefined ? started() : pair.start(end.link, started);
        try {
          await startEnd(pair, b);
          await rule.check({ link: a.link, end: a, peer: b, pair, start: (started) => start(a, started) });
        } finally {
          await Promise.all([a.link.close(), b.link.close()]);
          await pair.dispose();
        }
      });

    const { unavailable } = options;
    if (unavailable !== undefined)
      it('reports nothing when its start fails, and cannot be started again', () => checkFailedStart(unavailable()));
  });
}

type Addresses = readonly [string, string];

interface Ends {
  readonly pair: LinkPair;
  readonly a: End;
  readonly b: End;
}

function makeEnds(pair: LinkPair, window: number, addresses: Addresses = ANY_ADDRESSES[0]): Ends {
  const [addressA, addressB] = addresses;
  const [macA, macB] = pair.macs ?? [Uint8Array.of(2, 0, 0, 0, 0, 1), Uint8Array.of(2, 0, 0, 0, 0, 2)];
  const stationA: Station = { address: addressA, mac: macA, qpn: 0x1001 };
  const stationB: Station = { address: addressB, mac: macB, qpn: 0x1002 };
  const a = new End(pair.a, stationA, stationB, window);
  const b = new End(pair.b, stationB, stationA, window);
  a.peer = b;
  b.peer = a;
  return { pair, a, b };
}

async function startEnds({ pair, a, b }: Ends): Promise<void> {
  for (const end of [b, a]) await startEnd(pair, end);
  await pair.ready();
}

function startEnd(pair: LinkPair, end: End): Promise<void> {
  return pair.start === undefined ? end.start() : pair.start(end.link, () => end.start());
}

/**
 * Runs of every length, so that a link that sends or receives several packets at once is seen to keep those of one
 * class together only.
 */
async function carriesClasses({ pair, a, b }: Ends): Promise<void> {
  const { name, ecn } = a.link;
  if (ecn?.reason !== undefined) console.warn(`${name} does not carry every traffic class: ${ecn.reason}`);
  for (let run = 1; run <= 16; run++)
    for (const trafficClass of TRAFFIC_CLASSES) for (const end of [a, b]) end.queue(run, 80 * run, trafficClass);
  await finish(pair, a, b);
  expect([...b.trafficClasses]).toEqual(a.carriesClass ? TRAFFIC_CLASSES : [0]);
  expect([...a.trafficClasses]).toEqual(b.carriesClass ? TRAFFIC_CLASSES : [0]);
}

async function finish(pair: LinkPair, a: End, b: End): Promise<void> {
  a.offer();
  b.offer();
  await until(pair, () => a.pending + b.pending === 0 && b.received === a.sent && a.received === b.sent);
  for (let round = 0; round < 3; round++) await pair.pump();
  expect([a.received, b.received]).toEqual([b.sent, a.sent]);
  expect([a.outOfOrder, b.outOfOrder]).toEqual([0, 0]);
}

/** Bounded by the time limit of the test for a real link; a simulated one would otherwise spin for ever. */
async function until(pair: LinkPair, condition: () => boolean): Promise<void> {
  for (let round = 0; round < 10_000_000 && !condition(); round++) await pair.pump();
  expect(condition()).toBe(true);
}

function garbageCollector(): () => void {
  setFlagsFromString('--expose-gc');
  const collect: unknown = runInNewContext('gc');
  if (typeof collect !== 'function') throw new Error('this engine does not show its garbage collector');
  return () => void collect();
}

/** None, data that may be marked (DSCP 26, ECT(0)), the same with its mark (CE), and notifications (DSCP 48). */
const TRAFFIC_CLASSES: readonly number[] = [0, 106, 107, 192];
const ANY_ADDRESSES = [
  ['10.0.0.1', '10.0.0.2'],
  ['fd00::1', 'fd00::2'],
] as const;
