/** Cases of area ACK whose device is the requester: credits, acknowledges that are repeated, and syndromes that mean nothing. */
import { Syndrome } from '../../../packets/aeth.ts';
import { ack, nak } from '../packet/packet.ts';
import type { Case } from '../tester/case.ts';
import { demand, Inconclusive } from '../tester/outcome.ts';
import type { Tester } from '../tester/tester.ts';
import { add, read, responder, send, write } from './responder.ts';

export const ACK_REQUESTER_CASES: readonly Case[] = [
  { rules: ['ACK-12'], run: heedsCredits },
  { rules: ['ACK-13'], psnSweep: true, run: bearsRepeatedAcknowledges },
  { rules: ['ACK-16'], run: (t) => ignoresReserved(t, RESERVED_SYNDROMES) },
  { rules: ['ACK-17'], run: (t) => ignoresReserved(t, RESERVED_NAKS) },
];

/** Credit code 2: two SENDs beyond those that the MSN counts (catalogue, C.4). */
const TWO_CREDITS = 2;

async function heedsCredits(t: Tester): Promise<void> {
  const r = await responder(t);
  await r.post(send(1));
  await r.sees(0, send(1));
  r.peer.nak(TWO_CREDITS, 0, 1);
  await r.completes([1]);
  const works = [2, 3, 4, 5, 6].map((wrId) => send(wrId));
  await r.post(...works);
  let sent = 0;
  for (;;) {
    const received = await r.peer.take(t.dut.quietNs);
    if (received === undefined) break;
    await r.peer.orInconclusive('a SEND', async () =>
      demand(received.packet.psn === sent + 1, 'SENDs came out of order'),
    );
    sent++;
  }
  demand(sent > 0, 'with two credits nothing was sent');
  demand(sent <= 3, `with two credits ${sent} SENDs were sent`);
  if (sent === 3) t.variation('one SEND more than there are credits');
  // Whoever waits for credits goes on when there are some.
  r.peer.ack(sent, sent + 1);
  await r.sees(sent + 1, ...works.slice(sent));
  r.peer.ack(5, 6);
  await r.completes([2], [3], [4], [5], [6]);
}

async function bearsRepeatedAcknowledges(t: Tester): Promise<void> {
  const r = await responder(t);
  await r.post(send(1, 700));
  await r.sees(0, send(1, 700));
  for (const psn of [1, 2]) {
    for (let i = 0; i < 3; i++) r.peer.ack(psn, psn === 2 ? 1 : 0);
    if (psn === 1) await r.undisturbed();
  }
  await r.completes([1]);
  await r.undisturbed();
  // The last acknowledge was a READ response: it may be repeated as ACKNOWLEDGE, also while more is open.
  await r.post(read(2, 700), write(3));
  const [request] = await r.sees(3, read(2, 700), write(3));
  if (request === undefined) throw new Inconclusive('there is no READ');
  for (const packet of r.responsesTo(request.packet, 2)) {
    r.peer.tx(packet);
    r.peer.ack(packet.psn, packet.psn === 5 ? 2 : 1);
  }
  await r.completes([2]);
  await r.undisturbed();
  r.peer.ack(6, 3);
  r.peer.ack(6, 3);
  await r.completes([3]);
  await r.readIsRight(read(2, 700));
  if (t.hands.description.features.includes('atomics')) {
    await r.post(add(4), send(5));
    await r.sees(7, add(4), send(5));
    r.answerAtomic(7, 4);
    for (let i = 0; i < 3; i++) r.peer.ack(7, 4);
    await r.completes([4]);
    await r.undisturbed();
    r.peer.ack(8, 5);
    await r.completes([5]);
    await r.atomicIsRight(4);
  }
  r.peer.ack(8, 5);
  await r.undisturbed();
}

/** 0x40 to 0x5F. */
const RESERVED_SYNDROMES = Array.from({ length: 32 }, (_, i) => 0x40 + i);
/** 0x65 to 0x7F; 0x64 belongs to reliable datagrams. */
const RESERVED_NAKS = Array.from({ length: 27 }, (_, i) => 0x65 + i);

async function ignoresReserved(t: Tester, syndromes: readonly number[]): Promise<void> {
  const r = await responder(t);
  const works = [send(1), read(2, 300), write(3)];
  await r.post(...works);
  const [, request] = await r.sees(0, ...works);
  if (request === undefined) throw new Inconclusive('there is no READ');
  for (const syndrome of syndromes) {
    r.peer.tx(nak(syndrome, { psn: 0, msn: 1 }));
    await r.undisturbed();
  }
  demand((await r.peer.state()) === 'RTS', 'the queue pair left RTS');
  r.peer.tx(
    ack({ psn: 0, msn: 1, note: `syndrome 0x${Syndrome.Ack.toString(16)}` }),
    ...r.responsesTo(request.packet, 2),
  );
  r.peer.ack(3, 3);
  await r.completes([1], [2], [3]);
}
