/**
 * The incast of the fabric beside ns-3, measured in the same run: the same hosts, links, sizes of frames and number of
 * packets. Owns how the program in C++ is built and read.
 *
 * What differs: hosts of ns-3 send by UDP, which has no transport. Nothing there requests an ACK, makes an ICRC, counts
 * PSNs or cuts a rate. In the first row there are no ACKs at all; in the second the receiver answers each packet, so
 * that as many frames cross the network on either side.
 */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { findTool } from '../lab/tool.ts';
import { type Bench, type BenchRow, type BenchSettings, contest, type Goal, type SkippedBench } from './bench.ts';
import { incastPacketsPerSecond, incastSize } from './fabric.ts';
import { outputOf } from './program-output.ts';

/** UDP applications of ns-3, which hear of nothing. */
export const fabricNs3Bench: Bench = {
  name: 'fabric-ns3',
  title: 'fabric: the same beside UDP applications of ns-3',
  run: (settings) => beside('fabric-ns3', settings, 'UDP of ns-3, no ACKs', { sense: '>=', ratio: 1 }, false),
};

/** With an answer to each packet. */
export const fabricNs3AcksBench: Bench = {
  name: 'fabric-ns3-acks',
  title: 'fabric: the same beside UDP of ns-3 with an answer to each packet',
  run: (settings) =>
    beside('fabric-ns3-acks', settings, 'UDP of ns-3, each packet answered', { sense: '>=', ratio: 3 }, true),
};

async function beside(
  name: string,
  settings: BenchSettings,
  peer: string,
  goal: Goal,
  acks: boolean,
): Promise<BenchRow | SkippedBench> {
  const missing = ns3Missing();
  if (missing !== undefined) return { name, skipped: missing };
  const directory = mkdtempSync(join(tmpdir(), 'rocev2-ns3-'));
  const program = join(directory, 'fabric-ns3');
  const { senders, packets } = incastSize(settings);
  try {
    await outputOf(COMPILER, ['-std=c++17', '-O2', SOURCE, '-o', program, ...LIBRARIES]);
    return await contest(name, settings, {
      unit: 'packets/s',
      ...{ peer, goal },
      ours: () => incastPacketsPerSecond(settings),
      theirs: async () => {
        const printed = await outputOf(program, [`${senders}`, `${packets}`, acks ? '1' : '0']);
        return ns3PacketsPerSecond(printed, senders * packets, acks);
      },
    });
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

/** Why ns-3 cannot be measured here, as a part of a sentence; undefined where it can. */
export function ns3Missing(find: (name: string) => string | undefined = findTool): string | undefined {
  const compiler = find(COMPILER);
  if (compiler === undefined) return `${COMPILER} is not installed`;
  const { status } = spawnSync(compiler, ['-E', '-x', 'c++', '-o', '/dev/null', '-'], {
    input: '#include <ns3/simulator.h>\n',
  });
  return status === 0 ? undefined : 'ns-3 is not installed (Debian package libns3-dev)';
}

/** From what the program printed. Throws unless all packets arrived, and were answered where that was asked for. */
export function ns3PacketsPerSecond(printed: string, packets: number, acks: boolean): number {
  const [, received, answers, dropped, seconds] =
    /^received (\d+) answers (\d+) dropped (\d+) seconds (\d+\.\d+)$/m.exec(printed) ?? [];
  if (seconds === undefined) throw new Error(`ns-3 printed no figure: ${printed.trim()}`);
  if (Number(dropped) > 0 || Number(received) !== packets || Number(answers) !== (acks ? packets : 0))
    throw new Error(`ns-3 did other work than ${packets} packets: ${printed.trim()}`);
  return packets / Number(seconds);
}

const COMPILER = 'g++';
const SOURCE = fileURLToPath(new URL('./fabric-ns3.cpp', import.meta.url));
const LIBRARIES = ['applications', 'point-to-point', 'internet', 'traffic-control', 'network', 'core'].map(
  (part) => `-lns3-${part}`,
);
