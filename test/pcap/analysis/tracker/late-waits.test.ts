/** Goal: what came while a receiver waited for a late packet is known later, too. Method: waits by hand. */
import { expect, it } from 'vitest';
import { LateWaits } from '../../../../pcap/analysis/tracker/late-waits.ts';

it('includes what came in one of its times, their ends as well', () => {
  const waits = new LateWaits();
  expect(waits.include(5)).toBe(false);
  waits.add(10, 20);
  waits.add(30, 40);
  expect([9, 10, 20, 25, 30, 41].map((at) => waits.include(at))).toEqual([false, true, true, false, true, false]);
});

it('is one time for two packets that were late at a time', () => {
  const waits = new LateWaits();
  waits.add(10, 20);
  waits.add(15, 30);
  expect(waits.include(25)).toBe(true);
  waits.add(5, 40);
  expect([4, 5, 35].map((at) => waits.include(at))).toEqual([false, true, true]);
});

it('forgets the oldest of many', () => {
  const waits = new LateWaits();
  for (let at = 0; at < 100; at += 10) waits.add(at, at + 1);
  expect([waits.include(0), waits.include(90)]).toEqual([false, true]);
});
