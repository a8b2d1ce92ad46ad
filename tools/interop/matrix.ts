/** Runs cases on a station one after another, each with its own capture, and reads every capture back. */
import { join } from 'node:path';
import type { KernelLabel } from '../lab/recipe.ts';
import { caseName, interopCases } from './cases.ts';
import { faultCases } from './faults.ts';
import { PATH_MTUS, type PathMtu, Station } from './station.ts';
import { verifyCapture } from './verify.ts';

export interface CaseResult {
  readonly kernel: string;
  readonly release: string;
  readonly name: string;
  readonly passed: boolean;
  readonly seconds: number;
  readonly frames: number;
  readonly capture: string;
  /** Why it failed; empty when it passed. */
  readonly note: string;
}

/** The stations a full run needs, with the cases of each; faults run once, at the smaller MTU. */
export function plan(kernel: KernelLabel): StationPlan[] {
  return PATH_MTUS.map((mtu) => ({
    kernel,
    mtu,
    cases: [
      ...interopCases(mtu).map((interop) => ({ name: caseName(interop), run: interop.run })),
      ...(mtu === PATH_MTUS[0] ? faultCases() : []),
    ],
  }));
}

export interface StationPlan {
  readonly kernel: KernelLabel;
  readonly mtu: PathMtu;
  readonly cases: readonly PlannedCase[];
}

export interface PlannedCase {
  readonly name: string;
  readonly run: (station: Station) => Promise<void>;
}

/** Opens stations as they are needed: a case that failed may have left anything behind, so the next one gets a fresh guest. */
export class StationKeeper {
  readonly #kernel: KernelLabel;
  readonly #mtu: PathMtu;
  readonly #log: (line: string) => void;
  #station: Station | undefined;

  constructor(kernel: KernelLabel, mtu: PathMtu, log: (line: string) => void) {
    this.#kernel = kernel;
    this.#mtu = mtu;
    this.#log = log;
  }

  /** Runs one case with a capture of its own below `directory`. Never rejects for what the case does: that is the note. */
  async run(planned: PlannedCase, directory: string): Promise<CaseResult> {
    this.#station ??= await Station.open(this.#kernel, this.#mtu, this.#log);
    const result = await runRecorded(this.#station, planned.name, directory, planned.run);
    if (!result.passed) await this.close();
    return result;
  }

  async close(): Promise<void> {
    const station = this.#station;
    this.#station = undefined;
    await station?.close();
  }
}

async function runRecorded(
  station: Station,
  name: string,
  directory: string,
  run: PlannedCase['run'],
): Promise<CaseResult> {
  const capture = join(directory, station.kernel, `${name}.pcapng`);
  const stop = station.record(capture);
  const started = performance.now();
  const notes: string[] = [];
  try {
    await run(station);
  } catch (error) {
    notes.push(error instanceof Error ? error.message : String(error));
  } finally {
    stop();
  }
  const seconds = (performance.now() - started) / 1000;
  const { roceFrames, faults } = await verifyCapture(capture);
  notes.push(...faults);
  const note = notes.join('; ');
  return {
    kernel: station.kernel,
    release: station.guest.release,
    name,
    passed: note === '',
    seconds,
    frames: roceFrames,
    capture,
    note,
  };
}
