/**
 * Goal: a wheel is an `EventQueue` that is faster. Method: the same pushes and pops of both, near and far, and what
 * comes out compared.
 */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { InvariantError } from '../../../packets/errors.ts';
import { EventQueue } from '../../../src/ground/event-queue.ts';
import { EventWheel } from '../../../src/sim/switching/event-wheel.ts';

const delay = fc.oneof(
  fc.nat(5),
  fc.nat(100),
  fc.integer({ min: 0, max: 5000 }),
  fc.constantFrom(31, 32, 1023, 1024, 4095, 4096, 4097, 8191, 8192),
  fc.integer({ min: 4000, max: 50_000 }),
  fc.nat(10_000_000),
);

describe('EventWheel', () => {
  it('gives the same events in the same order as a heap', () => {
    fc.assert(
      fc.property(fc.array(fc.oneof(delay, fc.constant(-1)), { maxLength: 400 }), (steps) => {
        const wheel = new EventWheel();
        const queue = new EventQueue();
        let now = 0;
        for (const [index, step] of [...steps, ...steps.map(() => -1)].entries()) {
          if (step >= 0) {
            wheel.push(now + step, index);
            queue.push(now + step, index);
          } else if (queue.size > 0) {
            now = queue.peekTime();
            expect([wheel.nextTime, wheel.pop()]).toEqual([now, queue.pop()]);
          }
          expect([wheel.size, wheel.nextTime]).toEqual([queue.size, queue.peekTime()]);
        }
      }),
      { numRuns: 500 },
    );
  });

  it('keeps thousands of events at once, and those of one instant in their order', () => {
    const wheel = new EventWheel();
    for (let index = 0; index < 5000; index++) wheel.push(1_000_000 + (index % 7), index);
    const order: number[] = [];
    while (wheel.size > 0) order.push(wheel.pop());
    const expected = Array.from({ length: 5000 }, (_, index) => index).sort((a, b) => (a % 7) - (b % 7) || a - b);
    expect(order).toEqual(expected);
  });

  it('keeps the order of one instant at the edge of what is near', () => {
    for (const edge of [4094, 4095, 4096, 4097]) {
      const wheel = new EventWheel();
      wheel.push(905, 0);
      // Far away when it is pushed, and just near enough, or not, when the next one is.
      wheel.push(905 + edge, 1);
      wheel.pop();
      wheel.push(905 + edge, 2);
      expect([wheel.pop(), wheel.pop()]).toEqual([1, 2]);
    }
  });

  it('treats taking from an empty queue as a bug', () => {
    expect(() => new EventWheel().pop()).toThrow(InvariantError);
  });
});
