/**
 * Goal: the ticks of a time axis are in a unit that fits them, and differ from each other. Method: ticks written out.
 */
import { describe, expect, it } from 'vitest';
import { timeLabels } from '../../../tools/explorer/page/words.ts';

describe('timeLabels', () => {
  it.each([
    [
      [0, 200, 400],
      ['0 ns', '200 ns', '400 ns'],
    ],
    [
      [0, 500, 1_000],
      ['0.0 us', '0.5 us', '1.0 us'],
    ],
    [
      [8_000_000, 9_000_000],
      ['8 ms', '9 ms'],
    ],
    [
      [9_000_000, 9_500_000, 10_000_000],
      ['9.0 ms', '9.5 ms', '10.0 ms'],
    ],
    [
      [16_800_000, 16_825_000],
      ['16.800 ms', '16.825 ms'],
    ],
    [
      [3e9, 3.5e9],
      ['3.0 s', '3.5 s'],
    ],
    [
      [3e9, 3e9 + 20],
      ['3.00000000 s', '3.00000002 s'],
    ],
    [[7_000_000], ['7 ms']],
    [[], []],
  ])('writes %j as %j', (ticks, labels) => {
    expect(timeLabels(ticks)).toEqual(labels);
  });
});
