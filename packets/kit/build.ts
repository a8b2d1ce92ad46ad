/**
 * Bytes of packets that are values: a real frame by FrameWriter and the codecs, and then whatever a stimulus wants to
 * be wrong with it. Owns the order: headers, payload, pad, `edit`, IP checksum and ICRC, `spoil`.
 */

import { IpAddress } from '../address.ts';
import { writeAeth } from '../aeth.ts';
import { writeAtomicAckEth } from '../atomic-ack-eth.ts';
import { writeAtomicEth } from '../atomic-eth.ts';
import { BTH_BYTES, writeBth, writeBthCongestion } from '../bth.ts';
import { finishChecksum, onesComplementSum } from '../checksum.ts';
import { defined } from '../defined.ts';
import { writeDeth } from '../deth.ts';
import { writeFeth } from '../feth.ts';
import { FrameWriter } from '../frame-writer.ts';
import { HeaderTemplate, type PathSpec } from '../header-template.ts';
import { computeIcrc, ICRC_BYTES } from '../icrc.ts';
import { writeIeth } from '../ieth.ts';
import { writeImmDt } from '../imm-dt.ts';
import { IPV4_BYTES, IPV4_CHECKSUM_AT } from '../ipv4.ts';
import {
  AETH_AT,
  ATOMIC_ACK_ETH_AT,
  ATOMIC_ETH_AT,
  DETH_AT,
  FETH_AT,
  IETH_AT,
  IMM_AT,
  OPCODE_HEADER_BYTES,
  RETH_AT,
  XRCETH_AT,
} from '../opcode.ts';
import { PSN_MASK } from '../psn.ts';
import { writeReth } from '../reth.ts';
import { writeXrceth } from '../xrceth.ts';
import type { Draft, Packet } from './packet.ts';

/** A way: what the headers below BTH are made from. */
export type Route = PathSpec;

/** Largest frame: the longest headers, 4096 bytes and room for frames that are too long. */
export const SLOT_BYTES = 16_384;

const writer = new FrameWriter(1, SLOT_BYTES);

/**
 * The frame of `packet` on `route`; `firstPsn` is what its PSN counts from. IPv4 identifications count up, as
 * FrameWriter's do.
 */
export function buildFrame(packet: Packet, route: Route, destQpn: number, firstPsn: number): Uint8Array {
  const template = new HeaderTemplate(routeOf(packet, route));
  const { payload = NOTHING, opcode } = packet;
  const pad = packet.pad ?? -payload.length & 3;
  writer.reset();
  const bth = writer.begin(template);
  const at = bth + BTH_BYTES + (OPCODE_HEADER_BYTES[opcode] ?? 0);
  writer.bytes.fill(0, bth, at);
  writeBthOf(writer.view, bth, packet, pad, packet.destQpn ?? destQpn, (firstPsn + packet.psn) & PSN_MASK);
  writeHeaders(writer.view, bth, packet);
  writer.bytes.set(payload, at);
  writer.bytes.fill(0, at + payload.length, at + payload.length + pad);
  writer.end(template, at + payload.length + pad, packet.trafficClass ?? route.trafficClass);
  const start = writer.starts[0] ?? 0;
  const bytes = writer.bytes.slice(start, start + (writer.lengths[0] ?? 0));
  return altered(bytes, template.ipOffset, template.udpOffset, packet);
}

function writeBthOf(view: DataView, bth: number, packet: Packet, pad: number, destQpn: number, psn: number): void {
  const { opcode, solicited, migReq = 1, pkey = 0xff_ff, ackReq, tver = 0, reserved6 = 0, reserved7 = 0 } = packet;
  writeBth(view, bth, opcode, solicited === true ? 1 : 0, migReq, pad, pkey, destQpn, ackReq === true ? 1 : 0, psn);
  if (packet.becn === 1 || packet.fecn === 1) writeBthCongestion(view, bth, packet.fecn ?? 0, packet.becn ?? 0);
  if (tver !== 0) view.setUint8(bth + 1, view.getUint8(bth + 1) | (tver & 0x0f));
  if (reserved6 !== 0) view.setUint8(bth + 4, view.getUint8(bth + 4) | (reserved6 & 0x3f));
  if (reserved7 !== 0) view.setUint8(bth + 8, view.getUint8(bth + 8) | (reserved7 & 0x7f));
}

function routeOf(packet: Packet, route: Route): Route {
  const { source, destination, sourcePort, hopLimit } = packet;
  if (source === undefined && destination === undefined && sourcePort === undefined && hopLimit === undefined)
    return route;
  return {
    ...route,
    ...(source === undefined ? {} : { source: IpAddress.parse(source) }),
    ...(destination === undefined ? {} : { destination: IpAddress.parse(destination) }),
    ...defined({ sourcePort, hopLimit }),
  };
}

function altered(bytes: Uint8Array, ip: number, udp: number, { edit, spoil }: Packet): Uint8Array {
  let now = bytes;
  if (edit !== undefined) {
    now = edit(draftOf(now, ip, udp)) ?? now;
    seal(draftOf(now, ip, udp));
  }
  if (spoil !== undefined) now = spoil(draftOf(now, ip, udp)) ?? now;
  return now;
}

function draftOf(bytes: Uint8Array, ip: number, udp: number): Draft {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  return { bytes, view, ip, udp, bth: udp + 8, icrc: bytes.length - ICRC_BYTES };
}

/**
 * IP checksum and ICRC of a draft made right again, by where its headers were at first: options and the like are the
 * editor's affair.
 */
export function seal({ bytes, view, ip, udp, bth, icrc }: Draft): void {
  const version = udp - ip === IPV4_BYTES ? 4 : 6;
  if (version === 4) {
    view.setUint16(ip + IPV4_CHECKSUM_AT, 0);
    view.setUint16(ip + IPV4_CHECKSUM_AT, finishChecksum(onesComplementSum(view, ip, ip + IPV4_BYTES, 0)));
  }
  if (icrc >= bth + BTH_BYTES) view.setUint32(icrc, computeIcrc(bytes, view, ip, version, bth, icrc), true);
}

/** What follows the BTH, as far as the opcode has it. */
export function writeHeaders(view: DataView, bth: number, packet: Packet): void {
  const { opcode, reth, feth, atomic, imm, inv, syndrome = 0, msn = 0, original } = packet;
  const at = (table: Int8Array): number => table[opcode] ?? -1;
  if (at(RETH_AT) >= 0 && reth !== undefined) {
    writeReth(view, bth + at(RETH_AT), hi(reth.va), lo(reth.va), reth.rkey, reth.length);
  }
  if (at(FETH_AT) >= 0 && feth !== undefined) writeFeth(view, bth + at(FETH_AT), feth.placement, feth.selectivity);
  if (at(ATOMIC_ETH_AT) >= 0 && atomic !== undefined) {
    const { va, rkey, swapAdd, compare } = atomic;
    const eth = bth + at(ATOMIC_ETH_AT);
    writeAtomicEth(view, eth, hi(va), lo(va), rkey, hi(swapAdd), lo(swapAdd), hi(compare), lo(compare));
  }
  if (at(DETH_AT) >= 0) writeDeth(view, bth + at(DETH_AT), packet.qkey ?? 0, packet.srcQpn ?? 0);
  if (at(XRCETH_AT) >= 0) writeXrceth(view, bth + at(XRCETH_AT), packet.srqn ?? 0);
  if (at(IMM_AT) >= 0) writeImmDt(view, bth + at(IMM_AT), imm ?? 0);
  if (at(IETH_AT) >= 0) writeIeth(view, bth + at(IETH_AT), inv ?? 0);
  if (at(AETH_AT) >= 0) writeAeth(view, bth + at(AETH_AT), syndrome, msn);
  if (at(ATOMIC_ACK_ETH_AT) >= 0 && original !== undefined) {
    writeAtomicAckEth(view, bth + at(ATOMIC_ACK_ETH_AT), hi(original), lo(original));
  }
}

const hi = (value: bigint): number => Number((value >> 32n) & 0xff_ff_ff_ffn);
const lo = (value: bigint): number => Number(value & 0xff_ff_ff_ffn);
const NOTHING = new Uint8Array(0);
