/**
 * Goal: what is recorded is what happened, in no more room than it was given.
 * Method: recorders fed by hand; a simulation with known queues and rates looked at.
 */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type SeriesKind, simulate } from '../../../src/sim/simulation/index.ts';
import { QueueMeter, SeriesRecorder } from '../../../src/sim/simulation/recorder.ts';
import { jainIndex, mean, quantile } from '../../../src/sim/simulation/statistics.ts';
import { star } from '../../../src/sim/topology/index.ts';

const LINK = { rateBps: 100e9, delayNs: 1_000 };

describe('SeriesRecorder', () => {
  it('keeps all points there is room for, and beyond that points at equal distances from the first on', () => {
    fc.assert(
      fc.property(fc.integer({ min: 16, max: 40 }), fc.integer({ min: 0, max: 2_000 }), (maxPoints, count) => {
        const recorder = new SeriesRecorder('queue', 'switch0:0', 'bytes', maxPoints);
        for (let i = 0; i < count; i++) recorder.add(10 * i, i * i);
        const { times, values } = recorder.take();
        expect(times.length).toBeLessThanOrEqual(maxPoints);
        if (count <= maxPoints - 1) expect(times).toHaveLength(count);
        else expect(times.length).toBeGreaterThanOrEqual(Math.floor(maxPoints / 2));
        const step = (times[1] ?? 10) - (times[0] ?? 0);
        expect(times).toEqual(times.map((_, index) => index * step));
        expect(values).toEqual(times.map((time) => (time / 10) ** 2));
        // The last point is no further back than a step.
        if (count > 0) expect(10 * (count - 1) - (times.at(-1) ?? 0)).toBeLessThan(step);
      }),
    );
  });
});

describe('QueueMeter', () => {
  it('finds mean, deviation, quantiles and peak', () => {
    const meter = new QueueMeter('switch0:0');
    for (let i = 0; i <= 1_000; i++) meter.add(i);
    const stats = meter.take();
    expect(stats).toMatchObject({
      name: 'switch0:0',
      samples: 1_001,
      mean: 500,
      p5: 50,
      p50: 500,
      p95: 950,
      max: 1_000,
    });
    expect(stats.deviation).toBeCloseTo(Math.sqrt((1_001 ** 2 - 1) / 12), 6);
  });

  it('has nothing to say when it never looked', () => {
    expect(new QueueMeter('a').take()).toEqual({
      ...{ name: 'a', samples: 0, mean: 0, deviation: 0, p5: 0, p50: 0, p95: 0, max: 0 },
    });
  });

  it('stays exact in mean and near in quantiles however often it looks', () => {
    const meter = new QueueMeter('a');
    for (let i = 0; i < 700_000; i++) meter.add((i * 7_919) % 10_000);
    const { samples, mean: average, p50, max } = meter.take();
    expect([samples, average, max]).toEqual([700_000, 4_999.5, 9_999]);
    expect(Math.abs(p50 - 5_000)).toBeLessThan(50);
  });
});

describe('statistics', () => {
  it('calls equal shares fair and one taker unfair', () => {
    expect(jainIndex([5, 5, 5])).toBeCloseTo(1, 12);
    expect(jainIndex([5, 0, 0, 0])).toBeCloseTo(0.25, 12);
    expect(jainIndex([0, 0])).toBe(1);
  });

  it('finds quantiles in any order, between neighbours by straight lines', () => {
    expect(quantile([40, 10, 30, 20], 0.5)).toBe(25);
    expect([0, 1].map((q) => quantile([3, 1, 2], q))).toEqual([1, 3]);
    expect(quantile([0, 10], 0.25)).toBe(2.5);
    expect(quantile([7], 0.95)).toBe(7);
    expect(quantile([], 0.5)).toBeNaN();
    expect(mean([1, 2, 6])).toBe(3);
  });
});

describe('probes', () => {
  const result = simulate({
    seed: 2,
    topology: star({ hosts: 3, link: LINK }),
    switches: { flowControl: 'pfc', ecn: { kminBytes: 5_000, kmaxBytes: 50_000, pmax: 0.5 } },
    congestion: { reaction: { kind: 'dcqcn', profile: 'paper' } },
    flows: [0, 1].map((src) => ({ src, dst: 2, bytes: Infinity, startNs: 100_000 * src })),
    stopNs: 1e6,
    window: { fromNs: 500_000, toNs: 900_000 },
    probe: { intervalNs: 10_000, queues: ['switch0:2', 'switch0:0'], flows: [1], queueSampleNs: 100 },
  });
  const series = (kind: SeriesKind, of: string) =>
    result.series.find((candidate) => candidate.kind === kind && candidate.of === of);

  it('record what was asked for, and flows only while they run', () => {
    expect(result.series.map(({ kind, of }) => `${kind} ${of}`)).toEqual([
      ...['queue switch0:2', 'queue switch0:0', 'rate flow 1', 'target flow 1', 'alpha flow 1'],
      ...['notifications all', 'pauses all'],
    ]);
    expect(series('queue', 'switch0:2')?.times.slice(0, 3)).toEqual([0, 10_000, 20_000]);
    expect(series('rate', 'flow 1')?.times[0]).toBe(100_000);
  });

  it('see the queue, the cut and the notifications', () => {
    expect(Math.max(...(series('queue', 'switch0:2')?.values ?? []))).toBeGreaterThan(50_000);
    expect(Math.max(...(series('queue', 'switch0:0')?.values ?? []))).toBeLessThan(1_000);
    const rates = series('rate', 'flow 1')?.values ?? [];
    expect(rates[0]).toBe(100e9);
    expect(Math.min(...rates)).toBeLessThan(60e9);
    const notifications = series('notifications', 'all')?.values ?? [];
    expect(notifications).toEqual([...notifications].sort((a, b) => a - b));
    expect(notifications[0]).toBe(0);
    expect(notifications.at(-1)).toBeGreaterThanOrEqual(2);
    expect(result.hosts.npCnpSent).toBeGreaterThanOrEqual(notifications.at(-1) ?? Infinity);
  });

  it('measure queues and goodput over the window', () => {
    const [stats] = result.queueStats;
    expect(stats?.samples).toBe(4_001);
    expect(result.queueStats[1]).toMatchObject({ p50: 0, name: 'switch0:0' });
    const total = result.flows.reduce((sum, { windowBps }) => sum + windowBps, 0);
    expect(total).toBeGreaterThan(60e9);
    expect(total).toBeLessThan(97e9);
  });
});
