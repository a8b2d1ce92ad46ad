import { describe, expect, it } from 'vitest';
import { IETH_BYTES, iethRkey, readIeth, writeIeth } from '../../packets/ieth.ts';
import { exactView, fromHex, written } from './support.ts';

describe('IETH', () => {
  it('writes and reads the key, unsigned', () => {
    expect(written(IETH_BYTES, (view, at) => writeIeth(view, at, 0xfe_dc_ba_98))).toBe('fedcba98');
    const view = exactView(fromHex('fedcba98'));
    expect([iethRkey(view, 0), readIeth(view, 0).rkey]).toEqual([0xfe_dc_ba_98, 0xfe_dc_ba_98]);
  });
});
