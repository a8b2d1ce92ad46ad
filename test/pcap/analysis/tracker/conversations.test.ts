/**
 * Goal: packets find the conversation they belong to, with and without connection management, in one direction only,
 * over several interfaces, and when queue pair numbers are used again. Method: short scripts; the conversations that
 * come out, end by end.
 */
import { describe, expect, it } from 'vitest';
import { Op } from '../../../../packets/opcode.ts';
import type { Analysis, TransportEvent } from '../../../../pcap/analysis/types.ts';
import { A_QPN, B_QPN, damaged, eventsOf, Script } from './script.ts';

/** "a1-b1 3/2": queue pairs of both ends in hex, and what each has sent. */
const described = ({ conversations }: Analysis): string[] =>
  conversations.map(({ ends: [a, b] }) => {
    const qpn = (n: number) => (n < 0 ? '?' : n.toString(16));
    return `${qpn(a.qpn)}-${qpn(b.qpn)} ${a.packets}/${b.packets}`;
  });

describe('conversations without connection management', () => {
  it('learn the queue pair of the requester from the first response', () => {
    const analysis = new Script().sends(0, 2).ack(2).analyze();
    expect(described(analysis)).toEqual(['a1-b1 3/1']);
    expect(analysis.conversations[0]).toMatchObject({ service: 'RC', learnt: 'traffic', sameAs: 0, firstFrame: 1 });
    expect(analysis.conversations[0]?.ends[0]).toMatchObject({ address: '192.0.2.1', mac: '02:00:00:00:00:01' });
  });

  it('are one when both sides asked before anybody answered', () => {
    const script = new Script().sends(0, 2);
    for (const psn of [700, 701]) script.b(Op.SendOnly, psn);
    script.ack(2).a(Op.Acknowledge, 701, { msn: 2 });
    const analysis = script.analyze();
    expect(described(analysis)).toEqual(['a1-b1 4/3']);
    expect(analysis.conversations[0]?.id).toBe(1);
    expect(eventsOf(analysis)).toEqual([]);
    expect(analysis.conversations[0]?.ends[1].requester).toMatchObject({ packets: 2, acks: 1, unansweredPsn: -1 });
  });

  it('keep their number in events that were told of a half', () => {
    const script = new Script().sends(0, 4);
    for (const psn of [700, 701, 702]) script.b(Op.SendOnly, psn);
    const frame = script.fromB(Op.SendOnly, 703);
    script.see(frame).see(frame).ack(4).a(Op.Acknowledge, 703, { msn: 4 });
    const { events, conversations } = script.analyze();
    expect(events).toMatchObject([{ kind: 'copy', conversation: 1, sender: 1 }]);
    expect(conversations).toHaveLength(1);
  });

  it('of many queue pairs that all begin with one PSN are told apart', () => {
    const script = new Script();
    const pairs = [1, 2, 3, 4, 5];
    for (const n of pairs) for (let psn = 0; psn < 2; psn++) script.a(Op.SendOnly, psn, { qpn: B_QPN + n });
    for (const n of pairs) script.ack(1, { qpn: A_QPN + n, msn: 2 });
    for (const n of pairs) script.a(Op.SendOnly, 2, { qpn: B_QPN + n }).ack(2, { qpn: A_QPN + n, msn: 3 });
    const analysis = script.analyze();
    expect(described(analysis)).toEqual(['a2-b2 3/2', 'a3-b3 3/2', 'a4-b4 3/2', 'a5-b5 3/2', 'a6-b6 3/2']);
    expect(eventsOf(analysis)).toEqual([]);
  });

  it('are told apart by the messages that an answer counts, and by who was asked first', () => {
    const script = new Script();
    const [b1, b2, a1, a2] = [B_QPN + 1, B_QPN + 2, A_QPN + 1, A_QPN + 2];
    script.a(Op.SendFirst, 0, { qpn: b1 }).a(Op.SendLast, 1, { qpn: b1 });
    script.a(Op.SendOnly, 0, { qpn: b2 }).a(Op.SendOnly, 1, { qpn: b2 });
    script.ack(1, { qpn: a2, msn: 2 }).ack(1, { qpn: a1, msn: 1 });
    expect(described(script.analyze())).toEqual(['a2-b2 2/1', 'a3-b3 2/1']);
    const equal = new Script().a(Op.SendOnly, 0, { qpn: b1 }).a(Op.SendOnly, 0, { qpn: b2 });
    equal.a(Op.SendOnly, 1, { qpn: b2 }).a(Op.SendOnly, 1, { qpn: b1 });
    equal.ack(1, { qpn: a2, msn: 2 }).ack(1, { qpn: a1, msn: 2 });
    expect(described(equal.analyze())).toEqual(['a2-b2 2/1', 'a3-b3 2/1']);
  });

  it('are known from responses alone, and their requests join them', () => {
    const one = new Script().ack(4).ack(5);
    expect(described(one.analyze())).toEqual(['?-a1 2/0']);
    const both = new Script().ack(4).ack(5).sends(6, 8).ack(8);
    const analysis = both.analyze();
    expect(described(analysis)).toEqual(['b1-a1 3/3']);
    expect(eventsOf(analysis)).toEqual([]);
  });

  it('begin anew when a queue pair number comes again with a PSN that cannot be', () => {
    const script = new Script().sends(0, 3).ack(3).wait(1e9);
    script.a(Op.SendOnly, 0x40_00_00).a(Op.SendOnly, 0x40_00_01).ack(0x40_00_01, { msn: 2 });
    const analysis = script.analyze();
    expect(described(analysis)).toEqual(['a1-b1 4/1', 'a1-b1 2/1']);
    expect(eventsOf(analysis)).toEqual([]);
  });

  it('of UC are one when nobody else could be meant', () => {
    const uc = (op: number) => op | 0x20;
    const script = new Script().a(uc(Op.SendOnly), 0).b(uc(Op.SendOnly), 900).a(uc(Op.SendOnly), 1);
    expect(described(script.analyze())).toEqual(['a1-b1 2/1']);
    const crowd = new Script()
      .a(uc(Op.SendOnly), 0)
      .a(uc(Op.SendOnly), 0, { qpn: B_QPN + 1 })
      .b(uc(Op.SendOnly), 900);
    expect(described(crowd.analyze())).toEqual(['?-b1 1/0', '?-b2 1/0', '?-a1 1/0']);
  });

  it('of UD have both queue pairs from the start, in both directions', () => {
    const script = new Script().a(Op.UdSendOnly, 0, { sourceQpn: A_QPN }).b(Op.UdSendOnly, 9, { sourceQpn: B_QPN });
    script.a(Op.UdSendOnly, 5, { sourceQpn: A_QPN }).a(Op.UdSendOnly, 6, { sourceQpn: A_QPN + 1 });
    const analysis = script.analyze();
    expect(described(analysis)).toEqual(['a1-b1 2/1', 'a2-b1 1/0']);
    expect(analysis.conversations[0]?.service).toBe('UD');
    expect(eventsOf(analysis)).toEqual([]);
  });

  it('of XRC are followed like those of RC', () => {
    const xrc = (op: number) => op | 0xa0;
    const script = new Script().a(xrc(Op.SendOnly), 0).a(xrc(Op.SendOnly), 1).b(xrc(Op.Acknowledge), 1);
    const analysis = script.analyze();
    expect(described(analysis)).toEqual(['a1-b1 2/1']);
    expect(analysis.conversations[0]?.service).toBe('XRC');
  });

  it('are not opened by damaged packets', () => {
    const script = new Script();
    const analysis = script.see(damaged(script.fromA(Op.SendOnly, 0))).analyze();
    expect(analysis.conversations).toEqual([]);
    expect(analysis.events).toMatchObject([{ kind: 'bad-icrc', conversation: 0 }]);
  });

  it('take notifications for the sender of the flow that was marked', () => {
    const script = new Script().sends(0, 2).ack(2).a(Op.SendOnly, 3, { trafficClass: 3 }).b(Op.Cnp, 0, { wirePsn: 0 });
    for (let i = 0; i < 4; i++) script.wait(49_000).b(Op.Cnp, 0, { wirePsn: 0, trafficClass: 48 << 2 });
    const analysis = script.analyze();
    const [sender, notifier] = analysis.conversations[0]?.ends ?? [];
    expect(analysis.events.map(({ kind }) => kind)).toEqual(['ce-mark', 'cnp', 'cnp', 'cnp', 'cnp', 'cnp']);
    expect(sender?.congestion).toMatchObject({ ce: 1, notEct: 3, cnpsSent: 0 });
    expect(notifier?.congestion).toMatchObject({ cnpsSent: 5, cnpDscp: { 0: 1, 48: 4 }, dscp: { 0: 1 } });
    expect(notifier?.congestion.cnpIntervalNs.count).toBe(4);
    expect(Math.abs((notifier?.congestion.cnpPacingNs ?? 0) - 50_000)).toBeLessThan(1600);
  });
});

describe('conversations over several interfaces', () => {
  /** Each frame comes in on one interface and leaves on the other. */
  const bumped = (script: Script, ...frames: readonly Uint8Array[]): void => {
    for (const frame of frames) script.on(0).see(frame).on(1).see(frame);
  };

  it('are seen by each of them, and the later is the same as the earlier', () => {
    const script = new Script();
    for (let psn = 0; psn < 5; psn++) bumped(script, script.fromA(Op.SendOnly, psn), script.fromB(Op.Acknowledge, psn));
    const analysis = script.analyze();
    expect(described(analysis)).toEqual(['a1-b1 5/5', 'a1-b1 5/5']);
    expect(analysis.conversations.map(({ sameAs, interfaceIndex }) => [sameAs, interfaceIndex])).toEqual([
      [0, 0],
      [1, 1],
    ]);
    expect(eventsOf(analysis)).toEqual([]);
  });

  it('are one when the interfaces are one place: then frames seen twice are copies', () => {
    const script = new Script({ analyzer: { interfacesTogether: true } });
    for (let psn = 0; psn < 3; psn++) script.on(psn % 2).a(Op.SendOnly, psn);
    const analysis = script.on(1).ack(2).analyze();
    expect(described(analysis)).toEqual(['a1-b1 3/1']);
    expect(eventsOf(analysis)).toEqual([]);
  });

  it('miss nothing when each direction has an interface of its own', () => {
    const script = new Script();
    for (let psn = 0; psn < 5; psn++) script.on(0).a(Op.SendOnly, psn).on(1).ack(psn);
    const analysis = script.analyze();
    expect(described(analysis)).toEqual(['?-b1 5/0', '?-a1 5/0']);
    expect(eventsOf(analysis)).toEqual([]);
  });
});

describe('the bounds of an analysis', () => {
  it('leave out conversations beyond the most that are followed, and count them', () => {
    const script = new Script({ analyzer: { maxConversations: 3 } });
    for (let round = 0; round < 2; round++) {
      for (let n = 0; n < 8; n++) script.a(Op.SendOnly, round, { qpn: 100 + n });
    }
    const analysis = script.analyze();
    expect(described(analysis)).toEqual(['?-64 2/0', '?-65 2/0', '?-66 2/0']);
    expect(analysis.conversationsOmitted).toBe(5);
  });

  it('leave out events beyond the most that are kept, and count them', () => {
    const all: TransportEvent[] = [];
    const script = new Script({ analyzer: { maxEvents: 4, onEvent: (event) => all.push(event) } }).sends(0, 3);
    const frame = script.fromA(Op.SendOnly, 4);
    for (let i = 0; i < 11; i++) script.see(frame);
    const analysis = script.analyze();
    expect(analysis.events).toHaveLength(4);
    expect(analysis.eventsOmitted).toBe(6);
    expect(all).toHaveLength(10);
    expect(all.slice(0, 4)).toEqual(analysis.events);
    expect(analysis.conversations[0]?.ends[0].requester.copies).toBe(10);
  });
});
