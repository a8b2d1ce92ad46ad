/**
 * What the fields of the declared headers mean, in words, by header and field.
 *
 * Owns the words and the sources behind them; where the bits are stands in `layouts.ts`. Names are tshark's where it
 * has the field, else they begin with `roce.`, as in `frame-fields.ts`. Never reads a packet. Sources are named in the
 * rows: RFCs, and sections of docs/reference.
 */
import { hexNumber } from '../field-list.ts';
import { formatAeth } from '../format.ts';
import type { LayoutName } from '../layouts.ts';
import { opcodeInfo } from '../opcode.ts';
import { dscpOf, ECN_MASK } from '../traffic-class.ts';
import type { BitsValue, Shape } from './bits.ts';

/** What is to be said of one field: name, how to show it, meaning, source of the rule. */
export type FieldWords = readonly [
  name: string,
  shape: Shape,
  meaning: string | ((value: BitsValue) => string),
  rule: string,
];

/** By the names of `LAYOUTS` and of their fields. */
export const HEADER_WORDS: Readonly<Record<LayoutName, Readonly<Record<string, FieldWords>>>> = {
  Ethernet: {
    destMac: ['eth.dst', 'mac', 'The station that is to take the frame.', 'IEEE 802.3'],
    sourceMac: ['eth.src', 'mac', 'The station that put it on this wire.', 'IEEE 802.3'],
    etherType: ['eth.type', 'hex', etherTypeMeaning, 'IEEE 802.3'],
  },
  VLAN: {
    pcp: ['vlan.priority', 'decimal', 'Priority 0 to 7 of the frame; what PFC pauses.', 'IEEE 802.1Q'],
    dei: ['vlan.dei', 'flag', 'May be dropped before others when a queue is full.', 'IEEE 802.1Q'],
    vid: [
      'vlan.id',
      'decimal',
      (id) => (id === 0 ? 'No VLAN, the tag gives a priority only.' : `VLAN ${id}.`),
      'IEEE 802.1Q',
    ],
    etherType: ['vlan.etype', 'hex', etherTypeMeaning, 'IEEE 802.1Q'],
  },
  ARP: {
    hardwareType: ['arp.hw.type', 'decimal', '1 for Ethernet.', 'RFC 826'],
    protocolType: ['arp.proto.type', 'hex', 'Whose addresses are asked for: 0x0800 for IPv4.', 'RFC 826'],
    hardwareLength: ['arp.hw.size', 'decimal', 'Bytes of a hardware address.', 'RFC 826'],
    protocolLength: ['arp.proto.size', 'decimal', 'Bytes of a protocol address.', 'RFC 826'],
    operation: [
      'arp.opcode',
      'decimal',
      (op) => (op === 1 ? 'A request for the MAC address of an IP address.' : 'An answer.'),
      'RFC 826',
    ],
    senderMac: ['arp.src.hw_mac', 'mac', 'The sender.', 'RFC 826'],
    senderIp: ['arp.src.proto_ipv4', 'ipv4', 'The sender.', 'RFC 826'],
    targetMac: ['arp.dst.hw_mac', 'mac', 'Unknown, zero, in a question.', 'RFC 826'],
    targetIp: ['arp.dst.proto_ipv4', 'ipv4', 'Who is asked for, or answered.', 'RFC 826'],
  },
  PFC: {
    opcode: ['macc.opcode', 'hex', '0x0101: priority flow control.', 'IEEE 802.1Qbb'],
    reserved8: ['roce.reserved', 'hex', reserved(), 'IEEE 802.1Qbb'],
    enableVector: ['macc.cbfc.enbv', 'hex', enableVectorMeaning, 'IEEE 802.1Qbb'],
    ...Object.fromEntries(Array.from({ length: 8 }, (_, priority) => [`quanta${priority}`, quanta(priority)])),
  },
  IPv4: {
    version: ['ip.version', 'decimal', 'Version of IP.', 'RFC 791'],
    ihl: [
      'ip.hdr_len',
      'decimal',
      'Words of four bytes of this header: 5, for options would break the ICRC.',
      'RFC 791, ref:wire#2',
    ],
    trafficClass: ['ip.dsfield', 'hex', trafficClassMeaning, 'RFC 2474, RFC 3168, ref:wire#2'],
    totalLength: [
      'ip.len',
      'decimal',
      'Bytes from here to the end of the ICRC; the ICRC covers this field.',
      'RFC 791, ref:wire#3',
    ],
    identification: [
      'ip.id',
      'hex',
      'Tells fragments of packets apart; final before the ICRC is made, for it covers this field.',
      'ref:wire#2',
    ],
    flags: ['ip.flags', 'hex', flagsMeaning, 'RFC 791, ref:wire#2'],
    fragmentOffset: [
      'ip.frag_offset',
      'decimal',
      'Where a fragment belongs; 0, for RoCE packets are never fragmented.',
      'ref:wire#2',
    ],
    ttl: ['ip.ttl', 'decimal', 'Routers left to cross. The ICRC does not cover it.', 'RFC 791, ref:wire#3'],
    protocol: ['ip.proto', 'decimal', protocolMeaning, 'RFC 791'],
    checksum: [
      'ip.checksum',
      'hex',
      'Sum over this header; routers change it, so the ICRC does not cover it.',
      'RFC 791, ref:wire#3',
    ],
    source: ['ip.src', 'ipv4', 'Who sent the packet: the GID of that end, mapped to IPv6.', 'RFC 791'],
    destination: ['ip.dst', 'ipv4', 'The receiver.', 'RFC 791'],
  },
  IPv6: {
    version: ['ipv6.version', 'decimal', 'Version of IP.', 'RFC 8200'],
    trafficClass: ['ipv6.tclass', 'hex', trafficClassMeaning, 'RFC 2474, RFC 3168, ref:wire#2'],
    flowLabel: [
      'ipv6.flow',
      'hex',
      'What load balancers may hash; the ICRC does not cover it.',
      'RFC 8200, ref:wire#3',
    ],
    payloadLength: [
      'ipv6.plen',
      'decimal',
      'Bytes behind this header; the ICRC covers this field.',
      'RFC 8200, ref:wire#3',
    ],
    nextHeader: ['ipv6.nxt', 'decimal', protocolMeaning, 'RFC 8200'],
    hopLimit: ['ipv6.hlim', 'decimal', 'Routers left to cross. The ICRC does not cover it.', 'RFC 8200, ref:wire#3'],
    source: ['ipv6.src', 'ipv6', 'Who sent the packet: the GID of that end.', 'RFC 8200'],
    destination: ['ipv6.dst', 'ipv6', 'The receiver.', 'RFC 8200'],
  },
  UDP: {
    sourcePort: [
      'udp.srcport',
      'decimal',
      'The same for all packets of a queue pair: what ECMP hashes to choose a path.',
      'ref:wire#2',
    ],
    destPort: [
      'udp.dstport',
      'decimal',
      (port) => (port === 4791 ? 'RoCEv2.' : 'Not RoCEv2, which is 4791.'),
      'ref:wire#2',
    ],
    length: [
      'udp.length',
      'decimal',
      'Bytes of this header and all behind it, ICRC included: it says where the ICRC is.',
      'ref:wire#1',
    ],
    checksum: ['udp.checksum', 'hex', 'Usually 0: the ICRC is stronger, and does not cover it.', 'ref:wire#2'],
  },
  BTH: {
    opcode: ['infiniband.bth.opcode', 'hex', opcodeMeaning, 'ref:wire#5'],
    solicited: [
      'infiniband.bth.se',
      'flag',
      'Solicited event: the receiver wants to be woken for this message.',
      'ref:wire#4',
    ],
    migReq: ['infiniband.bth.m', 'flag', 'State of path migration; rdma_rxe sends 0, hardware mostly 1.', 'ref:wire#4'],
    padCount: [
      'infiniband.bth.padcnt',
      'decimal',
      'Bytes of 0 behind the payload, to a multiple of four.',
      'ref:wire#4',
    ],
    transportVersion: [
      'infiniband.bth.tver',
      'decimal',
      'Must be 0: another version gives every field another meaning.',
      'ref:wire#4',
    ],
    pkey: ['infiniband.bth.p_key', 'hex', pkeyMeaning, 'ref:wire#4'],
    fecn: [
      'roce.bth.fecn',
      'flag',
      'Congestion was met on the way here; RoCEv2 uses the ECN bits of IP for that.',
      'ref:wire#4',
    ],
    becn: [
      'roce.bth.becn',
      'flag',
      'The way of the other direction is congested: set in congestion notifications.',
      'ref:wire#9',
    ],
    reserved6: ['roce.bth.reserved', 'hex', reserved('The ICRC does not cover this byte.'), 'ref:wire#3'],
    destQpn: ['infiniband.bth.destqp', 'hex', qpnMeaning, 'ref:wire#4'],
    ackReq: ['infiniband.bth.a', 'flag', 'The requester asks for an ACK of this packet.', 'ref:wire#4'],
    reserved7: ['infiniband.bth.reserved7', 'hex', reserved(), 'ref:wire#4'],
    psn: [
      'infiniband.bth.psn',
      'decimal',
      'Packet sequence number, modulo 2^24: each packet of a request takes one, a READ as many as it draws responses.',
      'ref:wire#8',
    ],
  },
  RDETH: {
    reserved: ['roce.rdeth.reserved', 'hex', reserved(), 'ref:wire#6'],
    eeContext: ['infiniband.rdeth.eecnxt', 'hex', 'End-to-end context of reliable datagrams.', 'ref:wire#6'],
  },
  DETH: {
    qkey: [
      'infiniband.deth.q_key',
      'hex',
      'Must be the one of the receiving queue pair; 0x80010000 for queue pair 1.',
      'ref:wire#6, ref:wire#10',
    ],
    reserved: ['roce.deth.reserved', 'hex', reserved(), 'ref:wire#6'],
    sourceQpn: ['infiniband.deth.srcqp', 'hex', 'Who sent the datagram, and where an answer goes.', 'ref:wire#6'],
  },
  XRCETH: {
    reserved: ['roce.xrceth.reserved', 'hex', reserved(), 'packets/xrceth.ts'],
    xrcSrq: ['roce.xrceth.xrcsrq', 'hex', 'The shared receive queue that a request is for.', 'packets/xrceth.ts'],
  },
  FETH: {
    reserved: ['roce.feth.reserved', 'hex', reserved(), 'ref:wire#6'],
    selectivity: [
      'roce.feth.selectivity',
      'decimal',
      (level) =>
        `What is flushed: ${level === 0 ? 'the range of the RETH' : level === 1 ? 'the whole region' : 'reserved'}.`,
      'ref:conformance#MPE',
    ],
    placement: [
      'roce.feth.placement',
      'hex',
      'How far: bit 0 global visibility, bit 1 persistence.',
      'ref:conformance#MPE',
    ],
  },
  RETH: {
    va: [
      'infiniband.reth.va',
      'hex',
      "First byte of the peer's memory that is written, read or flushed.",
      'ref:wire#6',
    ],
    rkey: ['infiniband.reth.r_key', 'hex', 'Key of that memory: says which region, and what is allowed.', 'ref:wire#6'],
    dmaLength: ['infiniband.reth.dmalen', 'decimal', 'Bytes of the whole message, not of this packet.', 'ref:wire#6'],
  },
  AETH: {
    syndrome: ['infiniband.aeth.syndrome', 'hex', syndromeMeaning, 'ref:wire#7'],
    msn: ['infiniband.aeth.msn', 'decimal', 'Messages that the responder has completed, modulo 2^24.', 'ref:wire#7'],
  },
  AtomicETH: {
    va: ['infiniband.reth.va', 'hex', 'The eight bytes to work on; a multiple of 8.', 'ref:wire#6'],
    rkey: ['infiniband.reth.r_key', 'hex', 'Key of that memory.', 'ref:wire#6'],
    swapAdd: [
      'infiniband.atomiceth.swapdt',
      'decimal',
      'What to add, or what to put there when the comparison holds.',
      'ref:wire#6',
    ],
    compare: [
      'infiniband.atomiceth.cmpdt',
      'decimal',
      'What must stand there for a compare and swap; nothing in a fetch and add.',
      'ref:wire#6',
    ],
  },
  AtomicAckETH: {
    original: ['infiniband.atomicacketh.origremdt', 'decimal', 'What stood there before.', 'ref:wire#6'],
  },
  ImmDt: {
    immDt: [
      'infiniband.immdt',
      'hex',
      "Four bytes that arrive in the receiver's completion, beside the data.",
      'ref:wire#6',
    ],
  },
  IETH: {
    rkey: ['infiniband.ieth', 'hex', 'Key that this message makes the receiver invalidate.', 'ref:wire#6'],
  },
  CNP: {
    reservedHigh: ['roce.cnp.reserved', 'hex', reserved(), 'ref:wire#9'],
    reservedLow: ['roce.cnp.reserved', 'hex', reserved(), 'ref:wire#9'],
  },
  GRH: {
    version: ['infiniband.grh.ipver', 'decimal', 'Version, 6.', 'ref:wire#6'],
    trafficClass: ['infiniband.grh.tclass', 'hex', trafficClassMeaning, 'ref:wire#6'],
    flowLabel: ['infiniband.grh.flowlabel', 'hex', 'Label of the flow.', 'ref:wire#6'],
    payloadLength: ['infiniband.grh.paylen', 'decimal', 'Bytes behind this header.', 'ref:wire#6'],
    nextHeader: ['infiniband.grh.nxthdr', 'hex', '0x1b for the base transport header.', 'ref:wire#6'],
    hopLimit: ['infiniband.grh.hoplmt', 'decimal', 'Routers left to cross.', 'ref:wire#6'],
    sourceGid: ['infiniband.grh.sgid', 'ipv6', 'Who sent it.', 'ref:wire#6'],
    destinationGid: ['infiniband.grh.dgid', 'ipv6', 'The receiver.', 'ref:wire#6'],
  },
};

/** DSCP and ECN, in words. */
export function trafficClassMeaning(value: BitsValue): string {
  const trafficClass = Number(value);
  const ecn = ECN_WORDS[trafficClass & ECN_MASK] ?? '';
  return `DSCP ${dscpOf(trafficClass)} in the upper six bits; ECN ${trafficClass & ECN_MASK}: ${ecn}. The ICRC does not cover it.`;
}

function reserved(more = ''): string {
  return `Reserved: written 0, ignored when read.${more === '' ? '' : ` ${more}`}`;
}

function etherTypeMeaning(value: BitsValue): string {
  return `${ETHERTYPES.get(Number(value)) ?? 'Another protocol'} follows.`;
}

function protocolMeaning(value: BitsValue): string {
  return `${PROTOCOLS.get(Number(value)) ?? 'Another protocol'} follows.`;
}

function flagsMeaning(value: BitsValue): string {
  const words = [(Number(value) & 2) !== 0 ? "don't fragment" : 'may be fragmented'];
  if ((Number(value) & 1) !== 0) words.push('more fragments follow');
  return `${words.join(', ')}. RoCE packets are never fragmented, and the ICRC covers these bits.`;
}

function opcodeMeaning(value: BitsValue): string {
  const { known, name, headers } = opcodeInfo(Number(value));
  if (!known) return 'No operation has this number.';
  return `${name}; ${headers.length === 0 ? 'no extended header' : headers.join(', ')} behind the BTH.`;
}

function pkeyMeaning(value: BitsValue): string {
  const member = (Number(value) & 0x80_00) !== 0 ? 'full' : 'limited';
  return `Partition ${hexNumber(Number(value) & 0x7f_ff, 4)}, ${member} member; 0xffff is the default partition.`;
}

function qpnMeaning(value: BitsValue): string {
  if (value === 1) return 'Queue pair 1, which takes management datagrams.';
  return value === 0xff_ff_ff ? 'A multicast datagram.' : 'The queue pair that is to take the packet.';
}

function syndromeMeaning(value: BitsValue): string {
  const syndrome = Number(value);
  const word = formatAeth(syndrome, 0).replace(/ msn 0$/, '');
  return `${word}. ${SYNDROME_WORDS[syndrome >>> 5] ?? 'The top bit is reserved.'}`;
}

function enableVectorMeaning(value: BitsValue): string {
  const classes = Array.from({ length: 8 }, (_, priority) => priority).filter((p) => (Number(value) & (1 << p)) !== 0);
  return classes.length === 0 ? 'No priority is meant.' : `Priorities meant: ${classes.join(', ')}.`;
}

function quanta(priority: number): FieldWords {
  const meaning = (value: BitsValue) =>
    value === 0 ? `Priority ${priority} may go on.` : `Priority ${priority} waits ${value} times 512 bit times.`;
  return [`macc.cbfc.pause_time.c${priority}`, 'decimal', meaning, 'IEEE 802.1Qbb'];
}

const ECN_WORDS = [
  'the transport takes no marks',
  'marks are understood, ECT(1)',
  'marks are understood, ECT(0)',
  'marked, congestion experienced',
];

/** By the upper three bits of a syndrome. */
const SYNDROME_WORDS: readonly string[] = [
  'All requests up to this PSN are done; the lower five bits count credits, 31 for none counted.',
  'The receiver was not ready: send this PSN again after the wait that the lower five bits name.',
  'No syndrome has these bits.',
  'The request of this PSN was refused, or packets before it are missing; what came before is acknowledged.',
];

const ETHERTYPES: ReadonlyMap<number, string> = new Map([
  [0x08_00, 'IPv4'],
  [0x86_dd, 'IPv6'],
  [0x08_06, 'ARP'],
  [0x81_00, 'A VLAN tag'],
  [0x88_a8, 'A service VLAN tag'],
  [0x88_08, 'A MAC control frame, such as a pause,'],
  [0x89_15, 'RoCE version 1'],
]);

const PROTOCOLS: ReadonlyMap<number, string> = new Map([
  [1, 'ICMP'],
  [2, 'IGMP'],
  [6, 'TCP'],
  [17, 'UDP'],
  [58, 'ICMPv6'],
]);
