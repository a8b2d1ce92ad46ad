import { describe, expect, it } from 'vitest';
import { BTH_BYTES, readBth, writeBth, writeBthCongestion } from '../../packets/bth.ts';
import { exactView, flipBit, fromHex, written } from './support.ts';

describe('BTH', () => {
  it('writes every field to its place, and zeroes version, FECN, BECN and reserved bits', () => {
    const hex = written(BTH_BYTES, (view, at) => writeBth(view, at, 0x0a, 1, 0, 3, 0xff_fe, 0x12_34_56, 1, 0xab_cd_ef));
    expect(hex).toBe('0ab0fffe0012345680abcdef');
    expect(written(BTH_BYTES, (view, at) => writeBth(view, at, 0x11, 0, 1, 0, 0xff_ff, 0x11, 0, 7))).toBe(
      '1140ffff0000001100000007',
    );
  });

  it('keeps values that are too large inside their own bits', () => {
    const hex = written(BTH_BYTES, (view, at) =>
      writeBth(view, at, 0x04, 0, 0, 7, 0xff_ff, 0xff_00_00_12, 0, 0xff_00_00_34),
    );
    expect(hex).toBe('0430ffff0000001200000034');
  });

  it('reads what stands there, ignoring reserved bits', () => {
    expect(readBth(exactView(fromHex('81c7ffff ff0000d2 ff000001')), 0)).toEqual({
      opcode: 0x81,
      solicited: 1,
      migReq: 1,
      padCount: 0,
      transportVersion: 7,
      pkey: 0xff_ff,
      fecn: 1,
      becn: 1,
      destQpn: 0xd2,
      ackReq: 1,
      psn: 1,
    });
  });

  it('sees every one-bit change except in the 13 reserved bits', () => {
    const zero = new Uint8Array(BTH_BYTES);
    const unseen: number[] = [];
    const before = JSON.stringify(readBth(exactView(zero), 0));
    for (let bit = 0; bit < BTH_BYTES * 8; bit++) {
      if (JSON.stringify(readBth(exactView(flipBit(zero, bit)), 0)) === before) unseen.push(bit);
    }
    expect(unseen).toEqual([34, 35, 36, 37, 38, 39, 65, 66, 67, 68, 69, 70, 71]);
  });

  it('writes FECN and BECN alone', () => {
    expect(written(5, (view, at) => writeBthCongestion(view, at, 1, 0))).toBe('a5a5a5a580');
    expect(written(5, (view, at) => writeBthCongestion(view, at, 0, 1))).toBe('a5a5a5a540');
  });
});
