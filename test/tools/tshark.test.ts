// Goal: the tshark helper gives rows, objects and field names as they are, and tshark's own words when it fails; and
// tshark opens what our writers write. Method: the committed sample and files written here.

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, describe, expect, it } from 'vitest';
import { PcapWriter } from '../../pcap/pcap-writer.ts';
import { PcapngWriter } from '../../pcap/pcapng-writer.ts';
import { Direction, LinkType } from '../../pcap/types.ts';
import { tsharkFieldNames, tsharkJson, tsharkNumber, tsharkRows } from '../../tools/tshark.ts';
import { describeWith } from '../support/need.ts';

const SAMPLE = fileURLToPath(new URL('../vectors/rxe-sample.pcap', import.meta.url));

describe('tsharkNumber', () => {
  it('takes decimal, hex and the flags of newer versions', () => {
    expect(['12', '0x1f', '18446744073709551615', 'True', 'False'].map(tsharkNumber)).toEqual([
      12n,
      31n,
      18446744073709551615n,
      1n,
      0n,
    ]);
  });
});

describeWith('tshark', 'tshark', () => {
  const scratch = mkdtempSync(join(tmpdir(), 'roce-tshark-'));
  afterAll(() => rmSync(scratch, { recursive: true }));

  it('gives a row a packet, with all values of a field, none where it is absent', async () => {
    const rows = await tsharkRows(SAMPLE, ['frame.number', 'ip.src', 'infiniband.reserved'], {
      filter: 'frame.number in {4, 6}',
    });
    expect(rows.map((row) => [...row.values()])).toEqual([
      [['4'], [], []],
      [['6'], ['10.77.0.2'], ['00', '00', '0000', '00000000', '00000000']],
    ]);
  });

  it('gives packets as objects', async () => {
    expect(await tsharkJson(SAMPLE, { filter: 'infiniband.mad.attributeid == 0x10' })).toHaveLength(2);
    expect(await tsharkJson(SAMPLE, { filter: 'frame.number == 0' })).toEqual([]);
  });

  it('knows the names of fields', () => {
    const names = tsharkFieldNames('infiniband.bth.');
    expect(names.has('infiniband.bth.psn')).toBe(true);
    expect([...names].every((name) => name.startsWith('infiniband.bth.'))).toBe(true);
  });

  it('says what is wrong in its own words', async () => {
    await expect(tsharkRows(join(scratch, 'none.pcap'), ['frame.number'])).rejects.toThrow(/none\.pcap/);
    await expect(tsharkRows(SAMPLE, ['no.such.field'])).rejects.toThrow(/no\.such\.field/);
  });

  it('reads what PcapngWriter writes: interfaces, exact times, directions, comments', async () => {
    const writer = new PcapngWriter({
      application: 'roce',
      hardware: 'none',
      operatingSystem: 'any',
      comment: 'seed 7',
    });
    writer.addInterface({ name: 'tx', description: 'the sender', linkType: LinkType.Ethernet });
    writer.addInterface({ name: 'rx', linkType: LinkType.Raw, snapLength: 32 });
    const bytes = new Uint8Array(61).fill(1);
    writer.packet(0, bytes, 0, 61, 1_795_230_353, 123_456_789, {
      direction: Direction.Outbound,
      comments: ['one', 'zwei ä'],
    });
    writer.packet(1, bytes, 1, 60, 0, 1, { direction: Direction.Inbound });
    const file = join(scratch, 'written.pcapng');
    writeFileSync(file, writer.take());
    const fields = ['frame.time_epoch', 'frame.interface_name', 'frame.packet_flags_direction', 'frame.comment'];
    const rows = await tsharkRows(file, [...fields, 'frame.len', 'frame.cap_len', 'frame.encap_type']);
    expect(rows.map((row) => [...row.values()].map((values) => values.join('|')))).toEqual([
      ['1795230353.123456789', 'tx', '0x00000002', 'one|zwei ä', '61', '61', '1'],
      ['0.000000001', 'rx', '0x00000001', '', '59', '32', '7'],
    ]);
  });

  it('reads what PcapWriter writes', async () => {
    const writer = new PcapWriter(LinkType.Ethernet, 40);
    writer.packet(new Uint8Array(61), 0, 61, 1_795_230_353, 123_456_789);
    const file = join(scratch, 'written.pcap');
    writeFileSync(file, writer.take());
    const rows = await tsharkRows(file, ['frame.time_epoch', 'frame.len', 'frame.cap_len']);
    expect(rows.map((row) => [...row.values()].flat())).toEqual([['1795230353.123456789', '61', '40']]);
  });
});
