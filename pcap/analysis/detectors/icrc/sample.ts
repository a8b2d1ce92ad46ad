/**
 * One packet with a wrong ICRC, kept for study, and the effect of a change in it on the ICRC.
 *
 * A CRC is linear: the CRCs of two packets of one length differ by the CRC (initial value 0, not inverted) of their
 * difference. So the contribution of a field is known without knowing what else went wrong, and the original value of a
 * changed field can be solved for.
 * Owns the copy and this algebra, for CRC-32 and for CRC-32C. Sources: ref:wire#3, packets/icrc.ts.
 */
import { BTH_BYTES } from '../../../../packets/bth.ts';
import type { Frame } from '../../../../packets/frame.ts';
import { ICRC_BYTES, maskVariantFields } from '../../../../packets/icrc.ts';

/** Polynomials, reversed: that of zlib and Ethernet, and Castagnoli's. */
export const CRC32 = 0xed_b8_83_20;
export const CRC32C = 0x82_f6_3b_78;

/** A copy of a packet from its IP header to its ICRC. */
export interface IcrcSample {
  readonly frame: number;
  /** IP header to ICRC, as captured. */
  readonly bytes: Uint8Array;
  /** The same with ones where the ICRC does not look. */
  readonly masked: Uint8Array;
  readonly view: DataView;
  readonly ipVersion: 4 | 6;
  readonly bthAt: number;
  readonly icrcAt: number;
  readonly padCount: number;
  readonly opcode: number;
  /** The ICRC as captured, little-endian. */
  readonly found: number;
}

/** Copies a frame that `parseFrame` found Ok. */
export function sampleOf(frame: Frame, number: number): IcrcSample {
  const bytes = frame.bytes.slice(frame.ipOffset, frame.icrcOffset + ICRC_BYTES);
  const masked = bytes.slice();
  const ipVersion = frame.ipVersion === 6 ? 6 : 4;
  maskVariantFields(new DataView(masked.buffer), 0, ipVersion);
  const view = new DataView(bytes.buffer);
  const icrcAt = frame.icrcOffset - frame.ipOffset;
  return {
    frame: number,
    bytes,
    masked,
    view,
    ipVersion,
    bthAt: frame.bthOffset - frame.ipOffset,
    icrcAt,
    padCount: frame.padCount,
    opcode: frame.opcode,
    found: view.getUint32(icrcAt, true),
  };
}

/** Register of a CRC after `bytes[start, end)`. */
export function crcUpdate(polynomial: number, state: number, bytes: Uint8Array, start: number, end: number): number {
  const table = polynomial === CRC32C ? TABLE_CRC32C : TABLE_CRC32;
  let crc = state | 0;
  for (let at = start; at < end; at++) crc = (crc >>> 8) ^ (table[(crc ^ (bytes[at] ?? 0)) & 0xff] ?? 0);
  return crc >>> 0;
}

/** What is added to the CRC of `[0, end)` when `difference` is added to the bytes from `at` on. */
export function effectOf(polynomial: number, difference: Uint8Array, at: number, end: number): number {
  return crcZeros(polynomial, crcUpdate(polynomial, 0, difference, 0, difference.length), end - at - difference.length);
}

/** Register after `count` zero bytes. */
export function crcZeros(polynomial: number, state: number, count: number): number {
  const table = polynomial === CRC32C ? TABLE_CRC32C : TABLE_CRC32;
  let crc = state | 0;
  for (let left = count; left > 0; left--) crc = (crc >>> 8) ^ (table[crc & 0xff] ?? 0);
  return crc >>> 0;
}

/** The effect of each bit of `[at, at + length)` on the ICRC, most significant bit of the first byte first. */
export function bitEffects({ icrcAt }: IcrcSample, at: number, length: number): number[] {
  return Array.from({ length: 8 * length }, (_, bit) => {
    const difference = Uint8Array.of(0x80 >> (bit & 7));
    return effectOf(CRC32, difference, at + (bit >> 3), icrcAt);
  });
}

/** The right ICRC, and what it and the one found differ in. */
export function syndromeOf(sample: IcrcSample): number {
  const { masked, icrcAt, found } = sample;
  const right = ~crcUpdate(CRC32, crcUpdate(CRC32, ONES, PREFIX, 0, PREFIX.length), masked, 0, icrcAt);
  return (right ^ found) >>> 0;
}

/** Where the extended headers begin. */
export function headersAt({ bthAt }: IcrcSample): number {
  return bthAt + BTH_BYTES;
}

/** Eight bytes of ones that stand for the local route header. */
export const PREFIX = new Uint8Array(8).fill(0xff);
/** What a CRC begins with. */
export const ONES = 0xff_ff_ff_ff;

const TABLE_CRC32 = tableOf(CRC32);
const TABLE_CRC32C = tableOf(CRC32C);

function tableOf(polynomial: number): Int32Array {
  return Int32Array.from({ length: 256 }, (_, byte) => {
    let crc = byte;
    for (let bit = 0; bit < 8; bit++) crc = (crc & 1) === 0 ? crc >>> 1 : (crc >>> 1) ^ polynomial;
    return crc;
  });
}
