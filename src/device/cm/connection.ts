/** Classes of the connection manager that applications use: requests, connections, and rejections. */
import type { IpAddress } from '../../../packets/address.ts';
import { CmRejReason, type CmReq, type CmTransportService, cmRejReasonName } from '../../../packets/cm/index.ts';
import { RoceError } from '../../../packets/errors.ts';
import type { CmId, DisconnectCause } from '../../../transport/cm/index.ts';
import type { AddressVector, Qp } from '../verbs/index.ts';
import type { RdmaAcceptOptions, RdmaConnection, RdmaConnectionRequest, RdmaConnectOptions } from './api.ts';
import { FairQueue, type FromSource } from './fair-queue.ts';

/** The peer to connect to, and how. */
export interface ConnectOptions extends RdmaConnectOptions {
  readonly qp: Qp;
}

/** How a request is accepted. */
export interface AcceptOptions extends RdmaAcceptOptions {
  readonly qp: Qp;
}

/** Answers connection requests. */
export interface RequestAnswers {
  accept(request: ConnectionRequest, options: AcceptOptions): Promise<Connection>;
  delay(request: ConnectionRequest, serviceTimeout: number): void;
  reject(request: ConnectionRequest, reason: number, privateData?: Uint8Array): void;
}

/** The calls of a connection to the connection manager. */
export interface ConnectionPort {
  disconnect(connection: Connection, privateData?: Uint8Array): void;
  loadAlternatePath(connection: Connection, av: AddressVector): Promise<void>;
}

/**
 * The peer rejected the connection.
 *
 * @example
 * ```ts
 * import { attachDevice, ConnectionRejected, World } from 'rocev2';
 *
 * const world = new World({ seed: 1 });
 * const a = attachDevice(world, 'a', { addresses: ['10.0.0.1/24'] });
 * const b = attachDevice(world, 'b', { addresses: ['10.0.0.2/24'] });
 * const cq = a.createCq(16);
 * const qp = a.allocPd().createQp({ sendCq: cq, recvCq: cq });
 * b.cm.listen(7471).next().then(({ value: request }) => request.reject(Uint8Array.of(5)));
 * try {
 *   await world.run(a.cm.connect({ address: '10.0.0.2', port: 7471, qp }));
 * } catch (error) {
 *   if (!(error instanceof ConnectionRejected)) throw error;
 *   console.log(error.reason, error.privateData[0]); // 28 5
 * }
 * ```
 */
export class ConnectionRejected extends RoceError {
  /** One of `CmRejReason`. */
  readonly reason: number;
  /**
   * Additional information of the reason: for InvalidGid the address that would be right, for Timeout the peer's GUID.
   */
  readonly info: Uint8Array;
  /** Private data of the rejection: the whole field, zeros at its end included. */
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

/**
 * A connection request (REQ).
 *
 * @example
 * ```ts
 * import { attachDevice, World } from 'rocev2';
 *
 * const world = new World({ seed: 1 });
 * const a = attachDevice(world, 'a', { addresses: ['10.0.0.1/24'] });
 * const b = attachDevice(world, 'b', { addresses: ['10.0.0.2/24'] });
 * const [toA, toB] = [a.createCq(16), b.createCq(16)];
 * const qp = a.allocPd().createQp({ sendCq: toA, recvCq: toA });
 * const peer = b.allocPd().createQp({ sendCq: toB, recvCq: toB });
 * const accepted = b.cm.listen(7471).next().then(({ value: request }) => {
 *   console.log(request.remoteAddress.toString(), request.privateData[0]); // 10.0.0.1 7
 *   return request.accept({ qp: peer, privateData: Uint8Array.of(8) });
 * });
 * const connecting = a.cm.connect({ address: '10.0.0.2', port: 7471, qp, privateData: Uint8Array.of(7) });
 * const [connection] = await world.run(Promise.all([connecting, accepted]));
 * console.log(connection.privateData[0]); // 8
 * ```
 */
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
  readonly #answers: RequestAnswers;

  /** @internal */
  constructor(answers: RequestAnswers, id: CmId, req: CmReq, facts: RequestFacts) {
    this.#answers = answers;
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

  /** READs and atomics the peer can execute at a time. */
  get responderResources(): number {
    return this.req.responderResources;
  }

  /**
   * Brings the queue pair to RTS and sends the REP; resolves when the RTU has come. Rejects with ERR_ROCE_ADDRESS (and
   * refuses the request) when the path to the peer does not resolve, with ERR_ROCE_STATE when the request was answered
   * before; with ERR_ROCE_ARGUMENT for values out of range or a queue pair that does not fit, and then nothing has
   * changed.
   */
  accept(options: AcceptOptions): Promise<Connection> {
    return this.#answers.accept(this, options);
  }

  /**
   * Tells the peer at once that the answer takes up to 4.096 us * 2^serviceTimeout longer (MRA). A repeated REQ is
   * answered with an MRA of the default automatically. Linux peers use the first MRA they get.
   */
  delay(serviceTimeout = DEFAULT_PATIENCE): void {
    this.#answers.delay(this, serviceTimeout);
  }

  /**
   * Sends a REJ; the peer's `connect` rejects with ConnectionRejected. @param reason one of `CmRejReason`. Throws
   * ERR_ROCE_STATE when it was answered before.
   */
  reject(privateData?: Uint8Array, reason: number = CmRejReason.ConsumerDefined): void {
    this.#answers.reject(this, reason, privateData);
  }
}

/**
 * A connected queue pair.
 *
 * @example
 * ```ts
 * import { attachDevice, World } from 'rocev2';
 *
 * const world = new World({ seed: 1 });
 * const a = attachDevice(world, 'a', { addresses: ['10.0.0.1/24'] });
 * const b = attachDevice(world, 'b', { addresses: ['10.0.0.2/24'] });
 * const [toA, toB] = [a.createCq(16), b.createCq(16)];
 * const qp = a.allocPd().createQp({ sendCq: toA, recvCq: toA });
 * const peer = b.allocPd().createQp({ sendCq: toB, recvCq: toB });
 * const accepted = b.cm.listen(7471).next().then(({ value }) => value.accept({ qp: peer }));
 * const connecting = a.cm.connect({ address: '10.0.0.2', port: 7471, qp });
 * const [connection, passive] = await world.run(Promise.all([connecting, accepted]));
 * console.log(connection.remoteAddress.toString(), qp.stateName); // 10.0.0.2 RTS
 * await world.run(connection.disconnect());
 * await world.run(passive.closed);
 * console.log(peer.stateName); // ERR
 * ```
 */
export class Connection implements RdmaConnection {
  /** @internal */
  readonly id: CmId;
  readonly qp: Qp;
  readonly remoteAddress: IpAddress;
  /** What the peer sent with its answer. */
  readonly privateData: Uint8Array;
  /** Resolves with the cause when the connection has ended; the queue pair is in ERROR then. */
  readonly closed: Promise<DisconnectCause>;
  readonly #port: ConnectionPort;
  #end: (cause: DisconnectCause) => void = () => {};

  /** @internal */
  constructor(port: ConnectionPort, id: CmId, qp: Qp, remoteAddress: IpAddress, privateData: Uint8Array) {
    this.#port = port;
    this.id = id;
    this.qp = qp;
    this.remoteAddress = remoteAddress;
    this.privateData = privateData;
    this.closed = new Promise((resolve) => {
      this.#end = resolve;
    });
  }

  /** Flushes the queue pair, sends a DREQ, and resolves when the peer has answered or the retries are over. */
  async disconnect(privateData?: Uint8Array): Promise<DisconnectCause> {
    this.#port.disconnect(this, privateData);
    return this.closed;
  }

  /**
   * Asks the peer to take a second path for when the first fails (LAP), and loads it here when the peer has. Rejects
   * with AlternatePathRefused, ERR_ROCE_TIMEOUT (a Linux peer never answers), ERR_ROCE_ADDRESS, ERR_ROCE_STATE when the
   * connection has ended or a request is pending already; the connection goes on as it was.
   */
  loadAlternatePath(av: AddressVector): Promise<void> {
    return this.#port.loadAlternatePath(this, av);
  }

  /** For the connection manager. @internal */
  end(cause: DisconnectCause): void {
    this.#end(cause);
  }
}

/**
 * Takes requests on a port, for connections or for datagram services: `for await (const request of listener)`.
 *
 * @example
 * ```ts
 * import { attachDevice, World } from 'rocev2';
 *
 * const world = new World({ seed: 1 });
 * const a = attachDevice(world, 'a', { addresses: ['10.0.0.1/24'] });
 * const b = attachDevice(world, 'b', { addresses: ['10.0.0.2/24'] });
 * const [toA, toB] = [a.createCq(16), b.createCq(16)];
 * const [clients, servers] = [a.allocPd(), b.allocPd()];
 * const listener = b.cm.listen(7471);
 * async function serve(): Promise<void> {
 *   for await (const request of listener) {
 *     const connection = await request.accept({ qp: servers.createQp({ sendCq: toB, recvCq: toB }) });
 *     console.log('connected to', connection.remoteAddress.toString());
 *   }
 * }
 * const serving = serve();
 * for (let client = 0; client < 2; client++) {
 *   const qp = clients.createQp({ sendCq: toA, recvCq: toA });
 *   await world.run(a.cm.connect({ address: '10.0.0.2', port: listener.port, qp }));
 * }
 * // connected to 10.0.0.1
 * // connected to 10.0.0.1
 * listener.close();
 * await world.run(serving);
 * ```
 */
export class Listener<Request extends FromSource = ConnectionRequest> implements AsyncIterable<Request> {
  /** The port listened on. */
  readonly port: number;
  /** For the connection manager. @internal */
  readonly requests: FairQueue<Request>;
  readonly #unlisten: () => void;

  /** @internal */
  constructor(port: number, unlisten: () => void, taken: (request: Request) => void = () => {}) {
    this.port = port;
    this.requests = new FairQueue(taken);
    this.#unlisten = unlisten;
  }

  /** The next request, of each source address in turn, waited for; done after `close`. */
  next(): Promise<IteratorResult<Request>> {
    return this.requests.next();
  }

  /** Every request, until `close`. */
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
