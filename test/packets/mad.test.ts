import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { MAD_BYTES, MAD_HEADER_BYTES, readMadHeader, writeMadHeader } from '../../packets/mad.ts';

const u8 = fc.integer({ min: 0, max: 0xff });
const u16 = fc.integer({ min: 0, max: 0xff_ff });

describe('the MAD header', () => {
  it('puts every field where a captured MAD has it', () => {
    const bytes = new Uint8Array(MAD_HEADER_BYTES).fill(0xa5);
    writeMadHeader(new DataView(bytes.buffer), 0, {
      baseVersion: 1,
      mgmtClass: 7,
      classVersion: 2,
      method: 3,
      status: 0,
      classSpecific: 0,
      transactionId: 0x2_3642_dee6n,
      attributeId: 0x10,
      attributeModifier: 0,
    });
    expect(Buffer.from(bytes).toString('hex')).toBe(
      '01070203000000000000000236' + '42dee6' + '0010' + '0000' + '00000000',
    );
  });

  it('comes back as it was written, for all values', () => {
    const header = fc.record({
      baseVersion: u8,
      mgmtClass: u8,
      classVersion: u8,
      method: u8,
      status: u16,
      classSpecific: u16,
      transactionId: fc.bigInt({ min: 0n, max: (1n << 64n) - 1n }),
      attributeId: u16,
      attributeModifier: fc.integer({ min: 0, max: 2 ** 32 - 1 }),
    });
    fc.assert(
      fc.property(header, fc.integer({ min: 0, max: 9 }), (value, offset) => {
        const view = new DataView(new ArrayBuffer(MAD_BYTES));
        writeMadHeader(view, offset, value);
        expect(readMadHeader(view, offset)).toEqual(value);
      }),
    );
  });
});
