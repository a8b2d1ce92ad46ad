/**
 * Goal: runs that WebAssembly shortens have the CRC-32 that they would have without, and an engine that cannot do it is
 * noticed. Method: any run against zlib; engines made for the purpose.
 */
import { crc32 as zlibCrc32 } from 'node:zlib';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { crc32, crc32Update, hasWasmCrc32 } from '../../packets/crc32.ts';
import { SHORTENED_BYTES, ShortenedCrc32 } from '../../packets/crc32-wasm.ts';

const LONGEST = 60_000;
const slab = Uint8Array.from({ length: LONGEST }, (_, i) => (i * 2_654_435_761) >>> 24);

describe('shortened runs', () => {
  it('are there in Node', () => {
    expect(hasWasmCrc32()).toBe(true);
  });

  it('equal zlib.crc32 for every length around the threshold and around the longest piece', () => {
    for (const middle of [SHORTENED_BYTES, 0x50_00, 0x50_00 + SHORTENED_BYTES, 2 * 0x50_00]) {
      for (let length = middle - 20; length <= middle + 20; length++)
        expect(crc32(slab, 5, 5 + length), `${length} bytes`).toBe(zlibCrc32(slab.subarray(5, 5 + length)));
    }
  });

  it('equal zlib.crc32 from any state, over any bytes, whatever went before', () => {
    const run = fc.uint8Array({ minLength: SHORTENED_BYTES, maxLength: 5000 });
    fc.assert(
      fc.property(run, fc.nat(0xff_ff_ff_ff), (bytes, value) => {
        const state = crc32Update(~value >>> 0, bytes, 0, bytes.length);
        expect(state).toBeGreaterThanOrEqual(0);
        expect(~state >>> 0).toBe(zlibCrc32(bytes, value));
      }),
    );
  });

  it('leave a short remainder to the tables, without reading the run there', () => {
    const tabled: number[] = [];
    ShortenedCrc32.make()?.update(1, slab, 0, 4096, (state, view, start, end) => {
      expect(view.buffer).not.toBe(slab.buffer);
      tabled.push(end - start);
      return state;
    });
    expect(tabled).toHaveLength(1);
    expect(tabled[0]).toBeGreaterThanOrEqual(304);
    expect(tabled[0]).toBeLessThan(320);
  });

  it('write nothing into the run', () => {
    const copy = slab.slice();
    crc32(copy);
    expect(copy).toEqual(slab);
  });

  it('are read from shared memory, too', () => {
    const shared = new Uint8Array(new SharedArrayBuffer(4096));
    shared.set(slab.subarray(0, 4096));
    expect(crc32(shared)).toBe(zlibCrc32(slab.subarray(0, 4096)));
  });
});

describe('the module', () => {
  it('is small enough for every browser to compile at once', () => {
    let size = 0;
    class Module {
      constructor(bytes: Uint8Array) {
        size = bytes.length;
        throw new Error('enough seen');
      }
    }
    expect(ShortenedCrc32.make({ WebAssembly: { Module } })).toBeNull();
    expect(size).toBeGreaterThan(0);
    expect(size).toBeLessThan(1024);
  });

  it('is done without where there is no WebAssembly', () => {
    expect(ShortenedCrc32.make({})).toBeNull();
  });
});
