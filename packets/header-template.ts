/**
 * The headers in front of a BTH for one path: Ethernet, IP and UDP, with everything filled in that does not change from
 * packet to packet.
 *
 * Owns what a path looks like on the wire. Lengths, IPv4 identification and IPv4 checksum are left 0 for `FrameWriter`.
 * Rules: ref:wire#2.
 */

import type { IpAddress, MacAddress } from './address.ts';
import { finishChecksum, onesComplementSum } from './checksum.ts';
import { RoceError } from './errors.ts';
import {
  ETHERNET_BYTES,
  ETHERTYPE_IPV4,
  ETHERTYPE_IPV6,
  ETHERTYPE_VLAN,
  VLAN_TAG_BYTES,
  writeEthernet,
  writeMac,
  writeVlanTag,
} from './ethernet.ts';
import { Medium } from './frame.ts';
import {
  IP_PROTOCOL_UDP,
  IPV4_BYTES,
  IPV4_DESTINATION_AT,
  IPV4_DONT_FRAGMENT,
  IPV4_FRAGMENT_AT,
  IPV4_PROTOCOL_AT,
  IPV4_SOURCE_AT,
  IPV4_TOS_AT,
  IPV4_TTL_AT,
  IPV4_VERSION_IHL,
} from './ipv4.ts';
import { IPV6_BYTES, ipv6FirstWord, writeIpv6 } from './ipv6.ts';
import { ROCE_UDP_PORT, UDP_BYTES, writeUdp } from './udp.ts';

/** What the headers of a path are made from. */
export interface PathSpec {
  /** Whether frames begin with an Ethernet header. */
  readonly medium: Medium;
  /** Ignored on the IP medium, as is `destMac`. */
  readonly sourceMac: MacAddress;
  /** The next hop's. */
  readonly destMac: MacAddress;
  /** PCP, DEI and VID; absent = untagged. */
  readonly vlanTci?: number;
  /** Our address. */
  readonly source: IpAddress;
  /** Same version as `source`. */
  readonly destination: IpAddress;
  /** IPv4 TOS or IPv6 traffic class, ECN bits included, 0..255. */
  readonly trafficClass: number;
  /** IPv4 TTL or IPv6 hop limit, 0..255. */
  readonly hopLimit: number;
  /** 20 bits; IPv6 only. */
  readonly flowLabel: number;
  /** UDP source port, 0..65535. */
  readonly sourcePort: number;
}

/**
 * The image of a path's headers, copied in front of each of its packets.
 *
 * @example
 * ```ts
 * import { HeaderTemplate, IpAddress, Medium, parseMac } from 'rocev2/packets';
 *
 * const path = new HeaderTemplate({
 *   medium: Medium.Ethernet,
 *   sourceMac: parseMac('02:00:00:00:00:01'),
 *   destMac: parseMac('02:00:00:00:00:02'),
 *   source: IpAddress.parse('10.0.0.1'),
 *   destination: IpAddress.parse('10.0.0.2'),
 *   trafficClass: 0,
 *   hopLimit: 64,
 *   flowLabel: 0,
 *   sourcePort: 50_000,
 * });
 * console.log(path.length, path.ipVersion); // 42 4
 * ```
 */
export class HeaderTemplate {
  /** Bytes of the image, which ends where the BTH begins. */
  readonly length: number;
  /** Offsets from the start of the image. */
  readonly ipOffset: number;
  /** Offset of the UDP header from the start of the image. */
  readonly udpOffset: number;
  /** Version of both addresses. */
  readonly ipVersion: 4 | 6;
  /** IPv4 TOS or IPv6 traffic class. */
  readonly trafficClass: number;
  /** IPv4 TTL or IPv6 hop limit. */
  readonly hopLimit: number;
  /** First word of an IPv6 header; 0 for IPv4. */
  readonly ipv6FirstWord: number;
  /**
   * The image in big-endian words, rounded up to whole ones. Plain numbers and no bytes: they lie next to the template
   * in memory, and with ten thousand queue pairs, each with a template of its own, it is cache misses that a packet
   * waits for.
   */
  readonly words: number[];
  /** Sum over the IPv4 header with total length, identification and checksum 0; 0 for IPv6. */
  readonly ipv4Sum: number;

  /**
   * @throws RoceError ERR_ROCE_ADDRESS when the addresses differ in version, ERR_ROCE_ARGUMENT when a number is out of
   * range
   */
  constructor(spec: PathSpec) {
    checkSpec(spec);
    this.ipVersion = spec.source.version;
    this.ipOffset = linkBytes(spec);
    this.udpOffset = this.ipOffset + (this.ipVersion === 4 ? IPV4_BYTES : IPV6_BYTES);
    this.length = this.udpOffset + UDP_BYTES;
    this.trafficClass = spec.trafficClass;
    this.hopLimit = spec.hopLimit;
    this.ipv6FirstWord = this.ipVersion === 4 ? 0 : ipv6FirstWord(6, spec.trafficClass, spec.flowLabel);
    const view = new DataView(new ArrayBuffer((this.length + 3) & ~3));
    if (spec.medium === Medium.Ethernet) writeLink(view, spec);
    if (this.ipVersion === 4) writeIpv4Constants(view, this.ipOffset, spec);
    else writeIpv6Constants(view, this.ipOffset, spec);
    writeUdp(view, this.udpOffset, spec.sourcePort, ROCE_UDP_PORT, 0, 0);
    this.ipv4Sum = this.ipVersion === 4 ? onesComplementSum(view, this.ipOffset, this.udpOffset, 0) : 0;
    this.words = new Array<number>(view.byteLength / 4);
    for (let i = 0; i < this.words.length; i++) this.words[i] = view.getInt32(4 * i);
  }

  /** The image as bytes, fresh ones. */
  get bytes(): Uint8Array {
    const view = new DataView(new ArrayBuffer(4 * this.words.length));
    for (let i = 0; i < this.words.length; i++) view.setInt32(4 * i, this.words[i] ?? 0);
    return new Uint8Array(view.buffer, 0, this.length);
  }

  /** Puts another next hop into the image; no effect on the IP medium. */
  setDestMac(mac: MacAddress): void {
    if (this.ipOffset === 0) return;
    const view = new DataView(new ArrayBuffer(8));
    writeMac(view, 0, mac);
    this.words[0] = view.getInt32(0);
    this.words[1] = view.getInt32(4) | ((this.words[1] ?? 0) & 0xff_ff);
  }

  /** IPv4 header checksum for a packet of this path. */
  ipv4Checksum(totalLength: number, identification: number): number {
    return finishChecksum(this.ipv4Sum + totalLength + identification);
  }
}

function linkBytes(spec: PathSpec): number {
  if (spec.medium === Medium.Ip) return 0;
  return spec.vlanTci === undefined ? ETHERNET_BYTES : ETHERNET_BYTES + VLAN_TAG_BYTES;
}

function writeLink(view: DataView, spec: PathSpec): void {
  const etherType = spec.source.version === 4 ? ETHERTYPE_IPV4 : ETHERTYPE_IPV6;
  const outerType = spec.vlanTci === undefined ? etherType : ETHERTYPE_VLAN;
  writeEthernet(view, 0, spec.destMac, spec.sourceMac, outerType);
  if (spec.vlanTci !== undefined) writeVlanTag(view, ETHERNET_BYTES, spec.vlanTci, etherType);
}

function writeIpv4Constants(view: DataView, at: number, spec: PathSpec): void {
  view.setUint8(at, IPV4_VERSION_IHL);
  view.setUint8(at + IPV4_TOS_AT, spec.trafficClass);
  // As rxe: never fragmented (ref:wire#2).
  view.setUint16(at + IPV4_FRAGMENT_AT, IPV4_DONT_FRAGMENT);
  view.setUint8(at + IPV4_TTL_AT, spec.hopLimit);
  view.setUint8(at + IPV4_PROTOCOL_AT, IP_PROTOCOL_UDP);
  spec.source.write(view, at + IPV4_SOURCE_AT);
  spec.destination.write(view, at + IPV4_DESTINATION_AT);
}

function writeIpv6Constants(view: DataView, at: number, spec: PathSpec): void {
  const { trafficClass, flowLabel, hopLimit, source, destination } = spec;
  const nextHeader = IP_PROTOCOL_UDP;
  writeIpv6(view, at, {
    version: 6,
    trafficClass,
    flowLabel,
    payloadLength: 0,
    nextHeader,
    hopLimit,
    source,
    destination,
  });
}

function checkSpec(spec: PathSpec): void {
  if (spec.source.version !== spec.destination.version) {
    const sides = `${spec.source} and ${spec.destination}`;
    throw new RoceError('ERR_ROCE_ADDRESS', `source and destination must be of one IP version, not ${sides}`);
  }
  checkRange('vlanTci', spec.vlanTci ?? 0, 0xff_ff);
  checkRange('trafficClass', spec.trafficClass, 0xff);
  checkRange('hopLimit', spec.hopLimit, 0xff);
  checkRange('flowLabel', spec.flowLabel, 0x0f_ff_ff);
  checkRange('sourcePort', spec.sourcePort, 0xff_ff);
}

function checkRange(name: string, value: number, max: number): void {
  if (!Number.isInteger(value) || value < 0 || value > max) {
    throw new RoceError('ERR_ROCE_ARGUMENT', `${name} must be an integer of 0..${max}, not ${value}`);
  }
}
