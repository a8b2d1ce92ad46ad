/**
 * Fields as stretches of bits: how a value is read out of a frame and how it is shown.
 *
 * Owns reading any width from any bit, big-endian, and the ways to write a value down. Never knows what a field means.
 * Cold path.
 */
import { formatMac, IpAddress } from '../address.ts';
import { hexNumber } from '../field-list.ts';

/**
 * A number up to 32 bits, a bigint up to 64, bytes for anything longer and for addresses: what `decodeLayout` gives.
 */
export type BitsValue = number | bigint | Uint8Array;

/** How a value is written down. */
export type Shape = 'decimal' | 'hex' | 'flag' | 'mac' | 'ipv4' | 'ipv6' | 'bytes';

/** The value of `bits` bits that begin `bitOffset` bits after the byte `at`; they lie inside `bytes`. */
export function readBits(bytes: Uint8Array, at: number, bitOffset: number, bits: number, shape: Shape): BitsValue {
  if (shape === 'mac' || shape === 'ipv4' || shape === 'ipv6' || shape === 'bytes') {
    const from = at + bitOffset / 8;
    return bytes.slice(from, from + bits / 8);
  }
  let value = 0n;
  const last = bitOffset + bits;
  for (let byte = Math.floor(bitOffset / 8); byte * 8 < last; byte++)
    value = (value << 8n) | BigInt(bytes[at + byte] ?? 0);
  const spare = (8 - (last % 8)) % 8;
  value = BigInt.asUintN(bits, value >> BigInt(spare));
  return bits <= 32 ? Number(value) : value;
}

/** The value as people read it. */
export function showBits(value: BitsValue, bits: number, shape: Shape): string {
  if (value instanceof Uint8Array) return showBytes(value, shape);
  switch (shape) {
    case 'flag':
      return `${value}`;
    case 'hex':
      return hexNumber(value, Math.ceil(bits / 4));
    default:
      return `${value}`;
  }
}

function showBytes(value: Uint8Array, shape: Shape): string {
  const view = new DataView(value.buffer, value.byteOffset, value.byteLength);
  if (shape === 'mac') return formatMac(value);
  if (shape === 'ipv4') return IpAddress.read(view, 0, 4).toString();
  if (shape === 'ipv6') return IpAddress.read(view, 0, 6).toString();
  if (value.length === 0) return 'empty';
  const shown = Array.from(value.subarray(0, SHOWN_BYTES), (byte) => byte.toString(16).padStart(2, '0')).join(' ');
  return value.length > SHOWN_BYTES ? `${shown} ... ${value.length} bytes` : shown;
}

const SHOWN_BYTES = 16;
