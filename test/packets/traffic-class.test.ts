/** Goal: DSCP and ECN are where RFC 2474 and RFC 3168 have them. Method: values by hand, then all 256. */
import { describe, expect, it } from 'vitest';
import { dscpOf, ECN_MASK, Ecn, isMarked, trafficClassOf } from '../../packets/traffic-class.ts';

describe('a traffic class', () => {
  it('is DSCP and ECN', () => {
    expect(trafficClassOf(26, Ecn.Ect0)).toBe(106);
    expect(trafficClassOf(48)).toBe(192);
    expect([Ecn.NotEct, Ecn.Ect1, Ecn.Ect0, Ecn.Ce]).toEqual([0b00, 0b01, 0b10, 0b11]);
  });

  it('is taken apart as it was put together, and is marked by CE alone', () => {
    for (let value = 0; value < 256; value++) {
      expect(trafficClassOf(dscpOf(value), value & ECN_MASK)).toBe(value);
      expect(isMarked(value)).toBe(value % 4 === 3);
    }
  });
});
