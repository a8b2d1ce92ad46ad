/**
 * What finding and offering datagram services hands to an application: requests, where a service is, and why there is none.
 * rdma_cm's RDMA_PS_UDP: nothing is connected; who asks learns a queue pair number and a Q_Key.
 */
import type { IpAddress } from '../../../packets/address.ts';
import { CmSidrStatus, cmSidrStatusName } from '../../../packets/cm/index.ts';
import { RoceError } from '../../../packets/errors.ts';
import type { CmId } from '../../../transport/cm/index.ts';
import type { RdmaUdRequest } from '../api.ts';
import type { PathTraits } from '../options.ts';
import type { AddressVector, Ah, Pd, Qp } from '../verbs/index.ts';
import type { CmDatagrams } from './datagrams.ts';

/** RDMA_PS_UDP (udaddy, mckey, perftest over UD), RDMA_PS_IPOIB or RDMA_PS_IB. */
export type DatagramPortSpace = 'udp' | 'ipoib' | 'ib';

/** What answers a request: a datagram queue pair and what else there is to say. */
export interface UdAnswer {
  /** Of type UD. One in RESET, INIT or RTR is brought to RTS; then it has `qkey`. */
  readonly qp: Qp;
  /** Q_Key the peer is told [the queue pair's own; 0x01234567 for one in RESET]. */
  readonly qkey?: number;
  /** Up to 136 bytes. */
  readonly privateData?: Uint8Array;
}

/** How a datagram service is offered. With `qp` every request is answered with it at once, and the listener yields none. */
export interface ListenUdOptions extends Partial<UdAnswer> {
  /** Requests that may wait for the application at a time [1024]. */
  readonly backlog?: number;
  /** [udp] */
  readonly portSpace?: DatagramPortSpace;
  /** What becomes of a request that finds the backlog full: dropped, so that the peer repeats it, or refused with status 2 [drop]. */
  readonly whenFull?: 'drop' | 'reject';
}

/** What the datagrams to the service carry (`PathTraits`) is chosen here; where it is not, the device's own `path` counts. */
export interface ResolveUdOptions extends PathTraits {
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
  readonly pd: Pd;
  /** Up to 180 bytes. */
  readonly privateData?: Uint8Array;
  /** Code: how long to wait for each answer, 4.096 us * 2^n [20: 4.3 s]. */
  readonly cmResponseTimeout?: number;
  /** Repetitions, 0..15 [15]. */
  readonly maxCmRetries?: number;
}

/** Where a datagram service is: all that a work request to it names. */
export interface UdDestination {
  /** In the domain that was given; to be destroyed with it. */
  readonly ah: Ah;
  /** What the handle was made of. */
  readonly av: AddressVector;
  /** 24 bits. */
  readonly remoteQpn: number;
  /** 32 bits. */
  readonly qkey: number;
  /** All 136 bytes. */
  readonly privateData: Uint8Array;
}

/** The peer has no such service, or will not give it. */
export class ServiceRefused extends RoceError {
  /** One of `CmSidrStatus`. */
  readonly status: number;
  /** What goes with the status, up to 72 bytes. */
  readonly info: Uint8Array;
  /** What the peer says beyond it, all 136 bytes. */
  readonly privateData: Uint8Array;

  /** For the connection manager. @internal */
  constructor(status: number, info: Uint8Array, privateData: Uint8Array) {
    super('ERR_ROCE_REJECTED', `the peer does not give the service: ${cmSidrStatusName(status)} (${status})`);
    this.status = status;
    this.info = info;
    this.privateData = privateData;
  }
}

interface UdRequestFacts {
  readonly remoteAddress: IpAddress;
  readonly localAddress: IpAddress;
  readonly remotePort: number;
  readonly privateData: Uint8Array;
}

/** Somebody looks for the service. */
export class UdRequest implements RdmaUdRequest {
  /** For the connection manager. @internal */
  readonly id: CmId;
  /** Where the request came from. */
  readonly remoteAddress: IpAddress;
  /** The address of ours that it came to. */
  readonly localAddress: IpAddress;
  /** What the peer says its port is; 0 when it does not. */
  readonly remotePort: number;
  /** All 180 bytes, or 216 where there is no port. */
  readonly privateData: Uint8Array;
  readonly #datagrams: CmDatagrams;

  /** For the connection manager. @internal */
  constructor(datagrams: CmDatagrams, id: CmId, facts: UdRequestFacts) {
    this.#datagrams = datagrams;
    this.id = id;
    this.remoteAddress = facts.remoteAddress;
    this.localAddress = facts.localAddress;
    this.remotePort = facts.remotePort;
    this.privateData = facts.privateData;
  }

  /**
   * Names the queue pair. Throws ERR_ROCE_ARGUMENT for one that takes no datagrams or a Q_Key it does not have, ERR_ROCE_STATE
   * when the request was answered before or has waited too long, and changes nothing then.
   */
  accept(answer: UdAnswer): void {
    this.#datagrams.accept(this, answer);
  }

  /** Says why not: one of `CmSidrStatus` [Reject]. */
  reject(status: number = CmSidrStatus.Reject, privateData?: Uint8Array): void {
    this.#datagrams.reject(this, status, privateData);
  }
}
