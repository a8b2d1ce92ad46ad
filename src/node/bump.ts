/**
 * A bump in the wire: forwards frames between two Ethernet links, with faults by rule and by chance.
 *
 * Owns the joining of two links by two paths, and one timer. Forwards within the turn in which a frame arrives; each
 * direction keeps its order unless a rule or chance says otherwise. A side that takes no more frames makes the other's
 * wait, up to a bound; what comes then is dropped and counted as overflow. Sends no frame of its own except the
 * congestion notifications of `notify`, which is off by default. Decisions: `src/faults/`.
 */
import { RoceError } from '../../packets/errors.ts';
import { MAX_ETHERNET_BYTES } from '../../packets/ethernet.ts';
import { Medium } from '../../packets/frame.ts';
import type { FrameBatch } from '../../packets/frame-writer.ts';
import type { CompiledRule } from '../faults/compile.ts';
import type { TrackedConnection } from '../faults/conversations.ts';
import { FaultEngine } from '../faults/engine.ts';
import { Notifier, type NotifierCounters, type NotifyOptions } from '../faults/notifier.ts';
import { FaultPath, type PathCounters, type PathObserver } from '../faults/path.ts';
import type { FaultDirection, WireFaults, WireRule } from '../faults/rule.ts';
import type { Link } from '../ground/link.ts';
import { installBulkCrc32 } from './bulk-crc32.ts';
import { monotonicNs } from './clock.ts';
import { Alarm } from './links/alarm.ts';

/**
 * Sees each frame as it came in on one side, with the decision (`path.engine.verdict.describe()` gives it as text), and
 * as it leaves on the other.
 */
export type BumpObserver = PathObserver;

/** Two links and what happens between them. */
export interface BumpOptions {
  /** Ethernet links, not started yet; the bump starts and closes them. */
  readonly a: Link;
  /** The other one. */
  readonly b: Link;
  /** Faults by rule. */
  readonly rules?: readonly WireRule[];
  /** Faults by chance. */
  readonly faults?: WireFaults;
  /** Of everything that chance decides; default 1. */
  readonly seed?: number;
  /**
   * Sends a congestion notification packet back for what is marked here, in the name of the receiver: for receivers
   * that send none, such as rdma_rxe. One for each flow and interval, when connection management or traffic has shown
   * the sender's queue pair. Default: no.
   */
  readonly notify?: boolean | NotifyOptions;
  /** Sees every frame. */
  readonly observer?: BumpObserver;
  /** Frames that may wait in each direction; default 16,384. */
  readonly capacity?: number;
}

/** Stands between two Ethernet links. */
export class Bump {
  /**
   * Resolves when a link has ended, and with it the bump: with undefined after `close`, with the reason otherwise.
   * Never rejects.
   */
  readonly closed: Promise<RoceError | undefined>;
  /** @internal */
  readonly engine: FaultEngine;
  readonly #sides: readonly [Side, Side];
  readonly #notifier: Notifier | undefined;
  readonly #alarm = new Alarm(() => this.#ring());
  readonly #resolveClosed: (error: RoceError | undefined) => void;
  #started = false;
  #ended = false;
  #closing: Promise<void> | undefined;

  /**
   * @throws RoceError ERR_ROCE_ARGUMENT for a link that is not Ethernet, and naming what is wrong with rules, faults
   * and `notify`
   */
  constructor({ a, b, observer, capacity, notify = false, ...options }: BumpOptions) {
    for (const { medium, name } of [a, b]) {
      if (medium !== Medium.Ethernet)
        throw new RoceError('ERR_ROCE_ARGUMENT', `${name} carries no Ethernet frames: a bump needs two links that do`);
    }
    this.engine = new FaultEngine({ ...options, medium: Medium.Ethernet });
    const notifier = notify === false ? undefined : this.#makeNotifier(notify === true ? {} : notify);
    const path = (direction: number, to: Link): FaultPath => {
      const maxFrameBytes = to.mtu + MAX_ETHERNET_BYTES;
      return new FaultPath(this.engine, direction, { maxFrameBytes, capacity, observer, notifier });
    };
    this.#notifier = notifier;
    this.#sides = [new Side(a, path(0, b), b), new Side(b, path(1, a), a)];
    let resolveClosed: (error: RoceError | undefined) => void = () => {};
    this.closed = new Promise((resolve) => {
      resolveClosed = resolve;
    });
    this.#resolveClosed = resolveClosed;
    installBulkCrc32();
  }

  /** What was done so far, by direction. */
  get counters(): Readonly<Record<FaultDirection, Readonly<PathCounters>>> {
    const [a, b] = this.#sides;
    return { 'a-to-b': a.path.counters, 'b-to-a': b.path.counters };
  }

  /** Outcomes of marked packets, by their direction; undefined when `notify` is off. */
  get notifications(): Readonly<Record<FaultDirection, Readonly<NotifierCounters>>> | undefined {
    return this.#notifier?.byDirection;
  }

  /** Bytes that wait for the rate now, by direction; 0 without one. */
  get queueBytes(): Readonly<Record<FaultDirection, number>> {
    const [a, b] = this.#sides;
    const now = monotonicNs();
    return { 'a-to-b': Math.round(a.path.queueBytes(now)), 'b-to-a': Math.round(b.path.queueBytes(now)) };
  }

  /** Compiled rules, with their counts. */
  get rules(): readonly CompiledRule[] {
    return this.engine.rules;
  }

  /** Connections seen so far. */
  get conversations(): readonly TrackedConnection[] {
    return this.engine.conversations.list();
  }

  /**
   * Starts both links, then forwards. @throws RoceError ERR_ROCE_STATE the second time, and what a link rejects with;
   * both are closed then
   */
  async start(): Promise<void> {
    if (this.#started || this.#ended) throw new RoceError('ERR_ROCE_STATE', 'a bump is started once');
    this.#started = true;
    try {
      await Promise.all(this.#sides.map((side) => this.#startSide(side)));
    } catch (error) {
      await this.close();
      throw error;
    }
  }

  /** Delivers waiting frames without their delay, and closes both links. May be called more than once. */
  close(): Promise<void> {
    this.#closing ??= this.#end(undefined);
    return this.#closing;
  }

  #makeNotifier(options: NotifyOptions): Notifier {
    return new Notifier(this.engine.conversations, options, (now, direction, frame, about) => {
      const [a, b] = this.#sides;
      return (direction === 0 ? b : a).path.insert(now, frame, about);
    });
  }

  async #startSide(side: Side): Promise<void> {
    await side.link.start({
      receive: (batch) => this.#forward(side, batch),
      writable: () => this.#writable(side),
      closed: (error) => this.#lost(error),
    });
    side.started = true;
    // What has come in on the other side meanwhile waits for this.
    this.#writable(side);
  }

  #forward(side: Side, batch: FrameBatch): void {
    if (this.#ended) return;
    const now = monotonicNs();
    side.path.enter(now, batch, 0, batch.count);
    this.#flush(side, now);
    this.#flushNotifications(now);
    this.#arm();
  }

  /** @param side the one that takes frames again: those of the other wait for it */
  #writable(side: Side): void {
    if (this.#ended) return;
    const [a, b] = this.#sides;
    this.#flush(side === a ? b : a, monotonicNs());
    this.#arm();
  }

  #ring(): void {
    if (this.#ended) return;
    const now = monotonicNs();
    for (const side of this.#sides) this.#flush(side, now);
    this.#flushNotifications(now);
    this.#arm();
  }

  /** Frames that a flush has marked cause CNPs on the other side. */
  #flushNotifications(now: number): void {
    if (this.#notifier !== undefined) for (const side of this.#sides) this.#flush(side, now);
  }

  #flush(side: Side, now: number, until = now): void {
    const [a, b] = this.#sides;
    const far = side === a ? b : a;
    if (far.started) side.path.flush(now, side.send, until);
  }

  #arm(): void {
    const [a, b] = this.#sides;
    // A side that has not started flushes when it has.
    const deadline = Math.min(
      b.started ? a.path.nextDeadline() : Infinity,
      a.started ? b.path.nextDeadline() : Infinity,
    );
    this.#alarm.set(deadline);
  }

  #lost(error: RoceError | undefined): void {
    if (this.#ended) return;
    const reason = error ?? new RoceError('ERR_ROCE_CLOSED', 'a link of the bump was closed');
    this.#closing ??= this.#end(reason);
  }

  async #end(error: RoceError | undefined): Promise<void> {
    if (error === undefined) for (const side of this.#sides) this.#flush(side, monotonicNs(), Infinity);
    this.#ended = true;
    this.#alarm.set(Infinity);
    await Promise.all(this.#sides.map(({ link }) => link.close()));
    this.#resolveClosed(error);
  }
}

/** One link, and the path of what arrives on it to the other. */
class Side {
  readonly link: Link;
  readonly path: FaultPath;
  readonly send: (batch: FrameBatch, from: number) => number;
  started = false;

  constructor(link: Link, path: FaultPath, to: Link) {
    this.link = link;
    this.path = path;
    this.send = (batch, from) => to.send(batch, from);
  }
}
