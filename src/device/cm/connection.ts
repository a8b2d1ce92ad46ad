/** What connecting and listening hand to an application: requests, connections, and why one was refused. */
import type { IpAddress } from '../../../packets/address.ts';
import { CmRejReason, type CmReq, type CmTransportService, cmRejReasonName } from '../../../packets/cm/index.ts';
import { RoceError } from '../../../packets/errors.ts';
import type { CmId, DisconnectCause } from '../../../transport/cm/index.ts';
import { AsyncQueue } from '../../ground/async-queue.ts';
import type { RdmaConnection, RdmaConnectionRequest } from '../api.ts';
import type { PathTraits } from '../options.ts';
import type { AddressVector, Qp } from '../verbs/index.ts';
import type { CmService } from './service.ts';

/**
 * The tunables of a connection that both sides have. Absent ones take the defaults in brackets.
 *
 * What the packets of the connection carry (`PathTraits`) each side chooses for itself. Where it does not, the device's own
 * `path` counts; then who accepts takes the traffic class of the request and the source port that the request's flow label
 * gives, as rdma_cm does, so that both directions are of one class and port. The hop limit is never the peer's.
 */
export interface ConnectionTunables extends PathTraits {
  /** READs and atomics this side may have outstanding [16]. */
  readonly initiatorDepth?: number;
  /** READs and atomics of the peer this side answers at a time [16]. */
  readonly responderResources?: number;
  /** RNR retries this side asks its peer to make, 0..7; 7 for ever [7]. */
  readonly rnrRetryCount?: number;
  /** Code of the wait this side asks for when it has no receive, 0..31 [12: 0.64 ms]. */
  readonly minRnrTimer?: number;
  /** Local ACK timeout code, 4.096 us * 2^n [17: 0.54 s; the request's on the accepting side]. */
  readonly ackTimeout?: number;
  /**
   * End-to-end credits, where both sides say so: acknowledges tell how many receives there are, and the other side sends no
   * more [no; on the accepting side what the request says]. RC only, and not where receives are shared.
   */
  readonly flowControl?: boolean;
  /** For the peer's application: up to 56 bytes with a request, up to 196 with an answer [none]. */
  readonly privateData?: Uint8Array;
}

/** How a port is listened on. */
export interface ListenOptions {
  /** Requests that may wait for the application at a time [1024]. */
  readonly backlog?: number;
  /** RDMA_PS_TCP, or RDMA_PS_IB as XRC programs use [tcp]. */
  readonly portSpace?: 'tcp' | 'ib';
  /** What becomes of a request that finds the backlog full: dropped, so that the peer repeats it, or refused with reason 3 [drop]. */
  readonly whenFull?: 'drop' | 'reject';
  /** Services of which requests are taken; others are refused with reason 9 [all]. */
  readonly services?: readonly CmTransportService[];
}

/** Whom to connect to, and how. */
export interface ConnectOptions extends ConnectionTunables {
  /** The peer's. */
  readonly address: IpAddress | string;
  /** One of the device's addresses [the one on the peer's subnet]. */
  readonly source?: IpAddress | string;
  /** Port of the peer in the port space, 0..65535. */
  readonly port: number;
  /** RDMA_PS_TCP, or RDMA_PS_IB as XRC programs use [tcp]. */
  readonly portSpace?: 'tcp' | 'ib';
  /** RC, UC or XRC_SEND, in RESET or INIT: its type is that of the connection. */
  readonly qp: Qp;
  /** Port that the peer is told is ours, 0..65535 [one that is free]. */
  readonly localPort?: number;
  /** Path MTU, at most the device's [the device's]. */
  readonly mtu?: number;
  /** Transport retries of both sides, 0..7 [7]. */
  readonly retryCount?: number;
  /** Upper bound of this side's RNR retries, whatever the peer asks for with `rnrRetryCount` [7: none]. */
  readonly maxRnrRetry?: number;
  /** Code: how long to wait for each answer of the peer's connection manager [20: 4.3 s]. */
  readonly cmResponseTimeout?: number;
  /** Repetitions of the request, 0..15 [15]. */
  readonly maxCmRetries?: number;
}

/** How a request is accepted. */
export interface AcceptOptions extends ConnectionTunables {
  /** RC, UC or XRC_RECV as the request's `service` says, in RESET or INIT. */
  readonly qp: Qp;
}

/** The peer said no. */
export class ConnectionRejected extends RoceError {
  /** One of `CmRejReason`. */
  readonly reason: number;
  /** Additional information of the reason: for InvalidGid the address that would be right, for Timeout the peer's GUID. */
  readonly info: Uint8Array;
  /** What the peer's application had to say: the whole field, zeros at its end included. */
  readonly privateData: Uint8Array;

  /** @internal */
  constructor(reason: number, privateData: Uint8Array, info: Uint8Array = new Uint8Array(0)) {
    super('ERR_ROCE_REJECTED', `the peer rejected the connection: ${cmRejReasonName(reason)} (${reason})`);
    this.reason = reason;
    this.info = info;
    this.privateData = privateData;
  }
}

interface RequestFacts {
  readonly service: CmTransportService;
  readonly remoteAddress: IpAddress;
  readonly localAddress: IpAddress;
  readonly remotePort: number;
  readonly privateData: Uint8Array;
}

/** Somebody wants to connect. */
export class ConnectionRequest implements RdmaConnectionRequest {
  /** @internal */
  readonly id: CmId;
  /** The request as it came. */
  readonly req: CmReq;
  readonly service: CmTransportService;
  readonly remoteAddress: IpAddress;
  readonly localAddress: IpAddress;
  readonly remotePort: number;
  readonly privateData: Uint8Array;
  readonly #service: CmService;

  /** @internal */
  constructor(service: CmService, id: CmId, req: CmReq, facts: RequestFacts) {
    this.#service = service;
    this.id = id;
    this.req = req;
    this.service = facts.service;
    this.remoteAddress = facts.remoteAddress;
    this.localAddress = facts.localAddress;
    this.remotePort = facts.remotePort;
    this.privateData = facts.privateData;
  }

  /** READs and atomics the peer wants to have outstanding. */
  get initiatorDepth(): number {
    return this.req.initiatorDepth;
  }

  /** READs and atomics the peer can answer at a time. */
  get responderResources(): number {
    return this.req.responderResources;
  }

  /**
   * Brings the queue pair to RTS and says yes; resolves when the peer is ready too. Rejects with ERR_ROCE_ADDRESS (and
   * refuses the request) when the way back cannot be found, with ERR_ROCE_STATE when the request was answered before; with
   * ERR_ROCE_ARGUMENT for values out of range or a queue pair that does not fit, and then nothing has changed.
   */
  accept(options: AcceptOptions): Promise<Connection> {
    return this.#service.accept(this, options);
  }

  /**
   * Tells the peer at once that the answer takes up to 4.096 us * 2^serviceTimeout longer (MRA). A peer that repeats itself is
   * told so without being asked, with the default. Linux peers heed the first they get.
   */
  delay(serviceTimeout = DEFAULT_PATIENCE): void {
    this.#service.delay(this, serviceTimeout);
  }

  /**
   * Says no; the peer's `connect` rejects with ConnectionRejected. @param reason one of `CmRejReason`. Throws
   * ERR_ROCE_STATE when it was answered before.
   */
  reject(privateData?: Uint8Array, reason: number = CmRejReason.ConsumerDefined): void {
    this.#service.reject(this, reason, privateData);
  }
}

/** A connected queue pair. */
export class Connection implements RdmaConnection {
  /** @internal */
  readonly id: CmId;
  readonly qp: Qp;
  readonly remoteAddress: IpAddress;
  /** What the peer sent with its answer. */
  readonly privateData: Uint8Array;
  /** Resolves when the connection has ended, with how; the queue pair is in ERROR then. */
  readonly closed: Promise<DisconnectCause>;
  readonly #service: CmService;
  #end: (cause: DisconnectCause) => void = () => {};

  /** @internal */
  constructor(service: CmService, id: CmId, qp: Qp, remoteAddress: IpAddress, privateData: Uint8Array) {
    this.#service = service;
    this.id = id;
    this.qp = qp;
    this.remoteAddress = remoteAddress;
    this.privateData = privateData;
    this.closed = new Promise((resolve) => {
      this.#end = resolve;
    });
  }

  /** Flushes the queue pair, tells the peer, and resolves when it has answered or never will. */
  async disconnect(privateData?: Uint8Array): Promise<DisconnectCause> {
    this.#service.disconnect(this, privateData);
    return this.closed;
  }

  /**
   * Asks the peer to take a second path for when the first fails (LAP), and takes it here when the peer has. Rejects with
   * AlternatePathRefused, ERR_ROCE_TIMEOUT (a Linux peer never answers), ERR_ROCE_ADDRESS, ERR_ROCE_STATE when the connection
   * has ended or is at it already; the connection goes on as it was.
   */
  loadAlternatePath(av: AddressVector): Promise<void> {
    return this.#service.loadAlternatePath(this, av);
  }

  /** For the connection manager. @internal */
  end(cause: DisconnectCause): void {
    this.#end(cause);
  }
}

/** Takes requests on a port, for connections or for datagram services: `for await (const request of listener)`. */
export class Listener<Request = ConnectionRequest> implements AsyncIterable<Request> {
  /** The port listened on. */
  readonly port: number;
  /** For the connection manager. @internal */
  readonly requests = new AsyncQueue<Request>();
  readonly #unlisten: () => void;

  /** @internal */
  constructor(port: number, unlisten: () => void) {
    this.port = port;
    this.#unlisten = unlisten;
  }

  /** The next request, waited for; done after `close`. */
  next(): Promise<IteratorResult<Request>> {
    return this.requests.next();
  }

  /** Every one that comes, until there are no more. */
  [Symbol.asyncIterator](): AsyncIterator<Request> {
    return this.requests[Symbol.asyncIterator]();
  }

  /** Takes no more requests and ends iteration. */
  close(): void {
    this.#unlisten();
    this.requests.close();
  }
}

/** Code: 69 s, as rdma_cm. */
export const DEFAULT_PATIENCE = 24;
