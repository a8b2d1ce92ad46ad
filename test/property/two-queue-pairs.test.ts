/**
 * Two queue pairs joined by a bad wire. Goal: whatever the wire does, every request completes once and in order, memory
 * is what a flat model says, and everything comes to an end. Method: random work and faults, all drawn by fast-check; a
 * failure prints the scenario, which is the whole reproduction. FC_RUNS sets the number of runs of each property.
 */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { WrOpcode } from '../../transport/work.ts';
import { fcRuns } from '../transport/support/peer.ts';
import { scenario, World } from './support/world.ts';

const NONE = { loss: 0, duplicate: 0, reorder: 0, corrupt: 0 };
const parameters = (normal: number) => ({ numRuns: fcRuns(normal) });

describe('two queue pairs', () => {
  it('on a good wire everything succeeds, and nothing is sent twice but for receivers that were not ready', () => {
    fc.assert(
      fc.property(scenario(NONE), (each) => {
        const world = new World(each).run();
        expect(world.failed).toBe(false);
        const notReady = world.sides.some(({ counters }) => counters.sendRnrErr > 0);
        const again = world.sides.reduce((sum, { counters }) => sum + counters.retransmittedPkts, 0);
        if (!notReady) expect(again).toBe(0);
      }),
      parameters(150),
    );
  });

  it.each([
    ['loss', { ...NONE, loss: 150 }],
    ['duplication', { ...NONE, duplicate: 300 }],
    ['reordering', { ...NONE, reorder: 200 }],
    ['damage', { ...NONE, corrupt: 150 }],
    ['everything at once', { loss: 80, duplicate: 150, reorder: 100, corrupt: 80 }],
  ])('through %s everything succeeds, or retries run out and the rest is flushed', (_, faults) => {
    fc.assert(
      fc.property(scenario(faults), (each) => {
        new World(each).run();
      }),
      parameters(100),
    );
  });

  it('between slow senders, where answers and repetitions queue up, everything succeeds', () => {
    fc.assert(
      fc.property(scenario(NONE, 7, 100_000), (each) => {
        expect(new World(each).run().failed).toBe(false);
      }),
      parameters(100),
    );
  });

  it('between senders with room for one packet at a time acknowledges are not starved by requests', () => {
    const sends = (...packets: readonly (readonly [number, number])[]) =>
      packets.map(([count, rest]) => {
        const plain = { place: 0, split: 0, signaled: false, fence: false, solicited: false };
        return { opcode: WrOpcode.Send, packets: count, rest, ...plain };
      });
    const clean = { seed: 0, mtu: 256, loss: 0, duplicate: 0, reorder: 0, corrupt: 0 } as const;
    const first = sends([1, 1], [2, 0], [2, 1], [0, 0], [3, 1], [0, 0]);
    const second = sends([2, 1], [2, 1], [3, 1], [3, 0]);
    const world = new World({
      ...clean,
      psns: [0, 0],
      retryCnt: 7,
      minRnrTimer: 1,
      maxRdAtomic: 1,
      receivesAtStart: 0,
      receiveGapNs: 0,
      paceNs: 80_660,
      ops: [first, second],
    });
    expect(world.run().failed).toBe(false);
  });

  it('between slow senders on a bad wire everything succeeds, or retries run out and the rest is flushed', () => {
    fc.assert(
      fc.property(scenario({ loss: 80, duplicate: 150, reorder: 100, corrupt: 80 }, 7, 100_000), (each) => {
        new World(each).run();
      }),
      parameters(100),
    );
  });

  it.each([0, 1, 2])(
    'with retry_cnt %i on a terrible wire every request still completes once, in order',
    (retryCnt) => {
      fc.assert(
        fc.property(scenario({ loss: 500, duplicate: 200, reorder: 200, corrupt: 200 }, retryCnt), (each) => {
          new World(each).run();
        }),
        parameters(60),
      );
    },
  );

  it('the same scenario gives the same bytes at the same times, another seed gives others', () => {
    fc.assert(
      fc.property(scenario({ loss: 80, duplicate: 80, reorder: 80, corrupt: 80 }), (each) => {
        const first = new World(each).run();
        const second = new World(each).run();
        expect([second.trace, second.frames, second.now]).toEqual([first.trace, first.frames, first.now]);
        if (first.frames > 4) expect(new World({ ...each, seed: each.seed + 1 }).run().trace).not.toBe(first.trace);
      }),
      parameters(30),
    );
  });
});
