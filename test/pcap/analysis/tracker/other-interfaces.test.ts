/**
 * Goal: who sees no answers can ask whether another interface does. Method: scripts on one and on two interfaces, asked
 * for each end.
 */
import { describe, expect, it } from 'vitest';
import { Op } from '../../../../packets/opcode.ts';
import { OtherInterfaces } from '../../../../pcap/analysis/tracker/other-interfaces.ts';
import type { Analysis } from '../../../../pcap/analysis/types.ts';
import { B_QPN, Script } from './script.ts';

const seen = ({ conversations }: Analysis): boolean[][] => {
  const otherInterfaces = new OtherInterfaces(conversations);
  return conversations.map((conversation) => [
    otherInterfaces.saw(conversation, 0),
    otherInterfaces.saw(conversation, 1),
  ]);
};

describe('other interfaces', () => {
  it('knows of nothing else in a capture of one interface', () => {
    expect(seen(new Script().sends(0, 2).analyze())).toEqual([[false, false]]);
  });

  it('finds the answers where each direction has an interface of its own', () => {
    const script = new Script();
    for (let psn = 0; psn < 3; psn++) script.on(0).a(Op.SendOnly, psn).on(1).ack(psn);
    // Of either, what its own end 0 sent is here only, and what the peer sent is there.
    expect(seen(script.analyze())).toEqual([
      [false, true],
      [false, true],
    ]);
  });

  it('does not take another queue pair of the same hosts for it', () => {
    const script = new Script().sends(0, 1).ack(1);
    script.on(1).a(Op.SendOnly, 0, { qpn: B_QPN + 1 });
    expect(seen(script.analyze())).toEqual([
      [false, false],
      [false, false],
    ]);
  });
});
