/**
 * FLUSH and ATOMIC WRITE between two queue pairs joined by a bad wire. Goal: each is executed once, in its place: a
 * FLUSH for persistence finds in memory exactly what was written before it, an ATOMIC WRITE is not undone or done again
 * by a repetition, and each completes with its own answer. Method: the world and flat model of two-queue-pairs.test.ts,
 * with little but WRITEs, FLUSHes and ATOMIC WRITEs.
 */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { WrOpcode } from '../../transport/work.ts';
import { fcRuns } from '../transport/support/peer.ts';
import { opOf } from './support/workload.ts';
import { scenario, World } from './support/world.ts';

const { RdmaWrite, Flush, AtomicWrite, RdmaRead, AtomicFetchAndAdd, Send, LocalInv } = WrOpcode;
const NONE = { loss: 0, duplicate: 0, reorder: 0, corrupt: 0 };
const each = opOf([
  RdmaWrite,
  RdmaWrite,
  Flush,
  Flush,
  AtomicWrite,
  AtomicWrite,
  RdmaRead,
  AtomicFetchAndAdd,
  Send,
  LocalInv,
]);

describe('FLUSH and ATOMIC WRITE', () => {
  it.each([
    ['a good wire', NONE],
    ['loss', { ...NONE, loss: 200 }],
    ['duplication', { ...NONE, duplicate: 500 }],
    ['reordering', { ...NONE, reorder: 300 }],
    ['everything at once', { loss: 80, duplicate: 200, reorder: 100, corrupt: 80 }],
  ])('through %s are executed once and in order, and answered', (_, faults) => {
    fc.assert(
      fc.property(scenario(faults, 7, 0, each), (drawn) => {
        const world = new World(drawn).run();
        if (faults === NONE) expect(world.failed).toBe(false);
      }),
      { numRuns: fcRuns(100) },
    );
  });

  it('between slow senders, where answers and repetitions queue up, everything succeeds', () => {
    fc.assert(
      fc.property(scenario(NONE, 7, 100_000, each), (drawn) => {
        expect(new World(drawn).run().failed).toBe(false);
      }),
      { numRuns: fcRuns(60) },
    );
  });
});
