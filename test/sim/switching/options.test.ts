/**
 * Goal: what a network leaves open follows from its links as the simulator of HPCC has it (ref:dcqcn#4). Method: hosts
 * of 25 Gb/s below uplinks of 100 Gb/s, figures by hand.
 */
import { describe, expect, it } from 'vitest';
import {
  bufferBytesOf,
  creditBytesOf,
  headroomOf,
  pfcShiftOf,
  type SwitchOptions,
  settingsOf,
} from '../../../src/sim/switching/options.ts';
import { leafSpine } from '../../../src/sim/topology/index.ts';

const HOST_LINK = { rateBps: 25e9, delayNs: 1000 };
const UPLINK = { rateBps: 100e9, delayNs: 1000 };
const topology = leafSpine({ leaves: 2, spines: 2, hostsPerLeaf: 2, hostLink: HOST_LINK, uplink: UPLINK });
const settings = (switches: SwitchOptions = {}) => settingsOf({ topology, seed: 1, switches });
const [slow, fast] = [HOST_LINK, UPLINK].map(({ rateBps }) => topology.edges.find((edge) => edge.rateBps === rateBps));
if (slow === undefined || fast === undefined) throw new Error('links of both kinds');

describe('a network with faster uplinks', () => {
  it('pauses later on a port that is faster than the NICs: a step for each doubling', () => {
    expect(settings().nicRateBps).toBe(25e9);
    expect([slow, fast].map((edge) => pfcShiftOf(edge, settings()))).toEqual([3, 1]);
    expect([slow, fast].map((edge) => pfcShiftOf(edge, settings({ pfcShift: 2 })))).toEqual([2, 2]);
  });

  it('has 16 MB of packet memory for each 50 Gb/s of the fastest link, and twice what is reserved', () => {
    expect(bufferBytesOf([slow], 0, settings())).toBe(8_000_000);
    expect(bufferBytesOf([slow, fast], 0, settings())).toBe(32_000_000);
    expect(bufferBytesOf([slow], 5_000_000, settings())).toBe(10_000_000);
    expect(bufferBytesOf([slow], 2 ** 31, settings())).toBe(2 ** 31 - 1);
    expect(bufferBytesOf([slow], 0, settings({ bufferBytes: 7 }))).toBe(7);
  });

  it('has credits for a round trip and the frames at both ends of it', () => {
    const { maxFrameBytes } = settings();
    expect(creditBytesOf(fast, settings())).toBe(25_000 + 4 * maxFrameBytes);
    expect(creditBytesOf(fast, settings({ processingNs: 80 }))).toBe(26_000 + 4 * maxFrameBytes);
    expect(creditBytesOf(fast, settings({ creditBytes: 9_000 }))).toBe(9_000);
  });

  it('has headroom for what is on its way when a pause is asked for', () => {
    expect(headroomOf(fast, settings())).toBeGreaterThan(25_000 + 2 * settings().maxFrameBytes);
    expect(headroomOf(fast, settings())).toBeGreaterThan(headroomOf(slow, settings()));
    expect(headroomOf(fast, settings({ headroomBytes: 5 }))).toBe(5);
  });
});
