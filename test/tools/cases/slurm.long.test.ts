/**
 * Goal: the array script of docs/simulation.md loses no case and repeats none, whatever ends its tasks, and what is
 * merged are the bytes of one process on one machine. Method: a Slurm of one node, started here; the script as the page
 * has it; a task killed, the array cancelled, the same line submitted again in another number of shares.
 */
import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { describeWith } from '../../support/need.ts';
import { small } from '../sim/support.ts';
import { type Cluster, startCluster, until } from './cluster.ts';

const ROOT = fileURLToPath(new URL('../../..', import.meta.url));
const PAGE = readFileSync(join(ROOT, 'docs/simulation.md'), 'utf8');
const [, SCRIPT = ''] = /This is `share.sh`[\s\S]*?```sh\n([\s\S]*?)```/.exec(PAGE) ?? [];

const there = mkdtempSync(join(tmpdir(), 'roce-slurm-'));
// Clients of munged reach its socket through it.
chmodSync(there, 0o711);

/** A command of this repository, from its sources, in any folder. */
const command = (file: string): string[] => [
  'env',
  `TSX_TSCONFIG_PATH=${join(ROOT, 'tsconfig.json')}`,
  process.execPath,
  ...['--import', import.meta.resolve('tsx'), join(ROOT, file)],
];
const SIM = [...command('tools/roce.ts'), 'sim'];
const RUNS = 16;

function scriptIn(name: string): string {
  const folder = join(there, name);
  mkdirSync(folder);
  writeFileSync(join(folder, 'share.sh'), SCRIPT);
  return folder;
}

function local([program = '', ...args]: readonly string[], cwd: string): string {
  return execFileSync(program, args, { cwd, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] });
}

/** The cases that have a result, with what changes when a file is written again. */
function present(folder: string): Map<string, string> {
  const path = join(folder, 'results');
  const names = readdirSync(path).filter((name) => /^case-\d+\.json$/.test(name));
  return new Map(
    names.map((name) => {
      const { ino, mtimeNs } = statSync(join(path, name), { bigint: true });
      return [name, `${ino} ${mtimeNs}`];
    }),
  );
}

/** The numbers of these cases. */
function existing(folder: string): number[] {
  if (!existsSync(join(folder, 'results'))) return [];
  return [...present(folder).keys()].map((name) => Number(name.replace(/\D/g, '')));
}

describeWith('slurm', 'an array of Slurm', () => {
  let cluster: Cluster;
  beforeAll(async () => {
    cluster = await startCluster(there);
  });
  afterAll(async () => {
    await cluster?.end();
    rmSync(there, { recursive: true, force: true });
  });

  function submit(folder: string, shares: number, words: readonly string[]): string {
    const args = ['--parsable', `--array=0-${shares - 1}`, 'share.sh', ...words];
    return cluster.run('sbatch', args, folder).trim();
  }

  /** Tasks of an array that have not ended, by the ids of their jobs; a line for each. */
  const tasks = (job: string): string[] =>
    cluster.run('squeue', ['-h', '-r', '-t', 'all', '-j', job, '-o', '%A %T'], there).split('\n').filter(isUnderWay);
  const isUnderWay = (line: string): boolean => /PENDING|RUNNING|COMPLETING/.test(line);
  const hasEnded = (job: string): Promise<void> => until(`job ${job} ends`, () => tasks(job).length === 0);

  it('goes on after kill -9 and scancel with the cases that have no result, and with no other', async () => {
    const folder = scriptIn('sim');
    const scenario = join(folder, 'scenario.json');
    writeFileSync(
      scenario,
      JSON.stringify(small({ traffic: [{ pattern: 'incast', senders: 2, receiver: 2, bytes: 2e7 }] })),
    );
    const sweep = [...SIM, scenario, '--seeds', `1..${RUNS}`, '--jobs', '1'];

    const first = submit(folder, 2, sweep);
    await until('both tasks have results', () => {
      const names = existing(folder);
      return names.some((index) => index % 2 === 0) && names.some((index) => index % 2 === 1);
    });
    const [victim = ''] = tasks(first).map((line) => line.split(' ')[0]);
    const processes = cluster.processesOf(victim);
    expect(processes.length).toBeGreaterThan(0);
    for (const pid of processes) process.kill(pid, 'SIGKILL');
    cluster.run('scancel', [first], folder);
    await hasEnded(first);
    const kept = present(folder);
    expect(kept.size).toBeGreaterThanOrEqual(2);
    expect(kept.size).toBeLessThan(RUNS);

    await hasEnded(submit(folder, 3, sweep));
    const all = present(folder);
    expect(existing(folder).sort((a, b) => a - b)).toEqual(Array.from({ length: RUNS }, (_, index) => index));
    for (const [name, file] of kept) expect([name, all.get(name)]).toEqual([name, file]);

    local([...SIM, 'merge', 'results', '--quiet', '--jsonl', 'merged.jsonl', '--csv', 'merged.csv'], folder);
    local([...sweep, '--quiet', '--jsonl', 'whole.jsonl', '--csv', 'whole.csv'], folder);
    for (const kind of ['jsonl', 'csv'])
      expect(readFileSync(join(folder, `merged.${kind}`)).equals(readFileSync(join(folder, `whole.${kind}`)))).toBe(
        true,
      );
  });

  it.each([
    ['the swarm', 'tools/swarm/swarm.ts', ['--seeds', '1-6']],
    ['the fuzzers', 'test/fuzz/run.ts', ['--target', 'pcap', '--runs', '300', '--seeds', '1..4']],
  ])('does the same with %s', async (name, file, options) => {
    const folder = scriptIn(name.replace(' ', '-'));
    const run = [...command(file), ...options, '--json'];
    await hasEnded(submit(folder, 2, run));
    const merged = local([...command(file), 'merge', 'results', '--json'], folder);
    expect(merged).not.toBe('');
    expect(merged).toBe(local([...run, '--results', 'whole'], folder));
  });
});
