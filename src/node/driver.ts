/**
 * Gives a machine real time and a real link: what the simulated world does in virtual time, with the clock on the wall.
 *
 * Owns the one timer, the batch of unsent frames and the order of a turn (timeouts, transmit, next deadline). Never
 * looks into a frame. A turn runs in the check phase, right after the event loop has read what arrived, so that
 * everything that came in is answered in one batch; posts of an application have a turn of their own once the
 * application's callbacks have run. Deadlines are not looked at in those: a process that stood still (an application
 * that computes, SIGSTOP, a suspended machine) finds its deadlines past and the answers unread in the socket, so what
 * came is read first, and a stall of our own uses up no retries.
 * Rule: ref:platform#5 rule 10 (one timer; setTimeout is too coarse below 2 ms).
 */
import { invariant, RoceError } from '../../packets/errors.ts';
import { MAX_ETHERNET_BYTES } from '../../packets/ethernet.ts';
import { type FrameBatch, FrameWriter } from '../../packets/frame-writer.ts';
import type { Link, LinkSink } from '../ground/link.ts';
import type { GroupHost, Host, Machine } from '../ground/machine.ts';
import { installBulkCrc32 } from './bulk-crc32.ts';
import { monotonicNs } from './clock.ts';
import { loadLibc, mayLoadLibc } from './links/libc.ts';
import { PollLoop, type PollMode } from './poll-loop.ts';

/**
 * Runs one machine (a `Device`, or any other `Machine`) on one link in real time.
 *
 * @example
 * ```ts
 * import { Driver, openLink } from 'rocev2/node';
 *
 * // A machine that has one frame to send and hears it come back.
 * const driver = new Driver(openLink('loopback:10.0.0.1/24'));
 * let due = 1;
 * const heard = new Promise<number>((resolve) => {
 *   void driver.start({
 *     receive: (batch) => resolve(batch.count),
 *     transmit(writer) {
 *       if (due-- > 0) writer.appendRaw(new Uint8Array(64), 0, 64);
 *       return false;
 *     },
 *     nextDeadline: () => Number.POSITIVE_INFINITY,
 *     handleTimeouts: () => {},
 *   });
 * });
 * console.log(driver.link.name, await heard); // loopback:10.0.0.1/24 1
 * await driver.close();
 * console.log(await driver.closed); // undefined
 * ```
 */
export class Driver {
  /** For the machine, from before `start`. */
  readonly host: Host;
  /** The link it was made with. */
  readonly link: Link;
  /** Resolves when the link has ended: with undefined after `close`, with the reason otherwise. Never rejects. */
  readonly closed: Promise<RoceError | undefined>;

  readonly #writer: FrameWriter;
  readonly #resolveClosed: (error: RoceError | undefined) => void;
  #machine: Machine | undefined;
  #started = false;
  /** A turn comes at the end of this tick. */
  #soon = false;
  #ended = false;
  /** The link took only a part of the batch: frames from `#unsent` on wait for `writable`. */
  #blocked = false;
  #unsent = 0;
  /** When the machine began to write the batch. */
  #writtenNs = 0;
  #turn: NodeJS.Immediate | undefined;
  #timer: NodeJS.Timeout | undefined;
  #timerDeadline = Infinity;
  readonly #clock: () => number;
  #latestNs = 0;
  /** Frames came since the last turn of the check phase. */
  #hasRead = false;
  readonly #pollMode: PollMode;
  #polling: PollLoop | undefined;
  /** Turns of the check phase for which deadlines that are long past have waited. */
  #waited = 0;

  /**
   * Takes a link that was not started; `start` does that. @param clock integer nanoseconds; where it goes back, time
   * stands still for the machine @param poll how to wait for frames on a link that can be polled; others wake us
   */
  constructor(link: Link, clock: () => number = monotonicNs, poll: PollMode = 'event') {
    this.link = link;
    this.#clock = clock;
    this.#pollMode = poll;
    this.#writer = new FrameWriter(BATCH_FRAMES, link.mtu + MAX_ETHERNET_BYTES);
    this.host = { now: () => this.#now(), wake: () => this.#wakeSoon(), ...groupsOf(link) };
    const { promise, resolve } = withResolvers<RoceError | undefined>();
    this.closed = promise;
    this.#resolveClosed = resolve;
    installBulkCrc32();
  }

  /**
   * Starts the link, then drives the machine. @throws RoceError ERR_ROCE_STATE the second time, and what the link
   * rejects with
   */
  async start(machine: Machine): Promise<void> {
    if (this.#machine !== undefined) throw new RoceError('ERR_ROCE_STATE', 'a driver is started once');
    this.#machine = machine;
    const sink: LinkSink = {
      receive: (batch) => this.#receive(batch),
      writable: () => this.#writable(),
      closed: (error) => this.#end(error),
    };
    try {
      await this.link.start(sink);
    } catch (error) {
      this.#end(error instanceof RoceError ? error : undefined);
      throw error;
    }
    this.#started = true;
    await this.#startPolling();
    this.#wake();
  }

  async #startPolling(): Promise<void> {
    const mode = this.#pollMode;
    if (mode === 'event' || this.link.poller === undefined) return;
    // A link of somebody else's may be polled where there are no native ones.
    const libc = mayLoadLibc() ? await loadLibc() : undefined;
    const { poller } = this.link;
    if (poller === undefined || this.#ended) return;
    this.#polling = new PollLoop(poller, mode, { now: this.#clock, yield: () => void libc?.schedYield() });
  }

  /** Sends what is due and fits, ends the link and stops driving. */
  async close(): Promise<void> {
    if (!this.#ended && this.#started) this.#transmit();
    this.#stop();
    await this.link.close();
    this.#end(undefined);
  }

  #receive(batch: FrameBatch): void {
    if (this.#ended) return;
    this.#hasRead = true;
    this.#machine?.receive(batch);
    // Such a link delivers in the check phase. In the next one, an application that has seen the message could have
    // answered it, ahead of our acknowledgement of it.
    if (this.link.reflects === true || this.#polling !== undefined) this.#wakeSoon();
    else this.#wake();
  }

  #writable(): void {
    this.#blocked = false;
    this.#wake();
  }

  /** Any number of calls, one turn. */
  #wake(): void {
    if (this.#turn !== undefined || this.#ended || !this.#started) return;
    this.#turn = setImmediate(() => {
      this.#turn = undefined;
      this.#handleTimeouts();
      this.#takeTurn();
    });
  }

  /**
   * For the application: what it posts leaves when everything that runs now has run, not after the loop has read more,
   * for lower latency. A tick queued by a microtask runs when there are no more microtasks, so that many posts are one
   * turn.
   */
  #wakeSoon(): void {
    if (this.#soon || this.#ended || !this.#started) return;
    this.#soon = true;
    this.#polling?.active();
    queueMicrotask(this.#nextTick);
  }

  readonly #nextTick = (): void => process.nextTick(this.#takeTurnNow);

  readonly #takeTurnNow = (): void => {
    this.#soon = false;
    this.#takeTurn();
  };

  #takeTurn(): void {
    const machine = this.#machine;
    if (machine === undefined || this.#ended) return;
    const more = this.#transmit();
    if (more) this.#wake();
    else this.#arm(machine.nextDeadline());
  }

  /**
   * Once in each round of the loop, after its reading. Deadlines that are long past wait for a round that reads nothing
   * more, and for a number of rounds at most: a peer that floods us holds no timer up.
   */
  #handleTimeouts(): void {
    const machine = this.#machine;
    if (machine === undefined || this.#ended) return;
    if (this.#now() >= machine.nextDeadline()) this.#tellHeld(0);
    const lateNs = this.#now() - machine.nextDeadline();
    if (lateNs < 0) {
      this.#waited = 0;
      return;
    }
    // The first of these turns may come before the loop has asked the sockets again.
    const isDry = this.#waited > 0 && !this.#hasRead;
    this.#hasRead = false;
    if (lateNs > STALL_NS && !isDry && this.#waited < MOST_ROUNDS) {
      this.#waited += 1;
      this.#wake();
      return;
    }
    this.#waited = 0;
    machine.handleTimeouts();
  }

  #now(): number {
    this.#latestNs = Math.max(this.#latestNs, this.#clock());
    return this.#latestNs;
  }

  /** Sends a bounded number of batches, so that what arrives meanwhile is read; true when more is due at once. */
  #transmit(): boolean {
    const machine = this.#machine;
    if (machine === undefined || this.#blocked) return false;
    this.#tellHeld(LEAST_HELD_NS);
    if (this.#sendRest()) return false;
    for (let batch = 0; batch < BATCHES_PER_TURN; batch++) {
      this.#writer.reset();
      this.#unsent = 0;
      this.#writtenNs = this.#now();
      const more = machine.transmit(this.#writer);
      invariant(!more || this.#writer.count > 0, 'a machine that has more to send has sent something');
      if (this.#sendRest() || !more) return false;
    }
    return true;
  }

  /**
   * No request is retransmitted for want of an answer while it waits here. A link that takes nothing for long counts
   * as one that loses frames.
   */
  #tellHeld(leastNs: number): void {
    if (this.#unsent >= this.#writer.count) return;
    const heldNs = this.#now() - this.#writtenNs;
    if (heldNs < leastNs) return;
    this.#machine?.held?.(this.#writtenNs, this.#writtenNs + Math.min(heldNs, MOST_HELD_NS));
  }

  /** Offers the link what it has not taken yet; true when it still takes no frames. */
  #sendRest(): boolean {
    if (this.#unsent < this.#writer.count) this.#unsent += this.link.send(this.#writer, this.#unsent);
    this.#blocked = this.#unsent < this.#writer.count;
    return this.#blocked;
  }

  #arm(deadline: number): void {
    // A timer that comes too early finds nothing due and is set anew: cheaper than to set it anew at every turn.
    if (this.#timerDeadline <= deadline) return;
    const inMs = (deadline - this.#now()) / 1e6;
    // Polling the clock each round of the loop is exact, and wasteful: only for what is nearly due.
    if (inMs <= NEAR_MS) {
      this.#wake();
      return;
    }
    this.#disarm();
    this.#timerDeadline = deadline;
    // Early by the coarseness of the timer. Unreferenced: the link's socket keeps the process alive, a deadline does
    // not.
    this.#timer = setTimeout(() => this.#timerFired(), Math.min(inMs - 1, MAX_TIMEOUT_MS)).unref();
  }

  #timerFired(): void {
    this.#timer = undefined;
    this.#timerDeadline = Infinity;
    this.#wake();
  }

  #disarm(): void {
    if (this.#timer === undefined) return;
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#timerDeadline = Infinity;
  }

  #stop(): void {
    this.#ended = true;
    this.#polling?.stop();
    this.#polling = undefined;
    this.#disarm();
    if (this.#turn !== undefined) clearImmediate(this.#turn);
    this.#turn = undefined;
  }

  #end(error: RoceError | undefined): void {
    this.#stop();
    this.#resolveClosed(error);
  }
}

/** The multicast calls of the link, for the machine. */
function groupsOf(link: Link): GroupHost {
  const { join, leave } = link;
  if (join === undefined || leave === undefined) return {};
  return { joinGroup: (group) => join.call(link, group), leaveGroup: (group) => leave.call(link, group) };
}

/** `Promise.withResolvers`, which Node 20 does not have. */
function withResolvers<T>(): { promise: Promise<T>; resolve: (value: T) => void } {
  let resolve: (value: T) => void = () => {};
  const promise = new Promise<T>((settle) => {
    resolve = settle;
  });
  return { promise, resolve };
}

const BATCH_FRAMES = 64;
const BATCHES_PER_TURN = 16;
const NEAR_MS = 2;
/** A deadline that is so long past was missed because the process stood still: loops under full load are 3 ms late. */
const STALL_NS = 20e6;
/** Rounds of the loop, each of which reads at least 32 frames of a link: together more than a socket's buffer holds. */
const MOST_ROUNDS = 16;
/** What frames wait in full links of no consequence to a timer; telling costs a look at every queue pair. */
const LEAST_HELD_NS = 1e6;
const MOST_HELD_NS = 4e9;
/** The longest that setTimeout takes; a deadline beyond it is looked at again then. */
const MAX_TIMEOUT_MS = 0x7f_ff_ff_ff;
