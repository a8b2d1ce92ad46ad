/**
 * Frames that the real stack never sends: RoCE version 1, priority flow control, ICMP errors, fragments, packets with
 * mistakes.
 *
 * Owns the making of single frames with the project's own encoders. Sends none: `Stage.forge` puts it into a capture.
 */
import {
  BTH_BYTES,
  defined,
  FrameWriter,
  HeaderTemplate,
  ICRC_BYTES,
  IpAddress,
  type MacAddress,
  Medium,
  writeBth,
  writeBthCongestion,
} from 'rocev2/packets';
import {
  ETHERNET_BYTES,
  ETHERTYPE_AT,
  ETHERTYPE_IPV4,
  ETHERTYPE_IPV6,
  ETHERTYPE_ROCE_V1,
  ETHERTYPE_VLAN,
  finishChecksum,
  IP_PROTOCOL_ICMP,
  IP_PROTOCOL_ICMPV6,
  IP_PROTOCOL_TCP,
  IPV4_BYTES,
  IPV4_FRAGMENT_AT,
  IPV6_BYTES,
  onesComplementSum,
  PFC_FRAME_BYTES,
  VLAN_TAG_BYTES,
  writeEthernet,
  writeIpv4,
  writeIpv6,
  writePfc,
} from 'rocev2/packets/network';

/** One end of a frame. */
export interface Station {
  readonly mac: MacAddress;
  readonly address: IpAddress;
}

/** A RoCEv2 packet; what is absent takes the value in brackets. */
export interface RoceSpec {
  readonly from: Station;
  readonly to: Station;
  readonly opcode: number;
  readonly destQpn: number;
  readonly psn: number;
  /** [0] */
  readonly ackReq?: 0 | 1;
  /** Extended headers, finished. [none] */
  readonly headers?: Uint8Array;
  /** [none] */
  readonly payload?: Uint8Array;
  /** [what makes payload and pad a multiple of four] */
  readonly padCount?: number;
  /** [0xffff] */
  readonly pkey?: number;
  /** [1] */
  readonly migReq?: 0 | 1;
  /** [0] */
  readonly becn?: 0 | 1;
  /** [0] */
  readonly trafficClass?: number;
  /** [64] */
  readonly hopLimit?: number;
  /** [0xc123] */
  readonly sourcePort?: number;
  /** Of IPv6. [0] */
  readonly flowLabel?: number;
  /** [untagged] */
  readonly vlanTci?: number;
  /** [1] */
  readonly ipId?: number;
}

/** `Station` number n of a stage: 10.0.0.n, or fd00::n. */
export function station(n: number, ipVersion: 4 | 6 = 4, address?: string): Station {
  const text = address ?? (ipVersion === 4 ? `10.0.0.${n}` : `fd00::${n}`);
  return { mac: Uint8Array.of(2, 0, 0, 0, 0, n), address: IpAddress.parse(text) };
}

/** A RoCEv2 packet with lengths, checksum and ICRC right. */
export function roceFrame(spec: RoceSpec): Uint8Array {
  const { headers = NOTHING, payload = NOTHING, pkey = 0xffff, ackReq = 0, migReq = 1, becn = 0 } = spec;
  const padCount = spec.padCount ?? -payload.length & 3;
  const template = new HeaderTemplate({
    medium: Medium.Ethernet,
    sourceMac: spec.from.mac,
    destMac: spec.to.mac,
    ...defined({ vlanTci: spec.vlanTci }),
    source: spec.from.address,
    destination: spec.to.address,
    trafficClass: spec.trafficClass ?? 0,
    hopLimit: spec.hopLimit ?? 64,
    flowLabel: spec.flowLabel ?? 0,
    sourcePort: spec.sourcePort ?? 0xc123,
  });
  const room = template.length + BTH_BYTES + headers.length + payload.length + padCount + ICRC_BYTES;
  const writer = new FrameWriter(1, room);
  writer.nextIpId = spec.ipId ?? 1;
  const bth = writer.begin(template);
  writeBth(writer.view, bth, spec.opcode, 0, migReq, padCount, pkey, spec.destQpn, ackReq, spec.psn);
  writeBthCongestion(writer.view, bth, 0, becn);
  writer.bytes.set(headers, bth + BTH_BYTES);
  writer.bytes.set(payload, bth + BTH_BYTES + headers.length);
  const endOfPayload = bth + BTH_BYTES + headers.length + payload.length;
  writer.bytes.fill(0, endOfPayload, endOfPayload + padCount);
  writer.end(template, endOfPayload + padCount);
  return writer.bytes.slice(0, writer.lengths[0] ?? 0);
}

/** An Ethernet frame with a VLAN tag put into it. */
export function withVlan(frame: Uint8Array, tci: number): Uint8Array {
  const at = ETHERTYPE_AT;
  const bytes = new Uint8Array(frame.length + VLAN_TAG_BYTES);
  bytes.set(frame.subarray(0, at));
  bytes.set(frame.subarray(at), at + VLAN_TAG_BYTES);
  const view = new DataView(bytes.buffer);
  view.setUint16(at, ETHERTYPE_VLAN);
  view.setUint16(at + 2, tci);
  return bytes;
}

/** The same packet with a byte of its ICRC turned over. */
export function withBadIcrc(frame: Uint8Array): Uint8Array {
  const bytes = frame.slice();
  const last = bytes.length - 1;
  bytes[last] = (bytes[last] ?? 0) ^ 0xff;
  return bytes;
}

/**
 * A RoCE version 1 packet: a global route header after EtherType 0x8915, then the bytes that follow the UDP header in
 * version 2. Its ICRC is that of version 2, which is wrong here; no scene reads it.
 */
export function roceV1Frame(spec: RoceSpec): Uint8Array {
  const v2 = roceFrame({ ...spec, from: asIpv6(spec.from), to: asIpv6(spec.to) });
  const bthAt = ETHERNET_BYTES + IPV6_BYTES + 8;
  const rest = v2.subarray(bthAt);
  const bytes = new Uint8Array(ETHERNET_BYTES + IPV6_BYTES + rest.length);
  const view = new DataView(bytes.buffer);
  writeEthernet(view, 0, spec.to.mac, spec.from.mac, ETHERTYPE_ROCE_V1);
  writeIpv6(view, ETHERNET_BYTES, {
    version: 6,
    trafficClass: spec.trafficClass ?? 0,
    flowLabel: 0,
    payloadLength: rest.length,
    nextHeader: BTH_NEXT_HEADER,
    hopLimit: spec.hopLimit ?? 64,
    source: asIpv6(spec.from).address,
    destination: asIpv6(spec.to).address,
  });
  bytes.set(rest, ETHERNET_BYTES + IPV6_BYTES);
  return bytes;
}

/** A priority flow control frame that requests a pause of `quanta[priority]` units of 512 bit times. */
export function pfcFrame(from: MacAddress, quanta: Readonly<Record<number, number>>): Uint8Array {
  const bytes = new Uint8Array(PFC_FRAME_BYTES);
  const times = Array.from({ length: 8 }, (_, priority) => quanta[priority] ?? 0);
  const enableVector = Object.keys(quanta).reduce((bits, priority) => bits | (1 << Number(priority)), 0);
  writePfc(new DataView(bytes.buffer), 0, from, enableVector, times);
  return bytes;
}

/** ICMP "fragmentation needed" of a router about an IPv4 frame that was too long for its next link. */
export function icmpFragmentationNeeded(from: Station, about: Uint8Array, mtu: number, to: Station): Uint8Array {
  return icmpError({ from, to, about, type: 3, code: 4, value: mtu, quotedBytes: IPV4_BYTES + 8 });
}

/** An ICMP or ICMPv6 error; which of the two is told by the address of its sender. */
export interface IcmpSpec {
  readonly from: Station;
  readonly to: Station;
  /** The frame that it is about. */
  readonly about: Uint8Array;
  readonly type: number;
  readonly code: number;
  /** The last four bytes of its header. [0] */
  readonly value?: number;
  /** Bytes of the IP packet that it quotes. [all of it, 548 at most] */
  readonly quotedBytes?: number;
}

/** What a router or host says of a packet. */
export function icmpError({ from, to, about, type, code, value = 0, quotedBytes = 548 }: IcmpSpec): Uint8Array {
  const quoted = about.subarray(ETHERNET_BYTES, ETHERNET_BYTES + quotedBytes);
  const icmp = new Uint8Array(8 + quoted.length);
  const view = new DataView(icmp.buffer);
  view.setUint8(0, type);
  view.setUint8(1, code);
  view.setUint32(4, value);
  icmp.set(quoted, 8);
  if (from.address.version === 6) return ipv6Frame(from, to, IP_PROTOCOL_ICMPV6, icmp);
  view.setUint16(2, finishChecksum(onesComplementSum(view, 0, icmp.length, 0)));
  return ipv4Frame(from, to, IP_PROTOCOL_ICMP, icmp);
}

/** A TCP segment without data, as a bootstrap connection has them. */
export function tcpFrame(from: Station, to: Station, sourcePort: number, destPort: number, flags = 0x10): Uint8Array {
  const tcp = new Uint8Array(20);
  const view = new DataView(tcp.buffer);
  view.setUint16(0, sourcePort);
  view.setUint16(2, destPort);
  view.setUint8(12, 0x50);
  view.setUint8(13, flags);
  view.setUint16(14, 0xffff);
  return ipv4Frame(from, to, IP_PROTOCOL_TCP, tcp);
}

/** Cuts an IPv4 frame into fragments of at most `mtu` bytes of IP packet, as a router does where DF is not set. */
export function ipv4Fragments(frame: Uint8Array, mtu: number): Uint8Array[] {
  const header = frame.subarray(ETHERNET_BYTES, ETHERNET_BYTES + IPV4_BYTES);
  const body = frame.subarray(ETHERNET_BYTES + IPV4_BYTES);
  const step = (mtu - IPV4_BYTES) & ~7;
  const fragments: Uint8Array[] = [];
  for (let at = 0; at < body.length; at += step) {
    const part = body.subarray(at, at + step);
    const bytes = new Uint8Array(ETHERNET_BYTES + IPV4_BYTES + part.length);
    bytes.set(frame.subarray(0, ETHERNET_BYTES));
    bytes.set(header, ETHERNET_BYTES);
    bytes.set(part, ETHERNET_BYTES + IPV4_BYTES);
    const view = new DataView(bytes.buffer, ETHERNET_BYTES);
    view.setUint16(2, IPV4_BYTES + part.length);
    view.setUint16(IPV4_FRAGMENT_AT, (at >> 3) | (at + step < body.length ? 0x20_00 : 0));
    view.setUint16(10, 0);
    view.setUint16(10, finishChecksum(onesComplementSum(view, 0, IPV4_BYTES, 0)));
    fragments.push(bytes);
  }
  return fragments;
}

function ipv4Frame(from: Station, to: Station, protocol: number, body: Uint8Array): Uint8Array {
  const bytes = new Uint8Array(ETHERNET_BYTES + IPV4_BYTES + body.length);
  const view = new DataView(bytes.buffer);
  writeEthernet(view, 0, to.mac, from.mac, ETHERTYPE_IPV4);
  writeIpv4(view, ETHERNET_BYTES, {
    version: 4,
    ihl: IPV4_BYTES / 4,
    trafficClass: 0,
    totalLength: IPV4_BYTES + body.length,
    identification: 1,
    flags: 0,
    fragmentOffset: 0,
    ttl: 64,
    protocol,
    checksum: 0,
    source: from.address,
    destination: to.address,
  });
  view.setUint16(
    ETHERNET_BYTES + 10,
    finishChecksum(onesComplementSum(view, ETHERNET_BYTES, ETHERNET_BYTES + IPV4_BYTES, 0)),
  );
  bytes.set(body, ETHERNET_BYTES + IPV4_BYTES);
  return bytes;
}

/** The checksum of what it carries is not made. */
function ipv6Frame(from: Station, to: Station, nextHeader: number, body: Uint8Array): Uint8Array {
  const bytes = new Uint8Array(ETHERNET_BYTES + IPV6_BYTES + body.length);
  const view = new DataView(bytes.buffer);
  writeEthernet(view, 0, to.mac, from.mac, ETHERTYPE_IPV6);
  writeIpv6(view, ETHERNET_BYTES, {
    version: 6,
    trafficClass: 0,
    flowLabel: 0,
    payloadLength: body.length,
    nextHeader,
    hopLimit: 64,
    source: from.address,
    destination: to.address,
  });
  bytes.set(body, ETHERNET_BYTES + IPV6_BYTES);
  return bytes;
}

/** The link-local address that a version 1 GID is made of, where a station has an IPv4 one. */
function asIpv6({ mac, address }: Station): Station {
  return address.version === 6 ? { mac, address } : { mac, address: IpAddress.parse(`fe80::ff:fe00:${mac[5] ?? 0}`) };
}

const NOTHING = new Uint8Array(0);
/** Next header of a global route header: a BTH follows. */
const BTH_NEXT_HEADER = 0x1b;
