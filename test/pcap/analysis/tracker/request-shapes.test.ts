/** Goal: a repetition is compared with what was sent before, in bounded memory. Method: PSNs in order, then one again. */
import { describe, expect, it } from 'vitest';
import { RequestShapes } from '../../../../pcap/analysis/tracker/request-shapes.ts';

describe('the memory of requests for comparison', () => {
  /** Whether another shape is told from what was sent `back` packets before the last. */
  function notices(back: number, entries: number): boolean {
    const shapes = new RequestShapes({ entries });
    for (let psn = 0; psn < 1000; psn++) shapes.remember(psn, 4);
    const same = shapes.otherThan(4, 999 - back);
    return same === -1 && shapes.otherThan(5, 999 - back) === 4;
  }

  it('has the newest 256, and no older ones', () => {
    const known = [0, 1, 100, 255, 256, 700].map((back) => notices(back, 10_000));
    expect(known).toEqual([true, true, true, true, false, false]);
  });

  it('has a few when all others of the capture have used it up', () => {
    expect([0, 3, 4].map((back) => notices(back, 3))).toEqual([true, true, false]);
  });
});
