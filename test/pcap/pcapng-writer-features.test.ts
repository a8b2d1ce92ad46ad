// Goal: everything that PcapngWriter can say of a file, its interfaces and its packets is understood by our own reader,
// by tshark and by capinfos. Method: any such statements read back the same; one file with all of them before the stock
// tools.

import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { IpAddress } from '../../packets/address.ts';
import { Op } from '../../packets/opcode.ts';
import { type PcapngInterfaceOptions, PcapngWriter } from '../../pcap/pcapng-writer.ts';
import { CaptureReader, readCapture } from '../../pcap/reader.ts';
import { Direction, LinkType } from '../../pcap/types.ts';
import { tsharkRows } from '../../tools/tshark.ts';
import { rxeFrame } from '../packets/made-frames.ts';
import { toHex } from '../packets/support.ts';
import { describeWith } from '../support/need.ts';

const text = fc
  .string({ unit: 'grapheme' })
  .filter((value) => !value.includes('\0') && value.isWellFormed() && !value.startsWith('\ufeff'));
const word = text.filter((value) => value !== '');
const words = fc.array(word, { maxLength: 3 });
const count = fc.integer({ min: 0, max: Number.MAX_SAFE_INTEGER });
const time = fc.record({ seconds: fc.nat({ max: 2 ** 33 }), nanoseconds: fc.nat({ max: 999_999_999 }) });
const anInterface = fc.record({
  ...{
    linkType: fc.nat({ max: 0xffff }),
    snapLength: fc.constantFrom(0, 64),
    name: text,
    description: text,
    filter: text,
  },
  ...{ hardware: text, operatingSystem: text, comments: words, speedBps: count },
});
const statistics = fc
  .record(
    { start: time, end: time, received: count, dropped: count, accepted: count, droppedByOs: count, delivered: count },
    { requiredKeys: [] },
  )
  .chain((some) => time.map((when) => ({ ...some, ...when })));
const section = fc.record({ application: text, hardware: text, operatingSystem: text, comments: words });
const addresses = fc.oneof(
  fc.ipV4(),
  fc
    .ipV6()
    .filter((address) => !/\d\.\d/.test(address))
    .map((address) => IpAddress.parse(address).toString()),
);

function readerOf(bytes: Uint8Array): CaptureReader {
  const reader = new CaptureReader();
  reader.push(bytes);
  while (reader.next() !== undefined);
  reader.end();
  return reader;
}

describe('PcapngWriter', () => {
  it('tells sections, interfaces and their statistics so that they are read back the same', () => {
    fc.assert(
      fc.property(section, anInterface, statistics, (aSection, one, counted) => {
        const writer = new PcapngWriter(aSection);
        writer.addInterface(one);
        writer.statistics(0, counted);
        const reader = readerOf(writer.take());
        expect(reader.sections).toEqual([{ ...aSection, littleEndian: true }]);
        expect(reader.interfaces).toEqual([expect.objectContaining({ ...one, statistics: counted })]);
      }),
    );
  });

  it('tells drop counts and packet ids so that they are read back the same', () => {
    const optional = fc.record(
      { dropCount: count, packetId: fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }) },
      { requiredKeys: [] },
    );
    fc.assert(
      fc.property(optional, (options) => {
        const writer = new PcapngWriter();
        writer.addInterface({ name: '', linkType: LinkType.Ethernet });
        writer.packet(0, new Uint8Array(3), 0, 3, 0, 0, options);
        const [packet] = [...readCapture(writer.take())];
        expect(packet).toMatchObject(options);
        expect(Object.keys(packet ?? {})).toEqual(expect.arrayContaining(Object.keys(options)));
        expect(packet?.dropCount).toBe(options.dropCount);
        expect(packet?.packetId).toBe(options.packetId);
      }),
    );
  });

  it('tells names so that they are read back the same', () => {
    const lists = fc.uniqueArray(fc.tuple(addresses, fc.uniqueArray(word, { minLength: 1, maxLength: 4 })), {
      selector: ([address]) => address,
    });
    fc.assert(
      fc.property(lists, (list) => {
        const writer = new PcapngWriter();
        writer.names(list);
        expect([...readerOf(writer.take()).names]).toEqual(list);
      }),
    );
  });

  it('leaves out of names what is none, and refuses what is no address', () => {
    const writer = new PcapngWriter();
    writer.names([['10.0.0.1', ['', '\0', 'a\0b', 'x'.repeat(70_000)]]]);
    expect(readerOf(writer.take()).names.get('10.0.0.1')).toEqual(['ab', 'x'.repeat(65_518)]);
    expect(() => writer.names([['nowhere', ['name']]])).toThrow(expect.objectContaining({ code: 'ERR_ROCE_ADDRESS' }));
    expect(writer.pendingBytes).toBe(0);
  });

  it('writes blocks of others padded, and none of its own kinds', () => {
    const writer = new PcapngWriter();
    writer.take();
    writer.block(0xbad, new Uint8Array([1, 2, 3, 4, 5]));
    expect(toHex(writer.take())).toBe('ad0b0000' + '14000000' + '0102030405000000' + '14000000');
    for (const type of [1, 0x0a0d0d0a]) {
      expect(() => writer.block(type, new Uint8Array(8))).toThrow(
        expect.objectContaining({ code: 'ERR_ROCE_ARGUMENT' }),
      );
    }
  });

  it('refuses statistics of an interface that was not added', () => {
    expect(() => new PcapngWriter().statistics(0, { seconds: 0, nanoseconds: 0 })).toThrow(
      'capture interface 0 was not added to this writer',
    );
  });
});

describeWith('tshark', 'a file with everything', () => {
  const frame = rxeFrame(Op.Acknowledge);
  const eth0: PcapngInterfaceOptions = {
    ...{ name: 'eth0', description: 'left', linkType: LinkType.Ethernet, filter: 'udp port 4791', hardware: 'a card' },
    ...{ operatingSystem: 'Linux 6', speedBps: 100e9, comments: ['on it'] },
  };
  const directory = mkdtempSync(join(tmpdir(), 'roce-writer-'));
  const path = join(directory, 'file.pcapng');

  beforeAll(() => {
    const writer = new PcapngWriter({
      ...{ application: 'roce 1', hardware: 'a box', operatingSystem: 'Linux', comment: 'first', comments: ['second'] },
    });
    writer.addInterface(eth0);
    writer.addInterface({ name: 'eth1', linkType: LinkType.Ethernet });
    writer.names(
      new Map([
        ['10.77.0.1', ['left-host']],
        ['10.77.0.2', ['right-host']],
        ['fe80::1', ['six']],
      ]),
    );
    const direction = Direction.Outbound;
    writer.packet(0, frame, 0, frame.length, 1_700_000_000, 123_456_789, {
      ...{ direction, comments: ['one', 'two'], dropCount: 7, packetId: 0xdeadbeefn },
    });
    writer.block(0x7fff0001, new Uint8Array(3));
    const large = { packetId: 2n ** 64n - 1n, dropCount: 2 ** 40 };
    writer.packet(1, frame, 0, 60, 1_700_000_001, 0, { ...large, originalLength: frame.length });
    writer.statistics(0, { seconds: 1_700_000_002, nanoseconds: 5, received: 10, dropped: 3 });
    writeFileSync(path, writer.take());
  });
  afterAll(() => rmSync(directory, { recursive: true }));

  it('is read by tshark as it was meant', async () => {
    const fields = [
      'comment',
      'packet_flags_direction',
      'drop_count',
      'packet_id',
      'interface_name',
      'time_epoch',
      'len',
      'cap_len',
    ];
    const rows = await tsharkRows(
      path,
      fields.map((name) => `frame.${name}`),
    );
    const length = String(frame.length);
    expect(rows.map((row) => [...row.values()].map((values) => values.join()))).toEqual([
      ['one,two', '0x00000002', '7', '3735928559', 'eth0', '1700000000.123456789', length, length],
      ['', '', '1099511627776', '18446744073709551615', 'eth1', '1700000001.000000000', length, '60'],
    ]);
  });

  it('gives tshark its names', () => {
    const args = ['-N', 'n', '-r', path, '-T', 'fields', '-e', 'ip.src_host', '-e', 'ip.dst_host', '-c', '1'];
    const hosts = execFileSync('tshark', args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] })
      .trim()
      .split('\t');
    expect(hosts.toSorted()).toEqual(['left-host', 'right-host']);
  });

  it('is told by capinfos as it was meant', () => {
    const told = execFileSync('capinfos', ['-A', path], { encoding: 'utf8' }).replaceAll(/ +/g, ' ');
    for (const line of [
      ...['Number of packets: 2', 'Capture hardware: a box', 'Capture oper-sys: Linux', 'Capture application: roce 1'],
      ...['Capture comment: first', 'Capture comment: second', 'Number of interfaces in file: 2', ' Name = eth0'],
      ...[' Description = left', ' Hardware = a card', ' Speed = 100000000000', ' Filter string = udp port 4791'],
      ...[' Operating system = Linux 6', ' Comment = on it', ' Number of stat entries = 1', ' Name = eth1'],
      ...['Number of resolved IPv4 addresses in file: 2', 'Number of resolved IPv6 addresses in file: 1'],
    ]) {
      expect(told.split('\n')).toContain(line);
    }
  });
});
