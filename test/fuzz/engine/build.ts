/**
 * A target as one module with counters in it: bundled by esbuild from the sources, as they are. The files that the
 * target is about (targets.ts) get counters.
 */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { build, type Plugin } from 'esbuild';
import { TARGETS } from '../targets.ts';
import { instrument } from './instrument.ts';
import type { FuzzTarget } from './target.ts';

/** What the counters of a bundle write to; a global of this process, as the bundle is a module of its own. */
export interface Counters {
  hits: Uint8Array;
  steps: number;
  maxSteps: number;
  step(): void;
}

/** A target that was built. */
export interface BuiltTarget {
  readonly target: FuzzTarget;
  readonly counters: Counters;
  /** Blocks of all files that count. */
  readonly blocks: number;
  /** Files that count, with their first block. */
  readonly files: readonly { readonly file: string; readonly first: number }[];
  readonly numbers: ReadonlySet<number>;
  readonly texts: ReadonlySet<string>;
}

/** Thrown out of the code under test when an input takes more steps than its target allows. */
export class TooManySteps extends Error {
  override readonly name = 'TooManySteps';
}

/** Builds and loads the target in `test/fuzz/targets/NAME.ts`. */
export async function buildTarget(name: string): Promise<BuiltTarget> {
  const files: { file: string; first: number }[] = [];
  const numbers = new Set<number>();
  const texts = new Set<string>();
  let blocks = 0;
  const counting: Plugin = {
    name: 'counters',
    setup: (on) => {
      on.onLoad({ filter: /\.ts$/ }, ({ path }) => {
        // Files beside a source are found from where the source is.
        const source = readFileSync(path, 'utf8').replaceAll(
          'import.meta.url',
          JSON.stringify(pathToFileURL(path).href),
        );
        const file = relative(ROOT, path);
        if (!(TARGETS[name]?.test(file) ?? false)) return { contents: source, loader: 'ts' };
        const made = instrument(source, blocks, file);
        files.push({ file, first: blocks });
        blocks += made.blocks;
        for (const number of made.numbers) numbers.add(number);
        for (const text of made.texts) texts.add(text);
        return { contents: made.text, loader: 'ts' };
      });
    },
  };
  const directory = mkdtempSync(join(tmpdir(), 'roce-fuzz-'));
  try {
    const outfile = join(directory, `${name}.mjs`);
    await build({
      ...{
        bundle: true,
        format: 'esm',
        platform: 'node',
        target: 'node20',
        outfile,
        sourcemap: 'inline',
        logLevel: 'error',
      },
      entryPoints: [join(ROOT, 'test/fuzz/targets', `${name}.ts`)],
      banner: {
        js: `import { createRequire } from 'node:module'; const require = createRequire(${JSON.stringify(import.meta.url)}); const __fuzz = globalThis.__fuzzCounters;`,
      },
      tsconfig: join(ROOT, 'tsconfig.json'),
      // Never loaded here, and no code that a bundle can hold.
      external: ['koffi', 'raw-socket', 'cap', 'vite', 'esbuild'],
      plugins: [counting],
    });
    const counters = makeCounters(blocks);
    Reflect.set(globalThis, '__fuzzCounters', counters);
    const { target } = (await import(/* @vite-ignore */ pathToFileURL(outfile).href)) as { target: FuzzTarget };
    const own = target.ownBlocks?.();
    // A program of its own has its blocks alone. What modules counted while they were loaded is of no input.
    if (own !== undefined) {
      blocks = own;
      counters.hits = new Uint8Array(own);
    } else counters.hits.fill(0);
    // The order in which files were loaded is chance, and mutators draw from these by place.
    const inOrder = {
      numbers: new Set([...numbers].sort((a, b) => a - b)),
      texts: new Set([...texts].sort()),
    };
    return { target, counters, blocks, files, ...inOrder };
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

function makeCounters(blocks: number): Counters {
  return {
    hits: new Uint8Array(blocks),
    steps: 0,
    maxSteps: Number.POSITIVE_INFINITY,
    step() {
      if (++this.steps > this.maxSteps) throw new TooManySteps(`more than ${this.maxSteps} steps`);
    },
  };
}

const ROOT = fileURLToPath(new URL('../../..', import.meta.url));
