/**
 * Machines on a simulated network in virtual time: a distributed run as one deterministic, bounded loop.
 *
 * Owns the order in which things happen: woken machines transmit, then time jumps to the next frame or deadline, then
 * frames are handed over, then timeouts. Work per step grows with the active machines, not with their number. Never
 * reads a clock, never waits for real. Every run is bounded; what exceeds its bounds is an InvariantError that names
 * the seed. The same seed and the same calls put the same bytes on the wire.
 */
import { InvariantError, invariant, RoceError } from '../../packets/errors.ts';
import { EventQueue } from '../ground/event-queue.ts';
import type { Link } from '../ground/link.ts';
import type { Host, Machine } from '../ground/machine.ts';
import { Prng } from '../ground/prng.ts';
import { Member, type MemberWorld, type WorldPort } from './member.ts';
import { type NetworkOptions, SimulatedNetwork } from './network.ts';
import { WriterPool } from './writer-pool.ts';

/** What a world drives: a medium with a clock that only the world advances, and ports for machines. */
export interface WorldNetwork {
  /** Virtual time in integer nanoseconds. */
  readonly now: number;
  /** Frames on their way. */
  readonly framesInFlight: number;
  /** Frames taken from a machine at a time, where the world has no option for it; absent: 64. */
  readonly batchFrames?: number;
  /** Time of the next event without further calls; Infinity when there is none. */
  nextEventTime(): number;
  /** Moves the clock to `now` and hands over all that is due by then. */
  deliverDue(now: number): void;
  /**
   * Processes the next events, but none after `limit`. It may continue until a machine received something: a frame, or
   * `writable` of its port. The clock is then at the last event. False: nothing is left until `limit`. Absent: the
   * world calls `deliverDue` for each instant.
   */
  advance?(limit: number): boolean;
  /** Adds a port. @throws RoceError for a name in use and invalid options */
  attach(name: string, options?: object): WorldPort;
}

/** How machines are driven, with any network. */
export interface DriveOptions {
  /** Every choice by chance follows from it: a safe integer. */
  readonly seed: number;
  /**
   * Frames a machine hands to its port at a time, 1 or more; default 64. What is handed over is sent whatever arrives
   * meanwhile, so where ports have a rate, fewer make machines react sooner.
   */
  readonly batchFrames?: number;
}

/** A world and its network: one that was made beforehand, or a `SimulatedNetwork` made from the same options. */
export interface WorldOptions<N extends WorldNetwork = SimulatedNetwork>
  extends DriveOptions,
    Omit<NetworkOptions, 'seed'> {
  /** Absent: a `SimulatedNetwork`. With it the options of such a network are ignored. */
  readonly network?: N;
}

/** What `attach` of a network takes beside the name. */
export type PortOptionsOf<N extends WorldNetwork> = NonNullable<Parameters<N['attach']>[1]>;

/** Bounds of one run. */
export interface RunLimits {
  /** Default 10,000,000. */
  readonly maxSteps?: number;
  /** Virtual nanoseconds from the start of the run; default 3,600 s. */
  readonly maxTimeNs?: number;
}

/** Bounds of `runFor`. */
export interface RunForLimits extends RunLimits {
  /** The run ends in the instant in which this holds; checked after each step. */
  readonly done?: () => boolean;
}

/** Makes a machine for a port. `random` is a stream of its own, which follows from the seed and the machine's name. */
export type MachineFactory<M extends Machine> = (host: Host, port: Link, random: Prng) => M;

/**
 * A network and its machines, driven in virtual time. Same seed, same calls, same bytes.
 *
 * @example
 * ```ts
 * import { attachDevice, World } from 'rocev2';
 *
 * const world = new World({ seed: 1 });
 * const a = attachDevice(world, 'a', { addresses: ['10.0.0.1/24'] });
 * const b = attachDevice(world, 'b', { addresses: ['10.0.0.2/24'] });
 * b.cm.listen(7471);
 * const cq = a.createCq(1);
 * const qp = a.allocPd().createQp({ sendCq: cq, recvCq: cq });
 * // Virtual time: half an hour takes no longer than what happens in it.
 * await world.runFor(1800e9);
 * console.log(world.now / 1e9); // 1800
 * console.log(qp.stateName); // RESET
 * ```
 */
export class World<N extends WorldNetwork = SimulatedNetwork> implements MemberWorld {
  /** Every choice by chance follows from it. */
  readonly seed: number;
  /** What the machines are attached to. */
  readonly network: N;
  /** For the script of the run itself; machines have their own streams. */
  readonly random: Prng;
  /** Steps taken since the world began. */
  steps = 0;

  readonly #writers: WriterPool;
  readonly #members: Member[] = [];
  /** Members with a turn to transmit, first woken first; a member is in it once at most. */
  #ready: Member[] = [];
  /** Counted beside the array: cutting one off costs more than all else here. */
  #readyCount = 0;
  #draining: Member[] = [];
  /**
   * At most one entry per member is valid; the others are skipped when their time comes. Negative payloads are
   * sleepers.
   */
  readonly #deadlines = new EventQueue();
  readonly #sleepers: ((() => void) | undefined)[] = [];

  /** A world without machines. @throws RoceError ERR_ROCE_ARGUMENT as `SimulatedNetwork` */
  constructor(options: WorldOptions<N>) {
    const { seed } = options;
    this.seed = seed;
    const random = new Prng(seed);
    this.random = random.fork('script');
    // N is SimulatedNetwork exactly where no network is given: the type parameter has no other source.
    const network: WorldNetwork = options.network ?? new SimulatedNetwork(options);
    this.network = network as N;
    this.#writers = new WriterPool(options.batchFrames ?? network.batchFrames ?? DEFAULT_BATCH_FRAMES);
  }

  /** Virtual time in integer nanoseconds. */
  get now(): number {
    return this.network.now;
  }

  /** Makes a machine on a new port and begins to drive it. @throws RoceError as the network's `attach` */
  attach<M extends Machine>(name: string, make: MachineFactory<M>, options?: PortOptionsOf<N>): M {
    const port = this.network.attach(name, options);
    const member = new Member(this, this.#members.length, port);
    this.#members.push(member);
    const machine = make(member, port, new Prng(this.seed).fork(`machine ${name}`));
    member.machine = machine;
    // A simulated port begins at once; the promise is for links that take their time.
    void port.start(member);
    member.wake();
    return machine;
  }

  /** Processes all events of the next instant; false when no event is left. */
  step(): boolean {
    return this.#step(Infinity);
  }

  /** Steps until `predicate` holds. @throws InvariantError when the bounds are reached or no event is left before */
  runUntil(predicate: () => boolean, limits: RunLimits = {}): void {
    const bounds = new RunBounds(this, limits);
    while (!predicate()) {
      bounds.check();
      if (!this.#step(bounds.limit) && !predicate()) bounds.fail('fell silent before the condition was met');
    }
  }

  /** Steps until no event is left. */
  runUntilIdle(limits: RunLimits = {}): void {
    const bounds = new RunBounds(this, limits);
    while (this.#step(bounds.limit)) bounds.check();
  }

  /** Lets `durationNs` pass, idle or not, or less when `limits.done` says so. */
  runFor(durationNs: number, limits: RunForLimits = {}): void {
    const until = this.now + durationNs;
    const bounds = new RunBounds(this, { maxTimeNs: durationNs, ...limits });
    for (;;) {
      this.#transmitAll();
      // Reading the deadlines of all machines costs more than a step: only where the network has no event.
      if (this.network.nextEventTime() > until && this.#nextDeadline() > until) break;
      bounds.check();
      this.#step(until);
      if (limits.done?.() === true) return;
    }
    this.network.deliverDue(until);
  }

  /**
   * Steps, with turns of the promise queue between steps, until `promise` settles, and settles like it. @throws
   * InvariantError as `runUntil`
   */
  async run<T>(promise: Promise<T>, limits: RunLimits = {}): Promise<T> {
    const bounds = new RunBounds(this, limits);
    let settled = false;
    const settle = (): void => {
      settled = true;
    };
    promise.then(settle, settle);
    for (;;) {
      await turns(TURNS_PER_STEP);
      if (settled) return promise;
      bounds.check();
      if (this.#step(bounds.limit)) continue;
      // Nothing is left on the wire: a longer chain of promises may still make work.
      await turns(TURNS_WHEN_SILENT);
      if (!settled && this.#isSilent()) bounds.fail('fell silent before the promise settled');
    }
  }

  /** Resolves when `durationNs` of virtual time have passed, while the world runs. */
  sleep(durationNs: number): Promise<void> {
    const at = this.now + durationNs;
    if (!(at >= this.now && at < Infinity))
      throw new RoceError('ERR_ROCE_ARGUMENT', `cannot sleep for ${durationNs} ns`);
    return new Promise((resolve) => {
      const free = this.#sleepers.indexOf(undefined);
      const index = free < 0 ? this.#sleepers.length : free;
      this.#sleepers[index] = resolve;
      this.#deadlines.push(Math.ceil(at), -1 - index);
    });
  }

  /**
   * For the members.
   *
   * @internal
   */
  enqueue(member: Member): void {
    this.#ready[this.#readyCount++] = member;
  }

  /** `limit` bounds networks that continue by themselves; the next event is processed in any case. */
  #step(limit: number): boolean {
    this.steps++;
    this.#transmitAll();
    const { network } = this;
    // Before the earliest possible deadline there is nothing to check.
    const earliest = Math.min(this.#deadlines.peekTime(), limit);
    if (network.advance !== undefined && network.nextEventTime() <= earliest && network.advance(earliest)) {
      if (this.#deadlines.peekTime() <= network.now) this.#fireDeadlines(network.now);
      return true;
    }
    const deadline = this.#nextDeadline();
    const next = Math.min(network.nextEventTime(), deadline);
    if (next === Infinity) return false;
    if (network.advance === undefined) network.deliverDue(Math.max(next, network.now));
    else network.deliverDue(Math.max(Math.min(next, limit), network.now));
    this.#fireDeadlines(network.now);
    return true;
  }

  #isSilent(): boolean {
    return this.#readyCount === 0 && Math.min(this.network.nextEventTime(), this.#nextDeadline()) === Infinity;
  }

  #transmitAll(): void {
    let rounds = 0;
    while (this.#readyCount > 0) {
      if (++rounds > MAX_ROUNDS) throw new InvariantError(`the world never ends this instant (${describeWorld(this)})`);
      const members = this.#ready;
      const count = this.#readyCount;
      this.#ready = this.#draining;
      this.#readyCount = 0;
      this.#draining = members;
      for (let i = 0; i < count; i++) members[i]?.transmit(this.#writers);
      for (let i = 0; i < count; i++) this.#arm(members[i]);
    }
  }

  /**
   * Makes sure that an entry not later than the member's deadline is in the queue; one that is too early costs a look.
   */
  #arm(member: Member | undefined): void {
    if (member === undefined || member.port.closed) return;
    const deadline = member.nextDeadline();
    if (deadline >= member.armedAt) return;
    member.armedAt = deadline;
    this.#deadlines.push(deadline, member.index);
  }

  /**
   * The earliest true deadline; drops or moves the entries before it that no longer hold, so that time never jumps to
   * one.
   */
  #nextDeadline(): number {
    const queue = this.#deadlines;
    while (queue.size > 0) {
      const time = queue.peekTime();
      const payload = queue.peek();
      if (payload < 0) return time;
      const member = this.#member(payload);
      if (member.armedAt === time) {
        const deadline = member.port.closed ? Infinity : member.nextDeadline();
        if (deadline <= time) return time;
        member.armedAt = Infinity;
        queue.pop();
        this.#arm(member);
      } else queue.pop();
    }
    return Infinity;
  }

  #fireDeadlines(now: number): void {
    while (this.#nextDeadline() <= now) {
      const payload = this.#deadlines.pop();
      if (payload >= 0) this.#member(payload).handleTimeouts();
      else {
        this.#sleepers[-1 - payload]?.();
        this.#sleepers[-1 - payload] = undefined;
      }
    }
  }

  #member(index: number): Member {
    const member = this.#members[index];
    invariant(member !== undefined, 'a deadline belongs to a member of the world');
    return member;
  }
}

/** The state of a world that bounds limit. */
interface RunState {
  readonly seed: number;
  readonly steps: number;
  readonly now: number;
  readonly network: WorldNetwork;
}

/** The bounds of a run, counted from where it starts. */
class RunBounds {
  readonly #world: RunState;
  readonly #lastStep: number;
  readonly #lastTime: number;

  constructor(world: RunState, limits: RunLimits) {
    this.#world = world;
    this.#lastStep = world.steps + (limits.maxSteps ?? DEFAULT_MAX_STEPS);
    this.#lastTime = world.now + (limits.maxTimeNs ?? DEFAULT_MAX_TIME_NS);
  }

  /** As far as one step may go: so far that `check` sees it. */
  get limit(): number {
    return this.#lastTime + 1;
  }

  check(): void {
    if (this.#world.steps >= this.#lastStep) this.fail('took more steps than allowed');
    if (this.#world.now > this.#lastTime) this.fail('took more virtual time than allowed');
  }

  fail(what: string): never {
    throw new InvariantError(`the world ${what} (${describeWorld(this.#world)})`);
  }
}

function describeWorld(world: RunState): string {
  return `seed ${world.seed}, step ${world.steps}, ${world.now} ns, ${world.network.framesInFlight} frames on their way`;
}

/**
 * A fixed number of turns of the promise queue: enough for the usual chain of promises after a completion, and the same
 * in every run.
 */
async function turns(count: number): Promise<void> {
  for (let turn = 0; turn < count; turn++) await null;
}

const DEFAULT_BATCH_FRAMES = 64;
const TURNS_PER_STEP = 16;
const TURNS_WHEN_SILENT = 1_000;
const DEFAULT_MAX_STEPS = 10_000_000;
const DEFAULT_MAX_TIME_NS = 3_600e9;
/** Batches per member and instant before it counts as infinite. */
const MAX_ROUNDS = 1_000_000;
