/**
 * Whole Ethernet frames of the protocols around RoCE: ARP, neighbour discovery, and answers to pings.
 * Owns their layout. Never decides to send one. Allocates one array per frame: none of this is a data path. The frames
 * carry a VLAN tag when the sender has one.
 * Sources: RFC 826, RFC 4861 sections 4.3, 4.4, 7.2.4 (destination of an advertisement), RFC 792, RFC 4443 section 4.2.
 */
import { BROADCAST_MAC, IpAddress, type MacAddress } from '../../../packets/address.ts';
import { ARP_BYTES, ArpOperation, writeArp } from '../../../packets/arp.ts';
import { ipv4HeaderChecksum } from '../../../packets/checksum.ts';
import {
  ETHERNET_BYTES,
  ETHERTYPE_ARP,
  ETHERTYPE_IPV4,
  ETHERTYPE_IPV6,
  ETHERTYPE_VLAN,
  VLAN_TAG_BYTES,
  writeEthernet,
  writeVlanTag,
} from '../../../packets/ethernet.ts';
import { ICMP_ECHO_BYTES, type IcmpEcho, writeIcmpEcho, writeIcmpv6Echo } from '../../../packets/icmp.ts';
import {
  LINK_ADDRESS_OPTION_BYTES,
  multicastMac,
  NEIGHBOR_HOP_LIMIT,
  NEIGHBOR_MESSAGE_BYTES,
  solicitedNodeAddress,
  writeNeighborAdvertisement,
  writeNeighborSolicitation,
} from '../../../packets/icmpv6-nd.ts';
import {
  IP_PROTOCOL_ICMP,
  IP_PROTOCOL_ICMPV6,
  IPV4_BYTES,
  IPV4_CHECKSUM_AT,
  writeIpv4,
} from '../../../packets/ipv4.ts';
import { IPV6_BYTES, writeIpv6 } from '../../../packets/ipv6.ts';

/** One end of a frame. */
export interface FrameEndpoint {
  readonly mac: MacAddress;
  readonly address: IpAddress;
  /** Tag of the frames this end sends; absent: none. */
  readonly vlanTci?: number | undefined;
}

/**
 * An ARP request (broadcast) or a neighbour solicitation (to the solicited-node group) for `target`; with `mac`
 * unicast, to verify an entry (RFC 4861 7.3.3, RFC 1122 2.3.2.1).
 */
export function solicitationFrame(us: FrameEndpoint, target: IpAddress, mac?: MacAddress): Uint8Array {
  if (target.version === 4) {
    return arpFrame(ArpOperation.Request, us, { mac: NO_MAC, address: target }, mac ?? BROADCAST_MAC);
  }
  const group = solicitedNodeAddress(target);
  const to = mac === undefined ? { mac: multicastMac(group), address: group } : { mac, address: target };
  const { bytes, view, at } = ipv6Frame(us, to, NEIGHBOR_BYTES, NEIGHBOR_HOP_LIMIT);
  writeNeighborSolicitation(view, at, at + IPV6_BYTES, { target, sourceMac: us.mac });
  return bytes;
}

/** The answer to an ARP request. */
export function arpReplyFrame(us: FrameEndpoint, asker: FrameEndpoint): Uint8Array {
  return arpFrame(ArpOperation.Reply, us, asker, asker.mac);
}

/**
 * The answer to a solicitation for our address; to all nodes when it has no source address (duplicate address
 * detection).
 */
export function advertisementFrame(us: FrameEndpoint, asker: FrameEndpoint | undefined): Uint8Array {
  const to = asker ?? { mac: multicastMac(ALL_NODES), address: ALL_NODES };
  const { bytes, view, at } = ipv6Frame(us, to, NEIGHBOR_BYTES, NEIGHBOR_HOP_LIMIT);
  const solicited = asker !== undefined;
  const advertisement = { target: us.address, targetMac: us.mac, router: false, solicited, override: true };
  writeNeighborAdvertisement(view, at, at + IPV6_BYTES, advertisement);
  return bytes;
}

/** The answer to a ping: the same identifier, sequence and data, with the traffic class of the request. */
export function echoReplyFrame(
  us: FrameEndpoint,
  asker: FrameEndpoint,
  request: IcmpEcho,
  trafficClass: number,
): Uint8Array {
  const reply = { ...request, reply: true };
  const length = ICMP_ECHO_BYTES + request.data.length;
  if (us.address.version === 6) {
    const { bytes, view, at } = ipv6Frame(us, asker, length, HOP_LIMIT, trafficClass);
    writeIcmpv6Echo(view, at, at + IPV6_BYTES, reply);
    return bytes;
  }
  const { bytes, view, at } = newFrame(us, asker.mac, ETHERTYPE_IPV4, IPV4_BYTES + length);
  writeIpv4(view, at, {
    version: 4,
    ihl: 5,
    trafficClass,
    totalLength: IPV4_BYTES + length,
    identification: 0,
    flags: DONT_FRAGMENT,
    fragmentOffset: 0,
    ttl: HOP_LIMIT,
    protocol: IP_PROTOCOL_ICMP,
    checksum: 0,
    source: us.address,
    destination: asker.address,
  });
  view.setUint16(at + IPV4_CHECKSUM_AT, ipv4HeaderChecksum(view, at));
  writeIcmpEcho(view, at + IPV4_BYTES, reply);
  return bytes;
}

function arpFrame(operation: number, us: FrameEndpoint, them: FrameEndpoint, destMac: MacAddress): Uint8Array {
  const { bytes, view, at } = newFrame(us, destMac, ETHERTYPE_ARP, ARP_BYTES);
  writeArp(view, at, {
    operation,
    senderMac: us.mac,
    senderIp: us.address,
    targetMac: them.mac,
    targetIp: them.address,
  });
  return bytes;
}

function ipv6Frame(
  us: FrameEndpoint,
  to: FrameEndpoint,
  payloadLength: number,
  hopLimit: number,
  trafficClass = 0,
): NewFrame {
  const frame = newFrame(us, to.mac, ETHERTYPE_IPV6, IPV6_BYTES + payloadLength);
  writeIpv6(frame.view, frame.at, {
    version: 6,
    trafficClass,
    flowLabel: 0,
    payloadLength,
    nextHeader: IP_PROTOCOL_ICMPV6,
    hopLimit,
    source: us.address,
    destination: to.address,
  });
  return frame;
}

export interface NewFrame {
  readonly bytes: Uint8Array;
  readonly view: DataView;
  /** Where the link header ends. */
  readonly at: number;
}

/** Padded with zeros to the shortest frame that Ethernet allows, without its FCS, also after its tag was removed. */
export function newFrame(us: FrameEndpoint, destMac: MacAddress, etherType: number, payloadBytes: number): NewFrame {
  const { mac, vlanTci } = us;
  const tagBytes = vlanTci === undefined ? 0 : VLAN_TAG_BYTES;
  const bytes = new Uint8Array(Math.max(MIN_FRAME_BYTES, ETHERNET_BYTES + payloadBytes) + tagBytes);
  const view = new DataView(bytes.buffer);
  writeEthernet(view, 0, destMac, mac, vlanTci === undefined ? etherType : ETHERTYPE_VLAN);
  if (vlanTci !== undefined) writeVlanTag(view, ETHERNET_BYTES, vlanTci, etherType);
  return { bytes, view, at: ETHERNET_BYTES + tagBytes };
}

const MIN_FRAME_BYTES = 60;
const NEIGHBOR_BYTES = NEIGHBOR_MESSAGE_BYTES + LINK_ADDRESS_OPTION_BYTES;
const HOP_LIMIT = 64;
/** The middle one of the three flag bits. */
const DONT_FRAGMENT = 0b010;
const NO_MAC: MacAddress = new Uint8Array(6);
const ALL_NODES = IpAddress.parse('ff02::1');
