/**
 * What a device does beside its queue pairs: neighbours, group reports, TCP, the connection manager, notifications of
 * congestion. Owns their turns, and the boundary for errors of ours in each: a service that throws leaves the others
 * their turn, and rests. Never looks at what they do.
 */
import type { FrameWriter } from '../../packets/frame-writer.ts';
import type { NotificationPoint } from '../../transport/congestion/notification-point.ts';
import type { Gsi } from './cm/gsi.ts';
import type { CmService } from './cm/service.ts';
import type { GroupReports } from './host/group-reports.ts';
import type { Neighbours } from './host/neighbours.ts';
import type { TcpStack } from './host/tcp/stack.ts';
import type { InternalErrors } from './internal-errors.ts';

/** The parts there may be. */
export interface ServiceParts {
  readonly neighbours: Pick<Neighbours, 'poll' | 'nextDeadline' | 'handleTimeouts'> | undefined;
  readonly reports: Pick<GroupReports, 'poll' | 'nextDeadline'> | undefined;
  readonly tcp: Pick<TcpStack, 'transmit' | 'nextDeadline' | 'handleTimeouts'> | undefined;
  readonly gsi: Pick<Gsi, 'transmit'>;
  readonly cm: Pick<CmService, 'nextDeadline' | 'handleTimeouts'>;
  readonly notification: Pick<NotificationPoint, 'transmit'> | undefined;
}

// Places of the services, in the order of their turns.
const NEIGHBOURS = 0;
const REPORTS = 1;
const TCP = 2;
const MANAGER = 3;
const NOTIFICATION = 4;
const PLACES = 5;

/** After its first error a service rests so long; after the second until the device has new input. */
const REST_NS = 100_000_000;
const AWAKE = Number.NEGATIVE_INFINITY;

/**
 * All services of a device. A rest keeps a deadline that is never dealt with from being called without pause: a fault
 * that stays costs two errors, and one more for each new input.
 *
 * Each frame pays for this: the inner loops have one boundary around them, and the outer ones go on behind a service
 * that has thrown; a switch and not a common interface, so that each call has one target.
 */
export class Services {
  readonly #parts: ServiceParts;
  readonly #errors: InternalErrors;
  /** Of each place, until when it rests. */
  readonly #restUntil = new Float64Array(PLACES).fill(AWAKE);
  /** Of each place, errors since the last input. */
  readonly #failures = new Uint8Array(PLACES);
  /** Whether there was an error since the last input. */
  #failed = false;

  constructor(parts: ServiceParts, errors: InternalErrors) {
    this.#parts = parts;
    this.#errors = errors;
  }

  /** All but the notifications of congestion. True when one of them has more to send. */
  transmit(now: number, writer: FrameWriter): boolean {
    return this.#transmitFrom(NEIGHBOURS, MANAGER, now, writer);
  }

  /** Neighbours alone: queue pairs may make them work in their turns. */
  transmitNeighbours(now: number, writer: FrameWriter): boolean {
    return this.#transmitFrom(NEIGHBOURS, NEIGHBOURS, now, writer);
  }

  /** Notifications alone: their packets are those of the port, as those of queue pairs are. */
  transmitNotifications(now: number, writer: FrameWriter): boolean {
    return this.#transmitFrom(NOTIFICATION, NOTIFICATION, now, writer);
  }

  nextDeadline(): number {
    let next = Infinity;
    for (let place = 0; place < PLACES; place++) {
      try {
        for (; place < PLACES; place++) {
          const restUntil = this.#restUntil[place] as number;
          next = Math.min(next, restUntil === AWAKE ? this.#nextDeadlineOf(place) : restUntil);
        }
      } catch (error) {
        this.#rest(place, Infinity);
        this.#errors.caught('timeout', error);
      }
    }
    return next;
  }

  handleTimeouts(now: number): void {
    for (let place = 0; place < PLACES; place++) {
      try {
        for (; place < PLACES; place++) {
          if (now < (this.#restUntil[place] as number)) continue;
          this.#restUntil[place] = AWAKE;
          this.#handleTimeoutsOf(place, now);
        }
      } catch (error) {
        this.#rest(place, now);
        this.#errors.caught('timeout', error);
      }
    }
  }

  /** The device has new input: a service that rests is tried again. */
  revive(): void {
    if (!this.#failed) return;
    this.#failed = false;
    this.#failures.fill(0);
    this.#restUntil.fill(AWAKE);
  }

  #transmitFrom(first: number, last: number, now: number, writer: FrameWriter): boolean {
    let owe = false;
    for (let place = first; place <= last; place++) {
      try {
        for (; place <= last; place++)
          if (now >= (this.#restUntil[place] as number)) owe = this.#transmitOf(place, now, writer) || owe;
      } catch (error) {
        this.#rest(place, now);
        this.#errors.caught('transmit', error);
      }
    }
    return owe;
  }

  #transmitOf(place: number, now: number, writer: FrameWriter): boolean {
    switch (place) {
      case NEIGHBOURS:
        return this.#parts.neighbours?.poll(now, writer) ?? false;
      case REPORTS:
        return this.#parts.reports?.poll(now, writer) ?? false;
      case TCP:
        return this.#parts.tcp?.transmit(now, writer) ?? false;
      case MANAGER:
        return this.#parts.gsi.transmit(now, writer);
      default:
        return this.#parts.notification?.transmit(now, writer) ?? false;
    }
  }

  /** Notifications have no deadlines. */
  #nextDeadlineOf(place: number): number {
    switch (place) {
      case NEIGHBOURS:
        return this.#parts.neighbours?.nextDeadline() ?? Infinity;
      case REPORTS:
        return this.#parts.reports?.nextDeadline() ?? Infinity;
      case TCP:
        return this.#parts.tcp?.nextDeadline() ?? Infinity;
      case MANAGER:
        return this.#parts.cm.nextDeadline();
      default:
        return Infinity;
    }
  }

  /** Reports do what is due with their next `transmit`. */
  #handleTimeoutsOf(place: number, now: number): void {
    if (place === NEIGHBOURS) this.#parts.neighbours?.handleTimeouts(now);
    else if (place === TCP) this.#parts.tcp?.handleTimeouts(now);
    else if (place === MANAGER) this.#parts.cm.handleTimeouts(now);
  }

  #rest(place: number, now: number): void {
    this.#failed = true;
    this.#failures[place] = (this.#failures[place] as number) + 1;
    this.#restUntil[place] = (this.#failures[place] as number) > 1 ? Infinity : now + REST_NS;
  }
}
