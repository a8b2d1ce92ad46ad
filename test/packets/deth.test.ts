import { describe, expect, it } from 'vitest';
import { DETH_BYTES, dethQkey, dethSourceQpn, readDeth, writeDeth } from '../../packets/deth.ts';
import { exactView, fromHex, written } from './support.ts';

describe('DETH', () => {
  it('writes Q_Key and source QPN, and zeroes the reserved byte', () => {
    expect(written(DETH_BYTES, (view, at) => writeDeth(view, at, 0x80_01_00_00, 0xff_00_00_01))).toBe(
      '8001000000000001',
    );
  });

  it('reads them back, as u32 and 24 bits, ignoring the reserved byte', () => {
    const view = exactView(fromHex('ffffffff ff123456'));
    expect(readDeth(view, 0)).toEqual({ qkey: 0xff_ff_ff_ff, sourceQpn: 0x12_34_56 });
    expect([dethQkey(view, 0), dethSourceQpn(view, 0)]).toEqual([0xff_ff_ff_ff, 0x12_34_56]);
  });
});
