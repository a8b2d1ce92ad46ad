/**
 * Goal: the estimate of two clocks is never further from the truth than it says. Method: properties over drawn offsets,
 * drifts, delays, jitter and losses, of which the truth is known.
 */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ClockEstimator, offsetAt } from '../../../../pcap/analysis/paths/clock-estimate.ts';
import { Prng } from '../../../../src/sim/index.ts';
import { fcRuns } from '../../../transport/support/peer.ts';

const WIRES = fc.record({
  seed: fc.integer({ min: 1, max: 1 << 30 }),
  offsetNs: fc.oneof(fc.integer({ min: -1e5, max: 1e5 }), fc.integer({ min: -6e11, max: 6e11 })),
  driftPpm: fc.oneof(fc.constant(0), fc.double({ min: -100, max: 100, noNaN: true })),
  /** Shortest delays there and back. */
  delaysNs: fc.tuple(fc.integer({ min: 500, max: 1e6 }), fc.integer({ min: 500, max: 1e6 })),
  jitterNs: fc.integer({ min: 0, max: 1e6 }),
  frames: fc.integer({ min: 2, max: 3_000 }),
  gapNs: fc.integer({ min: 1_000, max: 1e7 }),
  lossShare: fc.double({ min: 0, max: 0.5, noNaN: true }),
});

type Wire = typeof WIRES extends fc.Arbitrary<infer T> ? T : never;

/** Frames in turns there and back, some of them lost; the first two of each way never. */
function observe(wire: Wire, ways: readonly boolean[] = [true, false]) {
  const random = new Prng(wire.seed);
  const estimator = new ClockEstimator();
  const truthAt = (trueNs: number): number => wire.offsetNs + trueNs * wire.driftPpm * 1e-6;
  let lastNs = 0;
  for (let i = 0; i < wire.frames; i++) {
    const forward = ways[i % ways.length] === true;
    const leftNs = i * wire.gapNs;
    const delayNs = wire.delaysNs[forward ? 0 : 1] + random.below(wire.jitterNs + 1);
    if (i > 3 && random.below(1000) < 1000 * wire.lossShare) continue;
    const secondNs = leftNs + (forward ? delayNs : 0);
    const firstNs = leftNs + (forward ? 0 : delayNs);
    const shownNs = secondNs + truthAt(secondNs);
    estimator.add(forward, shownNs, shownNs - firstNs);
    lastNs = secondNs;
  }
  return { estimate: estimator.estimate(), truthAt, lastNs };
}

describe('the estimate of two clocks', () => {
  it('is as good as it says at any time of the capture', () => {
    fc.assert(
      fc.property(WIRES, (wire) => {
        const { estimate, truthAt, lastNs } = observe(wire);
        expect(estimate.from).toBe('both');
        for (const trueNs of [0, lastNs / 2, lastNs]) {
          const truth = truthAt(trueNs);
          const error = Math.abs(offsetAt(estimate, trueNs + truth) - truth);
          expect(error, JSON.stringify(estimate)).toBeLessThanOrEqual(estimate.uncertaintyNs + 1);
        }
      }),
      { numRuns: fcRuns(200) },
    );
  });

  it('is half of the asymmetry, within half of the round trip, where clocks do not drift', () => {
    fc.assert(
      fc.property(WIRES, (drawn) => {
        const wire = { ...drawn, driftPpm: 0, jitterNs: 0, gapNs: 1_000 };
        const { estimate } = observe(wire);
        const [there, back] = wire.delaysNs;
        const middle = wire.offsetNs + (there - back) / 2;
        const same = Math.abs(middle) <= (there + back) / 2 + 2_000;
        expect(Math.abs(estimate.offsetNs - (same ? 0 : middle))).toBeLessThan(1);
        expect(estimate.uncertaintyNs).toBeLessThan((there + back) / 2 + (same ? Math.abs(middle) : 0) + 4_000);
      }),
      { numRuns: fcRuns(100) },
    );
  });

  it('finds a drift of 50 ppm within 1 ppm where it is larger than the delays', () => {
    const wire = { seed: 1, offsetNs: 3e9, driftPpm: 50, delaysNs: [5_000, 9_000], jitterNs: 20_000, frames: 20_000 };
    const { estimate } = observe({ ...wire, delaysNs: [5_000, 9_000], gapNs: 1e6, lossShare: 0.1 });
    expect(Math.abs(estimate.slope * 1e6 - 50)).toBeLessThan(1);
    expect(estimate.uncertaintyNs).toBeLessThan(20_000);
  });

  it('is a bound where frames went in one direction only: no frame arrives before it left', () => {
    fc.assert(
      fc.property(WIRES, fc.boolean(), (wire, forward) => {
        const { estimate } = observe({ ...wire, driftPpm: 0 }, [forward]);
        const [there, back] = wire.delaysNs;
        expect(estimate).toMatchObject({ from: 'one-direction', uncertaintyNs: Infinity });
        const beyond = forward ? wire.offsetNs + there - estimate.offsetNs : estimate.offsetNs - wire.offsetNs + back;
        expect(beyond + wire.jitterNs).toBeGreaterThanOrEqual(-2_001);
      }),
      { numRuns: fcRuns(100) },
    );
  });

  it('takes clocks for the same one where nothing says that they are not', () => {
    const wire = { seed: 1, offsetNs: 0, driftPpm: 0, jitterNs: 5_000, frames: 500, gapNs: 1e5, lossShare: 0 };
    expect(observe({ ...wire, delaysNs: [2_000, 90_000] }).estimate).toMatchObject({ offsetNs: 0, slope: 0 });
    expect(new ClockEstimator().estimate()).toMatchObject({ offsetNs: 0, slope: 0, uncertaintyNs: Infinity });
  });
});
