/**
 * Runs entries of the matrix with one kernel and says what they are: passed, ours to mend, or a limit of rdma_rxe, for
 * which the same cell is run between two guests. Owns the verdicts and the order; nothing of ours is repeated.
 */
import { renameSync, rmSync } from 'node:fs';
import { resolve } from 'node:path';
import {
  type CaseResult,
  describeHosts,
  failuresOf,
  runJudgedCase,
  startClock,
  writeReport,
} from '../experiment/run.ts';
import { HostPool } from '../experiment/stage.ts';
import type { Experiment } from '../experiment/types.ts';
import type { KernelLabel } from '../lab/recipe.ts';
import { type InteropCell, PATH_MTUS, type PathMtu, ROLES } from './cell.ts';
import { caseName, type MatrixEntry, matrixExperiment, pairExperiment } from './experiments.ts';

/** `fail` is ours; `rxe` failed between two guests as well; `n/a`: there is nothing to run. */
export type CellVerdict = 'pass' | 'fail' | 'rxe' | 'n/a';

export interface MatrixRow {
  readonly entry: MatrixEntry;
  readonly verdict: CellVerdict;
  /** Folder of the capture below that of the kernel; of the evidence, for `rxe`. Empty where nothing ran. */
  readonly capture: string;
  readonly note: string;
  /** What failed, for the terminal: it may name numbers that differ from run to run. */
  readonly failures: readonly string[];
}

export interface MatrixOptions {
  readonly kernel: KernelLabel;
  /** Folder of this kernel's reports and captures. */
  readonly directory: string;
  readonly log: (line: string) => void;
  /** What makes experiments of entries; tests have hosts without Linux. */
  readonly make?: { readonly matrix: typeof matrixExperiment; readonly pairs: typeof pairExperiment };
}

/**
 * Every entry of these cells, in an order in which guests are booted as seldom as can be: what is known to fail comes
 * last.
 */
export function entriesOf(cells: readonly InteropCell[]): MatrixEntry[] {
  const entries = cells.flatMap((cell) => ROLES.map((role): MatrixEntry => ({ cell, role })));
  const late = ({ limit }: InteropCell): number => (limit === undefined ? 0 : 1);
  return PATH_MTUS.toReversed().flatMap((mtu) =>
    entries.filter(({ cell }) => cell.interfaceMtu === mtu).sort((a, b) => late(a.cell) - late(b.cell)),
  );
}

export class MatrixRun {
  readonly rows: MatrixRow[] = [];
  readonly #options: MatrixOptions;
  readonly #make: NonNullable<MatrixOptions['make']>;
  readonly #stages: HostPool;
  readonly #reports = new Map<string, Report>();
  /** Entries that failed, until it is known whose fault that is. */
  readonly #open: { readonly entry: MatrixEntry; readonly failures: readonly string[] }[] = [];

  constructor(options: MatrixOptions) {
    this.#options = options;
    this.#make = options.make ?? { matrix: matrixExperiment, pairs: pairExperiment };
    this.#stages = new HostPool(options.log);
  }

  /** Runs an entry; resolves with what failed, which is nothing when it passed. */
  async run(entry: MatrixEntry): Promise<readonly string[]> {
    const { cell, role } = entry;
    const reason = cell.without?.[role];
    if (reason !== undefined) {
      this.rows.push({ entry, verdict: 'n/a', capture: '', note: reason, failures: [] });
      return [];
    }
    if (cell.partnerless !== undefined) {
      this.#open.push({ entry, failures: [cell.partnerless] });
      return [cell.partnerless];
    }
    const experiment = this.#make.matrix(this.#options.kernel, cell.interfaceMtu, [entry]);
    const result = await this.#case(experiment, groupOf(cell.interfaceMtu), cell);
    const failures = failuresOf(result);
    if (!result.passed) this.#open.push({ entry, failures });
    else this.rows.push({ entry, verdict: 'pass', capture: folderOf(entry), note: '', failures: [] });
    return failures;
  }

  /** Runs every cell that failed between two guests, and with that decides whose fault it was. */
  async findLimits(): Promise<void> {
    const { kernel, log } = this.#options;
    const fails = new Map<InteropCell, boolean>();
    for (const { entry, failures } of this.#open.splice(0)) {
      const { cell, role } = entry;
      const group = pairsOf(cell.interfaceMtu);
      if (!fails.has(cell)) {
        log(`${cell.name}: the same between two guests`);
        const experiment = this.#make.pairs(kernel, cell.interfaceMtu, [cell]);
        const pair = await this.#case(experiment, group, cell, cell.racy);
        fails.set(cell, !pair.passed);
      }
      if (fails.get(cell) === true) {
        const note = cell.limit ?? 'fails between two guests as well';
        this.rows.push({ entry, verdict: 'rxe', capture: `${group}/${cell.name}`, note, failures });
      } else {
        const note =
          cell.partnerless ?? `our ${role === 'server' ? 'client' : 'server'} and the guest's program disagree`;
        this.rows.push({ entry, verdict: 'fail', capture: folderOf(entry), note, failures });
      }
    }
  }

  /** Ends all hosts and leaves the reports. */
  async close(): Promise<void> {
    await this.#stages.close();
    for (const [group, { experiment, hosts, clock, cases }] of this.#reports) {
      const whole = { ...experiment, cases: cases.map(({ spec }) => spec) };
      writeReport({ experiment: whole, hosts, cases, ...clock() }, resolve(this.#options.directory, group));
    }
  }

  async #case(experiment: Experiment, group: string, cell: InteropCell, racy?: string): Promise<CaseResult> {
    const [spec] = experiment.cases;
    if (spec === undefined) throw new RangeError('a cell makes one case');
    const stages = this.#stages;
    const report = this.#reports.get(group) ?? {
      experiment,
      hosts: await describeHosts(experiment, stages),
      clock: startClock(),
      cases: [],
    };
    this.#reports.set(group, report);
    const options = { directory: resolve(this.#options.directory, group), stages, keepStage: cell.limit !== undefined };
    let result = await runJudgedCase(experiment, spec, options);
    if (!result.passed && racy !== undefined) {
      this.#options.log(`${spec.name} is run once more, for it is racy: ${racy}; ${failuresOf(result)[0]}`);
      // The files of the first attempt stay for a look at the failure.
      const left = resolve(options.directory, spec.name);
      rmSync(`${left}.first`, { recursive: true, force: true });
      renameSync(left, `${left}.first`);
      result = await runJudgedCase(experiment, spec, options);
    }
    report.cases.push(result);
    return result;
  }
}

interface Report {
  readonly experiment: Experiment;
  readonly hosts: Awaited<ReturnType<typeof describeHosts>>;
  readonly clock: ReturnType<typeof startClock>;
  readonly cases: CaseResult[];
}

function folderOf(entry: MatrixEntry): string {
  return `${groupOf(entry.cell.interfaceMtu)}/${caseName(entry)}`;
}

const groupOf = (mtu: PathMtu): string => `mtu${mtu}`;
const pairsOf = (mtu: PathMtu): string => `pairs-mtu${mtu}`;
