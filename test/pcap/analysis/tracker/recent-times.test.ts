/**
 * Goal: the last times of something answer as a list would that is looked through, in a few comparisons, whatever order
 * they come in. Method: random times beside such a list; times asked for that count how often they are compared.
 */
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { firstFrom, RecentTimes } from '../../../../pcap/analysis/tracker/recent-times.ts';

const MOST = 8;

/** What is true by the definition. */
function mayHave(all: readonly number[], fromNs: number, toNs: number): boolean {
  const last = all.slice(-MOST);
  const forgotten = all.length > MOST && last.every((ns) => ns >= fromNs);
  return forgotten || last.some((ns) => ns > fromNs && ns <= toNs);
}

it('answers as a list that is looked through, also where clocks go back', () => {
  const time = fc.integer({ min: 0, max: 20 });
  fc.assert(
    fc.property(fc.array(time, { maxLength: 30 }), time, time, (all, fromNs, toNs) => {
      const times = new RecentTimes(MOST);
      for (const ns of all) times.add(ns);
      expect(times.mayHave(fromNs, toNs)).toBe(mayHave(all, fromNs, toNs));
      expect(times.sorted).toEqual(all.slice(-MOST).sort((a, b) => a - b));
      expect(times.length).toBe(Math.min(all.length, MOST));
    }),
    { seed: 1, numRuns: 2000 },
  );
});

it('compares a few times, not all of them', () => {
  const times = new RecentTimes(256);
  for (let i = 0; i < 1000; i++) times.add(i * 10);
  let compared = 0;
  const counted = (ns: number) => {
    const asNumber = () => {
      compared++;
      return ns;
    };
    return { valueOf: asNumber } as unknown as number;
  };
  for (let ns = 7_000; ns < 10_100; ns += 7) {
    compared = 0;
    times.mayHave(counted(ns), counted(ns + 3));
    expect(compared).toBeLessThanOrEqual(12);
  }
});

it('finds the first that is as late', () => {
  const sorted = [1, 3, 3, 5];
  expect([0, 1, 2, 3, 4, 5, 6].map((ns) => firstFrom(sorted, ns))).toEqual([0, 0, 1, 1, 3, 3, 4]);
});
