/**
 * Goal: whichever CRC-32 the machine has, results are those of our tables. Method: the chosen one against the tables on
 * any bytes.
 */
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
      delete globalThis.WebAssembly;
      zlib.crc32 = () => 7;
      syncBuiltinESMExports();
      const { installBulkCrc32 } = await import('./src/node/bulk-crc32.ts');
      const { crc32 } = await import('./packets/crc32.ts');
      console.log(installBulkCrc32(), crc32(new Uint8Array(5000)));`;
    const { code, stdout } = await startProgram('--input-type=module', ['--eval', program]).ended;
    expect([code, stdout.trim()]).toEqual([0, 'zlib 7']);
  });

  it('is not taken from a library that computes something else', () => {
    const before = installBulkCrc32();
    expect(installNativeCrc32({ load: () => ({ func: () => () => 1 }) })).toBe(before);
  });

  it('agrees with the tables from any state, at any place in a buffer', () => {
    const bytes = fc.uint8Array({ minLength: BULK_CRC32_BYTES, maxLength: 10_000 });
    fc.assert(
      fc.property(bytes, fc.nat(BULK_CRC32_BYTES), fc.nat(0xff_ff_ff_ff), (data, start, state) => {
        const split = Math.min(data.length, start + BULK_CRC32_BYTES - 1);
        // Pieces shorter than the threshold take the tables.
        let expected = state;
        for (let at = start; at < data.length; at += 100) {
          expected = crc32Update(expected, data, at, Math.min(at + 100, data.length));
        }
        expect(crc32Update(state, data, start, data.length)).toBe(expected);
        expect(crc32Update(crc32Update(state, data, start, split), data, split, data.length)).toBe(expected);
      }),
    );
    expect(crc32Update(CRC32_INITIAL, new Uint8Array(0), 0, 0)).toBe(CRC32_INITIAL);
  });
});
