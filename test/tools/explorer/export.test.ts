/**
 * Goal: what leaves the explorer is what it shows: packets as a pcapng file, byte for byte with their times, and fields
 * as filters that let their own packet pass. Method: captures with losses and of real devices, read again.
 */
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { readCapture } from '../../../pcap/index.ts';
import { exportPackets, shownIndices } from '../../../tools/explorer/engine/export.ts';
import { fieldFilter } from '../../../tools/explorer/engine/field-filter.ts';
import { bytesInMemory } from '../../../tools/explorer/engine/file-bytes.ts';
import { packetDetail } from '../../../tools/explorer/engine/rows.ts';
import { CaptureSession } from '../../../tools/explorer/engine/session.ts';
import { lossyCapture } from './lossy-capture.ts';

function opened(bytes: Uint8Array): CaptureSession {
  const session = new CaptureSession('a capture', bytesInMemory(new Uint8Array(bytes)));
  while (session.work(1000));
  return session;
}

function filtered(session: CaptureSession, filter: string): CaptureSession {
  expect(session.setFilter(filter)).toBe(null);
  while (session.work(1000));
  return session;
}

describe('exportPackets', () => {
  it('writes the packets that are shown as they were captured', async () => {
    const capture = await lossyCapture();
    const session = filtered(opened(capture), 'nak or rnr or bad-icrc');
    const file = Buffer.concat(exportPackets(session, shownIndices(session), 'a comment'));
    const wanted = [...shownIndices(session)];
    const packets = [...readCapture(capture)].filter(({ number }) => wanted.includes(number - 1));
    expect(packets.length).toBeGreaterThan(5);
    const parts = ({ bytes, seconds, nanoseconds, direction, originalLength, comments }: (typeof packets)[0]) =>
      [Buffer.from(bytes).toString('hex'), seconds, nanoseconds, direction, originalLength, comments] as const;
    expect([...readCapture(file)].map(parts)).toEqual(packets.map(parts));
  });

  it('keeps which interface a packet was seen at, and the names', () => {
    const session = opened(readFileSync(new URL('../../../corpus/scenes/pfc-occasional.pcapng', import.meta.url)));
    const file = opened(Buffer.concat(exportPackets(session, shownIndices(session), '')));
    const places = ({ table, interfaces }: CaptureSession) =>
      Array.from({ length: table.length }, (_, index) => interfaces[table.interfaceIndex[index] ?? 0]?.name);
    expect(places(file)).toEqual(places(session));
    expect(file.analysis?.findings).toEqual(session.analysis?.findings);
  });

  it('writes a file without packets where nothing is shown', async () => {
    const session = filtered(opened(await lossyCapture()), 'frame 9999');
    expect([...readCapture(Buffer.concat(exportPackets(session, shownIndices(session), '')))]).toEqual([]);
  });
});

describe('fieldFilter', () => {
  it.each(['rping', 'fetch-add', 'ud-pingpong'])('lets the packet of the field pass: %s', (name) => {
    const session = opened(readFileSync(new URL(`../../../corpus/real/${name}.pcap`, import.meta.url)));
    const number = Math.min(12, session.table.length);
    const fields = packetDetail(session, number)?.headers.flatMap((header) => header.fields) ?? [];
    const texts = fields.map((_, index) => fieldFilter(session, number, index)).filter((text) => text !== '');
    expect(texts.length).toBeGreaterThan(fields.length * 0.7);
    for (const text of texts) expect([...shownIndices(filtered(session, text))]).toContain(number - 1);
  });

  it('writes a PSN, an address and an ICRC as the language of filters has them', async () => {
    const session = opened(await lossyCapture());
    const fields = packetDetail(session, 16)?.headers.flatMap((header) => header.fields) ?? [];
    const of = (name: string) =>
      fieldFilter(
        session,
        16,
        fields.findIndex((field) => field.name === name),
      );
    expect(of('infiniband.bth.psn')).toBe('infiniband.bth.psn == 6762649');
    expect(of('ip.src')).toBe('ip.src == 10.0.0.2');
    expect(of('infiniband.invariant.crc')).toBe('infiniband.invariant.crc == 0x23e3c7b6');
    expect(of('no such field')).toBe('');
  });
});
