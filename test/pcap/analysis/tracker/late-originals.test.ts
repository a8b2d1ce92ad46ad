/**
 * Goal: at the receiver's side, without identifications that count, a packet that was only late is not told as lost,
 * however late it is and whatever is sent meanwhile. Method: captures written by hand, each beside a near miss that is
 * a loss.
 */
import { describe, expect, it } from 'vitest';
import { Op } from '../../../../packets/opcode.ts';
import { Script } from './script.ts';

const BACK_NS = 20_000;

/** What is told of lost and late requests in the end, their counts with it. */
function told(script: Script): string[] {
  const { events, conversations } = script.analyze();
  const kinds = new Set(['loss', 'missing', 'reordering']);
  const all = events.filter(({ kind, sender }) => kinds.has(kind) && sender === 0);
  const { lostPackets, reorderedPackets, undecidedPackets } = conversations[0]?.ends[0].requester ?? {};
  return [
    ...all.map(
      ({ kind, psn, reason }) => `${kind} ${(psn + 2) & 0xff_ff_ff}${reason === undefined ? '' : ` ${reason}`}`,
    ),
    `${lostPackets} lost, ${reorderedPackets} late, ${undecidedPackets} neither`,
  ];
}

describe.each(['random', 'constant', 'ipv6'] as const)('identifications %s', (ids) => {
  const begun = () => new Script({ ids }).sends(0, 0).ack(0, { msn: 1 });

  /** Of these packets the first is late, and the others are there; the sender goes back for a NAK. */
  function late(script: Script, from: number, to: number): Uint8Array {
    const original = script.fromA(Op.SendOnly, from);
    script
      .sends(from + 1, to)
      .nak(from)
      .wait(BACK_NS)
      .sends(from, to)
      .ack(to);
    return original;
  }

  it('a packet that comes long after its retransmission was late', () => {
    const script = begun();
    const original = late(script, 1, 4);
    script.sends(5, 8).ack(8, { msn: 9 }).wait(2e6).sends(9, 60).ack(60, { msn: 61 });
    expect(told(script.see(original).sends(61, 61))).toEqual([
      'loss 1',
      'reordering 1 after-retransmission',
      '0 lost, 1 late, 0 neither',
    ]);
  });

  it('one that comes once more with all behind it is sent again, and was lost', () => {
    const script = begun();
    late(script, 1, 4);
    script.sends(5, 99).wait(200e6).sends(1, 99).ack(99);
    expect(told(script)).toEqual(['loss 1', '1 lost, 0 late, 0 neither']);
  });

  it('two that are late one behind the other, a while after their retransmissions, are no timeout', () => {
    const script = begun();
    const [one, other] = [late(script, 1, 4), late(script, 5, 8)];
    script.sends(9, 12).ack(12, { msn: 13 }).wait(2e6).see(one).see(other);
    const { events } = script.sends(13, 14).ack(14, { msn: 15 }).analyze();
    expect(events.filter(({ kind }) => kind === 'timeout')).toEqual([]);
    expect(told(script).at(-1)).toBe('0 lost, 2 late, 0 neither');
  });

  it('one packet in the gap, and nothing more until the timeout: the NAK was lost, and the packet late', () => {
    const script = begun();
    const original = script.fromA(Op.SendOnly, 1);
    script.sends(2, 5).nak(1).wait(14_000).see(original).ack(1).wait(100e6).sends(2, 5).ack(5);
    expect(told(script)).toEqual(['reordering 1', '0 lost, 1 late, 0 neither']);
  });

  it('the same with what is behind it at once: it was lost', () => {
    const script = begun().a(Op.SendOnly, 2).nak(1).sends(3, 5).wait(14_000).sends(1, 5).ack(5);
    expect(told(script)).toEqual(['loss 1', '1 lost, 0 late, 0 neither']);
  });

  it('one packet in the gap, and what is behind it for a NAK that another late one has drawn: both were late', () => {
    const script = begun();
    const [one, other] = [script.fromA(Op.SendOnly, 1), script.fromA(Op.SendOnly, 4)];
    script.sends(2, 3).nak(1).sends(5, 6).wait(14_000).see(one).see(other).nak(2);
    expect(told(script.wait(BACK_NS).sends(2, 6).ack(6)).at(-1)).toBe('0 lost, 2 late, 0 neither');
  });

  it('sooner after the NAK than any retransmission, and then a READ from before it once more: it was late', () => {
    const script = begun();
    late(script, 1, 4);
    script.read(5, 3).answers(5, 7).sends(8, 8);
    const original = script.fromA(Op.SendOnly, 9);
    script.sends(10, 12).nak(9).wait(1000).see(original).read(5, 3).answers(5, 7).sends(8, 12).ack(12, { msn: 11 });
    const events = told(script);
    expect(events).toContain('reordering 9');
    expect(events.some((event) => event.startsWith('loss 9'))).toBe(false);
  });
});

it('identifications random: one copy of two in a run that went back to much earlier is the original', () => {
  const script = (asked: number) => {
    const begun = new Script({ ids: 'random' }).sends(0, 0).ack(0, { msn: 1 });
    const late = begun.fromA(Op.SendOnly, 6);
    begun
      .sends(2, 5)
      .nak(1)
      .sends(7, 9)
      .wait(BACK_NS)
      .sends(1, asked - 1)
      .sends(asked + 1, 5)
      .nak(asked);
    return told(begun.sends(6, 6).see(late).sends(7, 9).wait(BACK_NS).sends(asked, 9).ack(9));
  };
  expect(script(2)).toContain('reordering 6 after-retransmission');
});

it('identifications random: a packet alone that fills a gap for no reason is the original or its retransmission', () => {
  const script = new Script({ ids: 'random' }).sends(0, 0).ack(0, { msn: 1 });
  const late = script.fromA(Op.SendOnly, 1);
  script.sends(2, 4).nak(1).wait(BACK_NS).sends(2, 5).see(late).ack(1).sends(6, 6).nak(2).wait(BACK_NS).sends(2, 6);
  expect(told(script.ack(6))).toEqual(['missing 1 out-of-turn', '0 lost, 0 late, 1 neither']);
});

it('identifications random: a retransmission that was late, while nobody heard the NAK, was not lost', () => {
  const script = (again: number) => {
    const begun = new Script({ ids: 'random' }).sends(0, 0).ack(0, { msn: 1 });
    begun.sends(2, 5).nak(1).wait(BACK_NS).sends(1, 2);
    const late = begun.fromA(Op.SendOnly, 3);
    begun.sends(4, 5).nak(3).sends(6, 8).wait(14_000).see(late);
    return told(begun.sends(4, again).sends(9, 9).nak(4).wait(BACK_NS).sends(4, 9).ack(9));
  };
  expect(script(3)).toContain('reordering 3 after-retransmission');
  // All behind it comes as well: the sender has heard it.
  expect(script(8)).toContain('loss 3 retransmission-not-seen');
});

it('identifications random: one that comes once more, alone, while a NAK for what is long before is due, was late', () => {
  const script = new Script({ ids: 'random' }).sends(0, 0).ack(0, { msn: 1 });
  const [one, nine] = [script.fromA(Op.SendOnly, 1), script.fromA(Op.SendOnly, 9)];
  script.sends(2, 8).nak(1).sends(10, 10).wait(BACK_NS).sends(2, 7).see(one).sends(8, 8).nak(2).sends(9, 13);
  script.see(nine).sends(14, 14).wait(BACK_NS).sends(2, 14).ack(14, { msn: 15 });
  expect(told(script)).toContain('reordering 9 after-retransmission');
});
