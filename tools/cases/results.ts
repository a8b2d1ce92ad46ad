/**
 * A folder with the results of many cases, a file for each, which any number of processes on any number of machines
 * fill together: each runs the cases of its share that have no file yet. A file is there whole or not at all, whatever
 * ends the process that writes it, so a case without one is to be run, and no other. `plan.json` says which cases these
 * are, and keeps the results of others out. Owns the names of the files; a result is a line of text, and means
 * something to the command only.
 */
import { randomUUID } from 'node:crypto';
import {
  closeSync,
  existsSync,
  fsyncSync,
  linkSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { RoceError } from 'rocev2/packets';
import { z } from 'zod';

const planSchema = z.strictObject({
  /** The command that runs them. */
  tool: z.string(),
  version: z.string(),
  /** How many there are, of all shares; their numbers are 0 to one less. */
  cases: z.int().min(0),
  /** The difference between these cases and others of the same command. */
  digest: z.string(),
});

/** Which cases a folder is about. */
export type CasePlan = z.infer<typeof planSchema>;

/** A result that is there. */
export interface CaseResult {
  readonly index: number;
  readonly line: string;
  /** Its file, for messages. */
  readonly where: string;
}

export class ResultsFolder {
  readonly #path: string;

  /**
   * Makes the folder, and says in it what it is about, where nobody has before.
   * @throws RoceError ERR_ROCE_ARGUMENT for a folder of other cases
   */
  constructor(path: string, plan: CasePlan) {
    this.#path = path;
    mkdirSync(path, { recursive: true });
    const file = join(path, PLAN);
    // Of many processes one links its file first; the others find that one.
    settle(file, JSON.stringify(plan), linkOnce);
    const found = readPlan(path);
    for (const key of ['tool', 'version', 'cases', 'digest'] as const)
      if (found[key] !== plan[key])
        throw new RoceError(
          'ERR_ROCE_ARGUMENT',
          `${file}: ${key} is ${found[key]}, and here it is ${plan[key]}: this folder has the results of other cases`,
        );
  }

  /** The result of a case; undefined where it has none yet. */
  read(index: number): CaseResult | undefined {
    const where = join(this.#path, fileOf(index));
    return existsSync(where) ? { index, line: readFileSync(where, 'utf8').trimEnd(), where } : undefined;
  }

  /** @param line without its end */
  write(index: number, line: string): void {
    settle(join(this.#path, fileOf(index)), line, renameSync);
  }
}

/**
 * All results of a folder, in the order of the cases, and the numbers of cases that have none.
 * @throws RoceError ERR_ROCE_ARGUMENT for a folder that is none of these
 */
export function readResults(path: string): { plan: CasePlan; results: CaseResult[]; missing: number[] } {
  const plan = readPlan(path);
  const results = readdirSync(path)
    .flatMap((name) => {
      const [, digits] = CASE.exec(name) ?? [];
      const where = join(path, name);
      return digits === undefined
        ? []
        : [{ index: Number(digits), line: readFileSync(where, 'utf8').trimEnd(), where }];
    })
    .sort((a, b) => a.index - b.index);
  const there = new Set(results.map(({ index }) => index));
  const missing = Array.from({ length: plan.cases }, (_, index) => index).filter((index) => !there.has(index));
  return { plan, results, missing };
}

function readPlan(path: string): CasePlan {
  const file = join(path, PLAN);
  if (!existsSync(file)) throw new RoceError('ERR_ROCE_ARGUMENT', `${path}: no folder of results: it has no ${PLAN}`);
  const text = readFileSync(file, 'utf8');
  const parsed = planSchema.safeParse(jsonOf(text));
  if (!parsed.success) throw new RoceError('ERR_ROCE_ARGUMENT', `${file}: this says of no cases what they are`);
  return parsed.data;
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Writes a file beside, under a name of its own, to the disk; `put` gives it its name. */
function settle(file: string, line: string, put: (from: string, to: string) => void): void {
  const beside = `${file}.${randomUUID()}`;
  const handle = openSync(beside, 'wx');
  try {
    writeFileSync(handle, `${line}\n`);
    fsyncSync(handle);
  } finally {
    closeSync(handle);
  }
  put(beside, file);
}

/** Leaves a file of this name as it is. */
function linkOnce(from: string, to: string): void {
  try {
    linkSync(from, to);
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error;
  } finally {
    rmSync(from);
  }
}

function fileOf(index: number): string {
  return `case-${index}.json`;
}

const PLAN = 'plan.json';
const CASE = /^case-(\d{1,15})\.json$/;
