/** Goal: what is known of lateness excludes a cause only where lateness is even. Method: a few times, microseconds. */
import { expect, it } from 'vitest';
import { Lateness } from '../../../../pcap/analysis/tracker/lateness.ts';

function late(...times: readonly number[]): Lateness {
  const lateness = new Lateness();
  for (const time of times) lateness.add(time * 1000);
  return lateness;
}

it('a single time, or none, is no rule', () => {
  for (const lateness of [late(), late(20)]) {
    expect(lateness.isEven).toBe(false);
    expect(lateness.isLikely(1)).toBe(true);
  }
});

it('two times that are alike are one: what is half longer or shorter may still be so', () => {
  const lateness = late(20, 22);
  expect(lateness.isEven).toBe(true);
  expect([14_000, 15_000, 20_000, 33_000, 34_000].map((ns) => lateness.isLikely(ns))).toEqual([
    ...[false, true, true, true, false],
  ]);
});

it('times that differ exclude nothing', () => {
  for (const lateness of [late(20, 40), late(40, 20), late(20, 21, 22, 90), late(20, 21, 22, 5)]) {
    expect(lateness.isEven).toBe(false);
    expect(lateness.isLikely(1_000_000)).toBe(true);
  }
});

it('one other among ten is taken for a mistake', () => {
  expect(late(20, 20, 20, 20, 90, 20, 20, 20, 20, 20).isEven).toBe(true);
  expect(late(20, 20, 20, 20, 90, 20, 20, 20, 20).isEven).toBe(false);
});

it('what was long ago is forgotten: paths change', () => {
  const lateness = late(20, 20);
  for (let i = 0; i < 32; i++) lateness.add(300_000);
  expect(lateness.isLikely(300_000)).toBe(true);
  expect(lateness.isLikely(20_000)).toBe(false);
});
