import { describe, expect, it } from 'vitest';
import { IMM_DT_BYTES, immDt, readImmDt, writeImmDt } from '../../packets/imm-dt.ts';
import { exactView, fromHex, written } from './support.ts';

describe('ImmDt', () => {
  it('writes and reads 32 bits, unsigned', () => {
    expect(written(IMM_DT_BYTES, (view, at) => writeImmDt(view, at, 0xfe_dc_ba_98))).toBe('fedcba98');
    const view = exactView(fromHex('fedcba98'));
    expect([immDt(view, 0), readImmDt(view, 0).immDt]).toEqual([0xfe_dc_ba_98, 0xfe_dc_ba_98]);
  });
});
