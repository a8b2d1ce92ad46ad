/**
 * Goal: what others have measured or derived comes out of the simulator, at full length: queues, limit cycles,
 * fairness, completion times. Method: the parameters of the source, the figure of the source, the tolerance of
 * ref:dcqcn#8. Ten million packets; minutes.
 *
 * What does not fit, and why: with notification packets that keep a distance of tau (`paper`) queues stand a third
 * above the fixed point of the fluid model, exactly where these rules stand still themselves (`paperQueueBytes`);
 * counted by periods of tau they fit. And 64 flows with a loop of 85 us swing, though the fluid model comes to rest
 * there: its margin is -8 degrees with the exact p*, and in the peer's own packets 64 flows swing with 4 us already.
 */
import { beforeAll, describe, expect, it } from 'vitest';
import { installBulkCrc32 } from '../../../src/node/bulk-crc32.ts';
import { jainIndex, type QueueStats, type SimulationResult, simulate } from '../../../src/sim/simulation/index.ts';
import {
  type FixedPointRow,
  FRAME_BYTES,
  fixedPointRun,
  hpccIncast,
  meanFctUs,
  paperQueueBytes,
} from './truth-support.ts';

beforeAll(() => {
  installBulkCrc32();
});

const MS = 1e6;
/** Every link, so that a notification comes to the switch again as a rate after 85 us. */
const LOOP_OF_85_US = 21_250;
/** RED goes on with the slope of 1 % at 200 KB, so that 64 flows have a fixed point below its end. */
const LONG_RED = { pmax: 0.1, kmaxBytes: 1_955e3 };
const ROW = { pmax: 0.01, kmaxBytes: 200e3, aiRateBps: 40e6, warmUpNs: 100 * MS, windowNs: 100 * MS } as const;

const known = new Map<string, SimulationResult>();

/** A run is done once for all tests that look at it. */
function run(row: FixedPointRow): SimulationResult {
  const key = JSON.stringify(row);
  const result = known.get(key) ?? simulate(fixedPointRun(row));
  known.set(key, result);
  return result;
}

function queueOf({ queueStats: [stats] }: SimulationResult): QueueStats {
  if (stats === undefined) throw new Error('the run has looked at a queue');
  return stats;
}

/** How much the queue swings: deviation over mean. */
function variation(row: FixedPointRow): number {
  const { deviation, mean } = queueOf(run(row));
  return deviation / mean;
}

/** ref:dcqcn#6.1, gate C5: the stable rows within 15 % of the exact q*. */
const STABLE = [
  { ...ROW, flows: 2, kb: 20.15 },
  { ...ROW, flows: 4, kb: 41.81 },
  { ...ROW, flows: 10, kmaxBytes: 1_000e3, aiRateBps: 10e6, warmUpNs: 120 * MS, kb: 415.8 },
  { ...ROW, flows: 16, pmax: 0.1, warmUpNs: 60 * MS, kb: 26.2 },
];

describe('the mean queue with notification packets, one in each period of the fluid model, profile of the paper', () => {
  for (const { kb, ...row } of STABLE)
    it(`of ${row.flows} flows is ${kb} KB, within 15 %`, () => {
      // The mean over 100 ms of so few flows moves by some 5 % (docs/congestion.md); over 200 ms by half of that.
      const { mean } = queueOf(run({ ...row, rules: 'periods', windowNs: 200 * MS }));
      expect(Math.abs(mean / (1_000 * kb) - 1)).toBeLessThan(0.15);
    });
});

describe('the mean queue by the rules of the fluid model, marks in acknowledges', () => {
  for (const { kb, ...row } of STABLE)
    it(`of ${row.flows} flows is ${kb} KB, within 15 %`, () => {
      const { mean } = queueOf(run({ ...row, rules: 'two-clocks' }));
      expect(Math.abs(mean / (1_000 * kb) - 1)).toBeLessThan(0.15);
    });

  // ref:dcqcn#6.1, the two limit cycles, with the peer's mean, median and 95 % quantile in KB.
  for (const { peer, ...row } of [
    { ...ROW, flows: 10, warmUpNs: 60 * MS, peer: [57, 12, 205] },
    { ...ROW, flows: 64, pmax: 0.1, warmUpNs: 60 * MS, peer: [74.6, 8, 265] },
  ])
    it(`of ${row.flows} flows swings between nothing and Kmax, as the peer's does`, () => {
      const { mean, p5, p50, p95 } = queueOf(run({ ...row, rules: 'two-clocks' }));
      expect(p5).toBe(0);
      expect(p95).toBeGreaterThanOrEqual(200e3);
      const [peerMean = 0, peerMedian = 0, peerP95 = 0] = peer.map((kb) => 1_000 * kb);
      expect(Math.abs(mean / peerMean - 1)).toBeLessThan(0.15);
      expect(Math.abs(p50 - peerMedian)).toBeLessThan(10e3);
      expect(Math.abs(p95 / peerP95 - 1)).toBeLessThan(0.1);
    });
});

const PAPER_ROWS: readonly FixedPointRow[] = [
  { ...ROW, flows: 2, rules: 'paper' },
  { ...ROW, flows: 4, rules: 'paper' },
  { ...ROW, flows: 10, rules: 'paper', warmUpNs: 60 * MS, windowNs: 200 * MS },
  { ...ROW, flows: 16, pmax: 0.1, rules: 'paper', warmUpNs: 60 * MS },
  { ...ROW, ...LONG_RED, flows: 64, rules: 'paper', warmUpNs: 60 * MS, windowNs: 200 * MS },
];

describe('notification packets and the profile of the paper', () => {
  for (const row of PAPER_ROWS) {
    it(`keep the queue of ${row.flows} flows where these rules stand still, within 15 %`, () => {
      const { mean } = queueOf(run(row));
      expect(Math.abs(mean / paperQueueBytes(row) - 1)).toBeLessThan(0.15);
    });

    it(`share fairly among ${row.flows} flows`, () => {
      // Gate C6, after the bound of ref:dcqcn#5.3, which the warm-up is longer than: Jain's index, and every flow
      // within 10 % of C/N.
      const { flows, network } = run(row);
      const rates = flows.map(({ windowBps }) => windowBps);
      const share = (40e9 * 1_024) / FRAME_BYTES / row.flows;
      expect(jainIndex(rates)).toBeGreaterThanOrEqual(0.98);
      for (const rate of rates) expect(Math.abs(rate / share - 1)).toBeLessThan(0.1);
      expect(network.dropped).toBe(0);
    });
  }
});

describe('the delay of the loop', () => {
  // ref:dcqcn#5.4, last paragraph.
  const ten: FixedPointRow = { ...ROW, flows: 10, rules: 'paper', warmUpNs: 60 * MS, windowNs: 200 * MS };
  const two: FixedPointRow = { ...ROW, flows: 2, rules: 'paper' };

  it('of 85 us makes ten flows swing that stand still with 4 us', () => {
    const slow = { ...ten, windowNs: 100 * MS, delayNs: LOOP_OF_85_US };
    const { p5, p95 } = queueOf(run(slow));
    expect(p5).toBe(0);
    expect(p95).toBeGreaterThanOrEqual(200e3);
    expect(variation(ten)).toBeLessThan(0.35);
    expect(variation(slow)).toBeGreaterThan(3 * variation(ten));
  });

  it('of 85 us changes nothing for two flows', () => {
    const slow = { ...two, delayNs: LOOP_OF_85_US };
    expect(Math.abs(variation(slow) / variation(two) - 1)).toBeLessThan(0.3);
    expect(Math.abs(queueOf(run(slow)).mean / paperQueueBytes(slow) - 1)).toBeLessThan(0.15);
  });

  it('of 4 us lets 64 flows stand still', () => {
    const sixtyFour = PAPER_ROWS.find(({ flows }) => flows === 64) ?? two;
    expect(variation(sixtyFour)).toBeLessThan(0.25);
    expect(queueOf(run(sixtyFour)).p5).toBeGreaterThan(1e6);
  });
});

describe('flow completion times of an incast by the rules of HPCC', () => {
  // ref:dcqcn#6.2, gate C7.
  it('16:1, 10 MB: mean 14,291 us and aggregate 81.0 Gb/s, within 10 %', () => {
    const result = simulate(hpccIncast(16, 10e6, 'mlx'));
    expect(Math.abs(meanFctUs(result) / 14_291 - 1)).toBeLessThan(0.1);
    // Bits a nanosecond are Gb/s.
    expect(Math.abs((8 * 160e6) / result.endNs / 81 - 1)).toBeLessThan(0.1);
    expect(result.network.dropped).toBe(0);
  });

  it('do not hang on the seed: each of five seeds is within 10 % for 16:1, 500 KB', () => {
    for (let seed = 1; seed <= 5; seed++) {
      const us = meanFctUs(simulate(hpccIncast(16, 500e3, 'mlx', seed)));
      expect(Math.abs(us / 810 - 1)).toBeLessThan(0.1);
    }
  });
});
