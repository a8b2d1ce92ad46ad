/**
 * Frames of an attacker: each protocol around RoCE, from any source address to a victim. Owns their layout, by the
 * codecs of `rocev2/packets`. Sends nothing.
 */
import { BROADCAST_MAC, IpAddress, type MacAddress, Medium, Op, parseMac } from 'rocev2/packets';
import { buildFrame, type Packet } from 'rocev2/packets/kit';
import { GSI_QKEY, GSI_QPN, RdmaPortSpace, rdmaServiceId, writeCmMad } from 'rocev2/packets/management';
import {
  ArpOperation,
  ETHERTYPE_ARP,
  ETHERTYPE_IPV4,
  ETHERTYPE_IPV6,
  finishChecksum,
  IgmpType,
  IP_PROTOCOL_ICMP,
  IP_PROTOCOL_ICMPV6,
  IP_PROTOCOL_IGMP,
  IP_PROTOCOL_TCP,
  IPV4_BYTES,
  IPV4_CHECKSUM_AT,
  IPV6_BYTES,
  ipv4HeaderChecksum,
  MldType,
  multicastMac,
  NEIGHBOR_HOP_LIMIT,
  onesComplementSum,
  pseudoHeaderSum,
  solicitedNodeAddress,
  writeArp,
  writeEthernet,
  writeIcmpEcho,
  writeIgmpQuery,
  writeIpv4,
  writeIpv6,
  writeMldQuery,
  writeNeighborSolicitation,
  writeRouterAlert,
} from 'rocev2/packets/network';
import { ConnectionManager } from 'rocev2/transport';

/** Where frames go. */
export interface Victim {
  readonly mac: MacAddress;
  readonly address: IpAddress;
}

export const EVIL_MAC = parseMac('02:66:66:66:66:66');
/** The address that an attacker of one address has, or forges. */
export const LIAR = IpAddress.parse('10.0.0.66');

/** One of 30,000 on 10.0.0.0/16 who do not exist; `index` from 0 on. */
export function nobody(index: number): IpAddress {
  const n = index % 30_000;
  return new IpAddress(4, 0, 0, 0xff_ff, 0x0a_00_01_01 + 256 * (n >>> 7) + (n & 0x7f));
}

/** A RoCE packet to a queue pair of the victim. PSNs are as they are in `packet`. */
export function roceFrame(packet: Packet, source: IpAddress, { mac, address }: Victim, qpn: number): Uint8Array {
  const route = { medium: Medium.Ethernet, sourceMac: EVIL_MAC, destMac: mac, source, destination: address };
  return buildFrame(packet, { ...route, trafficClass: 0, hopLimit: 64, flowLabel: 0, sourcePort: 0xc0_01 }, qpn, 0);
}

/** Connection requests to a port of the victim, each of another queue pair and with other ids. */
export class Requests {
  readonly #liar: ConnectionManager;
  readonly #victim: Victim;
  readonly #port: number;
  #qpn = 16;

  constructor(victim: Victim, port: number) {
    let state = 66;
    const u32 = (): number => {
      state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
      return state;
    };
    this.#liar = new ConnectionManager({ random: { u32 }, caGuid: 0x66n });
    this.#victim = victim;
    this.#port = port;
  }

  from(source: IpAddress, victim = this.#victim): Uint8Array {
    this.#qpn += 1;
    const id = this.#liar.connect(0, {
      ...{ serviceId: rdmaServiceId(RdmaPortSpace.Tcp, this.#port), local: source, remote: victim.address },
      ...{ localPort: 1, qpn: this.#qpn, startingPsn: 0, mtu: 3, initiatorDepth: 1, responderResources: 1 },
      ...{ retryCount: 7, rnrRetryCount: 7, ackTimeout: 14 },
    });
    const mad = this.#liar.pollTransmit(0)?.bytes ?? new Uint8Array(0);
    this.#liar.destroy(0, id);
    while (this.#liar.pollTransmit(0) !== undefined);
    return madFrame(mad, source, victim);
  }
}

/** A REJ for a connection that there is not. */
export function rejFrame(source: IpAddress, victim: Victim): Uint8Array {
  const mad = new Uint8Array(256);
  const ids = { localCommId: 7, remoteCommId: 8, messageRejected: 0, infoLength: 0, reason: 28 };
  const body = { ...ids, info: new Uint8Array(0), privateData: new Uint8Array(0) };
  writeCmMad(new DataView(mad.buffer), 0, 1n, { kind: 'REJ', body });
  return madFrame(mad, source, victim);
}

function madFrame(payload: Uint8Array, source: IpAddress, victim: Victim): Uint8Array {
  const datagram = { opcode: Op.UdSendOnly, psn: 0, qkey: GSI_QKEY, srcQpn: GSI_QPN, payload };
  return roceFrame(datagram, source, victim, GSI_QPN);
}

/** An ARP request, or an answer to one that was never sent. */
export function arpFrame(source: IpAddress, { mac, address }: Victim, answers = false): Uint8Array {
  const { bytes, view } = ethernet(answers ? mac : BROADCAST_MAC, ETHERTYPE_ARP, 28);
  const operation = answers ? ArpOperation.Reply : ArpOperation.Request;
  writeArp(view, 14, { operation, senderMac: EVIL_MAC, senderIp: source, targetMac: mac, targetIp: address });
  return bytes;
}

/** A neighbour solicitation for the victim's address. */
export function solicitationFrame(source: IpAddress, { address }: Victim): Uint8Array {
  const group = solicitedNodeAddress(address);
  const { bytes, view } = ipv6(multicastMac(group), source, group, IP_PROTOCOL_ICMPV6, 32, NEIGHBOR_HOP_LIMIT);
  writeNeighborSolicitation(view, 14, 14 + IPV6_BYTES, { target: address, sourceMac: EVIL_MAC });
  return bytes;
}

/** A ping of 1,000 bytes. */
export function pingFrame(source: IpAddress, victim: Victim): Uint8Array {
  const { bytes, view } = ipv4(victim.mac, source, victim.address, IP_PROTOCOL_ICMP, 1008, 64);
  writeIcmpEcho(view, 14 + IPV4_BYTES, { reply: false, identifier: 1, sequence: 1, data: new Uint8Array(1000) });
  return bytes;
}

/** A TCP segment without data: a SYN (0x02), an ACK (0x10), a RST (0x04). */
export function segmentFrame(
  source: IpAddress,
  victim: Victim,
  ports: { readonly from: number; readonly to: number },
  flags: number,
): Uint8Array {
  const { bytes, view } = ipv4(victim.mac, source, victim.address, IP_PROTOCOL_TCP, TCP_BYTES, 64);
  const at = 14 + IPV4_BYTES;
  view.setUint16(at, ports.from);
  view.setUint16(at + 2, ports.to);
  view.setUint32(at + 4, 1000);
  view.setUint8(at + 12, (TCP_BYTES / 4) << 4);
  view.setUint8(at + 13, flags);
  view.setUint16(at + 14, 0xff_ff);
  const sum = pseudoHeaderSum(view, 14, 4, IP_PROTOCOL_TCP, TCP_BYTES);
  view.setUint16(at + 16, finishChecksum(onesComplementSum(view, at, at + TCP_BYTES, sum)));
  return bytes;
}

/** A query for all groups of IPv4. */
export function igmpQueryFrame(source: IpAddress): Uint8Array {
  const group = IpAddress.parse('224.0.0.1');
  const { bytes, view } = ipv4(multicastMac(group), source, group, IP_PROTOCOL_IGMP, 12, 1);
  const all = IpAddress.parse('0.0.0.0');
  writeIgmpQuery(view, 14 + IPV4_BYTES, { type: IgmpType.Query, version: 3, maxResponse: 1, group: all });
  return bytes;
}

/** A query for all groups of IPv6. */
export function mldQueryFrame(source: IpAddress): Uint8Array {
  const group = IpAddress.parse('ff02::1');
  const { bytes, view } = ipv6(multicastMac(group), source, group, 0, 8 + 28, 1);
  writeRouterAlert(view, 14 + IPV6_BYTES);
  const query = { type: MldType.Query, version: 2, maxResponse: 1, group: IpAddress.parse('::') } as const;
  writeMldQuery(view, 14, 14 + IPV6_BYTES + 8, query);
  return bytes;
}

/** The same frame to all stations. */
export function broadcast(frame: Uint8Array): Uint8Array {
  frame.set(BROADCAST_MAC);
  return frame;
}

function ethernet(destMac: MacAddress, etherType: number, payloadBytes: number): { bytes: Uint8Array; view: DataView } {
  const bytes = new Uint8Array(Math.max(60, 14 + payloadBytes));
  const view = new DataView(bytes.buffer);
  writeEthernet(view, 0, destMac, EVIL_MAC, etherType);
  return { bytes, view };
}

function ipv4(
  destMac: MacAddress,
  source: IpAddress,
  destination: IpAddress,
  protocol: number,
  length: number,
  ttl: number,
): { bytes: Uint8Array; view: DataView } {
  const frame = ethernet(destMac, ETHERTYPE_IPV4, IPV4_BYTES + length);
  const zeros = { trafficClass: 0, identification: 0, flags: 0, fragmentOffset: 0, checksum: 0 };
  const lengths = { ihl: 5, totalLength: IPV4_BYTES + length };
  writeIpv4(frame.view, 14, { version: 4, ...zeros, ...lengths, ttl, protocol, source, destination });
  frame.view.setUint16(14 + IPV4_CHECKSUM_AT, ipv4HeaderChecksum(frame.view, 14));
  return frame;
}

function ipv6(
  destMac: MacAddress,
  source: IpAddress,
  destination: IpAddress,
  nextHeader: number,
  payloadLength: number,
  hopLimit: number,
): { bytes: Uint8Array; view: DataView } {
  const frame = ethernet(destMac, ETHERTYPE_IPV6, IPV6_BYTES + payloadLength);
  const fields = { version: 6, trafficClass: 0, flowLabel: 0, payloadLength, nextHeader, hopLimit };
  writeIpv6(frame.view, 14, { ...fields, source, destination });
  return frame;
}

const TCP_BYTES = 20;
