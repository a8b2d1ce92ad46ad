/**
 * Goal: a cookie counts for the connection it was made for and for no other, and tells the segment size. Method:
 * arbitrary ends and changes; a vector of the reference implementation of HalfSipHash.
 */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { IpAddress } from '../../../../packets/address.ts';
import { halfSipHash, SynCookies } from '../../../../src/device/host/tcp/syn-cookies.ts';
import { Prng } from '../../../../src/ground/prng.ts';

const ENDS = {
  localAddress: IpAddress.parse('10.0.0.1'),
  localPort: 18_515,
  remoteAddress: IpAddress.parse('10.0.0.2'),
  remotePort: 50_000,
};
const EPOCH = 64e9;

describe('a SYN cookie', () => {
  it('is hashed as HalfSipHash-2-4 is: the reference vectors of 0 and 4 bytes', () => {
    expect(halfSipHash(0x03_02_01_00, 0x07_06_05_04, [])).toBe(0x5b_9f_35_a9);
  });

  it('tells the segment size, rounded down, for 64 to 128 s', () => {
    const cookies = new SynCookies(new Prng(1));
    for (const [mss, told] of [
      [100, 64],
      [536, 536],
      [1459, 1440],
      [1460, 1460],
      [65_535, 8940],
    ] as const) {
      const cookie = cookies.make(1.9 * EPOCH, ENDS, 77, mss);
      expect(cookies.check(1.9 * EPOCH, ENDS, 77, cookie)).toBe(told);
      expect(cookies.check(2.9 * EPOCH, ENDS, 77, cookie)).toBe(told);
      expect(cookies.check(3.1 * EPOCH, ENDS, 77, cookie)).toBeUndefined();
    }
  });

  it('counts for no other port, address, sequence number, device or value', () => {
    const cookies = new SynCookies(new Prng(1));
    const cookie = cookies.make(0, ENDS, 77, 1460);
    const other = IpAddress.parse('10.0.0.3');
    for (const ends of [{ localPort: 1 }, { remotePort: 1 }, { localAddress: other }, { remoteAddress: other }])
      expect(cookies.check(0, { ...ENDS, ...ends }, 77, cookie)).toBeUndefined();
    expect(cookies.check(0, ENDS, 78, cookie)).toBeUndefined();
    expect(new SynCookies(new Prng(2)).check(0, ENDS, 77, cookie)).toBeUndefined();
    expect(new SynCookies(new Prng(1)).check(0, ENDS, 77, cookie)).toBe(1460);
    fc.assert(
      fc.property(fc.nat(0xff_ff_ff_ff), (guess) => {
        expect(cookies.check(0, ENDS, 77, guess)).toBe(guess === cookie ? 1460 : undefined);
      }),
    );
  });
});
