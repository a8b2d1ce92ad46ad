/** What `roce nvme serve` tells of its queues: the line, the lines, and the table. */
import { expect, it } from 'vitest';
import type { Controller, TargetQueue } from '../../../src/ulp/nvme/index.ts';
import { LatencyHistogram, ServeStatistics } from '../../../tools/nvme/serve-statistics.ts';

const CONTROLLER = { id: 3, hostNqn: 'nqn.2026-11.example:host' } as Controller;

function queueOf(qid: number): TargetQueue {
  const counters = { commands: 1200, errors: 1, bytesToHost: 4_000_000, bytesFromHost: 0 };
  return { qid, counters, outstanding: 5, closed: false } as unknown as TargetQueue;
}

function watched(isTTY: boolean) {
  const lines: string[] = [];
  const written: string[] = [];
  const output = { line: (text: string) => void lines.push(text), complaint: () => undefined };
  const terminal = { isTTY, columns: 200, write: (text: string) => written.push(text) };
  return { lines, written, statistics: new ServeStatistics(output, terminal) };
}

it('tells quantiles with an error of an eighth at most', () => {
  const latency = new LatencyHistogram();
  expect(latency.at(0.5)).toBeUndefined();
  for (let i = 1; i <= 1000; i++) latency.add(i * 1000);
  for (const part of [0.01, 0.5, 0.99, 1]) {
    const exact = part * 1_000_000;
    expect(latency.at(part)).toBeGreaterThanOrEqual(exact);
    expect(latency.at(part)).toBeLessThanOrEqual(exact * 1.126);
  }
});

it('writes one line over and over on a terminal, and lines above it', () => {
  const { lines, written, statistics } = watched(true);
  const queue = queueOf(1);
  statistics.joined(CONTROLLER, queue);
  statistics.ended(queue, 10_000);
  statistics.beat();
  expect(written.at(-1)).toMatch(
    /^\rcontroller 3 queue 1: 1,200 commands, 1 errors, 4\.0 MB read, .* 5 outstanding, p50 1\d us/,
  );
  statistics.line('something');
  expect([lines, written.at(-1)]).toEqual([['something'], '\r\u001b[K']);
});

it('prints lines elsewhere, every ten seconds and only where something was done', () => {
  const { lines, written, statistics } = watched(false);
  statistics.joined(CONTROLLER, queueOf(0));
  statistics.joined(CONTROLLER, queueOf(1));
  for (let second = 0; second < 40; second++) statistics.beat();
  expect(written).toEqual([]);
  expect(lines).toEqual([expect.stringMatching(/^controller 3 queue 1: /)]);
});

it('ends with a table of all queues, without latencies of event requests', () => {
  const { lines, statistics } = watched(false);
  const [admin, io] = [queueOf(0), queueOf(1)];
  for (const queue of [admin, io]) statistics.joined(CONTROLLER, queue);
  statistics.ended(admin, 60e9);
  statistics.ended(io, 10_000);
  statistics.totals();
  expect(lines[0]).toMatch(/host +controller +queue +commands +errors +read +written +p50 +p99/);
  expect(lines.find((line) => / 0 +1,200/.test(line))).toMatch(/- +-\s*$/);
  expect(lines.find((line) => / 1 +1,200/.test(line))).toMatch(/1\d us +1\d us/);
});
