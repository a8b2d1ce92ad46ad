/**
 * What the handlers of the connection manager share: table, listeners, queues of events and outgoing MADs, counters.
 *
 * Owns: sending, repeating, and the ends of a connection's life (TIMEWAIT, forgetting). Never: reads a message.
 * Internal to transport/cm; the application sees ConnectionManager.
 */
import type { IpAddress } from '../../packets/address.ts';
import { type CmMessage, writeCmMad } from '../../packets/cm/index.ts';
import { RoceError } from '../../packets/errors.ts';
import { GSI_QPN, MAD_BYTES } from '../../packets/mad.ts';
import type { Random } from '../random.ts';
import type { Connection, Listener } from './connection.ts';
import { ConnectionTable } from './connection-table.ts';
import { RequestShares } from './request-shares.ts';
import type { CmState } from './states.ts';
import {
  type CmEvent,
  type CmId,
  CmInputStatus,
  type CmOptions,
  cmInputStatusName,
  codeToNs,
  type DisconnectCause,
  type MadOrigin,
  type OutgoingMad,
} from './types.ts';

export class CmCore {
  readonly random: Random;
  readonly caGuid: bigint;
  readonly maxPending: number;
  readonly maxPendingPerSource: number;
  readonly maxUnprovenReps: number;
  readonly targetAckDelay: number;
  readonly requestLifetimeNs: number;
  readonly table = new ConnectionTable();
  readonly listeners = new Map<bigint, Listener>();
  /** Requests that no application has taken yet. */
  readonly shares = new RequestShares<Listener, Connection>();
  readonly transmits: OutgoingMad[] = [];
  readonly events: CmEvent[] = [];
  transmitsDropped = 0;
  /** Requests that gave way to those of other sources. */
  displaced = 0;
  /** The source of the newest of them. */
  displacedSource: IpAddress | undefined;
  /** Requests of all listeners that are `told`. */
  #told = 0;

  readonly #maxTransmits: number;
  readonly #maxResponseTimeout: number;
  readonly #maxServiceTimeout: number;
  readonly #transactionHigh: bigint;
  readonly #counters = new Float64Array(Object.keys(CmInputStatus).length);

  readonly #takenElsewhere: (id: CmId) => boolean;

  /** `takenElsewhere`: ids that something other than a connection has. */
  constructor(options: CmOptions, takenElsewhere: (id: CmId) => boolean) {
    this.#takenElsewhere = takenElsewhere;
    this.random = options.random;
    this.caGuid = options.caGuid;
    this.maxPending = options.maxPending ?? 1024;
    this.maxPendingPerSource = options.maxPendingPerSource ?? 512;
    this.maxUnprovenReps = options.maxUnprovenReps ?? 7;
    this.targetAckDelay = options.targetAckDelay ?? 15;
    this.requestLifetimeNs = options.requestLifetimeNs ?? 60_000_000_000;
    this.#maxTransmits = options.maxTransmits ?? 1024;
    this.#maxResponseTimeout = options.maxResponseTimeout ?? 20;
    this.#maxServiceTimeout = options.maxServiceTimeout ?? 24;
    this.#transactionHigh = BigInt(this.random.u32() >>> 0) << 32n;
  }

  /** An id that nothing has; undefined when the random source keeps giving used ones. */
  unusedId(): CmId | undefined {
    return this.table.unusedId(this.random, this.#takenElsewhere);
  }

  count(status: CmInputStatus): CmInputStatus {
    this.#counters[status] = (this.#counters[status] ?? 0) + 1;
    return status;
  }

  /** Counters of handleMad by status name. */
  counters(): Record<string, number> {
    const result: Record<string, number> = {};
    for (const status of Object.values(CmInputStatus)) {
      result[cmInputStatusName(status)] = this.#counters[status] ?? 0;
    }
    return result;
  }

  /** A transaction of our own: one per connection and side is enough, as ids are not reused (rdma:cm.c#cm_form_tid). */
  transactionOf(id: CmId): bigint {
    return this.#transactionHigh | BigInt(id);
  }

  /** One more, for what may happen several times in a connection's life. */
  freshTransaction(): bigint {
    return this.#transactionHigh | BigInt(this.random.u32() >>> 0);
  }

  /** Code of a response timeout in ns, as far as we go along with it. */
  responseTimeoutNs(code: number): number {
    return codeToNs(Math.min(code, this.#maxResponseTimeout));
  }

  serviceTimeoutNs(code: number): number {
    return codeToNs(Math.min(code, this.#maxServiceTimeout));
  }

  /** How long an ACK timeout makes TIMEWAIT: old packets and messages are gone by then. */
  timewaitNs(ackTimeout: number): number {
    return codeToNs(Math.min(Math.max(ackTimeout, TIMEWAIT_FLOOR), this.#maxResponseTimeout));
  }

  /** The application's connection, in one of the given states. */
  expect(id: CmId, call: string, ...states: readonly CmState[]): Connection {
    const connection = this.table.byId(id);
    if (connection === undefined || connection.detached) {
      throw new RoceError('ERR_ROCE_STATE', `${call}: there is no connection ${id}`);
    }
    if (!states.includes(connection.state)) {
      throw new RoceError('ERR_ROCE_STATE', `${call}: connection ${id} is in state ${connection.state}`);
    }
    return connection;
  }

  /** Queues an event for the application, if it still wants to know. */
  emit(connection: Connection, event: CmEvent): void {
    if (!connection.detached) this.events.push(event);
  }

  /**
   * Queues a message and gives its bytes for a later repetition. Throws, before anything is queued, when private data
   * is too long.
   */
  send(local: IpAddress, remote: IpAddress, transactionId: bigint, message: CmMessage, unproven = false): Uint8Array {
    const bytes = encodeMad(transactionId, message);
    this.sendBytes(local, remote, bytes, false, unproven);
    return bytes;
  }

  sendTo(connection: Connection, transactionId: bigint, message: CmMessage): Uint8Array {
    return this.send(connection.local, connection.remote, transactionId, message, !connection.proven);
  }

  /** Sends bytes of this connection again, or for the first time. */
  sendAgain(connection: Connection, bytes: Uint8Array, repeated = true): void {
    this.sendBytes(connection.local, connection.remote, bytes, repeated, !connection.proven);
  }

  sendBytes(local: IpAddress, remote: IpAddress, bytes: Uint8Array, repeated: boolean, unproven: boolean): void {
    if (this.transmits.length >= this.#maxTransmits) {
      this.transmitsDropped++;
      return;
    }
    this.transmits.push({ bytes, source: local, destination: remote, remoteQpn: GSI_QPN, repeated, unproven });
  }

  /** Answers a MAD at the place it came from, whether or not anything here knows it. */
  reply(origin: MadOrigin, transactionId: bigint, message: CmMessage): void {
    this.send(origin.destination, origin.source, transactionId, message, true);
  }

  /** Sends a message that is repeated until `stopRepeating`. */
  sendRepeatedly(now: number, connection: Connection, transactionId: bigint, message: CmMessage): void {
    connection.request = this.sendTo(connection, transactionId, message);
    connection.retriesLeft = connection.maxRetries;
    connection.intervalNs = connection.responseTimeoutNs;
    this.table.schedule(connection, now + connection.intervalNs);
  }

  stopRepeating(connection: Connection): void {
    connection.request = undefined;
    this.table.schedule(connection, Number.POSITIVE_INFINITY);
  }

  /** Repeats the answer to a message that came again. */
  answerAgain(connection: Connection): void {
    if (connection.answer !== undefined) this.sendAgain(connection, connection.answer);
  }

  /** The application has decided about a request: it no longer fills the backlog. */
  leaveBacklog(connection: Connection): void {
    const { listener } = connection;
    if (listener === undefined) return;
    this.#leaveShares(connection, listener);
    listener.waiting--;
    connection.listener = undefined;
  }

  /** The application has the request in its hands: it fills the backlog, and gives way to no other. */
  take(connection: Connection): void {
    const { listener } = connection;
    if (listener === undefined) return;
    this.#leaveShares(connection, listener);
    this.table.removePending(connection);
  }

  /**
   * Whether the peer of a request may get an MRA. That makes it wait, so that the request must be kept; at most half of
   * those that may wait can be such, or they would fill the place of others.
   */
  mayTell(connection: Connection): boolean {
    const { listener } = connection;
    if (listener === undefined || !this.shares.has(connection)) return true;
    if (listener.told >= Math.floor(listener.backlog / 2) || this.#told >= Math.floor(this.maxPending / 2))
      return false;
    this.shares.remove(listener, connection);
    listener.told++;
    this.#told++;
    connection.told = true;
    return true;
  }

  /** The request gives way to another; its peer repeats it. */
  displace(connection: Connection): void {
    this.countDisplaced(connection.remote);
    this.forget(connection);
    this.emit(connection, { type: 'unreachable', id: connection.id, waitingFor: 'application' });
  }

  countDisplaced(source: IpAddress): void {
    this.displaced++;
    this.displacedSource = source;
  }

  #leaveShares(connection: Connection, listener: Listener): void {
    this.shares.remove(listener, connection);
    if (!connection.told) return;
    connection.told = false;
    listener.told--;
    this.#told--;
  }

  /** Both sides have agreed: nothing is half-open or repeated any more. */
  settle(connection: Connection): void {
    connection.state = 'established';
    connection.proven = true;
    this.stopRepeating(connection);
    this.table.removePending(connection);
    this.table.unlinkLocalQpn(connection);
  }

  /** The connection is over; its ids stay known until old messages must be gone. */
  enterTimewait(now: number, connection: Connection): void {
    this.leaveBacklog(connection);
    connection.state = 'timewait';
    connection.request = undefined;
    this.table.unlinkPeer(connection);
    this.table.schedule(connection, now + connection.timewaitNs);
  }

  /** Ends a connection for the application. */
  disconnected(now: number, connection: Connection, cause: DisconnectCause, privateData: Uint8Array): void {
    this.enterTimewait(now, connection);
    if (!connection.endReported) this.emit(connection, { type: 'disconnected', id: connection.id, cause, privateData });
  }

  /** The attempt is over and nothing of it is kept. */
  forget(connection: Connection): void {
    this.leaveBacklog(connection);
    this.table.remove(connection);
  }
}

/** A MAD of its own. */
export function encodeMad(transactionId: bigint, message: CmMessage): Uint8Array {
  const bytes = new Uint8Array(MAD_BYTES);
  writeCmMad(new DataView(bytes.buffer), 0, transactionId, message);
  return bytes;
}

/** No private data. */
export const NO_BYTES = new Uint8Array(0);

/** Code 14, 67 ms: an ACK timeout may be 0 ("none"), TIMEWAIT must not. */
const TIMEWAIT_FLOOR = 14;
