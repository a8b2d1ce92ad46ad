/**
 * Moves frames out of queues and over links: strict priority, exact rates, one event for a frame that finds its port
 * idle and two otherwise. Owns the clock, the events and when a frame leaves. Nodes decide what they do with a frame
 * that leaves or arrives.
 *
 * Times of the wire are fractions and only events are rounded, up to the next nanosecond: a port that always has
 * something to send keeps its rate exactly. What arrives in the same nanosecond in which a wire becomes free may leave
 * a fraction before it has come: below 1 ns.
 */
import { Fate } from '../../faults/fault-spec.ts';
import type { Prng } from '../../ground/prng.ts';
import { WholeFrame } from './blank-payload.ts';
import type { EgressPort } from './egress-port.ts';
import { EventWheel } from './event-wheel.ts';
import type { FrameStore } from './frame-store.ts';
import { finishIcrc } from './icrc-offload.ts';
import { CONTROL, type NetworkSettings } from './options.ts';

/**
 * Sees every frame at each link: as it begins to leave a port ('out') and as it has come out at the other end ('in').
 */
export interface FabricTap {
  /**
   * A frame passes. Bytes are valid during the call.
   *
   * @param port the sending end of the link, both times
   * @param fate bits of `Fate`: what was done to the frame so far; one that the link loses never comes 'in'
   * @param serial number of the frame in the network, from 1
   */
  frame(
    now: number,
    port: EgressPort,
    direction: 'out' | 'in',
    bytes: Uint8Array,
    start: number,
    end: number,
    fate: number,
    serial: number,
  ): void;
}

/** What an event is about; the rest of its payload is the index of a port, or of something else of that kind. */
export const EventKind = {
  /** The wire of a port is free. */
  WireFree: 0,
  /** A frame comes out of the link of a port. */
  Arrival: 1,
  /** All of a frame has come in that could not be cut through; by slot. */
  Tail: 2,
  /** Credits come back; by row. */
  Credits: 3,
  /** Pauses that a port asked for are repeated. */
  Refresh: 4,
  /** A pause of a port may have ended. */
  PauseEnd: 5,
} as const;
export type EventKind = (typeof EventKind)[keyof typeof EventKind];

/** Bits of a payload that are the kind. */
export const KIND_BITS = 3;
export const KIND_MASK = (1 << KIND_BITS) - 1;

/** The moving part of a switched network. */
export class Transmitter {
  /** Virtual time in integer nanoseconds. */
  now = 0;
  tap: FabricTap | undefined = undefined;
  readonly store: FrameStore;
  readonly events = new EventWheel();
  /** Called when a queue begins to wait for a pause or for credits. */
  onBlocked: (port: EgressPort) => void = () => {};
  /** Called when a link has lost a frame, which still is in its slot. */
  onLost: (port: EgressPort, slot: number) => void = () => {};
  readonly #overheadBytes: number;
  readonly #loss: number;
  readonly #icrcOffload: boolean;
  readonly #whole: WholeFrame;
  readonly #random: Prng;

  constructor(store: FrameStore, settings: NetworkSettings, random: Prng) {
    const { overheadBytes, loss, icrcOffload, maxFrameBytes } = settings;
    this.store = store;
    this.#overheadBytes = overheadBytes;
    this.#loss = loss;
    this.#icrcOffload = icrcOffload;
    this.#whole = new WholeFrame(maxFrameBytes);
    this.#random = random;
  }

  /** An event for `deliver` of the network. */
  schedule(at: number, kind: EventKind, index: number): void {
    this.events.push(Math.ceil(at), (index << KIND_BITS) | kind);
  }

  /** Puts a frame into the queue of its priority; it leaves at once if nothing is in its way. */
  enqueue(port: EgressPort, slot: number): void {
    port.append(this.store, slot);
    this.kick(port);
  }

  /** A frame that was blocked may leave now. */
  kick(port: EgressPort): void {
    if (port.serving) return;
    if (port.freeAt <= this.now) this.#serve(port, this.now);
    else this.#serveWhenFree(port);
  }

  /** For the event. */
  wireFree(port: EgressPort): void {
    port.serving = false;
    this.#serve(port, port.freeAt);
  }

  /** For the event: the first frame on the link of `port` has come out. */
  arrival(port: EgressPort): void {
    const { store } = this;
    const slot = port.land(store);
    const next = port.linkHead;
    if (next >= 0) this.schedule(store.arrival(next), EventKind.Arrival, port.index);
    this.#tapped(port, 'in', slot);
    port.far?.arrive(port, slot);
  }

  /** A priority of `port` is blocked from now on. */
  block(port: EgressPort, priority: number): void {
    const bit = 1 << priority;
    if ((port.blocked & bit) !== 0) return;
    port.blocked |= bit;
    port.blockedSince[priority] = this.now;
    this.onBlocked(port);
    port.home?.changed(port);
  }

  /** A priority of `port` may send again. */
  unblock(port: EgressPort, priority: number): void {
    const bit = 1 << priority;
    if ((port.blocked & bit) === 0) return;
    port.blocked &= ~bit;
    port.home?.changed(port);
    this.kick(port);
  }

  /** Sends the next frame that may leave, `start` being when its first bit does. */
  #serve(port: EgressPort, start: number): void {
    const { store } = this;
    const priority = this.#nextPriority(port);
    if (priority < 0) return;
    const slot = port.shift(store, priority);
    const length = store.length(slot);
    const wireBytes =
      priority === CONTROL ? Math.max(CONTROL_WIRE_BYTES, length + this.#overheadBytes) : length + this.#overheadBytes;
    const end = start + wireBytes * port.byteNs;
    port.occupy(end, length);
    // Before `leaving`, which may have more to send by this very port.
    port.serving = true;
    port.home?.leaving(port, slot);
    this.#launch(port, slot, start, end, wireBytes);
    port.serving = false;
    if ((port.waiting & ~port.blocked) !== 0) this.#serveWhenFree(port);
  }

  #serveWhenFree(port: EgressPort): void {
    port.serving = true;
    this.schedule(port.freeAt, EventKind.WireFree, port.index);
  }

  /** The highest priority that has a frame and may send it; with credits, takes them. -1 for none. */
  #nextPriority(port: EgressPort): number {
    const { credits } = port;
    for (let ready = port.waiting & ~port.blocked; ready !== 0; ) {
      const priority = 31 - Math.clz32(ready);
      if (credits === undefined || priority === CONTROL) return priority;
      const length = this.store.length(port.head(priority));
      if (credits[priority]?.take(length) ?? true) return priority;
      port.tally.creditStalls++;
      this.block(port, priority);
      ready &= ~(1 << priority);
    }
    return -1;
  }

  #launch(port: EgressPort, slot: number, start: number, end: number, wireBytes: number): void {
    const { store } = this;
    if (this.#loss > 0 && store.priority(slot) !== CONTROL && this.#random.chance(this.#loss)) {
      store.setFate(slot, store.fate(slot) | Fate.Dropped);
      port.tally.lost++;
      this.#tapped(port, 'out', slot);
      this.onLost(port, slot);
      store.drop(slot);
      return;
    }
    this.#tapped(port, 'out', slot);
    const { latencyNs } = port;
    const forwardable = wireBytes > port.forwardBytes ? start + port.forwardBytes * port.byteNs : end;
    const arrival = Math.ceil(forwardable + latencyNs);
    store.setTimes(slot, arrival, Math.ceil(end + latencyNs));
    if (port.launch(store, slot)) this.schedule(arrival, EventKind.Arrival, port.index);
  }

  #tapped(port: EgressPort, direction: 'out' | 'in', slot: number): void {
    const { tap, store } = this;
    if (tap === undefined) return;
    const length = store.length(slot);
    const isWhole = length <= store.keptBytes;
    const { bytes, view } = isWhole ? store : this.#whole.restore(store.bytes, store.start(slot), length);
    const start = isWhole ? store.start(slot) : 0;
    const end = start + length;
    if (this.#icrcOffload) finishIcrc(bytes, view, start, end);
    const fate = store.fate(slot);
    tap.frame(this.now, port, direction, bytes, start, end, fate, store.serial(slot));
  }
}

/** The shortest frame of Ethernet, check sequence included. */
const CONTROL_WIRE_BYTES = 64;
