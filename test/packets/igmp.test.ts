/**
 * Goal: what a listener says in IGMP and MLD is what the RFCs draw, and whatever bytes come, reading them neither
 * throws nor reads outside. Method: bytes written out by hand, round trips, every truncation, random bytes.
 */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { IpAddress } from '../../packets/address.ts';
import {
  floatingCode,
  type GroupRecord,
  GroupRecordType,
  readGroupRecords,
  writeGroupRecords,
} from '../../packets/group-record.ts';
import {
  type IgmpMessage,
  IgmpType,
  readIgmp,
  writeIgmpGroupMessage,
  writeIgmpQuery,
  writeIgmpV3Report,
} from '../../packets/igmp.ts';
import { writeIpv6 } from '../../packets/ipv6.ts';
import {
  afterHopByHop,
  type MldMessage,
  MldType,
  readMld,
  writeMldGroupMessage,
  writeMldQuery,
  writeMldV2Report,
  writeRouterAlert,
} from '../../packets/mld.ts';

const GROUP4 = IpAddress.parse('239.1.2.3');
const GROUP6 = IpAddress.parse('ff3e::4321:1234');
const { ChangeToExclude, ModeIsExclude, ChangeToInclude } = GroupRecordType;

/** What `write` leaves in a buffer of 0xa5. */
function written(write: (view: DataView, at: number) => number): Uint8Array {
  const bytes = new Uint8Array(256).fill(0xa5);
  const end = write(new DataView(bytes.buffer), 4);
  expect(bytes[3]).toBe(0xa5);
  expect(bytes[end]).toBe(0xa5);
  return bytes.slice(4, end);
}

const viewOf = (bytes: Uint8Array): DataView => new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
const hex = (bytes: Uint8Array): string => Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
const read4 = (bytes: Uint8Array): IgmpMessage | undefined => readIgmp(viewOf(bytes), 0, bytes.length);

describe('IGMP', () => {
  it('RFC 2236 reports and leaves of version 2, and RFC 1112 reports', () => {
    const v2 = (type: typeof IgmpType.V1Report | typeof IgmpType.V2Report | typeof IgmpType.Leave): Uint8Array =>
      written((view, at) => writeIgmpGroupMessage(view, at, { type, group: GROUP4 }));
    expect(hex(v2(IgmpType.V2Report))).toBe('1600f8faef010203');
    expect(hex(v2(IgmpType.Leave))).toBe('1700f7faef010203');
    for (const type of [IgmpType.V1Report, IgmpType.V2Report, IgmpType.Leave] as const) {
      const message = read4(v2(type));
      expect(message?.type).toBe(type);
      expect(`${message !== undefined && 'group' in message ? message.group : ''}`).toBe('239.1.2.3');
    }
  });

  it('RFC 3376 a report of version 3 with its records', () => {
    const records = [
      { type: ChangeToExclude, group: GROUP4 },
      { type: ChangeToInclude, group: IpAddress.parse('224.0.0.251') },
    ];
    const bytes = written((view, at) => writeIgmpV3Report(view, at, records));
    expect(hex(bytes)).toBe('220004fd0000000204000000ef01020303000000e00000fb');
    expect(read4(bytes)).toEqual({ type: IgmpType.V3Report, records });
  });

  it.each([
    [1, 0, 100],
    [2, 100, 100],
    [3, 100, 100],
  ] as const)('RFC 3376 7.1 a query of version %i is known by length and code', (version, maxResponse, meant) => {
    const query = { type: IgmpType.Query, version, maxResponse, group: GROUP4 } as const;
    const bytes = written((view, at) => writeIgmpQuery(view, at, query));
    expect(bytes).toHaveLength(version === 3 ? 12 : 8);
    expect(read4(bytes)).toEqual({ ...query, maxResponse: meant });
  });

  it('a query of a length between the versions, a wrong checksum and unknown types are nothing', () => {
    expect(read4(Uint8Array.of(0x11, 1, 0xee, 0xfe, 0, 0, 0, 0, 0, 0))).toBeUndefined();
    expect(read4(Uint8Array.of(0x16, 0, 0xf8, 0xfb, 0xef, 1, 2, 3))).toBeUndefined();
    expect(read4(Uint8Array.of(0x13, 0, 0xec, 0xff, 0, 0, 0, 0))).toBeUndefined();
  });
});

/** An IPv6 header, so that the checksum has its addresses, and a message behind it. */
function mld(write: (view: DataView, ipv6At: number, at: number) => number): Uint8Array {
  const bytes = new Uint8Array(256);
  const view = new DataView(bytes.buffer);
  const source = IpAddress.parse('fe80::1');
  const destination = IpAddress.parse('ff02::16');
  const fixed = { version: 6, trafficClass: 0, flowLabel: 0, payloadLength: 0, nextHeader: 0, hopLimit: 1 };
  writeIpv6(view, 0, { ...fixed, source, destination });
  return bytes.slice(0, write(view, 0, 40));
}

const read6 = (bytes: Uint8Array): MldMessage | undefined => readMld(viewOf(bytes), 0, 40, bytes.length);

describe('MLD', () => {
  it('RFC 3810 a report of version 2 with its records', () => {
    const records = [{ type: ModeIsExclude, group: GROUP6 }];
    const bytes = mld((view, ip, at) => writeMldV2Report(view, ip, at, records));
    expect(hex(bytes.subarray(40))).toMatch(/^8f00....0000000102000000ff3e0000000000000000000043211234$/);
    expect(read6(bytes)).toEqual({ type: MldType.V2Report, records });
  });

  it('RFC 2710 reports and done messages', () => {
    for (const type of [MldType.V1Report, MldType.Done] as const) {
      const bytes = mld((view, ip, at) => writeMldGroupMessage(view, ip, at, { type, group: GROUP6 }));
      expect(bytes).toHaveLength(64);
      expect(read6(bytes)).toEqual({ type, group: GROUP6 });
    }
  });

  it.each([1, 2] as const)('RFC 3810 8.1 a query of version %i is known by its length', (version) => {
    const query = { type: MldType.Query, version, maxResponse: 1000, group: GROUP6 };
    expect(read6(mld((view, ip, at) => writeMldQuery(view, ip, at, query)))).toEqual(query);
  });

  it('RFC 2711 stands behind a hop-by-hop header with a router alert', () => {
    const bytes = new Uint8Array(8).fill(0xa5);
    writeRouterAlert(viewOf(bytes), 0);
    expect(hex(bytes)).toBe('3a00050200000100');
    expect(afterHopByHop(viewOf(bytes), 0, 8)).toBe(8);
    expect(afterHopByHop(viewOf(bytes), 0, 7)).toBe(-1);
    expect(afterHopByHop(viewOf(Uint8Array.from(bytes, (b, i) => (i === 0 ? 17 : b))), 0, 8)).toBe(-1);
    expect(afterHopByHop(viewOf(Uint8Array.from(bytes, (b, i) => (i === 1 ? 1 : b))), 0, 8)).toBe(-1);
  });
});

describe('what both share', () => {
  it('RFC 3376 4.1.1, RFC 3810 5.1.3 codes of time beyond half the range are floating', () => {
    expect([0, 127, 128, 143, 255].map((code) => floatingCode(code, 8))).toEqual([0, 127, 128, 248, 31_744]);
    expect([0, 32_767, 32_768, 65_535].map((code) => floatingCode(code, 16))).toEqual([0, 32_767, 32_768, 8_387_584]);
  });

  it('records with sources and auxiliary data are passed over whole, unknown types left out', () => {
    const bytes = new Uint8Array(64);
    const view = viewOf(bytes);
    view.setUint32(0, (ModeIsExclude << 24) | (1 << 16) | 2);
    GROUP4.write(view, 4);
    view.setUint32(20, 0x09_00_00_00);
    writeGroupRecords(view, 28, [{ type: ChangeToInclude, group: GROUP4 }]);
    expect(readGroupRecords(view, 0, 36, 3, 4)).toEqual([
      { type: ModeIsExclude, group: GROUP4 },
      { type: ChangeToInclude, group: GROUP4 },
    ]);
    expect(readGroupRecords(view, 0, 35, 3, 4)).toBeUndefined();
    expect(readGroupRecords(view, 0, 19, 1, 4)).toBeUndefined();
  });

  const record = fc.record<GroupRecord>({
    type: fc.constantFrom(...Object.values(GroupRecordType)),
    group: fc.integer({ min: 0, max: 0xff_ff_ff }).map((n) => new IpAddress(4, 0, 0, 0xff_ff, 0xe0_00_00_00 + n)),
  });

  it('any report reads back, and no truncation of it does', () => {
    fc.assert(
      fc.property(fc.array(record, { maxLength: 8 }), (records) => {
        const bytes = written((view, at) => writeIgmpV3Report(view, at, records));
        expect(read4(bytes)).toEqual({ type: IgmpType.V3Report, records });
        for (let length = 0; length < bytes.length; length++) {
          const message = read4(bytes.slice(0, length));
          if (message?.type === IgmpType.V3Report) expect(message.records.length).toBe(0);
        }
      }),
    );
  });

  it('whatever bytes come, nothing throws', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 80 }), (bytes) => {
        read4(bytes);
        const packet = new Uint8Array(40 + bytes.length);
        packet.set(bytes, 40);
        read6(packet);
        afterHopByHop(viewOf(bytes), 0, bytes.length);
        readGroupRecords(viewOf(bytes), 0, bytes.length, 5, 6);
      }),
    );
  });
});
