/**
 * Device: one RoCEv2 port. It receives frames from its driver (`Machine`), finds the queue pair of each, schedules
 * queue pairs, keeps their deadlines, and makes the objects of the verbs API.
 * Sans I/O: time and randomness come from its host, so it runs on a wire, in the simulated world and in a browser.
 */

import type { IpAddress, IpPrefix, MacAddress } from '../../packets/address.ts';
import { defined } from '../../packets/defined.ts';
import { RoceError } from '../../packets/errors.ts';
import type { Medium } from '../../packets/frame.ts';
import type { FrameBatch, FrameWriter } from '../../packets/frame-writer.ts';
import { Congestion } from '../../transport/congestion/congestion.ts';
import { PortCounters } from '../../transport/counters.ts';
import { makeDefences } from '../../transport/defences.ts';
import type { MemoryRegion } from '../../transport/memory.ts';
import { peerProfile } from '../../transport/peer-profile.ts';
import type { QpAttributes } from '../../transport/qp-attributes.ts';
import type { Random } from '../../transport/random.ts';
import { AsyncQueue } from '../ground/async-queue.ts';
import type { Host, Machine } from '../ground/machine.ts';
import type { DeviceEvent, RdmaDevice } from './api.ts';
import { markTrace } from './callbacks.ts';
import { type Gsi, gsiOf, managerOf } from './cm/gsi.ts';
import { CmService } from './cm/service.ts';
import { DeviceCounters } from './counters.ts';
import { checkHop, doubtHop, tellTraffic } from './errands.ts';
import { FrameReceiver } from './frame-receiver.ts';
import { HostProtocols } from './host/host-protocols.ts';
import { tcpOf } from './host/tcp/device-host.ts';
import type { TcpStack } from './host/tcp/stack.ts';
import { InternalErrors } from './internal-errors.ts';
import { Multicast } from './multicast.ts';
import {
  checkLinkOptions,
  DEFAULT_LIMITS,
  DEFAULT_STRANGER_LIMITS,
  type DeviceLimits,
  type DeviceOptions,
  type PathTraits,
  pathDefaults,
  pathMtuOf,
  type StrangerLimits,
  type VlanOptions,
} from './options.ts';
import { Paths } from './paths.ts';
import { Resources } from './resources.ts';
import { Scheduler } from './scheduler.ts';
import { Services } from './services.ts';
import { Settling } from './settling.ts';
import { type SuspicionCause, Suspicions } from './suspicions.ts';
import { SuspiciousCounters } from './suspicious-counters.ts';
import { type DeviceTables, tablesOf } from './tables.ts';
import { type Ah, type Cq, type CqMaker, makeCq, type Pd, type Qp, type Xrcd } from './verbs/index.ts';

/**
 * One RoCEv2 port (ibv_context), in the application's thread.
 * @example
 * ```ts
 * import { attachDevice, World } from 'rocev2';
 *
 * const device = attachDevice(new World({ seed: 1 }), 'a', { addresses: ['10.0.0.1/24'] });
 * console.log(device.activeMtu, device.allocPd().regMr(64).length); // 1024 64
 * ```
 */
export class Device implements Machine, RdmaDevice {
  readonly name: string;
  readonly mac: MacAddress;
  readonly addresses: readonly IpPrefix[];
  readonly limits: DeviceLimits;
  /** Largest path MTU the link carries. */
  readonly activeMtu: number;
  readonly medium: Medium;
  readonly linkMtu: number;
  /** The link makes and checks ICRCs. @internal */
  readonly icrcOffload: boolean;
  /** The VLAN the device is on, if any. */
  readonly vlan: VlanOptions | undefined;
  readonly counters = new DeviceCounters();
  readonly portCounters = new PortCounters();
  /** @internal */
  readonly random: Random;
  readonly events = new AsyncQueue<DeviceEvent>();
  /** What looks like an attack. @internal */
  readonly suspicions = new Suspicions(this.events);
  /** @internal */
  readonly suspicious = new SuspiciousCounters(this.counters, this.portCounters, this.suspicions);
  /** Connection manager of this port: `connect` and `listen`. */
  readonly cm: CmService;
  /** @internal */
  readonly gsi: Gsi;
  /** Addresses, next hops and headers. @internal */
  readonly paths: Paths;
  /** Groups that queue pairs are attached to. @internal */
  readonly multicast: Multicast;
  /** TCP of this host; absent on the IP medium, where the kernel's own is the one to use. @internal */
  readonly tcp: TcpStack | undefined;
  /** What senders may cost that have proved nothing. @internal */
  readonly strangers: StrangerLimits;
  readonly #host: Host;
  readonly #services: Services;
  readonly #congestion: Congestion | undefined;
  readonly #resources: Resources;
  readonly #qps: ReadonlyMap<number, Qp>;
  readonly #receiver: FrameReceiver;
  readonly #scheduler: Scheduler;
  /** Bound once: called after every turn of a queue pair. */
  readonly #afterTurn = (qp: Qp): void => {
    this.#schedule(qp);
    this.suspicious.afterTurn(this.#turnAt, qp);
    const { nextHop } = qp;
    if (nextHop !== undefined && nextHop.checkAt <= this.#turnAt)
      this.#errors.apart('transmit', checkHop, this, nextHop);
  };
  #turnAt = 0;
  /** Called before frames are received: work that another thread posted before they came is then queued. @internal */
  beforeReceive: (() => void) | undefined;
  readonly #changed = (qp: Qp): void => this.#schedule(qp);
  readonly #errors = new InternalErrors(this.counters, (event) => this.events.push(event), this.#changed);
  readonly #unreachable = (address: IpAddress): void => this.gsi.unresolved(address);
  /** Settles promises and emits events. */
  readonly #settling: Settling;

  /** @throws RoceError ERR_ROCE_ARGUMENT for options out of range or that do not fit together */
  constructor(options: DeviceOptions) {
    const { host, random, medium, mac, addresses, mtu } = options;
    checkLinkOptions(options);
    this.name = options.name ?? 'rocev2_0';
    this.mac = mac;
    this.addresses = addresses;
    this.limits = { ...DEFAULT_LIMITS, ...options.limits };
    this.activeMtu = pathMtuOf(mtu);
    this.linkMtu = mtu;
    this.icrcOffload = options.icrcOffload ?? false;
    this.medium = medium;
    this.vlan = options.vlan;
    this.random = random;
    this.#host = host;
    const { limits, portCounters } = this;
    if (options.congestion !== undefined) this.#congestion = new Congestion(options.congestion, portCounters);
    this.#resources = new Resources(this, {
      random,
      limits,
      maxUnacked: options.maxUnacked,
      peer: peerProfile(options.peer ?? 'default'),
      portCounters,
      congestion: this.#congestion,
      defences: makeDefences(options.defences ?? {}, this.#congestion?.notification?.parameters.minTimeBetweenCnpsNs),
      trace: options.trace === undefined ? undefined : markTrace(options.trace),
    });
    this.#qps = this.#resources.qps;
    this.#scheduler = new Scheduler(this.#qps, this.#errors);
    const suspect = (cause: SuspicionCause, address: IpAddress): void =>
      this.suspicions.byAddress(this.now(), cause, 1, address);
    this.paths = new Paths({ ...options, ...pathDefaults(options), suspect });
    this.multicast = new Multicast({
      ...{ medium, mac, addresses, random, host, suspect },
      vlanTci: this.paths.vlanTci,
      maxGroups: limits.maxMcastGrp,
      maxAttached: limits.maxMcastQpAttach,
    });
    this.strangers = { ...DEFAULT_STRANGER_LIMITS, ...defined(options.strangers ?? {}) };
    this.tcp = tcpOf(this, host);
    const manager = managerOf(this);
    this.gsi = gsiOf(this, manager);
    this.cm = new CmService(this, manager);
    const protocols = new HostProtocols(this.paths.neighbours, this.multicast.reports, this.tcp);
    this.#receiver = new FrameReceiver(this, protocols, this.#qps, this.#changed, this.#errors);
    const { tcp, gsi, cm, multicast, paths } = this;
    const { notification } = this.#congestion ?? {};
    const services = { neighbours: paths.neighbours, reports: multicast.reports, tcp, gsi, cm, notification };
    this.#services = new Services(services, this.#errors);
    const parts = { paths, cm, resources: this.#resources, services: this.#services };
    this.#settling = new Settling(parts, this.#unreachable, this.#errors);
  }

  /** Header fields of paths that do not set them, where the device options give them. */
  get pathTraits(): PathTraits {
    return this.paths.traits({});
  }

  /** EUI-64 of the port, from its MAC address, as rdma_rxe forms it (node_guid). */
  get guid(): bigint {
    const [a = 0, b = 0, c = 0, d = 0, e = 0, f = 0] = this.mac;
    return [a ^ 2, b, c, 0xff, 0xfe, d, e, f].reduce((guid, byte) => (guid << 8n) | BigInt(byte), 0n);
  }

  /** Queue pairs that exist. */
  get qpCount(): number {
    return this.#qps.size;
  }

  /** The queue pairs. @internal */
  get queuePairs(): Iterable<Qp> {
    return this.#qps.values();
  }

  /** How much the device holds: to see that what was made is gone again. Counted at each call. */
  tables(): DeviceTables {
    return tablesOf(this, this.#resources, this.#scheduler);
  }

  /** The host's time, in integer nanoseconds. */
  now(): number {
    return this.#host.now();
  }

  /** Makes a protection domain (ibv_alloc_pd). */
  allocPd(): Pd {
    return this.#resources.allocPd();
  }

  /**
   * Makes a completion queue with room for `capacity` completions (ibv_create_cq). `make` makes one with other storage.
   */
  createCq(capacity: number, make: CqMaker = makeCq): Cq {
    return this.#resources.createCq(capacity, make);
  }

  /** Frees a completion queue. Throws ERR_ROCE_IN_USE while queue pairs complete into it. */
  destroyCq(cq: Cq): void {
    this.#resources.destroyCq(cq);
  }

  /** Opens an XRC domain (ibv_open_xrcd). */
  openXrcd(): Xrcd {
    return this.#resources.openXrcd();
  }

  /** Ends a registration of any of the device's protection domains (ibv_dereg_mr). */
  deregMr(region: MemoryRegion): void {
    this.#resources.deregMr(region);
  }

  /** For `Qp.destroy`. */
  destroyQp(qp: Qp): void {
    this.paths.unfollow(qp);
    this.multicast.detachAll(this.now(), qp);
    this.cm.abandon(qp);
    this.#wake(undefined);
    this.#resources.destroyQp(qp);
    // A last packet that was held back.
    this.#scheduler.note(qp);
  }

  /** For `Qp.modify`. */
  modifyQp(qp: Qp, attributes: QpAttributes): void {
    const { mtu } = attributes;
    if (mtu !== undefined && mtu > this.activeMtu) {
      throw new RoceError('ERR_ROCE_ARGUMENT', `path MTU ${mtu} exceeds the ${this.activeMtu} bytes this link carries`);
    }
    qp.core.modify(attributes);
    if (attributes.path !== undefined) this.paths.follow(qp, attributes.path.remote);
    this.touched(qp);
    this.#settling.settle();
  }

  /** For `Qp.attachMcast`. */
  async attachMcast(qp: Qp, group: IpAddress): Promise<void> {
    await this.#wake(this.multicast.attach(this.now(), qp, group));
  }

  /** For `Qp.detachMcast`. */
  detachMcast(qp: Qp, group: IpAddress): void {
    this.#wake(this.multicast.detach(this.now(), qp, group));
  }

  /**
   * Resolves when the next hop towards `address` is known; rejects with ERR_ROCE_ADDRESS when no answer comes,
   * ERR_ROCE_CLOSED on a device that is closed.
   */
  resolve(address: IpAddress): Promise<void> {
    this.#services.revive();
    return this.#wake(this.paths.resolve(this.now(), address));
  }

  /** As `resolve`, within the budget for strangers: of many such resolutions the oldest gives way. @internal */
  resolveCaller(address: IpAddress): Promise<void> {
    return this.#wake(this.paths.resolve(this.now(), address, 'caller'));
  }

  /** A queue pair has work: schedules it and notes its deadline. */
  touched(qp: Qp): void {
    this.#services.revive();
    this.#schedule(qp);
    if (this.#resources.unsettled) this.#settling.settle();
    this.#host.wake();
  }

  /** A datagram is about to go to this address handle: the entry of its next hop may be stale. */
  used(ah: Ah): void {
    const { nextHop } = ah;
    const now = this.now();
    if (nextHop === undefined || nextHop.checkAt > now) return;
    this.disturb();
    this.paths.check(now, nextHop);
  }

  /** The connection manager has work to do. */
  cmTouched(): void {
    this.#services.revive();
    this.#wake(this.#settling.settle());
  }

  /** Something happened that may give a service work: until it has been asked, no turn is left out. @internal */
  disturb(): void {
    this.#services.disturb();
  }

  /** The link has failed: emits the event, then closes the device. */
  lostWire(): void {
    this.events.push('port-err');
    this.events.push('device-fatal');
    this.close();
  }

  /** Ends every wait with "done"; nothing can be made afterwards. */
  close(): void {
    this.disturb();
    this.cm.close();
    this.paths.close();
    this.tcp?.close();
    this.#resources.close();
    this.events.close();
  }

  // Nothing that comes from the wire makes these throw: see internal-errors.ts. What callbacks of the application throw
  // (trace, `persistent` of a region) does leave them.

  receive(batch: FrameBatch): void {
    this.#services.revive();
    this.beforeReceive?.();
    this.#receiver.take(this.now(), batch, 0);
    this.#settling.settle();
  }

  transmit(writer: FrameWriter): boolean {
    const now = this.now();
    // Hosts of a simulated world share writers.
    writer.icrcOffload = this.icrcOffload;
    const first = writer.count;
    const servicesOwe = this.#services.transmit(now, writer);
    const before = writer.count;
    this.#turnAt = now;
    const notificationsOwe = this.#services.transmitNotifications(now, writer);
    const queued = this.#scheduler.transmit(now, writer, this.#afterTurn);
    this.portCounters.sentPkts += writer.count - before;
    const loops = this.multicast.loopsBack || this.paths.loopsBack;
    if (loops && this.#receiver.takeOwn(now, writer, first, before)) this.#host.wake();
    this.#settling.settle();
    // Once more: sending may have started the resolution of a next hop.
    return this.#services.transmitNeighbours(now, writer) || servicesOwe || notificationsOwe || queued;
  }

  get idle(): boolean {
    return !this.#scheduler.ready && this.#services.isIdle(this.#host.now());
  }

  nextDeadline(): number {
    return Math.min(this.#services.nextDeadline(), this.#scheduler.nextDeadline());
  }

  held(sinceNs: number, untilNs: number): void {
    this.#scheduler.held(sinceNs, untilNs);
  }

  handleTimeouts(): void {
    const now = this.now();
    this.#services.handleTimeouts(now);
    for (let qp = this.#scheduler.takeDue(now); qp !== undefined; qp = this.#scheduler.takeDue(now)) {
      try {
        const unanswered = qp.core.handleTimeout(now);
        if (unanswered && qp.nextHop !== undefined) this.#errors.apart('timeout', doubtHop, this, qp.nextHop);
        this.#schedule(qp);
      } catch (error) {
        this.#errors.caught('timeout', error, qp);
      }
    }
    this.#settling.settle();
  }

  /** Services may have work now, and the host is to know. */
  #wake<T>(result: T): T {
    this.disturb();
    this.#host.wake();
    return result;
  }

  #schedule(qp: Qp): void {
    const { core } = qp;
    this.#scheduler.note(qp);
    for (let event = core.pollEvent(); event !== undefined; event = core.pollEvent()) {
      // After a migration, the headers follow the neighbour of the alternate path.
      const remote = event === 'path-mig' ? core.config.path?.remote : undefined;
      if (remote !== undefined) this.paths.migrated(qp, remote);
      if (event === 'first-request') this.#errors.apart('settle', tellTraffic, this, qp);
      else qp.events.push(event);
    }
  }
}
