/**
 * Goal: the tables of `roce export` have what the analyzer says, row by row. Method: captures of several kinds are
 * exported in tiny row groups, read with hyparquet, and compared with an analyzer that looks at the same bytes.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { asyncBufferFromFile, parquetMetadataAsync } from 'hyparquet';
import { afterAll, describe, expect, it } from 'vitest';
import { eventDetail } from '../../../pcap/analysis/event-text.ts';
import { Analyzer, type CapturedPacket, MARK_NAMES, readCapture, type TransportEvent } from '../../../pcap/index.ts';
import { exportCapture } from '../../../tools/export/export.ts';
import { conversationsOf } from '../../../tools/export/limit-tables.ts';
import { SCHEMA_VERSION } from '../../../tools/export/schema.ts';
import { TABLE_NAMES } from '../../../tools/export/tables.ts';
import { chunksOf, Sink } from '../../support/sink.ts';
import { bothWays, type Member, makeFleet, rowsOf } from './fleet.ts';

const scratch = mkdtempSync(join(tmpdir(), 'roce-export-'));
afterAll(() => rmSync(scratch, { recursive: true }));
const out = join(scratch, 'out');
const fleet = await makeFleet(scratch);
const OPTIONS = { out, tables: TABLE_NAMES, icrc: true, createdBy: 'test', rowGroupRows: 7 };
const streams = { stdin: chunksOf(), stderr: new Sink() };
for (const { host, file } of fleet) await exportCapture({ file, capture: host, host }, OPTIONS, streams);

/** What the analyzer says of each packet, with the conversations as they are in the end. */
function packetsOf({ bytes }: Member): unknown[] {
  const analyzer = new Analyzer();
  const packets = [...readCapture(bytes)].map((packet) => {
    const { conversation, sender, marks, dissection } = analyzer.packet(packet);
    return { packet, id: conversation?.id, sender, marks, psn: dissection.frame.psn, bth: dissection.frame.bthOffset };
  });
  analyzer.finish();
  return packets.map(({ packet, id, sender, marks, psn, bth }) => {
    const whole = id === undefined ? undefined : analyzer.wholeOf(id);
    const end = whole?.crosswise === true ? 1 - sender : sender;
    return {
      frame: BigInt(packet.number),
      time_ns: timeOf(packet),
      conversation: whole?.id ?? id ?? null,
      sender: id === undefined ? null : end,
      psn: bth < 0 ? null : psn,
      marks: MARK_NAMES.filter((_, bit) => (marks & (1 << bit)) !== 0),
    };
  });
}

const timeOf = ({ seconds, nanoseconds }: CapturedPacket): bigint =>
  BigInt(seconds) * 1_000_000_000n + BigInt(nanoseconds);

/** The same with NULL for what reports have a number for. */
const orNull = (value: number, none: number): number | null => (value === none ? null : value);
const big = (value: number | null): bigint | null => (value === null ? null : BigInt(value));

describe.each(fleet.map((member) => [member.host, member] as const))('the capture of %s', (host, member) => {
  const { analysis } = member;

  it('has each packet, with the conversation that it turned out to belong to', async () => {
    const rows = await rowsOf(out, 'packets', host);
    const seen = rows.map(({ frame, time_ns, conversation, sender, psn, ...rest }) => {
      const marks = MARK_NAMES.filter((name) => rest[name.replaceAll('-', '_')] === true);
      return { frame, time_ns, conversation, sender, psn, marks };
    });
    expect(seen).toEqual(packetsOf(member));
    expect(rows.filter(({ roce }) => roce === true).length).toBe(analysis.capture.rocePackets);
    expect(rows.filter(({ icrc_state }) => icrc_state === 'bad').length).toBe(analysis.capture.badIcrc);
    expect(rows.reduce((sum, { wire_bytes }) => sum + Number(wire_bytes), 0)).toBe(analysis.capture.bytes);
  });

  it('has each end of its conversations, and the packets that it sent', async () => {
    const rows = await rowsOf(out, 'conversation_ends', host);
    expect(rows.map(({ conversation, side }) => [conversation, side])).toEqual(
      analysis.conversations.flatMap(({ id }) => [0, 1].map((side) => [id, side])),
    );
    const packets = await rowsOf(out, 'packets', host);
    for (const row of rows) {
      const end = analysis.conversations.find(({ id }) => id === row['conversation'])?.ends[row['side'] as 0 | 1];
      expect(row).toMatchObject({
        address: end?.address,
        qpn: orNull(end?.qpn ?? 0, -1),
        packets: BigInt(end?.packets ?? 0),
        retransmitted_packets: BigInt(end?.requester.retransmittedPackets ?? 0),
        timeouts: BigInt(end?.requester.timeouts ?? 0),
        cnps_sent: BigInt(end?.congestion.cnpsSent ?? 0),
        first_psn: orNull(end?.requester.firstPsn ?? 0, -1),
      });
      const sent = packets.filter(
        (one) =>
          one['conversation'] === row['conversation'] && one['sender'] === row['side'] && one['role'] !== 'management',
      );
      expect(BigInt(sent.length)).toBe(row['packets']);
    }
  });

  it('has each event, with the ends as they are in the end', async () => {
    const [first] = readCapture(member.bytes);
    const start = first === undefined ? 0n : timeOf(first);
    const rows = await rowsOf(out, 'events', host);
    expect(rows).toEqual(
      analysis.events.map((event) => ({
        capture: host,
        host,
        kind: event.kind,
        time_ns: start + BigInt(event.timeNs),
        frame: big(orNull(event.frame, 0)),
        refers_to: big(orNull(event.refersTo, -1)),
        conversation: orNull(event.conversation, 0),
        requester: event.conversation === 0 ? null : event.requester,
        sender: event.conversation === 0 ? null : event.sender,
        psn: orNull(event.psn, -1),
        packets: BigInt(event.count),
        cause: event.cause ?? null,
        duration_ns: big(orNull(event.durationNs, -1)),
        reason: event.reason ?? null,
        named: event.named === true,
        syndrome: event.syndrome ?? null,
        detail: eventDetail(event) || null,
      })),
    );
  });

  it('has its limits, and the conversations that they are about', async () => {
    const rows = await rowsOf(out, 'limits', host);
    expect(rows.map(({ capture: _, host: __, ...rest }) => rest)).toEqual(
      analysis.limits.map(({ kind, text, interfaces, frames, evidence }, i) => ({
        limit_number: i + 1,
        kind,
        text,
        interfaces: JSON.stringify(interfaces),
        frames: JSON.stringify(frames),
        evidence: JSON.stringify(evidence),
      })),
    );
  });

  it('has the findings, their packets and conversations, and the totals', async () => {
    const rows = await rowsOf(out, 'findings', host);
    expect(rows.map(({ id, severity, text, evidence }) => ({ id, severity, text, evidence }))).toEqual(
      analysis.findings.map(({ id, severity, text, evidence }) => ({
        id,
        severity,
        text,
        evidence: JSON.stringify(evidence),
      })),
    );
    const frames = await rowsOf(out, 'finding_packets', host);
    const links = await rowsOf(out, 'finding_conversations', host);
    for (const [i, finding] of analysis.findings.entries()) {
      const ofIt = (list: typeof rows) => list.filter((row) => row['finding'] === i + 1);
      expect(ofIt(frames).map(({ frame }) => Number(frame))).toEqual(finding.frames);
      expect(ofIt(links).map(({ conversation }) => conversation)).toEqual(finding.conversations);
    }
    expect(await rowsOf(out, 'captures', host)).toMatchObject([
      {
        file: member.file,
        damage: null,
        packets: BigInt(analysis.capture.packets),
        conversations: BigInt(analysis.conversations.length),
        events: BigInt(analysis.events.length),
        limits: BigInt(analysis.limits.length),
        findings: BigInt(analysis.findings.length),
      },
    ]);
  });
});

it('has captures in which conversations turned out to be halves, or this file proves little', () => {
  const halves = fleet.filter(({ bytes }) => {
    const analyzer = new Analyzer();
    const ids = new Set([...readCapture(bytes)].map((packet) => analyzer.packet(packet).conversation?.id));
    return [...ids].some((id) => id !== undefined && analyzer.wholeOf(id) !== undefined);
  });
  expect(halves.map(({ host }) => host)).toContain('A');
});

it('has a capture of which events are told otherwise when its end is known, or this file proves little', () => {
  const told = fleet.filter(({ bytes, analysis }) => {
    const live: TransportEvent[] = [];
    const analyzer = new Analyzer({ onEvent: (event) => live.push(event) });
    for (const packet of readCapture(bytes)) analyzer.packet(packet);
    analyzer.finish();
    expect(live.flatMap((event) => analyzer.reported(event))).toEqual(analysis.events);
    return (
      live.filter(({ kind }) => kind === 'loss').length > analysis.events.filter(({ kind }) => kind === 'loss').length
    );
  });
  expect(told.map(({ host }) => host)).toContain('lacking');
});

it('says of a limit which conversations it is about: those that it names, or all of its interfaces', () => {
  const all = [0, 1, 1].map((interfaceIndex, i) => ({ id: i + 1, interfaceIndex }));
  const about = (interfaces: number[], conversations: number[]) =>
    conversationsOf({ kind: 'cut', text: '', frames: [], evidence: {}, interfaces, conversations }, all);
  expect(about([], [])).toEqual([1, 2, 3]);
  expect(about([1], [])).toEqual([2, 3]);
  expect(about([1], [3])).toEqual([3]);
});

it('is the same whatever the row groups, but for their number', async () => {
  const file = join(scratch, 'A', 'roce.pcapng');
  const other = join(scratch, 'other');
  await exportCapture({ file, capture: 'A', host: 'A' }, { ...OPTIONS, out: other, rowGroupRows: 1_000_000 }, streams);
  for (const table of TABLE_NAMES) expect(await rowsOf(other, table, 'A')).toEqual(await rowsOf(out, table, 'A'));
  const metadata = await parquetMetadataAsync(await asyncBufferFromFile(join(other, 'packets', 'A.parquet')));
  expect(metadata.row_groups.length).toBe(1);
  expect(metadata.created_by).toBe('test');
  expect(metadata.key_value_metadata).toEqual([
    { key: 'rocev2.schema_version', value: String(SCHEMA_VERSION) },
    { key: 'rocev2.table', value: 'packets' },
  ]);
});

it('has the same bytes each time', async () => {
  expect(Buffer.compare(await bothWays('A'), fleet[0]?.bytes ?? new Uint8Array())).toBe(0);
});
