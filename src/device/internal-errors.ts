/**
 * Errors of our own that a frame, a turn or a timer brought out: counts each, reports each place once with the frame,
 * and takes the queue pair it happened in out of service. Owns the bounds on what is kept. What a callback of the
 * application throws is not ours: it is thrown again, as it always was (callbacks.ts).
 */
import { defined } from '../../packets/defined.ts';
import { FrameWriter } from '../../packets/frame-writer.ts';
import type { Machine } from '../ground/machine.ts';
import { isOfCallback } from './callbacks.ts';
import type { DeviceCounters } from './counters.ts';
import type { InternalErrorEvent } from './internal-error-event.ts';
import type { Qp } from './verbs/index.ts';

/** Places that are reported, each with one frame of the link's size at most; errors of further places only count. */
export const MAX_REPORTED_PLACES = 16;

/**
 * Hands the frame of an 'internal-error' event to a machine as if it had just arrived. The error comes again where the
 * device is in the state it was in: in the simulated world, one made with the same seed and driven by the same calls.
 */
export function replayFrame(machine: Machine, frame: Uint8Array): void {
  const batch = new FrameWriter(1, frame.length);
  batch.appendRaw(frame, 0, frame.length);
  machine.receive(batch);
}

/** A device whose services are about to be called. */
interface Disturbed {
  disturb(): void;
}

export class InternalErrors {
  readonly #counters: DeviceCounters;
  readonly #report: (event: InternalErrorEvent) => void;
  readonly #changed: (qp: Qp) => void;
  readonly #places = new Set<string>();

  /** @param changed called for a queue pair that is in ERROR now, and may have events */
  constructor(counters: DeviceCounters, report: (event: InternalErrorEvent) => void, changed: (qp: Qp) => void) {
    this.#counters = counters;
    this.#changed = changed;
    this.#report = report;
  }

  /**
   * Counts the error, and reports it when it is the first of its place. The queue pair it happened in, if any, goes to
   * ERROR with its flush and is `broken`. Throws nothing but what a callback of the application has thrown.
   */
  caught(during: InternalErrorEvent['during'], error: unknown, qp?: Qp, frame?: Uint8Array): void {
    this.#note({ kind: 'internal-error', during, error, ...defined({ qpn: qp?.qpn, frame }) });
    if (qp === undefined || qp.core.broken) return;
    qp.core.broken = true;
    try {
      qp.core.fail();
      this.#changed(qp);
    } catch (second) {
      // Its queues are in no state to be flushed.
      this.#discard(qp);
      this.#note({ kind: 'internal-error', during, error: second, qpn: qp.qpn });
    }
  }

  /** Does what a service has to do in the turn or timer of a queue pair: its error is none of the queue pair. */
  apart<D extends Disturbed, T>(
    during: InternalErrorEvent['during'],
    service: (device: D, of: T) => void,
    device: D,
    of: T,
  ): void {
    try {
      device.disturb();
      service(device, of);
    } catch (error) {
      this.caught(during, error);
    }
  }

  #discard(qp: Qp): void {
    try {
      qp.core.retire();
    } catch {
      // What could be counted and reported of this queue pair was; it is not called any more.
    }
    qp.events.push('qp-fatal');
  }

  #note(event: InternalErrorEvent): void {
    if (isOfCallback(event.error)) throw event.error;
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
