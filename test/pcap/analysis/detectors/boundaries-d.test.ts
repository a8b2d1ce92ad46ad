/**
 * Goal: the symptoms of queue pairs over their lives begin and end where their headers say. Method: short scripts on
 * either side of each boundary, and the severity that comes out; '' where there is no finding.
 */
import { describe, expect, it } from 'vitest';
import { Syndrome } from '../../../../packets/aeth.ts';
import { Op } from '../../../../packets/opcode.ts';
import type { Analysis, Finding } from '../../../../pcap/analysis/types.ts';
import { type Extra, Script } from '../tracker/script.ts';

function found({ findings }: Analysis, id: string): Finding | undefined {
  return findings.find((finding) => finding.id === id);
}

function severity(script: Script, id: string): string {
  return found(script.analyze(), id)?.severity ?? '';
}

/** A SEND, and its ACK after so long. */
function served(script: Script, psn: number, ackNs: number, extra: Extra = {}): Script {
  return script
    .a(Op.SendOnly, psn)
    .wait(ackNs)
    .ack(psn, { msn: psn + 1, ...extra });
}

describe('a slow responder', () => {
  const story = (waits: number, lateNs: number, fastNs: number, pauseNs = 1000, more: Extra = {}): Script => {
    const script = new Script();
    let psn = 0;
    for (; psn < 3; psn++) served(script, psn, fastNs).wait(5e6);
    for (let i = 0; i < waits; i++) served(script, psn++, lateNs, more).wait(pauseNs);
    return script.a(Op.SendOnly, psn);
  };

  it('has let its requester wait eight times', () => {
    expect(severity(story(8, 2e6, 5_000), 'slow-responder')).toBe('warning');
    expect(severity(story(7, 2e6, 5_000), 'slow-responder')).toBe('');
  });

  it('takes half a millisecond or more', () => {
    expect(severity(story(12, 500_000, 5_000), 'slow-responder')).toBe('warning');
    expect(severity(story(12, 490_000, 5_000), 'slow-responder')).toBe('');
  });

  it('takes ten times as long as something else that was answered from there', () => {
    expect(severity(story(20, 2e6, 190_000), 'slow-responder')).toBe('warning');
    expect(severity(story(20, 2e6, 250_000), 'slow-responder')).toBe('note');
  });

  it('says so itself with credits of 0, and with no others', () => {
    expect(severity(story(20, 2e6, 250_000, 1000, { syndrome: 0 }), 'slow-responder')).toBe('warning');
    expect(severity(story(20, 2e6, 250_000, 1000, { syndrome: 1 }), 'slow-responder')).toBe('note');
  });

  it('is none where the requester has something else to do after the ACK', () => {
    expect(severity(story(20, 2e6, 5_000, 400_000), 'slow-responder')).toBe('warning');
    expect(severity(story(20, 2e6, 5_000, 600_000), 'slow-responder')).toBe('');
  });

  it('may be a congested network where packets are marked', () => {
    const script = story(20, 2e6, 5_000).a(Op.SendOnly, 24, { trafficClass: 3 });
    const finding = found(script.analyze(), 'slow-responder');
    expect(finding?.severity).toBe('note');
    expect(finding?.text).toContain('congested');
  });
});

describe('losses of UC', () => {
  const uc = (opcode: number) => opcode | 0x20;
  /** Messages of four packets, of which some packets are missing. */
  const messages = (count: number, missing: readonly number[], script = new Script()): Script => {
    for (let psn = 0; psn < 4 * count; psn++) {
      const opcode = [Op.SendFirst, Op.SendMiddle, Op.SendMiddle, Op.SendLast][psn % 4] ?? 0;
      const frame = script.fromA(uc(opcode), psn, { qpn: 0x77 });
      if (!missing.includes(psn)) script.see(frame);
    }
    return script;
  };
  const costs = (missing: readonly number[]) => {
    const { evidence } = found(messages(10, missing).analyze(), 'uc-loss') ?? {};
    return evidence === undefined ? [] : [evidence['lostPackets'], evidence['lostMessages']];
  };

  it('cost the message of each packet, once, and no more than can be seen', () => {
    expect(costs([])).toEqual([]);
    expect(costs([5])).toEqual([1, 1]);
    expect(costs([5, 6])).toEqual([2, 1]);
    expect(costs([5, 7])).toEqual([2, 1]);
    expect(costs([4])).toEqual([1, 1]);
    expect(costs([4, 6])).toEqual([2, 1]);
    expect(costs([7, 8])).toEqual([2, 1]);
    expect(costs([5, 9])).toEqual([2, 2]);
    expect(costs([4, 5, 6, 7])).toEqual([4, 1]);
  });

  it('are a note below one message in ten thousand, else a warning; an error needs a witness', () => {
    expect(severity(messages(40, [50]), 'uc-loss')).toBe('warning');
    const beside = (acknowledged: number, missing: readonly number[]) => {
      const script = messages(40, missing);
      for (let psn = 0; psn < acknowledged; psn++) script.a(Op.SendOnly, psn).ack(psn, { msn: psn + 1 });
      return severity(script, 'uc-loss');
    };
    expect(beside(50, [50])).toBe('error');
    expect(beside(49, [50])).toBe('warning');
    expect(beside(50, [])).toBe('');
  });

  it('are a note where the capture lacks what others acknowledged', () => {
    const script = messages(40, [50, 70]);
    for (let psn = 0; psn < 60; psn++) {
      const frame = script.fromA(Op.SendOnly, psn);
      if (psn !== 30) script.see(frame);
      script.ack(psn, { msn: psn + 1 });
    }
    expect(severity(script, 'uc-loss')).toBe('note');
  });
});

describe('a wrong starting PSN', () => {
  /** Tries of A, and what B says after each; A's queue pair is not known before. */
  const tries = (count: number, answers: (script: Script, nth: number) => unknown): Script => {
    const script = new Script();
    for (let nth = 0; nth < count; nth++) {
      script.a(Op.SendOnly, 0);
      answers(script, nth);
      script.wait(1e6);
    }
    return script.wait(20e6).a(Op.UdSendOnly, 0, { sourceQpn: 5, qpn: 6 });
  };
  const nak = (psn: number) => (script: Script, nth: number) =>
    nth === 0 ? script.b(Op.Acknowledge, psn, { syndrome: Syndrome.NakSequence }) : script;

  it('is one more than 1024 away', () => {
    expect(severity(tries(8, nak(1025)), 'wrong-starting-psn')).toBe('error');
    expect(severity(tries(8, nak(-3000)), 'wrong-starting-psn')).toBe('error');
    expect(severity(tries(8, nak(1024)), 'wrong-starting-psn')).toBe('');
  });

  it('shows in one NAK, or in two ACKs that say the same', () => {
    const acks = (most: number, step: number) => (script: Script, nth: number) =>
      nth < most ? script.ack(-4000 + step * nth) : script;
    expect(severity(tries(8, acks(2, 0)), 'wrong-starting-psn')).toBe('error');
    expect(severity(tries(8, acks(1, 0)), 'wrong-starting-psn')).toBe('');
    expect(severity(tries(8, acks(4, 1)), 'wrong-starting-psn')).toBe('');
  });

  it('explains the silence and the NAK', () => {
    const ids = tries(8, nak(0x30_00_00))
      .analyze()
      .findings.filter((finding) => finding.severity !== 'note')
      .map(({ id }) => id);
    expect(ids).toEqual(['wrong-starting-psn']);
  });

  it('is none where only answers are in the capture', () => {
    const script = new Script();
    for (let i = 0; i < 5; i++) script.b(Op.Acknowledge, 9, { syndrome: Syndrome.NakSequence }).wait(1e6);
    expect(severity(script, 'wrong-starting-psn')).toBe('');
  });
});

describe('a restarted peer', () => {
  /** A works with B, and then sends into the void; meanwhile B asks for something with another queue pair. */
  const story = (tried: number, at: number, byB = true): Script => {
    const script = new Script();
    for (let psn = 0; psn < 4; psn++) served(script, psn, 2000);
    for (let nth = 0; nth < tried; nth++) {
      script.a(Op.SendOnly, 4).wait(1e6);
      if (nth !== at) continue;
      const extra = { qpn: byB ? 0xa7 : 0xb7 };
      if (byB) script.b(Op.SendOnly, 0x30_00_00, extra).a(Op.Acknowledge, 0x30_00_00, { qpn: 0xb7, msn: 1 });
      else script.a(Op.SendOnly, 0x30_00_00, extra).b(Op.Acknowledge, 0x30_00_00, { qpn: 0xa7, msn: 1 });
    }
    return script.wait(20e6).a(Op.UdSendOnly, 0, { sourceQpn: 5, qpn: 6 });
  };

  it('has not answered three tries, and begins anew between them', () => {
    expect(severity(story(3, 1), 'peer-restarted')).toBe('error');
    expect(severity(story(2, 0), 'peer-restarted')).toBe('');
    expect(severity(story(8, 7), 'peer-restarted')).toBe('');
  });

  it('asks itself: another connection of the requester proves nothing', () => {
    expect(severity(story(8, 3, false), 'peer-restarted')).toBe('');
  });

  it('explains why nobody answers', () => {
    const { findings } = story(8, 3).analyze();
    expect(findings.filter((finding) => finding.severity !== 'note').map(({ id }) => id)).toEqual(['peer-restarted']);
  });

  it('is a warning if the same numbers come again and something was never answered, else a note', () => {
    const again = (outstanding: number): Script => {
      const script = new Script();
      for (let psn = 0; psn < 12; psn++) served(script, psn, 2000);
      for (let psn = 12; psn < 12 + outstanding; psn++) script.a(Op.SendOnly, psn);
      script.wait(1e9);
      for (let psn = 0; psn < 5; psn++) served(script, psn, 2000);
      return script;
    };
    expect(severity(again(0), 'peer-restarted')).toBe('note');
    expect(severity(again(1), 'peer-restarted')).toBe('warning');
  });
});
