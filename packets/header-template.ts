/**
 * The headers in front of a BTH for one path: Ethernet, IP and UDP, with everything filled in that does not change from packet to packet.
 *
 * Owns what a path looks like on the wire. Lengths, IPv4 identification and IPv4 checksum are left 0 for `FrameWriter`. Rules: ref:wire#2.
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
import { IPV6_BYTES, writeIpv6 } from './ipv6.ts';
import { ROCE_UDP_PORT, UDP_BYTES, writeUdp } from './udp.ts';

export interface PathSpec {
  readonly medium: Medium;
  /** Ignored on the IP medium, as is `destMac`. */
  readonly sourceMac: MacAddress;
  readonly destMac: MacAddress;
  /** PCP, DEI and VID; absent = untagged. */
  readonly vlanTci?: number;
  readonly source: IpAddress;
  /** Same version as `source`. */
  readonly destination: IpAddress;
  /** IPv4 TOS or IPv6 traffic class, ECN bits included, 0..255. */
  readonly trafficClass: number;
  /** IPv4 TTL or IPv6 hop limit, 0..255. */
  readonly hopLimit: number;
  /** 20 bits; IPv6 only. */
  readonly flowLabel: number;
  readonly sourcePort: number;
}

export class HeaderTemplate {
  /** The image: `length` bytes, ending where the BTH begins. */
  readonly bytes: Uint8Array;
  readonly length: number;
  /** Offsets from the start of the image. */
  readonly ipOffset: number;
  readonly udpOffset: number;
  readonly ipVersion: 4 | 6;
  /** The image rounded up to whole words, for copying word by word; `bytes` shares its memory. */
  readonly view: DataView;
  /** Sum over the IPv4 header with total length, identification and checksum 0; 0 for IPv6. */
  readonly ipv4Sum: number;

  /** @throws RoceError ERR_ROCE_ADDRESS when the addresses differ in version, ERR_ROCE_ARGUMENT when a number is out of range */
  constructor(spec: PathSpec) {
    checkSpec(spec);
    this.ipVersion = spec.source.version;
    this.ipOffset = linkBytes(spec);
    this.udpOffset = this.ipOffset + (this.ipVersion === 4 ? IPV4_BYTES : IPV6_BYTES);
    this.length = this.udpOffset + UDP_BYTES;
    this.view = new DataView(new ArrayBuffer((this.length + 3) & ~3));
    this.bytes = new Uint8Array(this.view.buffer, 0, this.length);
    if (spec.medium === Medium.Ethernet) writeLink(this.view, spec);
    if (this.ipVersion === 4) writeIpv4Constants(this.view, this.ipOffset, spec);
    else writeIpv6Constants(this.view, this.ipOffset, spec);
    writeUdp(this.view, this.udpOffset, spec.sourcePort, ROCE_UDP_PORT, 0, 0);
    this.ipv4Sum = this.ipVersion === 4 ? onesComplementSum(this.view, this.ipOffset, this.udpOffset, 0) : 0;
  }

  /** Puts another next hop into the image; no effect on the IP medium. */
  setDestMac(mac: MacAddress): void {
    if (this.ipOffset > 0) writeMac(this.view, 0, mac);
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
