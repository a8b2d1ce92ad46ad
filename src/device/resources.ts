/**
 * The objects of a device: protection domains, completion queues, keys, queue pairs. Owns the tables, the numbers and
 * keys that packets carry, and the limits. Never parses a packet and never schedules a queue pair.
 */

import type { IpAddress } from '../../packets/address.ts';
import { defined } from '../../packets/defined.ts';
import { invariant, RoceError } from '../../packets/errors.ts';
import type { PortCounters } from '../../transport/counters.ts';
import type { Defences } from '../../transport/defences.ts';
import type { GrantMemory } from '../../transport/grant.ts';
import { KeyTable } from '../../transport/key-table.ts';
import { Access, type MemoryRegion, type WindowType } from '../../transport/memory.ts';
import { type PeerProfile, peerProfile } from '../../transport/peer-profile.ts';
import { TransportPools } from '../../transport/pools.ts';
import type { QpCapabilities } from '../../transport/qp-capabilities.ts';
import type { QpCongestion, QpIdentity } from '../../transport/qp-identity.ts';
import { QpType } from '../../transport/qp-type.ts';
import type { QueuePair } from '../../transport/queue-pair.ts';
import type { Random } from '../../transport/random.ts';
import { RcQueuePair } from '../../transport/rc-queue-pair.ts';
import { SharedReceiveQueue } from '../../transport/srq.ts';
import type { QpTrace } from '../../transport/trace.ts';
import { UcQueuePair } from '../../transport/uc-queue-pair.ts';
import { UdQueuePair } from '../../transport/ud-queue-pair.ts';
import type { XrcDomain } from '../../transport/xrc-domain.ts';
import { XrcInitiator, XrcTarget } from '../../transport/xrc-queue-pair.ts';
import type { RdmaCm, RdmaSrq } from './api.ts';
import { markPersist } from './callbacks.ts';
import { type DeviceLimits, qpCapabilities, srqCapabilities } from './options.ts';
import type { DeviceTables } from './tables.ts';
import {
  Cq,
  type CqMaker,
  Mw,
  Pd,
  type PdDevice,
  Qp,
  type QpDevice,
  type QpInit,
  type RegMrOptions,
  Srq,
  type SrqInit,
  Xrcd,
} from './verbs/index.ts';

export interface ResourceOptions {
  readonly random: Random;
  readonly limits: DeviceLimits;
  /** Unacknowledged packets of a queue pair, where the link needs fewer than the default. */
  readonly maxUnacked: number | undefined;
  /** The peer's implementation, for queue pairs made without `peer`. */
  readonly peer: PeerProfile;
  readonly portCounters: PortCounters;
  /** What queue pairs do about packets that no honest peer sends. */
  readonly defences: Defences;
  /** Congestion control of queue pairs. */
  readonly congestion: QpCongestion | undefined;
  /** Receives the trace of queue pairs and completions. */
  readonly trace: QpTrace | undefined;
}

/** What the tables need of their device. */
export interface ResourceDevice extends PdDevice, QpDevice {
  readonly paths: PdDevice['paths'] & QpDevice['paths'];
  /** Which queue pair numbers connections hold. */
  readonly cm: RdmaCm & { isHeld(qpn: number): boolean };
  resolve(address: IpAddress): Promise<void>;
}

type ResourceTable =
  | 'queuePairs'
  | 'completionQueues'
  | 'sharedReceiveQueues'
  | 'memoryRegions'
  | 'memoryWindows'
  | 'keys';

export class Resources {
  /** By number. */
  readonly qps = new Map<number, Qp>();
  /** Completion queues with completions and a pending promise. */
  readonly notified: Cq[] = [];
  /** Shared receive queues that have an event. */
  readonly #eventful: SharedReceiveQueue[] = [];
  readonly #device: ResourceDevice;
  readonly #options: ResourceOptions;
  readonly keys: KeyTable;
  readonly #pools = new TransportPools();
  readonly #cqs = new Set<Cq>();
  /** By number. */
  readonly #srqs = new Map<number, Srq>();
  /** Completion queues whose overrun was reported. */
  readonly #overrun = new WeakSet<Cq>();
  #nextPd = 1;
  #nextAh = 1;
  #closed = false;

  constructor(device: ResourceDevice, options: ResourceOptions) {
    this.#device = device;
    this.#options = options;
    this.keys = new KeyTable(options.random, options.limits.maxMr);
  }

  /** Sizes of the tables. */
  get sizes(): Pick<DeviceTables, ResourceTable> {
    const { size, windowCount, grantCount } = this.keys;
    return {
      queuePairs: this.qps.size,
      completionQueues: this.#cqs.size,
      sharedReceiveQueues: this.#srqs.size,
      memoryRegions: size,
      memoryWindows: windowCount,
      keys: grantCount,
    };
  }

  /** For `Device.allocPd`. */
  allocPd(): Pd {
    this.#demandOpen();
    return new Pd(this.#device, this, this.#nextPd++);
  }

  /** For `Device.createCq`. */
  createCq(capacity: number, make: CqMaker): Cq {
    this.#demandOpen();
    const cq = make(capacity, this.notified, this.#options.limits.maxCqe, this.#pools);
    cq.trace = this.#options.trace;
    this.#cqs.add(cq);
    return cq;
  }

  /** For `Device.destroyCq`. */
  destroyCq(cq: Cq): void {
    if (cq.users > 0) throw new RoceError('ERR_ROCE_IN_USE', `${cq.users} queue pairs still complete into this queue`);
    this.#cqs.delete(cq);
    cq.close();
  }

  /** For `Pd.regMr`. */
  regMr(pd: Pd, memory: GrantMemory | number, options: RegMrOptions): MemoryRegion {
    this.#demandOpen();
    const bytes = typeof memory === 'number' ? new Uint8Array(memory) : memory;
    return this.keys.register(pd.core, bytes, {
      access: options.access ?? Access.LocalWrite,
      iova: options.iova ?? this.#freshIova(),
      remoteInvalidate: options.remoteInvalidate ?? false,
      persistent: options.persistent === undefined ? undefined : markPersist(options.persistent),
    });
  }

  /** For `Pd.allocMr`. */
  allocMr(pd: Pd, maxBytes: number): MemoryRegion {
    this.#demandOpen();
    return this.keys.allocate(pd.core, maxBytes);
  }

  /** For `Pd.allocMw`. */
  allocMw(pd: Pd, type: WindowType): Mw {
    this.#demandOpen();
    return this.keys.allocateWindow(pd.core, (domain, rkey) => new Mw(this, domain, rkey, type));
  }

  /** For `Mw.dealloc`. */
  deallocMw(mw: Mw): void {
    this.keys.deallocateWindow(mw);
  }

  /** For `Pd.deregMr`. */
  deregMr(region: MemoryRegion): void {
    this.keys.deregister(region);
  }

  /** For `Pd.createQp`. */
  createQp(pd: Pd, init: QpInit): Qp {
    this.#demandOpen();
    this.#demandRoom();
    const capabilities = qpCapabilities(init, this.#options.limits);
    const { sendCq, recvCq, receiveSource } = init;
    const peer = init.peer === undefined ? this.#options.peer : peerProfile(init.peer);
    if (!(this.#cqs.has(sendCq) && this.#cqs.has(recvCq)))
      throw new RoceError('ERR_ROCE_ARGUMENT', 'a queue pair completes into queues of its own device');
    // A requester-only queue pair receives nothing: verbs ignore the argument.
    const shares = init.srq !== undefined && init.type !== QpType.XrcSend;
    const shared = shares ? { srq: this.#sharedBy(init.srq) } : {};
    const { congestion, defences, trace } = this.#options;
    const keys = this.keys;
    const pools = this.#pools;
    const identity = {
      ...{ qpn: this.#freshQpn(), pd: pd.core, keys, sendCq, recvCq, congestion, defences, trace, pools },
      ...{ ...shared, receiveSource },
    };
    const qp = new Qp(this.#device, pd, this.#makeCore(init.type ?? QpType.Rc, identity, capabilities));
    if (shared.srq !== undefined) shared.srq.users += 1;
    return this.#adopt(qp, peer);
  }

  /** For `Qp.destroy`. */
  destroyQp(qp: Qp): void {
    const { core } = qp;
    if (!this.qps.delete(qp.qpn)) return;
    this.keys.releaseQueuePair(qp.qpn);
    qp.pd.core.users -= 1;
    core.config.sendCq.users -= 1;
    core.config.recvCq.users -= 1;
    if (core.srq !== undefined) core.srq.users -= 1;
    if (core instanceof XrcTarget) core.domain.targets -= 1;
    try {
      core.retire();
    } catch (error) {
      // That of one which an error of ours has left in pieces was counted then.
      if (!core.broken) throw error;
    }
  }

  /** For `Pd.createSrq`. */
  createSrq(pd: Pd, init: SrqInit): Srq {
    this.#demandOpen();
    const { limits } = this.#options;
    if (this.#srqs.size >= limits.maxSrq)
      throw new RoceError('ERR_ROCE_LIMIT', `all ${limits.maxSrq} shared receive queues are in use`);
    const { maxWr, maxSge, limit } = srqCapabilities(init, limits);
    const xrc = this.#xrcOf(init);
    const core = new SharedReceiveQueue(
      {
        srqn: this.#freshSrqn(),
        pd: pd.core,
        maxWr,
        maxSge,
        pools: this.#pools,
        ...defined({ xrc, source: init.source }),
      },
      this.#eventful,
    );
    core.modify({ limit }, limits.maxSrqWr);
    const srq = new Srq(this, pd, core);
    this.#srqs.set(core.srqn, srq);
    pd.core.users += 1;
    core.domain?.add(core);
    if (core.cq !== undefined) core.cq.users += 1;
    return srq;
  }

  /** For `Srq.destroy`. */
  destroySrq({ core, pd }: Srq): void {
    if (core.users > 0)
      throw new RoceError('ERR_ROCE_IN_USE', `${core.users} queue pairs still take from this shared receive queue`);
    if (!this.#srqs.delete(core.srqn)) return;
    core.clear();
    core.domain?.remove(core);
    pd.core.users -= 1;
    if (core.cq !== undefined) core.cq.users -= 1;
  }

  /** For `Device.openXrcd`. */
  openXrcd(): Xrcd {
    this.#demandOpen();
    return new Xrcd(this.#device, this);
  }

  /** For `Xrcd.createQp`. */
  createXrcTarget({ core: domain }: Xrcd): Qp {
    this.#demandOpen();
    this.#demandRoom();
    // Nothing is ever registered in this domain, and nothing ever completes into this queue.
    const pd = this.allocPd();
    const keys = this.keys;
    const pools = this.#pools;
    const cq = new Cq(1, this.notified, undefined, pools);
    const { congestion, defences, trace } = this.#options;
    const cqs = { sendCq: cq, recvCq: cq };
    const identity = { qpn: this.#freshQpn(), pd: pd.core, keys, ...cqs, congestion, defences, trace, pools };
    domain.targets += 1;
    return this.#adopt(new Qp(this.#device, pd, new XrcTarget(identity, domain, this.#options.portCounters)));
  }

  /** Numbers address handles, so that their source ports spread over paths as those of queue pairs do. */
  ahNumber(): number {
    this.#demandOpen();
    return this.#nextAh++;
  }

  /** Settles the promises that wait for completions and events. */
  settle(): void {
    for (let cq = this.notified.shift(); cq !== undefined; cq = this.notified.shift()) {
      cq.settle();
      if (cq.overrun) this.#overran(cq);
    }
    while (this.#eventful.length > 0) this.#srqs.get(this.#eventful.shift()?.srqn ?? -1)?.settle();
  }

  /** Whether `settle` has anything to do. */
  get unsettled(): boolean {
    return this.notified.length > 0 || this.#eventful.length > 0;
  }

  /** No object can be made any more; every pending promise settles. */
  close(): void {
    this.#closed = true;
    for (const cq of this.#cqs) cq.close();
    for (const qp of [...this.qps.values()]) qp.destroy();
    for (const srq of [...this.#srqs.values()]) srq.destroy();
  }

  /** Completions are lost from now on: queue pairs that complete into this queue go to ERROR. */
  #overran(cq: Cq): void {
    if (!this.#overrun.has(cq)) cq.events.push('cq-err');
    this.#overrun.add(cq);
    for (const { core } of this.#srqs.values()) if (core.cq === cq) core.fail();
    for (const qp of this.qps.values()) {
      const { sendCq, recvCq } = qp.core.config;
      if (sendCq !== cq && recvCq !== cq) continue;
      qp.core.fail();
      this.#device.touched(qp);
    }
  }

  #sharedBy(srq: RdmaSrq): SharedReceiveQueue {
    if (!(srq instanceof Srq && this.#srqs.get(srq.srqn) === srq))
      throw new RoceError('ERR_ROCE_ARGUMENT', 'a queue pair takes receives from a shared queue of its own device');
    if (srq.core.domain !== undefined)
      throw new RoceError('ERR_ROCE_ARGUMENT', 'only XRC target queue pairs take from an XRC shared receive queue');
    return srq.core;
  }

  #xrcOf({ xrcd, cq }: SrqInit): { domain: XrcDomain; cq: Cq } | undefined {
    if (xrcd === undefined && cq === undefined) return undefined;
    if (!(xrcd instanceof Xrcd && cq instanceof Cq && xrcd.device === this.#device && this.#cqs.has(cq)))
      throw new RoceError(
        'ERR_ROCE_ARGUMENT',
        'an XRC shared receive queue needs an XRC domain and a completion queue',
      );
    xrcd.demandOpen();
    return { domain: xrcd.core, cq };
  }

  #demandRoom(): void {
    const { maxQp } = this.#options.limits;
    if (this.qps.size >= maxQp) throw new RoceError('ERR_ROCE_LIMIT', `all ${maxQp} queue pairs are in use`);
  }

  #adopt(qp: Qp, peer = this.#options.peer): Qp {
    const { maxUnacked } = this.#options;
    const { config } = qp.core;
    qp.core.expect(peer);
    if (maxUnacked !== undefined) qp.core.limitUnacked(maxUnacked);
    this.qps.set(qp.qpn, qp);
    qp.pd.core.users += 1;
    config.sendCq.users += 1;
    config.recvCq.users += 1;
    return qp;
  }

  #makeCore(type: QpType, identity: QpIdentity, capabilities: QpCapabilities): QueuePair {
    const { portCounters } = this.#options;
    switch (type) {
      case QpType.Rc:
        return new RcQueuePair(identity, capabilities, portCounters);
      case QpType.Uc:
        return new UcQueuePair(identity, capabilities, portCounters);
      case QpType.Ud:
        return new UdQueuePair(identity, capabilities, portCounters, this.#device.activeMtu);
      case QpType.XrcSend:
        return new XrcInitiator(identity, capabilities, portCounters);
      default:
        throw new RoceError('ERR_ROCE_ARGUMENT', `a protection domain makes no queue pair of type ${type}`);
    }
  }

  #demandOpen(): void {
    if (this.#closed) throw new RoceError('ERR_ROCE_CLOSED', 'the device is closed');
  }

  /** ref:hostile#3: random QPN, never 0, 1 or 0xFFFFFF. */
  #freshQpn(): number {
    const { random } = this.#options;
    for (let tries = 0; tries < 1_000_000; tries++) {
      const qpn = random.u32() >>> 8;
      if (qpn > 1 && qpn !== 0xff_ff_ff && !this.qps.has(qpn) && !this.#device.cm.isHeld(qpn)) return qpn;
    }
    invariant(false, 'a random queue pair number is found long before every one was tried');
  }

  #freshSrqn(): number {
    for (let tries = 0; tries < 1_000_000; tries++) {
      const srqn = this.#options.random.u32() >>> 8;
      if (srqn !== 0 && !this.#srqs.has(srqn)) return srqn;
    }
    invariant(false, 'a random number of a shared receive queue is found long before every one was tried');
  }

  /** A page-aligned address in the lower half, as user space memory would have. */
  #freshIova(): bigint {
    const { random } = this.#options;
    return (BigInt(0x10_00 + (random.u32() & 0x6f_ff)) << 32n) | BigInt((random.u32() & ~0xfff) >>> 0);
  }
}
