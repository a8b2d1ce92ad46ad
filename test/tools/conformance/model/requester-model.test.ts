/**
 * Goal: the abstract requester says what the rules say, lets pass what they leave open, and names the rule that is
 * broken. Method: exchanges written by hand from the rules; time is a number.
 */
import { describe, expect, it } from 'vitest';
import {
  ack,
  nak,
  type Packet,
  pattern,
  readFirst,
  readLast,
  readOnly,
  rnrNak,
} from '../../../../packets/kit/packet.ts';
import { Op } from '../../../../packets/opcode.ts';
import { PROFILES } from '../../../../tools/conformance/model/profiles.ts';
import { RequesterJudge, type RequesterSetup } from '../../../../tools/conformance/model/requester-judge.ts';
import { requestAt, type WorkRequest } from '../../../../tools/conformance/model/requester-work.ts';

const SETUP: RequesterSetup = {
  ...{ profile: PROFILES.strict, mtu: 256, maxRdAtomic: 2, timeoutNs: 67e6, retryCnt: 2, exactTime: true },
};
const work = (kind: WorkRequest['kind'], length: number, more: Partial<WorkRequest> = {}): WorkRequest => ({
  ...{ kind, data: pattern(length), signaled: true, fence: false, va: 0x1000n, rkey: 7, swapAdd: 1n, compare: 0n },
  ...more,
});

/** A requester that has been given work; what happens to it is said step by step. */
class Exchange {
  readonly judge: RequesterJudge;
  now = 0;
  rule = 'ok';

  constructor(works: readonly WorkRequest[], changes: Partial<RequesterSetup> = {}) {
    this.judge = new RequesterJudge({ ...SETUP, ...changes });
    for (const one of works) this.judge.posted(one);
  }

  /** The device sends what it has to send at these PSNs. */
  sends(...psns: readonly number[]): this {
    for (const psn of psns) this.sent({ ...this.at(psn), ackReq: true });
    return this;
  }

  at(psn: number): Packet {
    const one = this.judge.works.find(({ first, last }) => psn >= first && psn <= last);
    return one === undefined ? { opcode: 4, psn } : requestAt(one, psn, SETUP.mtu);
  }

  sent(packet: Packet): this {
    this.#say(this.judge.received(packet, this.now)?.ruleId);
    return this;
  }

  gets(...answers: readonly Packet[]): this {
    for (const packet of answers) this.judge.answered(packet, this.now);
    return this;
  }

  completes(...wrIds: readonly number[]): this {
    return this.ends(...wrIds.map((wrId) => [wrId, 0] as const));
  }

  ends(...all: readonly (readonly [wrId: number, status: number])[]): this {
    this.#say(this.judge.completed(all.map(([wrId, status]) => ({ wrId, status })))?.ruleId);
    return this;
  }

  after(ns: number): this {
    this.now += ns;
    this.judge.waited(this.now);
    return this;
  }

  quiet(): this {
    this.#say(this.judge.settled()?.ruleId);
    return this;
  }

  #say(ruleId: string | undefined): void {
    if (this.rule === 'ok') this.rule = ruleId ?? 'ok';
  }
}

const sends = (count: number): WorkRequest[] => Array.from({ length: count }, () => work('send', 4));

describe('the abstract requester', () => {
  it('sends what was posted, in order and at its PSNs: REQ-01, OPS-14, OPS-17, LEN-13, REQ-27', () => {
    const three = () => new Exchange([work('send', 4), work('read', 600), work('write', 300)]);
    expect(three().sends(0, 1, 4, 5).rule).toBe('ok');
    expect(
      three()
        .sends(0, 1)
        .sent({ ...three().at(4), psn: 2 }).rule,
    ).not.toBe('ok');
    expect(three().sends(0, 4).rule).toBe('REQ-27');
    expect(three().sends(0, 1, 4, 5, 6).rule).toBe('OPS-17');
    expect(
      three()
        .sends(0, 1)
        .sent({ ...three().at(4), payload: pattern(255) }).rule,
    ).toBe('LEN-13');
    expect(
      three()
        .sends(0, 1)
        .sent({ ...three().at(4), payload: pattern(256, 9) }).rule,
    ).toBe('REQ-26');
    expect(
      three()
        .sends(0, 1, 4)
        .sent({ ...three().at(5), opcode: 0x0a }).rule,
    ).toBe('OPS-14');
  });

  it('completes nothing without its answer, and in order: REQ-03, REQ-04, REQ-05, REQ-06, REQ-07', () => {
    expect(
      new Exchange(sends(2))
        .sends(0, 1)
        .gets(ack({ psn: 1, msn: 2 }))
        .completes(0, 1)
        .quiet().rule,
    ).toBe('ok');
    expect(
      new Exchange(sends(2))
        .sends(0, 1)
        .gets(ack({ psn: 0, msn: 1 }))
        .completes(0, 1).rule,
    ).toBe('REQ-03');
    expect(
      new Exchange(sends(2))
        .sends(0, 1)
        .gets(ack({ psn: 1, msn: 2 }))
        .completes(1, 0).rule,
    ).toBe('REQ-06');
    expect(
      new Exchange(sends(2))
        .sends(0, 1)
        .gets(ack({ psn: 1, msn: 2 }))
        .completes(0)
        .quiet().rule,
    ).toBe('REQ-07');
    const read = () => new Exchange([work('read', 300)]).sends(0);
    const first = readFirst({ psn: 0, msn: 1, payload: pattern(256) });
    expect(read().gets(first).completes(0).rule).toBe('REQ-04');
    expect(
      read()
        .gets(first, readLast({ psn: 1, msn: 1, payload: pattern(44) }))
        .completes(0)
        .quiet().rule,
    ).toBe('ok');
    expect(
      new Exchange([work('fetch-add', 8)])
        .sends(0)
        .gets(ack({ psn: 0, msn: 1 }))
        .completes(0).rule,
    ).toBe('REQ-05');
  });

  it('ignores what is old and what was never sent: REQ-08, REQ-09, REQ-10', () => {
    const two = (psn: number) => new Exchange(sends(2)).sends(0).gets(ack({ psn, msn: 2 }));
    for (const psn of [1, 2, 1000, -1]) {
      expect(two(psn).quiet().rule).toBe('ok');
      expect(two(psn).completes(0).rule).toBe('REQ-03');
    }
    const rxe = new Exchange(sends(2), { profile: PROFILES['rxe-6.12'] }).sends(0).gets(ack({ psn: 7, msn: 2 }));
    expect(rxe.completes(0).rule).toBe('ok');
  });

  it('sends again from the missing packet, or from an earlier one: REQ-15, REQ-16, REQ-28', () => {
    const told = () => new Exchange(sends(3)).sends(0, 1, 2).gets(nak(0x60, { psn: 1, msn: 1 }));
    expect(told().completes(0).sends(1, 2).quiet().rule).toBe('ok');
    expect(told().completes(0).sends(0, 1, 2).quiet().rule).toBe('ok');
    expect(told().completes(0).sends(2).rule).toBe('REQ-28');
    expect(told().completes(0).quiet().rule).toBe('REQ-15');
    expect(told().completes(0, 1).rule).toBe('REQ-03');
    expect(new Exchange(sends(2)).sends(0, 1, 0).rule).toBe('REQ-28');
    expect(new Exchange(sends(2)).sends(0, 1).after(67e6).sends(0, 1).rule).toBe('ok');
    expect(new Exchange(sends(2)).sends(0, 1).after(66e6).sends(0, 1).rule).toBe('REQ-28');
  });

  it('takes an answer behind an open READ for an implied NAK: REQ-11, REQ-13, REQ-17', () => {
    const both = () => new Exchange([work('read', 4), work('send', 4)]).sends(0, 1);
    expect(
      both()
        .gets(ack({ psn: 1, msn: 2 }))
        .sends(0, 1)
        .quiet().rule,
    ).toBe('ok');
    expect(
      both()
        .gets(ack({ psn: 1, msn: 2 }))
        .completes(0).rule,
    ).toBe('REQ-04');
    expect(
      both()
        .gets(ack({ psn: 1, msn: 2 }))
        .quiet().rule,
    ).toBe('ok');
    expect(
      both()
        .gets(nak(0x60, { psn: 1, msn: 1 }))
        .sends(0, 1)
        .quiet().rule,
    ).toBe('ok');
    expect(
      both()
        .gets(nak(0x60, { psn: 1, msn: 1 }))
        .sends(1).rule,
    ).toBe('REQ-28');
    const inside = new Exchange([work('read', 600)]).sends(0).gets(ack({ psn: 2, msn: 1 }));
    expect(inside.completes(0).rule).toBe('REQ-04');
  });

  it('waits as long as an RNR NAK says: RNR-08, RNR-14', () => {
    const told = () =>
      new Exchange(sends(2))
        .sends(0, 1)
        .gets(rnrNak(1, { psn: 1, msn: 1 }))
        .completes(0);
    expect(told().after(10e3).sends(1).quiet().rule).toBe('ok');
    expect(told().after(9e3).sends(1).rule).toBe('RNR-08');
    expect(told().quiet().rule).toBe('ok');
    expect(told().after(10e3).quiet().rule).toBe('REQ-15');
  });

  it('lets a device go whose profile forgets acknowledges of what it repeats, and no other: REQ-01, REQ-07', () => {
    const rxe = { profile: PROFILES['rxe-6.12'] };
    const repeating = (changes: Partial<RequesterSetup>) =>
      new Exchange([work('send', 600), work('write', 4)], changes).sends(0, 1, 2, 3).after(67e6).sends(0, 1, 2);
    const empty = { opcode: Op.SendOnly, psn: 3, ackReq: true };
    expect(repeating(rxe).sent(empty).sends(9).ends([1, 12]).quiet().rule).toBe('ok');
    expect(repeating({}).sent(empty).rule).toBe('OPS-17');
    // Neither what is not empty, nor what was not repeated, nor the opcode of another message.
    expect(repeating(rxe).sent({ ...empty, payload: pattern(4) }).rule).toBe('OPS-17');
    expect(repeating(rxe).sent({ ...empty, opcode: Op.SendOnlyImm, imm: 1 }).rule).toBe('OPS-17');
    const once = new Exchange([work('send', 600), work('write', 4)], rxe).sends(0, 1, 2);
    expect(once.sent(empty).rule).toBe('OPS-17');
    const acknowledged = (changes: Partial<RequesterSetup>) => repeating(changes).gets(ack({ psn: 2, msn: 1 })).judge;
    expect(acknowledged(rxe).settled()?.ruleId).toBe('REQ-07');
    expect(acknowledged(rxe).settled(true)).toBeUndefined();
    expect(acknowledged({}).settled(true)?.ruleId).toBe('REQ-07');
  });

  it('fails what was refused, with its status, and flushes the rest: REQ-18, REQ-19, REQ-32, REQ-34', () => {
    const refused = () => new Exchange(sends(3)).sends(0, 1, 2).gets(nak(0x62, { psn: 1, msn: 1 }));
    expect(refused().ends([0, 0], [1, 10], [2, 5]).quiet().rule).toBe('ok');
    expect(refused().ends([0, 0], [1, 9], [2, 5]).rule).toBe('REQ-18');
    expect(refused().ends([0, 0], [1, 10], [2, 10]).rule).toBe('REQ-19');
    expect(refused().ends([0, 0]).quiet().rule).toBe('REQ-19');
    expect(refused().ends([0, 0], [1, 10]).sends(1).rule).toBe('REQ-34');
    const first = readFirst({ psn: 0, msn: 1, payload: pattern(256) });
    const inRead = new Exchange([work('read', 600)]).sends(0).gets(first, nak(0x62, { psn: 1, msn: 1 }));
    expect(inRead.ends([0, 10]).quiet().rule).toBe('ok');
  });

  it('gives up for want of answers, not before its retries are used up: REQ-20, REQ-23', () => {
    const again = (times: number): Exchange => {
      const one = new Exchange(sends(1)).sends(0);
      for (let i = 0; i < times; i++) one.after(67e6).sends(0);
      return one.after(67e6);
    };
    expect(again(2).ends([0, 12]).rule).toBe('ok');
    expect(again(1).ends([0, 12]).rule).toBe('REQ-23');
  });

  it('keeps to what may be unanswered, and to fences: REQ-29, REQ-30', () => {
    const reads = [0, 1, 2].map(() => work('read', 4));
    expect(
      new Exchange(reads)
        .sends(0, 1)
        .gets(readOnly({ psn: 0, msn: 1, payload: pattern(4) }))
        .sends(2).rule,
    ).toBe('ok');
    expect(new Exchange(reads).sends(0, 1, 2).rule).toBe('REQ-29');
    const fenced = () => new Exchange([work('read', 4), work('send', 4, { fence: true })]).sends(0);
    expect(fenced().sends(1).rule).toBe('REQ-30');
    expect(
      fenced()
        .gets(readOnly({ psn: 0, msn: 1, payload: pattern(4) }))
        .sends(1).rule,
    ).toBe('ok');
  });

  it('requests an ACK of what is last: REQ-02', () => {
    const one = new Exchange(sends(1));
    expect(one.sent({ ...one.at(0), ackReq: false }).quiet().rule).toBe('REQ-02');
  });

  it('ignores reserved syndromes: ACK-16, ACK-17', () => {
    for (const syndrome of [0x40, 0x70]) {
      const one = () => new Exchange(sends(1)).sends(0).gets(nak(syndrome, { psn: 0, msn: 0 }));
      expect(one().quiet().rule).toBe('ok');
      expect(one().ends([0, 11]).rule).toBe('REQ-23');
    }
    const rxe = new Exchange(sends(1), { profile: PROFILES['rxe-6.1'] }).sends(0).gets(nak(0x70, { psn: 0, msn: 0 }));
    expect(rxe.ends([0, 11]).rule).toBe('ok');
  });
});
