/**
 * Completions compared whole, for every rule: status, operation, bytes, immediate data, invalidated key, queue pair,
 * and of datagrams the sender and the GRH. Owns which fields mean something where (ibv_poll_cq(3)): of a failure only
 * the work request, the status and the queue pair; bytes of a send only for READ and atomics; source and GRH on UD
 * only. Whether a receive was solicited is in no completion: its event shows it (QPS-22).
 */
import { WcOpcode, WcStatus } from 'rocev2/transport';
import type { HostCompletion, SendRequest } from '../host-control/host-control.ts';
import { demand } from './outcome.ts';

/** A receive that completed well. */
export interface Reception {
  readonly wrId: number;
  /** Of a datagram the header area too. */
  readonly byteLen: number;
  /** It was taken by an RDMA WRITE with immediate; default by a SEND. */
  readonly byWrite?: boolean;
  /** Default: there is none, and the completion may name none. */
  readonly imm?: number | undefined;
  /** Key that a SEND with invalidate has invalidated. Default: none. */
  readonly invalidated?: number | undefined;
  /** UD: the queue pair that sent. */
  readonly srcQp?: number;
}

/** A receive that failed: with this status, or with any but success. */
export interface FailedReception {
  readonly wrId: number;
  readonly failed: WcStatus | 'any';
}

/** @throws Violation where any field of the completion of a receive is another */
export function demandReception(
  found: HostCompletion | undefined,
  wanted: Reception | FailedReception,
  qpn: number,
  what = `receive ${wanted.wrId}`,
): asserts found is HostCompletion {
  demand(found !== undefined, `${what} was to complete, and nothing did`);
  const faults = 'failed' in wanted ? failureFaults(found, wanted) : receptionFaults(found, wanted);
  demand(
    faults.length === 0 && found.qpn === qpn,
    () => `${what}: ${[...faults, ...faultIf('queue pair', found.qpn, qpn)].join(', ')}; ${describeCompletion(found)}`,
  );
}

/** @throws Violation where any field of the completion of one of `posted` is another; a failure has any status */
export function demandSent(found: HostCompletion, posted: readonly SendRequest[] | undefined, qpn: number): void {
  demand(posted !== undefined, () => `work that was never posted completed: ${describeCompletion(found)}`);
  const faults = faultIf('queue pair', found.qpn, qpn);
  const ways = posted.map((request) => (found.status === WcStatus.Success ? sendFaults(found, request) : []));
  const best = ways.reduce((a, b) => (b.length < a.length ? b : a), ways[0] ?? []);
  demand(faults.length + best.length === 0, () => `${[...faults, ...best].join(', ')}; ${describeCompletion(found)}`);
}

/** In words. */
export function describeCompletion({ wrId, status, opcode, byteLen, qpn, imm, srcQp }: HostCompletion): string {
  const head = `work ${wrId} of queue pair 0x${qpn.toString(16)} completed with status ${status}`;
  if (status !== WcStatus.Success) return head;
  const more = [imm === undefined ? '' : `, immediate 0x${imm.toString(16)}`, srcQp === 0 ? '' : `, from ${srcQp}`];
  return `${head}, operation ${opcode}, ${byteLen} bytes${more.join('')}`;
}

const faultIf = (name: string, found: unknown, wanted: unknown): string[] =>
  found === wanted ? [] : [`${name} ${found} for ${wanted}`];

function failureFaults({ wrId, status }: HostCompletion, { wrId: wanted, failed }: FailedReception): string[] {
  const asWanted = failed === 'any' ? status !== WcStatus.Success : status === failed;
  return [
    ...faultIf('work request', wrId, wanted),
    ...(asWanted ? [] : [`status ${status} for ${failed === 'any' ? 'a failure' : failed}`]),
  ];
}

function receptionFaults(found: HostCompletion, wanted: Reception): string[] {
  const { byWrite = false, srcQp } = wanted;
  return [
    ...faultIf('work request', found.wrId, wanted.wrId),
    ...faultIf('status', found.status, WcStatus.Success),
    ...faultIf('operation', found.opcode, byWrite ? WcOpcode.RecvRdmaWithImm : WcOpcode.Recv),
    ...faultIf('bytes', found.byteLen, wanted.byteLen),
    ...faultIf('immediate', found.imm, wanted.imm),
    ...faultIf('invalidated key', found.invalidatedRkey, wanted.invalidated),
    ...(srcQp === undefined ? [] : [...faultIf('source', found.srcQp, srcQp), ...faultIf('GRH', found.grh, true)]),
  ];
}

function sendFaults(found: HostCompletion, { wrId, opcode, pieces = [] }: SendRequest): string[] {
  const bytes = pieces.reduce((sum, { length }) => sum + length, 0);
  const counted = opcode === 'read' || opcode === 'fetch-add' || opcode === 'cmp-swap';
  return [
    ...faultIf('work request', found.wrId, wrId),
    ...faultIf('operation', found.opcode, OPERATIONS[opcode]),
    ...(counted ? faultIf('bytes', found.byteLen, bytes) : []),
  ];
}

const OPERATIONS: Readonly<Record<SendRequest['opcode'], number>> = {
  send: WcOpcode.Send,
  'send-imm': WcOpcode.Send,
  'send-inv': WcOpcode.Send,
  write: WcOpcode.RdmaWrite,
  'write-imm': WcOpcode.RdmaWrite,
  read: WcOpcode.RdmaRead,
  'cmp-swap': WcOpcode.CompSwap,
  'fetch-add': WcOpcode.FetchAdd,
  'bind-mw': WcOpcode.BindMw,
  'local-inv': WcOpcode.LocalInv,
  flush: WcOpcode.Flush,
  'atomic-write': WcOpcode.AtomicWrite,
};
