/**
 * Invariant CRC: the four bytes that protect a RoCEv2 packet from end to end.
 *
 * Owns the recipe: which bits count as ones because the network may change them. Never writes to the frame. Allocates
 * nothing.
 * Rules: ref:wire#3 (recipe verified on real rxe packets), rxe:rxe_icrc.c#rxe_icrc_hdr.
 *
 * CRC-32 over eight bytes of ones (they stand for the absent LRH), IP header, UDP header, BTH, then everything up to
 * the ICRC, with ones for: IPv4 TOS, TTL and header checksum; IPv6 traffic class, flow label and hop limit; UDP
 * checksum; BTH byte 4. Stored little-endian.
 */

import { BTH_BYTES, BTH_MASKED_BYTE } from './bth.ts';
import { crc32Update, crc32Word } from './crc32.ts';
import { IPV4_BYTES, IPV4_CHECKSUM_AT, IPV4_TOS_AT, IPV4_TTL_AT } from './ipv4.ts';
import { IPV6_BYTES, IPV6_HOP_LIMIT_AT } from './ipv6.ts';
import { UDP_BYTES, UDP_CHECKSUM_AT } from './udp.ts';

/** Length of the ICRC at the end of every RoCE packet, in bytes. */
export const ICRC_BYTES = 4;

/** CRC register after the eight bytes of ones. */
export const ICRC_SEED = 0xde_bb_20_e3;

/** What to OR into the first word of an IPv6 header: traffic class and flow label. */
const IPV6_MASKED_FIRST_WORD = 0x0f_ff_ff_ff;

/**
 * ICRC, as u32, of the packet whose IP header starts at `ipOffset` and whose ICRC field starts at `end`.
 *
 * The UDP header must stand right before `bthOffset` and the IP header of `ipVersion`, without options, right before
 * that.
 */
export function computeIcrc(
  bytes: Uint8Array,
  view: DataView,
  ipOffset: number,
  ipVersion: number,
  bthOffset: number,
  end: number,
): number {
  const bthEnd = bthOffset + BTH_BYTES;
  const masks = ipVersion === 4 ? IPV4_MASKS : IPV6_MASKS;
  let state = ICRC_SEED;
  // All three headers are multiples of four bytes.
  for (let at = ipOffset; at < bthEnd; at += 4)
    state = crc32Word(state, view.getInt32(at, true) | (masks[(at - ipOffset) >> 2] as number));
  return ~crc32Update(state >>> 0, bytes, bthEnd, end, view) >>> 0;
}

/**
 * What is needed to know of a packet to check its ICRC; a `Frame` is one. Spelled out here because `frame.ts` imports
 * this file.
 */
export interface IcrcSpan {
  /** Memory that the frame lies in. */
  readonly bytes: Uint8Array;
  /** The same memory. */
  readonly view: DataView;
  /** Where the IP header begins. */
  readonly ipOffset: number;
  /** 4 or 6. */
  readonly ipVersion: number;
  /** Where the BTH begins. */
  readonly bthOffset: number;
  /** Where the four bytes of the ICRC begin. */
  readonly icrcOffset: number;
}

/** True when the ICRC in the frame is right. Only for a frame that `parseFrame` found Ok. */
export function icrcMatches(frame: IcrcSpan): boolean {
  const { bytes, view, ipOffset, ipVersion, bthOffset, icrcOffset } = frame;
  return view.getUint32(icrcOffset, true) === computeIcrc(bytes, view, ipOffset, ipVersion, bthOffset, icrcOffset);
}

/** Writes ones over every bit that the ICRC does not cover. The one place that knows them. */
export function maskVariantFields(view: DataView, ipOffset: number, ipVersion: number): void {
  let udp = ipOffset;
  if (ipVersion === 4) {
    view.setUint8(ipOffset + IPV4_TOS_AT, 0xff);
    view.setUint8(ipOffset + IPV4_TTL_AT, 0xff);
    view.setUint16(ipOffset + IPV4_CHECKSUM_AT, 0xff_ff);
    udp += IPV4_BYTES;
  } else {
    view.setUint32(ipOffset, view.getUint32(ipOffset) | IPV6_MASKED_FIRST_WORD);
    view.setUint8(ipOffset + IPV6_HOP_LIMIT_AT, 0xff);
    udp += IPV6_BYTES;
  }
  view.setUint16(udp + UDP_CHECKSUM_AT, 0xff_ff);
  view.setUint8(udp + UDP_BYTES + BTH_MASKED_BYTE, 0xff);
}

/** What to OR into the headers of a packet, as little-endian words. */
function masksOf(ipVersion: 4 | 6): Int32Array {
  const ipBytes = ipVersion === 4 ? IPV4_BYTES : IPV6_BYTES;
  const view = new DataView(new ArrayBuffer(ipBytes + UDP_BYTES + BTH_BYTES));
  maskVariantFields(view, 0, ipVersion);
  return Int32Array.from({ length: view.byteLength / 4 }, (_, word) => view.getInt32(4 * word, true));
}

const IPV4_MASKS = masksOf(4);
const IPV6_MASKS = masksOf(6);
