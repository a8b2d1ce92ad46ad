/**
 * Goal: a responder never sends a READ response that an earlier repetition brings anyway. Method: the queue by itself.
 */
import { describe, expect, it } from 'vitest';
import { TransportPools } from '../../transport/pools.ts';
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
    const queue = new ReplyQueue(new TransportPools().replies);
    queue.answer(ReplyKind.Read, 30, 99, 1, true);
    queue.answer(ReplyKind.Read, 20, 99, 1, true);
    queue.answer(ReplyKind.Read, 10, 99, 1, true);
    expect(queue.repeats).toBe(1);
    expect(ranges(queue)).toEqual([[ReplyKind.Read, 10, 99]]);
    expect(queue.repeats).toBe(0);
  });

  it('keeps the answers of later requests, and their count', () => {
    const queue = new ReplyQueue(new TransportPools().replies);
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

  it('keeps replies in the order of their PSNs, whatever is repeated', () => {
    const queue = new ReplyQueue(new TransportPools().replies);
    queue.answer(ReplyKind.Read, 10, 19, 1, false);
    queue.acknowledge(25, 0x1f, 2);
    queue.answer(ReplyKind.Atomic, 5, 5, 2, true);
    queue.answer(ReplyKind.Read, 7, 9, 2, true);
    queue.refuse(26, 0x60, 2);
    expect([queue.answers, queue.repeats]).toEqual([1, 2]);
    expect(ranges(queue).map(([, psn]) => psn)).toEqual([5, 7, 10, 25, 26]);
    expect([queue.answers, queue.repeats]).toEqual([0, 0]);
  });

  it('an ACK that a waiting NAK implies is not queued', () => {
    const queue = new ReplyQueue(new TransportPools().replies);
    queue.refuse(8, 0x60, 1);
    queue.acknowledge(7, 0x1f, 1);
    expect(ranges(queue)).toEqual([[ReplyKind.Nak, 8, 8]]);
  });

  it('a repeated atomic is answered though an ACK of its PSN waits', () => {
    const queue = new ReplyQueue(new TransportPools().replies);
    queue.acknowledge(5, 0x1f, 1);
    queue.answer(ReplyKind.Atomic, 5, 5, 1, true);
    expect(ranges(queue).map(([kind]) => kind)).toEqual([ReplyKind.Atomic, ReplyKind.Ack]);
  });

  it('an older acknowledge does not replace a newer one', () => {
    const queue = new ReplyQueue(new TransportPools().replies);
    queue.acknowledge(9, 0x1f, 3);
    queue.acknowledge(7, 0x1f, 2);
    expect(queue.first).toMatchObject({ psn: 9, msn: 3 });
    expect(queue.length).toBe(1);
  });

  it('a queue that is never empty keeps its order and its length', () => {
    const queue = new ReplyQueue(new TransportPools().replies);
    queue.answer(ReplyKind.Atomic, 0, 0, 0, false);
    for (let psn = 1; psn < 100_000; psn++) {
      queue.answer(ReplyKind.Atomic, psn, psn, 0, false);
      queue.shift();
      if (queue.first?.psn !== psn) expect(queue.first?.psn).toBe(psn);
    }
    expect(queue.length).toBe(1);
    expect(queue.answers).toBe(1);
  });

  it('clearing gives every reply back', () => {
    const queue = new ReplyQueue(new TransportPools().replies);
    for (let psn = 0; psn < 10; psn++) queue.answer(ReplyKind.Read, psn, psn, 0, psn % 2 === 0);
    queue.clear();
    expect([queue.length, queue.answers, queue.repeats, queue.first]).toEqual([0, 0, 0, undefined]);
  });

  it('cutting at the oldest READ keeps what comes before it and gives the rest back', () => {
    for (const spent of [0, 1, 70]) {
      const queue = new ReplyQueue(new TransportPools().replies);
      for (let psn = 0; psn < spent; psn++) queue.answer(ReplyKind.Atomic, psn, psn, 0, false);
      queue.answer(ReplyKind.Atomic, 100, 100, 0, false);
      queue.acknowledge(101, 0x1f, 0);
      queue.answer(ReplyKind.Read, 102, 110, 0, false);
      queue.answer(ReplyKind.Atomic, 111, 111, 0, false);
      queue.acknowledge(112, 0x1f, 0);
      for (let n = 0; n < spent; n++) queue.shift();
      queue.dropFromFirstRead();
      expect([queue.answers, queue.length]).toEqual([1, 2]);
      expect(ranges(queue).map(([, psn]) => psn)).toEqual([100, 101]);
      queue.dropFromFirstRead();
      queue.answer(ReplyKind.Read, 120, 120, 0, false);
      queue.dropFromFirstRead();
      expect([queue.answers, queue.length, queue.first]).toEqual([0, 0, undefined]);
    }
  });
});
