/**
 * Words for addresses, protocols and the effects of the network on a packet.
 *
 * Owns what they match, as in pcap-filter(7) where it has the word. Reads no further than `parseFrame` found.
 */

import type { IpAddress, IpPrefix } from '../../packets/address.ts';
import { ARP_BYTES, type Arp, readArp } from '../../packets/arp.ts';
import {
  ETHERNET_BYTES,
  ETHERTYPE_ARP,
  ETHERTYPE_ROCE_V1,
  ETHERTYPE_SERVICE_VLAN,
  ETHERTYPE_VLAN,
  VLAN_TAG_BYTES,
} from '../../packets/ethernet.ts';
import {
  type Frame,
  FrameStatus,
  frameDestination,
  frameDestinationIs,
  frameSource,
  frameSourceIs,
  Medium,
} from '../../packets/frame.ts';
import { IP_PROTOCOL_ICMP, IP_PROTOCOL_ICMPV6, IP_PROTOCOL_TCP, IP_PROTOCOL_UDP } from '../../packets/ipv4.ts';
import { isPfc } from '../../packets/pfc.ts';
import { dscpOf, ECN_MASK, isMarked } from '../../packets/traffic-class.ts';
import type { FilterSubject, Predicate } from './types.ts';
import { type FilterWord, flagWord, hostWord, macWord, netWord, numberWord } from './word.ts';

const PORT = { what: 'a port', max: 0xff_ff } as const;
const frameOf = (subject: FilterSubject): Frame => subject.dissection.frame;
const both =
  (a: Predicate, b: Predicate): Predicate =>
  (subject) =>
    a(subject) || b(subject);

const sourceIs =
  (address: IpAddress): Predicate =>
  (subject) =>
    frameSourceIs(frameOf(subject), address) || arpOf(frameOf(subject))?.senderIp.equals(address) === true;
const destinationIs =
  (address: IpAddress): Predicate =>
  (subject) =>
    frameDestinationIs(frameOf(subject), address) || arpOf(frameOf(subject))?.targetIp.equals(address) === true;
const sourceIn =
  (prefix: IpPrefix): Predicate =>
  (subject) =>
    inNet(prefix, frameOf(subject), frameSource, 'senderIp');
const destinationIn =
  (prefix: IpPrefix): Predicate =>
  (subject) =>
    inNet(prefix, frameOf(subject), frameDestination, 'targetIp');

/** Source and destination of a packet. */
export const ADDRESS_WORDS: readonly FilterWord[] = [
  hostWord('host', 'from or to this IP address, or an ARP message about it', (address) =>
    both(sourceIs(address), destinationIs(address)),
  ),
  hostWord('src host', 'from this IP address', sourceIs, { aliases: ['src'] }),
  hostWord('dst host', 'to this IP address', destinationIs, { aliases: ['dst'] }),
  netWord('net', 'from or to an address of this network', (prefix) => both(sourceIn(prefix), destinationIn(prefix))),
  netWord('src net', 'from an address of this network', sourceIn),
  netWord('dst net', 'to an address of this network', destinationIn),
  numberWord('port', 'UDP or TCP port at either end', {
    ...PORT,
    get: sourcePort,
    getOther: destPort,
  }),
  numberWord('src port', 'UDP or TCP source port', { ...PORT, get: sourcePort }),
  numberWord('dst port', 'UDP or TCP destination port', {
    ...PORT,
    get: destPort,
  }),
  macWord('ether host', 'from or to this MAC address', (mac) => both(macIs(mac, SOURCE_MAC_AT), macIs(mac, 0))),
  macWord('ether src', 'from this MAC address', (mac) => macIs(mac, SOURCE_MAC_AT)),
  macWord('ether dst', 'to this MAC address', (mac) => macIs(mac, 0)),
];

/** What a packet is, below RoCE. */
export const PROTOCOL_WORDS: readonly FilterWord[] = [
  flagWord('ip', 'IPv4', (subject) => frameOf(subject).ipVersion === 4, { outline: true }),
  flagWord('ip6', 'IPv6', (subject) => frameOf(subject).ipVersion === 6, { aliases: ['ipv6'], outline: true }),
  flagWord('udp', 'UDP over IPv4 or IPv6', (subject) => isProtocol(frameOf(subject), IP_PROTOCOL_UDP)),
  flagWord('tcp', 'TCP over IPv4 or IPv6', (subject) => isProtocol(frameOf(subject), IP_PROTOCOL_TCP)),
  flagWord('icmp', 'ICMP', ({ dissection: { frame } }) => frame.ipVersion === 4 && isProtocol(frame, IP_PROTOCOL_ICMP)),
  flagWord(
    'icmp6',
    'ICMPv6, neighbour discovery included',
    ({ dissection: { frame } }) => frame.ipVersion === 6 && isProtocol(frame, IP_PROTOCOL_ICMPV6),
    { aliases: ['icmpv6'] },
  ),
  flagWord('arp', 'ARP', (subject) => frameOf(subject).etherType === ETHERTYPE_ARP),
  flagWord(
    'pfc',
    'priority flow control: a pause frame for classes',
    ({ dissection: { frame } }) => frame.medium === Medium.Ethernet && isPfc(frame.view, frame.start, frame.end),
  ),
  flagWord(
    'roce1',
    'RoCE version 1, which has no IP header',
    (subject) => frameOf(subject).etherType === ETHERTYPE_ROCE_V1,
  ),
  flagWord('fragment', 'an IPv4 fragment', ({ dissection }) => dissection.status === FrameStatus.Fragment),
  numberWord('vlan', 'tagged, with one of these VLAN ids', {
    what: 'a VLAN id',
    name: 'ID',
    max: 4095,
    get: ({ dissection: { frame } }) => (frame.vlanTci < 0 ? Number.NaN : frame.vlanTci & 0x0f_ff),
    alone: (subject) => frameOf(subject).vlanTci >= 0,
  }),
  numberWord('priority', 'priority in the VLAN tag', {
    what: 'a priority',
    max: 7,
    aliases: ['pcp'],
    get: ({ dissection: { frame } }) => (frame.vlanTci < 0 ? Number.NaN : frame.vlanTci >>> 13),
  }),
];

/** ECN and DSCP in the IP header. */
export const TRAFFIC_CLASS_WORDS: readonly FilterWord[] = [
  flagWord(
    'ce',
    'marked "congestion experienced" by a switch',
    ({ dissection: { frame } }) => frame.ipVersion !== 0 && isMarked(frame.trafficClass),
    { outline: true },
  ),
  numberWord('ecn', 'ECN bits: 0 not ECN-capable, 1 ECT(1), 2 ECT(0), 3 CE', {
    what: 'an ECN code point',
    max: 3,
    outline: true,
    get: ({ dissection: { frame } }) => (frame.ipVersion === 0 ? Number.NaN : frame.trafficClass & ECN_MASK),
  }),
  numberWord('dscp', 'DSCP of the IP header', {
    what: 'a DSCP',
    max: 63,
    outline: true,
    get: ({ dissection: { frame } }) => (frame.ipVersion === 0 ? Number.NaN : dscpOf(frame.trafficClass)),
  }),
  numberWord('ttl', 'TTL or hop limit', {
    what: 'a hop limit',
    max: 255,
    aliases: ['hop-limit'],
    get: ({ dissection: { frame } }) => (frame.ipVersion === 0 ? Number.NaN : frame.hopLimit),
  }),
];

function inNet(
  prefix: IpPrefix,
  frame: Frame,
  read: (frame: Frame) => IpAddress,
  arpField: 'senderIp' | 'targetIp',
): boolean {
  if (frame.ipVersion !== 0) return frame.ipVersion === prefix.address.version && prefix.contains(read(frame));
  const arp = arpOf(frame);
  return arp !== undefined && prefix.contains(arp[arpField]);
}

/** The ARP message of a frame, behind up to two tags. */
function arpOf({ etherType, medium, view, start, end }: Frame): Arp | undefined {
  if (etherType !== ETHERTYPE_ARP || medium !== Medium.Ethernet) return undefined;
  let at = start + ETHERNET_BYTES;
  for (let tags = 0; tags < 2 && end - at >= VLAN_TAG_BYTES && isTag(view.getUint16(at - 2)); tags++)
    at += VLAN_TAG_BYTES;
  return end - at < ARP_BYTES ? undefined : readArp(view, at, end);
}

function isTag(etherType: number): boolean {
  return etherType === ETHERTYPE_VLAN || etherType === ETHERTYPE_SERVICE_VLAN;
}

function isProtocol({ l4Offset, protocol }: Frame, wanted: number): boolean {
  return l4Offset >= 0 && protocol === wanted;
}

/** Of UDP or TCP; NaN of anything else, and of a fragment, which may begin anywhere. */
function portAt(subject: FilterSubject, at: number): number {
  const { frame, status } = subject.dissection;
  const { protocol, l4Offset, ipEnd } = frame;
  if (protocol !== IP_PROTOCOL_UDP && protocol !== IP_PROTOCOL_TCP) return Number.NaN;
  if (l4Offset < 0 || status === FrameStatus.Fragment || ipEnd - l4Offset < PORTS_BYTES) return Number.NaN;
  return frame.view.getUint16(l4Offset + at);
}

function sourcePort(subject: FilterSubject): number {
  return portAt(subject, 0);
}

function destPort(subject: FilterSubject): number {
  return portAt(subject, 2);
}

function macIs(mac: Uint8Array, offset: number): Predicate {
  return ({ dissection: { frame } }) => {
    const { medium, bytes, start, end } = frame;
    if (medium !== Medium.Ethernet || end - start < ETHERNET_BYTES) return false;
    for (let at = 0; at < mac.length; at++) if (bytes[start + offset + at] !== mac[at]) return false;
    return true;
  };
}

const SOURCE_MAC_AT = 6;
/** Source and destination port. */
const PORTS_BYTES = 4;
