/**
 * Goal: nobody sends what the other end has no room for. Method: block sizes by hand, and random traffic against a
 * plain sum.
 */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { InvariantError, RoceError } from '../../../packets/errors.ts';
import { creditBlocks, LinkCredits } from '../../../src/sim/buffer/index.ts';

describe('credits of a link', () => {
  it.each([
    [0, 0],
    [1, 1],
    [64, 1],
    [65, 2],
    [4200, 66],
  ])('a frame of %i bytes takes %i blocks', (bytes, blocks) => {
    expect(creditBlocks(bytes)).toBe(blocks);
  });

  it('are taken whole or not at all, and come back', () => {
    const credits = new LinkCredits(3);
    expect([credits.take(65), credits.available]).toEqual([true, 1]);
    expect([credits.take(65), credits.available, credits.refused]).toEqual([false, 1, 1]);
    expect([credits.take(64), credits.available]).toEqual([true, 0]);
    credits.giveBack(65);
    expect([credits.take(100), credits.available, credits.refused]).toEqual([true, 0, 1]);
  });

  it('that come back without having been taken are a bug of ours', () => {
    expect(() => new LinkCredits(3).giveBack(1)).toThrow(InvariantError);
  });

  it.each([0, -1, 1.5, Number.NaN, Infinity])('cannot be %d blocks', (blocks) => {
    expect(() => new LinkCredits(blocks)).toThrow(RoceError);
  });

  it('never let more under way than there is room for, and never refuse what fits', () => {
    const steps = fc.array(fc.record({ back: fc.boolean(), bytes: fc.integer({ min: 1, max: 700 }) }), {
      maxLength: 200,
    });
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 30 }), steps, (blocks, list) => {
        const credits = new LinkCredits(blocks);
        const away: number[] = [];
        for (const { back, bytes } of list) {
          const first = back ? away.shift() : undefined;
          if (first !== undefined) credits.giveBack(first);
          else {
            const fits = away.reduce((sum, each) => sum + creditBlocks(each), creditBlocks(bytes)) <= blocks;
            expect(credits.take(bytes)).toBe(fits);
            if (fits) away.push(bytes);
          }
          expect(credits.available).toBe(away.reduce((rest, each) => rest - creditBlocks(each), blocks));
        }
      }),
    );
  });
});
