/**
 * Goal: the engine decides the same for the same seed, and every frame leaves as often as was decided. Method:
 * arbitrary rules, seeds, times and bytes.
 */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { WireFaults, WireRule } from '../../src/faults/rule.ts';
import { FrameAction } from '../../src/faults/verdict.ts';
import { any, Wire, write } from './made-wire.ts';

/** Everything that a run with these faults does, as text. */
function trace(seed: number, rules: readonly WireRule[], faults: WireFaults): string {
  const lines: string[] = [];
  const wire = new Wire({
    seed,
    rules,
    faults,
    observer: {
      entered: (now, path, serial) => lines.push(`${now} in ${serial} ${path.engine.verdict.describe()}`),
      left: (now, _path, serial, bytes, start, end) =>
        lines.push(`${now} out ${serial} ${Buffer.from(bytes.subarray(start, end)).toString('hex')}`),
    },
  });
  for (let psn = 0; psn < 60; psn++) wire.enter(psn * 100, write(psn, 2));
  wire.drain();
  return lines.join('\n');
}

const share = fc.constantFrom(0, 0.05, 0.3, 1);
const RAMP = { kminBytes: 200, kmaxBytes: 2000, pmax: 0.5 };
const anyFaults: fc.Arbitrary<WireFaults> = fc
  .record({
    loss: share,
    duplicate: share,
    reorder: share,
    corrupt: share,
    ceMark: share,
    delayNs: fc.nat(500),
    jitterNs: fc.nat(500),
    duplicateDelayNs: fc.nat(300),
    queue: fc.constantFrom(
      {},
      { rateBps: 8e9 },
      { rateBps: 4e9, queueBytes: 3000, ecn: RAMP },
      { rateBps: 2e10, ecn: RAMP },
    ),
  })
  .map(({ queue, ...chances }) => ({ aToB: { ...chances, ...queue } }));
const anyRule: fc.Arbitrary<WireRule> = fc.oneof(
  fc.record({ on: fc.record({ probability: share }), do: fc.constantFrom('drop', 'corrupt', 'mark-ce', 'duplicate') }),
  fc.record({
    on: fc.record({ every: fc.integer({ min: 1, max: 5 }) }),
    do: fc.constant('delay'),
    delayNs: fc.nat(900),
  }),
  fc.record({ on: fc.record({ psn: fc.nat(60) }), do: fc.constant('reorder'), behind: fc.integer({ min: 1, max: 9 }) }),
);

describe('properties', () => {
  it('the same seed gives the same decisions, bytes and times', () => {
    fc.assert(
      fc.property(fc.nat(), fc.array(anyRule, { maxLength: 4 }), anyFaults, (seed, rules, faults) => {
        expect(trace(seed, rules, faults)).toBe(trace(seed, rules, faults));
      }),
      { numRuns: 50 },
    );
    const faults = { aToB: { loss: 0.5 } };
    expect(trace(1, [], faults)).not.toBe(trace(2, [], faults));
  });

  it('every frame leaves once, and once more for each copy, unless it was dropped', () => {
    fc.assert(
      fc.property(fc.nat(), fc.array(anyRule, { maxLength: 4 }), anyFaults, (seed, rules, faults) => {
        const due = new Map<number, number>();
        const wire = new Wire({
          seed,
          rules,
          faults,
          observer: {
            entered: (_now, { engine: { verdict } }, serial) =>
              due.set(serial, (verdict.did & FrameAction.Dropped) === 0 ? 1 + verdict.copies : 0),
            left: (_now, _path, serial) => due.set(serial, (due.get(serial) ?? 0) - 1),
          },
        });
        for (let psn = 0; psn < 80; psn++) wire.enter(psn * 50, write(psn, 1));
        wire.drain();
        expect(wire.path.waiting).toBe(0);
        expect(new Set(due.values())).toEqual(new Set([0]));
        const { frames, dropped, duplicated } = wire.path.counters;
        expect([frames, due.size]).toEqual([80, 80]);
        expect(wire.path.counters.forwarded).toBeGreaterThanOrEqual(frames - dropped + duplicated);
      }),
      { numRuns: 100 },
    );
  });

  it('takes any bytes for a frame', () => {
    const wire = new Wire({
      rules: [
        any({ do: 'corrupt' }),
        any({ do: 'mark-ce' }),
        any({ do: 'rewrite', set: { 'bth.psn': 1, 'ip.ttl': 3 } }),
      ],
      faults: { aToB: { corrupt: 0.5, ceMark: 0.5 } },
    });
    fc.assert(
      fc.property(fc.uint8Array({ minLength: 1, maxLength: 300 }), fc.boolean(), (bytes, ipv4) => {
        if (ipv4 && bytes.length > 14) bytes.set([8, 0], 12);
        wire.enter(0, bytes);
        expect(wire.out.frames.at(-1)?.length).toBe(bytes.length);
        wire.out.batches.length = 0;
      }),
      { numRuns: 1000 },
    );
  });
});
