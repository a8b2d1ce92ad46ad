/** Goal: the packet that replaces a damaged one is told from those beside it. Method: a few PSNs, taken one way or another. */
import { expect, it } from 'vitest';
import { DamagedPsns } from '../../../../pcap/analysis/tracker/damaged-psns.ts';

function damaged(...psns: readonly number[]): DamagedPsns {
  const set = new DamagedPsns();
  for (const psn of psns) set.add(psn);
  return set;
}

it('each is taken once', () => {
  const set = damaged(5);
  expect([set.take(4), set.take(5), set.take(5)]).toEqual([false, true, false]);
});

it('a range ends before the packet behind it', () => {
  const set = damaged(3, 4, 5, 6);
  expect(set.takeAll(4, 6)).toBe(2);
  expect([set.take(3), set.take(6)]).toEqual([true, true]);
});

it('the oldest makes room', () => {
  const set = damaged(...Array.from({ length: 65 }, (_, i) => i));
  expect([set.take(0), set.take(1), set.take(64)]).toEqual([false, true, true]);
});
