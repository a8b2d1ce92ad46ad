/**
 * Queue pair of the verbs API. Thin: the machine is in transport/, here are the promises that an application awaits,
 * and the calls that give the device work.
 */

import type { IpAddress } from '../../../packets/address.ts';
import { RoceError } from '../../../packets/errors.ts';
import type { HeaderTemplate } from '../../../packets/header-template.ts';
import { type RateState, rateState } from '../../../transport/congestion/rate-controller.ts';
import type { QpAttributes } from '../../../transport/qp-attributes.ts';
import type { QpEvent } from '../../../transport/qp-event.ts';
import type { QpPath } from '../../../transport/qp-path.ts';
import { QP_STATE_NAMES, type QpState } from '../../../transport/qp-state.ts';
import type { QpType } from '../../../transport/qp-type.ts';
import type { QueuePair } from '../../../transport/queue-pair.ts';
import type { ReceiveSource } from '../../../transport/recv-queue.ts';
import type { RecvWr, SendWr } from '../../../transport/work.ts';
import { AsyncQueue } from '../../ground/async-queue.ts';
import type { RdmaQp, RdmaQpInit } from '../api.ts';
import type { NextHop, PathUser } from '../next-hop.ts';
import type { AddressVector } from './address-vector.ts';
import { Ah } from './ah.ts';
import type { ModifyAttributes } from './attributes.ts';
import type { Cq } from './cq.ts';
import type { LocalPd } from './ports.ts';

/**
 * How a queue pair is made (ibv_qp_init_attr). Absent capabilities are 128 work requests, 4 pieces and 64 inline bytes.
 */
export interface QpInit extends RdmaQpInit {
  /** Where sends complete. */
  readonly sendCq: Cq;
  /** Where receives complete; may be the same. */
  readonly recvCq: Cq;
  /** Where receives wait that are not posted here. @internal */
  readonly receiveSource?: ReceiveSource;
}

/** What a queue pair needs of its device. */
export interface QpDevice {
  readonly paths: { pathTo(qpn: number, av: AddressVector, destQpn: number): QpPath };
  now(): number;
  resolve(address: IpAddress): Promise<void>;
  /** Changes attributes and state, and updates the device's tables. */
  modifyQp(qp: Qp, attributes: QpAttributes): void;
  /** The queue pair has new work. */
  touched(qp: Qp): void;
  /** A datagram is about to be sent to this address handle. */
  used(ah: Ah): void;
  attachMcast(qp: Qp, group: IpAddress): Promise<void>;
  detachMcast(qp: Qp, group: IpAddress): void;
  destroyQp(qp: Qp): void;
}

/**
 * One end of a connection, or of datagrams (ibv_qp).
 *
 * @example
 * ```ts
 * import { attachDevice, World, WrOpcode } from 'rocev2';
 *
 * const world = new World({ seed: 1 });
 * const a = attachDevice(world, 'a', { addresses: ['10.0.0.1/24'] });
 * const b = attachDevice(world, 'b', { addresses: ['10.0.0.2/24'] });
 * const [toA, toB] = [a.createCq(16), b.createCq(16)];
 * const qp = a.allocPd().createQp({ sendCq: toA, recvCq: toA });
 * const peer = b.allocPd().createQp({ sendCq: toB, recvCq: toB });
 * const accepted = b.cm.listen(7471).next().then(({ value }) => value.accept({ qp: peer }));
 * await world.run(Promise.all([a.cm.connect({ address: '10.0.0.2', port: 7471, qp }), accepted]));
 * const mr = peer.pd.regMr(64);
 * peer.postRecv({ wrId: 1, sges: [{ mr }] });
 * qp.postSend({ wrId: 2, opcode: WrOpcode.Send, inline: new TextEncoder().encode('hello') });
 * const { value: completion } = await world.run(toB.next());
 * console.log(new TextDecoder().decode(mr.bytes.subarray(0, completion.byteLen))); // hello
 * ```
 */
export class Qp implements RdmaQp, PathUser {
  /** @internal */
  readonly core: QueuePair;
  readonly pd: LocalPd;
  /** Asynchronous events: communication established, send queue drained, errors. */
  readonly events = new AsyncQueue<QpEvent>();
  /** For the device: the next hop, on a link that has neighbours. @internal */
  nextHop: NextHop | undefined = undefined;
  /**
   * For holders of a copy of the state: called after every modify by the application or the connection manager.
   * @internal
   */
  modified: (() => void) | undefined;
  readonly #device: QpDevice;
  #destroyed = false;

  /** Called by `Device.createQp`. @internal */
  constructor(device: QpDevice, pd: LocalPd, core: QueuePair) {
    this.#device = device;
    this.pd = pd;
    this.core = core;
  }

  /** Whether `destroy` was called. */
  get destroyed(): boolean {
    return this.#destroyed;
  }

  get type(): QpType {
    return this.core.type;
  }

  get qpn(): number {
    return this.core.qpn;
  }

  get state(): QpState {
    return this.core.state;
  }

  get stateName(): string {
    return QP_STATE_NAMES[this.core.state];
  }

  get congestion(): RateState | undefined {
    const { pacer } = this.core;
    return pacer === undefined ? undefined : rateState(pacer.controller, this.#device.now());
  }

  /**
   * Changes attributes and state (ibv_modify_qp). On Ethernet an address vector is resolved to a MAC address first,
   * which is why this is asynchronous. Rejects with ERR_ROCE_STATE, ERR_ROCE_ARGUMENT or ERR_ROCE_ADDRESS and changes
   * nothing.
   */
  async modify(attributes: ModifyAttributes): Promise<void> {
    const { av, altAv } = attributes;
    if (av !== undefined) await this.#device.resolve(av.destination);
    if (altAv !== undefined) await this.#device.resolve(altAv.destination);
    this.modifyNow(attributes);
  }

  /** `modify` for a destination that is resolved already; throws ERR_ROCE_ADDRESS when it is not. */
  modifyNow(attributes: ModifyAttributes): void {
    this.#demandAlive();
    const { av, altAv, ...rest } = attributes;
    const { destQpn = this.core.config.destQpn } = rest;
    const pathTo = (way: AddressVector) => this.#device.paths.pathTo(this.qpn, way, destQpn);
    this.#device.modifyQp(this, {
      ...rest,
      ...(av === undefined ? {} : { path: pathTo(av) }),
      ...(altAv === undefined ? {} : { altPath: pathTo(altAv) }),
    });
    this.modified?.();
  }

  /** For the device: the headers of its packets. @internal */
  get template(): HeaderTemplate | undefined {
    return this.core.config.path?.template;
  }

  /**
   * Posts a send work request (ibv_post_send). Throws and posts nothing when the request or the state does not allow
   * it.
   */
  postSend(wr: SendWr): void {
    this.#demandAlive();
    this.core.postSend(wr);
    if (wr.ah instanceof Ah) this.#device.used(wr.ah);
    this.#device.touched(this);
  }

  /** Posts a receive work request (ibv_post_recv). */
  postRecv(wr: RecvWr): void {
    this.#demandAlive();
    this.core.postRecv(wr);
    this.#device.touched(this);
  }

  /**
   * Attaches the queue pair to a multicast group (ibv_attach_mcast); the device joins it with its first one. Datagrams
   * to the group are received like any others, this device's own included. Rejects with ERR_ROCE_ARGUMENT for another
   * type than UD or another address than a group's, ERR_ROCE_LIMIT when there is no room, ERR_ROCE_UNSUPPORTED on a
   * link that cannot join.
   */
  async attachMcast(group: IpAddress): Promise<void> {
    this.#demandAlive();
    await this.#device.attachMcast(this, group);
  }

  /** Ends it (ibv_detach_mcast). Throws ERR_ROCE_ARGUMENT when the queue pair is not attached. */
  detachMcast(group: IpAddress): void {
    this.#demandAlive();
    this.#device.detachMcast(this, group);
  }

  /** Destroys the queue pair; outstanding work requests do not complete, as with ibv_destroy_qp. */
  destroy(): void {
    if (this.#destroyed) return;
    this.#destroyed = true;
    this.events.close();
    this.#device.destroyQp(this);
  }

  #demandAlive(): void {
    if (this.#destroyed) throw new RoceError('ERR_ROCE_CLOSED', 'the queue pair is destroyed');
  }
}
