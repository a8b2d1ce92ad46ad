/** Goal: what a device does about hostile packets is set within ranges, and by default as documented. */
import { describe, expect, it } from 'vitest';
import { RoceError } from '../../packets/errors.ts';
import { type Defences, makeDefences } from '../../transport/defences.ts';

describe('defences', () => {
  it.each([
    { psnWindow: 0 },
    { psnWindow: 2 ** 23 },
    { psnWindow: 1.5 },
    { maxReadResponseBytes: 4095 },
    { maxReadResponseBytes: Number.NaN },
    { minCnpIntervalNs: -1 },
    { minCnpIntervalNs: Number.POSITIVE_INFINITY },
  ] as Partial<Defences>[])('%j is refused by name', (asked) => {
    expect(() => makeDefences(asked)).toThrow(RoceError);
    expect(() => makeDefences(asked)).toThrow(Object.keys(asked)[0]);
  });

  it('have defaults, and heed CNPs as often as the device itself would send them', () => {
    expect(makeDefences({})).toEqual({
      psnWindow: 65_536,
      maxReadResponseBytes: 67_108_864,
      minCnpIntervalNs: 4000,
      strictUdpSport: false,
    });
    expect(makeDefences({}, 1000).minCnpIntervalNs).toBe(1000);
    expect(makeDefences({}, 50_000).minCnpIntervalNs).toBe(4000);
    expect(makeDefences({ minCnpIntervalNs: 9000 }, 1000).minCnpIntervalNs).toBe(9000);
  });
});
