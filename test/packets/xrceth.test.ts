import { describe, expect, it } from 'vitest';
import { readXrceth, writeXrceth, XRCETH_BYTES, xrcethXrcSrq } from '../../packets/xrceth.ts';
import { exactView, fromHex, written } from './support.ts';

describe('XRCETH', () => {
  it('writes and reads a 24-bit queue number, zeroing and ignoring the reserved byte', () => {
    expect(written(XRCETH_BYTES, (view, at) => writeXrceth(view, at, 0xff_ab_cd_ef))).toBe('00abcdef');
    const view = exactView(fromHex('ffabcdef'));
    expect([xrcethXrcSrq(view, 0), readXrceth(view, 0).xrcSrq]).toEqual([0xab_cd_ef, 0xab_cd_ef]);
  });
});
