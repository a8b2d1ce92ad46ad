/**
 * Changes a frame as rules require, and updates its checksums.
 *
 * Owns the writing of fields, the flipping of a bit, and the order of repairs: IPv4 header checksum, ICRC, UDP checksum
 * (which covers the ICRC, while the ICRC leaves it out; ref:wire#3). Works in place on a frame that the parser has
 * looked at; never makes it longer or shorter.
 */

import { BTH_MASKED_BYTE } from '../../packets/bth.ts';
import { finishChecksum, ipv4HeaderChecksum, onesComplementSum, pseudoHeaderSum } from '../../packets/checksum.ts';
import { ETHERNET_BYTES, VLAN_TAG_BYTES } from '../../packets/ethernet.ts';
import { type Frame, Medium } from '../../packets/frame.ts';
import { computeIcrc, ICRC_BYTES } from '../../packets/icrc.ts';
import { IP_PROTOCOL_UDP, IPV4_CHECKSUM_AT } from '../../packets/ipv4.ts';
import { UDP_CHECKSUM_AT } from '../../packets/udp.ts';
import type { Prng } from '../ground/prng.ts';
import { rewritableField } from './fields.ts';

/** Writes those of the fields that the frame has. */
export function rewrite(frame: Frame, set: Readonly<Record<string, number>>, repair: boolean): void {
  const { view } = frame;
  // Offsets first: a write may change how the frame parses.
  const places = Object.entries(set).map(([name, value]) => ({ field: rewritableField(name), name, value }));
  const writes = places.map(({ field, value }) => ({ field, value, at: field?.at(frame) ?? -1 }));
  for (const { field, value, at } of writes) if (at >= 0) field?.write(view, at, value, frame.ipVersion);
  repairIpv4(frame);
  if (repair) repairRoce(frame);
}

/** Where bit 0 of `WireRule.bit` is, as an offset in bytes. */
export function corruptibleStart(frame: Frame): number {
  if (frame.bthOffset >= 0) return frame.bthOffset;
  if (frame.ipOffset >= 0 || frame.medium === Medium.Ip) return Math.max(frame.ipOffset, frame.start);
  const tags = frame.vlanTci < 0 ? 0 : VLAN_TAG_BYTES;
  return Math.min(frame.start + ETHERNET_BYTES + tags, frame.end);
}

/** Where the bits that may be flipped end: after the ICRC, or with the frame. */
export function corruptibleEnd(frame: Frame): number {
  return frame.icrcOffset >= 0 ? frame.icrcOffset + ICRC_BYTES : frame.end;
}

/**
 * A bit, counted as `WireRule.bit`, whose flip the ICRC notices; any bit in a frame that has none. Never opcode or pad
 * count: a receiver may act on them before it checks the ICRC (CVE-2026-46043, CVE-2026-46133).
 */
export function drawBit(frame: Frame, random: Prng): number {
  const bytes = corruptibleEnd(frame) - corruptibleStart(frame);
  if (frame.bthOffset < 0) return random.below(Math.max(1, bytes * 8));
  const bit = BTH_PKEY_BIT + random.below((bytes - 3) * 8);
  return bit < BTH_MASKED_BYTE * 8 ? bit : bit + 8;
}

/** Flips one bit. */
export function flip(frame: Frame, bit: number, repair: boolean): void {
  const at = corruptibleStart(frame) + (bit >>> 3);
  frame.view.setUint8(at, frame.view.getUint8(at) ^ (0x80 >>> (bit & 7)));
  if (repair) repairRoce(frame);
}

function repairIpv4(frame: Frame): void {
  const { view, ipOffset } = frame;
  if (frame.ipVersion === 4 && frame.l4Offset >= 0)
    view.setUint16(ipOffset + IPV4_CHECKSUM_AT, ipv4HeaderChecksum(view, ipOffset));
}

function repairRoce(frame: Frame): void {
  const { bytes, view, ipOffset, ipVersion, bthOffset, icrcOffset, l4Offset } = frame;
  if (icrcOffset < 0) return;
  view.setUint32(icrcOffset, computeIcrc(bytes, view, ipOffset, ipVersion, bthOffset, icrcOffset), true);
  const checksumAt = l4Offset + UDP_CHECKSUM_AT;
  // 0 means none, as in RoCE packets; a kernel socket over IPv6 writes one.
  if (view.getUint16(checksumAt) === 0) return;
  view.setUint16(checksumAt, 0);
  const end = icrcOffset + ICRC_BYTES;
  const sum = pseudoHeaderSum(view, ipOffset, ipVersion, IP_PROTOCOL_UDP, end - l4Offset);
  view.setUint16(checksumAt, finishChecksum(onesComplementSum(view, l4Offset, end, sum)) || 0xff_ff);
}

const BTH_PKEY_BIT = 16;
