/**
 * Header fields that a rule may rewrite, by name: where they are, how wide, how to write them.
 * Owns the table. Never repairs a checksum: `repair.ts` does.
 */

import type { Frame } from '../../packets/frame.ts';
import { AETH_AT, DETH_AT, IETH_AT, IMM_AT, RETH_AT } from '../../packets/opcode.ts';
import { dscpOf, ECN_MASK, trafficClassOf } from '../../packets/traffic-class.ts';

export interface RewritableField {
  readonly min: number;
  readonly max: number;
  /** Offset in the frame, or -1 when this frame does not have the field. */
  at(frame: Frame): number;
  /** @param ipVersion 4 or 6: where the fields of the IP header are */
  write(view: DataView, at: number, value: number, ipVersion: number): void;
}

export function rewritableField(name: string): RewritableField | undefined {
  return FIELDS.get(name);
}

/** Whether the frame has at least one of the fields. */
export function hasAnyField(frame: Frame, names: readonly string[]): boolean {
  return names.some((name) => (FIELDS.get(name)?.at(frame) ?? -1) >= 0);
}

function bits(max: number, at: RewritableField['at'], write: RewritableField['write'], min = 0): RewritableField {
  return { min, max, at, write };
}

/** Replaces the bits of `mask` in the byte at `at`; `shift` is where the value begins. */
function byteBits(mask: number, shift: number): RewritableField['write'] {
  return (view, at, value) => view.setUint8(at, (view.getUint8(at) & ~mask) | ((value << shift) & mask));
}

function low24(view: DataView, at: number, value: number): void {
  view.setUint32(at, ((view.getUint32(at) & 0xff_00_00_00) | (value & 0xff_ff_ff)) >>> 0);
}

function writeDscp(view: DataView, at: number, value: number, ipVersion: number): void {
  writeTrafficClass(view, at, trafficClassOf(value, readTrafficClass(view, at, ipVersion) & ECN_MASK), ipVersion);
}

function writeEcn(view: DataView, at: number, value: number, ipVersion: number): void {
  writeTrafficClass(view, at, trafficClassOf(dscpOf(readTrafficClass(view, at, ipVersion)), value), ipVersion);
}

/** IPv6's traffic class straddles the first two bytes. */
function readTrafficClass(view: DataView, ip: number, ipVersion: number): number {
  return ipVersion === 4 ? view.getUint8(ip + 1) : (view.getUint16(ip) >>> 4) & 0xff;
}

function writeTrafficClass(view: DataView, ip: number, value: number, ipVersion: number): void {
  if (ipVersion === 4) view.setUint8(ip + 1, value);
  else view.setUint16(ip, (view.getUint16(ip) & 0xf0_0f) | (value << 4));
}

function writeHopLimit(view: DataView, ip: number, value: number, ipVersion: number): void {
  view.setUint8(ip + (ipVersion === 4 ? 8 : 7), value);
}

const ip = (frame: Frame): number => (frame.l4Offset < 0 ? -1 : frame.ipOffset);
const ipv4 = (frame: Frame): number => (frame.ipVersion === 4 ? ip(frame) : -1);
const udpPort = (frame: Frame): number => (frame.bthOffset < 0 ? -1 : frame.l4Offset);
const bth =
  (offset: number) =>
  (frame: Frame): number =>
    frame.bthOffset < 0 ? -1 : frame.bthOffset + offset;
/** A field of an extended header: only where the parser has found the whole header inside the packet. */
const extended =
  (offsets: Int8Array, offset: number) =>
  (frame: Frame): number => {
    const header = frame.payloadOffset < 0 ? -1 : (offsets[frame.opcode] ?? -1);
    return header < 0 ? -1 : frame.bthOffset + header + offset;
  };

const u8: RewritableField['write'] = (view, at, value) => view.setUint8(at, value);
const u16: RewritableField['write'] = (view, at, value) => view.setUint16(at, value);
const u32: RewritableField['write'] = (view, at, value) => view.setUint32(at, value);
const u64: RewritableField['write'] = (view, at, value) => view.setBigUint64(at, BigInt(value));

const U8 = 0xff;
const U16 = 0xff_ff;
const U24 = 0xff_ff_ff;
const U32 = 0xff_ff_ff_ff;

const FIELDS: ReadonlyMap<string, RewritableField> = new Map([
  ['ip.ecn', bits(3, ip, writeEcn)],
  ['ip.dscp', bits(63, ip, writeDscp)],
  ['ip.ttl', bits(U8, ip, writeHopLimit)],
  ['ip.id', bits(U16, ipv4, (view, at, value) => view.setUint16(at + 4, value))],
  ['udp.sourcePort', bits(U16, udpPort, u16)],
  ['bth.opcode', bits(U8, bth(0), u8)],
  ['bth.solicited', bits(1, bth(1), byteBits(0x80, 7))],
  ['bth.migReq', bits(1, bth(1), byteBits(0x40, 6))],
  ['bth.padCount', bits(3, bth(1), byteBits(0x30, 4))],
  ['bth.transportVersion', bits(15, bth(1), byteBits(0x0f, 0))],
  ['bth.pkey', bits(U16, bth(2), u16)],
  ['bth.fecn', bits(1, bth(4), byteBits(0x80, 7))],
  ['bth.becn', bits(1, bth(4), byteBits(0x40, 6))],
  ['bth.destQpn', bits(U24, bth(4), low24)],
  ['bth.ackReq', bits(1, bth(8), byteBits(0x80, 7))],
  ['bth.psn', bits(U24, bth(8), low24)],
  /** Added to the PSN that is there: rules use relative PSNs only. */
  ['bth.psnOffset', bits(U24, bth(8), (view, at, value) => low24(view, at, view.getUint32(at) + value), -U24)],
  ['reth.va', bits(Number.MAX_SAFE_INTEGER, extended(RETH_AT, 0), u64)],
  ['reth.rkey', bits(U32, extended(RETH_AT, 8), u32)],
  ['reth.length', bits(U32, extended(RETH_AT, 12), u32)],
  ['aeth.syndrome', bits(U8, extended(AETH_AT, 0), u8)],
  ['aeth.msn', bits(U24, extended(AETH_AT, 0), low24)],
  ['deth.qkey', bits(U32, extended(DETH_AT, 0), u32)],
  ['deth.sourceQpn', bits(U24, extended(DETH_AT, 4), low24)],
  ['immdt.value', bits(U32, extended(IMM_AT, 0), u32)],
  ['ieth.rkey', bits(U32, extended(IETH_AT, 0), u32)],
]);

/** Names that `WireRule.set` accepts. */
export const FIELD_NAMES: readonly string[] = [...FIELDS.keys()];
