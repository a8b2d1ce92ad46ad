/**
 * Goal: the bench of the links runs every link that this machine has between two processes, and reports in the shape
 * that `--json` promises; goals and the rule for flat memory are computed rightly. Nothing here looks at how fast
 * anything is. Method: the command in a process of its own with hardly any work; the arithmetic by itself.
 */
import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { LINK_KINDS } from '../../src/node/links/index.ts';
import { CONTESTANTS, chosen } from '../../tools/bench/links/contestants.ts';
import { flatness } from '../../tools/bench/links/flatness.ts';
import { goalRows } from '../../tools/bench/links/goals.ts';
import type { Figures } from '../../tools/bench/links/protocol.ts';
import type { ContestantResult } from '../../tools/bench/links/rounds.ts';
import { Interval, Samples } from '../../tools/bench/links/samples.ts';
import { describeWith } from '../support/need.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const MIB = 0x10_00_00;
/** The bench starts some thirty processes. */
const SLOW_MACHINE_MS = 900_000;

interface Ended {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** The command at its end, with hardly any work to do. */
function bench(...args: readonly string[]): Promise<Ended> {
  return new Promise((resolve) => {
    const env = { ...process.env, BENCH_QUICK: '1' };
    const child = spawn(process.execPath, ['--import', 'tsx', 'tools/bench/run.ts', ...args], { cwd: ROOT, env });
    let [stdout, stderr] = ['', ''];
    child.stdout.on('data', (chunk) => {
      stdout += String(chunk);
    });
    child.stderr.on('data', (chunk) => {
      stderr += String(chunk);
    });
    child.on('close', (code) => resolve({ code, stdout, stderr }));
  });
}

function rowsOf({ stdout }: Ended): Record<string, unknown>[] {
  return stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Record<string, unknown>);
}

describeWith(['netns', 'raw-socket', 'cap'], 'npm run bench -- --links', () => {
  it('measures every link and every bare socket, and compares them', { timeout: SLOW_MACHINE_MS }, async () => {
    const ended = await bench('--links', '--json');
    expect(ended.stderr).toBe('');
    // So little work may miss a goal; a crash is another code.
    expect([0, 1]).toContain(ended.code);
    const rows = rowsOf(ended);
    expect(rows.filter((row) => 'failed' in row || 'skipped' in row)).toEqual([]);
    for (const { name, medium, tasks, ours } of CONTESTANTS) {
      const row = rows.find((one) => one['name'] === name && one['medium'] === medium);
      const number = expect.any(Number);
      expect(row).toEqual({
        name,
        medium,
        ...(tasks.includes('goodput') ? { goodputMibPerS: number } : {}),
        ...(tasks.includes('rate') ? { messagesPerS: number } : {}),
        ...(tasks.includes('roundTrip') ? { p50Us: number, p99Us: number } : {}),
        ...(tasks.includes('flood') ? { floodMibPerS: number, floodLostShare: number } : {}),
        serverLoad: number,
        clientLoad: number,
        sentFrames: number,
        lostFrames: 0,
        sentAgainFrames: number,
      });
      if (ours) expect(rows).toContainEqual(expect.objectContaining({ name: `${name} lost, ${medium}`, met: true }));
    }
    const goals = rows.filter((row) => 'ratio' in row && !String(row['name']).includes('lost'));
    expect(goals.map((row) => `${String(row['name'])} ${String(row['goal'])}`)).toEqual([
      'udp6 goodput >= 0.7',
      'udp6 round trip <= 1.25',
      'udp6 goodput ',
      'udp6 round trip ',
      'udp-offload round trip <= 0.7',
      'packet-ring round trip <= 0.7',
      'shm round trip <= 0.15',
      'packet-ring goodput >= 1.5',
      'udp-offload goodput >= 4',
      'udp-offload goodput >= 1',
    ]);
  });

  it('measures only those asked for, and prints a table', async () => {
    const { stdout } = await bench('--links', '--only', 'dgram@loopback,in-process');
    const lines = stdout.trim().split('\n');
    expect(lines[0]).toMatch(/link +medium +goodput MiB\/s +messages\/s +p50 us +p99 us +lost/);
    expect(lines[1]).toMatch(/dgram +loopback .* flood /);
    expect(lines[2]).toMatch(/in-process +one process /);
    expect(lines[5]).toMatch(/in-process lost, one process +0 frames .* met$/);
    expect(lines).toHaveLength(6);
  });

  it('soaks a link: data verified, memory watched, losses counted', async () => {
    const ended = await bench('--soak', '1', '--only', 'qemu', '--json');
    expect(rowsOf(ended)).toEqual([
      {
        name: 'qemu',
        medium: 'unix socket',
        good: true,
        words: expect.arrayContaining([
          expect.stringMatching(/^memory not judged in less than 60 s, resident\/held /),
          expect.stringMatching(/^0 of \d+ frames lost, 0 sent again$/),
          expect.stringMatching(/^[1-9]\d* MiB written, [1-9]\d* MiB read back and compared, [1-9]\d* SENDs echoed$/),
        ]),
      },
    ]);
  });

  it('ends with 2 when there is no such link', async () => {
    const { code, stderr } = await bench('--links', '--only', 'nonsense');
    expect(code).toBe(2);
    expect(stderr).toContain('no link named nonsense');
  });
});

it('every kind of link takes part but loopback, which joins no two processes', () => {
  // Some take part in other ways of waiting as well: "shm event".
  const names = new Set(CONTESTANTS.filter(({ ours }) => ours).map(({ name }) => name.replace(/ (event|busy)$/, '')));
  const between = LINK_KINDS.map(({ name }) => name).filter((name) => name !== 'loopback');
  expect([...names].sort()).toEqual([...between, 'in-process'].sort());
});

it('contestants are chosen by name, on one medium or all', () => {
  const names = (...wanted: string[]): string[] => chosen(wanted).those.map(({ name, medium }) => `${name}@${medium}`);
  expect(names('udp6')).toEqual(['udp6@loopback', 'udp6@veth']);
  expect(names('udp6@veth', 'tap')).toEqual(['udp6@veth', 'tap@TAPs on a bridge']);
  expect(names()).toHaveLength(CONTESTANTS.length);
  expect(chosen(['udp6', 'x']).unknown).toBe('x');
});

function result(name: string, medium: string, rounds: readonly Figures[], lost = 0): ContestantResult {
  const contestant = CONTESTANTS.find((one) => one.name === name && one.medium === medium);
  if (contestant === undefined) throw new Error(`${name} takes part on ${medium}`);
  return { contestant, rounds, loads: [], losses: { sent: 1000, lost, sentAgain: 0 } };
}

it('goals compare figures of the same round', () => {
  const goodputs = (...values: number[]): Figures[] => values.map((value) => ({ goodput: value * MIB, p50: 10 }));
  const rows = goalRows([
    result('dgram', 'loopback', goodputs(100, 1000, 10)),
    result('udp6', 'loopback', goodputs(71, 690, 8), 2),
    result('tcp', 'loopback', goodputs(300, 300, 300)),
    result('udp-offload', 'loopback', goodputs(284, 2760, 32)),
  ]);
  const seen = rows.map(({ name, value, peerValue, ratio, met }) => [name, value, peerValue, ratio, met]);
  expect(seen).toEqual([
    ['udp6 goodput', 71, 100, 0.71, true],
    ['udp6 round trip', 10, 10, 1, true],
    ['udp-offload round trip', 10, 10, 1, false],
    ['udp-offload goodput', 284, 71, 4, true],
    ['udp-offload goodput', 284, 300, 284 / 300, false],
    ['udp6 lost, loopback', 2, 1000, 0.002, false],
    ['udp-offload lost, loopback', 0, 1000, 0, true],
  ]);
});

it('memory is flat when its line is, after the first fifth', () => {
  const samples = (mib: (index: number) => number) =>
    Array.from({ length: 60 }, (_, index) => ({ seconds: index * 10, bytes: mib(index) * MIB }));
  expect(flatness(samples((index) => (index < 12 ? index * 50 : 600))).flat).toBe(true);
  expect(flatness(samples((index) => 100 + (index % 7))).flat).toBe(true);
  expect(flatness(samples((index) => 100 - index))).toMatchObject({ spreadMib: 47, flat: false });
  const leaking = flatness(samples((index) => 100 + index / 4));
  expect(leaking.riseMib).toBeCloseTo(11.75, 6);
  expect(leaking.flat).toBe(false);
  const jumping = flatness(samples((index) => (index % 2 === 0 ? 100 : 140)));
  expect(jumping).toMatchObject({ spreadMib: 40, flat: false });
  expect(flatness([])).toEqual({ riseMib: 0, spreadMib: 0, flat: true });
});

it('percentiles are of sorted samples, and there is room for any number of them', () => {
  const samples = new Samples();
  for (let i = 0; i < 100_000; i++) samples.add(((i * 7919) % 100_000) / 1000);
  expect(samples.count).toBe(100_000);
  expect(samples.figures()).toEqual({ p50: 50_000, p99: 99_000 });
});

it('an interval counts from its first tick', () => {
  const clock = new Interval(0);
  clock.tick(5);
  expect(clock.rate).toBeNaN();
  expect(clock.running).toBe(false);
  while (!(clock.rate > 0)) clock.tick(1);
  expect(Number.isFinite(clock.rate)).toBe(true);
});
