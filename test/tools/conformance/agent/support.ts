/**
 * What the live tests of the agent share: host control in a guest, queue pairs that speak to one another, and waiting
 * by asking.
 */

import { defined } from '../../../../packets/defined.ts';
import { startAgent } from '../../../../tools/conformance/agent/in-guest.ts';
import { AgentClient } from '../../../../tools/conformance/host-control/client.ts';
import type {
  AccessFlag,
  HostCalls,
  HostCompletion,
  HostControl,
  PathAttributes,
  QpTypeName,
} from '../../../../tools/conformance/host-control/host-control.ts';
import type { Guest } from '../../../../tools/lab/guest.ts';

export const ADDRESS = '10.77.0.2';
export const PORT = 7471;
export const RIGHTS: readonly AccessFlag[] = ['local-write', 'remote-write', 'remote-read', 'remote-atomic', 'mw-bind'];
/** 3000 questions take a second or more. */
const QUESTIONS_MAX = 60_000;

export type Region = HostCalls['mr.reg']['gives'];

/** Where the guest reaches itself: its second GID is its IPv4 address. */
export const HOME: PathAttributes = { destination: ADDRESS, sgidIndex: 1 };

/** Host control of a fresh agent. */
export async function takeHostControl(guest: Guest): Promise<AgentClient> {
  const { socket } = await startAgent(guest);
  return AgentClient.open(socket, { answerTimeoutMs: 60_000 });
}

/** A domain, a completion queue and a region of 8 KiB, each the first of its kind. */
export async function furnish(hostControl: HostControl, access = RIGHTS): Promise<Region> {
  const made = [hostControl.call('pd.alloc', { pd: 1 }), hostControl.call('cq.create', { cq: 1, entries: 64 })];
  const region = await hostControl.call('mr.reg', { mr: 1, pd: 1, length: 8192, access });
  await Promise.all(made);
  return region;
}

export async function makeQp(hostControl: HostControl, qp: number, type: QpTypeName, srq?: number): Promise<number> {
  const queues = {
    sendCq: 1,
    recvCq: 1,
    maxSendWr: 16,
    maxRecvWr: srq === undefined ? 16 : 0,
    maxSge: 2,
    maxInline: 64,
  };
  const made = await hostControl.call('qp.create', {
    qp,
    pd: 1,
    type,
    ...queues,
    ...defined({ srq }),
  });
  return made.qpn;
}

/** RESET to RTR, towards a queue pair of the same device. */
export async function toRtr(hostControl: HostControl, qp: number, destQpn: number, access = RIGHTS): Promise<void> {
  await hostControl.call('qp.modify', { qp, state: 'INIT', port: 1, pkeyIndex: 0, access });
  const ahead = { destQpn, rqPsn: 0x10_00_00, mtu: 1024, maxDestRdAtomic: 4, minRnrTimer: 1 };
  await hostControl.call('qp.modify', { qp, state: 'RTR', path: HOME, ...ahead });
}

export async function toRts(hostControl: HostControl, qp: number): Promise<void> {
  const patience = { timeout: 10, retryCnt: 3, rnrRetry: 3, maxRdAtomic: 4 };
  await hostControl.call('qp.modify', { qp, state: 'RTS', sqPsn: 0x10_00_00, ...patience });
}

/** Two RC queue pairs, 1 and 2, ready to send to one another; 2 takes receives from `srq` where it is given. */
export async function connectPair(hostControl: HostControl, srq?: number): Promise<void> {
  const first = await makeQp(hostControl, 1, 'rc');
  const second = await makeQp(hostControl, 2, 'rc', srq);
  await toRtr(hostControl, 1, second);
  await toRtr(hostControl, 2, first);
  await toRts(hostControl, 1);
  await toRts(hostControl, 2);
}

/** The next `count` completions, by the number of their request. */
export async function completions(
  hostControl: HostControl,
  count: number,
): Promise<ReadonlyMap<number, HostCompletion>> {
  const found = new Map<number, HostCompletion>();
  for (let questions = 0; found.size < count && questions < QUESTIONS_MAX; questions++) {
    const polled = await hostControl.call('cq.poll', { cq: 1, max: 16 });
    for (const completion of polled.completions) found.set(completion.wrId, completion);
  }
  return found;
}

/** Asks until what is asked for is there. */
export async function eventually<T>(ask: () => Promise<T>, enough: (answer: T) => boolean): Promise<T> {
  let answer = await ask();
  for (let questions = 0; !enough(answer) && questions < QUESTIONS_MAX; questions++) answer = await ask();
  return answer;
}

type CmEvent = HostCalls['cm.events']['gives']['events'][number];

/** Events of the connection manager until each of `names` has come as often as it is named. */
export async function cmEvents(hostControl: HostControl, names: readonly string[]): Promise<readonly CmEvent[]> {
  const seen: CmEvent[] = [];
  const missing = (): boolean =>
    names.some((name) => seen.filter(({ event }) => event === name).length < names.filter((n) => n === name).length);
  await eventually(
    async () => {
      seen.push(...(await hostControl.call('cm.events', {})).events);
      return missing();
    },
    (lacks) => !lacks,
  );
  return seen;
}

export async function bytesAt(hostControl: HostControl, offset: number, length: number, mr = 1): Promise<string> {
  return (await hostControl.call('mem.read', { mr, offset, length })).hex;
}
