/**
 * Goal: nothing that a capture says, or is called, is obeyed by the terminal on which a command prints it. Method: one
 * capture with sequences of terminals in every text that the format has, under a name that has them too; every command
 * that prints captures, in every form; what was printed is searched for characters that are no text.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import type { Finding } from '../../pcap/analysis/types.ts';
import { PcapngWriter } from '../../pcap/pcapng-writer.ts';
import { readCapture } from '../../pcap/reader.ts';
import { LinkType } from '../../pcap/types.ts';
import { type AnalyzeFlags, analyzeFiles } from '../../tools/analyze/command.ts';
import { findingLines } from '../../tools/analyze/findings-text.ts';
import { type DumpOptions, dumpFrames, FileSource } from '../../tools/dump/index.ts';
import { allScenes } from '../../tools/symptoms/index.ts';
import { OWN_COLORS } from '../../tools/visible-text.ts';
import { itWith } from '../support/need.ts';
import { startProgram } from '../support/running.ts';
import { chunksOf, Sink } from '../support/sink.ts';

/** Clears the screen, sets the title, colours in C1, turns the text around, hides, ends the line. */
const HOSTILE = 'x\x1b[2J\x1b]0;owned\x07\x9b31m\u202e\u2066\u200b\u200f\ufeff\u2028\x7f\b\rFAKE\n1 fake.0 line';
const scratch = mkdtempSync(join(tmpdir(), 'roce-hostile-'));
const file = join(scratch, "it's $(id) \x1b]0;owned\x07\u202e.pcapng");
const bytes = await hostileCapture();
writeFileSync(file, bytes);
afterAll(() => rmSync(scratch, { recursive: true }));

/** A refused WRITE on which the analyzer has much to say. */
async function hostileCapture(): Promise<Uint8Array> {
  const scene = allScenes().find(({ name }) => name === 'remote-access-wrong-key');
  if (scene === undefined) throw new Error('the scene is gone');
  const texts = { application: HOSTILE, hardware: HOSTILE, operatingSystem: HOSTILE, comment: HOSTILE };
  const writer = new PcapngWriter(texts);
  const described = { description: HOSTILE, filter: HOSTILE, comments: [HOSTILE] };
  const wires = ['a', 'b'].map((name) =>
    writer.addInterface({ name: `${name}${HOSTILE}`, linkType: LinkType.Ethernet, ...described }),
  );
  writer.names([['10.0.0.1', [HOSTILE]]]);
  for (const { bytes: packet, seconds, nanoseconds } of readCapture(await scene.make()))
    writer.packet(wires[0] ?? 0, packet, 0, packet.length, seconds, nanoseconds, { comments: [HOSTILE] });
  return writer.take();
}

/** What a terminal would not just show, but for line feeds and tabs. */
function controlsIn(text: string): string[] {
  return [...new Set(text.match(/(?![\n\t])[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu) ?? [])].map((character) =>
    JSON.stringify(character),
  );
}

async function dump(options: DumpOptions): Promise<string> {
  const sink = new Sink();
  await dumpFrames(new FileSource(chunksOf(bytes)), options, sink);
  return sink.bytes.toString('utf8');
}

async function analyze(flags: Partial<AnalyzeFlags>): Promise<{ out: string; err: string }> {
  const [stdout, stderr] = [new Sink(), new Sink()];
  await analyzeFiles([file], { icrc: true, ...flags }, { stdin: chunksOf(), stdout, stderr });
  return { out: stdout.bytes.toString('utf8'), err: stderr.bytes.toString('utf8') };
}

describe('a capture with sequences of terminals in all its texts', () => {
  it.each<[string, DumpOptions]>([
    ['lines', {}],
    ['lines with marks', { analyze: true }],
    ['all fields', { verbose: true }],
    ['JSON', { json: true }],
    ['columns', { fields: { names: ['frame.comment', 'frame.interface_name', 'ip.src'], header: true } }],
    ['a ladder', { ladder: { width: 100 } }],
    ['a ladder in colours', { ladder: { width: 100, color: true } }],
  ])('is text in roce dump as %s', async (_form, options) => {
    const text = await dump(options);
    expect(text.length).toBeGreaterThan(200);
    // The only sequences left are those of the ladder's own colours.
    const own = options.ladder?.color === true ? text.replaceAll(OWN_COLORS, '') : text;
    expect(controlsIn(own)).toEqual([]);
    if (options.ladder === undefined && options.json !== true) expect(text).toContain('\\u001b[2J');
  });

  it('keeps its JSON', async () => {
    const [first = ''] = (await dump({ json: true })).split('\n');
    expect(JSON.stringify(JSON.parse(first))).toContain(JSON.stringify(HOSTILE));
  });

  it.each<[string, Partial<AnalyzeFlags>]>([
    ['a report', {}],
    ['a long report', { verbose: true, events: true }],
    ['JSON', { json: true }],
    ['one conversation', { conversation: [1] }],
  ])('is text in roce analyze as %s', async (_form, flags) => {
    const { out, err } = await analyze(flags);
    expect(out.length).toBeGreaterThan(200);
    expect(controlsIn(out + err)).toEqual([]);
    expect(out).not.toContain('\n1 fake.0 line');
  });

  it('has a name that is one word in the commands that a report suggests', () => {
    const finding: Finding = {
      id: 'rule/made-up',
      severity: 'error',
      text: 'made up',
      frames: [3],
      frameCount: 1,
      conversations: [],
      advice: [],
      commands: ["roce dump -v FILE 'frame 3'"],
      evidence: {},
    };
    const command = (name: string): string | undefined =>
      findingLines(finding, name, false).find((line) => line.startsWith('  run'));
    expect(command('plain.pcapng')).toBe("  run      roce dump -v plain.pcapng 'frame 3'");
    expect(command("it's $(id) $& `id`.pcapng")).toBe(
      "  run      roce dump -v 'it'\\''s $(id) $& `id`.pcapng' 'frame 3'",
    );
    expect(command('a\n\x1b')).toBe("  run      roce dump -v $'a\\n\\u001b' 'frame 3'");
  });

  it.each([
    ['dump', [file]],
    ['dump', [`${file}.gone`]],
    ['analyze', [`${file}.gone`]],
    ['view', ['--no-open', `${file}.gone`]],
    ['bump', ['--a', HOSTILE, '--b', HOSTILE]],
    [HOSTILE, []],
  ])('and an unreadable name are text from roce %s', async (command, args) => {
    const { stdout, stderr } = await startProgram('tools/roce.ts', [command, ...args]).ended;
    expect(stdout.length + stderr.length).toBeGreaterThan(0);
    expect(controlsIn(stdout + stderr)).toEqual([]);
  });

  itWith('tshark', 'is text in roce verify', async () => {
    for (const form of [[], ['--json']]) {
      const { stdout, stderr } = await startProgram('tools/roce.ts', ['verify', '--all', ...form, file]).ended;
      expect(stdout).toContain('tshark');
      expect(controlsIn(stdout + stderr)).toEqual([]);
    }
  });
});
