/** Cases of area XRC: a target of the device, and shared receive queues of its domain. */
import { Op, Service } from 'rocev2/packets';
import { pattern, readRequest, sendOnly, writeOnly, xrc } from 'rocev2/packets/kit';
import type { HostHandle } from '../host-control/host-control.ts';
import type { Case } from '../tester/case.ts';
import { demandReception } from '../tester/completion.ts';
import { ALL_ACCESS, register } from '../tester/connect.ts';
import { demand, Inconclusive } from '../tester/outcome.ts';
import type { Region, TesterPeer } from '../tester/peer.ts';
import type { Tester } from '../tester/tester.ts';
import { sameBytes } from './memory.ts';

export const XRC_CASES: readonly Case[] = [
  { rules: ['XRC-01'], needs: ['host-control', 'xrc'], run: takesTheNamed },
  { rules: ['XRC-02'], needs: ['host-control', 'xrc'], run: refusesOthers },
  { rules: ['XRC-03'], needs: ['host-control', 'xrc'], run: checksKeysThere },
  { rules: ['XRC-04'], needs: ['host-control', 'xrc'], run: dropsOtherClasses },
  { rules: ['XRC-05'], needs: ['host-control', 'xrc'], run: waitsForTheNamed },
];

/** A shared receive queue of a domain, with a protection domain, a CQ and memory of its own. */
interface Queue {
  readonly srqn: number;
  readonly srq: HostHandle;
  readonly cq: HostHandle;
  readonly region: Region;
}

async function queueOf(t: Tester, xrcd: HostHandle, receives: number): Promise<Queue> {
  const [pd, srq, cq] = [t.handle(), t.handle(), t.handle()];
  await t.hostControl.call('pd.alloc', { pd });
  await t.hostControl.call('cq.create', { cq, entries: 16 });
  const { srqn } = await t.hostControl.call('srq.create', { srq, pd, maxWr: 16, xrcd, cq });
  if (srqn === undefined) throw new Inconclusive('a shared receive queue of an XRC domain has no number');
  const queue = { srqn, srq, cq, region: await register(t, pd, 4096, ALL_ACCESS).region };
  for (let i = 0; i < receives; i++) await postTo(t, queue, i + 1);
  return queue;
}

const postTo = (t: Tester, { srq, region }: Queue, wrId: number): Promise<unknown> =>
  t.hostControl.call('srq.recv', {
    ...{ srq, wrId, pieces: [{ mr: t.need(region.mr), offset: (wrId - 1) * PLACE, length: PLACE }] },
  });

const targetOf = (t: Tester, xrcd: HostHandle): Promise<TesterPeer> => t.connect({ xrcd, state: 'RTR', receives: 0 });

/** The next receive of the queue is this one, compared whole, and holds these bytes. */
async function takes(t: Tester, peer: TesterPeer, queue: Queue, wrId: number, data: Uint8Array): Promise<void> {
  const [found] = await t.completions(queue.cq, 1);
  demandReception(found, { wrId, byteLen: data.length }, peer.dutQpn);
  const stored = await t.memory(queue.region, (wrId - 1) * PLACE, data.length);
  demand(sameBytes(stored, data), `receive ${wrId} does not hold what was sent`);
}

async function idle(t: Tester, { cq, srqn }: Queue): Promise<void> {
  const { completions } = await t.hostControl.call('cq.poll', { cq, max: 16 });
  demand(completions.length === 0, `receives of queue 0x${srqn.toString(16)} completed, which was not named`);
}

const ACK = Op.Acknowledge | Service.Xrc;

async function takesTheNamed(t: Tester): Promise<void> {
  const xrcd = t.handle();
  const [one, other] = [await queueOf(t, xrcd, 4), await queueOf(t, xrcd, 4)];
  const peer = await targetOf(t, xrcd);
  for (const [psn, [queue, idler, wrId]] of (
    [
      [other, one, 1],
      [other, one, 2],
      [one, other, 1],
      [other, one, 3],
    ] as const
  ).entries()) {
    const data = pattern(40 + psn, psn + 1);
    peer.tx(xrc(sendOnly({ psn, ackReq: true, payload: data }), queue.srqn));
    await peer.rx({ opcode: ACK, psn, syndrome: 0x1f, msn: psn + 1 });
    await takes(t, peer, queue, wrId, data);
    await idle(t, idler);
  }
}

async function refusesOthers(t: Tester): Promise<void> {
  const [xrcd, elsewhere] = [t.handle(), t.handle()];
  const own = await queueOf(t, xrcd, 2);
  const foreign = await queueOf(t, elsewhere, 2);
  for (const srqn of [foreign.srqn, (own.srqn ^ 0x5a_5a_5a) & 0xff_ff_ff]) {
    const peer = await targetOf(t, xrcd);
    peer.tx(xrc(sendOnly({ psn: 0, ackReq: true, payload: pattern(8) }), srqn));
    await peer.rx({ opcode: ACK, psn: 0, syndrome: 0x62 });
    await idle(t, own);
    await idle(t, foreign);
  }
}

async function checksKeysThere(t: Tester): Promise<void> {
  const xrcd = t.handle();
  const [one, other] = [await queueOf(t, xrcd, 1), await queueOf(t, xrcd, 1)];
  const peer = await targetOf(t, xrcd);
  const write = (psn: number, { region }: Queue, seed: number) => {
    const reth = { va: region.va + 2048n, rkey: region.rkey, length: 8 };
    return writeOnly({ psn, ackReq: true, payload: pattern(8, seed), reth });
  };
  for (const [psn, queue] of [one, other].entries()) {
    peer.tx(xrc(write(psn, queue, psn + 1), queue.srqn));
    await peer.rx({ opcode: ACK, psn, syndrome: 0x1f });
    demand(sameBytes(await t.memory(queue.region, 2048, 8), pattern(8, psn + 1)), 'a WRITE was not stored');
  }
  peer.tx(xrc(write(2, other, 7), one.srqn));
  await peer.rx({ opcode: ACK, psn: 2, syndrome: 0x62 });
  demand(sameBytes(await t.memory(other.region, 2048, 8), pattern(8, 2)), 'a WRITE with a foreign key was stored');
}

async function dropsOtherClasses(t: Tester): Promise<void> {
  const xrcd = t.handle();
  const queue = await queueOf(t, xrcd, 2);
  const peer = await targetOf(t, xrcd);
  peer.tx(sendOnly({ psn: 0, ackReq: true, payload: pattern(8, 5) }));
  const { va, rkey } = queue.region;
  peer.tx(xrc(readRequest({ psn: 0, reth: { va, rkey, length: 0 } }), queue.srqn));
  await peer.rx({ opcode: Op.ReadResponseOnly | Service.Xrc, psn: 0 });
  await idle(t, queue);
  const plain = await t.connect();
  plain.tx(xrc(sendOnly({ psn: 0, ackReq: true, payload: pattern(8, 5) }), queue.srqn));
  await plain.expectNextPsn(0, 1);
  await idle(t, queue);
}

async function waitsForTheNamed(t: Tester): Promise<void> {
  const xrcd = t.handle();
  const [empty, full] = [await queueOf(t, xrcd, 0), await queueOf(t, xrcd, 2)];
  const peer = await targetOf(t, xrcd);
  const send = xrc(sendOnly({ psn: 0, ackReq: true, payload: pattern(16, 3) }), empty.srqn);
  peer.tx(send);
  await peer.rx({ opcode: ACK, psn: 0, syndrome: 0x20 | RNR_TIMER });
  await idle(t, full);
  await postTo(t, empty, 1);
  peer.tx(send);
  await peer.rx({ opcode: ACK, psn: 0, syndrome: 0x1f });
  await takes(t, peer, empty, 1, pattern(16, 3));
  await idle(t, full);
}

/** min_rnr_timer of a connection when a case does not say. */
const RNR_TIMER = 12;
/** Bytes of a receive. */
const PLACE = 256;
