/**
 * Connecting, listening and finding datagram services, as an application sees it wherever the stack runs: the other
 * half of `api.ts`. Types only. Names are those of rdma_cm; errors, ranges and units are those the local classes
 * document.
 */
import type { IpAddress } from '../../../packets/address.ts';
import type { CmTransportService } from '../../../packets/cm/index.ts';
import type { DisconnectCause } from '../../../transport/cm/index.ts';
import type { RdmaAh, RdmaPd, RdmaQp } from '../api.ts';
import type { PathTraits } from '../options.ts';
import type { AddressVector } from '../verbs/address-vector.ts';

/** Connecting and listening (rdma_cm). */
export interface RdmaCm {
  /** Connections in any state, TIMEWAIT included. */
  readonly size: number;
  /** Counters of the connection manager: one for each reason to drop a message. */
  counters(): Readonly<Record<string, number>>;
  /** Resolves when the queue pair is in RTS. Rejects with ConnectionRejected, ERR_ROCE_TIMEOUT or ERR_ROCE_ADDRESS. */
  connect(options: RdmaConnectOptions): Promise<RdmaConnection>;
  /**
   * Takes connection requests for a port; a number alone is the backlog. Throws ERR_ROCE_IN_USE when the port has a
   * listener already.
   */
  listen(port: number, options?: ListenOptions | number): RdmaListener;
  /**
   * Offers a datagram service: RDMA_PS_UDP, found by SIDR. With `qp` every request is answered with it. Throws
   * ERR_ROCE_IN_USE when the port has a service already.
   */
  listenUd(port: number, options?: RdmaListenUdOptions): RdmaUdListener;
  /** Finds a datagram service. Rejects with ServiceRefused, ERR_ROCE_TIMEOUT or ERR_ROCE_ADDRESS. */
  resolveUd(options: RdmaResolveUdOptions): Promise<RdmaUdDestination>;
}

/**
 * The tunables of a connection that both sides have. Absent ones take the defaults in brackets.
 *
 * What the packets of the connection carry (`PathTraits`) each side chooses for itself. Where it does not, the device's
 * own `path` counts; then the passive side takes the traffic class of the request and the source port that the
 * request's flow label gives, as rdma_cm does, so that both directions are of one class and port. The hop limit is
 * never the peer's.
 */
export interface ConnectionTunables extends PathTraits {
  /** READs and atomics this side may have outstanding [16]. */
  readonly initiatorDepth?: number;
  /** READs and atomics of the peer that this side executes at a time [16]. */
  readonly responderResources?: number;
  /** RNR retries this side asks its peer to make, 0..7; 7 means infinitely [7]. */
  readonly rnrRetryCount?: number;
  /** Code of the wait this side asks for when it has no receive, 0..31 [12: 0.64 ms]. */
  readonly minRnrTimer?: number;
  /** Local ACK timeout code, 4.096 us * 2^n [17: 0.54 s; the request's on the accepting side]. */
  readonly ackTimeout?: number;
  /**
   * End-to-end credits, where both sides ask for them: ACKs carry the number of receives posted, and the requester
   * sends no more [no; on the accepting side what the request says]. RC only, and not where receives are shared.
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
  /**
   * How a request is handled when the backlog is full: dropped, so that the peer repeats it, or refused with reason 3
   * [drop].
   */
  readonly whenFull?: 'drop' | 'reject';
  /** Services of which requests are taken; others are refused with reason 9 [all]. */
  readonly services?: readonly CmTransportService[];
}

/** The peer to connect to, and how. */
export interface RdmaConnectOptions extends ConnectionTunables {
  /** The peer's. */
  readonly address: IpAddress | string;
  /** One of the device's addresses [the one on the peer's subnet]. */
  readonly source?: IpAddress | string;
  /** Port of the peer in the port space, 0..65535. */
  readonly port: number;
  /** RDMA_PS_TCP, or RDMA_PS_IB as XRC programs use [tcp]. */
  readonly portSpace?: 'tcp' | 'ib';
  /** RC, UC or XRC_SEND, in RESET or INIT: its type is that of the connection. */
  readonly qp: RdmaQp;
  /** Local port in the request, 0..65535 [one that is free]. */
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
export interface RdmaAcceptOptions extends ConnectionTunables {
  /** RC, UC or XRC_RECV as the request's `service` says, in RESET or INIT. */
  readonly qp: RdmaQp;
}

/** RDMA_PS_UDP (udaddy, mckey, perftest over UD), RDMA_PS_IPOIB or RDMA_PS_IB. */
export type DatagramPortSpace = 'udp' | 'ipoib' | 'ib';

/** The answer to a request: a datagram queue pair, its Q_Key and private data. */
export interface RdmaUdAnswer {
  /** Of type UD. One in RESET, INIT or RTR is brought to RTS; then it has `qkey`. */
  readonly qp: RdmaQp;
  /** Q_Key in the answer [the queue pair's own; 0x01234567 for one in RESET]. */
  readonly qkey?: number;
  /** Up to 136 bytes. */
  readonly privateData?: Uint8Array;
}

/**
 * How a datagram service is offered. With `qp` every request is answered with it at once, and the listener yields none.
 */
export interface RdmaListenUdOptions extends Partial<RdmaUdAnswer> {
  /** Requests that may wait for the application at a time [1024]. */
  readonly backlog?: number;
  /** [udp] */
  readonly portSpace?: DatagramPortSpace;
  /**
   * How a request is handled when the backlog is full: dropped, so that the peer repeats it, or refused with status 2
   * [drop].
   */
  readonly whenFull?: 'drop' | 'reject';
}

/**
 * What the datagrams to the service carry (`PathTraits`) is chosen here; where it is not, the device's own `path`
 * counts.
 */
export interface RdmaResolveUdOptions extends PathTraits {
  /** The peer's. */
  readonly address: IpAddress | string;
  /** One of the device's addresses [the one on the peer's subnet]. */
  readonly source?: IpAddress | string;
  /** Port of the peer in the port space, 0..65535. */
  readonly port: number;
  /** [udp] */
  readonly portSpace?: DatagramPortSpace;
  /** Our port, which the peer sees in the request, 0..65535 [a random one from 49152 on]. */
  readonly localPort?: number;
  /** Where the address handle is made. */
  readonly pd: RdmaPd;
  /** Up to 180 bytes. */
  readonly privateData?: Uint8Array;
  /** Code: how long to wait for each answer, 4.096 us * 2^n [20: 4.3 s]. */
  readonly cmResponseTimeout?: number;
  /** Repetitions, 0..15 [15]. */
  readonly maxCmRetries?: number;
}

/** Where a datagram service is: all that a work request to it names. */
export interface RdmaUdDestination {
  /** In the domain that was given; to be destroyed with it. */
  readonly ah: RdmaAh;
  /** What the handle was made of. */
  readonly av: AddressVector;
  /** 24 bits. */
  readonly remoteQpn: number;
  /** 32 bits. */
  readonly qkey: number;
  /** All 136 bytes. */
  readonly privateData: Uint8Array;
}

/** Takes requests for a datagram service on a port: `for await (const request of listener)`. */
export interface RdmaUdListener extends AsyncIterable<RdmaUdRequest> {
  /** The port listened on. */
  readonly port: number;
  /** The next request, waited for; done after `close`. */
  next(): Promise<IteratorResult<RdmaUdRequest>>;
  /** Takes no more requests and ends iteration after those that have come. */
  close(): void;
}

/** A request for a datagram service (SIDR REQ). */
export interface RdmaUdRequest {
  /** The peer's address. */
  readonly remoteAddress: IpAddress;
  /** The local address that the request came to. */
  readonly localAddress: IpAddress;
  /** The peer's port, 0..65535. */
  readonly remotePort: number;
  /** What came with the request: the whole field, zeros at its end included. */
  readonly privateData: Uint8Array;
  /**
   * Names a queue pair of type UD, brought to RTS if it is not there; throws ERR_ROCE_STATE when it was answered
   * before.
   */
  accept(answer: RdmaUdAnswer): void;
  /**
   * Refuses the request.
   *
   * @param status one of `CmSidrStatus` but Success [Reject]
   */
  reject(status?: number, privateData?: Uint8Array): void;
}

/** Takes requests on a port: `for await (const request of listener)`. */
export interface RdmaListener extends AsyncIterable<RdmaConnectionRequest> {
  /** The port listened on. */
  readonly port: number;
  /** The next request, waited for; done after `close`. */
  next(): Promise<IteratorResult<RdmaConnectionRequest>>;
  /** Takes no more requests and ends iteration after those that have come. */
  close(): void;
}

/** A connection request (REQ). */
export interface RdmaConnectionRequest {
  /** The peer's address. */
  readonly remoteAddress: IpAddress;
  /** The local address that the request came to. */
  readonly localAddress: IpAddress;
  /** The peer's port, 0..65535. */
  readonly remotePort: number;
  /** What came with the request: the whole field, zeros at its end included. */
  readonly privateData: Uint8Array;
  /** The service of the peer's queue pair; the local one must have the same, or be an XRC target. */
  readonly service: CmTransportService;
  /** READs and atomics the peer wants to have outstanding. */
  readonly initiatorDepth: number;
  /** READs and atomics the peer can execute at a time. */
  readonly responderResources: number;
  /**
   * Brings the queue pair to RTS and sends the REP; rejects with ERR_ROCE_ADDRESS, or ERR_ROCE_STATE when it was
   * answered before.
   */
  accept(options: RdmaAcceptOptions): Promise<RdmaConnection>;
  /** Tells the peer that the answer takes up to 4.096 us * 2^serviceTimeout longer [24: 69 s]. */
  delay(serviceTimeout?: number): void;
  /**
   * Sends a REJ; the peer's `connect` rejects with ConnectionRejected. Throws ERR_ROCE_STATE when it was answered
   * before.
   *
   * @param reason one of `CmRejReason` [ConsumerDefined]
   */
  reject(privateData?: Uint8Array, reason?: number): void;
}

/** A connected queue pair. */
export interface RdmaConnection {
  /** The queue pair, in RTS until the connection ends. */
  readonly qp: RdmaQp;
  /** The peer's address. */
  readonly remoteAddress: IpAddress;
  /** What the peer sent with its answer. */
  readonly privateData: Uint8Array;
  /** Resolves with the cause when the connection has ended; the queue pair is in ERROR then. */
  readonly closed: Promise<DisconnectCause>;
  /** Asks the peer for a second path, for when the first fails (LAP), and loads it here when the peer has. */
  loadAlternatePath(av: AddressVector): Promise<void>;
  /** Flushes the queue pair, sends a DREQ, and resolves when the peer has answered or the retries are over. */
  disconnect(privateData?: Uint8Array): Promise<DisconnectCause>;
}
