/**
 * Goal: `roce analyze` says first what is wrong, ends with the code that its severity calls for, and shows what is
 * whole of a damaged file. Method: the command's action in this process, with streams in memory, on captures that are
 * made here: a WRITE that is refused, one that waits for a receive, one that is fine.
 */
import { linkSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, describe, expect, it } from 'vitest';
import type { Analysis } from '../../../pcap/analysis/types.ts';
import { PcapngWriter } from '../../../pcap/pcapng-writer.ts';
import { readCapture } from '../../../pcap/reader.ts';
import { LinkType } from '../../../pcap/types.ts';
import { type AnalyzeFlags, analyzeFiles } from '../../../tools/analyze/command.ts';
import { allScenes } from '../../../tools/symptoms/index.ts';
import { chunksOf, Sink } from '../../support/sink.ts';

const SAMPLE = fileURLToPath(new URL('../../vectors/rxe-sample.pcap', import.meta.url));
const scratch = mkdtempSync(join(tmpdir(), 'roce-analyze-'));
afterAll(() => rmSync(scratch, { recursive: true }));

async function analyze(file: string, flags: Partial<AnalyzeFlags> = {}, stdin = chunksOf()) {
  const [stdout, stderr] = [new Sink(), new Sink()];
  const code = await analyzeFiles([file], { icrc: true, ...flags }, { stdin, stdout, stderr });
  const text = stdout.bytes.toString('utf8');
  return { code, text, lines: text.split('\n'), complaint: stderr.bytes.toString('utf8'), bytes: stdout.bytes };
}

/** The file of a scene of `tools/symptoms`. */
async function scene(name: string): Promise<string> {
  const file = join(scratch, `${name}.pcapng`);
  const found = allScenes().find((each) => each.name === name);
  if (found === undefined) throw new Error(`there is no scene ${name}`);
  writeFileSync(file, await found.make());
  return file;
}

const error = await scene('remote-access-wrong-key');
const warning = await scene('sequence-error-loss-at-receiver');
const sound = await scene('remote-access-zero-bytes');

describe('roce analyze', () => {
  it('says that nothing is wrong, and exits with 0', async () => {
    const { code, lines, complaint } = await analyze(sound);
    expect({ code, complaint, verdict: lines[0] }).toEqual({
      code: 0,
      complaint: '',
      verdict: `${sound}: nothing found that is wrong`,
    });
  });

  it('begins with the verdict: what is wrong, which packets prove it, what to do, what to type, where more is said', async () => {
    const { code, lines } = await analyze(error);
    expect(code).toBe(1);
    expect(lines[0]).toBe(`${error}: 1 error`);
    const labels = lines.slice(2, lines.indexOf('', 2)).map((line) => line.slice(0, 11).trim());
    expect(lines[2]).toMatch(/^ERROR remote-access-error: \S/);
    expect(labels.filter((label) => /^(packets?|do|run|more)$/.test(label))).toEqual([
      expect.stringMatching(/^packets?$/),
      'do',
      'run',
      'more',
    ]);
    expect(lines).toContain('  more     docs/symptoms.md#remote-access-error');
  });

  it('exits with 3 when there are only warnings', async () => {
    const { code, lines } = await analyze(warning);
    expect([code, lines[0]]).toEqual([3, `${warning}: 1 warning`]);
  });

  it('fits into 100 columns, commands excepted', async () => {
    for (const file of [error, warning, SAMPLE, await scene('no-reply-wrong-qpn-ipv6')]) {
      const { lines } = await analyze(file, { verbose: true, events: true });
      expect(lines.slice(1).filter((line) => line.length > 100 && !/^ {11}\S|^ {2}run/.test(line))).toEqual([]);
    }
  });

  it('shows the figures of both ends, and leaves out what there is none of', async () => {
    const { text } = await analyze(warning);
    expect(text).toMatch(/^ {2}messages +6 WRITE$/m);
    expect(text).toMatch(/^ {2}NAKs received +3 PSN sequence error$/m);
    expect(text).toMatch(/^ {4}lost +3 +0$/m);
    expect(text).toMatch(/^ {2}reaction to a NAK \* +\S+ us \/ \S+ us \/ \S+ us +-$/m);
    expect(text).not.toMatch(/RNR|CNPs|VLAN/);
  });

  it('tells of what connection management agreed on, and counts other traffic', async () => {
    const { text } = await analyze(SAMPLE);
    const { text: first } = await analyze(SAMPLE, { conversation: [1] });
    expect(first).toMatch(/known from connection management \(frames REQ 6, REP 7, RTU 8/);
    expect(text).toMatch(/^others +.*\d+ ARP/m);
  });

  it('explains itself and shows figures when asked', async () => {
    const [plain, verbose] = [await analyze(error), await analyze(error, { verbose: true })];
    expect(plain.text).not.toMatch(/^ {2}(why|seen as|figures) /m);
    expect(verbose.text).toMatch(/^ {2}why {6}\S/m);
    expect(verbose.text).toMatch(/^ {2}seen as {2}\S/m);
  });

  it('gives everything as one object', async () => {
    const { code, text } = await analyze(error, { json: true });
    const analysis: Analysis = JSON.parse(text);
    expect(code).toBe(1);
    expect(Object.keys(analysis)).toEqual([
      'capture',
      'vantages',
      'limits',
      'findings',
      'conversations',
      'conversationsOmitted',
      'events',
      'eventsOmitted',
      'paths',
    ]);
    expect(analysis.findings[0]).toMatchObject({ id: 'remote-access-error', severity: 'error', conversations: [1] });
    expect(analysis.findings[0]).toHaveProperty('page', 'docs/symptoms.html#remote-access-error');
  });

  it('lists events in the order in which they became certain', async () => {
    const { lines } = await analyze(warning, { events: true });
    const from = lines.findIndex((line) => line.endsWith('conv.end event'));
    const events = lines
      .slice(from + 1)
      .flatMap((line) => [/^ +[\d.]+ +(\d+) +([\d.]+) (\S+) /.exec(line)?.slice(1) ?? []])
      .filter((cells) => cells.length > 0)
      .slice(0, 3);
    expect(events).toEqual([
      ['14', '1.0', 'nak'],
      ['23', '1.0', 'retransmission'],
      ['23', '1.0', 'loss'],
    ]);
  });

  it('shows one conversation and what is about it', async () => {
    const { text, code } = await analyze(SAMPLE, { conversation: [2] });
    expect(code).toBe(0);
    expect(text.match(/^conversation /gm)).toHaveLength(1);
    expect(text).not.toContain('capture  ');
    expect(await analyze(SAMPLE, { conversation: [99] })).toMatchObject({
      code: 2,
      text: '',
      complaint: expect.stringMatching(
        /^roce analyze: .+: there is no conversation 99; there are \d+, numbered 1 to \d+\n$/,
      ),
    });
  });

  it('gives one conversation and what is about it as an object', async () => {
    const { text } = await analyze(SAMPLE, { conversation: [3, 2], json: true });
    const { conversations, findings, events }: Analysis = JSON.parse(text);
    expect(conversations.map(({ id }) => id)).toEqual([2, 3]);
    expect([
      ...findings.flatMap((finding) => finding.conversations),
      ...events.map(({ conversation }) => conversation),
    ]).toEqual([]);
  });

  it('counts what the capturing side dropped where only the statistics of interfaces say so', async () => {
    const file = join(scratch, 'drops.pcapng');
    const writer = new PcapngWriter({ application: 'test' });
    const linkType = LinkType.Ethernet;
    const [eth0, eth1] = ['eth0', 'eth1'].map((name) => writer.addInterface({ name, linkType }));
    if (eth0 === undefined || eth1 === undefined) throw new Error('two interfaces were added');
    writer.packet(eth0, new Uint8Array(60), 0, 60, 1, 0, { dropCount: 2 });
    writer.statistics(eth0, { seconds: 2, nanoseconds: 0, received: 20, dropped: 1000, droppedByOs: 30 });
    writer.statistics(eth1, { seconds: 2, nanoseconds: 0, droppedByOs: 4 });
    writeFileSync(file, writer.take());
    const { text } = await analyze(file, { json: true });
    expect(JSON.parse(text)).toMatchObject({ capture: { packets: 1, captureDrops: 1034 } });
    const { lines } = await analyze(file);
    expect(lines).toContain('dropped    1,034 packets that the capturing host dropped');
  });

  it('reads standard input', async () => {
    const bytes = readFileSync(error);
    const half = bytes.length >> 1;
    const { code, lines } = await analyze('-', {}, chunksOf(bytes.subarray(0, half), bytes.subarray(half)));
    expect([code, lines[0]]).toEqual([1, 'standard input: 1 error']);
  });
});

describe('roce analyze of what is no whole capture', () => {
  it('shows what is whole, then says where it ends, and exits with 2', async () => {
    const file = join(scratch, 'cut.pcapng');
    writeFileSync(file, readFileSync(error).subarray(0, -7));
    const { code, lines, complaint } = await analyze(file);
    expect(lines[0]).toBe(`${file}: 1 error`);
    expect(complaint).toMatch(/^roce analyze: .+cut\.pcapng: capture file, byte \d+: [^\n]+\n$/);
    expect(code).toBe(2);
  });

  it.each([
    ['a file that is not there', join(scratch, 'none.pcap'), /^roce analyze: ENOENT: [^\n]*none\.pcap'\n$/],
    ['a directory', scratch, /^roce analyze: .+: this is a folder, and a file is needed\n$/],
    ['a file that is no capture', fileURLToPath(import.meta.url), /^roce analyze: .+: capture file, byte 0: [^\n]*\n$/],
  ])('says %s in one line, and nothing else', async (_what, file, line) => {
    const { code, text, complaint } = await analyze(file);
    expect({ code, text }).toEqual({ code: 2, text: '' });
    expect(complaint).toMatch(line);
  });
});

describe('the capture that is written', () => {
  it('is the same but for comments, which stand where the findings and events are', async () => {
    const file = join(scratch, 'commented.pcapng');
    const { code } = await analyze(warning, { write: file });
    const { text } = await analyze(warning, { json: true });
    const { findings, events }: Analysis = JSON.parse(text);
    const [before, after] = [warning, file].map((name) => [...readCapture(readFileSync(name))]);
    expect(code).toBe(3);
    expect(
      after?.map(({ bytes, seconds, nanoseconds, direction }) => [bytes, seconds, nanoseconds, direction]),
    ).toEqual(before?.map(({ bytes, seconds, nanoseconds, direction }) => [bytes, seconds, nanoseconds, direction]));
    const expected = new Set([...findings.flatMap(({ frames }) => frames), ...events.map(({ frame }) => frame)]);
    const commented = after?.filter(({ comments }) => comments.some((comment) => comment.startsWith('roce')));
    expect(new Set(commented?.map(({ number }) => number))).toEqual(expected);
    const [nak] = commented ?? [];
    expect(nak?.comments).toEqual([
      `roce warning, sequence-error: ${findings[0]?.text}`,
      'roce: nak, psn 108, PSN sequence error, of frame 13, after 0 ns',
    ]);
  });

  it('goes to standard output in the place of the report', async () => {
    const { bytes } = await analyze(error, { write: '-' });
    expect([...readCapture(bytes)].length).toBe([...readCapture(readFileSync(error))].length);
  });

  it('holds what is whole of a damaged one', async () => {
    const [from, to] = [join(scratch, 'damaged.pcapng'), join(scratch, 'saved.pcapng')];
    writeFileSync(from, readFileSync(error).subarray(0, -7));
    const { code, complaint } = await analyze(from, { write: to });
    expect(code).toBe(2);
    expect(complaint.split('\n')).toHaveLength(2);
    expect([...readCapture(readFileSync(to))].length).toBe([...readCapture(readFileSync(error))].length - 1);
  });

  it('is never the capture that is read, by whatever name', async () => {
    const [file, other] = [join(scratch, 'dear.pcapng'), join(scratch, 'same.pcapng')];
    writeFileSync(file, readFileSync(error));
    linkSync(file, other);
    for (const write of [file, other]) {
      const { code, complaint, text } = await analyze(file, { write });
      expect([code, text]).toEqual([2, '']);
      expect(complaint).toBe(`roce analyze: ${write} is the capture that is read: write to another file\n`);
    }
    expect(readFileSync(file)).toEqual(readFileSync(error));
  });

  it('is complained about when it cannot be made', async () => {
    const { code, complaint } = await analyze(error, { write: join(scratch, 'no', 'dir') });
    expect(complaint).toMatch(/^roce analyze: ENOENT: [^\n]*\n$/);
    expect(code).toBe(2);
  });
});
