/**
 * Goal: times on the simulated wire are possible ones: no two frames of a sender come out closer than the rate permits,
 * lost, doubled and late ones among them, and what was sent in order and is not held back comes out in order. Method:
 * properties over chance, rules, frames and the instants at which they are sent; the demo's whole capture.
 */
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { type CapturedPacket, readCapture } from '../../pcap/index.ts';
import { Fate, type FaultSpec } from '../../src/faults/fault-spec.ts';
import { SimulatedNetwork } from '../../src/sim/network.ts';
import { runDemo } from '../../tools/demo/run.ts';
import { DEFAULT_SETTINGS } from '../../tools/demo/settings.ts';
import { batchOf, Collector, frame } from './support.ts';

interface Seen {
  readonly ns: number;
  readonly bytes: number;
  readonly fate: number;
  readonly serial: number;
}

/** What comes out of a wire into which frames of those lengths go, each that long after the one before. */
function comesOut(faults: FaultSpec, frames: readonly { readonly bytes: number; readonly afterNs: number }[]): Seen[] {
  const network = new SimulatedNetwork({ faults, latencyNs: 500, seed: 5 });
  const from = network.attach('from', { mtu: 9_000 });
  const to = network.attach('to', { mtu: 9_000, faults: {} });
  void to.start(new Collector());
  // So that the switch knows where everything goes.
  to.send(batchOf(frame(2, 1, 0)), 0);
  network.deliverDue(1_000);
  const seen: Seen[] = [];
  network.tap = {
    frame: (ns, _port, direction, _bytes, start, end, fate, serial) => {
      if (direction === 'in') seen.push({ ns, bytes: end - start, fate, serial });
    },
  };
  let now = 1_000;
  for (const { bytes, afterNs } of frames) {
    now += afterNs;
    network.deliverDue(now);
    const padded = new Uint8Array(bytes);
    padded.set(frame(1, 2, 1));
    // A sender that finds the queue full waits for it.
    while (from.send(batchOf(padded), 0) === 0) {
      now = network.nextEventTime();
      network.deliverDue(now);
    }
  }
  network.deliverDue(now + 1e9);
  return seen;
}

/** Pairs of frames of one sender of which the second came before its bytes could. */
function tooClose(frames: readonly Pick<Seen, 'ns' | 'bytes'>[], rateBps: number): [number, number][] {
  return frames.flatMap(({ ns, bytes }, index): [number, number][] => {
    const before = frames[index - 1]?.ns ?? -Infinity;
    return ns - before < Math.floor((8e9 * bytes) / rateBps) ? [[before, ns]] : [];
  });
}

const share = fc.constantFrom(0, 0, 0.05, 0.5, 1);
const RATE_BPS = 10e9;
const faulty = fc.record({
  ...{ loss: share, duplicate: share, reorder: share, corrupt: share, rateBps: fc.constant(RATE_BPS) },
  duplicateDelayNs: fc.nat(5_000),
  reorderDelayNs: fc.nat(5_000),
  jitterNs: fc.constantFrom(0, 0, 700, 4_000),
  queueBytes: fc.constantFrom(1, 20_000, 0x4_00_00),
});
const sent = fc.array(
  fc.record({ bytes: fc.integer({ min: 64, max: 4_200 }), afterNs: fc.oneof(fc.constant(0), fc.nat(6_000)) }),
  { minLength: 1, maxLength: 40 },
);

it('lets no two frames of a sender out closer than its rate permits, whatever becomes of them', () => {
  fc.assert(
    fc.property(faulty, sent, (faults, frames) => {
      expect(tooClose(comesOut(faults, frames), RATE_BPS)).toEqual([]);
    }),
  );
});

it('lets none out closer where sums of times are not exact', () => {
  const frames = [3247, 1841, 2397, 1065, 64].map((bytes) => ({ bytes, afterNs: 0 }));
  expect(tooClose(comesOut({ rateBps: RATE_BPS, queueBytes: 20_000 }, frames), RATE_BPS)).toEqual([]);
});

it('shows each frame once and its copy once, in the order in which they were sent unless they are held back', () => {
  fc.assert(
    fc.property(faulty, sent, (faults, frames) => {
      const seen = comesOut(faults, frames);
      const first = new Map<number, Seen>();
      for (const one of seen) if (!first.has(one.serial)) first.set(one.serial, one);
      expect(first.size).toBe(frames.length);
      expect(seen.length - first.size).toBe([...first.values()].filter(({ fate }) => isDoubled(fate)).length);
      const inOrder = [...first.values()].filter(({ fate }) => (fate & Fate.Delayed) === 0).map(({ serial }) => serial);
      expect(inOrder).toEqual(inOrder.toSorted((a, b) => a - b));
    }),
  );
});

function isDoubled(fate: number): boolean {
  return (fate & Fate.Duplicated) !== 0 && (fate & Fate.Dropped) === 0;
}

it('gives every frame of the demo a time at which it can have come', async () => {
  const { capture } = await runDemo({ ...DEFAULT_SETTINGS, loss: 0.03 });
  const packets = [...readCapture(capture)];
  expect(packets.length).toBeGreaterThan(10_000);
  const times = packets.map(timeOf);
  expect(times).toEqual(times.toSorted((a, b) => a - b));
  for (const mac of new Set(packets.map(sourceOf))) {
    const own = packets.filter((packet) => sourceOf(packet) === mac);
    const frames = own.map((packet) => ({ ns: timeOf(packet), bytes: packet.originalLength }));
    expect(tooClose(frames, 10e9)).toEqual([]);
  }
});

function timeOf({ seconds, nanoseconds }: CapturedPacket): number {
  return seconds * 1e9 + nanoseconds;
}

function sourceOf({ bytes }: CapturedPacket): string {
  return Buffer.from(bytes.subarray(6, 12)).toString('hex');
}
