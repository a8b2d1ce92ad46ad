/**
 * Connecting and listening as an application sees it: promises and iterators over the connection manager's machine.
 * Owns the dispatch of events and the end of connections. active-side.ts connects, passive-side.ts accepts, bring-up.ts
 * moves the queue pair.
 */
import type { IpAddress } from '../../../packets/address.ts';
import { RoceError } from '../../../packets/errors.ts';
import type { CmEvent, CmId, ConnectionManager, DisconnectCause } from '../../../transport/cm/index.ts';
import type { AddressVector, Qp } from '../verbs/index.ts';
import { ActiveSide } from './active-side.ts';
import { AlternatePaths } from './alternate-paths.ts';
import type { ListenOptions, RdmaCm } from './api.ts';
import { bringToError } from './bring-up.ts';
import {
  Connection,
  type ConnectionPort,
  ConnectionRejected,
  type ConnectOptions,
  type Listener,
} from './connection.ts';
import { type CmIdState, CmIdTable } from './conversations.ts';
import type { ListenUdOptions, ResolveUdOptions, UdDestination } from './datagram-service.ts';
import { CmDatagrams, type UdListener } from './datagrams.ts';
import { CmGuests } from './guests.ts';
import { PassiveSide } from './passive-side.ts';
import type { CmDevice } from './port.ts';

/** The connection manager of one device, as an application sees it. */
export class CmService implements RdmaCm, ConnectionPort {
  readonly #device: CmDevice;
  readonly #manager: ConnectionManager;
  readonly #conversations = new CmIdTable();
  readonly #active: ActiveSide;
  readonly #passive: PassiveSide;
  readonly #datagrams: CmDatagrams;
  readonly #alternates: AlternatePaths;
  /** Users that move their queue pairs themselves. @internal */
  readonly guests: CmGuests;

  /** @internal */
  constructor(device: CmDevice, manager: ConnectionManager) {
    this.#device = device;
    this.#manager = manager;
    this.#active = new ActiveSide(device, manager, this.#conversations, (id, qp, remote, privateData) =>
      this.#connected(id, qp, remote, privateData),
    );
    this.#passive = new PassiveSide(device, manager, this.#conversations);
    this.#datagrams = new CmDatagrams(device, manager, this.#conversations);
    this.#alternates = new AlternatePaths(device, manager, this.#conversations);
    this.guests = new CmGuests(device, manager, this.#conversations);
  }

  /**
   * Connects `options.qp`, which is in RESET, and resolves when it is in RTS. Rejects with ConnectionRejected,
   * ERR_ROCE_TIMEOUT (no answer) or ERR_ROCE_ADDRESS (the address does not resolve).
   */
  connect(options: ConnectOptions): Promise<Connection> {
    return this.#active.connect(options);
  }

  /**
   * Takes connection requests for a port; a number alone is the backlog. Throws ERR_ROCE_IN_USE when the port has a
   * listener already.
   */
  listen(port: number, options: ListenOptions | number = {}): Listener {
    this.#conversations.demandOpen();
    return this.#passive.listen(port, typeof options === 'number' ? { backlog: options } : options);
  }

  /**
   * Offers a datagram service on a port. Throws ERR_ROCE_IN_USE when the port has a service already, ERR_ROCE_ARGUMENT
   * for a queue pair that takes no datagrams.
   */
  listenUd(port: number, options: ListenUdOptions = {}): UdListener {
    return this.#datagrams.listen(port, options);
  }

  /**
   * Finds a datagram service. Rejects with ServiceRefused, ERR_ROCE_TIMEOUT (no answer) or ERR_ROCE_ADDRESS (the
   * address does not resolve).
   */
  resolveUd(options: ResolveUdOptions): Promise<UdDestination> {
    return this.#datagrams.resolve(options);
  }

  /**
   * For `Connection.disconnect`: flushes the queue pair, so that nothing more is sent, and sends a DREQ. Does nothing
   * when it has ended. @internal
   */
  disconnect(connection: Connection, privateData?: Uint8Array): void {
    if (this.#conversations.get(connection.id)?.kind !== 'connected') return;
    // First the message, which may be refused; both leave together, and nothing more is sent.
    this.#manager.disconnect(this.#device.now(), connection.id, privateData);
    bringToError(connection.qp);
    this.#device.cmTouched();
  }

  /**
   * For `Device.destroyQp`: an attempt at a connection ends with its queue pair, and a REJ or DREQ goes to the peer, as
   * rdma_destroy_id(3) does while a connection is being made. @internal
   */
  abandon(qp: Qp): void {
    const id = this.#conversations.attemptOf(qp);
    if (id === undefined) return;
    const conversation = this.#conversations.get(id);
    this.#manager.destroy(this.#device.now(), id);
    this.#fail(id, conversation, new RoceError('ERR_ROCE_CLOSED', 'the queue pair was destroyed'), 'timeout');
    this.#device.cmTouched();
  }

  /** For `Connection.loadAlternatePath`. @internal */
  loadAlternatePath(connection: Connection, av: AddressVector): Promise<void> {
    return this.#alternates.load(connection, av);
  }

  /** Data arrived on a queue pair in RTR: counts as the RTU. @internal */
  notifyTraffic(qpn: number): void {
    this.#manager.notifyTraffic(this.#device.now(), qpn);
  }

  /** Whether a queue pair number is in TIMEWAIT or in use by a connection. @internal */
  isHeld(qpn: number): boolean {
    return this.#conversations.isHeld(qpn);
  }

  /** Connections in any state, TIMEWAIT included. */
  get size(): number {
    return this.#manager.size;
  }

  /** Its part of `Device.tables`. @internal */
  get sizes() {
    const conversations = this.#conversations;
    return {
      connections: this.size,
      connectionEntries:
        this.#manager.entries +
        conversations.size +
        this.#datagrams.waiting +
        this.#alternates.waiting +
        this.guests.size,
      heldQueuePairNumbers: conversations.heldCount,
    };
  }

  /** Ports that are listened on. @internal */
  get listeners(): number {
    return this.#passive.listeners + this.#datagrams.listeners + this.guests.listeners;
  }

  /** Counters of the connection manager: one for each reason to drop a MAD. */
  counters(): Readonly<Record<string, number>> {
    return this.#manager.counters();
  }

  /** @internal */
  nextDeadline(): number {
    return this.#manager.pollTimeout();
  }

  /** @internal */
  handleTimeouts(now: number): void {
    if (this.#manager.pollTimeout() <= now) this.#manager.handleTimeout(now);
  }

  /** Whether `settle` has anything to do. @internal */
  get unsettled(): boolean {
    return this.#manager.hasEvents;
  }

  /** Passes the machine's events on. @internal */
  settle(): void {
    for (let event = this.#manager.pollEvent(); event !== undefined; event = this.#manager.pollEvent()) {
      this.#handleEvent(event);
    }
  }

  /** @internal */
  close(): void {
    this.#passive.close();
    this.#datagrams.close();
    this.#alternates.close();
    this.#conversations.close();
  }

  #handleEvent(event: CmEvent): void {
    if (this.guests.handleEvent(event)) return;
    const conversation = this.#conversations.get(event.id);
    switch (event.type) {
      case 'connect-request':
        this.#passive.handleRequest(event);
        return;
      case 'connect-response':
        if (conversation?.kind === 'connecting') this.#active.handleResponse(event, conversation);
        return;
      case 'established':
        if (conversation?.kind === 'accepting') {
          const { qp, request, promise } = conversation;
          promise.resolve(this.#connected(event.id, qp, request.remoteAddress, event.privateData));
        }
        return;
      case 'rejected':
        this.#fail(event.id, conversation, new ConnectionRejected(event.reason, event.privateData, event.info), 'rej');
        return;
      case 'unreachable': {
        const error = new RoceError('ERR_ROCE_TIMEOUT', `the peer sent no ${event.waitingFor} in time`);
        this.#fail(event.id, conversation, error, 'timeout');
        return;
      }
      case 'disconnected':
        this.#disconnected(event.id, conversation, event.cause);
        return;
      case 'timewait-exit':
        this.#conversations.release(event.id);
        return;
      case 'alternate-path-request':
      case 'alternate-path-response':
      case 'alternate-path-unanswered':
        this.#alternates.handleEvent(event);
        return;
      case 'mra':
        return;
      case 'resolve-request':
      case 'resolve-request-expired':
      case 'resolved':
      case 'unresolved':
        this.#datagrams.handleEvent(event);
        return;
      default:
        neverEvent(event);
    }
  }

  #connected(id: CmId, qp: Qp, remote: IpAddress, privateData: Uint8Array): Connection {
    const connection = new Connection(this, id, qp, remote, privateData);
    this.#conversations.set(id, { kind: 'connected', connection });
    return connection;
  }

  #fail(id: CmId, conversation: CmIdState | undefined, error: RoceError, cause: DisconnectCause): void {
    if (conversation === undefined) return;
    if (conversation.kind === 'connected') {
      this.#disconnected(id, conversation, cause);
      return;
    }
    this.#conversations.delete(id);
    if (conversation.kind === 'requested') {
      this.#passive.withdraw(conversation.request);
      return;
    }
    this.#conversations.release(id);
    const qp = conversation.kind === 'connecting' ? conversation.options.qp : conversation.qp;
    this.#conversations.unclaim(qp);
    bringToError(qp);
    conversation.promise.reject(error);
  }

  #disconnected(id: CmId, conversation: CmIdState | undefined, cause: DisconnectCause): void {
    if (conversation?.kind === 'accepting') {
      // The peer gave up between our REP and its RTU.
      this.#fail(
        id,
        conversation,
        new RoceError('ERR_ROCE_CLOSED', 'the peer disconnected before it was ready'),
        cause,
      );
      return;
    }
    if (conversation?.kind !== 'connected') return;
    this.#conversations.delete(id);
    this.#alternates.ended(id);
    bringToError(conversation.connection.qp);
    conversation.connection.end(cause);
  }
}

function neverEvent(event: never): never {
  throw new TypeError(`event ${JSON.stringify(event)} is not one of the connection manager's`);
}
