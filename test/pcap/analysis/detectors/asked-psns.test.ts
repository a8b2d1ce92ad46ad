/** Goal: an ACK is about what it covers, and about nothing that was sent again before. Method: a few numbers. */
import { describe, expect, it } from 'vitest';
import { AskedPsns } from '../../../../pcap/analysis/detectors/asked-psns.ts';

describe('requests that should not be accepted', () => {
  const after = (asked: readonly (readonly [number, number?])[], ...acks: readonly (readonly [number, number?])[]) => {
    const psns = new AskedPsns();
    for (const [psn, conversation] of asked) psns.asked(psn, conversation);
    for (const [psn, conversation] of acks) psns.answered(psn, conversation);
    return psns.acknowledged;
  };

  it('are acknowledged by an ACK of their conversation that is about them or what follows, over the wrap too', () => {
    expect(after([[7, 1]], [7, 1])).toBe(1);
    expect(after([[7, 1]], [6, 1])).toBe(0);
    expect(after([[0xff_ff_ff, 1]], [40, 1])).toBe(1);
    expect(after([[7, 1]], [7, 2])).toBe(0);
  });

  it('are acknowledged by their own PSN or the next where no conversation is known', () => {
    expect(after([[7]], [7])).toBe(1);
    expect(after([[0xff_ff_ff]], [0, 3])).toBe(1);
    expect(after([[7]], [9])).toBe(0);
    expect(after([[7, 1]], [6])).toBe(0);
  });

  it('count once', () => {
    expect(after([[7, 1]], [7, 1], [8, 1])).toBe(1);
    const both = [[7, 1] as const, [8, 1] as const];
    expect(after(both, [8, 1], [8, 1])).toBe(2);
  });

  it('are not acknowledged when they were sent again', () => {
    const psns = new AskedPsns();
    psns.asked(7, 1);
    psns.asked(8, 1);
    psns.sentAgain(7, 2);
    psns.sentAgain(7, 1);
    psns.answered(9, 1);
    expect(psns.acknowledged).toBe(1);
  });

  it('are forgotten, the oldest first, from the 65th on', () => {
    const many = Array.from({ length: 65 }, (_, psn) => [psn, 1] as const);
    expect(after(many, [0, 1])).toBe(0);
    expect(after(many, [64, 1])).toBe(64);
  });
});
