import { crc32 as zlibCrc32 } from 'node:zlib';
import fc from 'fast-check';
import { afterEach, describe, expect, it } from 'vitest';
import { BULK_CRC32_BYTES, CRC32_INITIAL, crc32, crc32Update, useBulkCrc32 } from '../../packets/crc32.ts';
import { zlibBulkCrc32 } from '../support/zlib-crc32.ts';

afterEach(() => useBulkCrc32(null));

const slab = Uint8Array.from({ length: 4096 }, (_, i) => (i * 2_654_435_761) >>> 24);
const slice = fc
  .tuple(fc.nat(slab.length), fc.nat(slab.length))
  .map(([a, b]) => [Math.min(a, b), Math.max(a, b)] as const);

describe('CRC-32', () => {
  it('has the check value of the nine digits, and is 0 over nothing', () => {
    expect(crc32(new TextEncoder().encode('123456789'))).toBe(0xcb_f4_39_26);
    expect(crc32(new Uint8Array(0))).toBe(0);
    expect(crc32Update(CRC32_INITIAL, new Uint8Array(0), 0, 0)).toBe(CRC32_INITIAL);
  });

  it.each([
    ['without', null],
    ['with', zlibBulkCrc32],
  ] as const)('equals zlib.crc32 over any slice %s a bulk routine', (_, bulk) => {
    useBulkCrc32(bulk);
    fc.assert(
      fc.property(slice, ([start, end]) => {
        expect(crc32(slab, start, end)).toBe(zlibCrc32(slab.subarray(start, end)));
      }),
    );
  });

  it('equals zlib.crc32 for every short length at every alignment', () => {
    for (let start = 0; start < 8; start++) {
      for (let length = 0; length <= 40; length++) {
        expect(crc32(slab, start, start + length)).toBe(zlibCrc32(slab.subarray(start, start + length)));
      }
    }
  });

  it('continues from any cut, also when one side goes to the bulk routine and the other does not', () => {
    useBulkCrc32(zlibBulkCrc32);
    fc.assert(
      fc.property(slice, fc.double({ min: 0, max: 1, noNaN: true }), ([start, end], part) => {
        const cut = start + Math.floor((end - start) * part);
        const state = crc32Update(crc32Update(CRC32_INITIAL, slab, start, cut), slab, cut, end);
        expect(~state >>> 0).toBe(crc32(slab, start, end));
      }),
    );
  });

  it('sends runs from the threshold on to the bulk routine, and only those', () => {
    const lengths: number[] = [];
    useBulkCrc32((bytes, start, end, value) => {
      lengths.push(end - start);
      return zlibBulkCrc32(bytes, start, end, value);
    });
    crc32(slab, 3, 3 + BULK_CRC32_BYTES - 1);
    crc32(slab, 3, 3 + BULK_CRC32_BYTES);
    crc32(slab);
    expect(lengths).toEqual([BULK_CRC32_BYTES, slab.length]);
  });
});
