/** Goal: a responder never sends a READ response that an earlier repetition brings anyway. Method: the queue by itself. */
import { describe, expect, it } from 'vitest';
import { ReplyKind, ReplyQueue } from '../../transport/reply-queue.ts';

const ranges = (queue: ReplyQueue): number[][] => {
  const seen: number[][] = [];
  for (let reply = queue.first; reply !== undefined; reply = queue.first) {
    seen.push([reply.kind, reply.psn, reply.lastPsn]);
    queue.shift();
  }
  return seen;
};

describe('ReplyQueue', () => {
  it('RSP-PSN-13 forgets repeated answers that a repetition from an earlier PSN covers', () => {
    const queue = new ReplyQueue();
    queue.answer(ReplyKind.Read, 30, 99, 1, true);
    queue.answer(ReplyKind.Read, 20, 99, 1, true);
    queue.answer(ReplyKind.Read, 10, 99, 1, true);
    expect(queue.repeats).toBe(1);
    expect(ranges(queue)).toEqual([[ReplyKind.Read, 10, 99]]);
    expect(queue.repeats).toBe(0);
  });

  it('keeps the answers of later requests, and their count', () => {
    const queue = new ReplyQueue();
    queue.answer(ReplyKind.Read, 100, 149, 2, false);
    queue.answer(ReplyKind.Atomic, 150, 150, 3, false);
    queue.answer(ReplyKind.Read, 20, 99, 1, true);
    queue.answer(ReplyKind.Read, 10, 99, 1, true);
    expect([queue.answers, queue.repeats]).toEqual([2, 1]);
    expect(ranges(queue)).toEqual([
      [ReplyKind.Read, 10, 99],
      [ReplyKind.Read, 100, 149],
      [ReplyKind.Atomic, 150, 150],
    ]);
    expect([queue.answers, queue.repeats]).toEqual([0, 0]);
  });
});
