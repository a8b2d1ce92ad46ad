/**
 * Cases of area REQ: what the device does about NAKs, spoken or implied (REQ-11 to REQ-19, REQ-24, REQ-32 to REQ-34,
 * REQ-38), and about answers that do not fit (REQ-31, REQ-37). Timers are kept out of it unless a rule allows a
 * retry by timeout.
 */
import { Syndrome } from 'rocev2/packets';
import { ack, nak, type Packet } from 'rocev2/packets/kit';
import { WcStatus } from 'rocev2/transport';
import type { Case } from '../tester/case.ts';
import { demand, Inconclusive, Violation } from '../tester/outcome.ts';
import type { ReceivedPacket } from '../tester/peer.ts';
import type { Tester } from '../tester/tester.ts';
import { refusesWrongAnswers } from './req-answers.ts';
import {
  add,
  atMost,
  type PostedWork,
  read,
  responder,
  type ScriptedResponder,
  SEVERAL_READS,
  send,
  sendImm,
  swap,
  timeoutNs,
  write,
} from './responder.ts';

export const REQ_NAK_CASES: readonly Case[] = [
  { rules: ['REQ-11'], psnSweep: true, run: takesLaterAnswersAsNaks },
  { rules: ['REQ-12'], run: countsImpliedNaks },
  { rules: ['REQ-13'], psnSweep: true, run: bearsAcksInsideReads },
  { rules: ['REQ-14'], run: repairsGapsInReads },
  { rules: ['REQ-15'], psnSweep: true, run: repeatsFromTheNak },
  { rules: ['REQ-16'], run: takesNaksAsAcksOfEarlier },
  { rules: ['REQ-17'], run: repeatsReadsBeforeNaks },
  { rules: ['REQ-18'], run: tellsNaksApart },
  { rules: ['REQ-19'], run: failsTheNamedOne },
  { rules: ['REQ-24'], run: neverRepeatsFatal },
  { rules: ['REQ-31'], run: refusesWrongAnswers },
  { rules: ['REQ-32'], run: endsReadsByNak },
  { rules: ['REQ-33'], run: completesUnsignalledErrors },
  { rules: ['REQ-34'], run: flushesAfterErrors },
  { rules: ['REQ-37'], run: dropsForgedAnswers },
  { rules: ['REQ-38'], run: restartsInsideMessages },
];

/** An operation whose answer carries data, as far as the device has it. */
const withAtomics = (t: Tester, ...works: readonly PostedWork[]): PostedWork[] =>
  works.filter(({ opcode }) => !isAtomic(opcode) || t.has('atomics'));

const isAtomic = (opcode: string): boolean => opcode === 'fetch-add' || opcode === 'cmp-swap';

/** Answers a request that expects data. */
function answer(r: ScriptedResponder, work: PostedWork, request: ReceivedPacket | undefined, msn: number): void {
  const packet = request?.packet;
  if (packet === undefined) throw new Inconclusive('there is no request to answer');
  if (isAtomic(work.opcode)) r.answerAtomic(packet.psn, msn);
  else r.peer.tx(...r.responsesTo(packet, msn));
}

async function takesLaterAnswersAsNaks(t: Tester): Promise<void> {
  for (const first of withAtomics(t, read(1, 700), add(1), swap(1))) {
    const r = await responder(t, SEVERAL_READS);
    const works = [first, send(2)];
    await r.post(...works);
    const seen = await r.sees(0, ...works);
    r.peer.ack(seen[1]?.packet.psn ?? 0, 2);
    const again = await r.sees(0, ...works);
    await r.undisturbed();
    answer(r, first, again[0], 1);
    await r.completes([1]);
    r.peer.ack(again[1]?.packet.psn ?? 0, 2);
    await r.completes([2]);
  }
  // A response to a later READ says the same.
  const r = await responder(t, SEVERAL_READS);
  const works = [read(1, 700), read(2, 300)];
  await r.post(...works);
  const [, second] = await r.sees(0, ...works);
  answer(r, read(2, 300), second, 2);
  const again = await r.sees(0, ...works);
  await r.isUntouched(read(1, 700));
  answer(r, works[0] ?? read(1), again[0], 1);
  answer(r, works[1] ?? read(2), again[1], 2);
  await r.completes([1], [2]);
  await r.readIsRight(...works);
}

/** A device may ignore an implied NAK that comes while it acts upon another: the ACK timer then counts in its place. */
async function countsImpliedNaks(t: Tester): Promise<void> {
  for (const retryCnt of [0, 1, 3]) {
    const r = await responder(t, { retryCnt, timeout: 14 });
    const works = [read(1, 300), send(2)];
    await r.post(...works);
    for (let i = 0; i <= retryCnt; i++) {
      await r.seesWithin(atMost(t, timeoutNs(14)), 0, ...works);
      r.peer.ack(2, 2);
    }
    await r.completesWithin(atMost(t, timeoutNs(14)), [1, WcStatus.RetryExcErr], [2, WcStatus.WrFlushErr]);
    await r.isOver();
  }
}

async function bearsAcksInsideReads(t: Tester): Promise<void> {
  // READ of so many bytes, of which so many packets are answered, and where the ACK is.
  const ways = [
    [1000, 2, 3],
    [1000, 2, 2],
    [1000, 2, 1],
    [1000, 2, 0],
    [1000, 0, 0],
    [1000, 0, 3],
    [64, 0, 0],
  ] as const;
  const wrong: string[] = [];
  for (const [length, answered, psn] of ways) {
    const r = await responder(t);
    const work = read(1, length);
    await r.post(work);
    const [request] = await r.sees(0, work);
    if (request === undefined) throw new Inconclusive('there is no READ');
    const responses = r.responsesTo(request.packet, 1);
    r.peer.tx(...responses.slice(0, answered));
    r.peer.ack(psn, 1);
    try {
      await r.undisturbed();
      r.peer.tx(...responses.slice(answered));
      await r.completes([1]);
      await r.readIsRight(work);
    } catch (error) {
      if (!(error instanceof Violation)) throw error;
      wrong.push(`${responses.length} packets, ${answered} of them there, ACK of packet ${psn}: ${error.message}`);
    }
  }
  demand(wrong.length === 0, () => wrong.join('; '));
}

async function repairsGapsInReads(t: Tester): Promise<void> {
  for (const lost of [0, 1, 2]) {
    const code = 14;
    const r = await responder(t, { timeout: code });
    const work = read(1, 1000);
    await r.post(work);
    const [request] = await r.sees(0, work);
    if (request === undefined) throw new Inconclusive('there is no READ');
    const from = t.now();
    r.peer.tx(...r.responsesTo(request.packet, 1).filter((_, i) => i !== lost));
    const again = await retriedRead(r, request.packet, lost, atMost(t, timeoutNs(code)));
    if (again.sighting.timeNs - from >= timeoutNs(code))
      t.note(`a gap at response ${lost} is repaired after the timeout`);
    else t.note(`a gap at response ${lost} is repaired at once`);
    r.peer.tx(...r.responsesTo(again.packet, 1));
    await r.completes([1]);
    await r.readIsRight(work);
  }
}

/** A READ that repeats a part of `original`, from response `from` or an earlier one. */
async function retriedRead(
  r: ScriptedResponder,
  original: Packet,
  from: number,
  withinNs: number,
): Promise<ReceivedPacket> {
  const { reth } = original;
  const wanted = Array.from({ length: from + 1 }, (_, skip): Partial<Packet> => {
    const { va = 0n, rkey = 0, length = 0 } = reth ?? {};
    const gone = skip * r.peer.mtu;
    return {
      opcode: original.opcode,
      psn: original.psn + skip,
      reth: { va: va + BigInt(gone), rkey, length: length - gone },
    };
  });
  return r.peer.rx(wanted, withinNs);
}

async function repeatsFromTheNak(t: Tester): Promise<void> {
  const lists: readonly (readonly PostedWork[])[] = [
    [1, 2, 3, 4, 5].map((wrId) => send(wrId)),
    [send(1, 1100)],
    [write(1, 1100)],
    [write(1), sendImm(2, 500), send(3, 500)],
  ];
  for (const works of lists)
    for (const at of [0, 2, 4]) {
      const r = await responder(t);
      await r.post(...works);
      const packets = r.packetsOf(0, ...works);
      await r.sees(0, ...works);
      r.peer.nak(Syndrome.NakSequence, at, 0);
      await repeated(t, r, packets, at);
      r.peer.ack(packets.length - 1, works.length);
      await r.completes(...works.map(({ wrId }) => [wrId] as const));
      await r.undisturbed();
    }
}

/** Of `packets`, those from `at` or an earlier one on come again, in order and up to the last. */
async function repeated(t: Tester, r: ScriptedResponder, packets: readonly Packet[], at: number): Promise<void> {
  const first = await r.peer.rx(packets.slice(0, at + 1));
  if (first.packet.psn < at) t.note('it repeats from an earlier packet than the NAK asks for');
  await r.peer.rxAll(packets.slice(first.packet.psn + 1));
}

async function takesNaksAsAcksOfEarlier(t: Tester): Promise<void> {
  for (const kind of [send, write]) {
    const r = await responder(t);
    const works = [1, 2, 3, 4, 5].map((wrId) => kind(wrId, 300));
    await r.post(...works);
    const packets = r.packetsOf(0, ...works);
    await r.sees(0, ...works);
    r.peer.nak(Syndrome.NakSequence, 4, 2);
    await r.completes([1], [2]);
    await repeated(t, r, packets, 4);
    await r.undisturbed();
    r.peer.ack(9, 5);
    await r.completes([3], [4], [5]);
  }
}

async function repeatsReadsBeforeNaks(t: Tester): Promise<void> {
  for (const first of withAtomics(t, read(1, 700), add(1), swap(1))) {
    const r = await responder(t);
    const works = [first, send(2)];
    await r.post(...works);
    const seen = await r.sees(0, ...works);
    r.peer.nak(Syndrome.NakSequence, seen[1]?.packet.psn ?? 0, 1);
    const again = await r.sees(0, ...works);
    await r.undisturbed();
    answer(r, first, again[0], 1);
    r.peer.ack(again[1]?.packet.psn ?? 0, 2);
    await r.completes([1], [2]);
  }
}

/** NAK codes that end a queue pair, and what the work request that they name ends with. */
const FATAL = [
  [Syndrome.NakInvalidRequest, WcStatus.RemInvReqErr],
  [Syndrome.NakRemoteAccess, WcStatus.RemAccessErr],
  [Syndrome.NakRemoteOperational, WcStatus.RemOpErr],
] as const;

async function tellsNaksApart(t: Tester): Promise<void> {
  for (const work of withAtomics(t, send(1), write(1, 700), read(1, 700), add(1), swap(1)))
    for (const [syndrome, status] of FATAL) {
      const r = await responder(t);
      await r.post(work);
      await r.sees(0, work);
      r.peer.nak(syndrome, 0, 0);
      await r.completes([1, status]);
      await r.peer.expectState('ERR');
    }
}

async function failsTheNamedOne(t: Tester): Promise<void> {
  for (const [syndrome, status] of FATAL) {
    const r = await responder(t);
    const works = [1, 2, 3, 4, 5].map((wrId) => send(wrId));
    await r.post(...works);
    await r.sees(0, ...works);
    r.peer.nak(syndrome, 2, 2);
    const flushed = WcStatus.WrFlushErr;
    await r.completes([1], [2], [3, status], [4, flushed], [5, flushed]);
    await r.isOver();
    await r.completesNothing();
  }
}

async function neverRepeatsFatal(t: Tester): Promise<void> {
  const code = 14;
  for (const [syndrome, status] of FATAL)
    for (const work of [send(1, 700), read(1, 300)]) {
      const r = await responder(t, { timeout: code, retryCnt: 6 });
      await r.post(work);
      await r.sees(0, work);
      r.peer.nak(syndrome, 0, 0);
      await r.completes([1, status]);
      // What a timer sent again before the NAK was there.
      if (!t.dut.virtual) r.peer.drain();
      await r.isOver(2 * timeoutNs(code));
    }
}

async function endsReadsByNak(t: Tester): Promise<void> {
  const code = 14;
  for (const [syndrome, status] of FATAL)
    for (const after of [0, 1, 2]) {
      const r = await responder(t, { timeout: code });
      const work = read(1, 1000);
      await r.post(work, send(2));
      const [request] = await r.sees(0, work, send(2));
      if (request === undefined) throw new Inconclusive('there is no READ');
      r.peer.tx(...r.responsesTo(request.packet, 1).slice(0, after), nak(syndrome, { psn: after, msn: 0 }));
      await r.completes([1, status], [2, WcStatus.WrFlushErr]);
      if (!t.dut.virtual) r.peer.drain();
      await r.isOver(2 * timeoutNs(code));
    }
}

async function completesUnsignalledErrors(t: Tester): Promise<void> {
  for (const [syndrome, status] of FATAL) {
    const r = await responder(t);
    await r.post(send(1, 64, { signaled: false }), send(2, 64, { signaled: false }), send(3));
    await r.sees(0, send(1), send(2), send(3));
    r.peer.ack(0, 1);
    await r.undisturbed();
    r.peer.nak(syndrome, 1, 1);
    await r.completes([2, status], [3, WcStatus.WrFlushErr]);
  }
}

async function flushesAfterErrors(t: Tester): Promise<void> {
  const r = await responder(t);
  await r.post(send(1));
  await r.sees(0, send(1));
  r.peer.nak(Syndrome.NakRemoteAccess, 0, 0);
  await r.completes([1, WcStatus.RemAccessErr]);
  await r.peer.expectState('ERR');
  await r.post(send(2), write(3, 700), read(4));
  const flushed = WcStatus.WrFlushErr;
  await r.completes([2, flushed], [3, flushed], [4, flushed]);
  await r.isOver();
  await r.completesNothing();
}

async function dropsForgedAnswers(t: Tester): Promise<void> {
  for (const { address, ours } of t.dut.addresses) {
    const r = await responder(t, { version: address.version });
    const foreign =
      address.version === 4 ? ours.toString().replace(/\d+$/, '253') : ours.toString().replace(/:[^:]*$/, ':fffd');
    await r.post(send(1), read(2));
    const [, request] = await r.sees(0, send(1), read(2));
    const answers = [ack({ psn: 0, msn: 1 }), ...(request === undefined ? [] : r.responsesTo(request.packet, 2))];
    const unknownQpn = r.peer.dutQpn ^ 0x20_00_00;
    for (const packet of [...answers, nak(Syndrome.NakRemoteAccess, { psn: 0, msn: 0 })]) {
      r.peer.tx({ ...packet, source: foreign });
      await r.undisturbed();
      r.peer.tx({ ...packet, destQpn: unknownQpn });
      await r.undisturbed();
    }
    r.peer.tx(...answers);
    await r.completes([1], [2]);
    await r.readIsRight(read(2));
  }
}

async function restartsInsideMessages(t: Tester): Promise<void> {
  for (const kind of [send, sendImm, write])
    for (const at of [1, 2, 3]) {
      const r = await responder(t);
      const work = kind(1, 1000);
      await r.post(work);
      const packets = r.packetsOf(0, work);
      await r.sees(0, work);
      r.peer.nak(Syndrome.NakSequence, at, 0);
      await repeated(t, r, packets, at);
      await r.undisturbed();
      r.peer.ack(3, 1);
      await r.completes([1]);
    }
}
