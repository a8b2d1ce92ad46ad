/**
 * A link with faults by rule or by chance: drops, duplicates, delays, reorders, corrupts, marks or rewrites what
 * passes. We are end a, so what is sent goes 'a-to-b'.
 *
 * Owns the two paths and one timer. Without rules and faults frames pass untouched and uncopied. Delayed frames count
 * as taken; `close` sends them without waiting.
 */
import type { RoceError } from '../../../packets/errors.ts';
import { MAX_ETHERNET_BYTES } from '../../../packets/ethernet.ts';
import { Medium } from '../../../packets/frame.ts';
import type { FrameBatch } from '../../../packets/frame-writer.ts';
import { FaultEngine } from '../../faults/engine.ts';
import { FaultPath, type PathObserver } from '../../faults/path.ts';
import type { WireFaults, WireRule } from '../../faults/rule.ts';
import type { Link, LinkSink } from '../../ground/link.ts';
import { monotonicNs } from '../clock.ts';
import { Alarm } from './alarm.ts';
import { LinkDecorator } from './decorator.ts';

/** Faults of a link. */
export interface FaultOptions {
  /** By rule. */
  readonly rules?: readonly WireRule[];
  /** By chance; `aToB` is what we send. */
  readonly faults?: WireFaults;
  /** Of everything that chance decides; default 1. */
  readonly seed?: number;
  /**
   * Sees each frame as it enters and as it leaves. With an observer, frames always pass the engine, which is slower.
   */
  readonly observer?: PathObserver;
}

/**
 * Puts faults on a link that has not been started. @throws RoceError ERR_ROCE_ARGUMENT naming the rule and the field
 */
export function withFaults(link: Link, options: FaultOptions): FaultLink {
  return new FaultLink(link, options);
}

/** A link with faults. */
export class FaultLink extends LinkDecorator {
  /** Compiled rules with their counts, connections. @internal */
  readonly engine: FaultEngine;
  /** What is sent. @internal */
  readonly outward: FaultPath;
  /** What arrives. @internal */
  readonly inward: FaultPath;
  readonly #bypass: boolean;
  readonly #alarm = new Alarm(() => this.#ring());
  #sink: LinkSink | undefined;
  /** A `send` was cut short for want of room. */
  #owesWritable = false;
  #ended = false;

  /** @internal */
  constructor(inner: Link, { observer, ...options }: FaultOptions) {
    super(inner);
    this.engine = new FaultEngine({ ...options, medium: inner.medium });
    const maxFrameBytes = inner.mtu + (inner.medium === Medium.Ethernet ? MAX_ETHERNET_BYTES : 0);
    this.outward = new FaultPath(this.engine, 0, { maxFrameBytes, observer });
    this.inward = new FaultPath(this.engine, 1, { maxFrameBytes, observer });
    this.#bypass = this.engine.idle && observer === undefined;
  }

  /** As `Link.icrcOffload`: where frames may be damaged, the device has to find that out. */
  get icrcOffload(): boolean {
    return this.#bypass && this.inner.icrcOffload === true;
  }

  /** As `Link.start`. */
  start(sink: LinkSink): Promise<void> {
    // A second start is refused by the inner link, and must not take the frames of the first.
    this.#sink ??= sink;
    return this.inner.start({
      receive: (batch) => this.#receive(batch),
      writable: () => this.#writable(),
      closed: (error) => this.#closed(error),
    });
  }

  /** As `Link.send`; frames that wait here count as taken. */
  send(batch: FrameBatch, from: number): number {
    if (this.#bypass) return this.inner.send(batch, from);
    if (this.#ended) return batch.count - from;
    const now = monotonicNs();
    let next = from;
    // In pieces: when the inner link takes no more, this link stops too, so at most one piece waits here.
    while (next < batch.count && !this.outward.blocked && this.outward.room > 0) {
      const to = Math.min(batch.count, next + Math.min(PIECE_FRAMES, this.outward.room));
      this.outward.enter(now, batch, next, to);
      this.outward.flush(now, this.#send);
      next = to;
    }
    this.#owesWritable = next < batch.count;
    this.#arm();
    return next - from;
  }

  /** As `Link.close`; delayed frames are sent without waiting. */
  override async close(): Promise<void> {
    if (!this.#ended) this.outward.flush(monotonicNs(), this.#send, Infinity);
    this.#stop();
    await this.inner.close();
  }

  readonly #send = (batch: FrameBatch, from: number): number => this.inner.send(batch, from);

  readonly #deliver = (batch: FrameBatch): number => {
    // The sink may have closed us in the delivery before.
    if (!this.#ended) this.#sink?.receive(batch);
    return batch.count;
  };

  #receive(batch: FrameBatch): void {
    if (this.#bypass) {
      this.#sink?.receive(batch);
      return;
    }
    if (this.#ended) return;
    const now = monotonicNs();
    this.inward.enter(now, batch, 0, batch.count);
    this.inward.flush(now, this.#deliver);
    this.#arm();
  }

  #writable(): void {
    if (this.#bypass) {
      this.#sink?.writable();
      return;
    }
    if (this.#ended) return;
    this.outward.flush(monotonicNs(), this.#send);
    this.#admit();
    this.#arm();
  }

  #ring(): void {
    if (this.#ended) return;
    const now = monotonicNs();
    this.inward.flush(now, this.#deliver);
    this.outward.flush(now, this.#send);
    this.#admit();
    this.#arm();
  }

  #admit(): void {
    if (!this.#owesWritable || this.outward.blocked || this.outward.room === 0) return;
    this.#owesWritable = false;
    this.#sink?.writable();
  }

  #arm(): void {
    if (!this.#ended) this.#alarm.set(Math.min(this.outward.nextDeadline(), this.inward.nextDeadline()));
  }

  #stop(): void {
    this.#ended = true;
    this.#alarm.set(Infinity);
  }

  #closed(error: RoceError | undefined): void {
    this.#stop();
    this.#sink?.closed(error);
  }
}

const PIECE_FRAMES = 64;
