/**
 * Fields that are read without the record of all fields: those that filters use most.
 *
 * Owns the short ways; a test compares each with the record. Allocates nothing.
 */
import { aethMsn, aethSyndrome } from '../../packets/aeth.ts';
import { dethQkey, dethSourceQpn } from '../../packets/deth.ts';
import { ETHERTYPE_ARP } from '../../packets/ethernet.ts';
import { type Frame, FrameStatus } from '../../packets/frame.ts';
import { immDt } from '../../packets/imm-dt.ts';
import { IP_PROTOCOL_ICMP, IP_PROTOCOL_ICMPV6, IP_PROTOCOL_TCP } from '../../packets/ipv4.ts';
import { AETH_AT, ATOMIC_ACK_ETH_AT, ATOMIC_ETH_AT, DETH_AT, IETH_AT, IMM_AT, RETH_AT } from '../../packets/opcode.ts';
import { rethDmaLength } from '../../packets/reth.ts';
import { dscpOf, ECN_MASK } from '../../packets/traffic-class.ts';
import type { FilterSubject, Predicate } from './types.ts';

/** Reads one number of a packet: NaN where the packet has none. */
export type NumberReader = (subject: FilterSubject) => number;

/** How the number of this name is read without the record; undefined for fields that need it. */
export function fastField(name: string): NumberReader | undefined {
  return FAST_FIELDS.get(name);
}

/** Whether the field is one that a `PacketOutline` has. */
export function isOutlineField(name: string): boolean {
  return OUTLINE_FIELDS.has(name);
}

/**
 * Whether a packet could have the field, or any field below the name: false saves the record. An unknown name may be
 * anywhere.
 */
export function mayHave(name: string): Predicate {
  return PLACES.find(([start]) => name === start || name.startsWith(`${start}.`))?.[1] ?? (() => true);
}

/** A number in an extended header; NaN where the packet is not whole or its opcode has no such header. */
export function extended(offsets: Int8Array, read: (view: DataView, at: number) => number): NumberReader {
  return ({ dissection: { frame, status } }) => {
    const at = offsets[frame.opcode] ?? -1;
    return at < 0 || status !== FrameStatus.Ok ? Number.NaN : read(frame.view, frame.bthOffset + at);
  };
}

/** A number of the BTH; NaN where there is none. */
export function bth(get: (frame: Frame) => number): NumberReader {
  return ({ dissection: { frame } }) => (frame.bthOffset < 0 ? Number.NaN : get(frame));
}

function ip(version: 4 | 6, get: (frame: Frame) => number): NumberReader {
  return ({ dissection: { frame } }) => (frame.ipVersion === version ? get(frame) : Number.NaN);
}

const inOpcodes = (...offsets: readonly Int8Array[]): Predicate => {
  return ({ dissection: { frame } }) =>
    frame.bthOffset >= 0 && offsets.some((table) => (table[frame.opcode] ?? -1) >= 0);
};

/** Where fields are, by the start of their names; the first that fits counts. */
const PLACES: readonly (readonly [start: string, is: Predicate])[] = [
  ['arp', ({ dissection: { frame } }) => frame.etherType === ETHERTYPE_ARP],
  ['tcp', ({ dissection: { frame } }) => frame.protocol === IP_PROTOCOL_TCP],
  ['icmp', ({ dissection: { frame } }) => frame.protocol === IP_PROTOCOL_ICMP],
  ['icmpv6', ({ dissection: { frame } }) => frame.protocol === IP_PROTOCOL_ICMPV6],
  ['vlan', ({ dissection: { frame } }) => frame.vlanTci >= 0],
  ['infiniband.reth', inOpcodes(RETH_AT, ATOMIC_ETH_AT)],
  ['infiniband.atomiceth', inOpcodes(ATOMIC_ETH_AT)],
  ['infiniband.atomicacketh', inOpcodes(ATOMIC_ACK_ETH_AT)],
  ['infiniband.aeth', inOpcodes(AETH_AT)],
  ['infiniband.deth', inOpcodes(DETH_AT)],
  ['infiniband.mad', inOpcodes(DETH_AT)],
  ['infiniband.cm', inOpcodes(DETH_AT)],
  ['roce.cm', inOpcodes(DETH_AT)],
  ['infiniband.ieth', inOpcodes(IETH_AT)],
  ['infiniband', ({ dissection: { frame } }) => frame.bthOffset >= 0],
  ['frame.comment', ({ packet }) => packet.comments.length > 0],
];

const FAST_FIELDS: ReadonlyMap<string, NumberReader> = new Map([
  ['frame.number', ({ packet }) => packet.number],
  ['frame.len', ({ packet }) => packet.originalLength],
  ['frame.cap_len', ({ packet }) => packet.bytes.length],
  ['frame.interface_id', ({ packet }) => packet.interfaceIndex],
  ['ip.ttl', ip(4, (frame) => frame.hopLimit)],
  ['ip.proto', ip(4, (frame) => frame.protocol)],
  ['ip.dsfield', ip(4, (frame) => frame.trafficClass)],
  ['ip.dsfield.dscp', ip(4, (frame) => dscpOf(frame.trafficClass))],
  ['ip.dsfield.ecn', ip(4, (frame) => frame.trafficClass & ECN_MASK)],
  ['ipv6.hlim', ip(6, (frame) => frame.hopLimit)],
  ['ipv6.tclass', ip(6, (frame) => frame.trafficClass)],
  ['ipv6.tclass.dscp', ip(6, (frame) => dscpOf(frame.trafficClass))],
  ['ipv6.tclass.ecn', ip(6, (frame) => frame.trafficClass & ECN_MASK)],
  ['infiniband.bth.opcode', bth((frame) => frame.opcode)],
  ['infiniband.bth.se', bth((frame) => frame.solicited)],
  ['infiniband.bth.m', bth((frame) => frame.migReq)],
  ['infiniband.bth.padcnt', bth((frame) => frame.padCount)],
  ['infiniband.bth.p_key', bth((frame) => frame.pkey)],
  ['infiniband.bth.destqp', bth((frame) => frame.destQpn)],
  ['infiniband.bth.a', bth((frame) => frame.ackReq)],
  ['infiniband.bth.psn', bth((frame) => frame.psn)],
  ['roce.bth.fecn', bth((frame) => frame.fecn)],
  ['roce.bth.becn', bth((frame) => frame.becn)],
  ['infiniband.aeth.syndrome', extended(AETH_AT, aethSyndrome)],
  ['infiniband.aeth.msn', extended(AETH_AT, aethMsn)],
  ['infiniband.deth.q_key', extended(DETH_AT, dethQkey)],
  ['infiniband.deth.srcqp', extended(DETH_AT, dethSourceQpn)],
  ['infiniband.reth.dmalen', extended(RETH_AT, rethDmaLength)],
  ['infiniband.immdt', extended(IMM_AT, immDt)],
  ['roce.stream', ({ facts }) => facts?.conversation?.id ?? Number.NaN],
  ['roce.relative_psn', ({ facts }) => facts?.relativePsn ?? Number.NaN],
]);

/** Of `FAST_FIELDS` those that need no bytes of the packet. */
const OUTLINE_FIELDS: ReadonlySet<string> = new Set([
  'frame.number',
  'frame.len',
  'frame.interface_id',
  'ip.dsfield',
  'ip.dsfield.dscp',
  'ip.dsfield.ecn',
  'ipv6.tclass',
  'ipv6.tclass.dscp',
  'ipv6.tclass.ecn',
  'infiniband.bth.opcode',
  'infiniband.bth.destqp',
  'infiniband.bth.psn',
  'infiniband.aeth.syndrome',
  'roce.stream',
  'roce.relative_psn',
]);
