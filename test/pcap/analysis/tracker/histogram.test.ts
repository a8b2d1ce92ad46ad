/** Goal: percentiles are right within the width of a bucket. Method: comparison with a sorted list. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Histogram } from '../../../../pcap/analysis/tracker/histogram.ts';

const duration = fc.oneof(fc.nat(100), fc.nat(1_000_000), fc.integer({ min: 0, max: 2 ** 45 }));

describe('Histogram', () => {
  it('gives percentiles within 3 %, and minimum, maximum and count exactly', () => {
    fc.assert(
      fc.property(fc.array(duration, { minLength: 1, maxLength: 200 }), (values) => {
        const histogram = new Histogram();
        for (const value of values) histogram.add(value);
        const sorted = [...values].sort((a, b) => a - b);
        const report = histogram.report();
        expect([report.count, report.minNs, report.maxNs]).toEqual([values.length, sorted[0], sorted.at(-1)]);
        for (const [share, got] of [
          [0.5, report.p50Ns],
          [0.99, report.p99Ns],
        ] as const) {
          const exact = sorted[Math.ceil(share * values.length) - 1] ?? 0;
          expect(Math.abs(got - exact)).toBeLessThanOrEqual(exact * 0.0313);
        }
      }),
      { numRuns: 200 },
    );
  });

  it('finds the shortest duration that comes again', () => {
    const histogram = new Histogram();
    for (const value of [900, 50_000, 50_300, 50_900, 80_000, 81_000, 80_500]) histogram.add(value);
    expect(histogram.shortestRepeated(3)).toBeGreaterThan(49_000);
    expect(histogram.shortestRepeated(3)).toBeLessThan(52_000);
    expect(histogram.shortestRepeated(5)).toBe(-1);
  });

  it('takes a clock that goes back for no time at all', () => {
    const histogram = new Histogram();
    histogram.add(-5);
    expect(histogram.report()).toEqual({ count: 1, minNs: 0, p50Ns: 0, p99Ns: 0, maxNs: 0, meanNs: 0 });
  });
});
