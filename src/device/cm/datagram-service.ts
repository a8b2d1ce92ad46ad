/**
 * Types of datagram services that applications use: requests, the address of a service, and the reason for a refusal.
 * rdma_cm's RDMA_PS_UDP: nothing is connected; the answer carries a queue pair number and a Q_Key.
 */
import type { IpAddress } from '../../../packets/address.ts';
import { CmSidrStatus, cmSidrStatusName } from '../../../packets/cm/index.ts';
import { RoceError } from '../../../packets/errors.ts';
import type { CmId } from '../../../transport/cm/index.ts';
import type { Ah, Pd, Qp } from '../verbs/index.ts';
import type {
  RdmaListenUdOptions,
  RdmaResolveUdOptions,
  RdmaUdAnswer,
  RdmaUdDestination,
  RdmaUdRequest,
} from './api.ts';

/** The answer to a request: a datagram queue pair, its Q_Key and private data. */
export interface UdAnswer extends RdmaUdAnswer {
  readonly qp: Qp;
}

/**
 * How a datagram service is offered. With `qp` every request is answered with it at once, and the listener yields none.
 */
export interface ListenUdOptions extends RdmaListenUdOptions {
  readonly qp?: Qp;
}

/** Which datagram service is looked for. */
export interface ResolveUdOptions extends RdmaResolveUdOptions {
  readonly pd: Pd;
}

/** Where a datagram service is: all that a work request to it names. */
export interface UdDestination extends RdmaUdDestination {
  readonly ah: Ah;
}

/** What answers requests for datagram services. */
export interface UdRequestAnswers {
  accept(request: UdRequest, answer: UdAnswer): void;
  reject(request: UdRequest, status: number, privateData: Uint8Array | undefined): void;
}

/**
 * The peer has no such service, or refused the request.
 *
 * @example
 * ```ts
 * import { attachDevice, ServiceRefused, World } from 'rocev2';
 *
 * const world = new World({ seed: 1 });
 * const a = attachDevice(world, 'a', { addresses: ['10.0.0.1/24'] });
 * const b = attachDevice(world, 'b', { addresses: ['10.0.0.2/24'] });
 * b.cm.listenUd(7471).next().then(({ value: request }) => request.reject());
 * try {
 *   await world.run(a.cm.resolveUd({ address: '10.0.0.2', port: 7471, pd: a.allocPd() }));
 * } catch (error) {
 *   if (!(error instanceof ServiceRefused)) throw error;
 *   console.log(error.code, error.status); // ERR_ROCE_REJECTED 2
 * }
 * ```
 */
export class ServiceRefused extends RoceError {
  /** One of `CmSidrStatus`. */
  readonly status: number;
  /** What goes with the status, up to 72 bytes. */
  readonly info: Uint8Array;
  /** Private data of the answer, all 136 bytes. */
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

/**
 * A request for the service (SIDR REQ).
 *
 * @example
 * ```ts
 * import { attachDevice, QpType, World } from 'rocev2';
 *
 * const world = new World({ seed: 1 });
 * const a = attachDevice(world, 'a', { addresses: ['10.0.0.1/24'] });
 * const b = attachDevice(world, 'b', { addresses: ['10.0.0.2/24'] });
 * const cq = b.createCq(16);
 * const qp = b.allocPd().createQp({ type: QpType.Ud, sendCq: cq, recvCq: cq });
 * b.cm.listenUd(7471).next().then(({ value: request }) => request.accept({ qp, qkey: 0x1234 }));
 * const found = await world.run(a.cm.resolveUd({ address: '10.0.0.2', port: 7471, pd: a.allocPd() }));
 * console.log(found.remoteQpn === qp.qpn, found.qkey.toString(16)); // true 1234
 * ```
 */
export class UdRequest implements RdmaUdRequest {
  /** For the connection manager. @internal */
  readonly id: CmId;
  /** Where the request came from. */
  readonly remoteAddress: IpAddress;
  /** The address of ours that it came to. */
  readonly localAddress: IpAddress;
  /** The peer's port from the request; 0 when it has none. */
  readonly remotePort: number;
  /** All 180 bytes, or 216 where there is no port. */
  readonly privateData: Uint8Array;
  readonly #answers: UdRequestAnswers;

  /** For the connection manager. @internal */
  constructor(answers: UdRequestAnswers, id: CmId, facts: UdRequestFacts) {
    this.#answers = answers;
    this.id = id;
    this.remoteAddress = facts.remoteAddress;
    this.localAddress = facts.localAddress;
    this.remotePort = facts.remotePort;
    this.privateData = facts.privateData;
  }

  /**
   * Names the queue pair. Throws ERR_ROCE_ARGUMENT for one that takes no datagrams or a Q_Key it does not have,
   * ERR_ROCE_STATE when the request was answered before or has waited too long, and changes nothing then.
   */
  accept(answer: UdAnswer): void {
    this.#answers.accept(this, answer);
  }

  /** Refuses the request: one of `CmSidrStatus` [Reject]. */
  reject(status: number = CmSidrStatus.Reject, privateData?: Uint8Array): void {
    this.#answers.reject(this, status, privateData);
  }
}
