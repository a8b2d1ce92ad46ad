/**
 * Goal: the scenario of a training step is one, in small: its time is beside the bound of the ring, and the bound is
 * that of the links. Method: the scenario that is built in, with 16 hosts; two rings over four hosts.
 */
import { describe, expect, it } from 'vitest';
import { execute } from '../../../tools/sim/run/execute.ts';
import { parseSetting } from '../../../tools/sim/run/plan.ts';
import { loadScenario, readScenario } from '../../../tools/sim/scenario/load.ts';
import { allFlows } from '../../../tools/sim/scenario/traffic.ts';
import { jobOf, small } from './support.ts';

const quiet = (): void => {};

describe('the training step', () => {
  it('is of 256 hosts, each of which sends 510 chunks of 1 MiB', () => {
    const [{ variant } = { variant: undefined }] = loadScenario(readScenario('training-step')).variants;
    const flows = variant === undefined ? [] : allFlows(variant);
    expect(flows).toHaveLength(256);
    for (const { flow } of flows) expect([flow.messageBytes, flow.bytes]).toEqual([1 << 20, 510 * (1 << 20)]);
  });

  it('with sixteen hosts takes little more than its bound', () => {
    const settings = [
      'topology.leaves=4',
      'topology.hostsPerLeaf=4',
      'traffic[0].hosts=16',
      'traffic[0].bytes=4194304',
    ];
    const job = jobOf(readScenario('training-step').json, { settings: settings.map(parseSetting) });
    const { record } = execute(job, quiet);
    const figures = record.variants[0]?.figures ?? {};
    // 30 chunks of 256 KiB at 400 Gb/s.
    expect(figures['stepIdealNs']).toBeCloseTo((30 * 262_144 * 8) / 400, 5);
    expect(figures['dataPackets']).toBe((16 * 30 * 262_144) / 4096);
    expect(figures['stepSlowdown']).toBeGreaterThan(1.014);
    expect(figures['stepSlowdown']).toBeLessThan(1.4);
    expect(figures['stepNs']).toBe(figures['endNs']);
    expect(record.verdicts.filter(({ passed }) => !passed).map(({ figure }) => figure)).toEqual(['stepSlowdown']);
  });
});

describe('rings side by side', () => {
  const LINK = { rateBps: 10e9, delayNs: 500 };
  const rings = (...hosts: readonly (readonly number[])[]) => ({
    topology: { kind: 'star', hosts: 4, link: LINK },
    traffic: hosts.map((list, index) => ({
      ...{ pattern: 'ring-all-reduce', group: `ring${index}`, hosts: list, bytes: 40_000 },
    })),
    expect: [],
  });
  const figuresOf = (changes: ReturnType<typeof rings>) =>
    execute(jobOf(small(changes)), quiet).record.variants[0]?.figures ?? {};

  it('have twice the bound when they share the links of their hosts', () => {
    const [one, two] = [figuresOf(rings([0, 1, 2, 3])), figuresOf(rings([0, 1, 2, 3], [3, 2, 1, 0]))];
    expect(one['stepIdealNs']).toBe((6 * 10_000 * 8) / 10);
    expect(two['stepIdealNs']).toBe(2 * (one['stepIdealNs'] ?? 0));
    expect(two['completed']).toBe(8);
    expect(two['stepNs']).toBeGreaterThan(two['stepIdealNs'] ?? 0);
  });

  it('have the bound of the longest when they share none', () => {
    const two = figuresOf(rings([0, 1], [2, 3]));
    expect(two['stepIdealNs']).toBe((2 * 20_000 * 8) / 10);
    expect(two['stepSlowdown']).toBe((two['stepNs'] ?? 0) / (two['stepIdealNs'] ?? 0));
  });

  it('take from the begin of the first host to the end of the last one', () => {
    const { topology, traffic } = rings([0, 1, 2, 3]);
    const late = traffic.map((ring) => ({ ...ring, startNs: 7_000, staggerNs: 1_000 }));
    const figures = figuresOf({ topology, traffic: late, expect: [] });
    expect(figures['stepNs']).toBe((figures['endNs'] ?? 0) - 7_000);
  });

  it('are no figure while one of them is not done', () => {
    const figures = figuresOf({ ...rings([0, 1]), ...{ stopNs: 20_000 } });
    expect(Object.keys(figures).filter((name) => name.startsWith('step'))).toEqual([]);
  });
});
