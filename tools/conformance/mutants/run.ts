/**
 * Runs the conformance suite with deliberate bugs switched in, one at a time: a bundle of suite and stack, built anew
 * with the edit in the text of one file, in a thread of its own that can be stopped. Files are never changed.
 */
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Worker } from 'node:worker_threads';
import { type BuildContext, context } from 'esbuild';
import { RoceError } from 'rocev2/packets';
import type { CaseVerdict } from '../runner/run-case.ts';
import { plant } from './plant.ts';
import type { Mutant } from './types.ts';

/** How the suite judged one rule. */
export interface MutantVerdict {
  readonly rule: string;
  readonly verdict: CaseVerdict;
  readonly reason: string;
}

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

/** A copy of the project to be broken, in memory and in one temporary file. */
export class MutantFarm {
  readonly #folder: string;
  readonly #builder: BuildContext;
  readonly #planted: Map<string, string>;
  #bundles = 0;

  private constructor(folder: string, builder: BuildContext, planted: Map<string, string>) {
    this.#folder = folder;
    this.#builder = builder;
    this.#planted = planted;
  }

  static async make(): Promise<MutantFarm> {
    const folder = await mkdtemp(join(tmpdir(), 'roce-mutants-'));
    const planted = new Map<string, string>();
    const builder = await context({
      entryPoints: [join(PROJECT, 'tools/conformance/mutants/judge.ts')],
      ...{ bundle: true, write: false, platform: 'node', format: 'esm', logLevel: 'silent' },
      tsconfig: join(PROJECT, 'tsconfig.json'),
      // Native packages, which only real wires load.
      external: ['cap', 'koffi', 'raw-socket'],
      plugins: [
        {
          name: 'planted',
          setup: ({ onLoad }) => {
            onLoad({ filter: /\.ts$/ }, ({ path }) => {
              const contents = planted.get(path);
              return contents === undefined ? undefined : { contents, loader: 'ts' };
            });
          },
        },
      ],
    });
    return new MutantFarm(folder, builder, planted);
  }

  /** The verdicts of the suite on the copy as it is. @param rules globs */
  async suite(rules: string): Promise<readonly MutantVerdict[]> {
    const { outputFiles = [] } = await this.#builder.rebuild();
    const [bundle] = outputFiles;
    if (bundle === undefined) throw new RoceError('ERR_ROCE_STATE', 'the copy was not built');
    const file = join(this.#folder, `${this.#bundles++}.mjs`);
    await writeFile(file, bundle.contents);
    return judged(file, rules);
  }

  /** Runs rules with the bug switched on, and switches it off again. @param rules globs */
  async try(mutant: Mutant, rules: string): Promise<MutantRun> {
    const path = join(PROJECT, mutant.file);
    this.#planted.set(path, plant(mutant, await readFile(path, 'utf8')));
    try {
      const verdicts = await this.suite(rules);
      const broken = verdicts.filter(({ verdict }) => verdict === 'fail' || verdict === 'variation');
      return { mutant, failed: broken.map(({ rule }) => rule), broken: undefined };
    } catch (error) {
      if (!(error instanceof RoceError)) throw error;
      return { mutant, failed: [], broken: error.message };
    } finally {
      this.#planted.delete(path);
    }
  }

  async remove(): Promise<void> {
    await this.#builder.dispose();
    await rm(this.#folder, { recursive: true });
  }
}

/** Runs a bundle in a thread; a bug may keep it from ending. */
function judged(file: string, rules: string): Promise<readonly MutantVerdict[]> {
  return new Promise((resolve, reject) => {
    const worker = new Worker(file, { workerData: rules });
    const fail = (why: string): void => reject(new RoceError('ERR_ROCE_STATE', `the suite did not end: ${why}`));
    const limit = setTimeout(() => {
      fail(`${LIMIT_MS / 1000} s`);
      void worker.terminate();
    }, LIMIT_MS);
    worker.once('message', (verdicts: readonly MutantVerdict[]) => {
      resolve(verdicts);
      void worker.terminate();
    });
    worker.once('error', (error) => fail(`${error}`));
    worker.once('exit', () => {
      clearTimeout(limit);
      fail('its thread ended');
    });
  });
}

const PROJECT = fileURLToPath(new URL('../../..', import.meta.url));
const LIMIT_MS = 60_000;
