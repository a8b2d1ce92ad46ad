/**
 * Goal: a NAK that the order of the captured requests explains is no sign of anything behind the capture, and what is
 * missing again when it is sent again is found. Method: conversations by hand, as rdma_rxe guests had them, whose NAKs
 * cross the retransmissions.
 */
import { describe, expect, it } from 'vitest';
import { Op } from '../../../../packets/opcode.ts';
import { eventsOf, Script } from './script.ts';

const VERDICTS = ['loss', 'reordering', 'missing'];
const verdictsOf = (script: Script): string[] =>
  eventsOf(script.analyze()).filter((line) => VERDICTS.includes(line.split(' ')[0] ?? ''));

/** Seen by the responder: 4 comes late, so that 5 and 6 are dropped, and 7 draws a NAK for 5. */
function lateAtResponder(): Script {
  const script = new Script().sends(0, 3);
  const late = script.fromA(Op.SendOnly, 4);
  return script.sends(5, 6).see(late).sends(7, 7).nak(4);
}

describe('a NAK that was due', () => {
  it('says nothing of the retransmission that it crosses', () => {
    expect(verdictsOf(lateAtResponder().sends(4, 5).nak(5).sends(5, 9).ack(9))).toEqual(['reordering 4']);
  });

  it('says nothing of what was dropped when it comes at once, either', () => {
    expect(verdictsOf(lateAtResponder().nak(5).sends(4, 9).ack(9))).toEqual(['reordering 4']);
  });

  it('is about something else when it asks for what has come in order', () => {
    const script = new Script().sends(0, 9).ack(3).nak(5).sends(5, 9).ack(9).wait(200e6).sends(10, 12).ack(12);
    expect(verdictsOf(script)).toEqual(['loss 5']);
  });
});

describe('a request that had come too early, and was dropped', () => {
  /** 4 is lost, and of what is sent again 5 is missing. */
  const again = () => {
    const script = new Script().sends(0, 3);
    script.fromA(Op.SendOnly, 4);
    script.sends(5, 8).nak(4).sends(4, 4);
    return { script, missing: script.fromA(Op.SendOnly, 5) };
  };

  it('is lost when it is sent again and does not come', () => {
    const { script } = again();
    expect(verdictsOf(script.sends(6, 8).nak(5).sends(5, 8).ack(8))).toEqual(['loss 4', 'loss 5']);
  });

  it('is lost, too, when the NAK crosses the next retransmission', () => {
    const { script } = again();
    expect(verdictsOf(script.sends(6, 7).sends(5, 5).nak(5).sends(6, 8).ack(8))).toEqual(['loss 4', 'loss 5']);
  });

  it('was overtaken when it comes behind the next ones after all', () => {
    const { script, missing } = again();
    const verdicts = verdictsOf(script.sends(6, 7).see(missing).nak(5).sends(5, 8).ack(8));
    expect(verdicts.sort()).toEqual(['loss 4', 'reordering 5']);
  });

  it('is not lost while the NAK has not come', () => {
    const { script } = again();
    expect(verdictsOf(script.sends(6, 8).sends(5, 8).ack(8))).toEqual(['loss 4']);
  });

  it('has no verdict of its own when it only stood behind again', () => {
    const script = new Script().sends(0, 3);
    script.fromA(Op.SendOnly, 4);
    script.sends(5, 8).nak(4).sends(4, 8).ack(8);
    expect(verdictsOf(script)).toEqual(['loss 4']);
  });
});

describe('a NAK, seen by the requester, behind whose request nothing was sent since', () => {
  it('is about the sending before, and what it goes on from was overtaken', () => {
    const script = new Script().sends(0, 9).ack(3).nak(4).sends(4, 5).nak(5).sends(6, 9).ack(9);
    expect(verdictsOf(script.wait(200e6).sends(10, 12).ack(12))).toEqual(['reordering 4']);
  });

  it('tells nothing when something was: the retransmission may be lost', () => {
    const script = new Script().sends(0, 9).ack(3).nak(4).sends(4, 9).nak(5).sends(5, 9).ack(9);
    expect(verdictsOf(script.wait(200e6).sends(10, 12).ack(12))).toEqual(['loss 4', 'loss 5']);
  });
});
