import { describe, expect, it } from 'vitest';
import { RDETH_BYTES, rdethEeContext, readRdeth, writeRdeth } from '../../packets/rdeth.ts';
import { exactView, fromHex, written } from './support.ts';

describe('RDETH', () => {
  it('writes and reads 24 bits of context, zeroing and ignoring the reserved byte', () => {
    expect(written(RDETH_BYTES, (view, at) => writeRdeth(view, at, 0xff_ab_cd_ef))).toBe('00abcdef');
    const view = exactView(fromHex('ffabcdef'));
    expect([rdethEeContext(view, 0), readRdeth(view, 0).eeContext]).toEqual([0xab_cd_ef, 0xab_cd_ef]);
  });
});
