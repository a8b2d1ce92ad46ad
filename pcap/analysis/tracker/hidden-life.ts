/**
 * A life of queue pairs that is followed beside the one there is, until it is known which of them is right.
 *
 * Owns what must be taken back if the new one is: events that were not handed over yet, and the figures of both ends as
 * they were before. `lives.ts` decides.
 */
import type { TransportEvent } from '../types.ts';
import type { Conversation, EndSnapshot } from './conversation.ts';

export class HiddenLife {
  /** The life there is. */
  readonly old: Conversation;
  /** The one that may follow; it has no number yet. */
  readonly conversation: Conversation;
  /** Of the first request. */
  readonly sender: 0 | 1;
  readonly firstPsn: number;
  /** The first request is far ahead of what was expected; otherwise it repeats what was acknowledged. */
  readonly ahead: boolean;
  requests = 0;
  readonly #events: TransportEvent[] = [];
  readonly #newEvents: TransportEvent[] = [];
  readonly #before: readonly [EndSnapshot, EndSnapshot];
  readonly #lastFrame: number;
  readonly #endNs: number;

  constructor(old: Conversation, conversation: Conversation, sender: 0 | 1, firstPsn: number, ahead: boolean) {
    this.old = old;
    this.conversation = conversation;
    this.sender = sender;
    this.firstPsn = firstPsn;
    this.ahead = ahead;
    this.#before = [old.ends[0].snapshot(), old.ends[1].snapshot()];
    this.#lastFrame = old.lastFrame;
    this.#endNs = old.endNs;
    conversation.held = this.#newEvents;
    old.held = this.#events;
  }

  /** The life there is goes on: its events are true. */
  confirmOld(emit: (event: TransportEvent) => void): void {
    this.old.held = undefined;
    for (const event of this.#events) emit(event);
  }

  /** The life there is has ended before. */
  takeBack(): void {
    const { old } = this;
    old.held = undefined;
    old.lastFrame = this.#lastFrame;
    old.endNs = this.#endNs;
    for (const side of [0, 1] as const) old.end(side).restore(this.#before[side]);
  }

  /** Hands over the events of the new life, with its number. */
  tellNew(emit: (event: TransportEvent) => void): void {
    this.conversation.held = undefined;
    for (const event of this.#newEvents) emit({ ...event, conversation: this.conversation.id });
  }
}
