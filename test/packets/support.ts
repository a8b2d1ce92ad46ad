/**
 * Helpers of the packet tests: hex, and buffers whose surroundings betray a codec that leaves its place.
 */

import { expect } from 'vitest';

const MARGIN = 8;
const FILL = 0xa5;

/** A slab filled with 0xA5 and the bytes of one thing in it. */
export interface Placed {
  readonly bytes: Uint8Array;
  readonly view: DataView;
  readonly start: number;
  readonly end: number;
}

export function fromHex(hex: string): Uint8Array {
  const digits = hex.replace(/\s+/g, '');
  return Uint8Array.from({ length: digits.length / 2 }, (_, i) => Number.parseInt(digits.slice(2 * i, 2 * i + 2), 16));
}

export function toHex(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
}

export function viewOf(bytes: Uint8Array): DataView {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

/** A view of exactly these bytes, in memory that goes on at both sides: any read outside throws. */
export function exactView(bytes: Uint8Array): DataView {
  const slab = new Uint8Array(bytes.length + 2 * MARGIN).fill(FILL);
  slab.set(bytes, MARGIN);
  return new DataView(slab.buffer, MARGIN, bytes.length);
}

/** The bytes in the middle of a slab of `fill`. */
export function placed(bytes: Uint8Array, fill = FILL): Placed {
  const slab = new Uint8Array(bytes.length + 2 * MARGIN).fill(fill);
  slab.set(bytes, MARGIN);
  return { bytes: slab, view: viewOf(slab), start: MARGIN, end: MARGIN + bytes.length };
}

/** Hex of the `length` bytes that `write` writes into 0xA5, after checking that it touched nothing else. */
export function written(length: number, write: (view: DataView, at: number) => void): string {
  const slab = new Uint8Array(length + 2 * MARGIN).fill(FILL);
  write(viewOf(slab), MARGIN);
  const margins = [...slab.subarray(0, MARGIN), ...slab.subarray(MARGIN + length)];
  expect(margins.every((byte) => byte === FILL)).toBe(true);
  return toHex(slab.subarray(MARGIN, MARGIN + length));
}

/** A copy with one bit inverted; bit 0 is the most significant bit of byte 0. */
export function flipBit(bytes: Uint8Array, bit: number): Uint8Array {
  const copy = bytes.slice();
  const at = bit >>> 3;
  copy[at] = (copy[at] ?? 0) ^ (0x80 >>> (bit & 7));
  return copy;
}
