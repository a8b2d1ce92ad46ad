/** Goal: a loss that is told by its number, not by its request, is judged by that number: no more, and no less. */
import { describe, expect, it } from 'vitest';
import { falselyTold } from '../../../tools/truth/parts.ts';

const LOST = new Set([3, 7]);

describe('falselyTold', () => {
  it('takes a single loss at its word', () => {
    expect(falselyTold([{ psn: 3 }, { psn: 7 }], LOST)).toBe(0);
    expect(falselyTold([{ psn: 4 }, { psn: 7 }], LOST)).toBe(1);
  });

  it('takes losses among requests by their number: which has the word is arbitrary', () => {
    const among = [3, 4, 5];
    expect(falselyTold([{ psn: 5, among }], LOST)).toBe(0);
    expect(
      falselyTold(
        [
          { psn: 4, among },
          { psn: 5, among },
        ],
        LOST,
      ),
    ).toBe(1);
    expect(falselyTold([{ psn: 9, among: [8, 9] }], LOST)).toBe(1);
  });

  it('judges each group alone: too few in one make up for nothing in another', () => {
    const told = [
      { psn: 8, among: [8, 9] },
      { psn: 3, among: [3, 7] },
    ];
    expect(falselyTold(told, LOST)).toBe(1);
  });
});
