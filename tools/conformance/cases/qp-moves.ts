/** Attributes of ibv_modify_qp for each move of each type of queue pair, and queue pairs of the device in any state. */
import type { HostQpAttributes, QpStateName, QpTypeName } from '../host-control/host-control.ts';
import { register } from '../tester/connect.ts';
import { Inconclusive } from '../tester/outcome.ts';
import type { TesterPeer } from '../tester/peer.ts';
import type { Tester } from '../tester/tester.ts';

export const STATES: readonly QpStateName[] = ['RESET', 'INIT', 'RTR', 'RTS', 'SQD', 'SQE', 'ERR'];
export type Move = 'INIT' | 'RTR' | 'RTS';
export const MOVES: readonly Move[] = ['INIT', 'RTR', 'RTS'];

/** Types of queue pair that the device has. */
export const typesOf = (t: Tester): readonly QpTypeName[] =>
  (['rc', 'uc', 'ud'] as const).filter((type) => type === 'rc' || t.has(type));

/** What each move needs, and nothing else (ibv_modify_qp(3)). PSNs are `offset` beyond the first ones of the peer. */
export function attributesOf(t: Tester, peer: TesterPeer, offset = 0): Readonly<Record<Move, HostQpAttributes>> {
  const { type, qpn, firstPsn, dutFirstPsn, mtu } = peer;
  const { gidIndex, ours } = t.address();
  const sqPsn = (dutFirstPsn + offset) & 0xff_ff_ff;
  const rqPsn = (firstPsn + offset) & 0xff_ff_ff;
  if (type === 'ud') return { INIT: { port: 1, pkeyIndex: 0, qkey: 0x1111_2222 }, RTR: {}, RTS: { sqPsn } };
  const path = { destination: ours.toString(), sgidIndex: gidIndex };
  const reliable = type === 'rc';
  const reads = Math.min(4, t.hostControl.description.maxQpRdAtomic);
  return {
    INIT: { port: 1, pkeyIndex: 0, access: reliable ? ['remote-write', 'remote-read'] : ['remote-write'] },
    RTR: { path, destQpn: qpn, rqPsn, mtu, ...(reliable ? { maxDestRdAtomic: reads, minRnrTimer: 12 } : {}) },
    RTS: { sqPsn, ...(reliable ? { timeout: 14, retryCnt: 3, rnrRetry: 3, maxRdAtomic: reads } : {}) },
  };
}

/**
 * A fresh queue pair of the device in `state`. SQE is reached by a local error, where the device goes there: else
 * undefined.
 */
export async function inState(t: Tester, type: QpTypeName, state: QpStateName): Promise<TesterPeer | undefined> {
  if (state === 'RESET' || state === 'INIT' || state === 'RTR' || state === 'RTS')
    return t.connect({ type, state, receives: 0 });
  const peer = await t.connect({ type, receives: 0 });
  if (state === 'SQE') {
    if (type === 'rc') return undefined;
    await failLocally(t, peer);
    await t.sleep(t.dut.pollNs);
  } else await peer.modify({ state });
  const now = await peer.state();
  if (state === 'SQE' && now !== state) return undefined;
  if (now !== state) throw new Inconclusive(`the queue pair was moved to ${state}, and is in ${now}`);
  return peer;
}

/** Gives it a send that fails on its own host, and waits for the completion. Returns its status. */
export async function failLocally(t: Tester, peer: TesterPeer): Promise<number> {
  const { mr, region } = register(t, peer.pd, 64, ['local-write']);
  const { lkey } = await region;
  const request = { wrId: 99, opcode: 'send', pieces: [{ mr, offset: 0, length: 64, lkey: wrongKey(lkey) }] } as const;
  if (peer.type === 'ud') {
    const { gidIndex, ours } = t.address();
    const ah = t.handle();
    await t.hostControl.call('ah.create', { ah, pd: peer.pd, destination: ours.toString(), sgidIndex: gidIndex });
    await peer.post({ ...request, ah, remoteQpn: peer.qpn, remoteQkey: 1 });
  } else await peer.post(request);
  const [completion] = await peer.sendCompletions(1);
  return completion?.status ?? 0;
}

/** A key that opens nothing: another index, the same variant. */
export const wrongKey = (key: number): number => (key ^ 0x2a_aa_00_00) >>> 0;
