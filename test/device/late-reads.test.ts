/**
 * Goal: READs over a wire that delays or loses frames cost little more than their data, and end, whatever happens.
 * Method: many READs at a time in a simulated world; READ responses sent are counted against the data wanted.
 */
import { describe, expect, it } from 'vitest';
import { runPipeline } from './read-pipeline.ts';

const WIRE = { rateBps: 1e10, reorderDelayNs: 20_000 } as const;
const MIB = 2 ** 20;

describe('32 READs of 64 KiB at a time', () => {
  it.each([
    ['2 % late', { ...WIRE, reorder: 0.02 }, 1.7],
    ['2 % late by a millisecond', { ...WIRE, reorder: 0.02, reorderDelayNs: 1e6 }, 2],
    ['5 % late', { ...WIRE, reorder: 0.05 }, 2],
    ['1 % lost', { ...WIRE, loss: 0.01 }, 1.9],
    ['2 % late and 1 % lost', { ...WIRE, reorder: 0.02, loss: 0.01 }, 2],
  ])('with %s have each response sent less than twice', async (_, faults, most) => {
    const { ratio, requester } = await runPipeline({ faults, depth: 32, size: 65_536, wanted: 2 * MIB });
    expect(requester.rcvdSeqErr).toBeGreaterThan(3);
    expect(ratio).toBeLessThan(most);
  });

  it('without faults have each sent once', async () => {
    const { ratio, requests } = await runPipeline({ faults: WIRE, depth: 32, size: 65_536, wanted: 2 * MIB });
    expect([ratio, requests]).toEqual([1, 1]);
  });
});

it.each(['default', 'rxe-6.12'])('REQ-21 READs end over any bad wire, across the wrap, as %s', async (peer) => {
  for (let seed = 1; seed <= 24; seed++) {
    const part = (of: number): number => ((seed * of) % 7) / 50;
    const faults = { ...WIRE, loss: part(1), reorder: part(3), duplicate: part(5), duplicateDelayNs: 30_000 };
    const size = [1, 4096, 9000, 70_000][seed % 4] ?? 0;
    const { ratio } = await runPipeline({ seed, faults, depth: 1 + (seed % 9), size, wanted: 12 * size, peer });
    expect(ratio, `seed ${seed}`).toBeGreaterThanOrEqual(1);
  }
});
