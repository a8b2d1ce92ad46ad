/**
 * Shared receive queue of the verbs API. Thin: the machine is transport/srq.ts, here are the promises that an
 * application awaits, and the limits of the device.
 */
import { RoceError } from '../../../packets/errors.ts';
import type { ReceiveSource } from '../../../transport/recv-queue.ts';
import type { SharedReceiveQueue, SrqAttributes, SrqEvent } from '../../../transport/srq.ts';
import type { RecvWr } from '../../../transport/work.ts';
import { AsyncQueue } from '../../ground/async-queue.ts';
import type { RdmaSrq, RdmaSrqInit } from '../api.ts';
import type { Cq } from './cq.ts';
import type { LocalPd } from './ports.ts';
import type { Xrcd } from './xrcd.ts';

/** How a shared receive queue is made. */
export interface SrqInit extends RdmaSrqInit {
  /** XRC: whose target queue pairs may take from this queue. */
  readonly xrcd?: Xrcd;
  /** XRC: where its receives complete. */
  readonly cq?: Cq;
  /** Where receives wait that are not posted here. @internal */
  readonly source?: ReceiveSource;
}

/** The device's table of shared receive queues. */
export interface SrqResources {
  destroySrq(srq: Srq): void;
}

/**
 * Receives that many queue pairs take from (ibv_srq).
 *
 * @example
 * ```ts
 * import { attachDevice, World, WrOpcode } from 'rocev2';
 *
 * const world = new World({ seed: 1 });
 * const a = attachDevice(world, 'a', { addresses: ['10.0.0.1/24'] });
 * const b = attachDevice(world, 'b', { addresses: ['10.0.0.2/24'] });
 * const [toA, toB] = [a.createCq(16), b.createCq(16)];
 * const pd = b.allocPd();
 * const srq = pd.createSrq({ maxWr: 16 });
 * const qp = a.allocPd().createQp({ sendCq: toA, recvCq: toA });
 * const peer = pd.createQp({ sendCq: toB, recvCq: toB, srq });
 * const accepted = b.cm.listen(7471).next().then(({ value }) => value.accept({ qp: peer }));
 * await world.run(Promise.all([a.cm.connect({ address: '10.0.0.2', port: 7471, qp }), accepted]));
 * // Whichever queue pair gets a message takes the next receive of all.
 * srq.postRecv({ wrId: 9, sges: [{ mr: pd.regMr(64) }] });
 * qp.postSend({ wrId: 1, opcode: WrOpcode.Send, inline: Uint8Array.of(1, 2, 3) });
 * const { value: completion } = await world.run(toB.next());
 * console.log(completion.wrId, completion.byteLen); // 9 3
 * ```
 */
export class Srq implements RdmaSrq {
  readonly pd: LocalPd;
  /** @internal */
  readonly core: SharedReceiveQueue;
  readonly events = new AsyncQueue<SrqEvent>();
  readonly #resources: SrqResources;
  #destroyed = false;

  /** Called by `Resources.createSrq`. @internal */
  constructor(resources: SrqResources, pd: LocalPd, core: SharedReceiveQueue) {
    this.#resources = resources;
    this.pd = pd;
    this.core = core;
  }

  get srqn(): number {
    return this.core.srqn;
  }

  get maxWr(): number {
    return this.core.maxWr;
  }

  get maxSge(): number {
    return this.core.maxSge;
  }

  get limit(): number {
    return this.core.limit;
  }

  get length(): number {
    return this.core.length;
  }

  get destroyed(): boolean {
    return this.#destroyed;
  }

  postRecv(wr: RecvWr): void {
    this.#demandAlive();
    this.core.post(wr);
  }

  modify(attributes: SrqAttributes): void {
    this.#demandAlive();
    this.core.modify(attributes, this.pd.device.limits.maxSrqWr);
  }

  destroy(): void {
    if (this.#destroyed) return;
    this.#resources.destroySrq(this);
    this.ended();
  }

  /** For the device: it was closed. @internal */
  ended(): void {
    this.#destroyed = true;
    this.events.close();
  }

  /** For the device: reports pending events. @internal */
  settle(): void {
    for (let event = this.core.pollEvent(); event !== undefined; event = this.core.pollEvent()) this.events.push(event);
  }

  #demandAlive(): void {
    if (this.#destroyed) throw new RoceError('ERR_ROCE_CLOSED', 'the shared receive queue is destroyed');
  }
}
