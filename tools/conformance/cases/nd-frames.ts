/**
 * Frames of ARP and neighbour discovery, right and wrong, byte for byte. Owns their layout; says nothing of what a
 * device must make of them. Sources: RFC 826, RFC 4861 sections 4.3, 4.4.
 */
import type { IpAddress, MacAddress } from 'rocev2/packets';
import {
  type Arp,
  ETHERNET_BYTES,
  ETHERTYPE_ARP,
  ETHERTYPE_IPV6,
  IP_PROTOCOL_ICMPV6,
  IPV6_BYTES,
  LINK_ADDRESS_OPTION_BYTES,
  NEIGHBOR_HOP_LIMIT,
  NEIGHBOR_MESSAGE_BYTES,
  writeArp,
  writeEthernet,
  writeIcmpv6Checksum,
  writeIpv6,
  writeNeighborAdvertisement,
  writeNeighborSolicitation,
} from 'rocev2/packets/network';

/** Changes a message that begins at `at`. */
export type MessageEdit = (view: DataView, at: number) => void;

/** An ARP message from its sender, padded as Ethernet has it. `edit` changes it. */
export function arpFrame(to: MacAddress, message: Arp, edit?: MessageEdit): Uint8Array {
  const bytes = new Uint8Array(SHORTEST_FRAME);
  const view = new DataView(bytes.buffer);
  writeEthernet(view, 0, to, message.senderMac, ETHERTYPE_ARP);
  writeArp(view, ETHERNET_BYTES, message);
  edit?.(view, ETHERNET_BYTES);
  return bytes;
}

/** Where a message of neighbour discovery comes from and goes to. */
export interface NeighbourRoute {
  readonly sourceMac: MacAddress;
  readonly destMac: MacAddress;
  readonly source: IpAddress;
  readonly destination: IpAddress;
  /** Default 255, as every valid one has it. */
  readonly hopLimit?: number;
}

export interface SolicitationFrame extends NeighbourRoute {
  readonly target: IpAddress;
  /** MAC address in the option; absent: no option. */
  readonly option?: MacAddress | undefined;
  /** Bytes of the message, where it ends early. */
  readonly length?: number;
  /** Changes the message; the checksum is right afterwards. */
  readonly edit?: MessageEdit;
  /** Changes the message; the checksum stays as it was. */
  readonly spoil?: MessageEdit;
}

/** A neighbour solicitation. */
export function solicitationFrame(one: SolicitationFrame): Uint8Array {
  const whole = NEIGHBOR_MESSAGE_BYTES + (one.option === undefined ? 0 : LINK_ADDRESS_OPTION_BYTES);
  const length = one.length ?? whole;
  const bytes = new Uint8Array(MESSAGE_AT + whole);
  const view = new DataView(bytes.buffer);
  writeHeaders(view, one, length);
  writeNeighborSolicitation(view, ETHERNET_BYTES, MESSAGE_AT, { target: one.target, sourceMac: one.option });
  one.edit?.(view, MESSAGE_AT);
  writeIcmpv6Checksum(view, ETHERNET_BYTES, MESSAGE_AT, MESSAGE_AT + length);
  one.spoil?.(view, MESSAGE_AT);
  return bytes.slice(0, MESSAGE_AT + length);
}

/** An advertisement that nobody solicited: it says that `target` has moved to `targetMac`. */
export function announcementFrame(route: NeighbourRoute, target: IpAddress, targetMac: MacAddress): Uint8Array {
  const length = NEIGHBOR_MESSAGE_BYTES + LINK_ADDRESS_OPTION_BYTES;
  const bytes = new Uint8Array(MESSAGE_AT + length);
  const view = new DataView(bytes.buffer);
  writeHeaders(view, route, length);
  const flags = { router: false, solicited: false, override: true };
  writeNeighborAdvertisement(view, ETHERNET_BYTES, MESSAGE_AT, { target, targetMac, ...flags });
  return bytes;
}

function writeHeaders(view: DataView, route: NeighbourRoute, payloadLength: number): void {
  writeEthernet(view, 0, route.destMac, route.sourceMac, ETHERTYPE_IPV6);
  writeIpv6(view, ETHERNET_BYTES, {
    version: 6,
    trafficClass: 0,
    flowLabel: 0,
    payloadLength,
    nextHeader: IP_PROTOCOL_ICMPV6,
    hopLimit: route.hopLimit ?? NEIGHBOR_HOP_LIMIT,
    source: route.source,
    destination: route.destination,
  });
}

/** Without the FCS. */
const SHORTEST_FRAME = 60;
const MESSAGE_AT = ETHERNET_BYTES + IPV6_BYTES;
