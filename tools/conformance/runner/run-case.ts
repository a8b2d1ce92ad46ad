/**
 * Runs one case against one device and says how it ended. Owns the limits of a case, what becomes of exceptions, and
 * the capture of each run. Whatever a case throws that is none of its own outcomes is a bug of the tester and passes
 * through.
 */
import { InvariantError, Medium, RoceError } from 'rocev2/packets';
import { Direction, LinkType, PcapngWriter } from 'rocev2/pcap';
import { HostControlError } from '../host-control/host-control.ts';
import type { Case } from '../tester/case.ts';
import type { Dut } from '../tester/dut.ts';
import { Inconclusive, NotApplicable, Violation } from '../tester/outcome.ts';
import { Tester } from '../tester/tester.ts';
import { isTooHazardous, unmetNeed } from './needs.ts';

/** `not-run`: the case is hazardous, and the run does not allow that (`CaseRunOptions.hazardous`). */
export const VERDICTS = ['pass', 'variation', 'fail', 'inconclusive', 'not-applicable', 'not-run'] as const;
export type CaseVerdict = (typeof VERDICTS)[number];

/** How one run of a case ended. */
export interface CaseRun {
  readonly verdict: CaseVerdict;
  /** Why; empty for a pass. */
  readonly reason: string;
  readonly variations: readonly string[];
  readonly notes: readonly string[];
  /** Where our PSNs began. */
  readonly psn: number;
  readonly seed: number;
  /** The device did not survive it. */
  readonly died: boolean;
  /** What passed on the wire, a pcapng file. */
  readonly capture: Uint8Array;
}

export interface CaseRunOptions {
  readonly seed: number;
  readonly psn?: number;
  /** Runs hazardous cases against devices that may not be crashed too; default false. */
  readonly hazardous?: boolean;
  /** Limit of one run in real time, for devices that are real; default 60 s. */
  readonly limitMs?: number;
}

/** Runs a case once. Nothing that the device does makes it throw. */
export async function runCase(dut: Dut, one: Case, options: CaseRunOptions): Promise<CaseRun> {
  const { station } = dut;
  const capture = new CaseCapture(station.medium, one);
  station.capture = capture;
  const label = [...one.rules, one.title ?? ''].join(' ');
  const t = new Tester({ dut, seed: options.seed, psn: options.psn, label });
  const unmet = unmetNeed(dut, one);
  let ending: Pick<CaseRun, 'verdict' | 'reason'>;
  try {
    if (unmet !== undefined) ending = { verdict: 'not-applicable', reason: unmet };
    else if (isTooHazardous(dut, one, options.hazardous === true)) ending = NOT_RUN;
    else ending = await limited(dut, one, t, options.limitMs ?? LIMIT_MS);
  } finally {
    station.capture = undefined;
  }
  const died = dut.gone !== undefined;
  if (died)
    ending = { verdict: 'fail', reason: `the device died: ${dut.gone}; the last packets sent: ${capture.lastSent()}` };
  else if (ending.verdict === 'pass' && t.unproven !== undefined)
    ending = { verdict: 'inconclusive', reason: t.unproven };
  else if (ending.verdict === 'pass' && t.variations.length > 0)
    ending = { verdict: 'variation', reason: t.variations.join('; ') };
  const { variations, notes, psn } = t;
  return {
    ...ending,
    variations,
    notes,
    psn,
    seed: options.seed,
    died,
    capture: capture.bytes(ending.verdict, ending.reason),
  };
}

async function limited(dut: Dut, one: Case, t: Tester, limitMs: number): Promise<Pick<CaseRun, 'verdict' | 'reason'>> {
  const ended = dut.run(attempt(one, t));
  if (dut.virtual) return ended;
  let timer: NodeJS.Timeout | undefined;
  const limit = new Promise<Pick<CaseRun, 'verdict' | 'reason'>>((resolve) => {
    timer = setTimeout(
      () => resolve({ verdict: 'inconclusive', reason: `it did not end within ${limitMs / 1000} s` }),
      limitMs,
    );
  });
  try {
    return await Promise.race([ended, limit]);
  } finally {
    clearTimeout(timer);
  }
}

async function attempt(one: Case, t: Tester): Promise<Pick<CaseRun, 'verdict' | 'reason'>> {
  try {
    await one.run(t);
    await t.end();
    return { verdict: 'pass', reason: '' };
  } catch (error) {
    const ending = endingOf(error);
    try {
      await t.end();
    } catch (second) {
      if (!(second instanceof HostControlError)) throw second;
    }
    return ending;
  }
}

function endingOf(error: unknown): Pick<CaseRun, 'verdict' | 'reason'> {
  if (error instanceof Violation) return { verdict: 'fail', reason: error.message };
  if (error instanceof Inconclusive) return { verdict: 'inconclusive', reason: error.message };
  if (error instanceof NotApplicable) return { verdict: 'not-applicable', reason: error.message };
  if (error instanceof HostControlError) {
    const verdict = error.kind === 'unsupported' ? 'not-applicable' : 'inconclusive';
    return { verdict, reason: `the host control: ${error.message}` };
  }
  if (error instanceof InvariantError) throw error;
  if (error instanceof RoceError) return { verdict: 'inconclusive', reason: error.message };
  throw error;
}

/**
 * One run as a capture: frames of both directions, the tester's with what they are, and the verdict as a comment on the
 * file.
 */
class CaseCapture {
  readonly #frames: { timeNs: number; out: boolean; bytes: Uint8Array; comment: string | undefined }[] = [];
  readonly #medium: Medium;
  readonly #case: Case;

  constructor(medium: Medium, one: Case) {
    this.#medium = medium;
    this.#case = one;
  }

  frame(
    timeNs: number,
    direction: 'in' | 'out',
    bytes: Uint8Array,
    start: number,
    end: number,
    comment?: string,
  ): void {
    if (this.#frames.length >= MAX_FRAMES) return;
    this.#frames.push({ timeNs, out: direction === 'out', bytes: bytes.slice(start, end), comment });
  }

  /** The last packets of the tester, in words: one of these was the cause. */
  lastSent(): string {
    const sent = this.#frames.filter(({ out, comment }) => out && comment !== undefined);
    return sent
      .slice(-LAST_FRAMES)
      .map(({ comment = '' }) => comment.replace(/^tx /, ''))
      .join('; ');
  }

  bytes(verdict: CaseVerdict, reason: string): Uint8Array {
    const title = `${this.#case.rules.join(', ')}${this.#case.title === undefined ? '' : `: ${this.#case.title}`}`;
    const writer = new PcapngWriter({
      application: 'roce conformance',
      comments: [title, reason === '' ? verdict : `${verdict}: ${reason}`],
    });
    const linkType = this.#medium === Medium.Ethernet ? LinkType.Ethernet : LinkType.Raw;
    const wire = writer.addInterface({ name: 'tester', linkType });
    for (const { timeNs, out, bytes, comment } of this.#frames) {
      writer.packet(wire, bytes, 0, bytes.length, Math.floor(timeNs / 1e9), timeNs % 1e9, {
        direction: out ? Direction.Outbound : Direction.Inbound,
        ...(comment === undefined ? {} : { comments: [comment] }),
      });
    }
    return writer.take();
  }
}

const NOT_RUN = { verdict: 'not-run', reason: 'the device may not survive it' } as const;

/** Packets before a crash that are reported. */
const LAST_FRAMES = 3;
const LIMIT_MS = 60_000;
/** What a report keeps of a run that floods. */
const MAX_FRAMES = 20_000;
