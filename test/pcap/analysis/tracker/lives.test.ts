/**
 * Goal: a new life of two queue pairs is a conversation of its own and no error, whatever its PSNs; nothing else is
 * taken for one. Method: short scripts of sound traffic and a restart, or something that looks like one; the
 * conversations that come out, and every finding.
 */
import { describe, expect, it } from 'vitest';
import { Syndrome } from '../../../../packets/aeth.ts';
import { Op } from '../../../../packets/opcode.ts';
import type { Analysis } from '../../../../pcap/analysis/types.ts';
import { A_QPN, type Extra, eventsOf, Script, type ScriptOptions } from './script.ts';

const SECOND = 1e9;
const uc = (opcode: number) => opcode | 0x20;

/** "a1-b1 3/2 <1": queue pairs, what each end has sent, and the life before. */
function lives({ conversations }: Analysis): string[] {
  return conversations.map(({ ends: [a, b], previousLife }) => {
    const qpn = (n: number) => (n < 0 ? '?' : n.toString(16));
    const before = previousLife === 0 ? '' : ` <${previousLife}`;
    return `${qpn(a.qpn)}-${qpn(b.qpn)} ${a.packets}/${b.packets}${before}`;
  });
}

/** Findings of all severities but notes that are right: another source port, another life, a slow way. */
function told({ findings }: Analysis): string[] {
  const right = ['rule/source-port', 'peer-restarted', 'slow-responder'];
  return findings
    .filter(({ id, severity }) => severity !== 'note' || !right.includes(id))
    .map(({ id, text }) => `${id}: ${text}`);
}

function alarms({ findings }: Analysis): string[] {
  return findings.filter(({ severity }) => severity !== 'note').map(({ id }) => id);
}

/** SENDs one by one, each with its ACK: a responder that counts from 1. */
function life(script: Script, from: number, count: number, extra: Extra = {}, aQpn = A_QPN): Script {
  for (let i = 0; i < count; i++) {
    script
      .a(Op.SendOnly, from + i, extra)
      .wait(2000)
      .ack(from + i, { msn: i + 1, qpn: aQpn });
  }
  return script;
}

describe('a new life', () => {
  it('begins with its first request where a NAK has ended the one before', () => {
    const refused = life(new Script(), 0, 4).a(Op.SendOnly, 4);
    refused.b(Op.Acknowledge, 4, { syndrome: Syndrome.NakRemoteAccess });
    expect(lives(refused.wait(1000).a(Op.SendOnly, 0x50_00_00).analyze())).toEqual(['a1-b1 5/5', '?-b1 1/0 <1']);
    // Otherwise one packet proves nothing.
    const open = life(new Script(), 0, 4).a(Op.SendOnly, 4).nak(4);
    expect(lives(open.wait(1000).a(Op.SendOnly, 0x50_00_00).analyze())).toEqual(['a1-b1 5/5', '?-b1 1/0']);
  });

  const RESTARTS: readonly (readonly [string, number, Extra])[] = [
    ['far away', 0x50_00_00, {}],
    ['far behind', -0x50_00_00, {}],
    ['a little behind, with the same messages', 5, {}],
    ['the same again, with the same messages', 0, {}],
    ['the same again, with other messages', 0, { payload: 64 }],
    ['behind the first one', -300, {}],
    ['behind the first one, with other messages', -300, { payload: 64 }],
    ['far within the window', 60_000, {}],
    ['of another source port', 0, { sourcePort: 0xd0_00 }],
  ];
  for (const ids of ['count', 'constant', 'ipv6'] as const) {
    it.each(RESTARTS)(`begins with a PSN that is %s (${ids})`, (_, from, extra) => {
      const script = life(new Script({ ids }), 0, 20).wait(SECOND);
      const analysis = life(script, from, 8, extra).analyze();
      expect(told(analysis)).toEqual([]);
      expect(lives(analysis)).toEqual(['a1-b1 20/20', 'a1-b1 8/8 <1']);
      expect(eventsOf(analysis)).toEqual([]);
      const [, second] = analysis.conversations;
      expect(second?.firstFrame).toBe(41);
      expect(second?.ends[0].requester).toMatchObject({ packets: 8, messages: { SEND: 8 }, retransmittedPackets: 0 });
      expect(analysis.conversations[0]?.lastFrame).toBe(40);
    });
  }

  it('is one after the first requests of a window, which no answer has decided yet', () => {
    const script = life(new Script(), 0, 40).wait(SECOND);
    script.sends(0, 29).ack(29, { msn: 30 }).sends(30, 33).ack(33, { msn: 34 });
    const analysis = script.analyze();
    expect(lives(analysis)).toEqual(['a1-b1 40/40', 'a1-b1 34/2 <1']);
    expect(told(analysis)).toEqual([]);
    expect(analysis.conversations[1]?.ends[0].requester).toMatchObject({ goodputBytes: 3400, timeouts: 0 });
    expect(analysis.conversations[0]?.ends[0].requester).toMatchObject({ goodputBytes: 4000, timeouts: 0 });
  });

  it('has its own events', () => {
    const script = life(new Script(), 0, 20).wait(SECOND);
    script.sends(0, 3).a(Op.SendOnly, 5).b(Op.Acknowledge, 4, { syndrome: Syndrome.NakSequence, msn: 4 });
    script.sends(4, 6).ack(6, { msn: 7 });
    const { events } = script.analyze();
    expect(events.length).toBeGreaterThan(1);
    expect(events.every(({ conversation }) => conversation === 2)).toBe(true);
  });

  it('may have another queue pair at the requester', () => {
    const script = life(new Script(), 0, 20).wait(SECOND);
    const analysis = life(script, 0, 8, {}, A_QPN + 7).analyze();
    expect(lives(analysis)).toEqual(['a1-b1 20/20', 'a8-b1 8/8 <1']);
    expect(told(analysis)).toEqual([]);
  });

  it('is one of both ends', () => {
    const script = life(new Script(), 0, 20);
    for (let i = 0; i < 9; i++) script.b(Op.SendOnly, 700 + i).a(Op.Acknowledge, 700 + i, { msn: i + 1 });
    life(script.wait(SECOND), 0, 4);
    for (let i = 0; i < 5; i++) script.b(Op.SendOnly, 700 + i).a(Op.Acknowledge, 700 + i, { msn: i + 1 });
    const analysis = script.analyze();
    expect(lives(analysis)).toEqual(['a1-b1 29/29', 'a1-b1 9/9 <1']);
    expect(told(analysis)).toEqual([]);
  });

  it('follows a connection that a NAK has ended', () => {
    const script = life(new Script(), 0, 5).a(Op.SendOnly, 5);
    script.b(Op.Acknowledge, 5, { syndrome: Syndrome.NakRemoteAccess, msn: 5 }).wait(SECOND);
    const again = life(script, 0, 9).analyze();
    expect(lives(again)).toEqual(['a1-b1 6/6', 'a1-b1 9/9 <1']);
    expect(alarms(again)).toEqual(['remote-access-error']);
  });

  it('follows one that was cut off with requests outstanding', () => {
    const script = life(new Script(), 0, 20).sends(20, 40).wait(SECOND);
    const analysis = life(script, 3, 9).analyze();
    expect(lives(analysis)).toEqual(['a1-b1 41/20', 'a1-b1 9/9 <1']);
    expect(alarms(analysis)).toEqual(['peer-restarted']);
  });

  it('may be the third', () => {
    const script = new Script();
    for (let i = 0; i < 3; i++) life(script, 0, 12 + i).wait(SECOND);
    const analysis = script.analyze();
    expect(lives(analysis)).toEqual(['a1-b1 12/12', 'a1-b1 13/13 <1', 'a1-b1 14/14 <2']);
    expect(told(analysis)).toEqual([]);
  });

  it('is seen without answers where its PSNs are far away and the one before is silent', () => {
    const script = new Script().sends(0, 9).wait(SECOND).sends(0x50_00_00, 0x50_00_05);
    expect(lives(script.analyze())).toEqual(['?-b1 10/0', '?-b1 6/0 <1']);
  });

  it('of UC begins with the first message behind what was sent', () => {
    const script = new Script();
    for (let psn = 0; psn < 30; psn++) script.a(uc(Op.SendOnly), psn);
    script.wait(SECOND);
    for (let psn = 0; psn < 8; psn++) script.a(uc(Op.SendOnly), psn, { payload: 64 });
    const analysis = script.analyze();
    expect(lives(analysis)).toEqual(['?-b1 30/0', '?-b1 8/0 <1']);
    expect(told(analysis)).toEqual([]);
  });

  it('is the same one at two interfaces', () => {
    const script = new Script();
    const both = (send: () => unknown) => {
      for (const i of [0, 1]) {
        script.on(i);
        send();
      }
    };
    const round = (from: number) => {
      for (let i = 0; i < 12; i++) {
        const [ask, answer] = [
          script.fromA(Op.SendOnly, from + i),
          script.fromB(Op.Acknowledge, from + i, { msn: i + 1 }),
        ];
        both(() => script.see(ask));
        both(() => script.see(answer));
      }
    };
    round(0);
    script.wait(SECOND);
    round(0x50_00_00);
    const analysis = script.analyze();
    expect(analysis.conversations.map(({ sameAs, previousLife }) => [sameAs, previousLife])).toEqual([
      [0, 0],
      [1, 0],
      [0, 1],
      [3, 2],
    ]);
  });
});

describe('no new life', () => {
  const whole = (script: Script): void => {
    const analysis = script.analyze();
    expect(analysis.conversations).toHaveLength(1);
    expect(told(analysis)).toEqual([]);
  };

  it('is a pause of minutes, with another source port after it', () => {
    const script = life(new Script(), 0, 20).wait(600 * SECOND);
    for (let i = 20; i < 30; i++) script.a(Op.SendOnly, i, { sourcePort: 0xd0_00 }).ack(i, { msn: i + 1 });
    whole(script);
  });

  it('is a wrap of the PSN, at once or after a pause', () => {
    const script = new Script();
    for (let i = 0; i < 20; i++)
      script
        .a(Op.SendOnly, i)
        .wait(SECOND)
        .ack(i, { msn: i + 1 });
    whole(script);
  });

  it.each(['count', 'constant', 'ipv6'] as const)('is a retransmission after a long timeout (%s)', (ids) => {
    const lost = new Script({ ids });
    for (let i = 0; i < 20; i++) lost.a(Op.SendOnly, i).ack(i, { msn: i + 1 });
    lost
      .wait(4 * SECOND)
      .sends(12, 19)
      .ack(19, { msn: 20 })
      .sends(20, 24)
      .ack(24, { msn: 25 });
    const analysis = lost.analyze();
    expect(lives(analysis)).toEqual(['a1-b1 33/22']);
    expect(analysis.conversations[0]?.ends[0].requester).toMatchObject({ timeouts: 1, retransmittedPackets: 8 });
    expect(eventsOf(analysis)).toEqual(['timeout 12', 'retransmission 12+8 timeout']);
  });

  it('is a retransmission of everything, tried again and again before an answer comes', () => {
    const script = new Script().sends(0, 4).ack(4, { msn: 5 });
    for (let i = 0; i < 3; i++) script.wait(70e6).sends(0, 4);
    const analysis = script.ack(4, { msn: 5 }).sends(5, 6).ack(6, { msn: 7 }).analyze();
    expect(lives(analysis)).toEqual(['a1-b1 22/3']);
    expect(analysis.conversations[0]?.ends[0].requester).toMatchObject({ timeouts: 3, retransmittedPackets: 15 });
  });

  it('is a hole of the capture, however large', () => {
    const script = life(new Script(), 0, 20).wait(SECOND);
    for (let i = 50_000; i < 50_010; i++) script.a(Op.SendOnly, i).ack(i, { msn: i + 1 });
    whole(script);
    const oneWay = new Script().sends(0, 9).wait(SECOND).sends(50_000, 50_009);
    whole(oneWay);
  });

  it('is a sample of one packet in thousands', () => {
    const script = new Script();
    for (let i = 0; i < 40; i++) script.a(Op.SendOnly, i * 4000).wait(1e6);
    const analysis = script.analyze();
    expect(lives(analysis)).toEqual(['?-b1 40/0']);
  });

  it('is the middle of a connection, with which a capture begins', () => {
    const script = new Script();
    for (let i = 0; i < 10; i++) script.a(Op.SendOnly, i).ack(i, { msn: 5000 + i });
    script.wait(SECOND).sends(10, 12).ack(12, { msn: 5013 });
    whole(script);
  });

  it('is a forged packet, wherever its PSN is', () => {
    for (const psn of [0x50_00_00, -0x50_00_00, 300_000, 2000, 7, 5, -40]) {
      for (const payload of [100, 64]) {
        for (const pauseNs of [0, 5e6]) {
          const script = life(new Script(), 0, 20).wait(pauseNs);
          script.a(Op.SendOnly, psn, { payload });
          for (let i = 20; i < 40; i++) script.a(Op.SendOnly, i).ack(i, { msn: i + 1 });
          const analysis = script.analyze();
          const [first, ...rest] = analysis.conversations;
          const figures = first?.ends[0].requester;
          const place = `${psn} ${payload} ${pauseNs}`;
          expect([place, rest.every(({ previousLife, ends }) => previousLife === 0 && ends[0].packets === 1)]).toEqual([
            place,
            true,
          ]);
          expect([
            place,
            figures?.acks,
            figures?.reorderedPackets,
            figures?.lostPackets,
            figures?.unseenPackets,
          ]).toEqual([place, 40, 0, 0, 0]);
          expect([place, alarms(analysis)]).toEqual([place, []]);
        }
      }
    }
  });

  it('is a repetition of what the receiver lacks with other contents: that is an error', () => {
    const options: ScriptOptions = { ids: 'constant' };
    const script = life(new Script(options), 0, 6).a(Op.SendOnly, 6).wait(70e6).a(Op.SendOnly, 6, { payload: 64 });
    const analysis = script.ack(6, { msn: 7 }).analyze();
    expect(analysis.conversations).toHaveLength(1);
    expect(alarms(analysis)).toEqual(['rule/changed-repetition']);
  });

  it('of UC is a message behind a lost one, or a latecomer', () => {
    const script = new Script();
    const frames = Array.from({ length: 40 }, (_, psn) => script.fromA(uc(Op.SendOnly), psn));
    frames.forEach((frame, psn) => {
      if (psn !== 7 && psn !== 20) script.see(frame);
      if (psn === 9) script.see(frames[7] ?? frame);
    });
    expect(script.analyze().conversations).toHaveLength(1);
  });
});

it('a new life of both ends is one though the capture lacks what the second asked for first', () => {
  const script = new Script();
  for (let psn = 0; psn < 20; psn++) {
    script.a(Op.SendOnly, psn).ack(psn, { msn: psn + 1 });
    script.b(Op.SendOnly, psn).a(Op.Acknowledge, psn, { msn: psn + 1 });
  }
  script.wait(SECOND).a(Op.SendOnly, 5000).a(Op.SendOnly, 5001);
  // Of a request that is not here.
  script.a(Op.Acknowledge, 7000, { msn: 1 }).ack(5001, { msn: 2 });
  for (let at = 2; at < 20; at++) {
    script.a(Op.SendOnly, 5000 + at).ack(5000 + at, { msn: at + 1 });
    script.b(Op.SendOnly, 7000 + at).a(Op.Acknowledge, 7000 + at, { msn: at + 1 });
  }
  expect(script.analyze().conversations.map(({ previousLife }) => previousLife)).toEqual([0, 1]);
});
