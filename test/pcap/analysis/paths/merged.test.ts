/**
 * Goal: of captures of both ends of a wire, each with a clock of its own, the analyzer finds what a bump between them
 * says that it has done, and how far the clocks are apart. Method: runs of bump-run.ts, by seeds, changed as two hosts
 * and mergecap would have it (merged.ts).
 */
import { describe, expect, it } from 'vitest';
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
];

describe('merged captures of both ends', () => {
  for (const ipVersion of [4, 6] as const) {
    it.each(CASES)(`show over IPv${ipVersion} what was done in between: %s`, async (_, options) => {
      for (const seed of SEEDS) {
        const wire = await run({ seed, ipVersion });
        const { packets, numbers } = merged(readCapture(wire.capture()), options);
        const { paths } = compared(packets);
        const findings = paths.flatMap(({ events }) => events.map((event) => fromAnalysis(renumbered(event, numbers))));
        // Over IPv6, a frame that is sent again is the same to the byte: what became of which is not in the capture.
        const twins = ipVersion === 6 ? twinsOf(readCapture(wire.capture())) : new Set();
        const told = (lines: readonly string[]) => lines.filter((line) => !twins.has(numberOf(line))).toSorted();
        expect({ seed, findings: told(findings) }).toEqual({ seed, findings: told(accountOf(wire, seed)) });
      }
    });
  }
});

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
