/** `npm run bench` with a thousandth of the work, and what its rows look like. */
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { expect } from 'vitest';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

export function runBench(...args: readonly string[]): { code: number | null; stdout: string; stderr: string } {
  const { status, stdout, stderr } = spawnSync(process.execPath, ['--import', 'tsx', 'tools/bench/run.ts', ...args], {
    cwd: ROOT,
    encoding: 'utf8',
    env: { ...process.env, BENCH_QUICK: '1' },
  });
  return { code: status, stdout, stderr };
}

/** Every bench, in the order in which they run. */
export const BENCH_NAMES = [
  'decode',
  'encode',
  'crc-4096',
  'crc-64',
  'write',
  'stages',
  'messages',
  'many-qps',
  'idle-qp',
  'qps-alive',
  'cm-setups',
  'fabric-incast',
  'fabric-ns3',
  'fabric-ns3-acks',
  'fabric-pauses',
  'fabric-calibration',
  'fabric-flows',
  'fabric-hosts',
  'analyze',
  'analyze-one-thread',
  'analyze-queue-pairs',
  'analyze-long',
  'analyze-memory',
  'explorer-open',
  'explorer-scroll',
  'explorer-filter',
  'verbs-write',
  'verbs-start',
  'verbs-wire',
  'verbs-events',
  'verbs-polling',
  'verbs-doorbell',
  'nvme-read',
  'nvme-read-verbs',
  'nvme-rate',
  'nvme-rate-verbs',
  'nvme-rate-floor',
  'nvme-latency',
  'nvme-latency-verbs',
  'nvme-cpu',
  'nvme-memory',
  'nvme-nbd',
] as const;

/** The rows that it prints with `--json`. */
export function benchRows(...args: readonly string[]): readonly { readonly name: string }[] {
  const { code, stdout, stderr } = runBench('--json', ...args);
  expect(stderr).toBe('');
  // A goal may be missed by so little work; a crash is another code.
  expect([0, 1]).toContain(code);
  return stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
}

/** A result, or why there is none on this machine. */
export function expectBenchRow(row: object): void {
  if ('skipped' in row) {
    expect(row).toEqual({
      name: expect.stringMatching(/^decode$|^analyze|^explorer-|^fabric-ns3|^verbs-|^nvme-/),
      skipped: expect.stringMatching(
        /tshark|chromium|perftest|network namespace|(ip|ethtool) is missing|is not installed|^ip cannot|qemu-/,
      ),
    });
    return;
  }
  const { parts = [], ...figures }: { readonly parts?: unknown } = row;
  for (const part of parts as readonly unknown[])
    expect(part).toEqual({ name: expect.any(String), value: expect.any(Number) });
  expect(figures).toEqual({
    name: expect.any(String),
    value: expect.any(Number),
    unit: expect.any(String),
    peer: expect.any(String),
    peerValue: expect.any(Number),
    ratio: expect.any(Number),
    goal: expect.stringMatching(/^([<>]= \d+(\.\d+)?)?$/),
    met: expect.toSatisfy((met) => met === null || typeof met === 'boolean'),
  });
}
