/**
 * The lifecycle of a link, the same for every kind: idle, starting, open, closed; no state comes twice.
 *
 * Owns the sink and the state. A link is started once; a close waits for a start under way; `writable` comes once after
 * each `send` that was cut short; the end is reported once, and never for a link whose start failed; nothing is
 * reported after it. Each kind supplies a `LinkPort`, and how it is opened.
 */
import { InvariantError, RoceError } from '../../../packets/errors.ts';
import type { Medium } from '../../../packets/frame.ts';
import type { FrameBatch } from '../../../packets/frame-writer.ts';
import type { Link, LinkPoller, LinkSink } from '../../ground/link.ts';

/** An open wire, as a kind of link supplies it. None of its methods throws or rejects. */
export interface LinkPort {
  /** As `Link.send`, only while the link is open. After a short one `LinkEvents.writable` has to follow. */
  send(batch: FrameBatch, from: number): number;
  /** As `Link.poller`; used only while the link is open. */
  readonly poller?: LinkPoller;
  /**
   * Frees everything; called once, possibly from inside `LinkEvents.receive`. Frames taken by `send` are still
   * delivered where the medium can.
   */
  close(): Promise<void> | void;
}

/**
 * What a port reports to its link, from the moment it is being opened. Before the start and after the end it has no
 * effect.
 */
export interface LinkEvents {
  /** The link is open, a `send` was cut short, and `writable` has not been called since. */
  readonly blocked: boolean;
  /** Frames that arrived; the batch belongs to the port again when the call returns. */
  receive(batch: FrameBatch): void;
  /** There is room again. Ignored unless `blocked`. */
  writable(): void;
  /** The link has failed; calls `close` of the port. During a start, the start is rejected. */
  ended(error: RoceError): void;
}

/**
 * Says to a start that the link was closed meanwhile. An AbortSignal is one; its own type would take the types of Node
 * or the DOM along.
 */
export interface Abandonment {
  throwIfAborted(): void;
  addEventListener(type: 'abort', listener: () => void): void;
}

/** A link made of a port. */
export abstract class LifecycleLink<P extends LinkPort = LinkPort> implements Link {
  /** As `Link.name`. */
  abstract readonly name: string;
  /** As `Link.medium`. */
  abstract readonly medium: Medium;
  /** As `Link.mtu`. */
  abstract readonly mtu: number;
  #state: 'idle' | 'starting' | 'open' | 'closed' = 'idle';
  readonly #events = new Events((error) => this.#fail(error));
  /** Ends a start that is under way, and nothing else. */
  readonly #abandon = new AbortController();
  #port: P | undefined;
  #starting: Promise<void> | undefined;
  #closing: Promise<void> | undefined;

  /**
   * Opens the wire, or frees all it had of it and rejects; what is no `RoceError` becomes ERR_ROCE_LINK_UNAVAILABLE.
   *
   * @param abandoned aborted when the link is closed meanwhile, not later: a port that comes all the same is closed at
   * once
   */
  protected abstract open(events: LinkEvents, abandoned: Abandonment): Promise<P>;

  /** The port from the end of the start on, after the end of the link as well. */
  protected get port(): P | undefined {
    return this.#port;
  }

  /**
   * Resolves when frames can be sent. @throws RoceError ERR_ROCE_LINK_UNAVAILABLE, ERR_ROCE_STATE, ERR_ROCE_CLOSED when
   * closed meanwhile
   */
  async start(sink: LinkSink): Promise<void> {
    if (this.#state !== 'idle') throw new RoceError('ERR_ROCE_STATE', `${this.name} is started once`);
    this.#state = 'starting';
    this.#events.sink = sink;
    this.#starting = this.#begin();
    await this.#starting;
  }

  /** As `Link.send`. Before the start and after the end, frames sent are lost. */
  send(batch: FrameBatch, from: number): number {
    const port = this.#port;
    if (port === undefined || this.#state !== 'open') return batch.count - from;
    const taken = port.send(batch, from);
    if (taken < batch.count - from) this.#events.blocked = true;
    return taken;
  }

  /** As `Link.poller`; absent before the start, and where the wire cannot be polled. */
  get poller(): LinkPoller | undefined {
    return this.#state === 'open' ? this.#port?.poller : undefined;
  }

  /** As `Link.close`; every call resolves when the link has ended. */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #begin(): Promise<void> {
    const { signal } = this.#abandon;
    let port: P | undefined;
    try {
      port = await this.open(this.#events, signal);
      signal.throwIfAborted();
    } catch (cause) {
      this.#state = 'closed';
      this.#events.sink = undefined;
      await port?.close();
      // The reason for closing explains more than the error that followed.
      signal.throwIfAborted();
      throw startError(this.name, cause);
    }
    this.#port = port;
    this.#state = 'open';
  }

  async #close(): Promise<void> {
    const state = this.#state;
    const sink = this.#end();
    if (state === 'open') {
      await this.#port?.close();
      sink?.closed();
      return;
    }
    if (state === 'starting')
      this.#abandon.abort(new RoceError('ERR_ROCE_CLOSED', `${this.name} was closed before it had started`));
    await this.#starting?.catch(() => undefined);
  }

  #fail(error: RoceError): void {
    if (this.#state === 'starting')
      this.#abandon.abort(new RoceError('ERR_ROCE_LINK_UNAVAILABLE', error.message, { cause: error }));
    if (this.#state !== 'open') return;
    const sink = this.#end();
    this.#closing = Promise.resolve(this.#port?.close());
    sink?.closed(error);
  }

  /** After this, only the caller reports to the sink. */
  #end(): LinkSink | undefined {
    const { sink } = this.#events;
    this.#state = 'closed';
    this.#events.sink = undefined;
    this.#events.blocked = false;
    return sink;
  }
}

/** The events of a port, passed to the sink while the link is open. */
class Events implements LinkEvents {
  blocked = false;
  sink: LinkSink | undefined;
  readonly #fail: (error: RoceError) => void;

  constructor(fail: (error: RoceError) => void) {
    this.#fail = fail;
  }

  receive(batch: FrameBatch): void {
    this.sink?.receive(batch);
  }

  writable(): void {
    if (!this.blocked) return;
    this.blocked = false;
    this.sink?.writable();
  }

  ended(error: RoceError): void {
    this.#fail(error);
  }
}

function startError(name: string, cause: unknown): Error {
  if (cause instanceof RoceError || cause instanceof InvariantError) return cause;
  const reason = cause instanceof Error ? cause.message : String(cause);
  return new RoceError('ERR_ROCE_LINK_UNAVAILABLE', `${name}: ${reason}`, { cause });
}
