/**
 * Cases of area REQ: PSNs of requests, and what completes when (REQ-01 to REQ-10, REQ-35, REQ-36).
 * The device is given work; the tester answers it, one packet at a time.
 */
import { Syndrome } from 'rocev2/packets';
import { ack, describePacket, nak, type Packet } from 'rocev2/packets/kit';
import type { Case } from '../tester/case.ts';
import { demand, Inconclusive } from '../tester/outcome.ts';
import type { Tester } from '../tester/tester.ts';
import { matches } from '../tester/want.ts';
import {
  add,
  LONG_BYTES,
  type PostedWork,
  psnsOf,
  read,
  responder,
  type ScriptedResponder,
  SEVERAL_READS,
  send,
  sendImm,
  swap,
  timeoutNs,
  write,
  writeImm,
} from './responder.ts';

export const REQ_COMPLETION_CASES: readonly Case[] = [
  { rules: ['REQ-01'], psnSweep: true, run: numbersRequests },
  { rules: ['REQ-01'], title: 'an ACK while packets are sent again', run: keepsNumbersAmidst },
  { rules: ['REQ-02'], run: asksForAcknowledges },
  { rules: ['REQ-03'], run: completesSendsWhenWhole },
  { rules: ['REQ-04'], psnSweep: true, run: completesReadsWhenWhole },
  { rules: ['REQ-05'], needs: ['atomics'], run: completesAtomicsWhenAnswered },
  { rules: ['REQ-06'], run: completesInOrder },
  { rules: ['REQ-07'], run: takesOneAckForAll },
  { rules: ['REQ-07'], title: 'while packets are sent again', run: takesAcksAmidst },
  { rules: ['REQ-08'], psnSweep: true, run: ignoresOldAnswers },
  { rules: ['REQ-09'], psnSweep: true, run: ignoresAcksOfTheFuture },
  { rules: ['REQ-10'], run: ignoresGhosts },
  { rules: ['REQ-35'], run: followsPsnsAndNotMessages },
  { rules: ['REQ-36'], run: ignoresDuplicateResponses },
];

async function numbersRequests(t: Tester): Promise<void> {
  const r = await responder(t, SEVERAL_READS);
  const works = [send(1), read(2, 700), send(3), write(4, 700), read(5, 0), write(6, 0), sendImm(7, 513), read(8, 256)];
  await r.post(...works.slice(0, 3));
  const [, second, third] = await r.sees(0, ...works.slice(0, 3));
  demand(
    second?.packet.psn === 1 && third?.packet.psn === 4,
    'SEND, READ of 3 packets and SEND take p, p + 1 and p + 4',
  );
  await r.post(...works.slice(3));
  await r.sees(5, ...works.slice(3));
  const atomics = t.has('atomics');
  if (atomics) {
    await r.post(add(9), send(10));
    await r.sees(14, add(9), send(10));
  }
}

const TWO = [send(1, 1000), send(2, 300)];
const CODE = 14;

/** Message 1 is acknowledged while its packets are just being sent again; message 2 stays open. */
async function acknowledgedAmidst(t: Tester): Promise<ScriptedResponder> {
  const r = await responder(t, { timeout: CODE, retryCnt: 6 });
  await r.post(...TWO);
  await r.sees(0, ...TWO);
  r.peer.tx(nak(Syndrome.NakSequence, { psn: 0, msn: 0 }), ack({ psn: 3, msn: 1 }));
  return r;
}

async function keepsNumbersAmidst(t: Tester): Promise<void> {
  const r = await acknowledgedAmidst(t);
  const packets = r.packetsOf(0, ...TWO);
  const intervalNs = timeoutNs(CODE);
  for (const until = t.now() + 3 * intervalNs; t.now() < until; ) {
    const again = await r.peer.take(intervalNs);
    if (again === undefined) continue;
    const wanted = packets[again.packet.psn];
    const right = wanted !== undefined && matches(again.packet, wanted);
    demand(right, () => `${describePacket(again.packet)} came, and that is no packet of what was posted`);
  }
  r.peer.ack(5, 2);
  await r.completes([1], [2]);
}

async function asksForAcknowledges(t: Tester): Promise<void> {
  const works = [send(1), send(2, 700), sendImm(3, 700), write(4), write(5, 700), writeImm(6, 700), send(8, 100 * 256)];
  for (const work of works) {
    const r = await responder(t, {}, LONG_BYTES);
    await r.post(work);
    const packets = await r.sees(0, work);
    const asks = packets.filter(({ packet }) => packet.ackReq === true).length;
    demand(asks > 0, `no packet of a ${work.opcode} of ${work.length} bytes requests an ACK`);
    if (packets.at(-1)?.packet.ackReq !== true) t.note('the last packet of a message does not ask');
  }
}

async function completesSendsWhenWhole(t: Tester): Promise<void> {
  for (const kind of [send, write]) {
    const r = await responder(t);
    await r.post(kind(1, 700), kind(2, 700));
    await r.sees(0, kind(1, 700), kind(2, 700));
    await r.undisturbed();
    for (const psn of [0, 1]) {
      r.peer.ack(psn, 0);
      await r.undisturbed();
    }
    r.peer.ack(2, 1);
    await r.completes([1]);
    await r.undisturbed();
    r.peer.ack(4, 1);
    await r.undisturbed();
    r.peer.ack(5, 2);
    await r.completes([2]);
    await r.undisturbed();
  }
}

async function completesReadsWhenWhole(t: Tester): Promise<void> {
  const r = await responder(t, SEVERAL_READS);
  const works = [read(1, 700), read(2, 700)];
  await r.post(...works);
  const requests = await r.sees(0, ...works);
  for (const [i, { packet }] of requests.entries()) {
    const [first, middle, last] = r.responsesTo(packet, i + 1);
    for (const part of [first, middle]) {
      if (part !== undefined) r.peer.tx(part);
      await r.undisturbed();
    }
    if (last !== undefined) r.peer.tx(last);
    await r.completes([i + 1]);
    await r.undisturbed();
    await r.readIsRight(...works.slice(0, i + 1));
  }
}

async function completesAtomicsWhenAnswered(t: Tester): Promise<void> {
  for (const kind of [add, swap]) {
    const r = await responder(t, SEVERAL_READS);
    await r.post(kind(1), kind(2));
    await r.sees(0, kind(1), kind(2));
    await r.undisturbed();
    // A plain ACK does not carry what an ATOMIC is for.
    r.peer.ack(0, 1);
    await r.undisturbed();
    r.answerAtomic(0, 1);
    await r.completes([1]);
    await r.undisturbed();
    await r.atomicIsRight(1);
    r.answerAtomic(1, 2, 5n);
    await r.completes([2]);
    await r.atomicIsRight(2, 5n);
  }
}

async function completesInOrder(t: Tester): Promise<void> {
  const plain = [send(1), write(2, 700), sendImm(3, 300), writeImm(4), send(5, 0), write(6, 0)];
  const r = await responder(t, SEVERAL_READS);
  await r.post(...plain);
  await r.sees(0, ...plain);
  await r.undisturbed();
  r.peer.ack(8, 6);
  await r.completes([1], [2], [3], [4], [5], [6]);
  const mixed = [send(1), read(2, 700), write(3), read(4, 100), send(5)];
  const other = await responder(t, SEVERAL_READS);
  await other.post(...mixed);
  const seen = await other.sees(0, ...mixed);
  await other.undisturbed();
  const answers: Packet[] = [ack({ psn: 0, msn: 1 })];
  for (const [i, { packet }] of seen.entries())
    if (packet.reth !== undefined && (i === 1 || i === 3)) answers.push(...other.responsesTo(packet, i + 1));
  other.peer.tx(...answers.slice(0, 4), ack({ psn: 4, msn: 3 }), ...answers.slice(4), ack({ psn: 6, msn: 5 }));
  await other.completes([1], [2], [3], [4], [5]);
  await other.readIsRight(read(2, 700), read(4, 100));
}

async function takesOneAckForAll(t: Tester): Promise<void> {
  const r = await responder(t);
  const works = Array.from({ length: 10 }, (_, i): PostedWork => (i % 2 === 0 ? send(i + 1, 300) : write(i + 1)));
  await r.post(...works);
  const packets = await r.sees(0, ...works);
  await r.undisturbed();
  r.peer.ack(packets.length - 1, 10);
  await r.completes(...works.map(({ wrId }) => [wrId] as const));
  await r.undisturbed();
}

async function takesAcksAmidst(t: Tester): Promise<void> {
  const r = await acknowledgedAmidst(t);
  await r.completes([1]);
  r.peer.ack(5, 2);
  await r.completes([2]);
}

async function ignoresOldAnswers(t: Tester): Promise<void> {
  const r = await responder(t);
  await r.post(send(1), send(2));
  await r.sees(0, send(1), send(2));
  r.peer.ack(0, 1);
  await r.completes([1]);
  for (const psn of [0, -1, -1000, -0x40_00_00]) {
    r.peer.tx(ack({ psn, msn: 2 }));
    await r.undisturbed();
  }
  // A NAK of the past means as little as an ACK.
  for (const syndrome of [Syndrome.NakSequence, 0x61, 0x62, 0x63]) {
    r.peer.nak(syndrome, -1, 1);
    await r.undisturbed();
  }
  r.peer.ack(1, 2);
  await r.completes([2]);
}

async function ignoresAcksOfTheFuture(t: Tester): Promise<void> {
  const works: readonly (readonly PostedWork[])[] = [[send(1), write(2)], [send(1, 700)], [write(1), read(2, 300)]];
  for (const list of works) {
    const r = await responder(t);
    await r.post(...list);
    const seen = await r.sees(0, ...list);
    const newest = list.reduce((sum, work) => sum + psnsOf(work), 0) - 1;
    for (const ahead of [1, 1000, 1 << 22]) {
      r.peer.tx(ack({ psn: newest + ahead, msn: list.length }));
      await r.undisturbed();
    }
    const last = seen.at(-1)?.packet;
    if (last?.reth !== undefined && list.at(-1)?.opcode === 'read') {
      r.peer.tx(ack({ psn: 0, msn: 1 }), ...r.responsesTo(last, 2));
    } else r.peer.ack(newest, list.length);
    await r.completes(...list.map(({ wrId }) => [wrId] as const));
  }
}

async function ignoresGhosts(t: Tester): Promise<void> {
  const r = await responder(t);
  const rounds = 8;
  const ghost = (before: number): Packet => {
    const of = t.random.below(before);
    return ack({ psn: 2 * of + t.random.below(2), msn: of + 1 });
  };
  for (let i = 0; i < rounds; i++) {
    const work = i % 3 === 1 ? read(i + 1, 300) : send(i + 1, 300);
    await r.post(work);
    const [request] = await r.sees(2 * i, work);
    if (request === undefined) throw new Inconclusive('there is no request');
    const answers =
      work.opcode === 'read' ? r.responsesTo(request.packet, i + 1) : [ack({ psn: 2 * i + 1, msn: i + 1 })];
    for (let n = i === 0 ? 0 : 3; n > 0; n--) r.peer.tx(ghost(i));
    await r.undisturbed();
    // Between the responses of a READ as well.
    for (const packet of answers) {
      r.peer.tx(packet);
      if (i > 0) r.peer.tx(ghost(i));
    }
    await r.completes([i + 1]);
    if (work.opcode === 'read') await r.readIsRight(work);
  }
  // An RNR NAK or a sequence NAK of what is done is a ghost as well.
  r.peer.tx(nak(0x2c, { psn: 0, msn: 1 }), nak(Syndrome.NakSequence, { psn: 2, msn: 1 }));
  await r.undisturbed();
}

async function followsPsnsAndNotMessages(t: Tester): Promise<void> {
  const r = await responder(t);
  const works = [1, 2, 3, 4, 5].map((wrId) => send(wrId));
  await r.post(...works);
  await r.sees(0, ...works);
  r.peer.ack(0, 5);
  await r.completes([1]);
  await r.undisturbed();
  r.peer.ack(2, 0x12_34_56);
  await r.completes([2], [3]);
  await r.undisturbed();
  r.peer.ack(4, 5);
  await r.completes([4], [5]);
}

async function ignoresDuplicateResponses(t: Tester): Promise<void> {
  const r = await responder(t, SEVERAL_READS);
  const works = [read(1, 700), read(2, 700)];
  await r.post(...works);
  const seen = await r.sees(0, ...works);
  const answers = seen.map(({ packet }, i) => r.responsesTo(packet, i + 1));
  for (const packet of answers[0] ?? []) r.peer.tx(packet, packet);
  await r.completes([1]);
  // All of the first once more, while the second is open.
  r.peer.tx(...(answers[0] ?? []));
  await r.undisturbed();
  for (const packet of answers[1] ?? []) r.peer.tx(packet, packet);
  await r.completes([2]);
  r.peer.tx(...(answers[1] ?? []), ...(answers[0] ?? []));
  await r.undisturbed();
  await r.readIsRight(...works);
}
