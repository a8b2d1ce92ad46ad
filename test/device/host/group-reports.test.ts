/**
 * Goal: what a host says of its groups, when, and in which version. Method: the state machine alone, time as a number,
 * a random source that always draws the same; frames read back by the codecs and printed as words.
 */
import fc from 'fast-check';
import { beforeEach, describe, expect, it } from 'vitest';
import { formatMac, IpAddress, IpPrefix, parseMac } from '../../../packets/address.ts';
import { onesComplementSum } from '../../../packets/checksum.ts';
import { Frame, Medium, parseFrame } from '../../../packets/frame.ts';
import { FrameWriter } from '../../../packets/frame-writer.ts';
import { type GroupRecord, GroupRecordType } from '../../../packets/group-record.ts';
import { type IgmpQuery, IgmpType, readIgmp, writeIgmpGroupMessage, writeIgmpQuery } from '../../../packets/igmp.ts';
import { readIpv4, writeIpv4 } from '../../../packets/ipv4.ts';
import { readIpv6, writeIpv6 } from '../../../packets/ipv6.ts';
import {
  type MldQuery,
  MldType,
  readMld,
  writeMldGroupMessage,
  writeMldQuery,
  writeRouterAlert,
} from '../../../packets/mld.ts';
import { groupMac } from '../../../src/device/host/group-frames.ts';
import { GroupReports } from '../../../src/device/host/group-reports.ts';

const SECOND = 1e9;
const A4 = IpAddress.parse('239.1.1.1');
const B4 = IpAddress.parse('239.1.1.2');
const A6 = IpAddress.parse('ff3e::1');
const ALL4 = IpAddress.parse('0.0.0.0');
const ALL6 = IpAddress.parse('::');
const US = ['10.0.0.1/24', 'fd00::1/64', 'fe80::1/64'];

let reports: GroupReports;
let now: number;
/** What `random` draws, of 2^32. */
let drawn: number;

function make(addresses = US): void {
  now = 5 * SECOND;
  drawn = 2 ** 31;
  reports = new GroupReports({
    mac: parseMac('02:00:00:00:00:01'),
    addresses: addresses.map((text) => IpPrefix.parse(text)),
    vlanTci: undefined,
    random: { u32: () => drawn },
  });
}

const typeName = (type: number): string =>
  Object.entries(GroupRecordType).find(([, value]) => value === type)?.[0] ?? `${type}`;
const describeRecords = (records: readonly GroupRecord[]): string =>
  records.map(({ type, group }) => `${typeName(type)} ${group}`).join(', ');

/** "239.1.1.1 from 10.0.0.1: V2Report 239.1.1.1". */
function describeFrame(bytes: Uint8Array): string {
  const view = new DataView(bytes.buffer);
  const mac = formatMac(bytes);
  if (view.getUint16(12) === 0x0800) {
    const ip = readIpv4(view, 14);
    expect([ip.ihl, ip.ttl, ip.protocol, onesComplementSum(view, 14, 38, 0)]).toEqual([6, 1, 2, 0xffff]);
    expect(mac).toBe(formatMac(groupMac(ip.destination)));
    const message = readIgmp(view, 38, 14 + ip.totalLength);
    if (message === undefined) return 'nothing';
    const said =
      message.type === IgmpType.V3Report
        ? describeRecords(message.records)
        : `${Object.entries(IgmpType).find(([, value]) => value === message.type)?.[0]} ${message.group}`;
    return `${ip.destination} from ${ip.source}: ${said}`;
  }
  const ip = readIpv6(view, 14);
  expect([ip.hopLimit, ip.nextHeader, view.getUint16(56)]).toEqual([1, 0, 0x0502]);
  expect(mac).toBe(formatMac(groupMac(ip.destination)));
  const message = readMld(view, 14, 62, 54 + ip.payloadLength);
  if (message === undefined) return 'nothing';
  const said =
    message.type === MldType.V2Report
      ? describeRecords(message.records)
      : `${Object.entries(MldType).find(([, value]) => value === message.type)?.[0]} ${message.group}`;
  return `${ip.destination} from ${ip.source}: ${said}`;
}

/** What is said now. */
function said(room = 16): string[] {
  const writer = new FrameWriter(room, 256);
  reports.poll(now, writer);
  return Array.from({ length: writer.count }, (_, i) => {
    const start = writer.starts[i] ?? 0;
    return describeFrame(writer.bytes.slice(start, start + (writer.lengths[i] ?? 0)));
  });
}

/** What is said until nothing is due any more, each with the seconds since the start. */
function saidUntil(seconds: number): string[] {
  const start = now;
  const words = said();
  while (reports.nextDeadline() <= start + seconds * SECOND) {
    now = reports.nextDeadline();
    words.push(...said().map((each) => `+${((now - start) / SECOND).toFixed(1)} ${each}`));
  }
  now = start + seconds * SECOND;
  return words;
}

/** Hands a packet over as a device does. */
function hear(bytes: Uint8Array): void {
  const frame = new Frame();
  parseFrame(bytes, new DataView(bytes.buffer), 0, bytes.length, Medium.Ethernet, frame);
  reports.handleFrame(now, frame, 14);
}

function igmpPacket(write: (view: DataView, at: number) => number, from = '10.0.0.9'): Uint8Array {
  const bytes = new Uint8Array(64);
  const view = new DataView(bytes.buffer);
  view.setUint16(12, 0x0800);
  const end = write(view, 34);
  const fixed = { version: 4, ihl: 5, trafficClass: 0, identification: 0, flags: 0, fragmentOffset: 0, checksum: 0 };
  const address = IpAddress.parse('10.0.0.9');
  writeIpv4(view, 14, {
    ...fixed,
    totalLength: end - 14,
    ttl: 1,
    protocol: 2,
    source: IpAddress.parse(from),
    destination: address,
  });
  return bytes;
}

const igmpQuery = (query: Omit<IgmpQuery, 'type'>, from?: string): Uint8Array =>
  igmpPacket((view, at) => writeIgmpQuery(view, at, { type: IgmpType.Query, ...query }), from);

function mldPacket(
  write: (view: DataView, ipv6At: number, at: number) => number,
  hopLimit = 1,
  from = 'fe80::9',
): Uint8Array {
  const bytes = new Uint8Array(128);
  const view = new DataView(bytes.buffer);
  view.setUint16(12, 0x86dd);
  const [source, destination] = [IpAddress.parse(from), IpAddress.parse('ff02::1')];
  const header = {
    version: 6,
    trafficClass: 0,
    flowLabel: 0,
    payloadLength: 0,
    nextHeader: 0,
    hopLimit,
    source,
    destination,
  };
  writeIpv6(view, 14, header);
  writeRouterAlert(view, 54);
  const end = write(view, 14, 62);
  writeIpv6(view, 14, { ...header, payloadLength: end - 54 });
  return bytes.slice(0, end);
}

const mldQuery = (query: Omit<MldQuery, 'type'>, hopLimit = 1, from?: string): Uint8Array =>
  mldPacket((view, ip, at) => writeMldQuery(view, ip, at, { type: MldType.Query, ...query }), hopLimit, from);

beforeEach(() => make());

describe('a change', () => {
  it('RFC 3376 5.1, RFC 3810 6.1 is said at once and again within a second', () => {
    reports.join(now, A4);
    reports.join(now, A6);
    expect(saidUntil(10)).toEqual([
      '224.0.0.22 from 10.0.0.1: ChangeToExclude 239.1.1.1',
      'ff02::16 from fe80::1: ChangeToExclude ff3e::1',
      '+0.5 224.0.0.22 from 10.0.0.1: ChangeToExclude 239.1.1.1',
      '+0.5 ff02::16 from fe80::1: ChangeToExclude ff3e::1',
    ]);
    reports.leave(now, A4);
    reports.leave(now, A6);
    expect(saidUntil(10)).toEqual([
      '224.0.0.22 from 10.0.0.1: ChangeToInclude 239.1.1.1',
      'ff02::16 from fe80::1: ChangeToInclude ff3e::1',
      '+0.5 224.0.0.22 from 10.0.0.1: ChangeToInclude 239.1.1.1',
      '+0.5 ff02::16 from fe80::1: ChangeToInclude ff3e::1',
    ]);
    expect(reports.nextDeadline()).toBe(Infinity);
    expect(reports.counters).toMatchObject({ reports: 4, leaves: 4 });
  });

  it('that is taken back is said in its place', () => {
    reports.join(now, A4);
    said();
    reports.leave(now, A4);
    reports.join(now, A4);
    expect(saidUntil(10).map((words) => words.split(': ')[1])).toEqual([
      'ChangeToExclude 239.1.1.1',
      'ChangeToExclude 239.1.1.1',
    ]);
  });

  it('waits for room in the writer', () => {
    for (const group of [A4, B4, A6]) reports.join(now, group);
    expect(said(1)).toHaveLength(1);
    expect(reports.nextDeadline()).toBe(now);
    expect(said(1)).toHaveLength(1);
    expect(said(1)).toHaveLength(1);
    expect(reports.nextDeadline()).toBeGreaterThan(now);
  });

  it('RFC 3810 5.2.13 comes from :: without a link-local address, and from 0.0.0.0 without an IPv4 one', () => {
    make(['fd00::1/64']);
    reports.join(now, A6);
    reports.join(now, A4);
    expect(said()).toEqual([
      'ff02::16 from ::: ChangeToExclude ff3e::1',
      '224.0.0.22 from 0.0.0.0: ChangeToExclude 239.1.1.1',
    ]);
  });

  it('of groups that everybody is in, or that stay in the node, is not said', () => {
    for (const group of ['224.0.0.1', 'ff02::1', 'ff01::5', 'ff00::5']) reports.join(now, IpAddress.parse(group));
    reports.leave(now, IpAddress.parse('224.0.0.1'));
    expect(saidUntil(10)).toEqual([]);
  });
});

describe('a query', () => {
  beforeEach(() => {
    for (const group of [A4, B4, A6]) reports.join(now, group);
    saidUntil(10);
  });

  it('RFC 3376 5.2 for all is answered for every group of its IP version, some time within what it allows', () => {
    hear(igmpQuery({ version: 3, maxResponse: 100, group: ALL4 }));
    expect(saidUntil(20)).toEqual([
      '+5.0 224.0.0.22 from 10.0.0.1: ModeIsExclude 239.1.1.1',
      '+5.0 224.0.0.22 from 10.0.0.1: ModeIsExclude 239.1.1.2',
    ]);
    hear(mldQuery({ version: 2, maxResponse: 4000, group: ALL6 }));
    expect(saidUntil(20)).toEqual(['+2.0 ff02::16 from fe80::1: ModeIsExclude ff3e::1']);
  });

  it('for one group is answered for it alone; for a group that is left, or foreign, not at all', () => {
    hear(igmpQuery({ version: 3, maxResponse: 10, group: B4 }));
    expect(saidUntil(20)).toEqual(['+0.5 224.0.0.22 from 10.0.0.1: ModeIsExclude 239.1.1.2']);
    reports.leave(now, B4);
    hear(igmpQuery({ version: 3, maxResponse: 10, group: B4 }));
    hear(igmpQuery({ version: 3, maxResponse: 10, group: IpAddress.parse('239.9.9.9') }));
    expect(saidUntil(20).every((words) => words.includes('ChangeToInclude'))).toBe(true);
  });

  it('that comes while another is to be answered does not put the answer off', () => {
    hear(igmpQuery({ version: 3, maxResponse: 10, group: ALL4 }));
    hear(igmpQuery({ version: 3, maxResponse: 100, group: ALL4 }));
    expect(saidUntil(20).map((words) => words.slice(0, 4))).toEqual(['+0.5', '+0.5']);
  });

  it.each(['255.255.255.255', '10.0.0.255', '224.0.0.1', '127.0.0.1', '10.0.0.1'])('from %s is none', (from) => {
    hear(igmpQuery({ version: 3, maxResponse: 10, group: ALL4 }, from));
    expect([saidUntil(20), reports.counters.badSource]).toEqual([[], 1]);
    hear(igmpQuery({ version: 3, maxResponse: 10, group: ALL4 }, '0.0.0.0'));
    expect(saidUntil(20).length).toBeGreaterThan(0);
  });

  it.each(['ff02::1', '::', '::1', '2001:db8::1'])('RFC 3810 5.1.14 from %s is none', (from) => {
    hear(mldQuery({ version: 2, maxResponse: 1000, group: ALL6 }, 1, from));
    expect([saidUntil(20), reports.counters.badSource]).toEqual([[], 1]);
  });

  it('draws one report of each group a second, however many come and however soon they want it', () => {
    const before = reports.counters.reports;
    for (let i = 0; i < 1000; i++) {
      hear(igmpQuery({ version: 3, maxResponse: 0, group: ALL4 }));
      said();
      now += SECOND / 100;
    }
    // Two groups of IPv4, 10 s.
    expect(reports.counters.reports - before).toBeLessThanOrEqual(2 * 11);
    expect(reports.counters.reports - before).toBeGreaterThan(2 * 5);
  });

  it('RFC 3376 7.2 of an older version is answered in it, for 260 s, and one answer of another host is enough', () => {
    hear(igmpQuery({ version: 2, maxResponse: 10, group: ALL4 }));
    expect(saidUntil(20)).toEqual([
      '+0.5 239.1.1.1 from 10.0.0.1: V2Report 239.1.1.1',
      '+0.5 239.1.1.2 from 10.0.0.1: V2Report 239.1.1.2',
    ]);
    hear(igmpQuery({ version: 2, maxResponse: 10, group: ALL4 }));
    hear(igmpPacket((view, at) => writeIgmpGroupMessage(view, at, { type: IgmpType.V2Report, group: A4 })));
    expect(saidUntil(20)).toEqual(['+0.5 239.1.1.2 from 10.0.0.1: V2Report 239.1.1.2']);
    expect(reports.counters.suppressed).toBe(1);
    reports.leave(now, B4);
    expect(saidUntil(20)).toEqual(['224.0.0.2 from 10.0.0.1: Leave 239.1.1.2']);
    now += 261 * SECOND;
    reports.join(now, B4);
    expect(said()).toEqual(['224.0.0.22 from 10.0.0.1: ChangeToExclude 239.1.1.2']);
  });

  it('RFC 1112 of version 1 is answered in it, and leaving is silent then', () => {
    hear(igmpQuery({ version: 1, maxResponse: 0, group: ALL4 }));
    expect(saidUntil(20)[0]).toBe('+5.0 239.1.1.1 from 10.0.0.1: V1Report 239.1.1.1');
    // A newer querier does not hide the older one.
    hear(igmpQuery({ version: 2, maxResponse: 10, group: A4 }));
    expect(saidUntil(20)).toEqual(['+0.5 239.1.1.1 from 10.0.0.1: V1Report 239.1.1.1']);
    reports.leave(now, A4);
    expect(saidUntil(20)).toEqual([]);
  });

  it('RFC 3810 8.2 of MLD version 1 is answered in it, suppressed by others, and left with done', () => {
    hear(mldQuery({ version: 1, maxResponse: 1000, group: ALL6 }));
    expect(saidUntil(20)).toEqual(['+0.5 ff3e::1 from fe80::1: V1Report ff3e::1']);
    hear(mldQuery({ version: 1, maxResponse: 1000, group: A6 }));
    hear(mldPacket((view, ip, at) => writeMldGroupMessage(view, ip, at, { type: MldType.V1Report, group: A6 })));
    expect(saidUntil(20)).toEqual([]);
    reports.leave(now, A6);
    expect(saidUntil(20)).toEqual(['ff02::2 from fe80::1: Done ff3e::1']);
  });

  it('that a router could have forwarded, or whose bytes are wrong, is none', () => {
    hear(mldQuery({ version: 2, maxResponse: 1000, group: ALL6 }, 64));
    const broken = igmpQuery({ version: 3, maxResponse: 10, group: ALL4 });
    broken[34] = 0x13;
    hear(broken);
    expect(saidUntil(20)).toEqual([]);
    expect(reports.counters.queries).toBe(0);
  });

  it('cut short anywhere, or of any bytes, is survived', () => {
    const whole = [
      igmpQuery({ version: 3, maxResponse: 10, group: ALL4 }),
      mldQuery({ version: 2, maxResponse: 9, group: ALL6 }),
    ];
    for (const bytes of whole) for (let length = 14; length < bytes.length; length++) hear(bytes.slice(0, length));
    fc.assert(
      fc.property(fc.constantFrom(...whole), fc.nat(127), fc.nat(255), (bytes, at, value) => {
        const copy = bytes.slice();
        if (at >= 14 && at < copy.length) copy[at] = value;
        hear(copy);
        said();
      }),
    );
  });
});
