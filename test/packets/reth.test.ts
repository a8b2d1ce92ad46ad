import { describe, expect, it } from 'vitest';
import { RETH_BYTES, readReth, rethDmaLength, rethRkey, rethVaHi, rethVaLo, writeReth } from '../../packets/reth.ts';
import { exactView, fromHex, written } from './support.ts';

describe('RETH', () => {
  const hex = '8899aabbccddeeff0123456780000001';

  it('writes address, key and length', () => {
    const write = (view: DataView, at: number) =>
      writeReth(view, at, 0x88_99_aa_bb, 0xcc_dd_ee_ff, 0x01_23_45_67, 0x80_00_00_01);
    expect(written(RETH_BYTES, write)).toBe(hex);
  });

  it('reads them unsigned, as halves and as a bigint', () => {
    const view = exactView(fromHex(hex));
    expect(readReth(view, 0)).toEqual({
      va: 0x88_99_aa_bb_cc_dd_ee_ffn,
      rkey: 0x01_23_45_67,
      dmaLength: 0x80_00_00_01,
    });
    expect([rethVaHi(view, 0), rethVaLo(view, 0)]).toEqual([0x88_99_aa_bb, 0xcc_dd_ee_ff]);
    expect([rethRkey(view, 0), rethDmaLength(view, 0)]).toEqual([0x01_23_45_67, 0x80_00_00_01]);
  });
});
