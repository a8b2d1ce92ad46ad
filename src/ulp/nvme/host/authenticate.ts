/**
 * Authentication of one queue of a host, right after its Connect or again later: Authentication Send and Receive with
 * the messages of `auth/host-side.ts`.
 *
 * Owns when it is done, how long it may take, and with which error it fails. Rules: ref:nvmeof#5.
 */
import { RoceError } from '../../../../packets/errors.ts';
import { type HostOutcome, HostSide } from '../auth/host-side.ts';
import { AUTHENTICATION, type ConnectResult, FABRICS_OPCODE, FabricsType, SECP_NVME } from '../codec/index.ts';
import { NvmeAuthenticationError, NvmeError } from './errors.ts';
import { type HostCredentials, MS, type NvmeTimers } from './options.ts';
import { HostRequest } from './request.ts';

/** What it needs of a queue. */
export interface AuthenticationWay {
  readonly qid: number;
  /** Sends a command, now or when there is a slot. */
  send(request: HostRequest): void;
  /** Ends the queue. */
  kill(reason: Error): void;
}

/** Who proves what to whom, and in which time. */
export interface AuthenticationTerms extends AuthenticationDemand {
  readonly credentials: HostCredentials | undefined;
}

/** Between whom, and in which time. */
export interface AuthenticationDemand {
  readonly hostNqn: string;
  readonly subNqn: string;
  readonly timers: NvmeTimers;
  /** For the whole exchange, in milliseconds; 0: no limit. */
  readonly timeoutMs: number;
}

/**
 * Does what the result of Connect demands. Rejects with NvmeAuthenticationError when one side does not prove itself,
 * with NvmeError when the controller refuses a command, with ERR_ROCE_TIMEOUT, and with ERR_ROCE_UNSUPPORTED for a
 * secure channel. The queue is to be closed then.
 */
export async function authenticateQueue(
  queue: AuthenticationWay,
  { authRequired, secureChannelRequired }: ConnectResult,
  terms: AuthenticationTerms,
): Promise<void> {
  const { credentials } = terms;
  if (secureChannelRequired)
    throw new RoceError('ERR_ROCE_UNSUPPORTED', 'the controller demands a secure channel, which RDMA does not have');
  // Whoever is in the place of a controller with a secret need not ask for ours: its proof is asked for in any case.
  if (!authRequired && credentials?.controllerSecret === undefined) return;
  if (credentials === undefined)
    throw new NvmeAuthenticationError('the controller demands authentication, and there is no hostSecret');
  await prove(queue, credentials, terms, !authRequired);
}

/**
 * The same on a queue that is in use, whatever its Connect has demanded: each side proves itself anew. Rejects as
 * `authenticateQueue`; with NvmeError where a controller without `controllerSecret` knows no authentication.
 */
export async function authenticateAgain(
  queue: AuthenticationWay,
  credentials: HostCredentials,
  terms: AuthenticationDemand,
): Promise<void> {
  await prove(queue, credentials, terms, credentials.controllerSecret !== undefined);
}

/** `oursAlone`: a controller that does not take part is one that gives no proof. */
async function prove(
  queue: AuthenticationWay,
  credentials: HostCredentials,
  terms: AuthenticationDemand,
  oursAlone: boolean,
): Promise<void> {
  const cancel = deadline(queue, terms.timers, terms.timeoutMs, 'end the authentication');
  try {
    await exchange(queue, credentials, terms);
  } catch (cause) {
    if (oursAlone && cause instanceof NvmeError)
      throw new NvmeAuthenticationError(`the controller gives no proof of controllerSecret: ${cause.message}`);
    if (!(cause instanceof RoceError && cause.code === 'ERR_ROCE_CLOSED')) throw cause;
    // Linux's target disconnects so soon after a wrong secret that its reason is often lost.
    const what = 'the connection ended in the middle of the authentication, as it may where a secret is wrong';
    throw new RoceError('ERR_ROCE_CLOSED', `${what}: ${cause.message}`, { cause });
  } finally {
    cancel();
  }
}

async function exchange(
  queue: AuthenticationWay,
  credentials: HostCredentials,
  { hostNqn, subNqn }: AuthenticationDemand,
): Promise<void> {
  const number = credentials.suite.random(2);
  const transaction = (number[0] ?? 0) | ((number[1] ?? 0) << 8);
  const side = new HostSide({ ...credentials, hostNqn, subNqn }, transaction);
  await sendMessage(queue, side.negotiate());
  await follow(queue, await side.challenged(await receiveMessage(queue)));
  await follow(queue, await side.succeeded(await receiveMessage(queue)));
}

/** Sends what there is to send; throws for a failure. */
async function follow(queue: AuthenticationWay, { send, failure, told }: HostOutcome): Promise<void> {
  if (failure === undefined) {
    if (send !== undefined) await sendMessage(queue, send);
    return;
  }
  const error = new NvmeAuthenticationError(
    told === true ? 'the controller refuses this host' : 'the controller is not trusted',
    failure,
  );
  try {
    if (send !== undefined) await sendMessage(queue, send);
  } catch (cause) {
    // The controller need not hear why.
    if (!(cause instanceof RoceError)) throw cause;
  }
  throw error;
}

async function sendMessage(queue: AuthenticationWay, message: Uint8Array): Promise<void> {
  const request = new HostRequest();
  request.direction = 'write';
  request.data = message;
  await submit(queue, request, FabricsType.AuthenticationSend, 'Authentication Send');
}

async function receiveMessage(queue: AuthenticationWay): Promise<Uint8Array> {
  const request = new HostRequest();
  request.direction = 'read';
  request.data = new Uint8Array(ROOM_BYTES);
  await submit(queue, request, FabricsType.AuthenticationReceive, 'Authentication Receive');
  return request.data;
}

async function submit(queue: AuthenticationWay, request: HostRequest, type: number, what: string): Promise<void> {
  request.command.begin(FABRICS_OPCODE, type).setArguments(AUTHENTICATION, {
    secp: SECP_NVME,
    spsp0: 1,
    spsp1: 1,
    length: request.data?.length ?? 0,
  });
  queue.send(request);
  await request.done;
  const { status, dw0 } = request.completion;
  if (status !== 0) throw new NvmeError(what, status, dw0, 'fabrics');
}

/** Ends the queue when the controller does not do what `what` says in time; to be cancelled. */
export function deadline(queue: AuthenticationWay, timers: NvmeTimers, timeoutMs: number, what: string): () => void {
  if (timeoutMs === 0) return () => {};
  return timers.after(timeoutMs * MS, () =>
    queue.kill(new RoceError('ERR_ROCE_TIMEOUT', `the controller does not ${what} of queue ${queue.qid}`)),
  );
}

/** As Linux has it: enough for every message. */
const ROOM_BYTES = 4096;
