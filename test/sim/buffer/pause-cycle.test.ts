/**
 * Goal: a deadlock is found when there is one, is one when it is found, and is the same one every time.
 * Method: small graphs by hand; random ones against an oracle that takes away whoever waits for nobody until nothing
 * changes.
 */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { findPauseCycle, type PauseWait } from '../../../src/sim/buffer/index.ts';

const edges = (text: string): PauseWait[] =>
  text
    .split(' ')
    .filter((edge) => edge !== '')
    .map((edge) => edge.split('>').map(Number))
    .map(([from = -1, to = -1]) => ({ from, to }));

describe('findPauseCycle', () => {
  it.each<[string, string, readonly number[] | undefined]>([
    ['nothing', '', undefined],
    ['a chain', '1>2 2>3 3>4', undefined],
    ['a tree of an incast: all wait for one', '1>9 2>9 3>9', undefined],
    ['two ways to the same end', '1>2 1>3 2>4 3>4', undefined],
    ['one that waits for itself', '5>5', [5]],
    ['two that wait for each other', '2>1 1>2', [1, 2]],
    ['a ring', '3>4 4>2 2>3', [2, 3, 4]],
    ['a ring behind a chain, without the chain', '7>8 8>5 5>6 6>8', [5, 6, 8]],
    ['a ring behind a dead end', '1>2 1>3 3>1 2>4', [1, 3]],
    ['two rings: that of the smallest node', '8>9 9>8 3>4 4>3', [3, 4]],
  ])('of %s', (_, text, cycle) => {
    expect(findPauseCycle(edges(text))).toEqual(cycle);
  });

  it('takes a long chain and a long ring', () => {
    const length = 20_000;
    const chain = Array.from({ length }, (_, node) => ({ from: node, to: node + 1 }));
    expect(findPauseCycle(chain)).toBeUndefined();
    expect(findPauseCycle([...chain, { from: length, to: 0 }])).toHaveLength(length + 1);
  });

  it('looks at every wait once, however many ways lead through them', () => {
    // A ladder of diamonds has 2^200 ways.
    const ladder = Array.from({ length: 200 }, (_, step) => {
      const from = 3 * step;
      return edges(`${from}>${from + 1} ${from}>${from + 2} ${from + 1}>${from + 3} ${from + 2}>${from + 3}`);
    });
    expect(findPauseCycle(ladder.flat())).toBeUndefined();
  });

  const waits = fc.array(fc.record({ from: fc.nat({ max: 7 }), to: fc.nat({ max: 7 }) }), { maxLength: 14 });

  it('finds one exactly when some nodes are left that all wait for each other', () => {
    let found = 0;
    fc.assert(
      fc.property(waits, (list) => {
        const cycle = findPauseCycle(list);
        expect(cycle !== undefined).toBe(isDeadlocked(list));
        if (cycle !== undefined) found++;
      }),
    );
    expect(found).toBeGreaterThan(0);
  });

  it('gives nodes that wait each for the next, none twice, the smallest first', () => {
    fc.assert(
      fc.property(waits, (list) => {
        const cycle = findPauseCycle(list) ?? [];
        cycle.forEach((from, index) => {
          const to = cycle[(index + 1) % cycle.length];
          expect(list.some((wait) => wait.from === from && wait.to === to)).toBe(true);
        });
        expect(new Set(cycle).size).toBe(cycle.length);
        if (cycle.length > 0) expect(cycle[0]).toBe(Math.min(...cycle));
      }),
    );
  });

  it('gives the same whatever the order of the edges, and with some of them twice', () => {
    const shuffled = waits.chain((list) =>
      fc.tuple(fc.constant(list), fc.shuffledSubarray([...list, ...list], { minLength: 2 * list.length })),
    );
    fc.assert(
      fc.property(shuffled, ([list, again]) => {
        expect(findPauseCycle(again)).toEqual(findPauseCycle(list));
      }),
    );
  });
});

/** Whoever waits for nobody goes on, and then nobody waits for him: is anybody left? */
function isDeadlocked(waits: readonly PauseWait[]): boolean {
  let left = waits;
  for (;;) {
    const waiting = new Set(left.map(({ from }) => from));
    const still = left.filter(({ to }) => waiting.has(to));
    if (still.length === left.length) return left.length > 0;
    left = still;
  }
}
