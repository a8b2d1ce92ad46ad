/**
 * What CRC-32 of bytes takes at least: the faster of Node's zlib and what this library computes ICRCs with, WebAssembly
 * of its own as a rule. Both are timed each time; which is faster depends on the length, the engine and the processor.
 */
import * as zlib from 'node:zlib';
import { crc32 } from 'rocev2/packets';
import { secondsOf } from './bench.ts';

/** Seconds that so many CRCs of these bytes take, one after the other. */
export function crcSeconds(bytes: Uint8Array, count: number): number {
  return Math.min(...[zlibAll, ownAll].map((all) => secondsOf(() => all(bytes, count))));
}

function zlibAll(bytes: Uint8Array, count: number): void {
  let crc = 0;
  for (let i = 0; i < count; i++) crc = zlib.crc32(bytes, crc);
}

function ownAll(bytes: Uint8Array, count: number): void {
  for (let i = 0; i < count; i++) crc32(bytes);
}
