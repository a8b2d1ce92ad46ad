/**
 * Goal: of every request the tracker says what it is to those before: new, behind a gap, late, copied, repeated and
 * why. Method: short scripts, one behaviour each, PSNs across the wrap; each with senders whose IPv4 identifications
 * count, with constant ones and over IPv6.
 */
import { describe, expect, it } from 'vitest';
import { Op } from '../../../../packets/opcode.ts';
import { damaged, eventsOf, Script, type ScriptOptions } from './script.ts';

const EVERY_ID = ['count', 'constant', 'ipv6'] as const;

const requesterOf = (script: Script) => {
  const analysis = script.analyze();
  const end = analysis.conversations[0]?.ends.find(({ requester }) => requester.packets > 0);
  if (end === undefined) throw new Error('somebody has sent requests');
  return { analysis, events: eventsOf(analysis), requester: end.requester };
};

describe.each(EVERY_ID)('requests whose identifications are: %s', (ids) => {
  const options: ScriptOptions = { ids };

  it('are nothing but requests when they come in order and are acknowledged', () => {
    const script = new Script(options).sends(0, 9).ack(4, { msn: 5 }).ack(9, { msn: 10 });
    const { analysis, events, requester } = requesterOf(script);
    expect(events).toEqual([]);
    expect(script.marks.every((marks) => marks === '')).toBe(true);
    expect(analysis.conversations).toHaveLength(1);
    expect(requester).toMatchObject({
      packets: 10,
      messages: { SEND: 10 },
      acks: 2,
      unansweredPsn: -1,
      fromStart: true,
    });
    expect(requester.goodputBytes).toBe(1000);
    expect(requester.ackLatency).toMatchObject({ count: 2, minNs: 2000, maxNs: 6000 });
  });

  it('are lost when they are missing and come after a NAK, with all behind them', () => {
    const script = new Script(options).sends(0, 4);
    script.fromA(Op.SendOnly, 5);
    script.sends(6, 8).nak(5).wait(5000).sends(5, 8).ack(8);
    const { events, requester } = requesterOf(script);
    expect(events).toEqual(['nak 5', 'retransmission 5+4 nak', 'loss 5']);
    expect(script.marks.slice(5)).toEqual([
      'gap',
      '',
      '',
      'nak',
      'retransmission',
      'retransmission',
      'retransmission',
      'retransmission',
      '',
    ]);
    expect(requester).toMatchObject({ lostPackets: 1, retransmittedPackets: 4, reorderedPackets: 0, unseenPackets: 0 });
    expect(requester.nakGeneration).toMatchObject({ count: 1, minNs: 3000 });
    expect(requester.nakReaction).toMatchObject({ count: 1, minNs: 6000 });
    expect(requester.naks).toEqual({ 'PSN sequence error': 1 });
  });

  it('are lost behind this place when they came past and a NAK asks for them', () => {
    const script = new Script(options).sends(0, 8).nak(5).sends(5, 8).ack(8);
    const { analysis, events, requester } = requesterOf(script);
    expect(events).toEqual(['nak 5', 'retransmission 5+4 nak', 'loss 5']);
    expect(analysis.events[2]).toMatchObject({ refersTo: 6, sender: 0, frame: 10 });
    expect(requester).toMatchObject({ lostPackets: 1, retransmittedPackets: 4 });
  });

  it('are lost twice when the repetition is lost too', () => {
    const script = new Script(options).sends(0, 8).nak(5).sends(5, 8).nak(5).sends(5, 8).ack(8);
    expect(requesterOf(script).requester).toMatchObject({ lostPackets: 2, retransmittedPackets: 8 });
  });

  it('are not lost a second time when a NAK is repeated', () => {
    const script = new Script(options).sends(0, 8).nak(5).nak(5).sends(5, 8).ack(8);
    expect(requesterOf(script).requester.lostPackets).toBe(1);
  });

  it('are lost when they fill a gap after nobody has answered for long, also without a NAK', () => {
    const script = new Script(options).sends(0, 4).ack(4);
    script.fromA(Op.SendOnly, 5);
    script.sends(6, 7).wait(67e6).sends(5, 7).ack(7);
    const { events, requester } = requesterOf(script);
    expect(events).toEqual(['timeout 5', 'retransmission 5+3 timeout', 'loss 5']);
    expect(requester).toMatchObject({ lostPackets: 1, timeouts: 1, reorderedPackets: 0 });
  });

  it('are late when they fill a gap soon and nobody has gone back', () => {
    const script = new Script(options).sends(0, 4);
    const late = script.fromA(Op.SendOnly, 5);
    script.sends(6, 7).see(late).sends(8, 9).ack(9);
    const { events, requester } = requesterOf(script);
    expect(events).toEqual(['reordering 5']);
    expect(script.marks[7]).toBe('late');
    expect(requester).toMatchObject({ reorderedPackets: 1, lostPackets: 0, retransmittedPackets: 0 });
  });

  it('are losses of the capture when they are acknowledged and never seen', () => {
    const script = new Script(options).sends(0, 4);
    script.fromA(Op.SendOnly, 5);
    script.fromA(Op.SendOnly, 6);
    script.sends(7, 9).ack(9).wait(5e6).sends(10, 10).ack(10);
    const { events, requester } = requesterOf(script);
    expect(events).toEqual(['unseen 5+2']);
    expect(requester).toMatchObject({ unseenPackets: 2, lostPackets: 0 });
  });

  it('are losses of the capture when an ACK is ahead of all that was seen', () => {
    const script = new Script(options).sends(0, 4).ack(7).wait(5e6).sends(8, 9).ack(9);
    expect(requesterOf(script).events).toEqual(['unseen 5+3']);
  });

  it('are in order when the capture has written the acknowledge before them', () => {
    const script = new Script(options).sends(0, 4);
    const frame = script.fromA(Op.SendOnly, 5);
    script.ack(5).see(frame).wait(5e6).sends(6, 7).ack(7);
    const { events, requester } = requesterOf(script);
    expect(events).toEqual([]);
    expect(requester).toMatchObject({ unseenPackets: 0, goodputBytes: 800 });
  });

  it('are copies when the very same frame follows at once', () => {
    const script = new Script(options).sends(0, 4);
    const frame = script.fromA(Op.SendOnly, 5);
    script.see(frame).see(frame).sends(6, 6).ack(6);
    const { analysis, events, requester } = requesterOf(script);
    expect(events).toEqual(['copy 5']);
    expect(analysis.events[0]).toMatchObject({ frame: 7, refersTo: 6 });
    expect(requester).toMatchObject({ copies: 1, retransmittedPackets: 0, goodputBytes: 700 });
  });

  it('are repeated after a timeout when nobody has answered for long', () => {
    const script = new Script(options).sends(0, 4).ack(2).wait(67e6).sends(3, 4).ack(4);
    const { analysis, events, requester } = requesterOf(script);
    expect(events).toEqual(['timeout 3', 'retransmission 3+2 timeout']);
    expect(script.marks[6]).toBe('retransmission after-timeout');
    expect(analysis.events[0]?.durationNs).toBe(67_001_000);
    expect(requester).toMatchObject({ timeouts: 1, retransmittedPackets: 2, lostPackets: 0 });
  });

  it('are repeated although they were acknowledged when the acknowledge does not arrive', () => {
    const script = new Script(options).sends(0, 4).ack(4).wait(67e6).sends(4, 4).ack(4).wait(1e6).ack(4);
    const { analysis, events, requester } = requesterOf(script);
    expect(events).toEqual(['timeout 4', 'ghost-ack 4', 'retransmission 4 timeout']);
    expect(analysis.events[0]?.reason).toBe('ack-not-received');
    expect(requester.ghostAcks).toBe(1);
  });

  it('are repeated after an RNR NAK, whose echoes are no losses', () => {
    const script = new Script(options).sends(0, 6).b(Op.Acknowledge, 4, { syndrome: 0x2c }).nak(4);
    script.wait(640_000).sends(4, 6).ack(6);
    const { events, requester } = requesterOf(script);
    expect(events).toEqual(['rnr-nak 4', 'nak 4', 'retransmission 4+3 rnr']);
    expect(requester).toMatchObject({ rnrNaks: 1, lostPackets: 0 });
  });

  it('that came damaged were not lost', () => {
    const script = new Script(options).sends(0, 4);
    script
      .see(damaged(script.fromA(Op.SendOnly, 5)))
      .sends(6, 7)
      .nak(5)
      .sends(5, 7)
      .ack(7);
    const { events, requester } = requesterOf(script);
    expect(events).toEqual(['bad-icrc 5', 'nak 5', 'retransmission 5+3 nak']);
    expect(requester).toMatchObject({ lostPackets: 0, retransmittedPackets: 3 });
  });

  it('from the middle of a connection begin where the capture begins', () => {
    const script = new Script(options).ack(-4).a(Op.WriteMiddle, 0).a(Op.WriteLast, 1).ack(1).sends(2, 3).ack(3);
    const { events, requester } = requesterOf(script);
    expect(events).toEqual([]);
    expect(requester.fromStart).toBe(false);
  });

  it('that nobody has answered are said to be open', () => {
    const { requester } = requesterOf(new Script(options).sends(0, 4).ack(1));
    expect(requester.unansweredPsn).toBe(0);
    expect(requester.nextPsn).toBe(3);
  });
});

describe('requests whose identifications count', () => {
  it('are late though a NAK has asked for them, when they were sent before what overtook them', () => {
    const script = new Script().sends(0, 4);
    const late = script.fromA(Op.SendOnly, 5);
    script.sends(6, 7).nak(5).see(late).sends(5, 7).ack(7);
    const { events, requester } = requesterOf(script);
    expect(events).toEqual(['nak 5', 'reordering 5', 'retransmission 5+3 nak']);
    expect(requester).toMatchObject({ reorderedPackets: 1, lostPackets: 0, retransmittedPackets: 3 });
  });

  it('are not lost when the original comes after its own repetition', () => {
    const script = new Script().sends(0, 4);
    const late = script.fromA(Op.SendOnly, 5);
    script.sends(6, 7).nak(5).sends(5, 7).see(late).see(late).ack(7).sends(8, 8).ack(8);
    const { events, requester } = requesterOf(script);
    expect(events).toEqual(['nak 5', 'reordering 5', 'copy 5', 'retransmission 5+3 nak']);
    expect(requester).toMatchObject({ reorderedPackets: 1, lostPackets: 0, copies: 1 });
  });

  it('are copies however late, also when there was a reason to repeat them', () => {
    const script = new Script().sends(0, 4);
    const frame = script.fromA(Op.SendOnly, 5);
    script.see(frame).wait(5e6).see(frame).ack(5);
    expect(requesterOf(script).events).toEqual(['copy 5']);
  });
});

describe('requests without identifications', () => {
  it('were lost when those behind a filled gap come again, too', () => {
    const script = new Script({ ids: 'ipv6' }).sends(0, 4);
    script.fromA(Op.SendOnly, 5);
    // The NAK went another way.
    script.sends(6, 7).sends(5, 7).ack(7);
    const { events, requester } = requesterOf(script);
    expect(events).toEqual(['retransmission 5+3 unknown', 'loss 5']);
    expect(requester).toMatchObject({ lostPackets: 1, reorderedPackets: 0, retransmittedPackets: 3 });
  });
});

describe('requests over UC', () => {
  const uc = (op: number) => op | 0x20;

  it('are lost when they are missing, late when they come, and never repeated', () => {
    const script = new Script();
    for (let psn = 0; psn < 5; psn++) script.a(uc(Op.SendOnly), psn);
    script.fromA(uc(Op.SendOnly), 5);
    script.a(uc(Op.SendOnly), 6);
    const late = script.fromA(uc(Op.SendOnly), 7);
    script.a(uc(Op.SendOnly), 8).see(late).wait(60e6).a(uc(Op.SendOnly), 9);
    const { analysis, events, requester } = requesterOf(script);
    expect(events).toEqual(['reordering 7', 'loss 5']);
    expect(analysis.conversations[0]?.service).toBe('UC');
    expect(requester).toMatchObject({ lostPackets: 1, reorderedPackets: 1, unansweredPsn: -1 });
  });
});

describe('packets that come late, where identifications do not count', () => {
  it('before the sender goes back are late, whatever a NAK asked for', () => {
    const script = new Script({ ids: 'random' }).sends(0, 1).ack(1, { msn: 2 });
    const late2 = script.fromA(Op.SendOnly, 2);
    script.a(Op.SendOnly, 3).nak(2).see(late2).sends(4, 4).nak(3).sends(5, 5);
    const late6 = script.fromA(Op.SendOnly, 6);
    script.a(Op.SendOnly, 7).see(late6).wait(3000);
    script.sends(3, 7).ack(7, { msn: 8 }).sends(8, 9).ack(9, { msn: 10 });
    const analysis = script.analyze();
    expect(requesterOf(script).requester).toMatchObject({
      lostPackets: 0,
      reorderedPackets: 2,
      retransmittedPackets: 5,
    });
    expect(eventsOf(analysis)).toContain('retransmission 3+5 nak');
  });

  it('are no loss for certain as retransmissions that come beside the next ones', () => {
    const told = (ids: 'random' | 'constant') => {
      const script = new Script({ ids }).sends(0, 0).ack(0, { msn: 1 });
      script.fromA(Op.SendOnly, 1);
      script.sends(2, 3).nak(1).wait(3000).a(Op.SendOnly, 1);
      const late2 = script.fromA(Op.SendOnly, 2);
      script.a(Op.SendOnly, 3).nak(2).wait(3000).see(late2).wait(500).sends(2, 3).ack(3, { msn: 4 });
      const { lostPackets, reorderedPackets, undecidedPackets } = requesterOf(script.sends(4, 5).ack(5)).requester;
      return { lostPackets, reorderedPackets, undecidedPackets };
    };
    // The second of the two may be a copy of the first, or both were sent: then none of them is lost.
    expect(told('constant')).toEqual({ lostPackets: 1, reorderedPackets: 0, undecidedPackets: 1 });
    expect(told('random')).toEqual({ lostPackets: 1, reorderedPackets: 1, undecidedPackets: 0 });
  });

  it('are lost where the retransmission comes once', () => {
    const script = new Script({ ids: 'random' }).sends(0, 0).ack(0, { msn: 1 });
    script.fromA(Op.SendOnly, 1);
    script.sends(2, 3).nak(1).wait(3000).a(Op.SendOnly, 1).a(Op.SendOnly, 3).nak(2).wait(3000);
    script.sends(2, 3).ack(3, { msn: 4 }).sends(4, 5).ack(5, { msn: 6 });
    expect(requesterOf(script).requester).toMatchObject({ lostPackets: 2, undecidedPackets: 0 });
  });
});
