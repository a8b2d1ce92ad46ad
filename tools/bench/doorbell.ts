/**
 * What a doorbell costs the program that rings it: the shim and one message over a Unix socket, whose server here only
 * counts. The peer is what it may cost.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { serveUverbs } from 'rocev2/node';
import type { UverbsServer } from 'rocev2/uverbs';
import { findTool } from '../lab/tool.ts';
import { buildShim } from '../uverbs/build.ts';
import { type Bench, type BenchRow, type BenchSettings, contest, type SkippedBench, scaled } from './bench.ts';
import { outputOf } from './program-output.ts';

/** The cost of a doorbell. */
export const verbsDoorbellBench: Bench = {
  name: 'verbs-doorbell',
  title: 'roce run: what a doorbell costs the program',
  run: doorbellBench,
};

async function doorbellBench(settings: BenchSettings): Promise<BenchRow | SkippedBench> {
  const compiler = findTool('cc');
  if (compiler === undefined) return { name: verbsDoorbellBench.name, skipped: 'cc is not installed (gcc)' };
  const directory = mkdtempSync(join(tmpdir(), 'rocev2-doorbell-'));
  const program = join(directory, 'doorbell');
  try {
    await outputOf(compiler, ['-O2', SOURCE, '-o', program]);
    const shim = await buildShim();
    const served = await serveUverbs({ server: COUNTING, path: join(directory, 'socket') });
    const env = { LD_PRELOAD: shim, ROCE_UVERBS: served.path };
    try {
      return await contest(verbsDoorbellBench.name, settings, {
        unit: 'us',
        peer: 'what it may cost',
        goal: { sense: '<=', ratio: 1 },
        ours: async () => Number(await outputOf(program, [`${scaled(2000, settings, LEAST_ROWS)}`], env)) / 1000,
        theirs: () => MOST_US,
      });
    } finally {
      served.close();
    }
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

const NOTHING = new Uint8Array(0);
/** Says yes to everything. */
const COUNTING: UverbsServer = {
  refused: 0,
  refusals: new Map(),
  openUverbs: () => ({
    command: () => ({ errno: 0, response: NOTHING }),
    doorbell: () => {},
    channelClosed: () => {},
    close: () => {},
  }),
  openRdmaCm: () => ({ command: () => ({ errno: 0, response: NOTHING }), close: () => {} }),
  sysfs: () => new Map(),
};
const SOURCE = fileURLToPath(new URL('./doorbell.c', import.meta.url));
const MOST_US = 3;
const LEAST_ROWS = 20;
