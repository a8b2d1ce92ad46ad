/**
 * Reads a case's capture back, with this project and with tshark: nothing malformed, every ICRC right, every field of
 * every frame the same but for what tshark is known to be wrong about, and no alarm of the analyzer that is not wanted.
 */
import { viewCapture } from '../experiment/capture-view.ts';
import { analyzeCapture, type FindingsWanted, judgeFindings } from '../experiment/findings.ts';
import { tsharkAvailable } from '../tshark.ts';
import { verifyFile } from '../verify/index.ts';
import { differenceLine } from '../verify/report.ts';

export interface CaptureVerdict {
  readonly frames: number;
  readonly roceFrames: number;
  /** What is wrong, a line each; empty when all is well. */
  readonly faults: readonly string[];
}

/**
 * Every RoCE packet must have a good ICRC, tshark must say the same of every frame, and the analyzer find what is
 * wanted and no more.
 */
export async function verifyCapture(path: string, wanted: FindingsWanted = { findings: [] }): Promise<CaptureVerdict> {
  const views = viewCapture(path);
  const faults = views.flatMap(({ number, kind, goodIcrc }) => {
    if (kind === 'broken') return [`frame ${number} cannot be parsed`];
    return kind === 'roce' && !goodIcrc ? [`frame ${number}: wrong ICRC`] : [];
  });
  const frames = views.length;
  const roceFrames = views.filter(({ kind }) => kind === 'roce').length;
  if (roceFrames === 0) faults.push('no RoCE packet in the capture');
  faults.push(...judgeFindings(analyzeCapture(path), wanted).faults);
  const { available, version } = tsharkAvailable();
  if (available) faults.push(...(await tsharkFaults(path, version)));
  return { frames, roceFrames, faults };
}

/** The first differences in words, and how many more there are. */
async function tsharkFaults(path: string, version: string): Promise<string[]> {
  const faults: string[] = [];
  const { unexpected } = await verifyFile(path, {
    version,
    onDifference: (difference) => {
      if (difference.expectation === undefined && faults.length < SHOWN) faults.push(differenceLine(difference));
    },
  });
  if (unexpected > SHOWN) faults.push(`tshark differs in ${unexpected - SHOWN} more fields`);
  return faults;
}

const SHOWN = 5;
