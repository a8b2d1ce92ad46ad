/**
 * Small helpers shared by the connection management codecs: 24-bit numbers and the fixed areas at the end of a message.
 *
 * Owns: nothing of any message. Never: checks whether the MAD is complete; parseCmMad in index.ts does.
 */
import { RoceError } from '../errors.ts';

/** Reads a 24-bit big-endian number. */
export function readU24(view: DataView, at: number): number {
  return (view.getUint16(at) << 8) | view.getUint8(at + 2);
}

/** Writes the low 24 bits of `value`, big-endian. */
export function writeU24(view: DataView, at: number, value: number): void {
  view.setUint16(at, (value >>> 8) & 0xff_ff);
  view.setUint8(at + 2, value & 0xff);
}

/** Copies `length` bytes out, so that the value outlives the receive buffer. */
export function readArea(view: DataView, at: number, length: number): Uint8Array {
  return new Uint8Array(view.buffer, view.byteOffset + at, length).slice();
}

/**
 * Writes `data` into an area of `length` bytes and fills the rest with 0.
 * Throws RoceError ERR_ROCE_ARGUMENT when it does not fit: private data comes from the application.
 */
export function writeArea(view: DataView, at: number, length: number, data: Uint8Array, name: string): void {
  if (data.length > length) {
    throw new RoceError('ERR_ROCE_ARGUMENT', `${name} holds ${length} bytes, not ${data.length}`);
  }
  const area = new Uint8Array(view.buffer, view.byteOffset + at, length);
  area.set(data);
  area.fill(0, data.length);
}
