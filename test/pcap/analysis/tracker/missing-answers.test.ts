/**
 * Goal: where packets are overtaken, a loss is told only as far as no answer is missing that would say otherwise, and
 * what only looks like a missing answer is none. Method: one request overtaken, one lost, and then what may be missing.
 */
import { describe, expect, it } from 'vitest';
import { Op } from '../../../../packets/opcode.ts';
import { eventsOf, MTU, Script } from './script.ts';

/** Request 10 was overtaken, and request 20 lost, unless an answer was missing. */
function overtakenAndLost(): Script {
  const script = new Script();
  for (let psn = 0; psn < 10; psn++) script.sends(psn, psn).ack(psn);
  script.sends(10, 11).nak(10).ack(10).ack(11);
  for (let psn = 12; psn < 20; psn++) script.sends(psn, psn).ack(psn);
  return script.sends(20, 21).nak(20).sends(20, 21).ack(20).ack(21).wait(30e3);
}

/** What is told of request 20. */
const toldOf20 = (script: Script): string | undefined =>
  eventsOf(script.analyze()).find((event) => event === 'loss 20' || event === 'missing 20');

it('every request has its answer: the loss is one', () => {
  expect(toldOf20(overtakenAndLost())).toBe('loss 20');
});

it('one ACK for two requests that asked for one: an answer may be missing', () => {
  expect(toldOf20(overtakenAndLost().sends(22, 23).ack(23))).toBe('missing 20');
});

it('one ACK for two requests may have waited behind READ responses, and no NAK has come since', () => {
  const behindRead = () => overtakenAndLost().read(22, 2).answers(22, 23).wait(10e3);
  expect(toldOf20(behindRead().sends(24, 25).ack(25))).toBe('loss 20');
  expect(toldOf20(behindRead().sends(24, 25).nak(24).sends(24, 27).ack(27))).toBe('missing 20');
});

it('so may two ACKs that come right behind such responses, and not one that comes later', () => {
  const behindRead = (waitNs: number) => {
    const asked = overtakenAndLost().read(22, 2).sends(24, 24).sends(25, 25).sends(26, 26);
    return toldOf20(asked.answers(22, 23).ack(24).wait(waitNs).ack(26));
  };
  expect(behindRead(-500)).toBe('loss 20');
  expect(behindRead(3e3)).toBe('missing 20');
});

it('a timeout is a missing answer, unless the next ACK shows that the last request was missing', () => {
  const timeout = (asksAck: boolean) => {
    const waits = overtakenAndLost().a(Op.SendOnly, 22, { asksAck }).sends(23, 23).wait(200e6);
    return waits.a(Op.SendOnly, 22, { asksAck }).sends(23, 23);
  };
  // It has 22 already, which asked for no ACK, and answers the duplicate.
  expect(toldOf20(timeout(false).ack(22).ack(23))).toBe('loss 20');
  // The answer to 22 was missing.
  expect(toldOf20(timeout(true).ack(22).ack(23))).toBe('missing 20');
  // Only the first answer shows what it had: this one comes second.
  expect(toldOf20(timeout(false).ack(21).ack(22).ack(23))).toBe('missing 20');
  // It may have had 23 before, and its answer was missing.
  expect(toldOf20(timeout(false).ack(23))).toBe('missing 20');
});

it('a READ response that got lost is an answer that is missing', () => {
  const read = overtakenAndLost().read(22, 3);
  expect(toldOf20(read.answers(22, 24))).toBe('loss 20');
  const again = overtakenAndLost().read(22, 3).answers(22, 22).answers(24, 24).read(23, 2).answers(23, 24);
  expect(toldOf20(again)).toBe('missing 20');
});

it('a timeout that may be for an answer is for one less likely where requests get lost', () => {
  /** One timeout of so many requests, the last of which may have been missing. */
  const timeout = (requests: number): Script => {
    const script = overtakenAndLost();
    for (let psn = 22; psn < requests; psn++) script.sends(psn, psn).ack(psn);
    return script.sends(requests, requests).wait(200e6).sends(requests, requests).ack(requests);
  };
  expect(toldOf20(timeout(100))).toBe('missing 20');
  // One of 150, where one request of 150 was lost as well: half an answer.
  expect(toldOf20(timeout(150))).toBe('loss 20');
});

it('an ACK right behind many READ responses may have waited since the first of them, and stand for an answer', () => {
  const script = (overtaken: boolean) => {
    const before = new Script();
    for (let psn = 0; psn < 20; psn++) {
      // A round trip of three microseconds.
      if (overtaken && psn === 10) before.sends(10, 11).wait(2e3).nak(10).ack(10).ack(11);
      else if (!overtaken || psn !== 11) before.sends(psn, psn).wait(2e3).ack(psn);
    }
    const twice = before.sends(20, 20).read(21, 10).sends(31, 31).wait(2e3).nak(20);
    return twice.sends(20, 20).read(21, 10).sends(31, 31).answers(21, 30).ack(31).wait(30e3);
  };
  expect(toldOf20(script(true))).toBe('missing 20');
  expect(toldOf20(script(false))).toBe('loss 20');
});

describe('a request that is captured twice', () => {
  it('is answered twice, and the second answer is about no other', () => {
    const script = overtakenAndLost();
    const request = script.fromA(Op.SendOnly, 22);
    expect(toldOf20(script.see(request).ack(22).see(request).ack(22))).toBe('loss 20');
  });

  it('but is a READ, draws no ACK: that is about another', () => {
    const script = overtakenAndLost();
    const read = script.fromA(Op.ReadRequest, 22, { length: 100 });
    const answered = script.see(read).answers(22, 22).see(read).answers(22, 22);
    expect(toldOf20(answered.ack(22))).not.toBe('loss 20');
  });

  it('while the receiver waits for one before it, is dropped twice: an answer is about another', () => {
    const script = overtakenAndLost();
    const missing = script.fromA(Op.SendOnly, 22);
    const behind = script.fromA(Op.SendOnly, 23);
    const dropped = script.see(behind).nak(22).see(behind).ack(21);
    expect(toldOf20(dropped.see(missing).ack(22).sends(23, 23).ack(23))).not.toBe('loss 20');
  });
});

describe('a NAK behind the responses of the READ before', () => {
  /** The READ takes PSNs 22 to 24, and its first response so long; 25 is missing, and its NAK comes so long after. */
  const read = (firstNs: number, nakNs: number): string | undefined => {
    const script = overtakenAndLost().read(22, 3).sends(25, 25).wait(firstNs);
    script.b(Op.ReadResponseFirst, 22, { payload: MTU }).sends(26, 26);
    script.b(Op.ReadResponseMiddle, 23, { payload: MTU }).b(Op.ReadResponseLast, 24, { payload: 100 });
    const events = eventsOf(script.wait(nakNs).nak(25).sends(25, 26).ack(25).ack(26).wait(30e3).analyze());
    return events.find((event) => event === 'loss 25' || event === 'missing 25');
  };

  it('leaves open whether that came late, when its first response did', () => {
    expect(read(0, 0)).toBe('loss 25');
    expect(read(500, 0)).toBe('missing 25');
  });

  it('did not wait for that when it comes later', () => {
    expect(read(500, 1000)).toBe('loss 25');
  });
});
