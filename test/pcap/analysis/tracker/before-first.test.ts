/**
 * Goal: the first packet of a connection, lost before the capture, is told when a NAK asks for it; and nothing is where
 * the capture begins later. Method: a conversation without connection management, whose first packet is not captured.
 */
import { expect, it } from 'vitest';
import { Syndrome } from '../../../../packets/aeth.ts';
import { Op } from '../../../../packets/opcode.ts';
import { eventsOf, Script } from './script.ts';

const verdicts = (script: Script): string[] =>
  eventsOf(script.analyze()).filter((event) => /^(loss|missing|reordering|unseen)/.test(event));
const nak = (script: Script, psn: number, msn: number): Script =>
  script.b(Op.Acknowledge, psn, { syndrome: Syndrome.NakSequence, msn });
/** Packets 1 to 3 come, and the receiver asks for `psn`; it has completed `msn` messages. */
const asked = (psn: number, msn = 0): Script => nak(new Script().sends(1, 3), psn, msn);

it('it is lost, and what fills the gap is its retransmission', () => {
  const script = asked(0).sends(0, 3).ack(3, { msn: 4 });
  expect(verdicts(script)).toEqual(['loss 0']);
  const [{ ends } = { ends: [] }] = script.analyze().conversations;
  expect(ends[0]?.requester).toMatchObject({ lostPackets: 1, reorderedPackets: 0, unseenPackets: 0 });
});

it('so are the first two', () => {
  expect(verdicts(asked(-1).sends(-1, 3).ack(3, { msn: 5 }))).toEqual(['loss -1+2']);
});

it('it is late where it comes behind the NAK with an identification from before', () => {
  const script = new Script();
  const first = script.fromA(Op.SendOnly, 0);
  nak(script.sends(1, 3), 0, 0).see(first).sends(1, 3).ack(3, { msn: 4 });
  expect(verdicts(script)).toEqual(['reordering 0']);
});

it('it is another case where it came before the NAK: it was captured', () => {
  const script = new Script();
  const first = script.fromA(Op.SendOnly, 0);
  nak(script.sends(1, 2).see(first).sends(3, 3), 0, 0).sends(0, 3).ack(3, { msn: 4 });
  expect(script.analyze().events.map(({ reason }) => reason)).toContain('seen-then-nak');
});

it('nothing is told where the capture begins later in the life of the connection', () => {
  const later = (psn: number, msn: number) =>
    verdicts(
      asked(psn, msn)
        .sends(psn, 3)
        .ack(3, { msn: msn + 4 }),
    );
  // Messages were completed, or acknowledged, before; or more is missing than gets lost at a time.
  expect(later(0, 7)).toEqual([]);
  expect(later(-8, 0)).toEqual([]);
  const acknowledged = nak(new Script().sends(1, 2).ack(-1, { msn: 0 }).sends(3, 3), 0, 0)
    .sends(0, 3)
    .ack(3, { msn: 4 });
  expect(verdicts(acknowledged)).toEqual([]);
});
