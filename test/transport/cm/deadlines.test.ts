/** Goal: the earliest deadline is always known. Method: any sequence of changes, compared with a plain list. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Deadlines, type Timed } from '../../../transport/cm/deadlines.ts';

const member = (): Timed => ({ deadline: Number.POSITIVE_INFINITY, heapIndex: -1 });

describe('deadlines', () => {
  it('agree with a plain list after any changes, and what is due comes earliest first', () => {
    const change = fc.record({
      slot: fc.nat(20),
      deadline: fc.oneof(fc.nat(50), fc.constant(Number.POSITIVE_INFINITY)),
    });
    fc.assert(
      fc.property(fc.array(change, { maxLength: 120 }), fc.nat(50), (changes, now) => {
        const deadlines = new Deadlines<Timed>();
        const all = Array.from({ length: 21 }, member);
        for (const { slot, deadline } of changes) {
          const one = all[slot];
          if (one !== undefined) deadlines.set(one, deadline);
          expect(deadlines.next()).toBe(Math.min(...all.map((each) => each.deadline)));
        }
        const due = deadlines.due(now);
        expect(new Set(due)).toEqual(new Set(all.filter(({ deadline }) => deadline <= now)));
        expect(due.map(({ deadline }) => deadline)).toEqual(due.map(({ deadline }) => deadline).sort((a, b) => a - b));
        expect(deadlines.size).toBe(all.filter(({ deadline }) => deadline < Number.POSITIVE_INFINITY).length);
      }),
    );
  });
});
