/** Goal: the last losses are those that were booked last, each once, and what is taken out of them is gone. */
import { expect, it } from 'vitest';
import { LastLosses } from '../../../../pcap/analysis/tracker/lost-packets.ts';

function losses(...psns: readonly number[]): LastLosses {
  const last = new LastLosses();
  for (const psn of psns) last.add(psn, psn % 2 === 0);
  return last;
}

it('are taken out from the first of a range to just before its end', () => {
  const last = losses(3, 4, 5, 6);
  expect(last.takeAll(4, 6)).toEqual([4, 5]);
  expect([3, 4, 5, 6].map((psn) => last.has(psn))).toEqual([true, false, false, true]);
  expect(last.takeAll(4, 6)).toEqual([]);
});

it('are taken out once, with whether their PSN was asked for, even where they were booked twice', () => {
  const last = losses(4, 5, 4);
  last.add(5, true);
  expect([last.take(4)?.named, last.take(4), last.take(5)?.named, last.take(5)]).toEqual([
    true,
    undefined,
    true,
    undefined,
  ]);
});

it('are 32 at most: the oldest goes', () => {
  const last = losses(...Array.from({ length: 33 }, (_, psn) => psn));
  expect([0, 1, 32].map((psn) => last.has(psn))).toEqual([false, true, true]);
});
