/**
 * Goal: with PFC and headroom of the bound of ref:dcqcn#5.6 no incast loses a frame, nobody is paused before the
 * threshold, and with less headroom or without PFC frames are lost, so that this could be seen.
 * Method: senders that never slow down by themselves, over a star and a leaf-spine; two of each by hand, and properties
 * over delay, memory, thresholds, frame length, forwarding and traffic beside it. Fan-ins up to 64; 256 in
 * `lossless-incast.long.test.ts`.
 */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { isPfc, PFC_PRIORITIES, pfcEnableVector, pfcQuanta } from '../../packets/pfc.ts';
import type { FabricTap, SwitchedNetwork } from '../../src/sim/switching/index.ts';
import { runIncast } from './incast.ts';
import { anyIncast, boundedIncast, expectLossless, headroomUse, type Shape } from './incast-cases.ts';

const PRIORITY = 3;
const XON_OFFSET_BYTES = 3072;
const POOL_BYTES = 20_000;

describe.each<Shape>(['star', 'leaf-spine'])('an incast over a %s', (shape) => {
  it.each([2, 16, 64])('of %i senders loses nothing, for senders are paused', (fanIn) => {
    const { network } = expectLossless(boundedIncast(shape, fanIn, 1000, POOL_BYTES));
    expect(network.counters.pausesSent).toBeGreaterThan(0);
    expect(network.counters.dropped).toBe(0);
  });

  it('keeps its bottleneck busy while senders are paused in turn', () => {
    const incast = boundedIncast(shape, 16, 1000, 10 * POOL_BYTES);
    const { endNs, received } = expectLossless(incast);
    expect((received * incast.frameBytes * 8) / endNs).toBeGreaterThan(90);
  });

  it.each([0.25, 0.75])('loses frames with %d of that headroom', (share) => {
    const incast = boundedIncast(shape, 16, 5000, POOL_BYTES, share);
    const { lost, received } = runIncast(incast);
    expect(lost).toBeGreaterThan(0);
    expect(lost + received).toBe(incast.fanIn * incast.framesPerSender);
  });

  it('loses frames of the same memory without PFC', () => {
    const incast = boundedIncast(shape, 16, 1000, POOL_BYTES);
    const { lost } = runIncast({ ...incast, switches: { ...incast.switches, flowControl: 'none' } });
    expect(lost).toBeGreaterThan(0);
  });

  it('pauses nobody while all of it fits below the threshold', () => {
    const incast = { ...boundedIncast(shape, 16, 1000, 32e6), framesPerSender: 20 };
    const { network } = expectLossless(incast);
    expect(network.counters.pausesSent).toBe(0);
  });
});

describe('any incast', () => {
  it('loses nothing with headroom of the bound', () => {
    fc.assert(
      fc.property(anyIncast(2, 16, 64), (incast) => {
        expectLossless(incast);
      }),
      { numRuns: 30 },
    );
  });

  it('may need nearly all of it', () => {
    const incast = boundedIncast('leaf-spine', 16, 5000, POOL_BYTES);
    expect(headroomUse(expectLossless(incast), incast)).toBeGreaterThan(0.95);
  });
});

describe('a pause on the wire', () => {
  it('is sent only when headroom is in use or the share has reached the threshold, and ended 3 KiB below it', () => {
    const seen = { stops: 0, goes: 0 };
    const incast = { ...boundedIncast('star', 16, 1000, 10 * POOL_BYTES), framesPerSender: 60 };
    expectLossless({ ...incast, tap: (network) => watchPauses(network, seen) });
    expect(seen.stops).toBeGreaterThan(10);
    expect(seen.goes).toBe(seen.stops);
  });

  it('begins with the first frame at a threshold that does not move', () => {
    // Two senders of equal rate: of n frames that one has sent, about half wait, beyond a reserve of 4096.
    const incast = boundedIncast('star', 2, 0, 32e6);
    const pausesOf = (staticXoffBytes: number, framesPerSender: number) =>
      expectLossless({ ...incast, framesPerSender, switches: { ...incast.switches, staticXoffBytes } }).network.counters
        .pausesSent;
    const frames = 40;
    const { network } = expectLossless({ ...incast, framesPerSender: frames });
    const peak = Math.max(...network.switches.map(({ buffer }) => buffer?.counters.peakSharedBytes ?? 0)) / 2;
    expect(peak).toBeGreaterThan(10 * incast.frameBytes);
    expect(pausesOf(Math.ceil(peak) + incast.frameBytes, frames)).toBe(0);
    expect(pausesOf(Math.floor(peak) - incast.frameBytes, frames)).toBeGreaterThan(0);
  });
});

/**
 * Looks at the memory of the one switch in the moment in which it sends a pause: the links towards senders carry
 * nothing else.
 */
function watchPauses(network: SwitchedNetwork, seen: { stops: number; goes: number }): FabricTap {
  return {
    frame: (_now, port, direction, bytes, start, end) => {
      const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
      if (direction === 'in' || !isPfc(view, start, end)) return;
      const buffer = network.switches[0]?.buffer;
      expect(buffer).toBeDefined();
      if (buffer === undefined) return;
      expect(pfcEnableVector(view, start)).toBe(1 << PRIORITY);
      const headroom = buffer.headroomBytesOf(port.port, PRIORITY);
      const shared = buffer.sharedBytesOf(port.port, PRIORITY);
      const threshold = buffer.thresholdBytes(port.port);
      if (pfcQuanta(view, start, PRIORITY) > 0) {
        seen.stops++;
        expect(headroom > 0 || shared >= threshold).toBe(true);
      } else {
        seen.goes++;
        expect(headroom).toBe(0);
        expect(shared === 0 || shared + XON_OFFSET_BYTES <= threshold).toBe(true);
      }
      for (let other = 0; other < PFC_PRIORITIES; other++)
        if (other !== PRIORITY) expect(pfcQuanta(view, start, other)).toBe(0);
    },
  };
}
