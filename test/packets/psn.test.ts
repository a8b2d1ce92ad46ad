import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { PSN_MASK, psnAdd, psnDiff } from '../../packets/psn.ts';

const psn = fc.integer({ min: 0, max: PSN_MASK });
const half = 0x80_00_00;

describe('PSN arithmetic', () => {
  it('wraps forwards and backwards', () => {
    expect(psnAdd(0xff_ff_fe, 3)).toBe(1);
    expect(psnAdd(1, -3)).toBe(0xff_ff_fe);
    expect(psnAdd(0, -0x1_00_00_00)).toBe(0);
  });

  it('counts half the number space as past, from either end', () => {
    expect(psnDiff(half, 0)).toBe(-half);
    expect(psnDiff(0, half)).toBe(-half);
    expect(psnDiff(half - 1, 0)).toBe(half - 1);
    expect(psnDiff(5, 0xff_ff_fb)).toBe(10);
    expect(psnDiff(0xff_ff_fb, 5)).toBe(-10);
  });

  it('undoes an addition by the difference, for every start and every representable distance', () => {
    fc.assert(
      fc.property(psn, fc.integer({ min: -half, max: half - 1 }), (a, n) => {
        expect(psnDiff(psnAdd(a, n), a)).toBe(n);
      }),
    );
  });

  it('agrees with arithmetic in BigInt', () => {
    fc.assert(
      fc.property(psn, psn, fc.integer({ min: -0x7f_ff_ff_ff, max: 0x7f_00_00_00 }), (a, b, n) => {
        expect(psnAdd(a, n)).toBe(Number(BigInt.asUintN(24, BigInt(a) + BigInt(n))));
        expect(psnDiff(a, b)).toBe(Number(BigInt.asIntN(24, BigInt(a) - BigInt(b))));
      }),
    );
  });

  it('is antisymmetric except at half the number space', () => {
    fc.assert(
      fc.property(psn, psn, (a, b) => {
        fc.pre(psnDiff(a, b) !== -half);
        expect(psnDiff(a, b) + psnDiff(b, a)).toBe(0);
      }),
    );
  });
});
