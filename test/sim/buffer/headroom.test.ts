/**
 * Goal: the sizing rules give the figures of ref:dcqcn#4 and ref:dcqcn#5.6. Method: by hand; that the bound holds and
 * is needed is shown with senders in `shared-buffer.test.ts`.
 */
import { describe, expect, it } from 'vitest';
import { defaultPfcShift, losslessHeadroomBytes, modelHeadroomBytes } from '../../../src/sim/buffer/index.ts';

describe('headroom', () => {
  it.each([
    [100e9, 1000, 37_500],
    [40e9, 1000, 15_000],
    [25e9, 0, 0],
    [1e9, 1, 1],
  ])('of the model at %d bit/s and %d ns is %d bytes', (rateBps, delayNs, bytes) => {
    expect(modelHeadroomBytes(rateBps, delayNs)).toBe(bytes);
  });

  it.each([
    // 2 x 12,500 on the wire, 3 frames, 84 of the pause frame; the reaction adds what passes meanwhile.
    [{ rateBps: 100e9, delayNs: 1000, maxFrameBytes: 1058 }, 25_000 + 3 * 1058 + 84],
    [{ rateBps: 100e9, delayNs: 1000, maxFrameBytes: 1058, reactionNs: 600 }, 25_000 + 7500 + 3 * 1058 + 84],
    [{ rateBps: 1e9, delayNs: 1, maxFrameBytes: 1500 }, 1 + 3 * 1500 + 84],
  ])('with which nothing is lost for %j is %d bytes', (link, bytes) => {
    expect(losslessHeadroomBytes(link)).toBe(bytes);
  });
});

describe('defaultPfcShift', () => {
  it.each([
    [25e9, 25e9, 3],
    [10e9, 25e9, 3],
    [50e9, 25e9, 2],
    [100e9, 25e9, 1],
    [200e9, 25e9, 0],
    [1600e9, 25e9, 0],
    [400e9, 100e9, 1],
  ])('of a port of %d bit/s among NICs of %d is %d', (rateBps, nicRateBps, shift) => {
    expect(defaultPfcShift(rateBps, nicRateBps)).toBe(shift);
  });

  it('is for NICs of 100 Gb/s unless told otherwise', () => {
    expect([defaultPfcShift(100e9), defaultPfcShift(200e9)]).toEqual([3, 2]);
  });
});
