/**
 * Switches deliberate bugs into a copy of the project, one at a time, and runs the conformance suite of that copy in a
 * process of its own. Owns the copy. The project itself is never touched.
 */
import { spawn } from 'node:child_process';
import { cp, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { RoceError } from 'rocev2/packets';
import type { ResultFile } from '../runner/files.ts';
import { plant } from './plant.ts';
import type { Mutant } from './types.ts';

/** The verdicts of the suite on a mutant. */
export interface MutantRun {
  readonly mutant: Mutant;
  /**
   * Rules that were broken, of those that were run: a `must` fails, any other is an allowed variation that was none
   * before.
   */
  readonly failed: readonly string[];
  /** Why the run itself came to nothing: the copy does not start, an assertion of ours fired, it never ended. */
  readonly broken: string | undefined;
}

/** A copy of the project to be broken. */
export class MutantFarm {
  readonly #root: string;

  private constructor(root: string) {
    this.#root = root;
  }

  static async make(): Promise<MutantFarm> {
    const root = await mkdtemp(join(tmpdir(), 'roce-mutants-'));
    for (const room of ROOMS) await cp(join(PROJECT, room), join(root, room), { recursive: true });
    await symlink(join(PROJECT, 'node_modules'), join(root, 'node_modules'));
    return new MutantFarm(root);
  }

  /** The verdicts of the suite on the copy as it is. @param rules globs */
  async suite(rules: string): Promise<ResultFile> {
    const json = join(this.#root, 'result.json');
    await rm(json, { force: true });
    const words = ['--import', 'tsx', 'tools/roce.ts', 'conformance', '--quiet', '--rules', rules, '--json', json];
    const { code, stderr } = await run(words, this.#root);
    const text = await readFile(json, 'utf8').catch(() => undefined);
    if (text === undefined)
      throw new RoceError('ERR_ROCE_STATE', `the suite ended with ${code}: ${stderr.trim().slice(-500)}`);
    return JSON.parse(text) as ResultFile;
  }

  /**
   * Runs rules with the bug switched on, and switches it off again. @param rules globs; default those that are to catch
   * it
   */
  async try(mutant: Mutant, rules = mutant.caughtBy.join(',')): Promise<MutantRun> {
    const path = join(this.#root, mutant.file);
    const text = await readFile(path, 'utf8');
    await writeFile(path, plant(mutant, text));
    try {
      const result = await this.suite(rules);
      const broken = result.rules.filter(({ verdict }) => verdict === 'fail' || verdict === 'variation');
      const failed = broken.map(({ rule }) => rule);
      return { mutant, failed, broken: undefined };
    } catch (error) {
      if (!(error instanceof RoceError)) throw error;
      return { mutant, failed: [], broken: error.message };
    } finally {
      await writeFile(path, text);
    }
  }

  async remove(): Promise<void> {
    await rm(this.#root, { recursive: true });
  }
}

function run(words: readonly string[], cwd: string): Promise<{ code: number | null; stderr: string }> {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, words, { cwd, stdio: ['ignore', 'ignore', 'pipe'], timeout: LIMIT_MS });
    let stderr = '';
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      stderr = (stderr + text).slice(-10_000);
    });
    child.once('error', reject);
    child.once('close', (code) => resolve({ code, stderr }));
  });
}

const PROJECT = fileURLToPath(new URL('../../..', import.meta.url));
const ROOMS = ['packets', 'transport', 'pcap', 'src', 'tools', 'package.json', 'tsconfig.json'];
const LIMIT_MS = 300_000;
