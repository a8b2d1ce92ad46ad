/** Goal: events leave in time order, first in first out at the same time. Method: a sorted array as the oracle. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { InvariantError } from '../../packets/errors.ts';
import { EventQueue } from '../../src/ground/event-queue.ts';

type Step = { readonly push: number } | 'pop';

describe('EventQueue', () => {
  it('agrees with a sorted array over any mix of pushes and pops', () => {
    const step: fc.Arbitrary<Step> = fc.oneof(
      fc.nat(20).map((push) => ({ push })),
      fc.constant<Step>('pop'),
    );
    fc.assert(
      fc.property(fc.array(step, { maxLength: 400 }), (steps) => {
        const queue = new EventQueue(1);
        const oracle: { time: number; payload: number }[] = [];
        steps.forEach((action, payload) => {
          if (action !== 'pop') {
            queue.push(action.push, payload);
            oracle.push({ time: action.push, payload });
            // Array.sort is stable, so equal times keep the order of insertion.
            oracle.sort((a, b) => a.time - b.time);
          } else if (oracle.length > 0) {
            expect(queue.peek()).toBe(oracle[0]?.payload);
            expect(queue.pop()).toBe(oracle.shift()?.payload);
          }
          expect(queue.size).toBe(oracle.length);
          expect(queue.peekTime()).toBe(oracle[0]?.time ?? Infinity);
        });
        while (oracle.length > 0) expect(queue.pop()).toBe(oracle.shift()?.payload);
        expect(queue.size).toBe(0);
      }),
    );
  });

  it('keeps ties in the order of insertion when thousands share an instant', () => {
    const queue = new EventQueue();
    for (let i = 0; i < 5000; i++) queue.push(7, i);
    for (let i = 0; i < 5000; i++) expect(queue.pop()).toBe(i);
  });

  it('hands back negative payloads and takes times before the start', () => {
    const queue = new EventQueue();
    queue.push(3, -5);
    queue.push(-1, 9);
    expect([queue.pop(), queue.pop()]).toEqual([9, -5]);
  });

  it('is empty after clear and refuses to pop then', () => {
    const queue = new EventQueue();
    queue.push(1, 1);
    queue.clear();
    expect(queue.peekTime()).toBe(Infinity);
    expect(() => queue.pop()).toThrow(InvariantError);
    expect(() => queue.peek()).toThrow(InvariantError);
  });

  it('refuses a time that never comes or is not a number', () => {
    const queue = new EventQueue();
    expect(() => queue.push(Infinity, 0)).toThrow(InvariantError);
    expect(() => queue.push(Number.NaN, 0)).toThrow(InvariantError);
  });
});
