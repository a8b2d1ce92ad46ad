/**
 * Goal: whichever CRC-32 the machine has, results are those of our tables. Method: the chosen one against the tables on
 * any bytes.
 */
import { crc32 as zlibCrc32 } from 'node:zlib';
import fc from 'fast-check';
import { afterAll, describe, expect, it } from 'vitest';
import { BULK_CRC32_BYTES, CRC32_INITIAL, crc32Update, useBulkCrc32 } from '../../packets/crc32.ts';
import { installBulkCrc32, installNativeCrc32 } from '../../src/node/bulk-crc32.ts';
import { loadNativeCrc32 } from '../../src/node/links/libc.ts';
import { useWhereThere } from '../support/need.ts';
import { startProgram } from '../support/running.ts';

describe('the bulk CRC-32 of this machine', () => {
  useWhereThere('koffi');
  afterAll(() => useBulkCrc32(null));

  it('has a name and keeps it', async () => {
    expect(installBulkCrc32()).toBe('WebAssembly');
    const koffi = await import('koffi').catch(() => undefined);
    const name = koffi === undefined ? installBulkCrc32() : installNativeCrc32(koffi.default);
    expect(['ISA-L', 'libdeflate', 'WebAssembly']).toContain(name);
    expect(installBulkCrc32()).toBe(name);
    await loadNativeCrc32();
    expect(installBulkCrc32()).toBe(name);
  });

  it('is that of zlib where the engine has no WebAssembly', async () => {
    const program = `
      import zlib from 'node:zlib';
      import { syncBuiltinESMExports } from 'node:module';
      // For its first module tsx needs WebAssembly itself.
      await import('./packets/errors.ts');
      delete globalThis.WebAssembly;
      zlib.crc32 = (data, value) => 10 * data.length + value;
      syncBuiltinESMExports();
      const { installBulkCrc32 } = await import('./src/node/bulk-crc32.ts');
      const { crc32 } = await import('./packets/crc32.ts');
      console.log(installBulkCrc32(), crc32(new Uint8Array(5000), 10, 4010));`;
    const { code, stdout } = await startProgram('--input-type=module', ['--eval', program]).ended;
    expect([code, stdout.trim()]).toEqual([0, 'zlib 40000']);
  });

  it('is not taken from a library that computes something else', () => {
    const before = installBulkCrc32();
    expect(installNativeCrc32({ load: () => ({ func: () => () => 1 }), address: () => 0 })).toBe(before);
  });

  it('agrees with the tables from any state, at any place in a buffer', () => {
    const bytes = fc.uint8Array({ minLength: BULK_CRC32_BYTES, maxLength: 10_000 });
    fc.assert(
      fc.property(bytes, fc.nat(BULK_CRC32_BYTES), fc.nat(0xff_ff_ff_ff), (data, start, state) => {
        const split = Math.min(data.length, start + BULK_CRC32_BYTES - 1);
        const expected = byTables(state, data, start, data.length);
        expect(crc32Update(state, data, start, data.length)).toBe(expected);
        expect(crc32Update(crc32Update(state, data, start, split), data, split, data.length)).toBe(expected);
      }),
    );
    expect(crc32Update(CRC32_INITIAL, new Uint8Array(0), 0, 0)).toBe(CRC32_INITIAL);
  });

  it('is given the address of what lies in shared memory that it was told of, and anything else as an array', () => {
    const memories = [new SharedArrayBuffer(2000), new SharedArrayBuffer(2000)];
    const [one, two] = memories.map((memory) => new Uint8Array(memory)) as [Uint8Array, Uint8Array];
    for (let i = 0; i < 2000; i++) [one[i], two[i]] = [i * 7, i * 11];
    const passed: (number | 'array')[] = [];
    const native = (value: number, data: Uint8Array | number, length: number) => {
      passed.push(typeof data === 'number' ? data : 'array');
      if (typeof data !== 'number') {
        expect(length).toBe(data.length);
        return zlibCrc32(data, value);
      }
      const memory = data < 20_000 ? one : two;
      return zlibCrc32(memory.subarray(data % 10_000, (data % 10_000) + length), value);
    };
    const address = (of: Uint8Array) => (of.buffer === memories[0] ? 10_000 : 20_000n);
    installNativeCrc32({ load: () => ({ func: () => native }), address }, memories);
    passed.length = 0;
    const unknown = new Uint8Array(new SharedArrayBuffer(2000));
    const runs = [
      [one, 0],
      [one, 5],
      [new Uint8Array(memories[0] as SharedArrayBuffer, 100), 5],
      [two, 5],
      [two.slice(), 5],
      [two, 6],
      [unknown, 7],
      [unknown, 8],
      [one, 8],
    ] as const;
    for (const [bytes, start] of runs) {
      const end = start + BULK_CRC32_BYTES;
      expect(~crc32Update(CRC32_INITIAL, bytes, start, end) >>> 0).toBe(zlibCrc32(bytes.subarray(start, end)));
    }
    expect(passed).toEqual([10_000, 10_005, 10_105, 20_005, 'array', 20_006, 'array', 'array', 10_008]);
    // Nothing behind the end of an array is read, whether it lies in such memory or not.
    const within = one.subarray(0, 1000);
    for (const bytes of [within, within.slice()])
      expect(~crc32Update(CRC32_INITIAL, bytes, 900, 1200) >>> 0).toBe(zlibCrc32(bytes.subarray(900)));
    expect(passed.slice(9)).toEqual(['array', 'array']);
  });

  it('agrees with the tables in shared memory that it was told of', async () => {
    const memory = new SharedArrayBuffer(10_000);
    await loadNativeCrc32([memory]);
    const all = new Uint8Array(memory);
    for (let i = 0; i < all.length; i++) all[i] = (i * 2_654_435_761) >>> 24;
    fc.assert(
      fc.property(fc.nat(7000), fc.nat(1000), fc.nat(2000), fc.nat(0xff_ff_ff_ff), (at, start, length, state) => {
        const bytes = new Uint8Array(memory, at);
        const expected = byTables(state, bytes, start, start + length);
        expect(crc32Update(state, bytes, start, start + length)).toBe(expected);
        expect(crc32Update(state, all, at + start, at + start + length)).toBe(expected);
      }),
    );
  });
});

/** Pieces shorter than the threshold take the tables. */
function byTables(state: number, bytes: Uint8Array, start: number, end: number): number {
  let expected = state;
  for (let at = start; at < end; at += 100) expected = crc32Update(expected, bytes, at, Math.min(at + 100, end));
  return expected;
}
