/**
 * One direction of a wire with faults: takes frames in, calls the engine, holds frames that wait, delivers frames that
 * are due.
 *
 * Owns the frames between the two ends, in order: a frame overtakes another only by a rule or by chance. Bounded: what
 * does not fit is dropped and counted. No I/O and no clock: its owner passes the time, and calls `flush` at
 * `nextDeadline` and when the far end takes frames again. What a `Notifier` sends goes ahead of the queue for the rate,
 * as a switch would give it the highest priority.
 */
import type { FrameBatch } from '../../packets/frame-writer.ts';
import { Ecn } from '../../packets/traffic-class.ts';
import { congestionBits, markCongestion } from '../ground/ecn.ts';
import { EventQueue } from '../ground/event-queue.ts';
import { FramePool } from '../ground/frame-pool.ts';
import { BATCH_FRAMES, PoolBatch } from '../ground/pool-batch.ts';
import type { RateQueue } from './departures.ts';
import type { FaultEngine } from './engine.ts';
import type { Notifier } from './notifier.ts';
import { FrameAction, type FrameDecision } from './verdict.ts';

/** Frames, by what was done with them on their way in one direction. */
export interface PathCounters {
  /** That came in. */
  frames: number;
  /** Bytes of the frames that came in. */
  bytes: number;
  /** That left, copies and notifications of our own among them. */
  forwarded: number;
  /** All that did not leave, for whatever reason. */
  dropped: number;
  /** Copied. */
  duplicated: number;
  /** Held back for a time. */
  delayed: number;
  /** Held back until others had passed. */
  reordered: number;
  /** Damaged. */
  corrupted: number;
  /** Marked Congestion Experienced, by rule, by chance or by the queue for the rate. */
  marked: number;
  /** Marked, and a congestion notification was sent back for them. */
  notified: number;
  /** Given other values in their fields. */
  rewritten: number;
  /** Dropped because too many waited. */
  overflow: number;
  /** Dropped because they are longer than the far end carries. */
  oversize: number;
  /** The most that ever waited for the rate, in bytes. */
  peakQueueBytes: number;
}

/** Sees every frame twice. Bytes, and what the engine knows of the frame, are valid during the call only. */
export interface PathObserver {
  /** A frame as it came in, and what is going to be done to it. @param serial from 1, its copies share it */
  entered(now: number, path: FaultPath, serial: number, bytes: Uint8Array, start: number, end: number): void;
  /** A frame as it leaves. */
  left(now: number, path: FaultPath, serial: number, bytes: Uint8Array, start: number, end: number): void;
  /** The queue for the rate has marked a frame, which is going to leave. @param behindBytes what waited behind it */
  marked?(now: number, path: FaultPath, serial: number, behindBytes: number): void;
  /**
   * A frame of our own that is going to leave here: a congestion notification. It has a serial, and never entered.
   *
   * @param about serial of the frame, on the other path, that was marked
   */
  notifying?(
    now: number,
    path: FaultPath,
    serial: number,
    bytes: Uint8Array,
    start: number,
    end: number,
    about: number,
  ): void;
}

/** What a `FaultPath` is made of. */
export interface FaultPathOptions {
  /** Longest frame that the far end carries, in bytes. */
  readonly maxFrameBytes: number;
  /** Frames that may wait; default 16,384. */
  readonly capacity?: number | undefined;
  /** Sees every frame; default none. */
  readonly observer?: PathObserver | undefined;
  /** Is called for every frame that is marked here. @internal */
  readonly notifier?: Notifier | undefined;
}

/** Takes frames `from .. batch.count - 1` in order and returns how many it took, as `Link.send` does. */
export type FrameConsumer = (batch: FrameBatch, from: number) => number;

/**
 * One direction of a wire with faults: a queue of frames between what comes in and what `flush` hands over.
 *
 * @example
 * ```ts
 * import { FaultEngine, FaultPath } from 'rocev2/faults';
 * import { Medium } from 'rocev2/packets';
 *
 * const rules = [{ on: { opcode: 'any', nth: 1 }, do: 'delay', delayNs: 5_000 }] as const;
 * const path = new FaultPath(new FaultEngine({ medium: Medium.Ethernet, rules }), 0, { maxFrameBytes: 1514 });
 * const bytes = new Uint8Array(160);
 * const [starts, lengths] = [Int32Array.of(0, 60), Int32Array.of(60, 100)];
 * path.enter(0, { bytes, view: new DataView(bytes.buffer), starts, lengths, count: 2 }, 0, 2);
 * // The second frame overtakes the first.
 * function flush(now: number): void {
 *   path.flush(now, (batch, from) => {
 *     console.log(now, batch.lengths[from]);
 *     return batch.count - from;
 *   });
 * }
 * flush(0);
 * flush(path.nextDeadline());
 * // 0 100
 * // 5000 60
 * ```
 */
export class FaultPath {
  /** Decides about its frames. */
  readonly engine: FaultEngine;
  /** Index in `FAULT_DIRECTIONS`. */
  readonly direction: number;
  /** Since the path was made; they count on while it runs. */
  readonly counters: PathCounters = newCounters();
  readonly #maxFrameBytes: number;
  readonly #capacity: number;
  readonly #observer: PathObserver | undefined;
  readonly #notifier: Notifier | undefined;
  readonly #departures: RateQueue | undefined;
  readonly #pool = new FramePool();
  readonly #events = new EventQueue();
  readonly #batch = new PoolBatch();
  readonly #held: ReorderedFrame[] = [];
  /** By slot. */
  #serials = new Float64Array(64);
  #serial = 0;
  /** The far end took a part of the batch: frames from here on wait. */
  #unsent = 0;
  #blocked = false;

  /**
   * Makes an empty path; an engine has one for each direction.
   *
   * @param direction index in `FAULT_DIRECTIONS`
   */
  constructor(engine: FaultEngine, direction: number, options: FaultPathOptions) {
    this.engine = engine;
    this.direction = direction;
    this.#maxFrameBytes = options.maxFrameBytes;
    this.#capacity = options.capacity ?? DEFAULT_CAPACITY;
    this.#observer = options.observer;
    this.#notifier = options.notifier;
    this.#departures = engine.departures(direction);
    this.#pool.reserve(options.maxFrameBytes);
  }

  /** Frames that may still come in without being dropped for want of room. */
  get room(): number {
    return Math.max(0, this.#capacity - this.#pool.used);
  }

  /** Whether the far end takes no frames, so that frames which are due wait here. */
  get blocked(): boolean {
    return this.#blocked;
  }

  /** Frames that wait. */
  get waiting(): number {
    return this.#pool.used;
  }

  /** Bytes that wait for the rate; 0 without one. */
  queueBytes(now: number): number {
    return this.engine.queueBytes(now, this.direction);
  }

  /**
   * Takes the frame of a writer, one of our own: due at once, not subject to rules, chance or the rate. False when
   * there is no room.
   *
   * @param about serial of the frame, on the other path, that it is about
   */
  insert(now: number, { bytes, view, starts, lengths }: FrameBatch, about: number): boolean {
    if (this.room === 0) return false;
    const start = starts[0] ?? 0;
    const length = lengths[0] ?? 0;
    const serial = ++this.#serial;
    this.#observer?.notifying?.(now, this, serial, bytes, start, start + length, about);
    const slot = this.#pool.copyIn(bytes, view, start, length);
    this.#setSerial(slot, serial);
    this.#events.push(now, slot);
    return true;
  }

  /** Takes frames `from .. to - 1`; `flush` hands over those that are due at once. */
  enter(now: number, batch: FrameBatch, from: number, to: number): void {
    const { bytes, view } = batch;
    for (let i = from; i < to; i++) {
      const start = batch.starts[i] ?? 0;
      this.#enterOne(now, bytes, view, start, start + (batch.lengths[i] ?? 0));
    }
  }

  /** When `flush` has something to do; Infinity: when the far end takes frames again, or never. */
  nextDeadline(): number {
    if (this.#blocked) return Infinity;
    let deadline = this.#events.peekTime();
    for (const { until } of this.#held) deadline = Math.min(deadline, until);
    return deadline;
  }

  /**
   * Hands over what is due; false when the far end did not take all of it.
   *
   * @param until what is due by then; Infinity: all there is
   */
  flush(now: number, take: FrameConsumer, until = now): boolean {
    if (this.#departures !== undefined) this.#markDepartures(now, this.#departures, until);
    this.#releaseOverdue(until);
    const batch = this.#batch;
    for (;;) {
      if (this.#unsent === batch.count) this.#nextBatch(until);
      if (batch.count === 0) return true;
      batch.bind(this.#pool);
      const taken = take(batch, this.#unsent);
      this.#announce(now, this.#unsent, this.#unsent + taken);
      this.#unsent += taken;
      this.counters.forwarded += taken;
      this.#blocked = this.#unsent < batch.count;
      if (this.#blocked) return false;
    }
  }

  #enterOne(now: number, bytes: Uint8Array, view: DataView, start: number, end: number): void {
    const { engine } = this;
    const verdict = engine.decide(now, this.direction, bytes, view, start, end);
    if (!verdict.dropped && end - start > this.#maxFrameBytes) verdict.refuse(FrameAction.Oversize);
    if (!verdict.dropped && this.room === 0) verdict.refuse(FrameAction.Overflowed);
    this.#count(verdict, end - start);
    const serial = ++this.#serial;
    this.#observer?.entered(now, this, serial, bytes, start, end);
    if (verdict.dropped) return;
    const pool = this.#pool;
    const slot = pool.copyIn(bytes, view, start, end - start);
    this.#setSerial(slot, serial);
    engine.apply(pool.bytes, pool.view, pool.start(slot), pool.start(slot) + pool.length(slot));
    if ((verdict.did & FrameAction.Marked) !== 0) this.#notify(now, slot);
    this.#schedule(now, slot, verdict);
  }

  /**
   * Marks frames that left the queue for the rate before `until`, as the queue decides; none of them is at the far end
   * yet.
   */
  #markDepartures(now: number, departures: RateQueue, until: number): void {
    const pool = this.#pool;
    for (let slot = departures.next(until); slot >= 0; slot = departures.next(until)) {
      const start = pool.start(slot);
      const end = start + pool.length(slot);
      const { medium } = this.engine;
      // Not frames that cannot be marked or are marked already.
      const bits = congestionBits(pool.view, start, end, medium);
      if (bits === Ecn.Ce || !markCongestion(pool.view, start, end, medium)) continue;
      this.counters.marked++;
      this.#observer?.marked?.(now, this, this.#serials[slot] ?? 0, departures.behindBytes);
      this.#notify(now, slot);
    }
  }

  #notify(now: number, slot: number): void {
    const pool = this.#pool;
    const start = pool.start(slot);
    const end = start + pool.length(slot);
    if (this.#notifier?.marked(now, this.direction, this.#serials[slot] ?? 0, pool.bytes, start, end) === true)
      this.counters.notified++;
  }

  #schedule(now: number, slot: number, verdict: FrameDecision): void {
    const { engine, direction, counters } = this;
    const exit = engine.exitTime(now, direction);
    this.#departures?.enter(now, engine.startTime(direction), this.#pool.length(slot), slot);
    counters.peakQueueBytes = Math.max(counters.peakQueueBytes, Math.round(engine.queueBytes(now, direction)));
    const at = exit + verdict.delayNs;
    for (let copy = 0; copy < verdict.copies; copy++) this.#pool.addReference(slot);
    if ((verdict.did & FrameAction.Reordered) !== 0) {
      this.#held.push({ slot, behind: verdict.behind, until: exit + verdict.holdNs });
    } else {
      this.#events.push(at, slot);
      if (verdict.delayNs === 0 && this.#held.length > 0) this.#passHeld(exit);
    }
    for (let copy = 1; copy <= verdict.copies; copy++) this.#events.push(at + copy * verdict.copyDelayNs, slot);
  }

  /** A frame that leaves at `exit` has overtaken those that are held. */
  #passHeld(exit: number): void {
    for (let i = 0; i < this.#held.length; i++) {
      const held = this.#held[i];
      if (held === undefined || --held.behind > 0) continue;
      this.#events.push(exit, held.slot);
      this.#held.splice(i--, 1);
    }
  }

  #releaseOverdue(until: number): void {
    for (let i = 0; i < this.#held.length; i++) {
      const held = this.#held[i];
      if (held === undefined || held.until > until) continue;
      this.#events.push(held.until, held.slot);
      this.#held.splice(i--, 1);
    }
  }

  #nextBatch(until: number): void {
    const batch = this.#batch;
    batch.release(this.#pool);
    this.#unsent = 0;
    while (batch.count < BATCH_FRAMES && this.#events.size > 0 && this.#events.peekTime() <= until) {
      batch.add(this.#events.pop());
    }
  }

  #announce(now: number, from: number, to: number): void {
    const observer = this.#observer;
    if (observer === undefined) return;
    const batch = this.#batch;
    for (let i = from; i < to; i++) {
      const start = batch.starts[i] ?? 0;
      const serial = this.#serials[batch.slot(i)] ?? 0;
      observer.left(now, this, serial, batch.bytes, start, start + (batch.lengths[i] ?? 0));
    }
  }

  #setSerial(slot: number, serial: number): void {
    if (slot >= this.#serials.length) {
      const larger = new Float64Array(Math.max(this.#serials.length * 2, slot + 1));
      larger.set(this.#serials);
      this.#serials = larger;
    }
    this.#serials[slot] = serial;
  }

  #count({ did }: FrameDecision, bytes: number): void {
    const { counters } = this;
    counters.frames++;
    counters.bytes += bytes;
    if (did === 0) return;
    if ((did & FrameAction.Dropped) !== 0) {
      counters.dropped++;
      if ((did & FrameAction.Overflowed) !== 0) counters.overflow++;
      if ((did & FrameAction.Oversize) !== 0) counters.oversize++;
      return;
    }
    if ((did & FrameAction.Duplicated) !== 0) counters.duplicated++;
    if ((did & FrameAction.Delayed) !== 0) counters.delayed++;
    if ((did & FrameAction.Reordered) !== 0) counters.reordered++;
    if ((did & FrameAction.Corrupted) !== 0) counters.corrupted++;
    if ((did & FrameAction.Marked) !== 0) counters.marked++;
    if ((did & FrameAction.Rewritten) !== 0) counters.rewritten++;
  }
}

/** A frame that others have to overtake first. */
interface ReorderedFrame {
  readonly slot: number;
  behind: number;
  readonly until: number;
}

function newCounters(): PathCounters {
  return {
    frames: 0,
    bytes: 0,
    forwarded: 0,
    dropped: 0,
    duplicated: 0,
    delayed: 0,
    reordered: 0,
    corrupted: 0,
    marked: 0,
    notified: 0,
    rewritten: 0,
    overflow: 0,
    oversize: 0,
    peakQueueBytes: 0,
  };
}

const DEFAULT_CAPACITY = 16_384;
