/**
 * Goal: of captures of both ends of a wire, each with a clock of its own, the analyzer finds what a bump between them
 * says that it has done, and how far the clocks are apart. Method: runs of bump-run.ts, by seeds, changed as two hosts
 * and mergecap would have it (merged.ts).
 */
import { describe, expect, it } from 'vitest';
import { Analyzer } from '../../../../pcap/analysis/analyzer.ts';
import type { PathReport } from '../../../../pcap/analysis/types.ts';
import { readCapture } from '../../../../pcap/reader.ts';
import type { CapturedPacket } from '../../../../pcap/types.ts';
import { accountOf, compared, fromAnalysis, run } from './bump-run.ts';
import { type MergeOptions, merged, renumbered } from './merged.ts';

const SEEDS = [1, 2, 3, 4, 5, 6, 7, 8];

const CASES: readonly (readonly [string, MergeOptions])[] = [
  ['no offset', {}],
  ['5 us', { offsetNs: 5e3 }],
  ['5 ms', { offsetNs: 5e6 }],
  ['-5 ms', { offsetNs: -5e6 }],
  ['3 s', { offsetNs: 3e9 }],
  ['-3 minutes', { offsetNs: -180e9 }],
  ['50 ppm', { driftPpm: 50 }],
  ['-5 ms and -50 ppm', { offsetNs: -5e6, driftPpm: -50 }],
  ['5 ms without directions', { offsetNs: 5e6, undirected: true }],
  ['-3 s without directions', { offsetNs: -3e9, undirected: true }],
  ['no offset without directions', { undirected: true }],
  ['5 ms in microseconds without directions', { offsetNs: 5e6, undirected: true, resolutionNs: 1_000 }],
];

/** Of what goes from 1 to 0, only one interface has anything. */
const ONE_WAY: readonly (readonly [string, MergeOptions])[] = [
  ['no offset', { oneWay: true }],
  ['5 ms', { oneWay: true, offsetNs: 5e6 }],
  ['-5 ms', { oneWay: true, offsetNs: -5e6 }],
  ['-5 ms without directions', { oneWay: true, offsetNs: -5e6, undirected: true }],
  ['3 s without directions', { oneWay: true, offsetNs: 3e9, undirected: true }],
];

describe('merged captures of both ends', () => {
  for (const ipVersion of [4, 6] as const) {
    it.each(CASES)(`show over IPv${ipVersion} what was done in between: %s`, async (_, options) => {
      for (const seed of SEEDS) {
        const wire = await run({ seed, ipVersion });
        const { packets, numbers } = merged(readCapture(wire.capture()), options);
        const { paths } = compared(packets);
        const findings = linesOf(paths, numbers);
        // Over IPv6, a frame that is sent again is the same to the byte: what became of which is not in the capture.
        const twins = ipVersion === 6 ? twinsOf(readCapture(wire.capture())) : new Set();
        const told = (lines: readonly string[]) => lines.filter((line) => !twins.has(numberOf(line))).toSorted();
        expect({ seed, findings: told(findings) }).toEqual({ seed, findings: told(accountOf(wire, seed)) });
      }
    });
  }

  it.each(ONE_WAY)('show what was done in the one direction that both captured: %s', async (_, options) => {
    let sure = 0;
    for (const seed of SEEDS) {
      const wire = await run({ seed });
      const { packets, numbers } = merged(readCapture(wire.capture()), options);
      const { paths, limits } = compared(packets);
      expect(limits[0]?.text).toContain('cannot be told');
      // Where nothing was lost or held, only the clocks can tell which interface is the first, and they are wrong.
      if (limits[0]?.text.includes('a guess') === true && (options.offsetNs ?? 0) < 0) continue;
      sure += 1;
      const there = paths.filter(({ from }) => from === 0);
      const account = accountOf(wire, seed, 'a-to-b');
      expect({ seed, findings: linesOf(there, numbers).toSorted() }).toEqual({ seed, findings: account });
      expect(there[0]?.clock.uncertaintyNs).toBe(-1);
    }
    expect(sure).toBeGreaterThan(1);
  });

  it.each([
    [0, 0],
    [5e6, 0],
    [-5e6, 0],
    [3e9, 50],
    [-60e9, -50],
  ])('show nothing of a clean wire, whose clocks differ by %d ns and %d ppm', async (offsetNs, driftPpm) => {
    const wire = await run({ seed: 3, ...CLEAN });
    for (const undirected of [false, true]) {
      const { packets } = merged(readCapture(wire.capture()), { offsetNs, driftPpm, undirected });
      const { paths, limits } = compared(packets);
      expect(paths.map(({ from, to, events, notJudged }) => ({ from, to, events, notJudged }))).toEqual([
        { from: 0, to: 1, events: [], notJudged: 0 },
        { from: 1, to: 0, events: [], notJudged: 0 },
      ]);
      for (const { from, clock } of paths) {
        const truth = (from === 0 ? 1 : -1) * offsetNs;
        const drifted = Math.abs(driftPpm) * 1e-6 * 1e9;
        expect(Math.abs(clock.offsetNs - truth)).toBeLessThanOrEqual(clock.uncertaintyNs + drifted);
      }
      expect(limits.map(({ kind }) => kind)).toEqual(offsetNs === 0 ? [] : ['clock-offset']);
    }
  });

  it('say which frames came while the other side was not captured', async () => {
    const wire = await run({ seed: 3, ...CLEAN });
    const { packets } = merged(readCapture(wire.capture()), { offsetNs: 5e6, undirected: true });
    const there = packets.filter(({ interfaceIndex }) => interfaceIndex === 1);
    const startsNs = there[2]?.nanoseconds ?? 0;
    const late = packets.filter(({ nanoseconds, interfaceIndex }) => interfaceIndex === 0 || nanoseconds > startsNs);
    const { paths } = compared(late);
    expect(paths.map(({ effects }) => Object.values(effects).reduce((sum, count) => sum + count, 0))).toEqual([0, 0]);
    expect(paths[0]?.notJudged).toBeGreaterThan(0);
  });

  it('say that an interface which shares nothing with the others is compared with none', async () => {
    const wire = await run({ seed: 3, ...CLEAN });
    const other = await run({ seed: 4, ...CLEAN });
    const packets = [
      ...merged(readCapture(wire.capture()), { offsetNs: 5e6 }).packets,
      ...[...readCapture(other.capture())].map((packet) => ({ ...packet, interfaceIndex: 2, seconds: 600 })),
    ];
    const numbered = packets.map((packet, at) => ({ ...packet, number: at + 1 }));
    const { paths, limits } = compared(numbered);
    expect(paths.map(({ from, to, events }) => [from, to, events.length])).toEqual([
      [0, 1, 0],
      [1, 0, 0],
    ]);
    expect(limits.map(({ kind, interfaces }) => ({ kind, interfaces }))).toEqual([
      { kind: 'clock-offset', interfaces: [0, 1] },
      { kind: 'not-compared', interfaces: [2] },
    ]);
  });

  it('are in the analysis with the offset, and a limit that says it', async () => {
    const wire = await run({ seed: 3, ...CLEAN });
    const analyzer = new Analyzer();
    for (const packet of merged(readCapture(wire.capture()), { offsetNs: 5e6 }).packets) analyzer.packet(packet);
    const { paths, limits } = analyzer.finish();
    expect(paths[0]?.clock).toMatchObject({ offsetNs: 5e6, driftPpm: 0 });
    expect(paths[1]?.clock).toMatchObject({ offsetNs: -5e6, driftPpm: 0 });
    expect(paths[0]?.transit).toMatchObject({ shortestNs: 2_000, medianNs: 2_000 });
    expect(limits.find(({ kind }) => kind === 'clock-offset')).toMatchObject({
      text: expect.stringMatching(/^The clock of interface 1 is 5 ms ahead of that of interface 0: half of/),
      interfaces: [0, 1],
      evidence: { offsetNs: 5e6, driftPpm: 0, method: 'smallest delays of both directions' },
    });
  });
});

function linesOf(paths: readonly PathReport[], numbers: ReadonlyMap<number, number>): string[] {
  return paths.flatMap(({ events }) => events.map((event) => fromAnalysis(renumbered(event, numbers))));
}

/** A wire of 2 us that does nothing to frames. */
const CLEAN = { faults: { aToB: { delayNs: 2_000 }, bToA: { delayNs: 2_000 } }, rules: [] };

/** Numbers of frames that an interface saw more than once. */
function twinsOf(packets: Iterable<CapturedPacket>): Set<number> {
  const seen = new Map<string, number>();
  const twins = new Set<number>();
  for (const { number, interfaceIndex, direction, bytes } of packets) {
    const key = `${interfaceIndex} ${direction} ${Buffer.from(bytes).toString('latin1')}`;
    const other = seen.get(key);
    if (other === undefined) seen.set(key, number);
    else for (const each of [other, number]) twins.add(each);
  }
  return twins;
}

/** Of the frame that a line is about. */
function numberOf(line: string): number {
  return Number(/\d+/.exec(line)?.[0]);
}
