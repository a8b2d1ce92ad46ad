/** Goal: answers that come right behind READ responses may have waited since the first of them. Method: by hand. */
import { expect, it } from 'vitest';
import { ReadStretch } from '../../../../pcap/analysis/tracker/read-stretch.ts';

it('an answer is due with the first of the responses that it comes right behind', () => {
  const stretch = new ReadStretch();
  expect(stretch.dueNs(50)).toBe(50);
  for (const ns of [1_000, 2_500, 4_499]) stretch.add(ns);
  expect(stretch.dueNs(6_498)).toBe(1_000);
  expect(stretch.dueNs(6_499)).toBe(6_499);
  stretch.add(6_499);
  expect(stretch.dueNs(6_500)).toBe(6_499);
});
