/**
 * The sending end of one direction of a link: a queue for each priority, the wire behind them, and the frames that are
 * on it. Owns counts and lists of slots; those that change with every frame lie in a `PortTable`. Never decides when a
 * frame leaves (`transmitter.ts`) and never reads one.
 */
import type { PauseState } from '../buffer/index.ts';
import type { LinkCredits } from '../buffer/link-credits.ts';
import type { FrameStore } from './frame-store.ts';
import { PRIORITIES } from './options.ts';
import {
  BYTE_NS,
  BYTES,
  FRAMES,
  FREE_AT,
  HEAD,
  PEAK_BYTES,
  PORT_FIELDS,
  type PortTable,
  QUEUE_BYTES,
  QUEUE_FIELDS,
  QUEUES,
  SENT_BYTES,
  SENT_FRAMES,
  TAIL,
} from './port-table.ts';

/** What a port has done, in frames unless it says otherwise. */
export interface EgressCounters {
  /** Sent, pauses included. */
  frames: number;
  /** Sent, from link header to ICRC. */
  bytes: number;
  /** Marked Congestion Experienced as they left. */
  marked: number;
  /** Not let into the port's queues. */
  dropped: number;
  /** Lost on the link. */
  lost: number;
  /** Pauses sent to the other end, repetitions included. */
  pausesSent: number;
  /** Frames sent that end pauses and ask for none. */
  resumesSent: number;
  /** Frames of flow control received from the other end that paused a priority. */
  pausesReceived: number;
  /** How long priorities were paused, summed; nanoseconds. Of a port that is paused now: up to now. */
  pausedNs: number;
  /** Times that the head of a queue had to wait for credits. */
  creditStalls: number;
  /** Most bytes that ever waited. */
  peakQueueBytes: number;
}

/** Callbacks to the node of the port when a frame begins to leave. */
export interface EgressListener {
  /** The frame has left its queue and is about to go on the wire. */
  leaving(port: EgressPort, slot: number): void;
  /** A priority of the port was blocked or may send again. */
  changed(port: EgressPort): void;
}

/** The receiver at the other end of the link. */
export interface IngressListener {
  /** A frame came out of the link of `from`: all of it, or as much as the receiver needs for forwarding. */
  arrive(from: EgressPort, slot: number): void;
}

/** What an egress port is made from. */
export interface EgressPortSpec {
  readonly index: number;
  readonly node: number;
  readonly port: number;
  readonly name: string;
  readonly rateBps: number;
  readonly delayNs: number;
  readonly clock: { readonly now: number };
  readonly table: PortTable;
}

/** The sending end of a link at a host or switch. */
export class EgressPort {
  // Fields that every frame uses come first, for the modules of this folder.
  /** Place among all ports of the network. */
  readonly index: number;
  /** Bit n: frames of priority n wait; bit 8 for control frames. @internal */
  waiting = 0;
  /** Bit n: priority n may not send, for a pause or for want of credits. @internal */
  blocked = 0;
  /** An event will come when the wire is free. @internal */
  serving = false;
  /** Frames that wait. @internal */
  queuedFrames = 0;
  /** Frames on the link, in order. @internal */
  linkHead = -1;
  /** @internal */
  linkTail = -1;
  /** The node this is a port of. @internal */
  home: EgressListener | undefined = undefined;
  /** The node at the other end. @internal */
  far: IngressListener | undefined = undefined;
  /** The port of the other direction. @internal */
  reverse: EgressPort = this;
  /** By priority, present with credits. @internal */
  credits: readonly LinkCredits[] | undefined = undefined;
  /** From the end of a frame, or of as much of it as the other end needs, to its arrival. @internal */
  latencyNs: number;
  /** As much of a frame as the other end needs; Infinity: all of it. @internal */
  forwardBytes = Infinity;
  readonly #table: PortTable;
  /** Where the port's row and its queues begin in the table. */
  readonly #row: number;
  readonly #queues: number;

  /** Node of the topology. */
  readonly node: number;
  /** Port of the node. */
  readonly port: number;
  /** 'switch0:3', 'host2:0'. */
  readonly name: string;
  /** Bits a second. */
  readonly rateBps: number;
  /** Nanoseconds that a bit is under way. */
  readonly delayNs: number;
  /** @internal */
  readonly tally: EgressCounters = {
    // One literal, not one spread over others: V8 would give each port an object of a shape of its own.
    frames: 0,
    bytes: 0,
    marked: 0,
    dropped: 0,
    lost: 0,
    pausesSent: 0,
    resumesSent: 0,
    pausesReceived: 0,
    pausedNs: 0,
    creditStalls: 0,
    peakQueueBytes: 0,
  };
  /** Present with PFC. @internal */
  pauses: PauseState | undefined = undefined;
  /** Bit n: the other end was asked not to send priority n. @internal */
  pausing = 0;
  /** A repetition of that is scheduled. @internal */
  refreshing = false;
  /** A look at which pauses of this port have ended is scheduled. @internal */
  pauseEnding = false;
  /** By priority: when it was blocked last. @internal */
  readonly blockedSince = new Float64Array(PRIORITIES);
  /** A look at how long that was is scheduled. @internal */
  watched = false;
  /** Frames from here whose beginning is at a switch that waits for their end. @internal */
  storing = 0;
  readonly #clock: { readonly now: number };

  /** @internal */
  constructor(spec: EgressPortSpec) {
    this.index = spec.index;
    this.node = spec.node;
    this.port = spec.port;
    this.name = spec.name;
    this.rateBps = spec.rateBps;
    this.delayNs = spec.delayNs;
    this.latencyNs = spec.delayNs;
    this.#clock = spec.clock;
    this.#table = spec.table;
    this.#row = spec.index * PORT_FIELDS;
    this.#queues = spec.index * QUEUES * QUEUE_FIELDS;
    spec.table.ports[this.#row + BYTE_NS] = 8e9 / spec.rateBps;
  }

  /** What the port has done so far. */
  get counters(): Readonly<EgressCounters> {
    const { pauses, tally } = this;
    const { ports } = this.#table;
    tally.frames = ports[this.#row + SENT_FRAMES] ?? 0;
    tally.bytes = ports[this.#row + SENT_BYTES] ?? 0;
    tally.peakQueueBytes = ports[this.#row + PEAK_BYTES] ?? 0;
    if (pauses === undefined) return tally;
    tally.pausedNs = 0;
    for (let priority = 0; priority < PRIORITIES; priority++)
      tally.pausedNs += pauses.pausedNs(this.#clock.now, priority);
    return tally;
  }

  /** Bytes that wait, all priorities; what is on the wire waits no more. */
  get queueBytes(): number {
    return this.#table.ports[this.#row + QUEUE_BYTES] as number;
  }

  /** Bytes of one priority that wait. */
  queueBytesOf(priority: number): number {
    return this.#table.queues[this.#queues + priority * QUEUE_FIELDS + BYTES] ?? 0;
  }

  /** Frames of one priority that wait. */
  queueFramesOf(priority: number): number {
    return this.#table.queues[this.#queues + priority * QUEUE_FIELDS + FRAMES] ?? 0;
  }

  /** Whether nothing of `priority` may leave now: a pause, or credits that are missing. */
  isBlocked(priority: number): boolean {
    return (this.blocked & (1 << priority)) !== 0;
  }

  /** When the wire is free; a fraction, so that rounding does not add up. @internal */
  get freeAt(): number {
    return this.#table.ports[this.#row + FREE_AT] as number;
  }

  /** Nanoseconds a byte; a fraction. @internal */
  get byteNs(): number {
    return this.#table.ports[this.#row + BYTE_NS] as number;
  }

  /** A frame of `bytes` is on the wire until `end`. @internal */
  occupy(end: number, bytes: number): void {
    const { ports } = this.#table;
    const row = this.#row;
    ports[row + FREE_AT] = end;
    ports[row + SENT_FRAMES] = (ports[row + SENT_FRAMES] as number) + 1;
    ports[row + SENT_BYTES] = (ports[row + SENT_BYTES] as number) + bytes;
  }

  /** First frame of a queue; -1 for none. @internal */
  head(priority: number): number {
    return this.#table.queues[this.#queues + priority * QUEUE_FIELDS + HEAD] as number;
  }

  /** @internal */
  append(store: FrameStore, slot: number): void {
    const { ports, queues } = this.#table;
    const priority = store.priority(slot);
    const queue = this.#queues + priority * QUEUE_FIELDS;
    const tail = queues[queue + TAIL] as number;
    if (tail < 0) queues[queue + HEAD] = slot;
    else store.setNext(tail, slot);
    queues[queue + TAIL] = slot;
    store.setNext(slot, -1);
    this.waiting |= 1 << priority;
    this.queuedFrames++;
    const length = store.length(slot);
    queues[queue + BYTES] = (queues[queue + BYTES] as number) + length;
    queues[queue + FRAMES] = (queues[queue + FRAMES] as number) + 1;
    const bytes = (ports[this.#row + QUEUE_BYTES] as number) + length;
    ports[this.#row + QUEUE_BYTES] = bytes;
    if (bytes > (ports[this.#row + PEAK_BYTES] as number)) ports[this.#row + PEAK_BYTES] = bytes;
  }

  /** Takes the first frame out of a queue that is not empty. @internal */
  shift(store: FrameStore, priority: number): number {
    const { ports, queues } = this.#table;
    const queue = this.#queues + priority * QUEUE_FIELDS;
    const slot = queues[queue + HEAD] as number;
    const next = store.next(slot);
    queues[queue + HEAD] = next;
    if (next < 0) {
      queues[queue + TAIL] = -1;
      this.waiting &= ~(1 << priority);
    }
    this.queuedFrames--;
    const length = store.length(slot);
    queues[queue + BYTES] = (queues[queue + BYTES] as number) - length;
    queues[queue + FRAMES] = (queues[queue + FRAMES] as number) - 1;
    ports[this.#row + QUEUE_BYTES] = (ports[this.#row + QUEUE_BYTES] as number) - length;
    return slot;
  }

  /** Frames that wait and may not leave. @internal */
  get blockedFrames(): number {
    let frames = 0;
    for (let priority = 0; priority < PRIORITIES; priority++)
      if (this.isBlocked(priority)) frames += this.queueFramesOf(priority);
    return frames;
  }

  /** Puts a frame on the link; true when it is alone there. @internal */
  launch(store: FrameStore, slot: number): boolean {
    const tail = this.linkTail;
    this.linkTail = slot;
    store.setNext(slot, -1);
    if (tail < 0) {
      this.linkHead = slot;
      return true;
    }
    store.setNext(tail, slot);
    return false;
  }

  /** Takes the first frame off the link, on which there is one. @internal */
  land(store: FrameStore): number {
    const slot = this.linkHead;
    const next = store.next(slot);
    this.linkHead = next;
    if (next < 0) this.linkTail = -1;
    return slot;
  }
}
