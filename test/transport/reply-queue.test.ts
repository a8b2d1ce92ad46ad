/** The queue of owed replies by itself: order, merging and boundedness. Method: direct calls, no packets. */
import { describe, expect, it } from 'vitest';
import { ReplyKind, ReplyQueue } from '../../transport/reply-queue.ts';

const psns = (queue: ReplyQueue): number[] => {
  const order: number[] = [];
  for (let reply = queue.first; reply !== undefined; reply = queue.first) {
    order.push(reply.psn);
    queue.shift();
  }
  return order;
};

describe('reply queue', () => {
  it('keeps replies in the order of their PSNs, whatever is repeated', () => {
    const queue = new ReplyQueue();
    queue.answer(ReplyKind.Read, 10, 19, 1, false);
    queue.acknowledge(25, 0x1f, 2);
    queue.answer(ReplyKind.Atomic, 5, 5, 2, true);
    queue.answer(ReplyKind.Read, 7, 9, 2, true);
    queue.refuse(26, 0x60, 2);
    expect([queue.answers, queue.repeats]).toEqual([1, 2]);
    expect(psns(queue)).toEqual([5, 7, 10, 25, 26]);
    expect([queue.answers, queue.repeats]).toEqual([0, 0]);
  });

  it('an acknowledge that a waiting NAK implies is not queued', () => {
    const queue = new ReplyQueue();
    queue.refuse(8, 0x60, 1);
    queue.acknowledge(7, 0x1f, 1);
    expect(psns(queue)).toEqual([8]);
  });

  it('an older acknowledge does not replace a newer one', () => {
    const queue = new ReplyQueue();
    queue.acknowledge(9, 0x1f, 3);
    queue.acknowledge(7, 0x1f, 2);
    expect(queue.first).toMatchObject({ psn: 9, msn: 3 });
    expect(queue.length).toBe(1);
  });

  it('a queue that is never empty takes no more room than its longest length asks for', () => {
    const queue = new ReplyQueue();
    queue.answer(ReplyKind.Atomic, 0, 0, 0, false);
    for (let psn = 1; psn < 100_000; psn++) {
      queue.answer(ReplyKind.Atomic, psn, psn, 0, false);
      queue.shift();
      expect(queue.first?.psn).toBe(psn);
    }
    expect(queue.slots).toBeLessThanOrEqual(128);
    expect(queue.answers).toBe(1);
  });

  it('clearing gives every reply back', () => {
    const queue = new ReplyQueue();
    for (let psn = 0; psn < 10; psn++) queue.answer(ReplyKind.Read, psn, psn, 0, psn % 2 === 0);
    queue.clear();
    expect([queue.length, queue.answers, queue.repeats, queue.first]).toEqual([0, 0, 0, undefined]);
  });
});
