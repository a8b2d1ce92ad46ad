/**
 * Runs one program of the table, on a device of its own that is captured, and judges it: exit code, what it prints, and
 * the capture as the analyzer reads it. Owns the time that a program may take; it is ended then, and fails.
 */
import { mkdirSync, readFileSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { FaultDirection, WireRule } from 'rocev2/faults';
import { analyzeCapture, judgeFindings, SLOW_HOST_WARNINGS } from '../../experiment/findings.ts';
import type { ShimPlace } from '../child.ts';
import { runOne, runPair } from '../run.ts';
import { withServer } from '../served.ts';
import { exitFault, type ProgramCase } from './case.ts';

/** What came of a program. */
export interface CaseOutcome {
  readonly case: ProgramCase;
  /** What is wrong, a line each; empty when it ran as it should. */
  readonly faults: readonly string[];
  /** What was wrong the first time, where it was run again. */
  readonly before?: readonly string[];
  /** What its programs printed. */
  readonly printed: string;
  /** Path of the capture, and its frames: none when the program did not end. */
  readonly capture: string;
  readonly frames: number;
  readonly roceFrames: number;
}

/** Of a case with loss. */
export const NOTHING_LOST = 'nothing was lost: this shows nothing';

/**
 * @param directory is made, for what the programs print and the capture
 * @param until ends the programs when it aborts
 */
export async function runCase(
  one: ProgramCase,
  directory: string,
  shim: string,
  until?: AbortSignal,
): Promise<CaseOutcome> {
  mkdirSync(join(directory, 'files'), { recursive: true });
  const capture = join(directory, 'wire.pcapng');
  const files = one.lines.map((_, at) => join(directory, `printed-${at}`));
  const lines = one.lines.map((line, at) => `${filledIn(line, directory)} >${files[at]} 2>&1`);
  const { code, lost } = await run(lines, one, { shim, socket: join(directory, 'socket'), until }, capture);
  const printed = files.map(readIfThere).join('');
  const faults = exitFault(one, code);
  if (!one.prints.test(printed)) faults.push(`it does not print ${one.prints}`);
  if (one.loss !== undefined && lost === 0) faults.push(NOTHING_LOST);
  const wrong = one.check?.(join(directory, 'files'));
  if (wrong !== undefined) faults.push(wrong);
  // A program that spins until its time is over may have filled the disk.
  if (code === undefined) rmSync(capture);
  const seen = code === undefined ? { frames: 0, roceFrames: 0 } : judgeCapture(one, capture, faults);
  return { case: one, faults, printed, capture, ...seen };
}

/** The exit code, undefined when time was over, and how many packets the wire has lost. */
async function run(
  lines: readonly string[],
  { loss, asksEarly = false }: ProgramCase,
  { until, ...at }: Pick<ShimPlace, 'shim' | 'socket'> & { readonly until: AbortSignal | undefined },
  capture: string,
): Promise<{ readonly code: number | undefined; readonly lost: number }> {
  const over = AbortSignal.any([AbortSignal.timeout(LONGEST_MS), ...(until === undefined ? [] : [until])]);
  const place = { ...at, until: over };
  const [first = '', second] = lines;
  const flags = {
    write: capture,
    ...(loss === undefined ? {} : { loss: { 'a-to-b': loss } }),
    ...(asksEarly ? lateRequests('a-to-b') : {}),
  };
  return withServer(flags, at.socket, async (served, device) => {
    const code =
      second === undefined
        ? await runOne(['sh', '-c', `exec ${first}`], place)
        : await runPair([first, second], place, served);
    const { sentPkts, rcvdPkts } = device.portCounters;
    return { code: over.aborted ? undefined : code, lost: sentPkts - rcvdPkts };
  });
}

/** Options of a device on whose wire connection management of this direction takes its time. */
export function lateRequests(direction: FaultDirection): { readonly rule: readonly WireRule[] } {
  return { rule: [{ on: { opcode: 'mad', direction }, do: 'delay', delayNs: LATE_NS }] };
}

/** Adds what is wrong with a capture to `faults`. */
export function judgeCapture(
  { loss, silent = false, mayFind = [] }: ProgramCase,
  path: string,
  faults: string[],
): Pick<CaseOutcome, 'frames' | 'roceFrames'> {
  const analysis = analyzeCapture(path);
  const { capture } = analysis;
  if (capture.badIcrc > 0) faults.push(`${capture.badIcrc} packets have a wrong ICRC`);
  if (silent !== (capture.rocePackets === 0)) faults.push(`${capture.rocePackets} RoCE packets in the capture`);
  // A machine that does other things is no fault of what is sent, where the capture confirms that it was that.
  if (loss === undefined) {
    const findings = analysis.findings.filter(({ id }) => !mayFind.includes(id));
    faults.push(...judgeFindings({ ...analysis, findings }, { findings: [], tolerated: SLOW_HOST_WARNINGS }).faults);
  }
  return { frames: capture.packets, roceFrames: capture.rocePackets };
}

function filledIn(line: string, directory: string): string {
  return line.replaceAll('{dir}', join(directory, 'files')).replaceAll('{own}', OWN);
}

function readIfThere(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}

const OWN = dirname(fileURLToPath(import.meta.url));
const LONGEST_MS = 120_000;
/** In which an emulated host begins to listen. */
const LATE_NS = 500_000_000;
