/** Goal: streams repeat by seed and label, differ between labels, and are usable from the very first draw. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { InvariantError } from '../../packets/errors.ts';
import { Prng } from '../../src/ground/prng.ts';

const draw = (random: Prng, n: number): number[] => Array.from({ length: n }, () => random.u32());

describe('Prng', () => {
  it('gives the same stream for the same seed and another for any other', () => {
    fc.assert(
      fc.property(fc.maxSafeInteger(), fc.maxSafeInteger(), (a, b) => {
        expect(draw(new Prng(a), 4)).toEqual(draw(new Prng(a), 4));
        if (a !== b) expect(draw(new Prng(a), 4)).not.toEqual(draw(new Prng(b), 4));
      }),
    );
  });

  it('forks by label only: what was drawn before changes nothing', () => {
    const fresh = new Prng(42);
    const used = new Prng(42);
    draw(used, 100);
    expect(draw(used.fork('port a'), 8)).toEqual(draw(fresh.fork('port a'), 8));
    expect(draw(fresh.fork('port a'), 8)).not.toEqual(draw(fresh.fork('port b'), 8));
    expect(draw(fresh.fork('a').fork('b'), 8)).not.toEqual(draw(fresh.fork('b').fork('a'), 8));
  });

  it('has uniform first draws over neighbouring seeds', () => {
    // 64,000 first draws in 64 boxes: chi-square with 63 degrees of freedom, 120 is past the 0.9999 quantile.
    const boxes = new Array<number>(64).fill(0);
    for (let seed = 0; seed < 64_000; seed++) {
      const box = new Prng(seed).below(64);
      boxes[box] = (boxes[box] ?? 0) + 1;
    }
    const chiSquare = boxes.reduce((sum, n) => sum + (n - 1000) ** 2 / 1000, 0);
    expect(chiSquare).toBeLessThan(120);
  });

  it('keeps below within its bound and hits both ends', () => {
    const random = new Prng(1);
    const seen = new Set(Array.from({ length: 200 }, () => random.below(3)));
    expect([...seen].sort()).toEqual([0, 1, 2]);
    expect(() => random.below(0)).toThrow(InvariantError);
  });

  it('meets a probability over many draws and draws nothing when there is no choice', () => {
    const random = new Prng(5);
    let hits = 0;
    for (let i = 0; i < 100_000; i++) if (random.chance(0.05)) hits++;
    expect(hits).toBeGreaterThan(4700);
    expect(hits).toBeLessThan(5300);
    const idle = new Prng(5);
    expect([idle.chance(0), idle.chance(-1), idle.chance(1)]).toEqual([false, false, true]);
    expect(idle.u32()).toBe(new Prng(5).u32());
  });
});
