/** Solicited events at the responder (QPS-22), and the SE bit of a requester (REQ-40). */
import { type Packet, pattern, sendFirst, sendLast, sendOnly, writeOnlyImm } from 'rocev2/packets/kit';
import type { Case } from '../tester/case.ts';
import { demand } from '../tester/outcome.ts';
import type { Tester } from '../tester/tester.ts';
import { target } from './answers.ts';
import { type PostedWork, psnsOf, responder, send, sendImm, writeImm } from './responder.ts';

export const SOLICITED_CASES: readonly Case[] = [
  { rules: ['QPS-22'], needs: ['host-control'], run: tellsOfSolicited },
  { rules: ['REQ-40'], needs: ['host-control'], run: asksForEvents },
];

async function tellsOfSolicited(t: Tester): Promise<void> {
  const peer = await t.connect();
  const cq = peer.recvCq;
  const full = pattern(peer.mtu);
  const messages: readonly ((psn: number, solicited: boolean) => Packet[])[] = [
    (psn, solicited) => [sendOnly({ psn, ackReq: true, payload: pattern(64), solicited })],
    (psn, solicited) => [
      sendFirst({ psn, payload: full }),
      sendLast({ psn: psn + 1, ackReq: true, payload: full, solicited }),
    ],
    (psn, solicited) => [
      writeOnlyImm({ psn, ackReq: true, payload: pattern(8), imm: 7, reth: target(peer, 0, 8), solicited }),
    ],
  ];
  let psn = 0;
  for (const message of messages) {
    await t.hostControl.call('cq.arm', { cq, solicitedOnly: true });
    for (const solicited of [false, true]) {
      const packets = message(psn, solicited);
      psn += packets.length;
      peer.tx(...packets);
      await peer.expectAck(psn - 1);
      await peer.recvCompletions(1);
      if (solicited) await oneEvent(t, cq);
      else demand((await events(t, cq, t.dut.quietNs)) === 0, 'a message without SE raised a solicited event');
    }
  }
}

async function oneEvent(t: Tester, cq: number): Promise<void> {
  const deadline = t.now() + t.dut.patienceNs;
  let count = await events(t, cq, 0);
  for (; count === 0 && t.now() < deadline; count = await events(t, cq, t.dut.pollNs));
  demand(count === 1, `a message with SE raised ${count} events`);
}

async function events(t: Tester, cq: number, afterNs: number): Promise<number> {
  if (afterNs > 0) await t.sleep(afterNs);
  return (await t.hostControl.call('cq.events', { cq })).count;
}

async function asksForEvents(t: Tester): Promise<void> {
  const r = await responder(t);
  let psn = 0;
  let msn = 0;
  for (const make of [send, sendImm, writeImm])
    for (const length of [64, 300, 700])
      for (const solicited of [true, false]) {
        const work: PostedWork = make(++msn, length);
        await r.peer.post({ ...r.requestOf(work), solicited });
        const packets = await r.sees(psn, work);
        psn += psnsOf(work);
        r.peer.ack(psn - 1, msn);
        await r.completes([msn]);
        const bits = packets.map(({ packet }) => (packet.solicited === true ? 1 : 0)).join('');
        const wanted = packets.map((_, i) => (solicited && i === packets.length - 1 ? 1 : 0)).join('');
        demand(
          bits === wanted,
          `a ${work.opcode} of ${length} bytes, ${solicited ? '' : 'not '}solicited: SE ${bits}, not ${wanted}`,
        );
      }
}
