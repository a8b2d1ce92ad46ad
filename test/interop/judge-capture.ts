/**
 * Judges a capture, in a process of its own: what the analyzer is alarmed of in it, and where tshark reads it otherwise
 * than we do. The words are the path and 'tshark' or nothing; standard output gets a `CaptureJudgement` as JSON.
 *
 * To analyze ten megabytes takes seconds. A test that did so itself, with a device of ours that serves a guest, would
 * have no device meanwhile: after half a second the guest sends again, and a host of rdma_rxe may lose its connection
 * by that (ref:nvmeof#4).
 */
import { readFileSync } from 'node:fs';
import { readCapture } from '../../pcap/index.ts';
import { analyze } from '../../tools/experiment/findings.ts';
import { tsharkAvailable } from '../../tools/tshark.ts';
import { type FrameDifference, verifyFile } from '../../tools/verify/index.ts';
import { differenceLine } from '../../tools/verify/report.ts';
import { type AccessNaks, accessNaks } from './late-reads.ts';

export interface CaptureJudgement {
  /** Errors and warnings of the analyzer. */
  readonly alarms: readonly { readonly id: string; readonly text: string }[];
  /** Frames that tshark reads otherwise, a line each. */
  readonly differences: readonly string[];
  readonly naks: AccessNaks;
}

const [path = '', withTshark] = process.argv.slice(2);
const packets = [...readCapture(readFileSync(path))];
const findings = analyze(packets).findings.filter(({ severity }) => severity !== 'note');
const differences: string[] = [];
if (withTshark === 'tshark') {
  const { version } = tsharkAvailable();
  const onDifference = (difference: FrameDifference) => {
    if (difference.expectation === undefined) differences.push(differenceLine(difference));
  };
  await verifyFile(path, { version, onDifference });
}
const judgement: CaptureJudgement = {
  alarms: findings.map(({ id, text }) => ({ id, text })),
  differences,
  naks: accessNaks(packets),
};
process.stdout.write(JSON.stringify(judgement));
