/**
 * Connecting, listening and finding datagram services, as an application sees it wherever the stack runs: the other half of
 * `api.ts`. Types only. Names are those of rdma_cm; errors, ranges and units are those the local classes document.
 */
import type { IpAddress } from '../../../packets/address.ts';
import type { CmTransportService } from '../../../packets/cm/index.ts';
import type { DisconnectCause } from '../../../transport/cm/index.ts';
import type { RdmaAh, RdmaPd, RdmaQp } from '../api.ts';
import type { AddressVector } from '../verbs/index.ts';
import type { AcceptOptions, ConnectOptions, ListenOptions } from './connection.ts';
import type { ListenUdOptions, ResolveUdOptions, UdAnswer, UdDestination } from './datagram-service.ts';

/** Connecting and listening (rdma_cm). */
export interface RdmaCm {
  /** Connections in any state, TIMEWAIT included. */
  readonly size: number;
  /** Counters of the connection manager: one for every cause for which a message was not taken. */
  counters(): Readonly<Record<string, number>>;
  /** Resolves when the queue pair is in RTS. Rejects with ConnectionRejected, ERR_ROCE_TIMEOUT or ERR_ROCE_ADDRESS. */
  connect(options: RdmaConnectOptions): Promise<RdmaConnection>;
  /** Takes connection requests for a port; a number alone is the backlog. Throws ERR_ROCE_IN_USE when somebody listens there. */
  listen(port: number, options?: ListenOptions | number): RdmaListener;
  /**
   * Offers a datagram service: RDMA_PS_UDP, found by SIDR. With `qp` every request is answered with it. Throws ERR_ROCE_IN_USE when
   * somebody offers one there.
   */
  listenUd(port: number, options?: RdmaListenUdOptions): RdmaUdListener;
  /** Finds a datagram service. Rejects with ServiceRefused, ERR_ROCE_TIMEOUT or ERR_ROCE_ADDRESS. */
  resolveUd(options: RdmaResolveUdOptions): Promise<RdmaUdDestination>;
}

/** What answers a request for a datagram service. */
export type RdmaUdAnswer = Omit<UdAnswer, 'qp'> & {
  /** Of type UD. One in RESET, INIT or RTR is brought to RTS. */
  readonly qp: RdmaQp;
};
/** How a datagram service is offered. */
export type RdmaListenUdOptions = Omit<ListenUdOptions, 'qp'> & {
  /** Answers every request at once; the listener yields none then. */
  readonly qp?: RdmaQp;
};
/** What datagram service to look for. What the datagrams to it carry (`PathTraits`) is chosen here. */
export type RdmaResolveUdOptions = Omit<ResolveUdOptions, 'pd'> & {
  /** Where the address handle is made. */
  readonly pd: RdmaPd;
};
/** Where a datagram service is: all that a work request to it names. */
export type RdmaUdDestination = Omit<UdDestination, 'ah'> & {
  /** The way there; to be destroyed by who asked. */
  readonly ah: RdmaAh;
};

/** Takes requests for a datagram service on a port: `for await (const request of listener)`. */
export interface RdmaUdListener extends AsyncIterable<RdmaUdRequest> {
  /** The port listened on. */
  readonly port: number;
  /** The next request, waited for; done after `close`. */
  next(): Promise<IteratorResult<RdmaUdRequest>>;
  /** Takes no more requests and ends iteration after those that have come. */
  close(): void;
}

/** Somebody looks for a datagram service. */
export interface RdmaUdRequest {
  /** Who asks. */
  readonly remoteAddress: IpAddress;
  /** Which of our addresses it asked. */
  readonly localAddress: IpAddress;
  /** The asker's port, 0..65535. */
  readonly remotePort: number;
  /** What came with the request: the whole field, zeros at its end included. */
  readonly privateData: Uint8Array;
  /** Names a queue pair of type UD, brought to RTS if it is not there; throws ERR_ROCE_STATE when it was answered before. */
  accept(answer: RdmaUdAnswer): void;
  /**
   * Says why not.
   *
   * @param status one of `CmSidrStatus` but Success [Reject]
   */
  reject(status?: number, privateData?: Uint8Array): void;
}

/** Whom to connect to, and how. */
export type RdmaConnectOptions = Omit<ConnectOptions, 'qp'> & {
  /** In RESET or INIT: its type is that of the connection. */
  readonly qp: RdmaQp;
};
/** How a request is accepted. */
export type RdmaAcceptOptions = Omit<AcceptOptions, 'qp'> & {
  /** Of the type that the request's `service` says, in RESET or INIT. */
  readonly qp: RdmaQp;
};

/** Takes requests on a port: `for await (const request of listener)`. */
export interface RdmaListener extends AsyncIterable<RdmaConnectionRequest> {
  /** The port listened on. */
  readonly port: number;
  /** The next request, waited for; done after `close`. */
  next(): Promise<IteratorResult<RdmaConnectionRequest>>;
  /** Takes no more requests and ends iteration after those that have come. */
  close(): void;
}

/** Somebody wants to connect. */
export interface RdmaConnectionRequest {
  /** Who wants to connect. */
  readonly remoteAddress: IpAddress;
  /** To which of our addresses. */
  readonly localAddress: IpAddress;
  /** The peer's port, 0..65535. */
  readonly remotePort: number;
  /** What came with the request: the whole field, zeros at its end included. */
  readonly privateData: Uint8Array;
  /** What the peer's queue pair is; ours has to be the same, or an XRC target. */
  readonly service: CmTransportService;
  /** READs and atomics the peer wants to have outstanding. */
  readonly initiatorDepth: number;
  /** READs and atomics the peer can answer at a time. */
  readonly responderResources: number;
  /** Brings the queue pair to RTS and says yes; rejects with ERR_ROCE_ADDRESS, or ERR_ROCE_STATE when it was answered before. */
  accept(options: RdmaAcceptOptions): Promise<RdmaConnection>;
  /** Tells the peer that the answer takes up to 4.096 us * 2^serviceTimeout longer [24: 69 s]. */
  delay(serviceTimeout?: number): void;
  /**
   * Says no; the peer's `connect` rejects with ConnectionRejected. Throws ERR_ROCE_STATE when it was answered before.
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
  /** Resolves when the connection has ended, with how; the queue pair is in ERROR then. */
  readonly closed: Promise<DisconnectCause>;
  /** Asks the peer for a second path, for when the first fails (LAP), and takes it here when the peer has. */
  loadAlternatePath(av: AddressVector): Promise<void>;
  /** Flushes the queue pair, tells the peer, and resolves when it has answered or never will. */
  disconnect(privateData?: Uint8Array): Promise<DisconnectCause>;
}
