/**
 * Errors of our own that a frame or a timer brought out: counts each, and reports each place once with the frame, so
 * that it can be replayed. Owns the bound on what is kept; the caller decides what the error takes down.
 *
 * To replay one: hand `frame` to `receive` of a device in the same state, or write it to a capture with `rocev2/pcap`.
 */
import { defined } from '../../packets/defined.ts';
import type { DeviceCounters } from './counters.ts';
import type { Qp } from './verbs/index.ts';

/** An error of the stack itself: please report it, with the frame. */
export interface InternalErrorEvent {
  readonly type: 'internal-error';
  /** What was done: a frame was received, packets were written, a timer expired, or results were delivered. */
  readonly during: 'receive' | 'transmit' | 'timeout' | 'settle';
  /** What was thrown. */
  readonly error: unknown;
  /** The queue pair that is in ERROR because of it; absent where it concerned none. */
  readonly qpn?: number;
  /** A copy of the received frame, from its link header on; absent where there was none. */
  readonly frame?: Uint8Array;
}

/** Places that are reported; errors of further places are only counted. With the largest frames, 300 KiB. */
export const MAX_REPORTED_PLACES = 32;

export class InternalErrors {
  readonly #counters: DeviceCounters;
  readonly #report: (event: InternalErrorEvent) => void;
  readonly #changed: (qp: Qp) => void;
  readonly #places = new Set<string>();

  constructor(counters: DeviceCounters, report: (event: InternalErrorEvent) => void, changed: (qp: Qp) => void) {
    this.#counters = counters;
    this.#changed = changed;
    this.#report = report;
  }

  /** Notes the error and moves the queue pair it happened in, if any, to ERROR with its flush. Never throws. */
  broke(during: InternalErrorEvent['during'], error: unknown, qp?: Qp, frame?: Uint8Array): void {
    this.note({ type: 'internal-error', during, error, ...defined({ qpn: qp?.qpn, frame }) });
    if (qp === undefined) return;
    try {
      qp.core.fail();
      this.#changed(qp);
    } catch (second) {
      this.note({ type: 'internal-error', during, error: second, qpn: qp.qpn });
      // Its queues are in no state to be flushed.
      qp.core.retire();
    }
  }

  /** Counts the error, and reports it when it is the first of its place. */
  note(event: InternalErrorEvent): void {
    this.#counters.internalErrors += 1;
    const place = placeOf(event);
    if (this.#places.size >= MAX_REPORTED_PLACES || this.#places.has(place)) return;
    this.#places.add(place);
    this.#report(event.frame === undefined ? event : { ...event, frame: event.frame.slice() });
  }
}

/** Where an error was thrown: its stack without the message, which may contain numbers of the peer's choice. */
function placeOf({ error, during }: InternalErrorEvent): string {
  if (!(error instanceof Error)) return during;
  const calls = error.stack?.split('\n').filter((line) => /^\s+at /.test(line)) ?? [];
  return `${during} ${error.name} ${calls.slice(0, 3).join()}`;
}
