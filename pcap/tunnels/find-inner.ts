/**
 * Packets within packets: finds what an outer packet carries, one layer at a time.
 *
 * Owns the headers between the outer packet and the inner one. Never throws, never reads outside [start, end),
 * allocates nothing. What is inside is parsed by `packets/frame.ts` as any frame is.
 *
 * ```
 * VXLAN      flags 1 (0x08: there is a VNI) | reserved 3 | VNI 3 | reserved 1 | Ethernet        RFC 7348
 * VXLAN-GPE  flags 1 | reserved 2 | next protocol 1 | VNI 3 | reserved 1                        draft-ietf-nvo3-vxlan-gpe
 * Geneve     version 2 bits, options 6 bits (of 4 bytes) | flags 1 | EtherType 2 | VNI 3 | reserved 1 | options
 *                                                                                              RFC 8926
 * GRE        flags and version 2 | EtherType 2 | [checksum 4] | [key 4] | [sequence 4]          RFC 2784, RFC 2890
 * ERSPAN     I: none | II: 8 | III: 12, with a sub-header of 8 more where its O bit is set      draft-foschiano-erspan
 * MPLS       label 20 bits, class 3, bottom 1, TTL 8 | ... | IP, or [control word 4] Ethernet   RFC 3032, RFC 4448
 * PPPoE      version and type 1 | code 1 | session 2 | length 2 | protocol 2                    RFC 2516
 * ```
 */
import {
  ETHERNET_BYTES,
  ETHERTYPE_AT,
  ETHERTYPE_IPV4,
  ETHERTYPE_IPV6,
  ETHERTYPE_SERVICE_VLAN,
  ETHERTYPE_VLAN,
  VLAN_TAG_BYTES,
} from '../../packets/ethernet.ts';
import { type Frame, Medium } from '../../packets/frame.ts';
import { IP_PROTOCOL_UDP, IPV4_BYTES } from '../../packets/ipv4.ts';
import { IPV6_BYTES } from '../../packets/ipv6.ts';
import { UDP_BYTES, UDP_DEST_PORT_AT } from '../../packets/udp.ts';
import { Tunnel, type TunnelLayer } from './tunnel.ts';

/**
 * Looks for a packet within the one in `frame`, which `parseFrame` has seen and not taken for RoCEv2. True: `into` says
 * where it is. False: there is none, or it cannot be read; then `into.tunnel` says whether by encryption.
 */
export function findInner({ view, start, end, medium, etherType }: Frame, into: TunnelLayer): boolean {
  into.tunnel = Tunnel.None;
  into.id = -1;
  into.outerStart = start;
  into.end = end;
  if (medium === Medium.Ip && etherType === 0) return innerOfIp(view, start, end, into);
  let type = etherType;
  let at = start;
  if (medium === Medium.Ethernet) {
    if (end - start < ETHERNET_BYTES) return false;
    type = view.getUint16(start + ETHERTYPE_AT);
    at += ETHERNET_BYTES;
  }
  // A parser of frames reads two tags behind an Ethernet header, and none of the older EtherType.
  let readTags = medium === Medium.Ethernet ? TAGS_OF_A_FRAME : 0;
  for (let tags = 0; isVlan(type); tags++) {
    if (end - at < VLAN_TAG_BYTES || tags === MOST_TAGS) return false;
    readTags = type === ETHERTYPE_OLD_SERVICE_VLAN ? -1 : readTags - 1;
    into.id = view.getUint16(at) & 0xf_ff;
    type = view.getUint16(at + 2);
    at += VLAN_TAG_BYTES;
  }
  const isIp = type === ETHERTYPE_IPV4 || type === ETHERTYPE_IPV6;
  if (isIp && readTags < 0) return found(into, Tunnel.Vlans, into.id, Medium.Ip, at, end);
  into.id = -1;
  return innerOfType(view, type, at, end, into);
}

function innerOfType(view: DataView, type: number, at: number, end: number, into: TunnelLayer): boolean {
  switch (type) {
    case ETHERTYPE_IPV4:
    case ETHERTYPE_IPV6:
      return innerOfIp(view, at, end, into);
    case ETHERTYPE_MPLS:
    case ETHERTYPE_MPLS_MULTICAST:
      return innerOfMpls(view, at, end, into);
    case ETHERTYPE_PPPOE:
      return innerOfPppoe(view, at, end, into);
    case ETHERTYPE_MACSEC:
      into.tunnel = Tunnel.MacSec;
      return false;
    default:
      return false;
  }
}

function innerOfIp(view: DataView, at: number, end: number, into: TunnelLayer): boolean {
  const version = at < end ? view.getUint8(at) >>> 4 : 0;
  if (version === 4) return innerOfIpv4(view, at, end, into);
  return version === 6 && innerOfIpv6(view, at, end, into);
}

/** Options and a wrong checksum of an outer header are no matter here. */
function innerOfIpv4(view: DataView, at: number, end: number, into: TunnelLayer): boolean {
  if (end - at < IPV4_BYTES) return false;
  const headerBytes = (view.getUint8(at) & 0xf) * 4;
  const totalLength = view.getUint16(at + 2);
  const isFragment = (view.getUint16(at + 6) & 0x1f_ff) !== 0;
  if (headerBytes < IPV4_BYTES || isFragment) return false;
  // A total length of 0 is that of a segment that the NIC has still to cut.
  const ipEnd = totalLength < headerBytes ? end : Math.min(end, at + totalLength);
  return innerOfProtocol(view, view.getUint8(at + 9), at + headerBytes, ipEnd, into);
}

function innerOfIpv6(view: DataView, at: number, end: number, into: TunnelLayer): boolean {
  if (end - at < IPV6_BYTES) return false;
  const payloadLength = view.getUint16(at + 4);
  const ipEnd = payloadLength === 0 ? end : Math.min(end, at + IPV6_BYTES + payloadLength);
  let protocol = view.getUint8(at + 6);
  let next = at + IPV6_BYTES;
  // Hop-by-hop options, routing, destination options: each says its length, in units of 8 bytes behind the first.
  for (let i = 0; i < MOST_EXTENSIONS && (protocol === 0 || protocol === 43 || protocol === 60); i++) {
    if (ipEnd - next < 8) return false;
    protocol = view.getUint8(next);
    next += 8 * (view.getUint8(next + 1) + 1);
  }
  return innerOfProtocol(view, protocol, next, ipEnd, into);
}

function innerOfProtocol(view: DataView, protocol: number, at: number, end: number, into: TunnelLayer): boolean {
  switch (protocol) {
    case IP_PROTOCOL_IPV4:
    case IP_PROTOCOL_IPV6:
      return at < end && found(into, Tunnel.IpInIp, -1, Medium.Ip, at, end);
    case IP_PROTOCOL_GRE:
      return innerOfGre(view, at, end, into);
    case IP_PROTOCOL_ESP:
      into.tunnel = Tunnel.Esp;
      return false;
    case IP_PROTOCOL_UDP:
      return innerOfUdp(view, at, end, into);
    default:
      return false;
  }
}

function innerOfUdp(view: DataView, at: number, end: number, into: TunnelLayer): boolean {
  const payload = at + UDP_BYTES;
  const inner = payload + SHIM_BYTES;
  if (end < inner) return false;
  const flags = view.getUint8(payload);
  switch (view.getUint16(at + UDP_DEST_PORT_AT)) {
    case PORT_VXLAN:
    case PORT_VXLAN_LINUX:
      if ((flags & VXLAN_HAS_VNI) === 0) return false;
      return found(into, Tunnel.Vxlan, vniOf(view, payload), Medium.Ethernet, inner, end);
    case PORT_VXLAN_GPE:
      into.id = vniOf(view, payload);
      return innerOfGpe(view, view.getUint8(payload + 3), inner, end, into);
    case PORT_GENEVE:
      if (flags >>> 6 !== 0) return false;
      into.id = vniOf(view, payload);
      return innerOfGeneric(view, Tunnel.Geneve, view.getUint16(payload + 2), inner + 4 * (flags & 0x3f), end, into);
    case PORT_MPLS:
      return innerOfMpls(view, payload, end, into);
    default:
      return false;
  }
}

function innerOfGpe(view: DataView, protocol: number, at: number, end: number, into: TunnelLayer): boolean {
  if (protocol === GPE_IPV4 || protocol === GPE_IPV6) return found(into, Tunnel.VxlanGpe, into.id, Medium.Ip, at, end);
  if (protocol === GPE_ETHERNET) return found(into, Tunnel.VxlanGpe, into.id, Medium.Ethernet, at, end);
  return protocol === GPE_MPLS && innerOfMpls(view, at, end, into);
}

/** The optional fields come in this order: checksum, key, sequence number. */
function innerOfGre(view: DataView, at: number, end: number, into: TunnelLayer): boolean {
  if (end - at < GRE_BYTES) return false;
  const flags = view.getUint16(at);
  if ((flags & GRE_NOT_READ) !== 0) return false;
  const keyAt = at + GRE_BYTES + ((flags & GRE_CHECKSUM) === 0 ? 0 : 4);
  const sequenceAt = keyAt + ((flags & GRE_KEY) === 0 ? 0 : 4);
  const inner = sequenceAt + ((flags & GRE_SEQUENCE) === 0 ? 0 : 4);
  if (end < inner) return false;
  if ((flags & GRE_KEY) !== 0) into.id = view.getUint32(keyAt);
  const type = view.getUint16(at + 2);
  if (type === ETHERTYPE_ERSPAN_III) return innerOfErspanIII(view, inner, end, into);
  if (type !== ETHERTYPE_ERSPAN) return innerOfGeneric(view, Tunnel.Gre, type, inner, end, into);
  if ((flags & GRE_SEQUENCE) === 0) return found(into, Tunnel.ErspanI, -1, Medium.Ethernet, inner, end);
  if (end - inner < ERSPAN_II_BYTES) return false;
  const session = view.getUint16(inner + 2) & ERSPAN_SESSION;
  return found(into, Tunnel.ErspanII, session, Medium.Ethernet, inner + ERSPAN_II_BYTES, end);
}

function innerOfErspanIII(view: DataView, at: number, end: number, into: TunnelLayer): boolean {
  if (end - at < ERSPAN_III_BYTES) return false;
  const session = view.getUint16(at + 2) & ERSPAN_SESSION;
  const last = view.getUint16(at + 10);
  const inner = at + ERSPAN_III_BYTES + ((last & 1) === 0 ? 0 : ERSPAN_SUBHEADER_BYTES);
  const frameType = (last >>> 10) & 0x1f;
  if (frameType !== 0 && frameType !== ERSPAN_IP) return false;
  return found(into, Tunnel.ErspanIII, session, frameType === 0 ? Medium.Ethernet : Medium.Ip, inner, end);
}

/** What is announced by an EtherType. */
function innerOfGeneric(
  view: DataView,
  tunnel: Tunnel,
  type: number,
  at: number,
  end: number,
  into: TunnelLayer,
): boolean {
  if (type === ETHERTYPE_BRIDGED) return found(into, tunnel, into.id, Medium.Ethernet, at, end);
  if (type === ETHERTYPE_IPV4 || type === ETHERTYPE_IPV6) return found(into, tunnel, into.id, Medium.Ip, at, end);
  return (type === ETHERTYPE_MPLS || type === ETHERTYPE_MPLS_MULTICAST) && innerOfMpls(view, at, end, into);
}

/** Nothing announces what is behind the labels: an IP header shows itself, and what else there is is Ethernet. */
function innerOfMpls(view: DataView, start: number, end: number, into: TunnelLayer): boolean {
  let at = start;
  for (let labels = 0; labels < MOST_LABELS; labels++) {
    if (end - at < LABEL_BYTES + 1) return false;
    const entry = view.getUint32(at);
    at += LABEL_BYTES;
    if ((entry & BOTTOM_OF_STACK) === 0) continue;
    const id = entry >>> 12;
    if (looksLikeIp(view, at, end)) return found(into, Tunnel.Mpls, id, Medium.Ip, at, end);
    const controlWord = view.getUint8(at) >>> 4 === 0 ? LABEL_BYTES : 0;
    return found(into, Tunnel.Mpls, id, Medium.Ethernet, at + controlWord, end);
  }
  return false;
}

function looksLikeIp(view: DataView, at: number, end: number): boolean {
  const version = view.getUint8(at) >>> 4;
  if (version === 4 && end - at >= IPV4_BYTES)
    return view.getUint16(at + 2) >= IPV4_BYTES && (view.getUint8(at) & 15) > 4;
  return version === 6 && end - at >= IPV6_BYTES && view.getUint16(at + 4) <= end - at - IPV6_BYTES;
}

function innerOfPppoe(view: DataView, at: number, end: number, into: TunnelLayer): boolean {
  if (end - at < PPPOE_BYTES || view.getUint16(at) !== PPPOE_SESSION) return false;
  const protocol = view.getUint16(at + 6);
  if (protocol !== PPP_IPV4 && protocol !== PPP_IPV6) return false;
  return found(into, Tunnel.Pppoe, view.getUint16(at + 2), Medium.Ip, at + PPPOE_BYTES, end);
}

function found(into: TunnelLayer, tunnel: Tunnel, id: number, medium: Medium, start: number, end: number): boolean {
  // Less than a header is no packet.
  if (end - start < (medium === Medium.Ethernet ? ETHERNET_BYTES : 1)) return false;
  into.tunnel = tunnel;
  into.id = id;
  into.medium = medium;
  into.start = start;
  into.end = end;
  return true;
}

const isVlan = (type: number): boolean =>
  type === ETHERTYPE_VLAN || type === ETHERTYPE_SERVICE_VLAN || type === ETHERTYPE_OLD_SERVICE_VLAN;

/** The upper 24 bits of the second word. */
const vniOf = (view: DataView, at: number): number => view.getUint32(at + 4) >>> 8;

const ETHERTYPE_BRIDGED = 0x65_58;
const ETHERTYPE_MPLS = 0x88_47;
const ETHERTYPE_MPLS_MULTICAST = 0x88_48;
const ETHERTYPE_PPPOE = 0x88_64;
const ETHERTYPE_ERSPAN = 0x88_be;
const ETHERTYPE_ERSPAN_III = 0x22_eb;
const ETHERTYPE_MACSEC = 0x88_e5;
/** Of switches from before IEEE 802.1ad. */
const ETHERTYPE_OLD_SERVICE_VLAN = 0x91_00;
/** So many tags `parseFrame` reads itself. */
const TAGS_OF_A_FRAME = 2;
const MOST_TAGS = 8;
const MOST_EXTENSIONS = 8;
const MOST_LABELS = 16;

const IP_PROTOCOL_IPV4 = 4;
const IP_PROTOCOL_IPV6 = 41;
const IP_PROTOCOL_GRE = 47;
const IP_PROTOCOL_ESP = 50;

const PORT_VXLAN = 4789;
/** What Linux used before the port was assigned, and still does unless it is told otherwise. */
const PORT_VXLAN_LINUX = 8472;
const PORT_VXLAN_GPE = 4790;
const PORT_GENEVE = 6081;
const PORT_MPLS = 6635;
/** The headers of VXLAN, VXLAN-GPE and Geneve, without options. */
const SHIM_BYTES = 8;
const VXLAN_HAS_VNI = 0x08;
const GPE_IPV4 = 1;
const GPE_IPV6 = 2;
const GPE_ETHERNET = 3;
const GPE_MPLS = 5;

const GRE_BYTES = 4;
const GRE_CHECKSUM = 0x80_00;
const GRE_KEY = 0x20_00;
const GRE_SEQUENCE = 0x10_00;
/** Source routes, and versions other than 0. */
const GRE_NOT_READ = 0x40_07;
const ERSPAN_SESSION = 0x3_ff;
const ERSPAN_II_BYTES = 8;
const ERSPAN_III_BYTES = 12;
const ERSPAN_SUBHEADER_BYTES = 8;
/** Frame type: an IP packet. */
const ERSPAN_IP = 2;

const LABEL_BYTES = 4;
const BOTTOM_OF_STACK = 0x1_00;
const PPPOE_BYTES = 8;
/** Version 1, type 1, code 0. */
const PPPOE_SESSION = 0x11_00;
const PPP_IPV4 = 0x00_21;
const PPP_IPV6 = 0x00_57;
