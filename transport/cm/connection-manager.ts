/**
 * The connection manager: sets up and ends connections (RC, UC, XRC) and finds datagram services, by messages between
 * queue pairs 1. Sans I/O.
 *
 * Order of use, as with every machine of this project: inputs (`handleMad`, `handleTimeout`, `notifyTraffic`, the
 * application's calls), then the outputs, polled until empty: `pollTransmit`, `pollEvent`, and `pollTimeout` for the
 * next deadline. `now` is in integer nanoseconds and never goes back.
 *
 *   passive   listen -> connect-request -> accept -> established -> disconnected -> timewait-exit
 *   active    connect -> connect-response -> ready -> established -> disconnected -> timewait-exit
 *   datagram services: listenSidr -> resolve-request -> answerSidr, and resolve -> resolved
 *
 * Owns: the order of checks on a MAD and the public face. Never: a queue pair; the application moves it when events say
 * so. The peer's mistakes are statuses with counters; the caller's are RoceErrors: ERR_ROCE_ARGUMENT, _ADDRESS, _STATE,
 * _IN_USE, _LIMIT.
 * Rules: ref:conformance#CM, ref:hostile SEC-14. Wire facts: ref:wire#10, packets/cm.
 */
import type { IpAddress } from '../../packets/address.ts';
import { type CmMad, CmRejReason, type CmTransportService, parseCmMad } from '../../packets/cm/index.ts';
import { invariant, RoceError } from '../../packets/errors.ts';
import { GSI_QPN } from '../../packets/mad.ts';
import { connect, handleRep, ready } from './active.ts';
import { answerAlternatePath, handleApr, handleLap, loadAlternatePath } from './alternate-path.ts';
import type { Connection } from './connection.ts';
import { CmCore, NO_BYTES } from './core.ts';
import { destroy, dueNext, expireDue } from './expiry.ts';
import { checkRange } from './parameters.ts';
import { accept, handleReq, handleRtu, notifyTraffic } from './passive.ts';
import { handleMra, handleRej, reject, sendMra } from './refusal.ts';
import { SidrActive } from './sidr-active.ts';
import { SidrPassive } from './sidr-passive.ts';
import type { ResolveParameters, SidrAnswer } from './sidr-types.ts';
import type { CmState } from './states.ts';
import { disconnect, handleDrep, handleDreq } from './teardown.ts';
import {
  type AcceptParameters,
  type AlternatePath,
  type CmEvent,
  type CmId,
  CmInputStatus,
  type CmInspection,
  type CmOptions,
  type ConnectParameters,
  type MadOrigin,
  type OutgoingMad,
  type WhenFull,
} from './types.ts';

export interface ListenOptions {
  /** [drop] */
  readonly whenFull?: WhenFull;
  /** Services of which requests are taken; others are refused with reason 9 [all]. */
  readonly services?: readonly CmTransportService[];
}

/**
 * The connection manager of one device.
 *
 * @example
 * ```ts
 * import { IpAddress } from 'rocev2/packets';
 * import { Prng } from 'rocev2/sim';
 * import { ConnectionManager } from 'rocev2/transport';
 *
 * const [local, remote] = [IpAddress.parse('10.0.0.1'), IpAddress.parse('10.0.0.2')];
 * const active = new ConnectionManager({ random: new Prng(1), caGuid: 1n });
 * const passive = new ConnectionManager({ random: new Prng(2), caGuid: 2n });
 * passive.listen(7n, 8);
 * const terms = { qpn: 0x11, startingPsn: 0, initiatorDepth: 1, responderResources: 1, rnrRetryCount: 7 };
 * const path = { serviceId: 7n, local, remote, localPort: 0, mtu: 3, retryCount: 7, ackTimeout: 14 };
 * active.connect(0, { ...terms, ...path });
 * // The MAD, a REQ, would travel in a datagram from queue pair 1 to queue pair 1.
 * const mad = active.pollTransmit(0);
 * const view = new DataView(mad?.bytes.slice().buffer ?? new ArrayBuffer(0));
 * passive.handleMad(0, view, 0, view.byteLength, { source: local, destination: remote, sourceQpn: 1 });
 * const event = passive.pollEvent();
 * console.log(event?.type, event && passive.state(event.id)); // connect-request req-rcvd
 * // When the REQ is sent again.
 * console.log(`${active.pollTimeout()} ns`); // 4294967296 ns
 * ```
 */
export class ConnectionManager {
  readonly #core: CmCore;
  readonly #sidrActive: SidrActive;
  readonly #sidrPassive: SidrPassive;
  #now = Number.NEGATIVE_INFINITY;

  /** Without connections. @throws RoceError ERR_ROCE_ARGUMENT for options out of range */
  constructor(options: CmOptions) {
    checkRange('maxPending', options.maxPending ?? 1, 1, 2 ** 24);
    checkRange('maxPendingPerSource', options.maxPendingPerSource ?? 1, 1, 2 ** 24);
    checkRange('maxUnprovenReps', options.maxUnprovenReps ?? 0, 0, 15);
    checkRange('maxTransmits', options.maxTransmits ?? 1, 1, 2 ** 24);
    this.#core = new CmCore(options, (id) => this.#sidrActive.has(id) || this.#sidrPassive.has(id));
    this.#sidrActive = new SidrActive(this.#core);
    this.#sidrPassive = new SidrPassive(this.#core);
  }

  /**
   * Takes requests for this service id, `backlog` of them at a time while the application decides. Throws when it is
   * taken.
   */
  listen(serviceId: bigint, backlog: number, options: ListenOptions = {}): void {
    checkRange('backlog', backlog, 1, 2 ** 24);
    if (this.#core.listeners.has(serviceId)) {
      throw new RoceError('ERR_ROCE_IN_USE', `service id 0x${serviceId.toString(16)} has a listener`);
    }
    const { whenFull = 'drop', services = ALL_SERVICES } = options;
    this.#core.listeners.set(serviceId, { serviceId, backlog, whenFull, services, waiting: 0, told: 0 });
  }

  /** Takes no more requests; those already reported can still be accepted or rejected. */
  unlisten(serviceId: bigint): void {
    this.#core.listeners.delete(serviceId);
  }

  /** Sends REQ. What follows is `connect-response`, `rejected` or `unreachable`. */
  connect(now: number, parameters: ConnectParameters): CmId {
    this.#advance(now);
    return connect(this.#core, now, parameters);
  }

  /**
   * The application has taken the request: from now on it gives way to no other, and is bounded by its listener's
   * backlog alone. Unknown ids are fine.
   */
  take(id: CmId): void {
    const connection = this.#core.table.byId(id);
    if (connection === undefined) this.#sidrPassive.take(id);
    else this.#core.take(connection);
  }

  /**
   * Sends REP for a `connect-request`, with the queue pair in RTR. What follows is `established`, `rejected` or
   * `unreachable`.
   */
  accept(now: number, id: CmId, parameters: AcceptParameters): void {
    this.#advance(now);
    accept(this.#core, now, id, parameters);
  }

  /** Sends RTU for a `connect-response`, with the queue pair in RTS. Up to 224 bytes of private data. */
  ready(now: number, id: CmId, privateData: Uint8Array = NO_BYTES): void {
    this.#advance(now);
    ready(this.#core, id, privateData);
  }

  /** Sends REJ for a `connect-request` or a `connect-response`; the id is gone. Up to 148 bytes of private data. */
  reject(
    now: number,
    id: CmId,
    reason: number = CmRejReason.ConsumerDefined,
    privateData: Uint8Array = NO_BYTES,
    info: Uint8Array = NO_BYTES,
  ): void {
    this.#advance(now);
    reject(this.#core, now, id, reason, privateData, info);
  }

  /** Asks the peer to wait 4.096 us * 2^serviceTimeout longer; `deferred`: only if it repeats its message. */
  sendMra(now: number, id: CmId, serviceTimeout: number, deferred = false): void {
    this.#advance(now);
    sendMra(this.#core, now, id, serviceTimeout, deferred);
  }

  /**
   * Sends LAP: the peer shall use this path when the first fails. What follows is `alternate-path-response` or
   * `-unanswered`.
   */
  loadAlternatePath(now: number, id: CmId, path: AlternatePath, privateData: Uint8Array = NO_BYTES): void {
    this.#advance(now);
    loadAlternatePath(this.#core, now, id, path, privateData);
  }

  /**
   * Sends APR for an `alternate-path-request`: a `CmAprStatus`, up to 72 bytes of information, up to 148 of private
   * data.
   */
  answerAlternatePath(
    now: number,
    id: CmId,
    status: number,
    info: Uint8Array = NO_BYTES,
    privateData: Uint8Array = NO_BYTES,
  ): void {
    this.#advance(now);
    answerAlternatePath(this.#core, id, status, info, privateData);
  }

  /**
   * Offers a datagram service: takes lookups for this service id, `backlog` at a time. Throws when it is offered
   * already.
   */
  listenSidr(serviceId: bigint, backlog: number, whenFull: WhenFull = 'drop'): void {
    checkRange('backlog', backlog, 1, 2 ** 24);
    this.#sidrPassive.listen(serviceId, backlog, whenFull);
  }

  /** Takes no more lookups; those already reported can still be answered. */
  unlistenSidr(serviceId: bigint): void {
    this.#sidrPassive.unlisten(serviceId);
  }

  /** Sends SIDR_REP for a `resolve-request`; it is repeated when the peer repeats its request. */
  answerSidr(now: number, id: CmId, answer: SidrAnswer): void {
    this.#advance(now);
    this.#sidrPassive.answer(now, id, answer);
  }

  /** Looks up the queue pair of a datagram service: SIDR_REQ. What follows is `resolved` or `unresolved`. */
  resolve(now: number, parameters: ResolveParameters): CmId {
    this.#advance(now);
    return this.#sidrActive.resolve(now, parameters);
  }

  /** Lets go of a `resolve`; no more events. Unknown ids are fine. */
  cancelResolve(id: CmId): void {
    this.#sidrActive.cancel(id);
  }

  /**
   * Sends DREQ. What follows is `disconnected` and `timewait-exit`. Does nothing when the connection is ending already.
   */
  disconnect(now: number, id: CmId, privateData: Uint8Array = NO_BYTES): void {
    this.#advance(now);
    disconnect(this.#core, now, id, privateData);
  }

  /**
   * Data has arrived for a queue pair in RTR: as good as the RTU that was lost. True when that established a
   * connection.
   */
  notifyTraffic(now: number, qpn: number): boolean {
    this.#advance(now);
    return notifyTraffic(this.#core, qpn);
  }

  /** Lets go of a connection in any state; no more events. Unknown ids are fine. */
  destroy(now: number, id: CmId): void {
    this.#advance(now);
    destroy(this.#core, now, id);
  }

  /** Takes a MAD of `length` bytes that arrived for queue pair 1. Never throws for what a peer sent. */
  handleMad(now: number, view: DataView, offset: number, length: number, origin: MadOrigin): CmInputStatus {
    this.#advance(now);
    if (origin.sourceQpn !== GSI_QPN) return this.#core.count(CmInputStatus.BadSourceQpn);
    const mad = parseCmMad(view, offset, length);
    // The first statuses have the numbers of CmParseStatus.
    return this.#core.count(typeof mad === 'number' ? mad : this.#dispatch(now, mad, origin));
  }

  /** Does what is due. A connection for which that throws, an error of ours, is given up, and the others go on. */
  handleTimeout(now: number): void {
    this.#advance(now);
    expireDue(this.#core, now);
    this.#sidrActive.handleTimeout(now);
    this.#sidrPassive.handleTimeout(now);
  }

  /** When handleTimeout has something to do, in ns; Infinity: never. */
  pollTimeout(): number {
    const { table } = this.#core;
    return Math.min(table.nextDeadline(), this.#sidrActive.nextDeadline(), this.#sidrPassive.nextDeadline());
  }

  /** The next MAD to send. */
  pollTransmit(_now: number): OutgoingMad | undefined {
    return this.#core.transmits.shift();
  }

  /** Whether `pollEvent` has one. */
  get hasEvents(): boolean {
    return this.#core.events.length > 0;
  }

  /** The next event for the application. */
  pollEvent(): CmEvent | undefined {
    return this.#core.events.shift();
  }

  /** State of a connection, for tests, tools and the curious. */
  state(id: CmId): CmState | undefined {
    return this.#core.table.byId(id)?.state;
  }

  /** What a connection is doing, and waits for. @internal */
  inspect(id: CmId): CmInspection | undefined {
    const connection = this.#core.table.byId(id);
    if (connection === undefined) return undefined;
    const { state, deadline, retriesLeft } = connection;
    return { state, deadline, next: dueNext(connection), retriesLeft };
  }

  /** Connections of any state and lookups of datagram services; TIMEWAIT, remembered refusals and answers included. */
  get size(): number {
    return this.#core.table.size + this.#sidrActive.size + this.#sidrPassive.size;
  }

  /** What refers to them beside that: indexes by peer, deadlines, shares in backlogs, events that wait to be polled. */
  get entries(): number {
    const { table, shares, events } = this.#core;
    return table.entries + shares.size + events.length + this.#sidrActive.entries + this.#sidrPassive.entries;
  }

  /** MADs that wait to be polled. */
  get transmitCount(): number {
    return this.#core.transmits.length;
  }

  /** Requests that no application has taken yet, and remembered refusals, at most `maxPending`. */
  get pendingCount(): number {
    return this.#core.table.pendingCount;
  }

  /**
   * What became of all MADs so far, by status name; `transmitsDropped`: MADs that found the transmit queue full;
   * `displaced`: requests that gave way to those of other sources.
   */
  counters(): Readonly<Record<string, number>> {
    const { transmitsDropped, displaced } = this.#core;
    return { ...this.#core.counters(), transmitsDropped, displaced };
  }

  /** The source of the newest request that gave way to another, once; undefined when none has since the last call. */
  takeDisplaced(): IpAddress | undefined {
    const source = this.#core.displacedSource;
    this.#core.displacedSource = undefined;
    return source;
  }

  #advance(now: number): void {
    invariant(now >= this.#now, 'time does not go back');
    this.#now = now;
  }

  #dispatch(now: number, mad: CmMad, origin: MadOrigin): CmInputStatus {
    const core = this.#core;
    const { message } = mad;
    switch (message.kind) {
      case 'REQ':
        return handleReq(core, now, mad, message.body, origin);
      case 'REP': {
        const connection = this.#find(message.body.remoteCommId, undefined, origin);
        if (typeof connection === 'number') return connection;
        return handleRep(core, now, mad, message.body, connection, origin);
      }
      case 'RTU': {
        const connection = this.#find(message.body.remoteCommId, message.body.localCommId, origin);
        return typeof connection === 'number' ? connection : handleRtu(core, message.body, connection);
      }
      case 'DREP': {
        const connection = this.#find(message.body.remoteCommId, message.body.localCommId, origin);
        return typeof connection === 'number' ? connection : handleDrep(core, now, message.body, connection);
      }
      case 'DREQ':
        return handleDreq(core, now, mad, message.body, origin);
      case 'REJ':
        return handleRej(core, now, message.body, origin);
      case 'MRA':
        return handleMra(core, now, message.body, origin);
      case 'SIDR_REQ':
        return this.#sidrPassive.handleReq(now, mad, message.body, origin);
      case 'SIDR_REP':
        return this.#sidrActive.handleRep(message.body, origin);
      case 'LAP':
        return handleLap(core, mad, message.body, origin);
      case 'APR': {
        const connection = this.#find(message.body.remoteCommId, message.body.localCommId, origin);
        return typeof connection === 'number' ? connection : handleApr(core, message.body, connection);
      }
    }
  }

  /**
   * The connection with our id and, when given, the peer's, at the address the message came from; else what is wrong.
   */
  #find(localId: CmId, remoteId: number | undefined, origin: MadOrigin): Connection | CmInputStatus {
    const connection = this.#core.table.byId(localId);
    if (connection === undefined) return CmInputStatus.UnknownId;
    if (remoteId !== undefined && connection.remoteCommId !== remoteId) return CmInputStatus.UnknownId;
    if (!connection.remote.equals(origin.source)) return CmInputStatus.ForeignAddress;
    return connection;
  }
}

const ALL_SERVICES: readonly CmTransportService[] = ['rc', 'uc', 'xrc'];
