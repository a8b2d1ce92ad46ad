// Capture files for the tests, assembled by hand in either byte order, and the whole of what a reader makes of one.

import { CaptureReader } from '../../pcap/reader.ts';
import type { CapturedPacket } from '../../pcap/types.ts';

/** Assembles a file from u16/u32 numbers and raw bytes in one byte order. */
export function file(littleEndian: boolean, ...parts: ([bits: 16 | 32, value: number] | Uint8Array)[]): Uint8Array {
  return join(
    ...parts.map((part) => {
      if (part instanceof Uint8Array) return part;
      const [bits, value] = part;
      const word = new DataView(new ArrayBuffer(bits / 8));
      if (bits === 16) word.setUint16(0, value, littleEndian);
      else word.setUint32(0, value, littleEndian);
      return new Uint8Array(word.buffer);
    }),
  );
}

export const u16 = (value: number): [16, number] => [16, value];
export const u32 = (value: number): [32, number] => [32, value];

/** One after another. */
export function join(...parts: Uint8Array[]): Uint8Array {
  const bytes = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    bytes.set(part, at);
    at += part.length;
  }
  return bytes;
}

/** A pcapng block. */
export function block(littleEndian: boolean, type: number, body: Uint8Array): Uint8Array {
  const length = body.length + 12;
  return file(littleEndian, u32(type), u32(length), body, u32(length));
}

/** A section header; `options` are whole options. */
export function section(littleEndian: boolean, ...options: Uint8Array[]): Uint8Array {
  const body = file(littleEndian, u32(0x1a2b3c4d), u16(1), u16(0), u32(0xffffffff), u32(0xffffffff));
  return block(littleEndian, 0x0a0d0d0a, join(body, ...options));
}

/** An interface description block. */
export function interfaceBlock(littleEndian: boolean, linkType: number, snapLength: number, ...options: Uint8Array[]) {
  return block(littleEndian, 1, join(file(littleEndian, u16(linkType), u16(0), u32(snapLength)), ...options));
}

/** An option with its padding. */
export function option(littleEndian: boolean, code: number, value: Uint8Array | string): Uint8Array {
  const bytes = typeof value === 'string' ? new TextEncoder().encode(value) : value;
  return file(littleEndian, u16(code), u16(bytes.length), bytes, new Uint8Array(-bytes.length & 3));
}

/** Eight bytes. */
export function u64(littleEndian: boolean, value: bigint): Uint8Array {
  const bytes = new Uint8Array(8);
  new DataView(bytes.buffer).setBigUint64(0, value, littleEndian);
  return bytes;
}

/** A timestamp: the upper word comes first in either byte order. */
export function timestamp(littleEndian: boolean, value: bigint): Uint8Array {
  return file(littleEndian, u32(Number(value >> 32n)), u32(Number(value & 0xffff_ffffn)));
}

/** An enhanced packet block. */
export function packetBlock(
  littleEndian: boolean,
  interfaceIndex: number,
  time: bigint,
  bytes: Uint8Array,
  ...options: Uint8Array[]
): Uint8Array {
  const e = littleEndian;
  const length = u32(bytes.length);
  const fixed = file(
    e,
    u32(interfaceIndex),
    timestamp(e, time),
    length,
    length,
    bytes,
    new Uint8Array(-bytes.length & 3),
  );
  return block(e, 6, join(fixed, ...options));
}

/** The packets before the error, and the error. */
export function readAll(
  bytes: Uint8Array,
  chunkBytes = bytes.length + 1,
): { packets: CapturedPacket[]; error?: unknown } {
  const packets: CapturedPacket[] = [];
  const reader = new CaptureReader();
  try {
    for (let at = 0; at < bytes.length; at += chunkBytes) {
      // A chunk of its own: what is pushed belongs to the reader.
      reader.push(bytes.slice(at, at + chunkBytes));
      for (let packet = reader.next(); packet !== undefined; packet = reader.next()) packets.push(packet);
    }
    reader.end();
    return { packets };
  } catch (error) {
    return { packets, error };
  }
}
