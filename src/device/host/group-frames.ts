/**
 * Whole Ethernet frames that report a host's multicast groups: IGMP and MLD, of each version there is. Owns their
 * layout and their destination addresses. Never decides to send one. Allocates: none of this is a data path.
 * Sources: RFC 2236 sections 2 and 9, RFC 3376 section 4.2.14, RFC 2113 (router alert), RFC 2710 section 3, RFC 3810
 * section 5.2.14; RFC 1112 section 6.4 and RFC 2464 section 7 (multicast MAC addresses).
 */
import { IpAddress, type MacAddress } from '../../../packets/address.ts';
import { finishChecksum, onesComplementSum } from '../../../packets/checksum.ts';
import { ETHERTYPE_IPV4, ETHERTYPE_IPV6 } from '../../../packets/ethernet.ts';
import { type GroupRecord, groupRecordBytes } from '../../../packets/group-record.ts';
import { multicastMac } from '../../../packets/icmpv6-nd.ts';
import {
  IGMP_BYTES,
  IgmpType,
  IP_PROTOCOL_IGMP,
  writeIgmpGroupMessage,
  writeIgmpV3Report,
} from '../../../packets/igmp.ts';
import { IPV4_BYTES, IPV4_CHECKSUM_AT, writeIpv4 } from '../../../packets/ipv4.ts';
import { IPV6_BYTES, writeIpv6 } from '../../../packets/ipv6.ts';
import {
  IP_PROTOCOL_HOP_BY_HOP,
  MLD_HOP_LIMIT,
  MLD_V1_BYTES,
  MLD_V2_REPORT_BYTES,
  MldType,
  ROUTER_ALERT_BYTES,
  writeMldGroupMessage,
  writeMldV2Report,
  writeRouterAlert,
} from '../../../packets/mld.ts';
import { type FrameEndpoint, newFrame } from './neighbour-frames.ts';

/** A report of the newest version, IGMPv3 or MLDv2: all records of one IP version. */
export function recordsFrame(us: FrameEndpoint, records: readonly GroupRecord[]): Uint8Array {
  const version = us.address.version;
  const recordBytes = records.length * groupRecordBytes(version);
  if (version === 4)
    return igmpFrame(us, ALL_IGMPV3_ROUTERS, IGMP_BYTES + recordBytes, (view, at) => {
      writeIgmpV3Report(view, at, records);
    });
  return mldFrame(us, ALL_MLDV2_ROUTERS, MLD_V2_REPORT_BYTES + recordBytes, (view, ipv6At, at) => {
    writeMldV2Report(view, ipv6At, at, records);
  });
}

/** A report of an older version: `version` 1 or 2 of IGMP, 1 of MLD. */
export function reportFrame(us: FrameEndpoint, group: IpAddress, version: 1 | 2): Uint8Array {
  if (group.version === 6) return mldGroupFrame(us, group, group, MldType.V1Report);
  return igmpGroupFrame(us, group, group, version === 1 ? IgmpType.V1Report : IgmpType.V2Report);
}

/** A leave message of an older version, to all routers; IGMPv1 has none. */
export function leaveFrame(us: FrameEndpoint, group: IpAddress): Uint8Array {
  if (group.version === 6) return mldGroupFrame(us, ALL_ROUTERS6, group, MldType.Done);
  return igmpGroupFrame(us, ALL_ROUTERS4, group, IgmpType.Leave);
}

/** The MAC address of a group: 01:00:5e and its last 23 bits, or 33:33 and its last 32. */
export function groupMac(group: IpAddress): MacAddress {
  if (group.version === 6) return multicastMac(group);
  return Uint8Array.of(0x01, 0x00, 0x5e, (group.w3 >>> 16) & 0x7f, (group.w3 >>> 8) & 0xff, group.w3 & 0xff);
}

function igmpGroupFrame(
  us: FrameEndpoint,
  to: IpAddress,
  group: IpAddress,
  type: typeof IgmpType.V1Report | typeof IgmpType.V2Report | typeof IgmpType.Leave,
): Uint8Array {
  return igmpFrame(us, to, IGMP_BYTES, (view, at) => {
    writeIgmpGroupMessage(view, at, { type, group });
  });
}

function mldGroupFrame(
  us: FrameEndpoint,
  to: IpAddress,
  group: IpAddress,
  type: typeof MldType.V1Report | typeof MldType.Done,
): Uint8Array {
  return mldFrame(us, to, MLD_V1_BYTES, (view, ipv6At, at) => {
    writeMldGroupMessage(view, ipv6At, at, { type, group });
  });
}

/** With the router alert option, so that routers that do not forward the group process it too. */
function igmpFrame(
  us: FrameEndpoint,
  to: IpAddress,
  length: number,
  write: (view: DataView, at: number) => void,
): Uint8Array {
  const { bytes, view, at } = newFrame(us, groupMac(to), ETHERTYPE_IPV4, IPV4_BYTES + OPTION_BYTES + length);
  writeIpv4(view, at, {
    version: 4,
    ihl: (IPV4_BYTES + OPTION_BYTES) / 4,
    trafficClass: INTERNETWORK_CONTROL,
    totalLength: IPV4_BYTES + OPTION_BYTES + length,
    identification: 0,
    flags: DONT_FRAGMENT,
    fragmentOffset: 0,
    ttl: 1,
    protocol: IP_PROTOCOL_IGMP,
    checksum: 0,
    source: us.address,
    destination: to,
  });
  view.setUint32(at + IPV4_BYTES, ROUTER_ALERT);
  const end = at + IPV4_BYTES + OPTION_BYTES;
  view.setUint16(at + IPV4_CHECKSUM_AT, finishChecksum(onesComplementSum(view, at, end, 0)));
  write(view, end);
  return bytes;
}

function mldFrame(
  us: FrameEndpoint,
  to: IpAddress,
  length: number,
  write: (view: DataView, ipv6At: number, at: number) => void,
): Uint8Array {
  const payloadLength = ROUTER_ALERT_BYTES + length;
  const { bytes, view, at } = newFrame(us, groupMac(to), ETHERTYPE_IPV6, IPV6_BYTES + payloadLength);
  writeIpv6(view, at, {
    version: 6,
    trafficClass: 0,
    flowLabel: 0,
    payloadLength,
    nextHeader: IP_PROTOCOL_HOP_BY_HOP,
    hopLimit: MLD_HOP_LIMIT,
    source: us.address,
    destination: to,
  });
  writeRouterAlert(view, at + IPV6_BYTES);
  write(view, at, at + IPV6_BYTES + ROUTER_ALERT_BYTES);
  return bytes;
}

const OPTION_BYTES = 4;
/** Copied option 20, four bytes long, "examine the packet". */
const ROUTER_ALERT = 0x94_04_00_00;
const INTERNETWORK_CONTROL = 0xc0;
/** The middle one of the three flag bits. */
const DONT_FRAGMENT = 0b010;
const ALL_ROUTERS4 = IpAddress.parse('224.0.0.2');
const ALL_IGMPV3_ROUTERS = IpAddress.parse('224.0.0.22');
const ALL_ROUTERS6 = IpAddress.parse('ff02::2');
const ALL_MLDV2_ROUTERS = IpAddress.parse('ff02::16');
