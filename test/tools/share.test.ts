/**
 * Goal: a share on a command line means one thing, however it is written. Method: examples, and a property there and
 * back.
 */
import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { readShare, shareText } from '../../tools/share.ts';

it.each([
  ['0.01', 0.01],
  ['1%', 0.01],
  ['0.5%', 0.005],
  ['0', 0],
  ['0%', 0],
  ['1', 1],
  ['100%', 1],
  ['1e-3', 0.001],
])('%s is a share of %d', (text, share) => {
  expect(readShare(text)).toBe(share);
});

it.each(['', '%', '5', '101%', '-1%', '-0.1', '1 %', '1%%', '0x1', 'NaN', 'Infinity', '.5', '1e400'])(
  '"%s" is none',
  (text) => {
    expect(readShare(text)).toBeNaN();
  },
);

it('is read as it was written', () => {
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 100_000 }), (thousandths) => {
      const share = thousandths / 100_000;
      expect(readShare(shareText(share))).toBeCloseTo(share, 12);
    }),
  );
});
