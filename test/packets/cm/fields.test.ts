import { describe, expect, it } from 'vitest';
import { readArea, readU24, writeArea, writeU24 } from '../../../packets/cm/fields.ts';
import { RoceError } from '../../../packets/errors.ts';

describe('the helpers of the connection management codecs', () => {
  it('write and read 24 bits, big-endian, and drop what does not fit', () => {
    const view = new DataView(new ArrayBuffer(5));
    writeU24(view, 1, 0x7f_12_34_56);
    expect(view.getUint32(0)).toBe(0x00_12_34_56);
    expect(view.getUint8(4)).toBe(0);
    expect(readU24(view, 1)).toBe(0x12_34_56);
  });

  it('copy areas out, so that the receive buffer may be used again', () => {
    const bytes = Uint8Array.of(1, 2, 3, 4);
    const area = readArea(new DataView(bytes.buffer, 1), 0, 2);
    bytes.fill(0);
    expect([...area]).toEqual([2, 3]);
  });

  it('blame the caller for data that does not fit', () => {
    const view = new DataView(new ArrayBuffer(4));
    expect(() => writeArea(view, 0, 2, new Uint8Array(3), 'the area')).toThrow(RoceError);
    writeArea(view, 1, 2, Uint8Array.of(9), 'the area');
    expect(view.getUint32(0)).toBe(0x00_09_00_00);
  });
});
