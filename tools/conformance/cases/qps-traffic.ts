/**
 * Cases of area QPS that packets show: what each state does with them, events, and local faults (QPS-04 to -08, -11 to
 * -13, -15, -17 to -19, -21, -23).
 */
import { Op } from 'rocev2/packets';
import { ack, pattern, readRequest, sendOnly, writeOnly } from 'rocev2/packets/kit';
import { WcStatus } from 'rocev2/transport';
import type { AsyncEvent, HostCompletion } from '../host-control/host-control.ts';
import type { Case } from '../tester/case.ts';
import { register } from '../tester/connect.ts';
import { demand, Inconclusive } from '../tester/outcome.ts';
import type { TesterPeer } from '../tester/peer.ts';
import type { Tester } from '../tester/tester.ts';
import { during } from './answers.ts';
import { attributesOf, failLocally, inState, typesOf, wrongKey } from './qp-moves.ts';
import { add, type PostedWork, read, responder, type ScriptedResponder, send, swap, write } from './responder.ts';

export const QPS_TRAFFIC_CASES: readonly Case[] = [
  { rules: ['QPS-04'], needs: ['host-control'], run: initProcessesNothing },
  { rules: ['QPS-05'], needs: ['host-control'], run: rtrServes },
  { rules: ['QPS-06'], needs: ['host-control'], run: sqdDrains },
  { rules: ['QPS-07'], needs: ['ud'], run: sqeReceives },
  { rules: ['QPS-08'], needs: ['host-control'], run: errDropsAll },
  { rules: ['QPS-11'], needs: ['host-control'], psnSweep: true, run: beginsAnew },
  { rules: ['QPS-11'], title: 'without ERR before', needs: ['host-control'], run: forgetsWork },
  { rules: ['QPS-12'], needs: ['host-control'], run: tellsOfTheFirstPacket },
  { rules: ['QPS-13'], needs: ['host-control'], run: overflowIsFatal },
  { rules: ['QPS-15'], needs: ['host-control'], run: keepsTheStrongerRequest },
  { rules: ['QPS-17'], needs: ['host-control'], run: failsForBadLocalKeys },
  { rules: ['QPS-17'], title: 'a region that goes', needs: ['host-control'], run: failsForLostRegion },
  { rules: ['QPS-18'], needs: ['atomics'], run: reportsAtomicsWithBadKeys },
  { rules: ['QPS-19'], needs: ['srq'], run: tellsOfTheLimitOnce },
  { rules: ['QPS-21'], needs: ['host-control'], run: goesWhereErrorsLead },
  { rules: ['QPS-23'], needs: ['srq', 'last-wqe'], run: tellsOfTheLastReceive },
];

async function initProcessesNothing(t: Tester): Promise<void> {
  const peer = await t.connect({ state: 'INIT', receives: 1 });
  peer.tx(sendOnly({ psn: 0, ackReq: true, payload: pattern(64, 1) }));
  await peer.expectSilence();
  await peer.modify({ state: 'RTR', ...attributesOf(t, peer).RTR });
  peer.tx(sendOnly({ psn: 0, ackReq: true, payload: pattern(48, 2) }));
  await peer.expectAck(0, 1);
  await peer.receives({ wrId: 1, byteLen: 48 });
}

async function rtrServes(t: Tester): Promise<void> {
  const peer = await t.connect({ state: 'RTR', receives: 1 });
  const data = pattern(300, 3);
  await peer.setMemory(0, data);
  const { va, rkey } = peer.region;
  peer.tx(readRequest({ psn: 0, ackReq: true, reth: { va, rkey, length: 300 } }));
  await peer.rxAll([
    { opcode: Op.ReadResponseFirst, psn: 0, payload: data.slice(0, 256) },
    { opcode: Op.ReadResponseLast, psn: 1, payload: data.slice(256) },
  ]);
  peer.tx(sendOnly({ psn: 2, ackReq: true, payload: pattern(64) }));
  await peer.expectAck(2, 2);
  await peer.receives({ wrId: 1, byteLen: 64 });
  await peer.expectNextPsn(3, 3);
  await peer.modify({ state: 'RTS', ...attributesOf(t, peer).RTS });
  await peer.post({ wrId: 1, opcode: 'send', pieces: [] });
  await peer.rx({ opcode: Op.SendOnly, psn: 0 });
  peer.ack(0, 1);
  const [completion] = await peer.sendCompletions(1);
  demand(completion?.status === WcStatus.Success, 'the send of RTS did not complete');
}

async function sqdDrains(t: Tester): Promise<void> {
  const r = await responder(t);
  const { peer } = r;
  const count = 256;
  const { mr, region } = register(t, peer.pd, count * peer.mtu, ['local-write']);
  await region;
  const long = { wrId: 1, opcode: 'write', remoteAddr: 0x1000n, rkey: 1 } as const;
  await peer.post({ ...long, pieces: [{ mr, offset: 0, length: count * peer.mtu }] });
  await t.hostControl.call('events', {});
  for (let psn = 0; psn < count; psn++) {
    if (psn === 20) {
      await peer.modify({ state: 'SQD', enSqdAsyncNotify: true });
      await r.post(send(2));
    }
    const { packet } = await peer.rx({ psn });
    if (packet.ackReq === true && psn < count - 1) peer.ack(psn, 0);
  }
  await r.undisturbed();
  demand((await drained(t, 0)) === 0, 'it was drained before the last ACK');
  peer.ack(count - 1, 1);
  await r.completes([1]);
  await t.event('sq-drained');
  await r.undisturbed();
  demand((await drained(t, t.dut.quietNs)) === 0, 'the event sq-drained came twice');
  await peer.modify({ state: 'RTS' });
  if (peer.inbox.length === 0) await t.sleep(t.dut.quietNs);
  if (peer.inbox.length === 0) {
    await r.post(send(3));
    const woken = (await peer.take()) !== undefined;
    demand(
      false,
      `back in RTS, work that was posted in SQD ${woken ? 'leaves only when more is posted' : 'never leaves'}`,
    );
  }
  await r.sees(count, send(2));
  peer.ack(count, 2);
  await r.completes([2]);
}

async function drained(t: Tester, afterNs: number): Promise<number> {
  await t.sleep(afterNs);
  return countOf('sq-drained', (await t.hostControl.call('events', {})).events);
}

const countOf = (name: string, events: readonly AsyncEvent[]): number =>
  events.filter(({ event }) => event === name).length;

async function sqeReceives(t: Tester): Promise<void> {
  const types = typesOf(t).filter((type) => type !== 'rc');
  for (const type of types) {
    const peer = await t.connect({ type, receives: 2 });
    await failLocally(t, peer);
    await peer.expectState('SQE');
    const fields = { psn: 0, payload: pattern(64), qkey: 0x1111_2222, srcQpn: peer.qpn };
    peer.tx({ opcode: type === 'ud' ? Op.UdSendOnly : Op.SendOnly | 0x20, ...fields });
    const datagram = type === 'ud' ? { byteLen: 104, srcQp: peer.qpn } : { byteLen: 64 };
    await during(`${type.toUpperCase()} in SQE`, peer.receives({ wrId: 1, ...datagram }));
  }
}

async function errDropsAll(t: Tester): Promise<void> {
  const peer = await inState(t, 'rc', 'ERR');
  if (peer === undefined) throw new Inconclusive('there is no queue pair in ERR');
  const { va, rkey } = peer.region;
  const reth = { va, rkey, length: 64 };
  peer.tx(
    readRequest({ psn: 0, ackReq: true, reth }),
    sendOnly({ psn: 0, ackReq: true, payload: pattern(64) }),
    writeOnly({ psn: 0, ackReq: true, payload: pattern(64), reth }),
    writeOnly({ psn: 7, ackReq: true, payload: pattern(64), reth }),
    sendOnly({ psn: -1, ackReq: true, payload: pattern(64) }),
  );
  await peer.expectSilence();
  const memory = await peer.memory(0, 64);
  demand(
    memory.every((byte) => byte === 0),
    'a WRITE was executed in ERR',
  );
}

async function beginsAnew(t: Tester): Promise<void> {
  const r = await responder(t, { receives: 4 });
  const { peer } = r;
  peer.tx(sendOnly({ psn: 0, ackReq: true, payload: pattern(64) }));
  await peer.expectAck(0, 1);
  await r.post(send(1), read(2, 300), send(3));
  await r.sees(0, send(1), read(2, 300), send(3));
  await peer.modify({ state: 'ERR' });
  await peer.sendCompletions(3);
  await peer.recvCompletions(4);
  await peer.modify({ state: 'RESET' });
  const later = 1000;
  const moves = attributesOf(t, peer, later);
  for (const move of ['INIT', 'RTR', 'RTS'] as const) await peer.modify({ state: move, ...moves[move] });
  await r.completesNothing();
  // ACKs of the old life, and a request at its PSN: beyond what is expected now.
  peer.tx(ack({ psn: 0, msn: 1 }), ack({ psn: 4, msn: 3 }));
  await peer.expectNextPsn(later, 1);
  await r.post(send(4));
  await r.sees(later, send(4));
  peer.tx(ack({ psn: 4, msn: 3 }));
  await peer.expectNextPsn(later + 1, 2);
  await r.completesNothing();
  peer.ack(later, 1);
  await r.completes([4]);
  // Receives of the old life are gone: a SEND finds none.
  peer.tx(sendOnly({ psn: later + 2, ackReq: true, payload: pattern(64) }));
  await peer.rx({ opcode: Op.Acknowledge, psn: later + 2, syndrome: 0x2c });
}

/** RESET takes requests and receives away without a completion: the next life neither sends nor fills them. */
async function forgetsWork(t: Tester): Promise<void> {
  const r = await responder(t, { receives: 4 });
  const { peer } = r;
  await r.post(send(1), send(2));
  await r.sees(0, send(1), send(2));
  await peer.modify({ state: 'RESET' });
  const moves = attributesOf(t, peer, 1000);
  for (const move of ['INIT', 'RTR', 'RTS'] as const) await peer.modify({ state: move, ...moves[move] });
  peer.tx(sendOnly({ psn: 1000, ackReq: true, payload: pattern(64) }));
  await peer.rx({ opcode: Op.Acknowledge, psn: 1000, syndrome: 0x2c });
  await peer.expectSilence();
  await r.completesNothing();
}

async function tellsOfTheFirstPacket(t: Tester): Promise<void> {
  const peer = await t.connect({ state: 'RTR' });
  await t.hostControl.call('events', {});
  await peer.expectNextPsn(0, 1);
  await t.event('comm-est');
}

async function overflowIsFatal(t: Tester): Promise<void> {
  const recvCq = t.handle();
  await t.hostControl.call('cq.create', { cq: recvCq, entries: 1 });
  const count = 200;
  const peer = await t.connect({ recvCq, receives: count, receiveBytes: 16, maxRecvWr: count });
  let taken = 0;
  for (; taken < count; taken++) {
    peer.tx(sendOnly({ psn: taken, ackReq: true, payload: pattern(16) }));
    const received = await peer.take(t.dut.quietNs);
    if (received === undefined || (received.packet.syndrome ?? 0) >= 0x20) break;
  }
  demand(taken < count, `a completion queue of one entry took ${count} completions`);
  t.note(`the queue took ${taken} completions`);
  await peer.expectState('ERR');
  await t.event('cq-err');
}

async function keepsTheStrongerRequest(t: Tester): Promise<void> {
  const peer = await t.connect();
  const cq = peer.recvCq;
  await t.hostControl.call('cq.arm', { cq, solicitedOnly: false });
  await t.hostControl.call('cq.arm', { cq, solicitedOnly: true });
  peer.tx(sendOnly({ psn: 0, ackReq: true, payload: pattern(64) }));
  await peer.expectAck(0, 1);
  const deadline = t.now() + t.dut.patienceNs;
  for (;;) {
    const { count } = await t.hostControl.call('cq.events', { cq });
    if (count > 0) return;
    demand(t.now() < deadline, 'a receive without SE raised no event, though the queue was armed for any completion');
    await t.sleep(t.dut.pollNs);
  }
}

/** Work with a local key that opens nothing. */
async function postWithBadKey(r: ScriptedResponder, work: PostedWork): Promise<void> {
  const request = r.requestOf(work);
  const pieces = (request.pieces ?? []).map((piece) => ({ ...piece, lkey: wrongKey(r.local.lkey) }));
  await r.peer.post({ ...request, pieces });
}

/** The completion of work whose request, if it comes, is answered as it should be. */
async function completionOf(
  t: Tester,
  r: ScriptedResponder,
): Promise<{ completion: HostCompletion; requested: boolean }> {
  const deadline = t.now() + t.dut.patienceNs;
  let requested = false;
  for (;;) {
    for (const { packet } of r.peer.drain()) {
      requested = true;
      if (packet.atomic !== undefined) r.answerAtomic(packet.psn, 1);
      else if (packet.opcode === Op.ReadRequest) r.peer.tx(...r.responsesTo(packet, 1));
    }
    const { completions } = await t.hostControl.call('cq.poll', { cq: r.peer.sendCq, max: 1 });
    const [completion] = completions;
    if (completion !== undefined) {
      r.peer.isSent(completion);
      return { completion, requested };
    }
    demand(t.now() < deadline, 'work with a bad local key was never completed');
    await t.sleep(t.dut.pollNs);
  }
}

async function failsForBadLocalKeys(t: Tester): Promise<void> {
  const atomics = t.has('atomics') ? [add(1)] : [];
  for (const work of [send(1), write(1, 700), read(1, 300), ...atomics]) {
    const r = await responder(t);
    await postWithBadKey(r, work);
    const { completion } = await completionOf(t, r);
    demand(
      completion.status === WcStatus.LocProtErr,
      `a ${work.opcode} with a bad local key completed with status ${completion.status}`,
    );
    await r.peer.expectState('ERR');
  }
}

/** The region of a READ goes while the READ is out: its response has nowhere to be. */
async function failsForLostRegion(t: Tester): Promise<void> {
  const r = await responder(t);
  await r.post(read(1, 300));
  const [request] = await r.sees(0, read(1, 300));
  if (request === undefined) throw new Inconclusive('there is no READ');
  await t.hostControl.call('mr.dereg', { mr: t.need(r.local.mr) });
  r.peer.tx(...r.responsesTo(request.packet, 1));
  const [completion] = await t.completions(r.peer.sendCq, 1);
  demand(
    completion?.status === WcStatus.LocProtErr,
    `a READ into a region that is gone completed with status ${completion?.status}`,
  );
  await r.peer.expectState('ERR');
}

async function reportsAtomicsWithBadKeys(t: Tester): Promise<void> {
  for (const work of [swap(1), add(1)]) {
    const r = await responder(t);
    await postWithBadKey(r, work);
    const { completion, requested } = await completionOf(t, r);
    demand(completion.status !== WcStatus.Success, `a ${work.opcode} with a bad local key completed with success`);
    t.note(`a ${work.opcode} with a bad local key ${requested ? 'was' : 'was not'} sent`);
  }
}

async function tellsOfTheLimitOnce(t: Tester): Promise<void> {
  const [pd, srq] = [t.handle(), t.handle()];
  await t.hostControl.call('pd.alloc', { pd });
  await t.hostControl.call('srq.create', { srq, pd, maxWr: 16 });
  const peer = await t.connect({ pd, srq });
  const { mr, region } = register(t, pd, 1024, ['local-write']);
  await region;
  for (let i = 0; i < 10; i++)
    await t.hostControl.call('srq.recv', { srq, wrId: i + 1, pieces: [{ mr, offset: i * 64, length: 64 }] });
  await t.hostControl.call('srq.modify', { srq, limit: 5 });
  await t.hostControl.call('events', {});
  const consume = async (psn: number): Promise<number> => {
    peer.tx(sendOnly({ psn, ackReq: true, payload: pattern(32) }));
    await peer.expectAck(psn, psn + 1);
    return limitEvents(t);
  };
  for (let psn = 0; psn < 5; psn++)
    demand((await consume(psn)) === 0, `with ${9 - psn} receives left the limit event (5) came`);
  let told = await consume(5);
  const deadline = t.now() + t.dut.patienceNs;
  while (told === 0 && t.now() < deadline) {
    await t.sleep(t.dut.pollNs);
    told += await limitEvents(t);
  }
  demand(told === 1, `with 4 receives left the limit event (5) came ${told} times`);
  for (let psn = 6; psn < 9; psn++) demand((await consume(psn)) === 0, 'the limit event came twice');
  await t.sleep(t.dut.quietNs);
  demand((await limitEvents(t)) === 0, 'the limit event came twice');
}

async function limitEvents(t: Tester): Promise<number> {
  return countOf('srq-limit-reached', (await t.hostControl.call('events', {})).events);
}

async function goesWhereErrorsLead(t: Tester): Promise<void> {
  for (const type of typesOf(t)) {
    const peer = await t.connect({ type, receives: 0 });
    const status = await failLocally(t, peer);
    demand(status !== WcStatus.Success, `a send on ${type.toUpperCase()} with a bad local key completed with success`);
    await peer.expectState(type === 'rc' ? 'ERR' : 'SQE');
  }
}

async function tellsOfTheLastReceive(t: Tester): Promise<void> {
  const [pd, srq] = [t.handle(), t.handle()];
  await t.hostControl.call('pd.alloc', { pd });
  await t.hostControl.call('srq.create', { srq, pd, maxWr: 16 });
  const byVerbs = await t.connect({ pd, srq });
  await toldOnce(t, byVerbs, () => byVerbs.modify({ state: 'ERR' }));
  const byRequest = await t.connect({ pd, srq });
  await toldOnce(t, byRequest, async () => {
    const reth = { va: byRequest.region.va, rkey: wrongKey(byRequest.region.rkey), length: 64 };
    byRequest.tx(readRequest({ psn: 0, reth }));
    await byRequest.expectNak(0x62, 0);
  });
}

/** The event comes for this queue pair when it enters ERR, not before and not again. */
async function toldOnce(t: Tester, peer: TesterPeer, fail: () => Promise<unknown>): Promise<void> {
  const name = 'qp-last-wqe-reached';
  const { events } = await t.hostControl.call('events', {});
  demand(countOf(name, events) === 0, `the event ${name} came in RTS`);
  await fail();
  await peer.expectState('ERR');
  const { qp } = await t.event(name);
  demand(qp === peer.qp, `the event ${name} names queue pair ${qp}, not ${peer.qp}`);
  await t.sleep(t.dut.quietNs);
  const later = (await t.hostControl.call('events', {})).events;
  demand(countOf(name, later) === 0, `the event ${name} came twice`);
}
