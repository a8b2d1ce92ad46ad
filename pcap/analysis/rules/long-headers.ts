/**
 * RoCEv2 behind an IP header that is longer than RoCEv2 allows: IPv4 options, IPv6 extension headers.
 *
 * Owns their recognition. Nothing behind them is read: the annex wants an IPv4 header of five words, and UDP as the
 * next header of IPv6 (ref:conformance#ANX-03, ref:conformance#ANX-16). So no source says how the ICRC covers more, and
 * what rdma_rxe computes over its fixed header cannot match (ref:wire#2). Never reads outside a frame.
 */
import { ETHERNET_BYTES, ETHERTYPE_SERVICE_VLAN, ETHERTYPE_VLAN, VLAN_TAG_BYTES } from '../../../packets/ethernet.ts';
import { type Frame, FrameStatus, Medium } from '../../../packets/frame.ts';
import {
  IP_PROTOCOL_UDP,
  IPV4_BYTES,
  IPV4_FRAGMENT_AT,
  IPV4_PROTOCOL_AT,
  IPV4_VERSION_IHL,
} from '../../../packets/ipv4.ts';
import { ROCE_UDP_PORT, UDP_DEST_PORT_AT } from '../../../packets/udp.ts';

/** Bytes of IPv4 options or IPv6 extension headers in front of UDP port 4791; 0: it is no such packet. */
export function bytesBeforeRoce(frame: Frame, status: FrameStatus): number {
  if (status === FrameStatus.BadIpHeader) return ipv4OptionBytes(frame);
  return status === FrameStatus.NotUdp && frame.ipVersion === 6 ? extensionBytes(frame) : 0;
}

function ipv4OptionBytes(frame: Frame): number {
  const { view, end } = frame;
  const at = networkOffset(frame);
  if (end - at < IPV4_BYTES) return 0;
  const first = view.getUint8(at);
  const headerBytes = (first & 0x0f) * 4;
  const isFirst = (view.getUint16(at + IPV4_FRAGMENT_AT) & OFFSET_MASK) === 0;
  if (first >>> 4 !== IPV4_VERSION_IHL >>> 4 || headerBytes <= IPV4_BYTES || !isFirst) return 0;
  const isUdp = view.getUint8(at + IPV4_PROTOCOL_AT) === IP_PROTOCOL_UDP;
  return isUdp && isRocePort(view, at + headerBytes, end) ? headerBytes - IPV4_BYTES : 0;
}

/** A fragment header alone is a fragment's (`detectors/roce-fragments.ts`), unless the packet is whole behind it. */
function extensionBytes({ view, protocol, l4Offset, ipEnd }: Frame): number {
  let next = protocol;
  let at = l4Offset;
  for (let headers = 0; headers < MOST_EXTENSIONS && EXTENSIONS.has(next); headers++) {
    if (ipEnd - at < EXTENSION_UNIT) return 0;
    if (next === FRAGMENT) {
      const offsetAndMore = view.getUint16(at + 2);
      if (offsetAndMore >>> 3 !== 0 || (headers === 0 && (offsetAndMore & 1) !== 0)) return 0;
    }
    const length = next === FRAGMENT ? EXTENSION_UNIT : EXTENSION_UNIT * (view.getUint8(at + 1) + 1);
    next = view.getUint8(at);
    at += length;
  }
  return next === IP_PROTOCOL_UDP && isRocePort(view, at, ipEnd) ? at - l4Offset : 0;
}

function isRocePort(view: DataView, udpAt: number, end: number): boolean {
  return end - udpAt >= UDP_DEST_PORT_AT + 2 && view.getUint16(udpAt + UDP_DEST_PORT_AT) === ROCE_UDP_PORT;
}

/** The parser has read the EtherType behind two tags at most, and has not kept where it stood. */
function networkOffset({ view, start, end, medium }: Frame): number {
  if (medium !== Medium.Ethernet) return start;
  let at = start + ETHERNET_BYTES;
  for (let tags = 0; tags < 2 && end - at >= VLAN_TAG_BYTES && isVlan(view.getUint16(at - 2)); tags++) {
    at += VLAN_TAG_BYTES;
  }
  return at;
}

const isVlan = (type: number): boolean => type === ETHERTYPE_VLAN || type === ETHERTYPE_SERVICE_VLAN;

const FRAGMENT = 44;
/** Hop-by-hop options, routing, fragment, destination options (RFC 8200 4.1). */
const EXTENSIONS: ReadonlySet<number> = new Set([0, 43, FRAGMENT, 60]);
const EXTENSION_UNIT = 8;
const MOST_EXTENSIONS = 8;
const OFFSET_MASK = 0x1f_ff;
