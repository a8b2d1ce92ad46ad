/**
 * A simulated network in virtual time: ports around a switch that learns, with latency, rates and faults on every wire.
 *
 * Owns the medium and its clock, which only `deliverDue` advances. Never reads a clock, never calls a sink from inside
 * `send`, and never loses a frame that a fault, a full receive queue with a limit, or an MTU did not take.
 * Deterministic: the same seed and the same calls give the same deliveries in the same order. In steady state it
 * allocates nothing per frame. On the IP medium, which has no addresses to learn, it joins exactly two ports.
 */
import { invariant, RoceError } from '../../packets/errors.ts';
import { ETHERNET_BYTES } from '../../packets/ethernet.ts';
import { Medium } from '../../packets/frame.ts';
import type { FrameBatch } from '../../packets/frame-writer.ts';
import { type ActiveRule, Fate, type FaultRule, type FaultSpec } from '../faults/fault-spec.ts';
import { Wire } from '../faults/wire.ts';
import { markCongestion } from '../ground/ecn.ts';
import { EventQueue } from '../ground/event-queue.ts';
import { FramePool } from '../ground/frame-pool.ts';
import { Prng } from '../ground/prng.ts';
import { DeliveryTable } from './delivery-table.ts';
import { MacTable } from './mac-table.ts';
import { type PortMedium, SimulatedPort } from './port.ts';

/** The network as a whole. */
export interface NetworkOptions {
  /** Seed of every decision by chance; default 1. */
  readonly seed?: number;
  /** Default Ethernet. */
  readonly medium?: Medium;
  /** From port to port, nanoseconds, at least 1 so that time goes on; default 1,000. */
  readonly latencyNs?: number;
  /** Faults on the sending wire of every port that brings none of its own. */
  readonly faults?: FaultSpec;
  /** Frames on their way, in all, before `send` takes no more; default 65,536. */
  readonly maxFrames?: number;
}

/** One port and its wires. */
export interface PortOptions {
  /** Largest IP packet in bytes; default 1,500. */
  readonly mtu?: number;
  /** Between the port and the medium. */
  readonly faults?: FaultSpec;
  /** Between the medium and the port. */
  readonly receiveFaults?: FaultSpec;
}

/**
 * Sees every frame twice: as it was sent ('out', at the sending port) and as it arrived ('in', at the time when it
 * would have if it was lost). Bytes are valid during the call.
 */
export interface NetworkTap {
  /**
   * A frame passes.
   *
   * @param fate bits of `Fate`: at 'out' what the sending wire does to it, at 'in' all that was done; one that is too
   * long for its port never comes 'in'
   * @param serial number of the frame as sent, from 1; its copies share it
   */
  frame(
    now: number,
    port: SimulatedPort,
    direction: 'out' | 'in',
    bytes: Uint8Array,
    start: number,
    end: number,
    fate: number,
    serial: number,
  ): void;
}

const DEFAULT_LATENCY_NS = 1_000;
const DEFAULT_MTU = 1_500;
const DEFAULT_MAX_FRAMES = 0x1_00_00;
const SOURCE_MAC_AT = 6;

/**
 * Ports around a learning switch, in virtual time.
 *
 * @example
 * ```ts
 * import { attachDevice, World } from 'rocev2';
 * import { SimulatedNetwork } from 'rocev2/sim';
 *
 * const network = new SimulatedNetwork({ latencyNs: 5_000 });
 * let frames = 0;
 * network.tap = {
 *   frame(_now, _port, direction) {
 *     if (direction === 'in') frames++;
 *   },
 * };
 * const world = new World({ seed: 1, network });
 * const a = attachDevice(world, 'a', { addresses: ['10.0.0.1/24'] });
 * const b = attachDevice(world, 'b', { addresses: ['10.0.0.2/24'] });
 * const [prefix] = b.addresses;
 * // An ARP request and its answer.
 * if (prefix !== undefined) await world.run(a.resolve(prefix.address));
 * console.log(frames, world.now); // 2 10000
 * ```
 */
export class SimulatedNetwork implements PortMedium {
  /** What frames begin with. */
  readonly medium: Medium;
  /** From port to port, in nanoseconds. */
  readonly latencyNs: number;
  /** Set to watch the wire; undefined costs nothing. */
  tap: NetworkTap | undefined;

  readonly #random: Prng;
  readonly #defaultFaults: FaultSpec;
  readonly #maxFrames: number;
  readonly #ports: SimulatedPort[] = [];
  readonly #names = new Map<string, SimulatedPort>();
  readonly #rules: ActiveRule[] = [];
  readonly #macs = new MacTable();
  readonly #pool = new FramePool();
  readonly #events = new EventQueue();
  readonly #deliveries = new DeliveryTable();
  readonly #staged: SimulatedPort[] = [];
  readonly #waiting: SimulatedPort[] = [];
  #now = 0;
  #serial = 0;
  #delivering = false;

  /**
   * A network without ports.
   *
   * @throws RoceError ERR_ROCE_ARGUMENT
   */
  constructor(options: NetworkOptions = {}) {
    this.medium = options.medium ?? Medium.Ethernet;
    this.latencyNs = options.latencyNs ?? DEFAULT_LATENCY_NS;
    this.#random = new Prng(options.seed ?? 1).fork('network');
    this.#defaultFaults = options.faults ?? {};
    this.#maxFrames = options.maxFrames ?? DEFAULT_MAX_FRAMES;
    if (!(this.latencyNs >= 1)) throw new RoceError('ERR_ROCE_ARGUMENT', 'latencyNs must be 1 or more');
    if (!(this.#maxFrames >= 1)) throw new RoceError('ERR_ROCE_ARGUMENT', 'maxFrames must be 1 or more');
  }

  /** Virtual time in integer nanoseconds. */
  get now(): number {
    return this.#now;
  }

  /** Frames on their way. */
  get framesInFlight(): number {
    return this.#pool.used;
  }

  /** Adds a port. @throws RoceError ERR_ROCE_IN_USE for a name in use, ERR_ROCE_ARGUMENT for bad options */
  attach(name: string, options: PortOptions = {}): SimulatedPort {
    if (this.#names.has(name)) throw new RoceError('ERR_ROCE_IN_USE', `the network has a port named ${name} already`);
    if (this.medium === Medium.Ip && this.#names.size === 2) {
      throw new RoceError(
        'ERR_ROCE_ARGUMENT',
        'a network on the IP medium joins two ports: there is nothing to switch by',
      );
    }
    const mtu = options.mtu ?? DEFAULT_MTU;
    if (!(mtu >= 68 && mtu <= 65_535))
      throw new RoceError('ERR_ROCE_ARGUMENT', `mtu is ${mtu}; it must be 68 .. 65535`);
    const random = this.#random.fork(name);
    const sendWire = new Wire('send', options.faults ?? this.#defaultFaults, this.latencyNs, random.fork('send'));
    const receiveWire = new Wire('receive', options.receiveFaults ?? {}, 0, random.fork('receive'));
    const port = new SimulatedPort(this, name, this.#ports.length, mtu, sendWire, receiveWire);
    this.#ports.push(port);
    this.#names.set(name, port);
    this.#pool.reserve(port.maxFrameBytes);
    for (const rule of this.#rules) this.#applyRule(rule, port);
    return port;
  }

  /** The port of that name, while it is open. */
  port(name: string): SimulatedPort | undefined {
    return this.#names.get(name);
  }

  /** Adds a rule for present and future ports; the result counts its matches and applications. */
  addRule(rule: FaultRule): ActiveRule {
    const active: ActiveRule = { rule, matches: 0, applied: 0 };
    this.#rules.push(active);
    for (const port of this.#names.values()) this.#applyRule(active, port);
    return active;
  }

  /** Ends a rule; its counts stay as they are. */
  removeRule(active: ActiveRule): void {
    const at = this.#rules.indexOf(active);
    if (at >= 0) this.#rules.splice(at, 1);
    for (const port of this.#ports) {
      port.sendWire.removeRule(active);
      port.receiveWire.removeRule(active);
    }
  }

  /** When `deliverDue` has something to do next; Infinity when never. */
  nextEventTime(): number {
    return this.#events.peekTime();
  }

  /** Moves the clock to `now` and hands over all that is due by then, instant by instant. */
  deliverDue(now: number): void {
    invariant(now >= this.#now, 'virtual time never goes back');
    invariant(!this.#delivering, 'a sink does not move the time of the network that calls it');
    this.#delivering = true;
    try {
      while (this.#events.peekTime() <= now) {
        const instant = this.#events.peekTime();
        this.#now = Math.max(this.#now, instant);
        while (this.#events.peekTime() <= instant) this.#handle(this.#events.pop());
        this.#flushAll();
        this.#admitWaiting();
      }
      this.#now = now;
    } finally {
      this.#delivering = false;
    }
  }

  /**
   * For `SimulatedPort.send`.
   *
   * @internal
   */
  sendFrom(port: SimulatedPort, batch: FrameBatch, from: number): number {
    for (let index = from; index < batch.count; index++) {
      const poolFull = this.#pool.used >= this.#maxFrames;
      if (poolFull || port.sendWire.full(this.#now)) {
        this.#block(port, poolFull);
        return index - from;
      }
      this.#send(port, batch, batch.starts[index] ?? 0, batch.lengths[index] ?? 0);
    }
    return batch.count - from;
  }

  /**
   * For `SimulatedPort.close`; frames on their way from the port still arrive.
   *
   * @internal
   */
  detach(port: SimulatedPort): void {
    this.#names.delete(port.name);
  }

  #applyRule(active: ActiveRule, port: SimulatedPort): void {
    const { rule } = active;
    if (rule.port !== undefined && rule.port !== port.name) return;
    (rule.direction === 'receive' ? port.receiveWire : port.sendWire).addRule(active);
  }

  #block(port: SimulatedPort, poolFull: boolean): void {
    if (port.blocked) return;
    port.blocked = true;
    if (poolFull) this.#waiting.push(port);
    else this.#events.push(port.sendWire.drainTime(this.#now), -1 - port.index);
  }

  #send(port: SimulatedPort, batch: FrameBatch, start: number, length: number): void {
    const { bytes, view } = batch;
    const end = start + length;
    const serial = ++this.#serial;
    const wire = port.sendWire;
    port.counters.sent++;
    if (length > port.maxFrameBytes) {
      port.counters.oversize++;
      this.tap?.frame(this.#now, port, 'out', bytes, start, end, Fate.Dropped, serial);
      return;
    }
    const fate = wire.decide(this.#now, bytes, view, start, end, this.medium);
    this.tap?.frame(this.#now, port, 'out', bytes, start, end, fate, serial);
    const slot = this.#pool.copyIn(bytes, view, start, length);
    // A frame is lost on its way: it has taken its time on the wire all the same.
    if ((fate & Fate.Dropped) === 0) this.#damage(slot, fate, wire.corruptBit);
    const arrival = wire.exitTime(this.#now, length);
    this.#route(port, slot, arrival, fate, serial);
    if ((fate & Fate.Duplicated) !== 0)
      this.#route(port, slot, wire.copyTime(this.#now, arrival, length), fate, serial);
    this.#pool.drop(slot);
  }

  /** Applies a fate to the bytes. Marks first: its checksum update must not hide a flipped bit. */
  #damage(slot: number, fate: number, corruptBit: number): void {
    if ((fate & (Fate.Marked | Fate.Corrupted)) === 0) return;
    const { view } = this.#pool;
    const start = this.#pool.start(slot);
    if ((fate & Fate.Marked) !== 0) markCongestion(view, start, start + this.#pool.length(slot), this.medium);
    if ((fate & Fate.Corrupted) === 0) return;
    const at = start + (corruptBit >>> 3);
    view.setUint8(at, view.getUint8(at) ^ (0x80 >>> (corruptBit & 7)));
  }

  /** Sends the slot to the port its destination was learnt behind, or to all others. */
  #route(from: SimulatedPort, slot: number, at: number, fate: number, serial: number): void {
    const { view } = this.#pool;
    const start = this.#pool.start(slot);
    let to = -1;
    if (this.medium === Medium.Ethernet && this.#pool.length(slot) >= ETHERNET_BYTES) {
      // The switch sees nothing of what is lost in front of it.
      if ((fate & Fate.Dropped) === 0) this.#macs.learn(view, start + SOURCE_MAC_AT, from.index);
      to = this.#macs.lookup(view, start);
    }
    if (to === from.index) {
      if ((fate & Fate.Dropped) === 0) from.counters.hairpinned++;
      return;
    }
    const known = this.#ports[to];
    if (known !== undefined && !known.closed) this.#enter(known, slot, at, fate, serial);
    else for (const port of this.#names.values()) if (port !== from) this.#enter(port, slot, at, fate, serial);
  }

  /** Schedules a copy: to where the receiving wire begins, or past a wire on which nothing can happen. */
  #enter(port: SimulatedPort, slot: number, at: number, fate: number, serial: number): void {
    this.#pool.addReference(slot);
    this.#events.push(at, this.#deliveries.add(slot, port.index, fate, serial, !port.receiveWire.active));
  }

  #handle(event: number): void {
    if (event < 0) this.#ports[-1 - event]?.unblock();
    else if (this.#deliveries.isLast(event) || (this.#deliveries.fate(event) & Fate.Dropped) !== 0) this.#arrive(event);
    else this.#enterReceiveWire(event);
  }

  #enterReceiveWire(event: number): void {
    const deliveries = this.#deliveries;
    const pool = this.#pool;
    const port = this.#portOf(event);
    const wire = port.receiveWire;
    let slot = deliveries.slot(event);
    const start = pool.start(slot);
    const length = pool.length(slot);
    const fate = wire.decide(this.#now, pool.bytes, pool.view, start, start + length, this.medium);
    const allFates = deliveries.fate(event) | fate;
    const serial = deliveries.serial(event);
    deliveries.remove(event);
    if ((fate & Fate.Dropped) !== 0 && wire.overflowed) {
      this.tap?.frame(this.#now, port, 'in', pool.bytes, start, start + length, allFates, serial);
      pool.drop(slot);
      return;
    }
    if ((fate & (Fate.Marked | Fate.Corrupted)) !== 0) slot = pool.own(slot);
    if ((fate & Fate.Dropped) === 0) this.#damage(slot, fate, wire.corruptBit);
    const exit = wire.exitTime(this.#now, length);
    this.#events.push(exit, deliveries.add(slot, port.index, allFates, serial, true));
    if ((fate & Fate.Duplicated) === 0) return;
    pool.addReference(slot);
    const copied = wire.copyTime(this.#now, exit, length);
    this.#events.push(copied, deliveries.add(slot, port.index, allFates, serial, true));
  }

  #arrive(event: number): void {
    const pool = this.#pool;
    const port = this.#portOf(event);
    const slot = this.#deliveries.slot(event);
    const start = pool.start(slot);
    const length = pool.length(slot);
    const lost = (this.#deliveries.fate(event) & Fate.Dropped) !== 0;
    const oversize = length > port.maxFrameBytes;
    const heard = !lost && port.listening && !oversize;
    const fate = this.#deliveries.fate(event) | (heard ? 0 : Fate.Dropped);
    this.tap?.frame(this.#now, port, 'in', pool.bytes, start, start + length, fate, this.#deliveries.serial(event));
    this.#deliveries.remove(event);
    if (!heard) {
      if (oversize && !lost) port.counters.oversize++;
      else if (!lost) port.counters.unheard++;
      pool.drop(slot);
      return;
    }
    if (port.stage(slot)) this.#staged.push(port);
    if (port.batchFull) this.#flushAll();
  }

  #flushAll(): void {
    // By index and to the end: a sink that sends adds events, never a staged port.
    for (let index = 0; index < this.#staged.length; index++) this.#staged[index]?.flush(this.#pool);
    this.#staged.length = 0;
  }

  #admitWaiting(): void {
    while (this.#waiting.length > 0 && this.#pool.used < this.#maxFrames) this.#waiting.shift()?.unblock();
  }

  #portOf(event: number): SimulatedPort {
    const port = this.#ports[this.#deliveries.port(event)];
    invariant(port !== undefined, 'a delivery belongs to a port of the network');
    return port;
  }
}
