/**
 * Goal: the credit codes are those of ref:conformance#C.4, and the limit moves as acknowledges say. Method: the whole
 * table, and a model.
 */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { CreditLimit, creditCode, creditsOf, NO_CREDITS } from '../../transport/credits.ts';

const PUBLISHED = [
  [0, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192],
  [256, 384, 512, 768, 1024, 1536, 2048, 3072, 4096, 6144, 8192, 12_288, 16_384, 24_576, 32_768],
].flat();

describe('credit codes', () => {
  it('ACK-11 stand for the published numbers', () => {
    expect(PUBLISHED.map((_, code) => creditsOf(code))).toEqual(PUBLISHED);
    expect(PUBLISHED).toHaveLength(NO_CREDITS);
  });

  it('ACK-11 say the largest number that is not above the receives there are', () => {
    for (let receives = 0; receives <= 70_000; receives++) {
      const best = PUBLISHED.findLastIndex((credits) => credits <= receives);
      if (creditCode(receives) !== best) expect([receives, creditCode(receives)]).toEqual([receives, best]);
    }
  });
});

describe('the limit of a requester', () => {
  it('is where MSN and credits point, and never goes back', () => {
    const limit = new CreditLimit();
    limit.reset(true);
    expect(limit.granted(0, creditCode(2))).toBe(true);
    expect(limit.lsn).toBe(2);
    expect(limit.granted(1, 0)).toBe(false);
    expect(limit.lsn).toBe(2);
    limit.sentWithoutReceive();
    expect(limit.lsn).toBe(3);
    expect(limit.granted(3, creditCode(4))).toBe(true);
    expect(limit.lsn).toBe(7);
  });

  it('is none once the peer says that it gives no credits', () => {
    const limit = new CreditLimit();
    limit.reset(true);
    expect(limit.granted(0, NO_CREDITS)).toBe(true);
    expect(limit.limited).toBe(false);
    expect(limit.granted(9, 0)).toBe(false);
  });

  it('wraps with the 24 bits of the MSN', () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(fc.nat(5000), fc.nat(30)), { maxLength: 40 }), (steps) => {
        const limit = new CreditLimit();
        limit.reset(true);
        let msn = 0;
        let expected = 0;
        for (const [advance, code] of [[0x7f_ff_00, 0] as const, [0x7f_ff_00, 0] as const, ...steps]) {
          msn += advance;
          limit.granted(msn & 0xff_ff_ff, code);
          expected = Math.max(expected, msn + creditsOf(code));
          expect(limit.lsn).toBe(expected);
        }
      }),
    );
  });
});
