/**
 * Frames of IGMP and MLD from the fuzzer to groups that a device is in: reports of every version, with records that have
 * sources and auxiliary data, and queries. Owns their addresses; the layouts are those of group-frames.ts and the codecs.
 */
import { IpAddress } from '../../../../packets/index.ts';
import {
  ETHERNET_BYTES,
  GroupRecordType,
  groupRecordBytes,
  IGMP_BYTES,
  IgmpType,
  IPV6_BYTES,
  MLD_V2_REPORT_BYTES,
  MldType,
  ROUTER_ALERT_BYTES,
  writeIgmpQuery,
  writeMldQuery,
} from '../../../../packets/network.ts';
import { leaveFrame, recordsFrame, reportFrame } from '../../../../src/device/host/group-frames.ts';
import { THEIR_MAC, THEIRS } from './lone-device.ts';

export const GROUP_4 = IpAddress.parse('239.1.2.3');
export const GROUP_6 = IpAddress.parse('ff0e::1:2');

/** MLD comes from a link-local address. */
const US_4 = { mac: THEIR_MAC, address: THEIRS };
const US_6 = { mac: THEIR_MAC, address: IpAddress.parse('fe80::2') };
/** Behind the router alert. */
const IGMP_AT = ETHERNET_BYTES + 20 + 4;
const MLD_AT = ETHERNET_BYTES + IPV6_BYTES + ROUTER_ALERT_BYTES;

/** All kinds. A checksum is wrong where a record has got a source: the fix-up of the fuzzer makes it right. */
export function groupMessages(): Uint8Array[] {
  const types = Object.values(GroupRecordType);
  const four = types.map((type) => ({ type, group: GROUP_4 }));
  const six = types.map((type) => ({ type, group: GROUP_6 }));
  return [
    recordsFrame(US_4, four),
    recordsFrame(US_6, six),
    withSources(recordsFrame(US_4, four), IGMP_AT + IGMP_BYTES, 4),
    withSources(recordsFrame(US_6, six), MLD_AT + MLD_V2_REPORT_BYTES, 6),
    ...([1, 2] as const).map((version) => reportFrame(US_4, GROUP_4, version)),
    reportFrame(US_6, GROUP_6, 1),
    leaveFrame(US_4, GROUP_4),
    leaveFrame(US_6, GROUP_6),
    ...[GROUP_4, IpAddress.parse('0.0.0.0')].flatMap((group) => ([1, 2, 3] as const).map((v) => igmpQuery(v, group))),
    ...[GROUP_6, IpAddress.parse('::')].flatMap((group) => ([1, 2] as const).map((v) => mldQuery(v, group))),
  ];
}

/** The second record has the bytes of the third for its source and four bytes of auxiliary data. */
function withSources(frame: Uint8Array, records: number, version: 4 | 6): Uint8Array {
  const second = records + groupRecordBytes(version);
  const view = new DataView(frame.buffer);
  view.setUint8(second + 1, 1);
  view.setUint16(second + 2, 1);
  const count = records - 2;
  view.setUint16(count, view.getUint16(count) - 1);
  return frame;
}

/** The headers of a report, and behind them a query; the frame ends with it. */
function igmpQuery(version: 1 | 2 | 3, group: IpAddress): Uint8Array {
  const frame = recordsFrame(US_4, [{ type: GroupRecordType.ModeIsInclude, group: GROUP_4 }]);
  const query = { type: IgmpType.Query, version, maxResponse: version === 1 ? 100 : 20, group } as const;
  return frame.slice(0, writeIgmpQuery(new DataView(frame.buffer), IGMP_AT, query));
}

function mldQuery(version: 1 | 2, group: IpAddress): Uint8Array {
  const records = [GROUP_6, GROUP_6].map((each) => ({ type: GroupRecordType.ModeIsInclude, group: each }));
  const frame = recordsFrame(US_6, records);
  const query = { type: MldType.Query, version, maxResponse: 1000, group } as const;
  return frame.slice(0, writeMldQuery(new DataView(frame.buffer), ETHERNET_BYTES, MLD_AT, query));
}
