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
  readonly notification: Pick<NotificationPoint, 'transmit' | 'pending'> | undefined;
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
/** In place of a time until which services are quiet: they have to be asked. */
const ASK = Number.NEGATIVE_INFINITY;

/** Of each place. */
class Rests {
  /** When its rest ends; `AWAKE` for one that does not rest. */
  readonly until = new Float64Array(PLACES).fill(AWAKE);
  /** Errors since the last input. */
  readonly #failures = new Uint8Array(PLACES);

  begin(place: number, now: number): void {
    this.#failures[place] = (this.#failures[place] as number) + 1;
    this.until[place] = (this.#failures[place] as number) > 1 ? Infinity : now + REST_NS;
  }

  /** Ends those that are over, of whatever service: a rest is a deadline, and this deals with it. */
  end(now: number): void {
    for (let place = 0; place < PLACES; place++) if (now >= (this.until[place] as number)) this.until[place] = AWAKE;
  }

  /** When the first rest ends; Infinity when none does. */
  nextDeadline(): number {
    let next = Infinity;
    for (const until of this.until) if (until !== AWAKE) next = Math.min(next, until);
    return next;
  }
}

/**
 * All services of a device. A rest keeps a deadline that is never dealt with from being called without pause: a fault
 * that stays costs two errors, and one more for each new input.
 *
 * Each frame pays for this: a turn is straight code within one boundary. Where a service throws, `place` says which,
 * and another turn begins behind it. And services that owe nothing are quiet, and are not asked again, until their
 * deadline or until somebody calls `disturb`: whatever may give one of them work does.
 */
export class Services {
  readonly #parts: ServiceParts;
  readonly #errors: InternalErrors;
  /** Present when there was an error since the last input. */
  #rests: Rests | undefined;
  /** Until then no service has anything to do; `ASK` when that is not known. */
  #quietUntil = ASK;
  /** Since the last turn began. */
  #disturbed = true;
  #owes = true;

  constructor(parts: ServiceParts, errors: InternalErrors) {
    this.#parts = parts;
    this.#errors = errors;
  }

  /** All but the notifications of congestion. True when one of them has more to send. */
  transmit(now: number, writer: FrameWriter): boolean {
    if (this.isQuiet(now)) return false;
    this.#disturbed = false;
    this.#owes = this.#transmitFrom(NEIGHBOURS, now, writer);
    return this.#owes;
  }

  /** Neighbours alone, at the end of the turn: other services and queue pairs may make them work in theirs. */
  transmitNeighbours(now: number, writer: FrameWriter): boolean {
    if (this.isQuiet(now)) return false;
    const owes = this.#pollNeighbours(now, writer);
    if (owes || this.#owes || this.#disturbed) return owes;
    const deadline = this.#nextDeadlineFrom(NEIGHBOURS);
    if (this.#rests === undefined) this.#quietUntil = deadline;
    return false;
  }

  /** Whether no service but notifications has anything to do now, as far as is known. */
  isQuiet(now: number): boolean {
    return now < this.#quietUntil;
  }

  /** The same, notifications included. */
  isIdle(now: number): boolean {
    return this.isQuiet(now) && this.#parts.notification?.pending !== true;
  }

  /** Something happened that may give a service work. */
  disturb(): void {
    this.#quietUntil = ASK;
    this.#disturbed = true;
  }

  /** Notifications alone: their packets are those of the port, as those of queue pairs are. */
  transmitNotifications(now: number, writer: FrameWriter): boolean {
    const { notification } = this.#parts;
    if (notification === undefined || this.#isResting(NOTIFICATION, now)) return false;
    try {
      return notification.transmit(now, writer);
    } catch (error) {
      this.#caught('transmit', NOTIFICATION, now, error);
      return false;
    }
  }

  /** Notifications have no deadlines; a service that rests is due when its rest ends. */
  nextDeadline(): number {
    return this.#quietUntil === ASK ? this.#nextDeadlineFrom(NEIGHBOURS) : this.#quietUntil;
  }

  handleTimeouts(now: number): void {
    if (this.isQuiet(now)) return;
    this.disturb();
    this.#rests?.end(now);
    this.#handleTimeoutsFrom(NEIGHBOURS, now);
  }

  /** The device has new input: a service that rests is tried again. */
  revive(): void {
    if (this.#rests === undefined) return;
    this.#rests = undefined;
    this.disturb();
  }

  #pollNeighbours(now: number, writer: FrameWriter): boolean {
    const { neighbours } = this.#parts;
    if (neighbours === undefined || this.#isResting(NEIGHBOURS, now)) return false;
    try {
      return neighbours.poll(now, writer);
    } catch (error) {
      this.#caught('transmit', NEIGHBOURS, now, error);
      return false;
    }
  }

  #transmitFrom(first: number, now: number, writer: FrameWriter): boolean {
    const { neighbours, reports, tcp, gsi } = this.#parts;
    let owe = false;
    let place = first;
    try {
      if (place === NEIGHBOURS) {
        if (neighbours !== undefined && !this.#isResting(NEIGHBOURS, now)) owe = neighbours.poll(now, writer);
        place = REPORTS;
      }
      if (place === REPORTS) {
        if (reports !== undefined && !this.#isResting(REPORTS, now)) owe = reports.poll(now, writer) || owe;
        place = TCP;
      }
      if (place === TCP) {
        if (tcp !== undefined && !this.#isResting(TCP, now)) owe = tcp.transmit(now, writer) || owe;
        place = MANAGER;
      }
      if (place === MANAGER && !this.#isResting(MANAGER, now)) owe = gsi.transmit(now, writer) || owe;
    } catch (error) {
      this.#caught('transmit', place, now, error);
      return this.#transmitFrom(place + 1, now, writer) || owe;
    }
    return owe;
  }

  #nextDeadlineFrom(first: number): number {
    const { neighbours, reports, tcp, cm } = this.#parts;
    let next = Infinity;
    let place = first;
    try {
      if (place === NEIGHBOURS) {
        if (neighbours !== undefined && this.#isAwake(NEIGHBOURS)) next = Math.min(next, neighbours.nextDeadline());
        place = REPORTS;
      }
      if (place === REPORTS) {
        if (reports !== undefined && this.#isAwake(REPORTS)) next = Math.min(next, reports.nextDeadline());
        place = TCP;
      }
      if (place === TCP) {
        if (tcp !== undefined && this.#isAwake(TCP)) next = Math.min(next, tcp.nextDeadline());
        place = MANAGER;
      }
      if (place === MANAGER && this.#isAwake(MANAGER)) next = Math.min(next, cm.nextDeadline());
    } catch (error) {
      this.#caught('timeout', place, Infinity, error);
      return Math.min(next, this.#nextDeadlineFrom(place + 1));
    }
    return this.#rests === undefined ? next : Math.min(next, this.#rests.nextDeadline());
  }

  /** Reports do what is due with their next `transmit`. */
  #handleTimeoutsFrom(first: number, now: number): void {
    const { neighbours, tcp, cm } = this.#parts;
    let place = first;
    try {
      if (place === NEIGHBOURS) {
        if (neighbours !== undefined && this.#isAwake(NEIGHBOURS)) neighbours.handleTimeouts(now);
        place = TCP;
      }
      if (place <= TCP) {
        if (tcp !== undefined && this.#isAwake(TCP)) tcp.handleTimeouts(now);
        place = MANAGER;
      }
      if (place === MANAGER && this.#isAwake(MANAGER)) cm.handleTimeouts(now);
    } catch (error) {
      this.#caught('timeout', place, now, error);
      this.#handleTimeoutsFrom(place + 1, now);
    }
  }

  #isResting(place: number, now: number): boolean {
    return this.#rests !== undefined && now < (this.#rests.until[place] as number);
  }

  #isAwake(place: number): boolean {
    return this.#rests === undefined || this.#rests.until[place] === AWAKE;
  }

  #caught(during: 'transmit' | 'timeout', place: number, now: number, error: unknown): void {
    this.disturb();
    this.#rests ??= new Rests();
    this.#rests.begin(place, now);
    this.#errors.caught(during, error);
  }
}
