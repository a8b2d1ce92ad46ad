/** Incasts of any shape for the tests of losslessness: what may vary, and the network that follows from it. */

import fc from 'fast-check';
import { expect } from 'vitest';
import { defined } from '../../packets/defined.ts';
import { leafSpine, star, type Topology } from '../../src/sim/topology/index.ts';
import { boundOf, bufferOf, type Incast, type IncastResult, runIncast } from './incast.ts';

export type Shape = 'star' | 'leaf-spine';

const RATE_BPS = 100e9;
const LEAVES = 4;

/** Room for `fanIn` senders and their receiver; the links between switches are twice as long. */
export function topologyOf(shape: Shape, fanIn: number, delayNs: number, uplinkRateBps = RATE_BPS): Topology {
  const link = { rateBps: RATE_BPS, delayNs };
  if (shape === 'star') return star({ hosts: fanIn + 1, link });
  const hostsPerLeaf = Math.ceil((fanIn + 1) / LEAVES);
  const uplink = { rateBps: uplinkRateBps, delayNs: 2 * delayNs };
  return leafSpine({ leaves: LEAVES, spines: 2, hostsPerLeaf, hostLink: link, uplink });
}

/** An incast with headroom of the bound, or `share` of it, and memory that leaves `poolBytes` for all. */
export function boundedIncast(shape: Shape, fanIn: number, delayNs: number, poolBytes: number, share = 1): Incast {
  const topology = topologyOf(shape, fanIn, delayNs);
  const headroomBytes = Math.floor(share * boundOf(topology, FRAME_BYTES));
  const bufferBytes = bufferOf(topology, headroomBytes, poolBytes);
  const switches = { flowControl: 'pfc', headroomBytes, bufferBytes } as const;
  return { topology, fanIn, framesPerSender: Math.ceil(FRAMES / fanIn), frameBytes: FRAME_BYTES, switches };
}

/** A WRITE of 1,024 bytes in its middle. */
const FRAME_BYTES = 1082;
const FRAMES = 2000;

/** Any incast of one of these fan-ins, with headroom of the bound. */
export function anyIncast(...fanIns: readonly number[]): fc.Arbitrary<Incast> {
  return fc
    .record({
      shape: fc.constantFrom<Shape>('star', 'leaf-spine'),
      fanIn: fc.constantFrom(...fanIns),
      delayNs: fc.constantFrom(0, 1, 100, 1000, 5000),
      uplinkRateBps: fc.constantFrom(RATE_BPS, 4 * RATE_BPS),
      frameBytes: fc.integer({ min: 82, max: 1514 }),
      crossFrameBytes: fc.option(fc.constant(1514), { nil: undefined }),
      poolBytes: fc.constantFrom(0, 3000, 20_000, 300_000),
      pfcShift: fc.option(fc.nat({ max: 4 }), { nil: undefined }),
      staticXoffBytes: fc.option(fc.nat({ max: 50_000 }), { nil: undefined }),
      forwarding: fc.constantFrom('store-and-forward' as const, 'cut-through' as const),
      processingNs: fc.constantFrom(0, 700),
      frameOverheadBytes: fc.constantFrom(0, 24),
      staggerNs: fc.nat({ max: 3000 }),
    })
    .map(({ shape, fanIn, delayNs, uplinkRateBps, frameBytes, crossFrameBytes, poolBytes, staggerNs, ...rest }) => {
      const { pfcShift, staticXoffBytes, forwarding, processingNs, frameOverheadBytes } = rest;
      const topology = topologyOf(shape, fanIn, delayNs, uplinkRateBps);
      const longest = Math.max(frameBytes, crossFrameBytes ?? 0);
      const headroomBytes = boundOf(topology, longest, 2 * processingNs, frameOverheadBytes);
      const bufferBytes = bufferOf(topology, headroomBytes, poolBytes);
      return {
        topology,
        fanIn,
        framesPerSender: Math.ceil(FRAMES / fanIn),
        frameBytes,
        staggerNs,
        network: { frameOverheadBytes },
        ...defined({ crossFrameBytes }),
        switches: {
          ...{ flowControl: 'pfc' as const, lossyAlpha: 8, headroomBytes, bufferBytes, forwarding, processingNs },
          ...defined({ pfcShift, staticXoffBytes }),
        },
      };
    });
}

/** Runs it and demands that every frame came, in order, and that the switches kept nothing of it. */
export function expectLossless(incast: Incast): IncastResult {
  const result = runIncast(incast);
  expect(result.lost).toBe(0);
  expect(result.received).toBe(incast.fanIn * incast.framesPerSender);
  expect(result.outOfOrder).toBe(0);
  for (const { buffer } of result.network.switches) {
    expect(buffer?.usedBytes).toBe(0);
    expect(buffer?.counters.pauses).toBe(buffer?.counters.resumes);
  }
  return result;
}

/** The most headroom that a port needed, as part of what it had. */
export function headroomUse({ network }: IncastResult, incast: Incast): number {
  const peaks = network.switches.map(({ buffer }) => buffer?.counters.peakHeadroomBytes ?? 0);
  return Math.max(...peaks) / (incast.switches.headroomBytes ?? 1);
}
