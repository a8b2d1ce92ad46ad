/**
 * `npm run bench -- --compare REV`: the benches of this clone beside those of an earlier revision.
 *
 * Two starts of one program differ by some 10 %, whatever it computes: where its memory lies, what the compiler made of
 * it. So each figure comes from a short process of its own, the two revisions take turns, and pairs are compared. Each
 * revision runs its own benches: a bench that means something else now is not comparable, and has to get another name.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import type { BenchRow } from '../bench.ts';
import { type Comparison, compare, comparisonTable } from './comparison.ts';
import { checkOut, THIS_TREE } from './revision-tree.ts';

export interface CompareOptions {
  /** What git takes for a commit. */
  readonly revision: string;
  /** Names of benches. */
  readonly benches: readonly string[];
  readonly pairs: number;
  readonly json: boolean;
  readonly print: (line: string) => void;
  readonly say: (line: string) => void;
}

/** Measures and prints. Throws when the revision cannot be checked out, and leaves nothing behind. */
export async function compareWith({ revision, benches, pairs, json, print, say }: CompareOptions): Promise<void> {
  const earlier = checkOut(revision);
  try {
    const rows: Comparison[] = [];
    for (const name of benches) {
      say(`${name}: processes of both revisions in turns, ${pairs} of each ...`);
      const row = await compareBench(name, earlier.folder, pairs, say);
      if (row === undefined) continue;
      rows.push(row);
      if (json) print(JSON.stringify(row));
    }
    if (!json) for (const line of comparisonTable(rows, earlier.name, 'here')) print(line);
  } finally {
    earlier.remove();
  }
}

async function compareBench(
  name: string,
  folder: string,
  pairs: number,
  say: (line: string) => void,
): Promise<Comparison | undefined> {
  const before: number[] = [];
  const after: number[] = [];
  let unit = '';
  for (let pair = 0; pair < pairs; pair++) {
    // Whoever is first alternates: what the first process leaves in caches must not always help the same side.
    const sides = pair % 2 === 0 ? [folder, THIS_TREE] : [THIS_TREE, folder];
    for (const side of sides) {
      const row = await runBench(side, name);
      if (typeof row === 'string') {
        say(`  ${name}: ${side === folder ? 'the earlier revision' : 'this clone'}: ${row}`);
        return undefined;
      }
      (side === folder ? before : after).push(row.value);
      unit = row.unit;
    }
  }
  return compare({ name, unit, before, after });
}

/** The row of one bench in one tree, or why there is none. */
async function runBench(folder: string, name: string): Promise<BenchRow | string> {
  const child = spawn(process.execPath, ['--import', 'tsx', 'tools/bench/run.ts', '--json', '--only', name], {
    cwd: folder,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, BENCH_ROUNDS: '1' },
  });
  let output = '';
  let complaint = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    output += text;
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    complaint += text;
  });
  await once(child, 'close');
  const line = output.trim().split('\n').at(-1) ?? '';
  if (!line.startsWith('{')) return complaint.trim().split('\n').at(-1) || `it ended with ${child.exitCode}`;
  const row = JSON.parse(line) as BenchRow | { readonly skipped: string };
  return 'skipped' in row ? row.skipped : row;
}
