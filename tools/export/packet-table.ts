/**
 * The table of packets: what the headers of each say, and what the analyzer finds in it.
 *
 * Owns its columns. The bytes of payloads are not exported.
 */
import {
  AETH_AT,
  aethMsn,
  aethSyndrome,
  DETH_AT,
  dethSourceQpn,
  dscpOf,
  ECN_MASK,
  type Frame,
  FrameStatus,
  frameStatusName,
  Medium,
  opcodeInfo,
  RETH_AT,
  rethDmaLength,
} from 'rocev2/packets';
import { Direction, MARK_NAMES, Mark, type PacketFacts, tunnelsText } from 'rocev2/pcap';
import { frameKey } from './frame-key.ts';
import { destinationText, macText, sourceText } from './header-texts.ts';
import { type Column, Columns, epochNs, known, type Table } from './schema.ts';

const c = new Columns<PacketFacts>();

const frameOf = ({ dissection }: PacketFacts): Frame => dissection.frame;
const hasEthernet = ({ medium, start, end }: Frame): boolean => medium === Medium.Ethernet && end - start >= 14;
/** Its addresses were captured: the parser sets the version only where the whole header is there. */
const hasIp = ({ ipVersion }: Frame): boolean => ipVersion !== 0;
const hasUdp = ({ destPort }: Frame): boolean => destPort !== 0;
const hasBth = ({ bthOffset }: Frame): boolean => bthOffset >= 0;

/** Where an extended header is; undefined where the packet has none, or not all of it. */
function headerAt({ status, frame }: PacketFacts['dissection'], offsets: ArrayLike<number>): number | undefined {
  if (status !== FrameStatus.Ok) return undefined;
  const offset = offsets[frame.opcode] ?? -1;
  return offset < 0 ? undefined : frame.bthOffset + offset;
}

/** A number of the BTH. */
function bth(name: string, about: string, of: (frame: Frame) => number): Column<PacketFacts> {
  return c.int32(name, about, (facts) => (hasBth(frameOf(facts)) ? of(frameOf(facts)) : undefined));
}

/** By `FrameStatus`. */
const STATUS_NAMES = Object.values(FrameStatus).map(frameStatusName);
/** By code point. */
const ECN_NAMES = ['not-ect', 'ect1', 'ect0', 'ce'];
/** By `IcrcState`. */
const ICRC_STATES = [undefined, 'good', 'bad', 'rxe-flush'];
/** By `Role`. */
const ROLES = [undefined, 'request', 'response', 'datagram', 'cnp', 'management'];
/** What the analyzer's marks mean. */
const MARK_TEXTS: Readonly<Record<(typeof MARK_NAMES)[number], string>> = {
  retransmission: 'its PSN was sent before, by the same end',
  copy: 'the same frame again, unchanged',
  late: 'an original that comes after packets sent later',
  gap: 'packets are missing before it',
  nak: 'a NAK, other than RNR',
  'rnr-nak': 'an RNR NAK',
  'implied-nak': 'requests again what is missing in a gap of READ responses',
  'after-timeout': 'sent after a timeout',
  'ghost-ack': 'acknowledges what is acknowledged already, or was never requested',
  'bad-icrc': 'the ICRC is wrong',
  ce: 'marked CE by the network',
  violation: 'breaks a rule of the protocol',
};

const CAPTURED: readonly Column<PacketFacts>[] = [
  c.int64('frame', 'number of the packet in its capture, from 1, as Wireshark counts', ({ packet }) => packet.number),
  c.int64('time_ns', 'when it was captured, ns since 1970 by the clock of the capturing host', ({ packet }) =>
    epochNs(packet),
  ),
  c.int32('interface_index', 'the interface that captured it: key into `interfaces`', (f) => f.packet.interfaceIndex),
  c.text('direction', '`in` or `out`, seen from the capturing host; NULL: not recorded', ({ dissection }) =>
    dissection.direction === Direction.Unknown ? undefined : dissection.direction === Direction.Inbound ? 'in' : 'out',
  ),
  c.int64('wire_bytes', 'bytes on the wire, as far as the capture tells', ({ packet }) => packet.originalLength),
  c.int64('captured_bytes', 'bytes in the capture', ({ packet }) => packet.bytes.length),
  c.text(
    'status',
    '`Ok` for RoCEv2, else what is wrong or why it is none: `NotIp`, `NotUdp`, `NotRoce`, `Truncated`, `BadPad` ...',
    (f) => STATUS_NAMES[f.dissection.status],
  ),
  c.flag(
    'roce',
    'a RoCEv2 packet, whole or cut by the capture',
    ({ dissection: { status, cut, frame } }) => status === FrameStatus.Ok || (cut && hasBth(frame)),
  ),
  c.flag('cut', 'the capture lacks the end of the IP packet', ({ dissection }) => dissection.cut),
  c.text(
    'tunnel',
    'the tunnels around it, outermost first: `VXLAN 42`; all that follows is of the innermost packet',
    (f) => (f.dissection.depth === 0 ? undefined : tunnelsText(f.dissection.tunnels, f.dissection.depth)),
  ),
];

const ADDRESSES: readonly Column<PacketFacts>[] = [
  c.text('src_mac', 'MAC address of the sender; NULL without an Ethernet header', ({ dissection: { frame } }) =>
    hasEthernet(frame) ? macText(frame.bytes, frame.start + 6) : undefined,
  ),
  c.text('dst_mac', 'MAC address of the receiver', ({ dissection: { frame } }) =>
    hasEthernet(frame) ? macText(frame.bytes, frame.start) : undefined,
  ),
  c.int32('ether_type', 'EtherType after VLAN tags; NULL without an Ethernet header', ({ dissection: { frame } }) =>
    hasEthernet(frame) ? frame.etherType : undefined,
  ),
  c.int32('vlan', 'VLAN id of the innermost tag; NULL without a tag', ({ dissection: { frame } }) =>
    frame.vlanTci < 0 ? undefined : frame.vlanTci & 0xfff,
  ),
  c.int32('vlan_priority', 'priority of that tag, 0..7', ({ dissection: { frame } }) =>
    frame.vlanTci < 0 ? undefined : frame.vlanTci >>> 13,
  ),
  c.text('src_ip', 'source address, IPv4 or IPv6 as text', (f) =>
    hasIp(frameOf(f)) ? sourceText(frameOf(f)) : undefined,
  ),
  c.text('dst_ip', 'destination address', (f) => (hasIp(frameOf(f)) ? destinationText(frameOf(f)) : undefined)),
  c.int32('ip_protocol', 'IPv4 protocol or IPv6 next header; 17 is UDP', (f) =>
    hasIp(frameOf(f)) ? frameOf(f).protocol : undefined,
  ),
  c.int32('dscp', 'DSCP, 0..63', (f) => (hasIp(frameOf(f)) ? dscpOf(frameOf(f).trafficClass) : undefined)),
  c.text('ecn', 'ECN bits: `not-ect`, `ect0`, `ect1`, `ce`', (f) =>
    hasIp(frameOf(f)) ? ECN_NAMES[frameOf(f).trafficClass & ECN_MASK] : undefined,
  ),
  c.int32('hop_limit', 'TTL or hop limit', (f) => (hasIp(frameOf(f)) ? frameOf(f).hopLimit : undefined)),
  c.int32('src_port', 'UDP source port', (f) => (hasUdp(frameOf(f)) ? frameOf(f).sourcePort : undefined)),
  c.int32('dst_port', 'UDP destination port, 4791 for RoCEv2', (f) =>
    hasUdp(frameOf(f)) ? frameOf(f).destPort : undefined,
  ),
];

const TRANSPORT: readonly Column<PacketFacts>[] = [
  c.text('opcode', 'name of the opcode: `RC SEND Only`, `RC RDMA READ Request`, `RC Acknowledge`, `CNP` ...', (f) =>
    hasBth(frameOf(f)) ? opcodeInfo(frameOf(f).opcode).name : undefined,
  ),
  bth('dest_qpn', 'destination QPN, 24 bits', ({ destQpn }) => destQpn),
  bth('psn', 'PSN, 24 bits', ({ psn }) => psn),
  bth('pkey', 'P_Key, 16 bits', ({ pkey }) => pkey),
  bth('ack_req', 'AckReq bit, 0 or 1', ({ ackReq }) => ackReq),
  bth('solicited', 'solicited event bit', ({ solicited }) => solicited),
  bth('mig_req', 'MigReq bit', ({ migReq }) => migReq),
  bth('fecn', 'FECN bit', ({ fecn }) => fecn),
  bth('becn', 'BECN bit', ({ becn }) => becn),
  c.int32(
    'src_qpn',
    'source QPN of a datagram (DETH); for connected services see `conversation_ends`',
    ({ dissection }) => {
      const at = headerAt(dissection, DETH_AT);
      return at === undefined ? undefined : dethSourceQpn(dissection.frame.view, at);
    },
  ),
  c.int64('dma_bytes', 'length in the RETH: bytes of the READ or WRITE that begins', ({ dissection }) => {
    const at = headerAt(dissection, RETH_AT);
    return at === undefined ? undefined : rethDmaLength(dissection.frame.view, at);
  }),
  c.int32('syndrome', 'syndrome of the AETH, 0..255: ACKs, NAKs and some READ responses', ({ dissection }) => {
    const at = headerAt(dissection, AETH_AT);
    return at === undefined ? undefined : aethSyndrome(dissection.frame.view, at);
  }),
  c.int32('msn', 'MSN of the AETH, 24 bits', ({ dissection }) => {
    const at = headerAt(dissection, AETH_AT);
    return at === undefined ? undefined : aethMsn(dissection.frame.view, at);
  }),
  c.int32('payload_bytes', 'payload, without pad and ICRC', ({ dissection: { status, frame } }) =>
    status === FrameStatus.Ok ? frame.payloadLength : undefined,
  ),
  c.int64(
    'icrc',
    'the ICRC as it is in the packet, its bytes read as one number; NULL where the capture has cut it off',
    (f) =>
      f.dissection.status === FrameStatus.Ok && !f.dissection.cut
        ? frameOf(f).view.getUint32(frameOf(f).icrcOffset)
        : undefined,
  ),
  c.text(
    'icrc_state',
    '`good`, `bad`, or `rxe-flush` (a FLUSH as rdma_rxe sends it); NULL: not known',
    ({ icrc }) => ICRC_STATES[icrc],
  ),
  c.int64(
    'frame_key',
    'the same for the same packet in every capture, see above; NULL for what is not RoCEv2 with whole headers',
    (f) => frameKey(f.dissection.status, frameOf(f)),
  ),
];

const ANALYSIS: readonly Column<PacketFacts>[] = [
  c.int32(
    'conversation',
    'the conversation it belongs to, NULL for none: key into `conversation_ends`',
    (f) => f.conversation?.id,
    'conversation',
  ),
  c.int32(
    'sender',
    'which end of it sent the packet, 0 or 1: `side` in `conversation_ends`',
    (f) => (f.conversation === undefined ? undefined : f.sender),
    'end',
  ),
  c.text('role', '`request`, `response`, `datagram`, `cnp` or `management`', ({ role }) => ROLES[role]),
  c.int64('relative_psn', 'PSN counted from the first of its sequence, without wrapping', ({ relativePsn }) =>
    Number.isNaN(relativePsn) ? undefined : relativePsn,
  ),
  c.int32('missing', 'packets missing before it, where `gap`', ({ missing, marks }) =>
    (marks & Mark.Gap) === 0 ? undefined : missing,
  ),
  c.int64('refers_to', 'an earlier packet it refers to: the original of a retransmission', (f) => known(f.refersTo)),
  ...MARK_NAMES.map((name, bit) =>
    c.flag(name.replaceAll('-', '_'), MARK_TEXTS[name], ({ marks }) => (marks & (1 << bit)) !== 0),
  ),
];

/** The table. */
export const PACKETS: Table<PacketFacts> = {
  name: 'packets',
  about: 'One row for each packet, RoCEv2 or not, in the order of the capture.',
  key: ['capture', 'frame'],
  columns: [...c.origin(), ...CAPTURED, ...ADDRESSES, ...TRANSPORT, ...ANALYSIS],
};
