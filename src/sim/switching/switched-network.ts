/**
 * A network of switches in virtual time, for machines that a `World` drives: hosts, links with rate and delay, switches
 * with queues.
 *
 * Owns the nodes, the order of events and what passes between machines and NICs. Never reads a clock, never calls a
 * sink from inside `send`. Deterministic: the same seed and the same calls give the same frames at the same times.
 * Allocates nothing per frame.
 *
 * It routes: a frame goes where its IPv4 destination says (`topology/addresses.ts`), and gets the MAC address of that
 * host as it enters the network. TTL and identification stay as they are. Frames to no host of the network are dropped
 * and counted, ARP among them: hosts have static neighbours.
 */
import { invariant, RoceError } from '../../../packets/errors.ts';
import type { FrameBatch } from '../../../packets/frame-writer.ts';
import { Prng } from '../../ground/prng.ts';
import { type Routes, shortestPaths } from '../topology/index.ts';
import { isCuttable, KEPT_BYTES } from './blank-payload.ts';
import { buildNetwork, type NetworkParts } from './build.ts';
import { classify, LABEL, stampMac } from './classify.ts';
import type { Deadlock } from './deadlock-watch.ts';
import type { EgressPort } from './egress-port.ts';
import { FrameStore } from './frame-store.ts';
import { type HostNetwork, HostPort } from './host-port.ts';
import { CONTROL, type NetworkSettings, type SwitchedNetworkOptions, settingsOf } from './options.ts';
import { SlotBatch } from './slot-batch.ts';
import type { SwitchNode } from './switch-node.ts';
import { EventKind, type FabricTap, KIND_BITS, KIND_MASK, Transmitter } from './transmitter.ts';

/**
 * What happened to frames of machines, in all. `sent` is the sum of the others and of `framesInFlight` without pauses.
 */
export interface SwitchedNetworkCounters {
  /** Taken from machines. */
  readonly sent: number;
  /** Handed to machines. */
  readonly delivered: number;
  /** Not IPv4 to a host of the network, or too long. */
  readonly refused: number;
  /** Came to a host without an attached, started machine. */
  readonly unheard: number;
  /** A switch had no memory for them. */
  readonly dropped: number;
  /** A switch had no route for them. */
  readonly noRoute: number;
  /** Links lost them. */
  readonly lost: number;
  /** Marked Congestion Experienced; also counted as what else happened to them. */
  readonly marked: number;
  /** Pauses that switches sent, repetitions included. */
  readonly pausesSent: number;
}

/**
 * A network of switches. `new World({ seed, network })` drives it; machines are attached by the names of hosts.
 *
 * @example
 * ```ts
 * import { Device, IpPrefix, World } from 'rocev2';
 * import { RListener, RSocket } from 'rocev2/rsockets';
 * import { hostAddress, hostMac, star, SwitchedNetwork } from 'rocev2/sim';
 *
 * const link = { rateBps: 100e9, delayNs: 1_000 };
 * const network = new SwitchedNetwork({ topology: star({ hosts: 2, link }), seed: 1 });
 * const world = new World({ seed: 1, network });
 * // The network routes and has no ARP: a host knows the others.
 * function attach(own: number, other: number): Device {
 *   const addresses = [IpPrefix.parse(`${hostAddress(own)}/8`)];
 *   const neighbours = [{ address: hostAddress(other), mac: hostMac(other) }];
 *   return world.attach(`host${own}`, (host, { medium, mtu }, random) => {
 *     return new Device({ host, random, medium, mtu, mac: hostMac(own), addresses, neighbours });
 *   });
 * }
 * const [a, b] = [attach(0, 1), attach(1, 0)];
 * const taken = RListener.listen(b, { port: 7471 }).accept();
 * await world.run(RSocket.connect(a, { address: hostAddress(1), port: 7471 }));
 * await world.run(taken);
 * const { sent, delivered, dropped } = network.counters;
 * console.log(sent === delivered + network.framesInFlight, dropped); // true 0
 * ```
 */
export class SwitchedNetwork implements HostNetwork {
  /** One frame at a time: a frame handed over cannot be delayed any more. */
  readonly batchFrames = 1;
  /** The sending end of every link, hosts' first, by node and port. */
  readonly egressPorts: readonly EgressPort[];
  /** By number of host. */
  readonly hosts: readonly HostPort[];
  /** In the order of the topology. */
  readonly switches: readonly SwitchNode[];
  /** Events processed so far. */
  events = 0;

  readonly #settings: NetworkSettings;
  readonly #store: FrameStore;
  readonly #transmitter: Transmitter;
  readonly #parts: NetworkParts;
  readonly #attached = new Map<string, HostPort>();
  readonly #names = new Map<string, HostPort>();
  readonly #batch = new SlotBatch();
  /**
   * Hosts with frames that arrived in this instant, and those whose NIC takes frames again. Counted beside: cutting an
   * array costs.
   */
  readonly #staged: HostPort[] = [];
  #stagedCount = 0;
  readonly #writable: HostPort[] = [];
  #writableCount = 0;
  #running = false;

  /** A network without attached machines. @throws RoceError ERR_ROCE_ARGUMENT naming the invalid option */
  constructor(options: SwitchedNetworkOptions) {
    const settings = settingsOf(options);
    this.#settings = settings;
    const random = new Prng(settings.seed).fork('switched network');
    this.#store = new FrameStore(settings.maxFrameBytes, settings.blankPayload ? KEPT_BYTES : undefined);
    this.#transmitter = new Transmitter(this.#store, settings, random.fork('loss'));
    const routes: Routes = options.routes ?? shortestPaths(settings.topology);
    this.#parts = buildNetwork(settings, routes, this.#transmitter, random);
    this.egressPorts = this.#parts.ports;
    this.switches = this.#parts.switches;
    this.hosts = this.#parts.hostPorts.map((egress, host) => new HostPort(this, host, egress, settings));
    for (const host of this.hosts) {
      host.egress.home = host;
      host.egress.reverse.far = host;
      this.#names.set(host.name, host);
    }
  }

  /** Virtual time in integer nanoseconds. */
  get now(): number {
    return this.#transmitter.now;
  }

  /** Frames in queues and on links, pauses included. */
  get framesInFlight(): number {
    return this.#store.used;
  }

  /** Sees every frame on every link; undefined costs nothing. */
  get tap(): FabricTap | undefined {
    return this.#transmitter.tap;
  }

  /** Begins or ends watching. */
  set tap(tap: FabricTap | undefined) {
    this.#transmitter.tap = tap;
  }

  /** Cycles of queues that waited for each other. */
  get deadlocks(): readonly Deadlock[] {
    return this.#parts.watch.found;
  }

  /** What happened to frames so far; summed at the call. */
  get counters(): SwitchedNetworkCounters {
    const hosts = (count: (port: HostPort) => number) => sum(this.hosts, count);
    const ports = (count: (port: EgressPort) => number) => sum(this.egressPorts, count);
    return {
      sent: hosts(({ counters }) => counters.sent),
      delivered: hosts(({ counters }) => counters.delivered),
      refused: hosts(({ counters }) => counters.unroutable + counters.oversize),
      unheard: hosts(({ counters }) => counters.unheard),
      dropped: sum(this.switches, ({ counters }) => counters.dropped),
      noRoute: sum(this.switches, ({ counters }) => counters.noRoute),
      lost: ports(({ tally }) => tally.lost),
      marked: ports(({ tally }) => tally.marked),
      pausesSent: ports(({ tally }) => tally.pausesSent),
    };
  }

  /** The port of that name, 'switch0:3'. */
  port(name: string): EgressPort | undefined {
    return this.egressPorts.find((port) => port.name === name);
  }

  /**
   * Attaches a machine to the host of that name in the topology. @throws RoceError ERR_ROCE_ARGUMENT, ERR_ROCE_IN_USE
   */
  attach(name: string): HostPort {
    const host = this.#names.get(name);
    if (host === undefined)
      throw new RoceError('ERR_ROCE_ARGUMENT', `the ${this.#settings.topology.kind} has no host named ${name}`);
    if (this.#attached.has(name)) throw new RoceError('ERR_ROCE_IN_USE', `${name} has a machine already`);
    this.#attached.set(name, host);
    return host;
  }

  /** When something happens next; Infinity when nothing does. */
  nextEventTime(): number {
    const { nextTime } = this.#transmitter.events;
    return nextTime < Infinity ? nextTime : this.#parts.watch.nextTime();
  }

  /** Moves the clock to `now` and lets everything happen that is due by then. */
  deliverDue(now: number): void {
    invariant(now >= this.now, 'virtual time never goes back');
    this.#enter();
    try {
      for (let next = this.nextEventTime(); next <= now && next < Infinity; next = this.nextEventTime())
        this.#instant(next);
      this.#transmitter.now = now;
    } finally {
      this.#running = false;
    }
  }

  /**
   * Processes events until a machine received something, or a maximum of events; false when nothing is left until
   * `limit`.
   */
  advance(limit: number): boolean {
    this.#enter();
    try {
      const { events } = this.#transmitter;
      const pauseAt = this.events + EVENTS_AT_A_TIME;
      for (;;) {
        // Finite where there is an event; where there is none, the deadlock watch may be due.
        const next = events.nextTime < Infinity ? events.nextTime : this.nextEventTime();
        if (next === Infinity || next > limit) return false;
        if (this.#instant(next) || this.events >= pauseAt) return true;
      }
    } finally {
      this.#running = false;
    }
  }

  /**
   * For `HostPort.send`.
   *
   * @internal
   */
  sendFrom(host: HostPort, batch: FrameBatch, start: number, length: number): void {
    const { counters } = host;
    counters.sent++;
    if (length > host.maxFrameBytes) {
      counters.oversize++;
      return;
    }
    if (!classify(batch.view, start, start + length, this.hosts.length)) {
      counters.unroutable++;
      return;
    }
    const store = this.#store;
    if (length > store.keptBytes && !isCuttable(batch.view, start + LABEL.ipOffset, start + length))
      throw new RoceError('ERR_ROCE_UNSUPPORTED', 'a network without payload carries reliable connections only');
    const slot = store.copyIn(batch.bytes, batch.view, start, length, LABEL.priority, LABEL.host);
    store.setIpOffset(slot, LABEL.ipOffset);
    stampMac(store.view, store.start(slot), LABEL.host);
    this.#transmitter.enqueue(host.egress, slot);
  }

  /**
   * For `HostPort.arrive`.
   *
   * @internal
   */
  arrived(host: HostPort, from: EgressPort, slot: number): void {
    const store = this.#store;
    if (store.priority(slot) === CONTROL) {
      this.#parts.pauses.received(from.reverse, slot);
      store.drop(slot);
      return;
    }
    this.#parts.credits.freed(from, slot);
    if (host.sink === undefined || store.host(slot) !== host.host) {
      host.counters.unheard++;
      store.drop(slot);
      return;
    }
    store.setNext(slot, -1);
    if (host.arrivedTail < 0) {
      host.arrivedHead = slot;
      this.#staged[this.#stagedCount++] = host;
    } else store.setNext(host.arrivedTail, slot);
    host.arrivedTail = slot;
  }

  /**
   * For `HostPort.changed`.
   *
   * @internal
   */
  takesAgain(host: HostPort): void {
    this.#writable[this.#writableCount++] = host;
  }

  #enter(): void {
    invariant(!this.#running, 'a sink does not move the time of the network that calls it');
    this.#running = true;
  }

  /** All events of one instant, and what they bring to machines; whether they brought anything. */
  #instant(time: number): boolean {
    const transmitter = this.#transmitter;
    const { events } = transmitter;
    transmitter.now = time;
    if (this.#parts.watch.dueAt <= time) this.#parts.watch.run();
    while (events.nextTime === time) {
      this.events++;
      this.#handle(events.pop());
    }
    if (this.#stagedCount === 0 && this.#writableCount === 0) return false;
    this.#flush();
    return true;
  }

  #handle(payload: number): void {
    const { ports, switches, pauses, credits } = this.#parts;
    const index = payload >>> KIND_BITS;
    const kind = payload & KIND_MASK;
    if (kind === EventKind.Credits) {
      credits.arrived(index);
      return;
    }
    if (kind === EventKind.Tail) {
      const port = ports[this.#store.egress(index)] as EgressPort;
      switches[port.node - this.hosts.length]?.stored(index);
      return;
    }
    const port = ports[index] as EgressPort;
    if (kind === EventKind.WireFree) this.#transmitter.wireFree(port);
    else if (kind === EventKind.Arrival) this.#transmitter.arrival(port);
    else if (kind === EventKind.Refresh) pauses.refresh(port);
    else pauses.ended(port);
  }

  #flush(): void {
    // By index and to the end: a sink that sends adds events, never a host that is staged.
    for (let index = 0; index < this.#stagedCount; index++) this.#deliver(this.#staged[index] as HostPort);
    this.#stagedCount = 0;
    for (let index = 0; index < this.#writableCount; index++) this.#writable[index]?.sink?.writable();
    this.#writableCount = 0;
  }

  #deliver(host: HostPort): void {
    const store = this.#store;
    const batch = this.#batch;
    let slot = host.arrivedHead;
    host.arrivedHead = -1;
    host.arrivedTail = -1;
    while (slot >= 0) {
      slot = batch.fill(store, slot);
      // An earlier callback in the same instant may have closed this port.
      if (host.sink === undefined) host.counters.unheard += batch.count;
      else {
        host.counters.delivered += batch.count;
        host.sink.receive(batch);
      }
      batch.release(store);
    }
  }
}

function sum<T>(items: readonly T[], count: (item: T) => number): number {
  return items.reduce((total, item) => total + count(item), 0);
}

/** A world checks its bounds at least so often: a deadlock repeats its pauses infinitely. */
const EVENTS_AT_A_TIME = 65_536;
