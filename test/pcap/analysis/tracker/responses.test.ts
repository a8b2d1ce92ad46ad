/**
 * Goal: responses of READs and atomics are followed like requests: gaps, latecomers, copies, repetitions, and what is
 * asked for again because of them; READs take as many PSNs as they have responses, also while the path MTU is not
 * known. Method: short scripts, one behaviour each.
 */
import { describe, expect, it } from 'vitest';
import { Syndrome } from '../../../../packets/aeth.ts';
import { Op } from '../../../../packets/opcode.ts';
import { damaged, eventsOf, MTU, Script, type ScriptOptions } from './script.ts';

const EVERY_ID = ['count', 'constant', 'ipv6'] as const;

const requesterOf = (script: Script) => {
  const analysis = script.analyze();
  const end = analysis.conversations[0]?.ends.find(({ requester }) => requester.packets > 0);
  if (end === undefined) throw new Error('somebody has sent requests');
  return { analysis, events: eventsOf(analysis), requester: end.requester };
};

it('a NAK is told with its syndrome', () => {
  const { analysis } = requesterOf(new Script().sends(0, 2).nak(1));
  expect(analysis.events.map(({ kind, syndrome }) => [kind, syndrome])).toContainEqual(['nak', Syndrome.NakSequence]);
});

describe.each(EVERY_ID)('responses whose identifications are: %s', (ids) => {
  const options: ScriptOptions = { ids };

  it('are nothing but responses when they come in order, and the first tells the path MTU', () => {
    const script = new Script(options).read(0, 4).read(4, 2).answers(0, 3).answers(4, 5).read(6, 3).answers(6, 8);
    const { events, requester, analysis } = requesterOf(script);
    expect(events).toEqual([]);
    expect(script.marks.every((marks) => marks === '')).toBe(true);
    expect(requester).toMatchObject({ messages: { READ: 3 }, mostOutstandingReads: 2, unansweredPsn: -1, nextPsn: 7 });
    expect(requester.responses).toMatchObject({ packets: 9, lostPackets: 0, retransmittedPackets: 0 });
    expect(requester.goodputBytes).toBe(6 * MTU + 300);
    expect(requester.readLatency).toMatchObject({ count: 3, minNs: 1000 });
    expect(analysis.conversations[0]?.ends.map(({ pathMtu }) => pathMtu)).toEqual([0, MTU]);
  });

  it('are lost when what is missing is asked for at once and comes then: an implied NAK', () => {
    const script = new Script(options).read(0, 6).answers(0, 5, [2]).read(2, 4).answers(2, 5).read(6, 1).answers(6, 6);
    const { analysis, events, requester } = requesterOf(script);
    expect(events).toEqual([
      'implied-nak 2 implied-nak',
      'retransmission 2 implied-nak',
      'retransmission 2+4 duplicate-request',
      'loss 2',
    ]);
    expect(analysis.events[0]).toMatchObject({ reason: 'immediate', durationNs: 3000, refersTo: 4 });
    expect(requester).toMatchObject({ impliedNaks: 1, timeouts: 0, retransmittedPackets: 1 });
    expect(requester.responses).toMatchObject({ lostPackets: 1, retransmittedPackets: 4, packets: 10 });
  });

  it('are lost when what is missing is asked for after a timeout, as rdma_rxe does inside one READ', () => {
    const script = new Script(options).read(0, 6).answers(0, 5, [2]).wait(68e6).read(2, 4).answers(2, 5);
    const { analysis, requester } = requesterOf(script);
    expect(analysis.events.find(({ kind }) => kind === 'implied-nak')?.reason).toBe('after-timeout');
    expect(script.marks[6]).toBe('retransmission implied-nak after-timeout');
    expect(requester).toMatchObject({ impliedNaks: 1, timeouts: 1 });
    expect(requester.responses.lostPackets).toBe(1);
  });

  it('are lost behind this place when they came past here and are asked for again at once', () => {
    const script = new Script(options).read(0, 6).answers(0, 5).read(2, 4).answers(2, 5);
    const { events, requester } = requesterOf(script);
    expect(events).toEqual([
      'implied-nak 2 implied-nak',
      'retransmission 2 implied-nak',
      'retransmission 2+4 duplicate-request',
      'loss 2',
    ]);
    expect(requester.responses).toMatchObject({ lostPackets: 1, retransmittedPackets: 4 });
  });

  it('that came behind the next one have shown a gap: the requester may ask for that late, and had no timeout', () => {
    const asksAfter = (ns: number) => {
      const script = new Script(options).read(0, 6).answers(0, 5).read(6, 6);
      const [first, second] = [Op.ReadResponseFirst, Op.ReadResponseMiddle].map((op, i) => script.fromB(op, 6 + i)) as [
        Uint8Array,
        Uint8Array,
      ];
      script.b(Op.ReadResponseMiddle, 8).see(first).see(second).wait(ns).read(8, 4).answers(8, 11);
      return requesterOf(script).requester.timeouts;
    };
    expect([asksAfter(40e6), asksAfter(68e6)]).toEqual([0, 1]);
  });

  it('are late when they fill a gap and nobody has asked again', () => {
    const script = new Script(options).read(0, 6);
    const [first, second, third] = [Op.ReadResponseFirst, Op.ReadResponseMiddle, Op.ReadResponseMiddle].map((op, psn) =>
      script.fromB(op, psn),
    ) as [Uint8Array, Uint8Array, Uint8Array];
    script.see(first).see(third).see(second).b(Op.ReadResponseMiddle, 3).b(Op.ReadResponseMiddle, 4);
    script.b(Op.ReadResponseLast, 5);
    const { events, requester } = requesterOf(script);
    // The first packets of a sender do not show whether its identifications count.
    expect(events).toEqual(['reordering 1']);
    expect(requester.responses).toMatchObject({ reorderedPackets: 1, lostPackets: 0 });
  });

  it('are copies when the very same frame follows at once', () => {
    const script = new Script(options).read(0, 3);
    const frame = script.fromB(Op.ReadResponseMiddle, 1);
    script.b(Op.ReadResponseFirst, 0).see(frame).see(frame).b(Op.ReadResponseLast, 2);
    const { requester, analysis } = requesterOf(script);
    expect(analysis.events.map(({ kind }) => kind)).toEqual(['copy']);
    expect(requester.copies).toBe(1);
  });

  it('that the capture has lost are unseen', () => {
    const script = new Script(options).read(0, 4).answers(0, 3, [1]).sends(4, 5).ack(5);
    const { events, requester } = requesterOf(script);
    expect(events).toEqual(['unseen 1']);
    expect(requester.responses.unseenPackets).toBe(1);
  });

  it('that are passed over by an ACK are missing', () => {
    const script = new Script(options).read(0, 2).answers(0, 1).read(2, 2).sends(4, 4).ack(4).wait(1e5);
    script.read(2, 2).answers(2, 3).wait(1e5);
    const { requester } = requesterOf(script);
    expect(script.marks[5]).toBe('gap');
    expect(requester.responses).toMatchObject({ lostPackets: 2, retransmittedPackets: 2 });
  });

  it('without a request in the capture break no order', () => {
    const script = new Script(options).answers(0, 3).answers(4, 6);
    const analysis = script.analyze();
    expect(eventsOf(analysis)).toEqual([]);
    expect(analysis.conversations).toHaveLength(1);
  });

  it('that the capture has written before their request belong to it', () => {
    const script = new Script(options).read(0, 2).answers(0, 1).sends(2, 2).ack(2);
    const request = script.fromA(Op.ReadRequest, 3, { length: 2 * MTU + 100 });
    script.b(Op.ReadResponseFirst, 3).see(request).b(Op.ReadResponseMiddle, 4).b(Op.ReadResponseLast, 5);
    script.wait(5e6).sends(6, 7).ack(7);
    const { events, requester } = requesterOf(script);
    expect(events).toEqual([]);
    expect(requester).toMatchObject({ messages: { READ: 2, SEND: 3 }, unansweredPsn: -1 });
  });

  it('of atomics are answers of one PSN each', () => {
    const script = new Script(options).a(Op.FetchAdd, 0).a(Op.CompareSwap, 1).b(Op.AtomicAcknowledge, 0);
    script.b(Op.AtomicAcknowledge, 1).a(Op.FetchAdd, 2).wait(67e6).a(Op.FetchAdd, 2).b(Op.AtomicAcknowledge, 2);
    const { events, requester } = requesterOf(script);
    expect(events).toEqual(['timeout 2', 'retransmission 2 timeout']);
    expect(requester.messages).toEqual({ FETCH_ADD: 2, CMP_SWAP: 1 });
    expect(requester.mostOutstandingReads).toBe(2);
  });

  it('that came damaged were not lost', () => {
    const script = new Script(options).read(0, 3).b(Op.ReadResponseFirst, 0);
    script
      .see(damaged(script.fromB(Op.ReadResponseMiddle, 1)))
      .b(Op.ReadResponseLast, 2)
      .read(1, 2)
      .answers(1, 2);
    const { requester } = requesterOf(script);
    expect(requester.responses.lostPackets).toBe(0);
    expect(requester.impliedNaks).toBe(1);
  });
});

describe('acknowledges', () => {
  it('that were overtaken are late, and their copies are copies', () => {
    const script = new Script().sends(0, 9).ack(1).ack(2);
    const late = script.fromB(Op.Acknowledge, 3);
    script.ack(5).see(late).see(late).ack(9);
    const { events, requester } = requesterOf(script);
    expect(events).toEqual(['reordering 3', 'copy 3']);
    expect(requester).toMatchObject({ ghostAcks: 0, copies: 1 });
  });

  it('that answer repeated requests are no ghosts, each of them once', () => {
    const script = new Script().sends(0, 2).ack(2).wait(67e6).sends(1, 2).ack(2).ack(2).wait(1e6).ack(2);
    expect(requesterOf(script).requester.ghostAcks).toBe(1);
  });

  it('that bring other credits are no ghosts', () => {
    const script = new Script().sends(0, 2).ack(2, { syndrome: 3 }).wait(1e6).ack(2, { syndrome: 5 });
    const { events, requester } = requesterOf(script);
    expect(events).toEqual([]);
    expect(requester.creditCode).toBe(5);
  });

  it('of a capture without requests are never ghosts', () => {
    const script = new Script().ack(5).wait(1e6).ack(4).wait(1e6).ack(5);
    expect(eventsOf(script.analyze())).toEqual([]);
  });
});
