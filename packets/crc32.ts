/**
 * CRC-32 (the zlib and Ethernet polynomial), as a running register.
 *
 * Owns the tables, sixteen look-ups for sixteen bytes, and the choice between them, WebAssembly (`crc32-wasm.ts`) and a
 * native routine for long runs. Never imports a native one: this room runs in a browser, so `src/node/bulk-crc32.ts`
 * installs what a machine has, once a thread. These choices are the only variables of this room outside an object, and
 * no result depends on them. Costs and thresholds: ref:platform#7.
 */

import { SHORTENED_BYTES, ShortenedCrc32 } from './crc32-wasm.ts';

/** State before the first byte. */
export const CRC32_INITIAL = 0xff_ff_ff_ff;

/**
 * Runs of at least this many bytes go to the bulk routine, where there is one; below it the fixed cost of a native call
 * is higher than ours.
 */
export const BULK_CRC32_BYTES = 256;

/** Continues the finished CRC `value` over [start, end), which lies inside `bytes`, and returns a finished CRC. */
export type BulkCrc32 = (bytes: Uint8Array, start: number, end: number, value: number) => number;

let bulkCrc32: BulkCrc32 | null = null;

/** Installs the routine for long runs, or removes it with null. Results do not change, speed does. */
export function useBulkCrc32(fn: BulkCrc32 | null): void {
  bulkCrc32 = fn;
}

/** Undefined before the first long run: a program that has none pays nothing. */
let shortened: ShortenedCrc32 | null | undefined;

/** Whether this engine has WebAssembly for long runs. */
export function hasWasmCrc32(): boolean {
  if (shortened === undefined) shortened = ShortenedCrc32.make();
  return shortened !== null;
}

/** Finished CRC-32 of [start, end). */
export function crc32(bytes: Uint8Array, start = 0, end = bytes.length): number {
  return ~crc32Update(CRC32_INITIAL, bytes, start, end) >>> 0;
}

/**
 * Feeds [start, end), which lies inside `bytes`, into a running register and returns it, as u32.
 *
 * The state is the register before the final inversion: begin with `CRC32_INITIAL`, finish with `~state >>> 0`. `view`
 * is the same memory; who has one saves making it.
 */
export function crc32Update(
  state: number,
  bytes: Uint8Array,
  start: number,
  end: number,
  view: DataView = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength),
): number {
  const length = end - start;
  if (bulkCrc32 !== null && length >= BULK_CRC32_BYTES) return ~bulkCrc32(bytes, start, end, ~state >>> 0) >>> 0;
  if (length < SHORTENED_BYTES) return sliceBy16(state, view, start, end);
  if (shortened === undefined) shortened = ShortenedCrc32.make();
  if (shortened === null) return sliceBy16(state, view, start, end);
  return shortened.update(state, bytes, start, end, sliceBy16);
}

/** Feeds the four bytes of a little-endian word into a running register and returns it, as a signed 32-bit integer. */
export function crc32Word(state: number, word: number): number {
  const low = state ^ word;
  return (
    (SLICE_3[low & 0xff] ?? 0) ^
    (SLICE_2[(low >>> 8) & 0xff] ?? 0) ^
    (SLICE_1[(low >>> 16) & 0xff] ?? 0) ^
    (SLICE_0[low >>> 24] ?? 0)
  );
}

const POLYNOMIAL = 0xed_b8_83_20;

// SLICE_k[b] is the register after byte b and k zero bytes. Sixteen arrays and not one: no index arithmetic in the
// loop.
const SLICE_0 = Int32Array.from({ length: 256 }, (_, byte) => crcOfByte(byte));
const SLICE_1 = nextSlice(SLICE_0);
const SLICE_2 = nextSlice(SLICE_1);
const SLICE_3 = nextSlice(SLICE_2);
const SLICE_4 = nextSlice(SLICE_3);
const SLICE_5 = nextSlice(SLICE_4);
const SLICE_6 = nextSlice(SLICE_5);
const SLICE_7 = nextSlice(SLICE_6);
const SLICE_8 = nextSlice(SLICE_7);
const SLICE_9 = nextSlice(SLICE_8);
const SLICE_10 = nextSlice(SLICE_9);
const SLICE_11 = nextSlice(SLICE_10);
const SLICE_12 = nextSlice(SLICE_11);
const SLICE_13 = nextSlice(SLICE_12);
const SLICE_14 = nextSlice(SLICE_13);
const SLICE_15 = nextSlice(SLICE_14);

/** Words and not bytes: a fourth of the loads, each with its own check of the bounds. */
function sliceBy16(state: number, view: DataView, start: number, end: number): number {
  let crc = state | 0;
  let at = start;
  for (; end - at >= 16; at += 16) {
    const first = crc ^ view.getInt32(at, true);
    const second = view.getInt32(at + 4, true);
    const third = view.getInt32(at + 8, true);
    const fourth = view.getInt32(at + 12, true);
    crc =
      (SLICE_15[first & 0xff] as number) ^
      (SLICE_14[(first >>> 8) & 0xff] as number) ^
      (SLICE_13[(first >>> 16) & 0xff] as number) ^
      (SLICE_12[first >>> 24] as number) ^
      (SLICE_11[second & 0xff] as number) ^
      (SLICE_10[(second >>> 8) & 0xff] as number) ^
      (SLICE_9[(second >>> 16) & 0xff] as number) ^
      (SLICE_8[second >>> 24] as number) ^
      (SLICE_7[third & 0xff] as number) ^
      (SLICE_6[(third >>> 8) & 0xff] as number) ^
      (SLICE_5[(third >>> 16) & 0xff] as number) ^
      (SLICE_4[third >>> 24] as number) ^
      (SLICE_3[fourth & 0xff] as number) ^
      (SLICE_2[(fourth >>> 8) & 0xff] as number) ^
      (SLICE_1[(fourth >>> 16) & 0xff] as number) ^
      (SLICE_0[fourth >>> 24] as number);
  }
  for (; end - at >= 4; at += 4) crc = crc32Word(crc, view.getInt32(at, true));
  for (; at < end; at++) crc = (crc >>> 8) ^ (SLICE_0[(crc ^ view.getUint8(at)) & 0xff] as number);
  return crc >>> 0;
}

function crcOfByte(byte: number): number {
  let crc = byte;
  for (let bit = 0; bit < 8; bit++) crc = (crc & 1) === 0 ? crc >>> 1 : (crc >>> 1) ^ POLYNOMIAL;
  return crc;
}

function nextSlice(slice: Int32Array): Int32Array {
  return slice.map((crc) => (crc >>> 8) ^ (SLICE_0[crc & 0xff] ?? 0));
}
