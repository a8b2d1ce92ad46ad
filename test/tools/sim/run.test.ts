/**
 * Goal: a run is a record that depends on file, settings and seed alone, and what fails is in it. Method: small
 * scenarios in this process.
 */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { CaptureReader, Direction } from '../../../pcap/index.ts';
import { execute } from '../../../tools/sim/run/execute.ts';
import { parseSetting } from '../../../tools/sim/run/plan.ts';
import { recordLine, recordSchema } from '../../../tools/sim/run/record.ts';
import type { JsonObject } from '../../../tools/sim/scenario/json.ts';
import { folder, jobOf, SMALL, small } from './support.ts';

const quiet = (): void => {};

describe('a run', () => {
  it('gives the same line each time, and another one for another seed', () => {
    const lossy = small({ loss: 0.01 });
    const line = recordLine(execute(jobOf(lossy), quiet).record);
    expect(recordLine(execute(jobOf(lossy), quiet).record)).toBe(line);
    const other = execute(jobOf(lossy, { settings: [parseSetting('seed=2')] }), quiet);
    expect(recordLine(other.record)).not.toBe(line);
  });

  it('is a record that is read back as it was, with figures and verdicts', () => {
    const { record, details } = execute(jobOf(SMALL), quiet);
    expect(recordSchema.parse(JSON.parse(recordLine(record)))).toEqual(record);
    expect(record.variants[0]?.figures).toMatchObject({ flows: 2, completed: 2, failed: 0, dropped: 0 });
    expect(record.verdicts).toMatchObject([{ passed: true, figure: 'completed', found: 2 }]);
    expect(details).toBeUndefined();
  });

  it('brings flows, series and the fluid model along where details are wanted', () => {
    const json = small({
      fluid: {},
      congestion: { reaction: { kind: 'dcqcn', profile: 'paper', parameters: { byteCounterBytes: 0 } } },
      expect: [{ figure: 'queueBytes.mean', operator: '<', value: { fluid: 'queueBytes', times: 1000 } }],
    });
    const { record, details } = execute(jobOf(json, { details: true }), quiet);
    const kinds = new Set(details?.variants[0]?.outcome.series.map(({ kind }) => kind));
    expect([...kinds].sort()).toEqual(['alpha', 'cnps', 'pauses', 'queueBytes', 'rateBps', 'targetRateBps']);
    expect(new Set(details?.fluid.map(({ kind }) => kind))).toEqual(
      new Set(['queueBytes', 'rateBps', 'targetRateBps', 'alpha']),
    );
    expect(record.verdicts[0]?.wanted).toBeGreaterThan(0);
  });

  it('that the simulation refuses is a record with the reason', () => {
    const { record } = execute(jobOf(small({ switches: { flowControl: 'pfc', bufferBytes: 1000 } })), quiet);
    expect(record.error).toMatch(/./);
    expect(record.variants).toEqual([]);
  });

  it('tells how far it is, up to the end, over all variants', () => {
    const shares: number[] = [];
    execute(jobOf(small({ compare: { a: {}, b: {} }, expect: [] })), (share) => shares.push(share));
    expect(shares.at(-1)).toBe(1);
    expect(shares).toEqual([...shares].sort((a, b) => a - b));
    expect(shares.some((share) => share > 0 && share <= 0.5)).toBe(true);
  });

  it('leaves a capture of what hosts send and receive, and no more frames than asked for', () => {
    const path = join(folder(), 'frames.pcapng');
    execute({ ...jobOf(SMALL), capture: { path, frames: 50 } }, quiet);
    expect(existsSync(path)).toBe(true);
    const reader = new CaptureReader();
    reader.push(readFileSync(path));
    const packets = [...Array.from({ length: 60 }, () => reader.next() ?? [])].flat();
    expect(packets).toHaveLength(50);
    expect(reader.interfaces.map(({ name }) => name).sort()).toEqual(['host0', 'host1', 'host2']);
    const directions = new Set(packets.map(({ direction }) => direction));
    expect(directions).toEqual(new Set([Direction.Inbound, Direction.Outbound]));
    expect(packets[0]?.direction).toBe(Direction.Outbound);
  });
});

const LINK = { rateBps: 10e9, delayNs: 500 };
const PATTERNS: Readonly<Record<string, JsonObject>> = {
  'a list of senders': {
    pattern: 'incast',
    senders: [1, 2],
    receiver: 0,
    bytes: 5000,
    flowsPerSender: 2,
    jitterNs: 100,
  },
  pairs: {
    pattern: 'pairs',
    pairs: [
      [0, 3],
      [1, 2],
    ],
    bytes: 5000,
    staggerNs: 1000,
    operation: 'read',
  },
  permutation: { pattern: 'permutation', hosts: 4, bytes: 5000, operation: 'send' },
  'all to all': { pattern: 'all-to-all', hosts: 4, bytes: 2000 },
  poisson: { pattern: 'poisson', hosts: 4, load: 0.5, rateBps: 10e9, bytes: 'hadoop', durationNs: 300_000 },
  'a ring': { pattern: 'ring-all-reduce', hosts: [2, 0, 1], bytes: 6000, jitterNs: 100 },
  'a table of sizes': {
    pattern: 'incast',
    senders: 2,
    receiver: 2,
    bytes: {
      name: 'two',
      points: [
        [10, 0],
        [3000, 1],
      ],
    },
  },
  'flows one by one': {
    pattern: 'flows',
    flows: [
      { src: 0, dst: 1, bytes: 1 },
      { src: 1, dst: 0, bytes: 'endless', priority: 4 },
    ],
  },
};
const TOPOLOGIES: Readonly<Record<string, JsonObject>> = {
  star: { kind: 'star', hosts: 4, link: LINK },
  dumbbell: { kind: 'dumbbell', pairs: 2, edge: LINK, bottleneck: LINK },
  'leaf and spine': { kind: 'leaf-spine', leaves: 2, spines: 2, hostsPerLeaf: 2, hostLink: LINK, uplink: LINK },
  'fat tree': { kind: 'fat-tree', k: 4, link: LINK, fabricLink: { ...LINK, rateBps: 20e9 } },
  'parking lot': { kind: 'parking-lot', hops: 1, edge: LINK, bottleneck: LINK },
  ring: { kind: 'ring', switches: 4, hostsPerSwitch: 1, link: LINK },
  'one of its own': {
    kind: 'custom',
    hosts: ['a', 'b', 'c', 'd'],
    switches: ['hub'],
    links: ['a', 'b', 'c', 'd'].map((a) => ({ a, b: 'hub', ...LINK })),
  },
};

describe('what a file can say is simulated', () => {
  const run = (changes: JsonObject) => {
    const { record, details } = execute(
      jobOf(small({ stopNs: 1e6, expect: [], ...changes }), { details: true }),
      quiet,
    );
    expect(record.error).toBeUndefined();
    return details?.variants[0]?.outcome;
  };
  const fourHosts = { topology: TOPOLOGIES['star'] ?? {} };

  it.each(Object.entries(PATTERNS))('traffic: %s', (_, spec) => {
    const result = run({ ...fourHosts, traffic: [{ group: 'own', ...spec }] });
    expect(result?.flows.length).toBeGreaterThan(1);
    for (const { group, deliveredBytes, status } of result?.flows ?? []) {
      expect(group).toBe('own');
      expect(['done', 'running']).toContain(status);
      expect(deliveredBytes).toBeGreaterThan(0);
    }
  });

  it.each(Object.entries(TOPOLOGIES))('a topology: %s', (_, topology) => {
    const result = run({ topology, traffic: [{ pattern: 'all-to-all', hosts: 4, bytes: 3000 }] });
    expect(result?.flows.map(({ status }) => status)).toEqual(Array.from({ length: 12 }, () => 'done'));
    expect(result?.queues).toHaveLength(4);
  });

  it.each<[string, JsonObject]>([
    [
      'a network that loses nothing, by credits, cutting through',
      { switches: { flowControl: 'credits', forwarding: 'cut-through' } },
    ],
    [
      'acknowledges that carry marks',
      { congestion: { reaction: { kind: 'dcqcn', profile: 'mlx' }, notification: { signal: 'ack' } } },
    ],
    ['a fixed rate', { congestion: { reaction: { kind: 'fixed-rate', rateBps: 1e9 }, notification: false } }],
    ['large packets and few acknowledges', { mtu: 4096, host: { ackEveryPackets: 4, maxUnacked: 16 } }],
    ['a window', { window: { fromNs: 1000, toNs: 50_000 } }],
  ])('%s', (_, changes) => {
    const result = run(changes);
    expect(result?.flows.map(({ status }) => status)).toEqual(['done', 'done']);
    expect(result?.flows.every(({ windowBps }) => (windowBps !== undefined) === 'window' in changes)).toBe(true);
  });

  it('at a fixed rate takes the time that the rate gives', () => {
    const congestion = { reaction: { kind: 'fixed-rate', rateBps: 1e8 }, notification: false };
    const result = run({ congestion, traffic: [{ pattern: 'incast', senders: 1, receiver: 2, bytes: 10_240 }] });
    // Ten packets of 1082 bytes, and the first leaves at once.
    expect(result?.flows[0]?.fctNs).toBeGreaterThan((9 * 1082 * 8 * 1e9) / 1e8);
  });
});
