/**
 * Transport events: kept for the report up to a bound, and handed to the detectors.
 *
 * Owns the list and the exact number of events that it left out. Events are handed over after the packet at which they
 * became certain.
 */
import type { EventSink } from './tracker/psn-space-state.ts';
import type { TransportEvent } from './types.ts';

export class EventLog implements EventSink {
  readonly kept: TransportEvent[] = [];
  omitted = 0;
  readonly #most: number;
  readonly #fresh: TransportEvent[] = [];

  constructor(most: number) {
    this.#most = most;
  }

  emit(event: TransportEvent): void {
    this.#fresh.push(event);
    if (this.kept.length < this.#most) this.kept.push(event);
    else this.omitted++;
  }

  /** Whether there are events that were not handed over. */
  get hasFresh(): boolean {
    return this.#fresh.length > 0;
  }

  /** Hands over what came since the last time. */
  drain(take: (event: TransportEvent) => void): void {
    for (const event of this.#fresh) take(event);
    this.#fresh.length = 0;
  }

  /** Replaces each event by what is known of it at the end: one, or two where its packets differ. */
  replace(by: (event: TransportEvent) => readonly TransportEvent[]): void {
    const replaced: TransportEvent[] = [];
    for (const event of this.kept) replaced.push(...by(event));
    this.kept.length = 0;
    for (const event of replaced) this.kept.push(event);
  }
}
