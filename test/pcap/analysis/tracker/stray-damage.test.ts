/**
 * Goal: what takes the place of a damaged packet is no loss, though the packet cannot be told to belong to the
 * conversation by its queue pair number. Method: the first packet comes damaged, or one with a damaged number.
 */
import { expect, it } from 'vitest';
import { Syndrome } from '../../../../packets/aeth.ts';
import { Op } from '../../../../packets/opcode.ts';
import { damaged, eventsOf, Script } from './script.ts';

const verdicts = (script: Script): string[] =>
  eventsOf(script.analyze()).filter((event) => /^(loss|missing|reordering|unseen)/.test(event));
const OTHER_QPN = 0x0f_00_07;
const nak = (script: Script, psn: number, msn: number): Script =>
  script.b(Op.Acknowledge, psn, { syndrome: Syndrome.NakSequence, msn });

it('the first packet of a conversation', () => {
  const script = new Script();
  script.see(damaged(script.fromA(Op.SendOnly, 0))).sends(1, 3);
  expect(verdicts(nak(script, 0, 0).sends(0, 3).ack(3, { msn: 4 }))).toEqual([]);
  expect(verdicts(nak(new Script().sends(1, 3), 0, 0).sends(0, 3).ack(3, { msn: 4 }))).toEqual(['loss 0']);
});

/** PSNs 0 to 6, but `stray` instead of 3, which is asked for. */
function midway(stray: (script: Script) => Uint8Array, behind = 4): string[] {
  const script = new Script().sends(0, 2).ack(2, { msn: 3 });
  script.see(stray(script)).sends(behind, 6);
  return verdicts(nak(script, 3, 3).sends(3, 6).ack(6, { msn: 7 }));
}

it('one whose queue pair number is damaged', () => {
  expect(midway((script) => damaged(script.fromA(Op.SendOnly, 3, { qpn: OTHER_QPN })))).toEqual([]);
});

it('only one that comes right before, undamaged but for that, from the same host', () => {
  expect(midway((script) => damaged(script.fromA(Op.SendOnly, 2, { qpn: OTHER_QPN })))).toEqual(['loss 3']);
  expect(midway((script) => damaged(script.fromA(Op.SendOnly, 3, { qpn: OTHER_QPN })), 5)).toEqual(['loss 3+2']);
  expect(midway((script) => script.fromA(Op.SendOnly, 3, { qpn: OTHER_QPN }))).toEqual(['loss 3']);
  expect(midway((script) => damaged(script.fromB(Op.SendOnly, 3, { qpn: OTHER_QPN })))).toEqual(['loss 3']);
});

it('not what another queue pair has, whose next packet has the next PSN, too', () => {
  const script = new Script().sends(0, 2).ack(2, { msn: 3 });
  const another = (psn: number) => script.fromA(Op.SendOnly, psn, { qpn: 0x55 });
  for (const psn of [0, 1, 2, 3]) script.see(another(psn));
  script
    .see(damaged(script.fromA(Op.SendOnly, 3, { qpn: OTHER_QPN })))
    .see(another(4))
    .sends(4, 6);
  expect(verdicts(nak(script, 3, 3).sends(3, 6).ack(6, { msn: 7 }))).toEqual([]);
});

it('a response whose queue pair number is damaged', () => {
  const read = (stray: boolean) => {
    const script = new Script().a(Op.ReadRequest, 0, { length: 3 * 1024 });
    script.b(Op.ReadResponseFirst, 0, { payload: 1024, msn: 1 });
    if (stray) script.see(damaged(script.fromB(Op.ReadResponseMiddle, 1, { payload: 1024, qpn: OTHER_QPN })));
    script.b(Op.ReadResponseLast, 2, { payload: 1024, msn: 1 }).a(Op.ReadRequest, 1, { length: 2 * 1024 });
    script.b(Op.ReadResponseFirst, 1, { payload: 1024, msn: 1 });
    return verdicts(script.b(Op.ReadResponseLast, 2, { payload: 1024, msn: 1 }));
  };
  expect(read(false)).toEqual(['loss 1']);
  expect(read(true)).toEqual([]);
});

it('the last 16 of them are remembered', () => {
  const lost = (strays: number) =>
    midway((script) => {
      script.see(damaged(script.fromA(Op.SendOnly, 3, { qpn: OTHER_QPN })));
      for (let i = 0; i < strays; i++) script.see(damaged(script.fromA(Op.SendOnly, 1000 + i, { qpn: OTHER_QPN })));
      return damaged(script.fromA(Op.SendOnly, 2000, { qpn: OTHER_QPN }));
    });
  expect([lost(14), lost(15)]).toEqual([[], ['loss 3']]);
});
