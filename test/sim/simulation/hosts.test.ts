/**
 * Goal: hosts of a simulation have the rate of their link, never catch up what they did not send in time, and tell of
 * every notification. Method: frames of one host seen by a tap; series compared with counters.
 */
import { describe, expect, it } from 'vitest';
import { simulate } from '../../../src/sim/simulation/index.ts';
import { custom, star } from '../../../src/sim/topology/index.ts';

const LINK = { rateBps: 100e9, delayNs: 1_000 };
/** Ethernet, IPv4, UDP, BTH, 1,024 bytes, ICRC. */
const FRAME = 14 + 20 + 8 + 12 + 1_024 + 4;

describe('a host', () => {
  it('begins at the rate of its own link, whichever end of it is named first', () => {
    const topology = custom({
      hosts: ['slow', 'fast', 'sink'],
      switches: ['s'],
      links: [
        { a: 's', b: 'slow', rateBps: 25e9, delayNs: 100 },
        { a: 'fast', b: 's', rateBps: 200e9, delayNs: 100 },
        { a: 's', b: 'sink', rateBps: 400e9, delayNs: 100 },
      ],
    });
    const { series } = simulate({
      ...{ seed: 1, topology, congestion: { reaction: { kind: 'dcqcn' as const, profile: 'paper' as const } } },
      flows: [0, 1].map((src) => ({ src, dst: 2, bytes: 100_000, startNs: 0 })),
      probe: { intervalNs: 100, flows: true },
    });
    const rates = series.filter(({ kind }) => kind === 'rate').map(({ of, values }) => [of, values[0]]);
    expect(rates).toEqual([
      ['flow 0', 25e9],
      ['flow 1', 200e9],
    ]);
  });

  it('keeps its distance between packets when a window has held it up', () => {
    const starts: number[] = [];
    simulate({
      ...{ seed: 1, topology: star({ hosts: 2, link: LINK }), host: { maxUnacked: 4, ackEveryPackets: 4 } },
      congestion: { reaction: { kind: 'fixed-rate', rateBps: 20e9 } },
      flows: [{ src: 0, dst: 1, bytes: 102_400, startNs: 0, operation: 'send' }],
      tap: {
        frame: (now, port, direction) => {
          if (direction === 'out' && port.name === 'host0:0') starts.push(now);
        },
      },
    });
    expect(starts.length).toBe(100);
    const gaps = starts.slice(1).map((start, index) => start - (starts[index] ?? 0));
    const paceNs = (8e9 * FRAME) / 20e9;
    expect(Math.min(...gaps)).toBeGreaterThanOrEqual(Math.floor(paceNs));
    // And the window did hold it up.
    expect(Math.max(...gaps)).toBeGreaterThan(1.5 * paceNs);
  });

  it('is told of congestion whether it does something about it or not', () => {
    for (const congestion of [{}, { reaction: { kind: 'dcqcn' as const, profile: 'paper' as const } }]) {
      const { series, hosts } = simulate({
        ...{ seed: 1, topology: star({ hosts: 3, link: LINK }), congestion },
        switches: { ecn: { kminBytes: 5_000, kmaxBytes: 50_000, pmax: 1 } },
        flows: [0, 1].map((src) => ({ src, dst: 2, bytes: Infinity, startNs: 0 })),
        ...{ stopNs: 500_000, probe: { intervalNs: 10_000 } },
      });
      const told = series.find(({ kind }) => kind === 'notifications');
      expect(told?.times.at(-1)).toBe(500_000);
      expect(told?.values.at(-1)).toBe(hosts.rpCnpHandled + hosts.rpCnpIgnored);
      expect(told?.values.at(-1)).toBeGreaterThan(2);
    }
  });
});
