/**
 * Goal: what a run says of itself and what its capture says are never two figures of one name. Method: demos with all
 * kinds of bad wires, and a simulation that loses frames, beside the analysis of the captures that they leave.
 */
import { readFileSync, rmSync } from 'node:fs';
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { conversationFigures } from '../../pcap/analysis/conversation-figures.ts';
import type { ConversationFigures } from '../../pcap/index.ts';
import { analyzeChunks } from '../../tools/analyze/index.ts';
import { badLines, seenLines } from '../../tools/demo/report.ts';
import { type DemoRun, runDemo } from '../../tools/demo/run.ts';
import { DEFAULT_SETTINGS, type DemoSettings } from '../../tools/demo/settings.ts';
import { type DumpOptions, dumpFrames, FileSource } from '../../tools/dump/index.ts';
import { execute } from '../../tools/sim/run/execute.ts';
import { Sink } from '../support/sink.ts';
import { startRoce } from './roce/run-roce.ts';
import { jobOf, SMALL } from './sim/support.ts';

const PLAIN = { color: false };
const WIRES: Readonly<Record<string, Partial<DemoSettings>>> = {
  everything: {},
  'frames lost': { seed: 2, duplicate: 0, reorder: 0, corrupt: 0, loss: 0.05 },
  'so many lost that timers expire': { seed: 6, loss: 0.2 },
  'frames overtaken': { seed: 5, loss: 0, reorder: 0.2 },
  'bits flipped, with small packets': { seed: 7, corrupt: 0.05, mtu: 256 },
  nothing: { loss: 0, duplicate: 0, reorder: 0, corrupt: 0 },
};

async function* once(bytes: Uint8Array) {
  yield bytes;
}

let scratch = '';
beforeAll(async () => {
  scratch = await mkdtemp(join(tmpdir(), 'roce-truth-'));
});
afterAll(() => rmSync(scratch, { recursive: true }));

async function seen(run: DemoRun): Promise<ConversationFigures> {
  const { analysis } = await analyzeChunks(once(run.capture.slice()));
  const [conversation] = analysis.conversations;
  if (conversation === undefined) throw new Error('the capture of a demo has a conversation');
  expect(analysis.conversations).toHaveLength(1);
  return conversationFigures(conversation);
}

async function dumped(capture: Uint8Array, options: DumpOptions): Promise<string[]> {
  const sink = new Sink();
  await dumpFrames(new FileSource(once(capture.slice())), options, sink);
  return sink.lines;
}

describe('the demo', () => {
  it.each(Object.entries(WIRES))('has counts of its devices that its capture bears out: %s', async (_, wire) => {
    const run = await runDemo({ ...DEFAULT_SETTINGS, maxSize: 64 * 1024, ...wire });
    const [, bad] = run.phases;
    const figures = await seen(run);
    if (bad === undefined) throw new Error('the bad wire was not reached');
    // A capture sees no more than there was, and NAKs that are damaged on the way are not seen.
    expect(figures.naks).toBeLessThanOrEqual(bad.counts.naks);
    expect(figures.timeouts).toBeLessThanOrEqual(bad.counts.timeouts);
    const { analysis } = await analyzeChunks(once(run.capture.slice()));
    const again = analysis.conversations[0]?.ends[0].requester.retransmittedPackets ?? 0;
    const repeated = bad.counts.retransmitted - again;
    expect(repeated).toBeGreaterThanOrEqual(0);
    // What was repeated and not seen so was damaged, or looked like an original that was overtaken.
    expect(repeated).toBeLessThanOrEqual(bad.counts.corrupted + bad.counts.reordered + bad.counts.duplicated);
    if (wire.corrupt === 0 && wire.reorder === 0) expect([repeated, figures.naks]).toEqual([0, bad.counts.naks]);
  });

  it('prints the figures of its capture as `roce analyze` does, and no count of a device under one of their names', async () => {
    const file = join(scratch, 'demo.pcapng');
    const { stdout } = await startRoce(['demo', '--max-size', '20000', '--loss', '10%', '--write', file]).ended;
    const analyzed = await startRoce(['analyze', file]).ended;
    const [names = '', line = ''] = analyzed.stdout
      .split('\n')
      .slice(analyzed.stdout.split('\n').indexOf('conversations') + 1);
    expect(names).toMatch(/packets +goodput +resent +lost +NAKs +timeouts/);
    const printed = stdout.split('\n');
    const at = printed.indexOf(names);
    expect(at).toBeGreaterThan(0);
    expect(printed[at + 1]).toBe(line);
    const run = await runDemo({ ...DEFAULT_SETTINGS, maxSize: 20_000, loss: 0.1 });
    const { analysis } = await analyzeChunks(once(readFileSync(file)));
    expect(stdout).toContain(seenLines(analysis, PLAIN).join('\n'));
    const table = badLines(run, PLAIN).slice(-5).join('\n');
    expect(table).toContain('request packets repeated');
    expect(table).not.toMatch(/\b(goodput|resent|retransmitted|sent again|lost|timeouts?)\b/);
  });
});

describe('the ladder of `roce dump`', () => {
  it('calls sent again what every view does, and what was overtaken late', async () => {
    const { capture } = await runDemo({ ...DEFAULT_SETTINGS, maxSize: 64 * 1024, loss: 0, reorder: 0.2 });
    const marks = await dumped(capture, { fields: { names: ['roce.marks'] } });
    const ladder = await dumped(capture, { ladder: { width: 100 } });
    const drawn = (name: string): number =>
      ladder
        .filter((line) => line.split('\u2502').at(-1)?.split(' ').includes(name) === true)
        .reduce((frames, line) => frames + Number(/ (\d+) more /.exec(line)?.[1] ?? 1), 0);
    const having = (name: string): number => marks.filter((line) => line.split(' ').includes(name)).length;
    expect(having('late')).toBeGreaterThan(50);
    expect([drawn('RETRANSMIT'), drawn('LATE')]).toEqual([having('retransmission'), having('late')]);
  });
});

describe('a simulation', () => {
  it('has the retransmissions, timeouts, goodput and times that its capture shows', async () => {
    const path = join(scratch, 'sim.pcapng');
    const scenario = { ...SMALL, loss: 0.02, expect: [] };
    const { record } = execute({ ...jobOf(scenario), capture: { path, frames: 100_000 } }, () => {});
    const figures = record.variants[0]?.figures ?? {};
    const { analysis } = await analyzeChunks(once(readFileSync(path)));
    // Each conversation is seen at both of its hosts; the sender's capture has all that it sent.
    const flows = analysis.conversations.filter(({ sameAs }) => sameAs === 0).map(conversationFigures);
    const sum = (of: (flow: ConversationFigures) => number): number => flows.reduce((all, flow) => all + of(flow), 0);
    expect(analysis.conversations).toHaveLength(2 * flows.length);
    expect(sum(({ retransmitted }) => retransmitted)).toBeGreaterThan(10);
    expect({
      retransmitted: sum(({ retransmitted }) => retransmitted),
      timeouts: sum(({ timeouts }) => timeouts),
      goodputBps: Math.round(sum(({ goodputBps }) => goodputBps) / flows.length),
      longestNs: Math.max(...flows.map(({ durationNs }) => durationNs)),
    }).toEqual({
      retransmitted: figures['retransmitted'],
      timeouts: figures['timeouts'],
      goodputBps: Math.round(figures['goodputBps.mean'] ?? 0),
      longestNs: figures['fctNs.max'],
    });
  });
});
