/**
 * Cases of area QPS that the host's verbs answer alone: what is refused, in which state (QPS-01 to QPS-03, -09, -10,
 * -14, -16, -20).
 */
import { Op } from 'rocev2/packets';
import { WcStatus } from 'rocev2/transport';
import {
  HostControlError,
  type HostQpAttributes,
  type QpStateName,
  type QpTypeName,
} from '../host-control/host-control.ts';
import type { Case } from '../tester/case.ts';
import { register } from '../tester/connect.ts';
import { demand } from '../tester/outcome.ts';
import type { TesterPeer } from '../tester/peer.ts';
import type { Tester } from '../tester/tester.ts';
import { attributesOf, inState, MOVES, STATES, typesOf } from './qp-moves.ts';

export const QPS_VERB_CASES: readonly Case[] = [
  { rules: ['QPS-01'], needs: ['host-control'], run: refusesEarlySends },
  { rules: ['QPS-01'], title: 'nothing is left of it', needs: ['host-control'], run: forgetsRefusedSends },
  { rules: ['QPS-02'], needs: ['host-control'], run: flushesLateSends },
  { rules: ['QPS-03'], needs: ['host-control'], run: refusesReceivesInReset },
  { rules: ['QPS-09'], needs: ['host-control'], run: demandsAttributes },
  { rules: ['QPS-10'], needs: ['host-control'], run: refusesOtherTransitions },
  { rules: ['QPS-14'], needs: ['host-control'], run: keepsUsedQueues },
  { rules: ['QPS-16'], needs: ['ud'], run: refusesForeignAddressHandles },
  { rules: ['QPS-20'], needs: ['host-control'], run: honoursDepths },
];

/** A work request that any type can have posted. */
async function sendFrom(t: Tester, peer: TesterPeer, wrId: number): Promise<void> {
  const { mr, region } = register(t, peer.pd, 64, ['local-write']);
  await region;
  const request = { wrId, opcode: 'send', pieces: [{ mr, offset: 0, length: 64 }] } as const;
  if (peer.type !== 'ud') return peer.post(request);
  const { gidIndex, ours } = t.address();
  const ah = t.handle();
  await t.hostControl.call('ah.create', { ah, pd: peer.pd, destination: ours.toString(), sgidIndex: gidIndex });
  await peer.post({ ...request, ah, remoteQpn: peer.qpn, remoteQkey: 1 });
}

async function refusesEarlySends(t: Tester): Promise<void> {
  for (const type of typesOf(t))
    for (const state of ['RESET', 'INIT', 'RTR'] as const) {
      const peer = await t.connect({ type, state, receives: 0 });
      await t.refused(`a send on ${type.toUpperCase()} in ${state}`, () => sendFrom(t, peer, 1));
    }
}

/** A send that was refused is not done later. */
async function forgetsRefusedSends(t: Tester): Promise<void> {
  for (const state of ['RESET', 'INIT', 'RTR'] as const) {
    const peer = await t.connect({ state, receives: 0 });
    const moves = attributesOf(t, peer);
    await t.refused(`a send in ${state}`, () => peer.post({ wrId: 1, opcode: 'send', pieces: [] }));
    for (const move of MOVES.slice(['RESET', 'INIT', 'RTR'].indexOf(state)))
      await peer.modify({ state: move, ...moves[move] });
    await peer.post({ wrId: 2, opcode: 'send', pieces: [] });
    const { packet } = await peer.rx({ opcode: Op.SendOnly, psn: 0 });
    const second = await peer.take(t.dut.quietNs);
    demand(second === undefined, `a send that was refused in ${state} left in RTS`);
    peer.ack(packet.psn, 1);
    const [completion] = await peer.sendCompletions(1);
    demand(completion?.wrId === 2, `of a refused and a good send, number ${completion?.wrId} completed`);
  }
}

async function flushesLateSends(t: Tester): Promise<void> {
  for (const type of typesOf(t))
    for (const state of ['ERR', 'SQE'] as const) {
      const peer = await inState(t, type, state);
      if (peer === undefined) {
        if (type !== 'rc') t.note(`${type.toUpperCase()} does not get into SQE by a local error`);
        continue;
      }
      for (const wrId of [1, 2]) await sendFrom(t, peer, wrId);
      for (const { wrId, status } of await peer.sendCompletions(2))
        demand(
          status === WcStatus.WrFlushErr,
          `send ${wrId} on ${type.toUpperCase()} in ${state} completed with status ${status}, not flushed`,
        );
    }
}

async function refusesReceivesInReset(t: Tester): Promise<void> {
  for (const type of typesOf(t)) {
    const peer = await t.connect({ type, state: 'RESET', receives: 0 });
    await t.refused(`a receive on ${type.toUpperCase()} in RESET`, () => peer.postReceive(1));
    await peer.modify({ state: 'INIT', ...attributesOf(t, peer).INIT });
    await peer.postReceive(2);
  }
}

async function demandsAttributes(t: Tester): Promise<void> {
  for (const type of typesOf(t)) {
    const peer = await t.connect({ type, state: 'RESET', receives: 0 });
    let from: QpStateName = 'RESET';
    for (const move of MOVES) {
      const all = attributesOf(t, peer)[move];
      for (const name of Object.keys(all)) {
        const less = Object.fromEntries(Object.entries(all).filter(([other]) => other !== name));
        const what = `${type.toUpperCase()} from ${from} to ${move} without ${name}`;
        await t.refused(what, () => peer.modify({ state: move, ...less }));
        const now = await peer.state();
        demand(now === from, `${what} was refused, and yet the queue pair is in ${now}`);
      }
      await peer.modify({ state: move, ...all });
      demand((await peer.state()) === move, `${type.toUpperCase()} did not get to ${move}`);
      from = move;
    }
  }
}

/** Which states follow which (Linux, ib_modify_qp_is_ok). */
const FOLLOWS: Readonly<Record<QpStateName, readonly QpStateName[]>> = {
  RESET: ['RESET', 'INIT'],
  INIT: ['RESET', 'INIT', 'RTR', 'ERR'],
  RTR: ['RESET', 'RTS', 'ERR'],
  RTS: ['RESET', 'RTS', 'SQD', 'ERR'],
  SQD: ['RESET', 'RTS', 'SQD', 'ERR'],
  SQE: ['RESET', 'RTS', 'ERR'],
  ERR: ['RESET', 'ERR'],
};

async function refusesOtherTransitions(t: Tester): Promise<void> {
  for (const from of STATES) {
    const type = from === 'SQE' ? (typesOf(t).find((one) => one !== 'rc') ?? 'rc') : 'rc';
    const peer = await inState(t, type, from);
    if (peer === undefined) {
      t.note('SQE was not reached: its row was not tried');
      continue;
    }
    for (const to of STATES) {
      if (FOLLOWS[from].includes(to)) await takes(t, type, from, to);
      // Whether the user may send a queue pair from RESET to ERR the tables do not agree.
      else if (from !== 'RESET' || to !== 'ERR') await refuses(t, peer, from, to);
    }
  }
}

async function takes(t: Tester, type: QpTypeName, from: QpStateName, to: QpStateName): Promise<void> {
  const peer = await inState(t, type, from);
  if (peer === undefined) return;
  const step = MOVES.indexOf(to as (typeof MOVES)[number]) - ['RESET', 'INIT', 'RTR'].indexOf(from);
  const attributes: HostQpAttributes = step === 0 ? attributesOf(t, peer)[to as (typeof MOVES)[number]] : {};
  const done = await taken(() => peer.modify({ state: to, ...attributes }));
  demand(done, `the way from ${from} to ${to} was refused`);
  const now = await peer.state();
  demand(now === to, `it was moved from ${from} to ${to}, and is in ${now}`);
}

/** With all that the state needs, and with nothing but its name: the transition is refused, not its attributes. */
async function refuses(t: Tester, peer: TesterPeer, from: QpStateName, to: QpStateName): Promise<void> {
  const all: Readonly<Partial<Record<QpStateName, HostQpAttributes>>> = attributesOf(t, peer);
  for (const attributes of [all[to] ?? {}, {}]) {
    await t.refused(`the way from ${from} to ${to}`, () => peer.modify({ state: to, ...attributes }));
    const now = await peer.state();
    demand(now === from, `the way from ${from} to ${to} was refused, and yet the queue pair is in ${now}`);
  }
}

async function keepsUsedQueues(t: Tester): Promise<void> {
  const peer = await t.connect({ receives: 1 });
  for (const [name, cq] of [
    ['send', peer.sendCq],
    ['receive', peer.recvCq],
  ] as const)
    await t.refused(`to destroy the ${name} completion queue of a queue pair`, () =>
      t.hostControl.call('cq.destroy', { cq }),
    );
  await peer.expectNextPsn(0, 1);
  await t.hostControl.call('qp.destroy', { qp: peer.qp });
  for (const cq of [peer.sendCq, peer.recvCq]) await t.hostControl.call('cq.destroy', { cq });
}

async function refusesForeignAddressHandles(t: Tester): Promise<void> {
  const peer = await t.connect({ type: 'ud', receives: 0 });
  const { gidIndex, ours } = t.address();
  const [pd, ah] = [t.handle(), t.handle()];
  await t.hostControl.call('pd.alloc', { pd });
  await t.hostControl.call('ah.create', { ah, pd, destination: ours.toString(), sgidIndex: gidIndex });
  const { mr, region } = register(t, peer.pd, 64, ['local-write']);
  await region;
  const pieces = [{ mr, offset: 0, length: 64 }];
  try {
    await peer.post({ wrId: 1, opcode: 'send', pieces, ah, remoteQpn: peer.qpn, remoteQkey: 1 });
  } catch (error) {
    if (error instanceof HostControlError && error.kind === 'refused') return t.note('it is refused at once');
    throw error;
  }
  const [completion] = await peer.sendCompletions(1);
  demand(
    completion?.status !== WcStatus.Success,
    'a datagram with an address handle of another protection domain was sent',
  );
  t.note(`it completes with status ${completion?.status}`);
}

async function honoursDepths(t: Tester): Promise<void> {
  const most = t.hostControl.description.maxQpRdAtomic;
  const values = [0, 1, 2, 3, 4, 5, 7, most - 1, most, most + 1].filter((n, i, all) => n >= 0 && all.indexOf(n) === i);
  const wrong: string[] = [];
  for (const value of values) {
    const peer = await t.connect({ state: 'INIT', receives: 0 });
    const { RTR, RTS } = attributesOf(t, peer);
    const rtr = { ...RTR, maxDestRdAtomic: value };
    if (!(await taken(() => peer.modify({ state: 'RTR', ...rtr })))) await peer.modify({ state: 'RTR', ...RTR });
    else if ((await query(t, peer)).maxDestRdAtomic !== value) wrong.push(`max_dest_rd_atomic ${value}`);
    if (!(await taken(() => peer.modify({ state: 'RTS', ...RTS, maxRdAtomic: value })))) continue;
    if ((await query(t, peer)).maxRdAtomic !== value) wrong.push(`max_rd_atomic ${value}`);
  }
  demand(wrong.length === 0, () => `neither refused nor as asked: ${wrong.join(', ')}`);
}

const query = (t: Tester, peer: TesterPeer) => t.hostControl.call('qp.query', { qp: peer.qp });

async function taken(call: () => Promise<unknown>): Promise<boolean> {
  try {
    await call();
    return true;
  } catch (error) {
    if (error instanceof HostControlError && error.kind === 'refused') return false;
    throw error;
  }
}
