/**
 * What this project sends beside RoCE: neighbours, groups, pings, TCP, pause frames. By its own encoders, with values
 * of a seed.
 */
import { IpAddress, type MacAddress, parseMac } from '../../../packets/address.ts';
import { ARP_BYTES, ArpOperation, writeArp } from '../../../packets/arp.ts';
import { finishChecksum, onesComplementSum } from '../../../packets/checksum.ts';
import {
  ETHERNET_BYTES,
  ETHERTYPE_ARP,
  ETHERTYPE_IPV4,
  ETHERTYPE_IPV6,
  ETHERTYPE_VLAN,
  writeEthernet,
  writeVlanTag,
} from '../../../packets/ethernet.ts';
import { Medium } from '../../../packets/frame.ts';
import { GroupRecordType } from '../../../packets/group-record.ts';
import { writeIcmpEcho, writeIcmpv6Echo } from '../../../packets/icmp.ts';
import { writeNeighborAdvertisement, writeNeighborSolicitation } from '../../../packets/icmpv6-nd.ts';
import {
  IgmpType,
  IP_PROTOCOL_IGMP,
  writeIgmpGroupMessage,
  writeIgmpQuery,
  writeIgmpV3Report,
} from '../../../packets/igmp.ts';
import {
  IP_PROTOCOL_ICMP,
  IP_PROTOCOL_ICMPV6,
  IPV4_BYTES,
  IPV4_CHECKSUM_AT,
  writeIpv4,
} from '../../../packets/ipv4.ts';
import { IPV6_BYTES, writeIpv6 } from '../../../packets/ipv6.ts';
import {
  IP_PROTOCOL_HOP_BY_HOP,
  MldType,
  ROUTER_ALERT_BYTES,
  writeMldGroupMessage,
  writeMldQuery,
  writeMldV2Report,
  writeRouterAlert,
} from '../../../packets/mld.ts';
import { PFC_FRAME_BYTES, writePfc } from '../../../packets/pfc.ts';
import { segmentFrame, TcpFlag } from '../../../src/device/host/tcp/segment.ts';
import type { Prng } from '../../../src/ground/prng.ts';
import type { MadeFrame } from './every-frame.ts';

const A: MacAddress = parseMac('02:00:00:00:00:0a');
const B: MacAddress = parseMac('02:00:00:00:00:0b');
const V4 = { source: IpAddress.parse('192.0.2.1'), destination: IpAddress.parse('192.0.2.2') };
const V6 = { source: IpAddress.parse('2001:db8::1'), destination: IpAddress.parse('fe80::2:3') };
const GROUP_4 = IpAddress.parse('239.1.2.3');
const GROUP_6 = IpAddress.parse('ff0e::1:2');
const VLAN_TCI = (3 << 13) | 7;
const ROOM = 512;

export function otherFrames(prng: Prng): MadeFrame[] {
  return [undefined, VLAN_TCI]
    .flatMap((tci) => [...arpFrames(tci), ...ipv4Frames(prng, tci), ...ipv6Frames(prng, tci), ...tcpFrames(prng, tci)])
    .concat(pfcFrame(prng));
}

/** A frame with Ethernet header and tag, whose rest `write` writes; it returns where it ends. */
function frame(
  name: string,
  tci: number | undefined,
  etherType: number,
  write: (view: DataView, at: number, bytes: Uint8Array) => number,
): MadeFrame {
  const bytes = new Uint8Array(ROOM);
  const view = new DataView(bytes.buffer);
  writeEthernet(view, 0, B, A, tci === undefined ? etherType : ETHERTYPE_VLAN);
  if (tci !== undefined) writeVlanTag(view, ETHERNET_BYTES, tci, etherType);
  const end = write(view, tci === undefined ? ETHERNET_BYTES : ETHERNET_BYTES + 4, bytes);
  return {
    name: tci === undefined ? name : `${name} vlan`,
    medium: Medium.Ethernet,
    bytes: bytes.slice(0, Math.max(60, end)),
  };
}

function arpFrames(tci: number | undefined): MadeFrame[] {
  return Object.entries(ArpOperation).map(([name, operation]) =>
    frame(`ARP ${name}`, tci, ETHERTYPE_ARP, (view, at) => {
      const { source: senderIp, destination: targetIp } = V4;
      writeArp(view, at, { operation, senderMac: A, senderIp, targetMac: B, targetIp });
      return at + ARP_BYTES;
    }),
  );
}

function ipv4Frames(prng: Prng, tci: number | undefined): MadeFrame[] {
  const ip = (name: string, protocol: number, write: (view: DataView, at: number) => number) =>
    frame(name, tci, ETHERTYPE_IPV4, (view, at) => {
      const end = write(view, at + IPV4_BYTES);
      writeIpv4(view, at, {
        version: 4,
        ihl: 5,
        trafficClass: prng.below(256),
        totalLength: end - at,
        identification: prng.below(1 << 16),
        flags: 2,
        fragmentOffset: 0,
        ttl: 1 + prng.below(255),
        protocol,
        checksum: 0,
        ...V4,
      });
      view.setUint16(at + IPV4_CHECKSUM_AT, finishChecksum(onesComplementSum(view, at, at + IPV4_BYTES, 0)));
      return end;
    });
  const echo = { identifier: prng.below(1 << 16), sequence: prng.below(1 << 16), data: Uint8Array.of(1, 2, 3) };
  const records = [{ type: GroupRecordType.ChangeToExclude, group: GROUP_4 }];
  return [
    ...[false, true].map((reply) =>
      ip('ICMP echo', IP_PROTOCOL_ICMP, (view, at) => at + writeIcmpEcho(view, at, { ...echo, reply })),
    ),
    ip('IGMPv3 report', IP_PROTOCOL_IGMP, (view, at) => writeIgmpV3Report(view, at, records)),
    ...[IgmpType.V1Report, IgmpType.V2Report, IgmpType.Leave].map((type) =>
      ip('IGMP', IP_PROTOCOL_IGMP, (view, at) => writeIgmpGroupMessage(view, at, { type, group: GROUP_4 })),
    ),
    ...([1, 2, 3] as const).map((version) =>
      ip('IGMP query', IP_PROTOCOL_IGMP, (view, at) =>
        writeIgmpQuery(view, at, {
          type: IgmpType.Query,
          version,
          maxResponse: version === 1 ? 100 : 7,
          group: GROUP_4,
        }),
      ),
    ),
  ];
}

function ipv6Frames(prng: Prng, tci: number | undefined): MadeFrame[] {
  const ip = (name: string, nextHeader: number, write: (view: DataView, ip: number, at: number) => number) =>
    frame(name, tci, ETHERTYPE_IPV6, (view, at) => {
      // The checksum needs the addresses, the header needs the length.
      const header = {
        version: 6,
        trafficClass: prng.below(256),
        flowLabel: prng.below(1 << 20),
        nextHeader,
        hopLimit: 255,
        ...V6,
      };
      writeIpv6(view, at, { ...header, payloadLength: 0 });
      const end = write(view, at, at + IPV6_BYTES);
      writeIpv6(view, at, { ...header, payloadLength: end - at - IPV6_BYTES });
      return end;
    });
  const icmp = (name: string, write: (view: DataView, ip: number, at: number) => number) =>
    ip(name, IP_PROTOCOL_ICMPV6, (view, ipAt, at) => at + write(view, ipAt, at));
  const mld = (name: string, write: (view: DataView, ip: number, at: number) => number) =>
    ip(name, IP_PROTOCOL_HOP_BY_HOP, (view, ipAt, at) => {
      writeRouterAlert(view, at);
      return write(view, ipAt, at + ROUTER_ALERT_BYTES);
    });
  const echo = { identifier: prng.below(1 << 16), sequence: prng.below(1 << 16), data: Uint8Array.of(1, 2, 3, 4, 5) };
  const target = V6.destination;
  const advertisement = { target, targetMac: A, router: prng.chance(0.5), solicited: true, override: prng.chance(0.5) };
  const records = [{ type: GroupRecordType.ChangeToInclude, group: GROUP_6 }];
  const query = { type: MldType.Query, maxResponse: 1000, group: GROUP_6 } as const;
  return [
    icmp('neighbor solicitation', (view, ipAt, at) =>
      writeNeighborSolicitation(view, ipAt, at, { target, sourceMac: A }),
    ),
    icmp('neighbor advertisement', (view, ipAt, at) => writeNeighborAdvertisement(view, ipAt, at, advertisement)),
    ...[false, true].map((reply) =>
      icmp('ICMPv6 echo', (view, ipAt, at) => writeIcmpv6Echo(view, ipAt, at, { ...echo, reply })),
    ),
    ...[MldType.V1Report, MldType.Done].map((type) =>
      mld('MLD', (view, ipAt, at) => writeMldGroupMessage(view, ipAt, at, { type, group: GROUP_6 })),
    ),
    mld('MLDv2 report', (view, ipAt, at) => writeMldV2Report(view, ipAt, at, records)),
    ...([1, 2] as const).map((version) =>
      mld('MLD query', (view, ipAt, at) => writeMldQuery(view, ipAt, at, { ...query, version })),
    ),
  ];
}

function tcpFrames(prng: Prng, vlanTci: number | undefined): MadeFrame[] {
  const { Syn, Ack, Psh, Fin, Rst } = TcpFlag;
  return [V4, V6].flatMap((addresses) =>
    [Syn, Syn | Ack, Ack, Psh | Ack, Fin | Ack, Rst].map((flags) => {
      const route = { sourceMac: A, destMac: B, vlanTci, ...addresses, sourcePort: 40_000, destPort: 18_515 };
      const bytes = segmentFrame(route, {
        seq: prng.u32(),
        ack: prng.u32(),
        flags,
        window: prng.below(1 << 16),
        ...((flags & Syn) === 0 ? {} : { mss: 1460 }),
        data: (flags & Psh) === 0 ? new Uint8Array(0) : Uint8Array.of(0x68, 0x69),
      });
      return { name: `TCP flags ${flags}`, medium: Medium.Ethernet, bytes };
    }),
  );
}

function pfcFrame(prng: Prng): MadeFrame {
  const bytes = new Uint8Array(PFC_FRAME_BYTES);
  const quanta = Array.from({ length: 8 }, () => prng.below(1 << 16));
  writePfc(new DataView(bytes.buffer), 0, A, prng.below(256), quanta);
  return { name: 'PFC', medium: Medium.Ethernet, bytes };
}
