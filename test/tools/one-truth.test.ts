/**
 * Goal: a capture has one set of figures, whichever view shows them. Method: every capture in the repository goes
 * through `roce analyze`, `roce dump`, `roce export` and the explorer, and what they say of each conversation and of
 * each packet is compared.
 */
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, describe, expect, it } from 'vitest';
import { conversationFigures } from '../../pcap/analysis/conversation-figures.ts';
import { Mark, Role } from '../../pcap/analysis/facts.ts';
import { markNames } from '../../pcap/filter/index.ts';
import type { Analysis } from '../../pcap/index.ts';
import { analyzeChunks } from '../../tools/analyze/analyze.ts';
import { analyzeFiles } from '../../tools/analyze/command.ts';
import { overviewLines } from '../../tools/analyze/conversation-text.ts';
import { rateText } from '../../tools/analyze/words.ts';
import { dumpFrames, FileSource } from '../../tools/dump/index.ts';
import { bytesInMemory } from '../../tools/explorer/engine/file-bytes.ts';
import { ratePicture } from '../../tools/explorer/engine/rates.ts';
import { CaptureSession } from '../../tools/explorer/engine/session.ts';
import { exportCapture } from '../../tools/export/export.ts';
import { Sink } from '../support/sink.ts';
import { rowsOf } from './export/fleet.ts';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const CAPTURES = ['corpus', 'docs', 'examples', 'test', 'tools'].flatMap((folder) =>
  readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => /\.pcap(ng)?$/.test(name) && !/node_modules|dist/.test(name))
    .filter((name) => statSync(join(ROOT, folder, name)).isFile())
    .map((name) => join(folder, name)),
);
const out = mkdtempSync(join(tmpdir(), 'roce-truth-'));
afterAll(() => rmSync(out, { recursive: true }));

async function* once(bytes: Uint8Array) {
  yield bytes;
}

function sessionOf(bytes: Uint8Array<ArrayBuffer>): CaptureSession {
  const session = new CaptureSession('capture', bytesInMemory(bytes));
  while (session.work(5000));
  return session;
}

/** What `roce analyze --json` prints. */
async function analyzeCommand(file: string): Promise<Analysis> {
  const streams = { stdin: once(new Uint8Array()), stdout: new Sink(), stderr: new Sink() };
  await analyzeFiles([file], { json: true, icrc: true }, streams);
  return JSON.parse(streams.stdout.bytes.toString('utf8'));
}

/** Number, time, conversation, PSN and marks of each packet, as `roce dump --fields` prints them. */
async function dumpRows(bytes: Uint8Array): Promise<string[]> {
  const sink = new Sink();
  const names = ['frame.number', 'frame.time_epoch', 'roce.stream', 'roce.relative_psn', 'roce.marks'];
  const dumped = dumpFrames(new FileSource(once(bytes)), { fields: { names, separator: '|' } }, sink);
  // A defect of the file ends the packets; those before it are compared.
  await dumped.catch((error) => expect(error).toMatchObject({ code: 'ERR_ROCE_CAPTURE' }));
  let firstNs: bigint | undefined;
  return sink.lines.map((line) => {
    const [number, time = '', ...rest] = line.split('|');
    const ns = BigInt(time.replace('.', ''));
    firstNs ??= ns;
    return [number, ns - firstNs, ...rest].join('|');
  });
}

/**
 * The same of the explorer's list. What dump prints of a packet is what is known by then: it is a later datagram that
 * tells which conversation the first ones of connection management have made.
 */
function listRows({ table }: CaptureSession, dumped: readonly string[]): string[] {
  return Array.from({ length: table.length }, (_, index) => {
    const early = table.role[index] === Role.Management && dumped[index]?.split('|')[2] === '';
    const conversation = early ? '' : table.conversation[index] || '';
    const psn = table.relativePsn[index] ?? Number.NaN;
    const marks = markNames(table.marks[index] ?? 0).join(' ');
    return [index + 1, table.timeNs[index], conversation, Number.isNaN(psn) ? '' : psn, marks].join('|');
  });
}

/** Packets of a conversation that have one of these marks. */
function marked(session: CaptureSession, conversation: number, mark: number): number {
  const { values } = session.packetsOf(conversation);
  return values.filter((index) => ((session.table.marks[index] ?? 0) & mark) !== 0).length;
}

/** Datagrams of connection management, which the figures of a conversation leave out. */
function managementBytes(session: CaptureSession, conversation: number): number {
  const { table } = session;
  let bytes = 0;
  for (const index of session.packetsOf(conversation).values)
    if (table.role[index] === Role.Management) bytes += table.original[index] ?? 0;
  return bytes;
}

describe('the figures of a capture', () => {
  it('are of every capture there is', () => {
    expect(CAPTURES.length).toBeGreaterThan(100);
  });

  it.each(CAPTURES)('are the same in every view: %s', async (name) => {
    const bytes = new Uint8Array(readFileSync(join(ROOT, name)));
    const { analysis } = await analyzeChunks(once(bytes.slice()));
    const session = sessionOf(bytes.slice());
    expect(session.analysis?.findings).toEqual(analysis.findings);
    expect(session.analysis?.capture).toEqual(analysis.capture);
    const shown = session.analysis?.conversations ?? [];
    expect(shown.map(conversationFigures)).toEqual(analysis.conversations.map(conversationFigures));
    // Through the thread that reads, and back from text.
    if (analysis.capture.packets > 0)
      expect((await analyzeCommand(join(ROOT, name))).conversations.map(conversationFigures)).toEqual(
        analysis.conversations.map(conversationFigures),
      );
    const dumped = await dumpRows(bytes.slice());
    expect(dumped).toEqual(listRows(session, dumped));
    const lines = overviewLines(analysis.conversations).join('\n');
    for (const conversation of analysis.conversations) {
      const figures = conversationFigures(conversation);
      if (conversation.cm !== undefined) {
        expect(conversation.startNs).toBe(session.table.timeNs[conversation.firstFrame - 1]);
        expect(session.packetsOf(conversation.id).at(0)).toBe(conversation.firstFrame - 1);
      }
      expect({
        retransmitted: marked(session, conversation.id, Mark.Retransmission),
        naks: marked(session, conversation.id, Mark.Nak),
        rnrNaks: marked(session, conversation.id, Mark.RnrNak),
        timeouts: marked(session, conversation.id, Mark.AfterTimeout),
      }).toEqual({
        retransmitted: figures.retransmitted,
        naks: figures.naks,
        rnrNaks: figures.rnrNaks,
        timeouts: figures.timeouts,
      });
      expect(lines).toContain(rateText(figures.goodputBps));
      const picture = ratePicture(session, { conversation: conversation.id, fromNs: 0, toNs: 0, bins: 100 });
      const total = (column: (side: (typeof picture.sides)[0]) => Float64Array): number =>
        picture.sides.reduce((sum, side) => sum + column(side).reduce((a, b) => a + b, 0), 0);
      const inBytes = (bps: number): number => Math.round((bps * picture.binNs) / 8e9);
      expect(inBytes(total(({ goodputBps }) => goodputBps))).toBe(figures.goodputBytes);
      expect(inBytes(total(({ wireBps }) => wireBps))).toBe(figures.bytes + managementBytes(session, conversation.id));
      if (figures.durationNs > 0) expect(picture.toNs - picture.fromNs).toBe(figures.durationNs);
    }
  });

  it.each(CAPTURES)('are the same in the tables of an export: %s', async (name) => {
    const { analysis } = await analyzeChunks(once(new Uint8Array(readFileSync(join(ROOT, name)))));
    const capture = name.replace(/\W/g, '_');
    const options = { out, tables: ['captures', 'conversation_ends'] as const, icrc: true, createdBy: 'test' };
    const streams = { stdin: once(new Uint8Array()), stderr: new Sink() };
    await exportCapture({ file: join(ROOT, name), capture, host: undefined }, options, streams);
    if (analysis.capture.packets === 0) return;
    const rows = await rowsOf(out, 'conversation_ends', capture);
    for (const conversation of analysis.conversations) {
      const ends = rows.filter((row) => row['conversation'] === conversation.id);
      const sum = (...columns: string[]): number =>
        columns.reduce((total, column) => total + ends.reduce((all, row) => all + Number(row[column]), 0), 0);
      const figures = conversationFigures(conversation);
      expect({
        packets: sum('packets'),
        goodputBytes: sum('goodput_bytes'),
        lost: sum('lost_packets', 'response_lost_packets'),
        retransmitted: sum('retransmitted_packets', 'response_retransmitted_packets'),
        rnrNaks: sum('rnr_naks'),
        timeouts: sum('timeouts'),
      }).toEqual({
        packets: figures.packets,
        goodputBytes: figures.goodputBytes,
        lost: figures.lost,
        retransmitted: figures.retransmitted,
        rnrNaks: figures.rnrNaks,
        timeouts: figures.timeouts,
      });
      // Each end's rate is rounded by itself.
      expect(Math.abs(sum('goodput_bps') - figures.goodputBps)).toBeLessThanOrEqual(1);
    }
  });
});
