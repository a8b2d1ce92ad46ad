/**
 * Every field of a frame by name, for printers and JSON writers.
 *
 * Owns the names. They are tshark's (4.0) wherever tshark has the field; what it does not know begins with `roce.`.
 * Reserved bits are listed where they are set. Never judges. Reads only what `parseFrame` found to be there, so any
 * frame and any status will do. Cold path: allocates freely.
 */

import { IpAddress } from './address.ts';
import { readAeth, SYNDROME_KIND_MASK, SYNDROME_VALUE_MASK, SyndromeKind } from './aeth.ts';
import { readArp } from './arp.ts';
import { readAtomicAckEth } from './atomic-ack-eth.ts';
import { readAtomicEth } from './atomic-eth.ts';
import { BTH_MASKED_BYTE } from './bth.ts';
import { listMadFields } from './cm-fields.ts';
import { readDeth } from './deth.ts';
import {
  ETHERNET_BYTES,
  ETHERTYPE_ARP,
  ETHERTYPE_IPV4,
  ETHERTYPE_SERVICE_VLAN,
  ETHERTYPE_VLAN,
  readEthernet,
  VLAN_TAG_BYTES,
} from './ethernet.ts';
import { readFeth } from './feth.ts';
import { FieldList, type FieldValue } from './field-list.ts';
import { type Frame, FrameStatus, frameStatusName, Medium } from './frame.ts';
import { IcmpType, Icmpv6Type } from './icmp.ts';
import { NEIGHBOR_MESSAGE_BYTES } from './icmpv6-nd.ts';
import { readIeth } from './ieth.ts';
import { readImmDt } from './imm-dt.ts';
import {
  IP_PROTOCOL_ICMP,
  IP_PROTOCOL_ICMPV6,
  IP_PROTOCOL_TCP,
  IP_PROTOCOL_UDP,
  IPV4_BYTES,
  readIpv4,
} from './ipv4.ts';
import { readIpv6 } from './ipv6.ts';
import { GSI_QPN } from './mad.ts';
import { afterHopByHop, IP_PROTOCOL_HOP_BY_HOP } from './mld.ts';
import {
  AETH_AT,
  ATOMIC_ACK_ETH_AT,
  ATOMIC_ETH_AT,
  DETH_AT,
  FETH_AT,
  IETH_AT,
  IMM_AT,
  opcodeInfo,
  RDETH_AT,
  RETH_AT,
  SERVICE_MASK,
  Service,
  XRCETH_AT,
} from './opcode.ts';
import { readRdeth } from './rdeth.ts';
import { readReth } from './reth.ts';
import { dscpOf } from './traffic-class.ts';
import { readUdp, UDP_BYTES } from './udp.ts';
import { readXrceth } from './xrceth.ts';

/**
 * All fields of the frame that `parseFrame` left with `status`. `icrcOk` is what `icrcMatches` said; it counts only for
 * a frame that is Ok.
 *
 * Numbers are plain numbers, but for those above 2^53 - 1 (see `FieldList.toRecord`); addresses and byte strings are
 * text as tshark prints it. `roce.icrc.status` is "good" or "bad" and there only when the frame is Ok;
 * `roce.frame.status` names the status.
 */
export function frameFields(frame: Frame, status: FrameStatus, icrcOk: boolean): Record<string, FieldValue> {
  return listFrame(frame, status, icrcOk).toRecord();
}

/** The same as a list with sections. */
export function listFrame(frame: Frame, status: FrameStatus, icrcOk: boolean): FieldList {
  const list = new FieldList();
  if (frame.medium === Medium.Ethernet) listEthernet(list, frame);
  if (frame.ipVersion === 4) listIpv4(list, frame.view, frame.ipOffset);
  if (frame.ipVersion === 6) listIpv6(list, frame);
  if (frame.ipVersion === 0) listOddIpv4(list, frame);
  if (frame.l4Offset >= 0 && status !== FrameStatus.Fragment) listUpperLayer(list, frame);
  if (frame.bthOffset >= 0) listBth(list, frame);
  if (status === FrameStatus.Ok) listExtendedHeaders(list, frame);
  if (status === FrameStatus.Ok && isMad(frame)) {
    listMadFields(list, frame.view, frame.payloadOffset, frame.payloadLength);
  }
  if (frame.icrcOffset >= 0) {
    list.begin('infiniband');
    list.hex('infiniband.invariant.crc', frame.view.getUint32(frame.icrcOffset), 8);
  }
  listOwn(list, frame, status, icrcOk);
  return list;
}

/** Whether the payload is a management datagram: what goes to queue pair 1 as an unreliable datagram. */
export function isMad(frame: Frame): boolean {
  return frame.destQpn === GSI_QPN && (frame.opcode & SERVICE_MASK) === Service.Ud;
}

function listEthernet(list: FieldList, frame: Frame): void {
  if (frame.end - frame.start < ETHERNET_BYTES) return;
  const { destMac, sourceMac, etherType } = readEthernet(frame.view, frame.start);
  list.begin('eth');
  list.mac('eth.dst', destMac);
  list.mac('eth.src', sourceMac);
  // IEEE 802.3: small values are the length of what follows.
  if (etherType > 0 && etherType < MIN_ETHERTYPE) list.decimal('eth.len', etherType);
  else list.hex('eth.type', etherType, 4);
  if (frame.vlanTci >= 0) {
    list.begin('vlan');
    list.decimal('vlan.priority', frame.vlanTci >>> 13);
    list.decimal('vlan.dei', (frame.vlanTci >>> 12) & 1);
    list.decimal('vlan.id', frame.vlanTci & 0x0f_ff);
    if (frame.etherType < MIN_ETHERTYPE) list.decimal('vlan.len', frame.etherType);
    else list.hex('vlan.etype', frame.etherType, 4);
  }
  if (frame.etherType === ETHERTYPE_ARP) listArp(list, frame, innerStart(frame));
}

/** Where that begins which the EtherType names: behind one tag or two. */
function innerStart({ view, start, vlanTci }: Frame): number {
  if (vlanTci < 0) return start + ETHERNET_BYTES;
  const second = view.getUint16(start + ETHERNET_BYTES + 2);
  const tags = second === ETHERTYPE_VLAN || second === ETHERTYPE_SERVICE_VLAN ? 2 : 1;
  return start + ETHERNET_BYTES + tags * VLAN_TAG_BYTES;
}

function listArp(list: FieldList, frame: Frame, at: number): void {
  const arp = readArp(frame.view, at, frame.end);
  if (arp === undefined) return;
  list.begin('arp');
  list.decimal('arp.opcode', arp.operation);
  list.mac('arp.src.hw_mac', arp.senderMac);
  list.address('arp.src.proto_ipv4', arp.senderIp);
  list.mac('arp.dst.hw_mac', arp.targetMac);
  list.address('arp.dst.proto_ipv4', arp.targetIp);
}

/**
 * A header that RoCEv2 does not have, with options, as IGMP has it (RFC 3376): the fields before them are where they
 * always are.
 */
function listOddIpv4(list: FieldList, frame: Frame): void {
  if (frame.medium === Medium.Ethernet && frame.etherType !== ETHERTYPE_IPV4) return;
  const at = frame.medium === Medium.Ethernet ? innerStart(frame) : frame.start;
  if (frame.end - at >= IPV4_BYTES && frame.view.getUint8(at) >>> 4 === 4) listIpv4(list, frame.view, at);
}

function listIpv4(list: FieldList, view: DataView, at: number): void {
  const ip = readIpv4(view, at);
  list.begin('ip');
  list.decimal('ip.version', ip.version);
  list.decimal('ip.hdr_len', ip.ihl * 4);
  list.hex('ip.dsfield', ip.trafficClass, 2);
  list.decimal('ip.dsfield.dscp', dscpOf(ip.trafficClass));
  list.decimal('ip.dsfield.ecn', ip.trafficClass & 3);
  list.decimal('ip.len', ip.totalLength);
  list.hex('ip.id', ip.identification, 4);
  list.hex('ip.flags', ip.flags, 2);
  list.decimal('ip.flags.df', (ip.flags >>> 1) & 1);
  list.decimal('ip.flags.mf', ip.flags & 1);
  list.decimal('ip.frag_offset', ip.fragmentOffset);
  list.decimal('ip.ttl', ip.ttl);
  list.decimal('ip.proto', ip.protocol);
  list.hex('ip.checksum', ip.checksum, 4);
  list.address('ip.src', ip.source);
  list.address('ip.dst', ip.destination);
}

function listIpv6(list: FieldList, frame: Frame): void {
  const ip = readIpv6(frame.view, frame.ipOffset);
  list.begin('ipv6');
  list.decimal('ipv6.version', ip.version);
  list.hex('ipv6.tclass', ip.trafficClass, 2);
  list.decimal('ipv6.tclass.dscp', dscpOf(ip.trafficClass));
  list.decimal('ipv6.tclass.ecn', ip.trafficClass & 3);
  list.hex('ipv6.flow', ip.flowLabel, 5);
  list.decimal('ipv6.plen', ip.payloadLength);
  list.decimal('ipv6.nxt', ip.nextHeader);
  list.decimal('ipv6.hlim', ip.hopLimit);
  list.address('ipv6.src', ip.source);
  list.address('ipv6.dst', ip.destination);
}

function listUpperLayer(list: FieldList, frame: Frame): void {
  const { view, l4Offset, ipVersion, protocol, ipEnd } = frame;
  const available = ipEnd - l4Offset;
  if (protocol === IP_PROTOCOL_UDP && available >= UDP_BYTES) {
    const udp = readUdp(view, l4Offset);
    list.begin('udp');
    list.decimal('udp.srcport', udp.sourcePort);
    list.decimal('udp.dstport', udp.destPort);
    list.decimal('udp.length', udp.length);
    list.hex('udp.checksum', udp.checksum, 4);
  } else if (protocol === IP_PROTOCOL_TCP && available >= 4) {
    list.begin('tcp');
    list.decimal('tcp.srcport', view.getUint16(l4Offset));
    list.decimal('tcp.dstport', view.getUint16(l4Offset + 2));
  } else if (protocol === IP_PROTOCOL_ICMP && available >= 8) {
    listIcmp(list, view, l4Offset);
  } else if (protocol === IP_PROTOCOL_ICMPV6 && available >= 8) {
    listIcmpv6(list, view, l4Offset, available);
  } else if (protocol === IP_PROTOCOL_HOP_BY_HOP && ipVersion === 6) {
    // Listener discovery comes behind a router alert (RFC 3810).
    const at = afterHopByHop(view, l4Offset, ipEnd);
    if (at >= 0 && ipEnd - at >= 8) listIcmpv6(list, view, at, ipEnd - at);
  }
}

function listIcmp(list: FieldList, view: DataView, at: number): void {
  const type = view.getUint8(at);
  list.begin('icmp');
  list.decimal('icmp.type', type);
  list.decimal('icmp.code', view.getUint8(at + 1));
  list.hex('icmp.checksum', view.getUint16(at + 2), 4);
  if (type === IcmpType.EchoRequest || type === IcmpType.EchoReply) {
    list.decimal('icmp.ident', view.getUint16(at + 4));
    list.decimal('icmp.seq', view.getUint16(at + 6));
  }
}

function listIcmpv6(list: FieldList, view: DataView, at: number, available: number): void {
  const type = view.getUint8(at);
  list.begin('icmpv6');
  list.decimal('icmpv6.type', type);
  list.decimal('icmpv6.code', view.getUint8(at + 1));
  list.hex('icmpv6.checksum', view.getUint16(at + 2), 4);
  if (type === Icmpv6Type.EchoRequest || type === Icmpv6Type.EchoReply) {
    list.hex('icmpv6.echo.identifier', view.getUint16(at + 4), 4);
    list.decimal('icmpv6.echo.sequence_number', view.getUint16(at + 6));
  } else if (type === Icmpv6Type.NeighborSolicitation && available >= NEIGHBOR_MESSAGE_BYTES) {
    list.address('icmpv6.nd.ns.target_address', IpAddress.read(view, at + 8, 6));
  } else if (type === Icmpv6Type.NeighborAdvertisement && available >= NEIGHBOR_MESSAGE_BYTES) {
    const flags = view.getUint8(at + 4);
    list.decimal('icmpv6.nd.na.flag.r', flags >>> 7);
    list.decimal('icmpv6.nd.na.flag.s', (flags >>> 6) & 1);
    list.decimal('icmpv6.nd.na.flag.o', (flags >>> 5) & 1);
    list.address('icmpv6.nd.na.target_address', IpAddress.read(view, at + 8, 6));
  }
}

function listBth(list: FieldList, frame: Frame): void {
  list.begin('infiniband.bth');
  list.decimal('infiniband.bth.opcode', frame.opcode);
  list.decimal('infiniband.bth.se', frame.solicited);
  list.decimal('infiniband.bth.m', frame.migReq);
  list.decimal('infiniband.bth.padcnt', frame.padCount);
  list.decimal('infiniband.bth.tver', frame.transportVersion);
  list.hex('infiniband.bth.p_key', frame.pkey, 4);
  // tshark 4.0 shows the byte of these two as reserved.
  list.decimal('roce.bth.fecn', frame.fecn);
  list.decimal('roce.bth.becn', frame.becn);
  listReserved(list, 'roce.bth.reserved6', frame.view.getUint8(frame.bthOffset + BTH_MASKED_BYTE) & 0x3f);
  list.hex('infiniband.bth.destqp', frame.destQpn, 6);
  list.decimal('infiniband.bth.a', frame.ackReq);
  listReserved(list, 'infiniband.bth.reserved7', frame.view.getUint8(frame.bthOffset + BTH_RESERVED_AT) & 0x7f);
  list.decimal('infiniband.bth.psn', frame.psn);
}

/** Bits without a meaning are listed only where they are set. */
function listReserved(list: FieldList, name: string, value: number): void {
  if (value !== 0) list.hex(name, value, 2);
}

function listExtendedHeaders(list: FieldList, frame: Frame): void {
  for (const [offsets, listHeader] of EXTENDED_HEADERS) {
    const at = offsets[frame.opcode] ?? -1;
    if (at >= 0) listHeader(list, frame.view, frame.bthOffset + at);
  }
}

function listRdeth(list: FieldList, view: DataView, at: number): void {
  list.begin('infiniband.rdeth');
  listReserved(list, 'roce.rdeth.reserved8', view.getUint8(at));
  list.hex('infiniband.rdeth.eecnxt', readRdeth(view, at).eeContext, 6);
}

function listDeth(list: FieldList, view: DataView, at: number): void {
  const { qkey, sourceQpn } = readDeth(view, at);
  list.begin('infiniband.deth');
  list.hex('infiniband.deth.q_key', qkey, 8);
  listReserved(list, 'roce.deth.reserved8', view.getUint8(at + DETH_RESERVED_AT));
  list.hex('infiniband.deth.srcqp', sourceQpn, 6);
}

function listXrceth(list: FieldList, view: DataView, at: number): void {
  list.begin('roce.xrceth');
  list.hex('roce.xrceth.xrcsrq', readXrceth(view, at).xrcSrq, 6);
}

function listFeth(list: FieldList, view: DataView, at: number): void {
  const { placement, selectivity } = readFeth(view, at);
  list.begin('roce.feth');
  list.hex('roce.feth.placement', placement, 1);
  list.decimal('roce.feth.selectivity', selectivity);
}

function listReth(list: FieldList, view: DataView, at: number): void {
  const { va, rkey, dmaLength } = readReth(view, at);
  list.begin('infiniband.reth');
  list.hex('infiniband.reth.va', va, 16);
  list.hex('infiniband.reth.r_key', rkey, 8);
  list.decimal('infiniband.reth.dmalen', dmaLength);
}

function listAtomicEth(list: FieldList, view: DataView, at: number): void {
  const { va, rkey, swapAdd, compare } = readAtomicEth(view, at);
  list.begin('infiniband.atomiceth');
  // tshark uses the names of the RETH for the first two.
  list.hex('infiniband.reth.va', va, 16);
  list.hex('infiniband.reth.r_key', rkey, 8);
  list.decimal('infiniband.atomiceth.swapdt', swapAdd);
  list.decimal('infiniband.atomiceth.cmpdt', compare);
}

function listAeth(list: FieldList, view: DataView, at: number): void {
  const { syndrome, msn } = readAeth(view, at);
  const value = syndrome & SYNDROME_VALUE_MASK;
  list.begin('infiniband.aeth');
  list.hex('infiniband.aeth.syndrome', syndrome, 2);
  list.decimal('infiniband.aeth.syndrome.reserved', syndrome >>> 7);
  // What kind it is, without the reserved bit above, as tshark splits it.
  const kind = syndrome & SYNDROME_KIND_MASK & 0x7f;
  list.decimal('infiniband.aeth.syndrome.opcode', kind >>> 5);
  if (kind === SyndromeKind.Ack) list.decimal('infiniband.aeth.syndrome.credit_count', value);
  else if (kind === SyndromeKind.RnrNak) list.decimal('infiniband.aeth.syndrome.timer', value);
  else if (kind === SyndromeKind.Nak) list.decimal('infiniband.aeth.syndrome.error_code', value);
  else list.decimal('infiniband.aeth.syndrome.reserved_value', value);
  list.decimal('infiniband.aeth.msn', msn);
}

function listAtomicAckEth(list: FieldList, view: DataView, at: number): void {
  list.begin('infiniband.atomicacketh');
  list.decimal('infiniband.atomicacketh.origremdt', readAtomicAckEth(view, at).original);
}

function listImmDt(list: FieldList, view: DataView, at: number): void {
  list.begin('infiniband');
  list.hex('infiniband.immdt', readImmDt(view, at).immDt, 8);
}

function listIeth(list: FieldList, view: DataView, at: number): void {
  list.begin('infiniband');
  list.hex('infiniband.ieth', readIeth(view, at).rkey, 8);
}

function listOwn(list: FieldList, frame: Frame, status: FrameStatus, icrcOk: boolean): void {
  list.begin('roce');
  list.text('roce.frame.status', frameStatusName(status));
  if (frame.bthOffset >= 0) list.text('roce.opcode.name', opcodeInfo(frame.opcode).name);
  if (status !== FrameStatus.Ok) return;
  list.decimal('roce.payload.len', frame.payloadLength);
  list.text('roce.icrc.status', icrcOk ? 'good' : 'bad');
}

const MIN_ETHERTYPE = 0x06_00;
/** The byte with AckReq, of which seven bits are reserved, in the BTH. */
const BTH_RESERVED_AT = 8;
/** Between Q_Key and source QPN. */
const DETH_RESERVED_AT = 4;

/** In the order of the wire: offset tables by opcode, and the function that lists the header. */
const EXTENDED_HEADERS: readonly (readonly [Int8Array, (list: FieldList, view: DataView, at: number) => void])[] = [
  [RDETH_AT, listRdeth],
  [DETH_AT, listDeth],
  [XRCETH_AT, listXrceth],
  [FETH_AT, listFeth],
  [RETH_AT, listReth],
  [ATOMIC_ETH_AT, listAtomicEth],
  [AETH_AT, listAeth],
  [ATOMIC_ACK_ETH_AT, listAtomicAckEth],
  [IMM_AT, listImmDt],
  [IETH_AT, listIeth],
];
