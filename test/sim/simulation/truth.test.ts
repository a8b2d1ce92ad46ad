/**
 * Goal: what others have measured or derived comes out of the simulator. The short forms; the long ones are in
 * truth.long.test.ts. Method: the parameters of the source, the figure of the source, the tolerance of ref:dcqcn#8.
 */
import { beforeAll, describe, expect, it } from 'vitest';
import { installBulkCrc32 } from '../../../src/node/bulk-crc32.ts';
import { simulate } from '../../../src/sim/simulation/index.ts';
import { star } from '../../../src/sim/topology/index.ts';
import { FRAME_BYTES, fixedPointRun, hpccIncast, meanFctUs, paperQueueBytes } from './truth-support.ts';

beforeAll(() => {
  installBulkCrc32();
});

describe('flow completion times of an incast by the rules of HPCC', () => {
  // ref:dcqcn#6.2, gate C7: 10 %, and 5 % for the timers of the paper.
  const cases = [
    { senders: 2, bytes: 10e6, timers: 'mlx', us: 2_150.4, within: 0.1 },
    { senders: 16, bytes: 500e3, timers: 'mlx', us: 810, within: 0.1 },
    { senders: 64, bytes: 500e3, timers: 'mlx', us: 2_612, within: 0.1 },
    { senders: 16, bytes: 500e3, timers: 'paper', us: 667.5, within: 0.05 },
  ] as const;
  for (const { senders, bytes, timers, us, within } of cases) {
    it(`${senders}:1, ${bytes / 1e6} MB, timers ${timers}: mean ${us} us, within ${100 * within} %`, () => {
      const result = simulate(hpccIncast(senders, bytes, timers));
      expect(Math.abs(meanFctUs(result) / us - 1)).toBeLessThan(within);
      expect(result.network.dropped).toBe(0);
      expect(result.hosts.npCnpSent).toBe(0);
    });
  }
});

describe('the queue of DCQCN', () => {
  const row = { flows: 16, pmax: 0.1, kmaxBytes: 200e3, aiRateBps: 40e6, warmUpNs: 28e6, windowNs: 15e6 };

  it('of 16 flows stands at the fixed point of the fluid model where the rules are those of the model', () => {
    // ref:dcqcn#6.1: 26.20 KB. A short look; the gate of C5, 15 %, is held by the long one.
    const { queueStats, flows } = simulate(fixedPointRun({ ...row, rules: 'two-clocks' }));
    expect(Math.abs((queueStats[0]?.mean ?? 0) / 26_200 - 1)).toBeLessThan(0.25);
    expect(flows).toHaveLength(16);
  });

  it('of 16 flows with notification packets stands where those rules themselves stand still, which is higher', () => {
    const expected = paperQueueBytes({ ...row, rules: 'paper' });
    const { queueStats, hosts } = simulate(fixedPointRun({ ...row, rules: 'paper' }));
    expect(expected / 26_200).toBeGreaterThan(1.3);
    expect(Math.abs((queueStats[0]?.mean ?? 0) / expected - 1)).toBeLessThan(0.25);
    // Some may be under way at the end.
    expect(hosts.npCnpSent - hosts.rpCnpHandled).toBeLessThan(row.flows);
    expect(hosts.rpCnpHandled).toBeGreaterThan(1_000);
  });
});

describe('go-back-N under random loss', () => {
  // ref:dcqcn#5.7, gate C11: (1-p) / (1-p + p W), within 5 %.
  const rateBps = 100e9;
  const delayNs = 2_100;
  const frameNs = (8e9 * FRAME_BYTES) / rateBps;
  const ackNs = (8e9 * 62) / rateBps;
  // Sent in vain for each loss: the packet itself, and all until the NAK is back that the one behind it draws.
  const wasted = Math.ceil(3 + (4 * delayNs + 2 * ackNs) / frameNs);

  for (const [p, packets] of [
    [1e-4, 40_000],
    [1e-3, 20_000],
    [1e-2, 20_000],
  ] as const) {
    it(`has the goodput of the closed form at p = ${p} and ${wasted} packets a round trip`, () => {
      const { flows, hosts } = simulate({
        seed: 1,
        topology: star({ hosts: 2, link: { rateBps, delayNs } }),
        loss: 1 - Math.sqrt(1 - p),
        // Sixteen microseconds: a packet that is lost twice, or a lost NAK, costs two round trips.
        host: { ackTimeout: 2 },
        flows: [{ src: 0, dst: 1, bytes: 1_024 * packets, startNs: 0, operation: 'send' }],
      });
      const goodput = (flows[0]?.goodputBps ?? 0) / ((rateBps * 1_024) / FRAME_BYTES);
      const closedForm = (1 - p) / (1 - p + p * wasted);
      expect(Math.abs(goodput / closedForm - 1)).toBeLessThan(0.05);
      expect(hosts.rcvdSeqErr).toBeGreaterThan(0);
    });
  }
});
