/**
 * The sending end of one direction of a link: a queue for each priority, the wire behind them, and the frames that are on it.
 * Owns counts and lists of slots. Never decides when a frame leaves (`transmitter.ts`) and never reads one.
 */
import type { PauseState } from '../buffer/index.ts';
import type { LinkCredits } from '../buffer/link-credits.ts';
import type { FrameStore } from './frame-store.ts';
import { CONTROL, PRIORITIES } from './options.ts';

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
  /** Ends of pauses sent. */
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

/** What happens at the node whose port this is when a frame begins to leave. */
export interface Departures {
  /** The frame has left its queue and is about to go on the wire. */
  leaving(port: EgressPort, slot: number): void;
  /** A priority of the port was blocked or may send again. */
  changed(port: EgressPort): void;
}

/** What receives at the other end of the link. */
export interface Arrivals {
  /** A frame came out of the link of `from`: all of it, or as much as the receiver asked to wait for. */
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
}

/** The sending end of a link at a host or switch. */
export class EgressPort {
  /** Place among all ports of the network. */
  readonly index: number;
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

  // For the rooms of this folder.
  /** @internal */
  readonly byteNs: number;
  /** @internal */
  readonly tally: EgressCounters = {
    ...{ frames: 0, bytes: 0, marked: 0, dropped: 0, lost: 0, pausesSent: 0, resumesSent: 0, pausesReceived: 0 },
    ...{ pausedNs: 0, creditStalls: 0, peakQueueBytes: 0 },
  };
  /** The node this is a port of. @internal */
  home: Departures | undefined = undefined;
  /** The node at the other end. @internal */
  far: Arrivals | undefined = undefined;
  /** The port of the other direction. @internal */
  reverse: EgressPort = this;
  /** When the wire is free; a fraction, so that rounding does not add up. @internal */
  freeAt = 0;
  /** An event will come when the wire is free. @internal */
  serving = false;
  /** Bit n: frames of priority n wait; bit 8 for control frames. @internal */
  waiting = 0;
  /** Bit n: priority n may not send, for a pause or for want of credits. @internal */
  blocked = 0;
  /** By priority: when it was blocked last. @internal */
  readonly blockedSince = new Float64Array(PRIORITIES);
  /** A look at how long that was is scheduled. @internal */
  watched = false;
  /** Bit n: the other end was asked not to send priority n. @internal */
  pausing = 0;
  /** A repetition of that is scheduled. @internal */
  refreshing = false;
  /** Frames that wait. @internal */
  queuedFrames = 0;
  /** Bytes until all of a frame has come out at the other end, or until enough of it has. @internal */
  forwardBytes = Infinity;
  /** Added to the delay of the link. @internal */
  processingNs = 0;
  /** Frames on the link, in order. @internal */
  linkHead = -1;
  /** @internal */
  linkTail = -1;
  /** Present with PFC. @internal */
  pauses: PauseState | undefined = undefined;
  /** By priority, present with credits. @internal */
  credits: readonly LinkCredits[] | undefined = undefined;

  readonly #clock: { readonly now: number };
  readonly #heads = new Int32Array(QUEUES).fill(-1);
  readonly #tails = new Int32Array(QUEUES).fill(-1);
  readonly #bytes = new Int32Array(QUEUES);
  readonly #frames = new Int32Array(QUEUES);
  #queueBytes = 0;

  /** @internal */
  constructor(spec: EgressPortSpec) {
    this.index = spec.index;
    this.node = spec.node;
    this.port = spec.port;
    this.name = spec.name;
    this.rateBps = spec.rateBps;
    this.delayNs = spec.delayNs;
    this.byteNs = 8e9 / spec.rateBps;
    this.#clock = spec.clock;
  }

  /** What the port has done so far. */
  get counters(): Readonly<EgressCounters> {
    const { pauses, tally } = this;
    if (pauses === undefined) return tally;
    tally.pausedNs = 0;
    for (let priority = 0; priority < PRIORITIES; priority++)
      tally.pausedNs += pauses.pausedNs(this.#clock.now, priority);
    return tally;
  }

  /** Bytes that wait, all priorities; what is on the wire waits no more. */
  get queueBytes(): number {
    return this.#queueBytes;
  }

  /** Bytes of one priority that wait. */
  queueBytesOf(priority: number): number {
    return this.#bytes[priority] ?? 0;
  }

  /** Frames of one priority that wait. */
  queueFramesOf(priority: number): number {
    return this.#frames[priority] ?? 0;
  }

  /** Whether nothing of `priority` may leave now: a pause, or credits that are missing. */
  isBlocked(priority: number): boolean {
    return (this.blocked & (1 << priority)) !== 0;
  }

  /** First frame of a queue; -1 for none. @internal */
  head(priority: number): number {
    return this.#heads[priority] as number;
  }

  /** @internal */
  append(store: FrameStore, slot: number): void {
    const priority = store.priority(slot);
    const tail = this.#tails[priority] as number;
    if (tail < 0) this.#heads[priority] = slot;
    else store.setNext(tail, slot);
    this.#tails[priority] = slot;
    store.setNext(slot, -1);
    this.waiting |= 1 << priority;
    this.queuedFrames++;
    this.#frames[priority] = (this.#frames[priority] as number) + 1;
    const length = store.length(slot);
    this.#bytes[priority] = (this.#bytes[priority] as number) + length;
    this.#queueBytes += length;
    if (this.#queueBytes > this.tally.peakQueueBytes) this.tally.peakQueueBytes = this.#queueBytes;
  }

  /** Takes the first frame out of a queue that is not empty. @internal */
  shift(store: FrameStore, priority: number): number {
    const slot = this.#heads[priority] as number;
    const next = store.next(slot);
    this.#heads[priority] = next;
    if (next < 0) {
      this.#tails[priority] = -1;
      this.waiting &= ~(1 << priority);
    }
    this.queuedFrames--;
    this.#frames[priority] = (this.#frames[priority] as number) - 1;
    const length = store.length(slot);
    this.#bytes[priority] = (this.#bytes[priority] as number) - length;
    this.#queueBytes -= length;
    return slot;
  }

  /** Frames that wait and may not leave. @internal */
  get blockedFrames(): number {
    let frames = 0;
    for (let priority = 0; priority < PRIORITIES; priority++)
      if (this.isBlocked(priority)) frames += this.#frames[priority] as number;
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

const QUEUES = CONTROL + 1;
