/** Cases of area ACK whose device is the requester: credits, repeated ACKs, and syndromes that mean nothing. */
import { Syndrome } from 'rocev2/packets';
import { ack, nak } from 'rocev2/packets/kit';
import type { Case } from '../tester/case.ts';
import { demand, Inconclusive, Violation } from '../tester/outcome.ts';
import type { Tester } from '../tester/tester.ts';
import { add, read, responder, send, write } from './responder.ts';

export const ACK_REQUESTER_CASES: readonly Case[] = [
  { rules: ['ACK-12'], needs: ['host-control', 'credits'], run: heedsCredits },
  { rules: ['ACK-13'], title: 'after SENDs', psnSweep: true, run: repeatsAfterSends },
  { rules: ['ACK-13'], title: 'after a READ', run: (t) => repeatsAfterReads(t, 'last', false) },
  { rules: ['ACK-13'], title: 'after a READ while more is open', run: (t) => repeatsAfterReads(t, 'last', true) },
  { rules: ['ACK-13'], title: 'after each READ response', run: (t) => repeatsAfterReads(t, 'all', true) },
  { rules: ['ACK-13'], title: 'after an ATOMIC', needs: ['atomics'], run: repeatsAfterAtomics },
  { rules: ['ACK-16'], run: (t) => ignoresReserved(t, RESERVED_SYNDROMES) },
  { rules: ['ACK-17'], run: (t) => ignoresReserved(t, RESERVED_NAKS) },
];

/** Credit code 2: two SENDs beyond those that the MSN counts (ref:conformance#C.4). */
const TWO_CREDITS = 2;

async function heedsCredits(t: Tester): Promise<void> {
  const r = await responder(t, { flowControl: true });
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
  if (sent === 3) t.note('one SEND more than there are credits, as a probe');
  // A requester that waits for credits goes on when it gets some.
  r.peer.ack(sent, sent + 1);
  await r.sees(sent + 1, ...works.slice(sent));
  r.peer.ack(5, 6);
  await r.completes([2], [3], [4], [5], [6]);
}

async function repeatsAfterSends(t: Tester): Promise<void> {
  const r = await responder(t);
  await r.post(send(1, 700), write(2));
  await r.sees(0, send(1, 700), write(2));
  for (const [psn, msn] of [
    [1, 0],
    [2, 1],
    [3, 2],
  ] as const) {
    for (let i = 0; i < 3; i++) r.peer.ack(psn, msn);
    if (psn === 2) await r.completes([1]);
    if (psn === 3) await r.completes([2]);
    await r.undisturbed();
  }
}

/**
 * The last response was to a READ: it may be repeated as an ACKNOWLEDGE packet. `after`: behind which of the responses
 * that is done.
 */
async function repeatsAfterReads(t: Tester, after: 'all' | 'last', more: boolean): Promise<void> {
  const r = await responder(t);
  const works = [read(1, 700), ...(more ? [write(2)] : [])];
  await r.post(...works);
  const [request] = await r.sees(0, ...works);
  if (request === undefined) throw new Inconclusive('there is no READ');
  const responses = r.responsesTo(request.packet, 1);
  for (const [i, packet] of responses.entries()) {
    const last = i === responses.length - 1;
    r.peer.tx(packet);
    if (last || after === 'all') r.peer.ack(packet.psn, last ? 1 : 0);
  }
  await r.completes([1]);
  await r.readIsRight(read(1, 700));
  await r.undisturbed();
  if (!more) return;
  r.peer.ack(3, 2);
  await r.completes([2]);
}

async function repeatsAfterAtomics(t: Tester): Promise<void> {
  const r = await responder(t);
  await r.post(add(1), send(2));
  await r.sees(0, add(1), send(2));
  r.answerAtomic(0, 1);
  for (let i = 0; i < 3; i++) r.peer.ack(0, 1);
  await r.completes([1]);
  await r.undisturbed();
  r.peer.ack(1, 2);
  await r.completes([2]);
  await r.atomicIsRight(1);
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
    try {
      await r.undisturbed();
    } catch (error) {
      if (!(error instanceof Violation)) throw error;
      const { completions } = await t.hostControl.call('cq.poll', { cq: r.peer.sendCq, max: 100 });
      const list = completions.map(({ wrId, status }) => `${wrId} with status ${status}`).join(', ');
      throw new Violation(`syndrome 0x${syndrome.toString(16)}: ${list === '' ? error.message : `completed ${list}`}`);
    }
  }
  demand((await r.peer.state()) === 'RTS', 'the queue pair left RTS');
  r.peer.tx(
    ack({ psn: 0, msn: 1, note: `syndrome 0x${Syndrome.Ack.toString(16)}` }),
    ...r.responsesTo(request.packet, 2),
  );
  r.peer.ack(3, 3);
  await r.completes([1], [2], [3]);
}
