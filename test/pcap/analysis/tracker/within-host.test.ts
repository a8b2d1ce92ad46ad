/**
 * Goal: what a host sends to itself, over loopback or back from its switch, is paired by its queue pairs and PSNs like
 * traffic between two hosts, and nothing is found in sound traffic. Method: short scripts in which A and B have one
 * address; the conversations that come out, and every finding.
 */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Op } from '../../../../packets/opcode.ts';
import type { Analysis } from '../../../../pcap/analysis/types.ts';
import { A_QPN, B_QPN, eventsOf, Script, type ScriptOptions } from './script.ts';

/** "a1-b1 3/2 <1": queue pairs of both ends in hex, what each has sent, and the life before. */
const described = ({ conversations }: Analysis): string[] =>
  conversations.map(({ ends: [a, b], previousLife }) => {
    const qpn = (n: number) => (n < 0 ? '?' : n.toString(16));
    return `${qpn(a.qpn)}-${qpn(b.qpn)} ${a.packets}/${b.packets}${previousLife === 0 ? '' : ` <${previousLife}`}`;
  });
const found = ({ findings }: Analysis): string[] => findings.map(({ id }) => id);
const within = (options: ScriptOptions = {}) => new Script({ ...options, withinHost: true });
const uc = (opcode: number) => opcode | 0x20;

describe('a host that talks to itself', () => {
  it('over one connection, one way, has one conversation with its ACKs', () => {
    const analysis = within().sends(0, 3).ack(3, { msn: 4 }).sends(4, 5).ack(5, { msn: 6 }).analyze();
    expect(described(analysis)).toEqual(['a1-b1 6/2']);
    expect(analysis.conversations[0]?.ends[0].requester).toMatchObject({ packets: 6, acks: 2, unansweredPsn: -1 });
    expect([eventsOf(analysis), found(analysis)]).toEqual([[], []]);
    expect(analysis.vantages).toMatchObject([{ place: 'unknown', hosts: [] }]);
  });

  it.each(['count', 'constant', 'ipv6'] as const)('both ways before any answer: one conversation (%s)', (ids) => {
    const script = within({ ids }).sends(0, 2);
    for (const psn of [700, 701]) script.b(Op.SendOnly, psn);
    script.a(Op.Acknowledge, 701, { msn: 2 }).ack(2, { msn: 3 });
    script.sends(3, 4).b(Op.SendOnly, 702).ack(4, { msn: 5 }).a(Op.Acknowledge, 702, { msn: 3 });
    const analysis = script.analyze();
    expect(described(analysis)).toEqual(['a1-b1 7/5']);
    const [a, b] = analysis.conversations[0]?.ends ?? [];
    expect([a?.requester.unansweredPsn, b?.requester.unansweredPsn]).toEqual([-1, -1]);
    expect([eventsOf(analysis), found(analysis)]).toEqual([[], []]);
  });

  it('with READs pairs the responses, also where only they were captured at first', () => {
    const asked = within().read(0, 3).answers(0, 2).read(3, 2).answers(3, 4).analyze();
    expect(described(asked)).toEqual(['a1-b1 2/5']);
    const late = within().answers(0, 2).read(3, 2).answers(3, 4).analyze();
    expect(described(late)).toEqual(['b1-a1 5/1']);
    expect([...eventsOf(asked), ...found(asked), ...found(late)]).toEqual([]);
  });

  it('over many queue pairs, in either direction and in any order, pairs none with a wrong one', () => {
    const pairs = fc.array(fc.record({ psn: fc.integer({ min: 0, max: 0xff_ff_ff }), back: fc.boolean() }), {
      minLength: 2,
      maxLength: 8,
    });
    const check = fc.property(pairs, fc.infiniteStream(fc.nat()), (connections, random) => {
      // PSNs of programs are random; near each other a few in a million are.
      fc.pre(connections.every(({ psn }, i) => connections.every((other, j) => i === j || far(psn, other.psn))));
      const script = within();
      const next = connections.map(() => 0);
      for (let left = 24; left > 0; left--) {
        const n = (random.next().value ?? 0) % connections.length;
        const { psn = 0, back = false } = connections[n] ?? {};
        const [asking, asked] = back ? [B_QPN + n, A_QPN + n] : [A_QPN + n, B_QPN + n];
        const at = (next[n] ?? 0) + psn;
        script.a(Op.SendOnly, 0, { qpn: asked, wirePsn: at & 0xff_ff_ff });
        if (left % 3 !== 0) script.ack(0, { qpn: asking, wirePsn: at & 0xff_ff_ff, msn: (next[n] ?? 0) + 1 });
        next[n] = (next[n] ?? 0) + 1;
      }
      const paired = script.analyze().conversations.filter(({ ends }) => ends.every(({ qpn }) => qpn >= 0));
      expect(paired.length).toBeGreaterThan(0);
      for (const { ends } of paired) expect(Math.abs(ends[0].qpn - ends[1].qpn)).toBe(B_QPN - A_QPN);
    });
    fc.assert(check, { numRuns: 60 });
  });

  it('over several connections with the same PSNs both ways has no wrong pair', () => {
    const script = within();
    for (const n of [1, 2]) script.a(Op.SendOnly, 0, { qpn: B_QPN + n }).b(Op.SendOnly, 0, { qpn: A_QPN + n });
    for (const n of [2, 1]) {
      script.ack(0, { qpn: A_QPN + n, msn: 1 });
      script.a(Op.Acknowledge, 0, { qpn: B_QPN + n, msn: 1 });
    }
    const analysis = script.analyze();
    const pairs = analysis.conversations.map(({ ends }) => ends.map(({ qpn }) => qpn));
    expect(pairs.filter(([a = -1, b = -1]) => a >= 0 && b >= 0 && Math.abs(a - b) !== B_QPN - A_QPN)).toEqual([]);
    expect(found(analysis)).toEqual([]);
  });

  it('over UC leaves open who sends: another receiver is no proof', () => {
    const script = within().a(uc(Op.SendOnly), 0).a(uc(Op.SendOnly), 1);
    script.a(uc(Op.SendOnly), 0, { qpn: B_QPN + 1 }).a(uc(Op.SendOnly), 2);
    const analysis = script.analyze();
    expect(described(analysis)).toEqual(['?-b1 3/0', '?-b2 1/0']);
    expect(found(analysis)).toEqual([]);
  });

  it('tells a loss, and in which direction', () => {
    const script = within().sends(0, 1).ack(1, { msn: 2 });
    script.fromA(Op.SendOnly, 2);
    script.a(Op.SendOnly, 3).nak(2).a(Op.SendOnly, 2).a(Op.SendOnly, 3).ack(3, { msn: 4 });
    const analysis = script.analyze();
    expect(described(analysis)).toEqual(['a1-b1 5/3']);
    expect(eventsOf(analysis)).toEqual(['nak 2', 'retransmission 2+2 nak', 'loss 2']);
    expect(analysis.conversations[0]?.ends[0].requester).toMatchObject({
      lostPackets: 1,
      naks: { 'PSN sequence error': 1 },
    });
  });

  it('has lives of its queue pairs like any other', () => {
    const script = within();
    const life = (from: number, count: number) => {
      for (let i = 0; i < count; i++) {
        script.a(Op.SendOnly, from + i).wait(2000);
        script.ack(from + i, { msn: i + 1 });
        script.b(Op.SendOnly, from + 9000 + i).wait(2000);
        script.a(Op.Acknowledge, from + 9000 + i, { msn: i + 1 });
      }
    };
    life(0, 10);
    script.wait(1e9);
    life(0x50_00_00, 6);
    const analysis = script.analyze();
    expect(described(analysis)).toEqual(['a1-b1 20/20', 'a1-b1 12/12 <1']);
    expect(eventsOf(analysis)).toEqual([]);
  });
});

function far(one: number, other: number): boolean {
  const distance = (one - other) & 0xff_ff_ff;
  return distance > 4096 && distance < 0x1_00_00_00 - 4096;
}
