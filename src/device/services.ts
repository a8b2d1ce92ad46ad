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

/** A part of the device with a turn and deadlines, as `Machine` has them. */
export interface Service {
  transmit(now: number, writer: FrameWriter): boolean;
  nextDeadline(): number;
  handleTimeouts(now: number): void;
}

/** The parts there may be. */
export interface ServiceParts {
  readonly neighbours: Neighbours | undefined;
  readonly reports: GroupReports | undefined;
  readonly tcp: TcpStack | undefined;
  readonly gsi: Gsi;
  readonly cm: CmService;
  readonly notification: NotificationPoint | undefined;
}

/** Has no deadlines, or does what is due with its next `transmit`. */
const untimed = { nextDeadline: () => Infinity, handleTimeouts: () => {} };

/** After its first error a service rests so long; after the second until the device has new input. */
const REST_NS = 100_000_000;
const AWAKE = Number.NEGATIVE_INFINITY;

/**
 * One service behind its boundary. A rest keeps a deadline that is never dealt with from being called without pause:
 * a fault that stays costs two errors, and one more for each new input.
 */
export class GuardedService implements Service {
  readonly #service: Service;
  readonly #errors: InternalErrors;
  #failures = 0;
  #restUntil = AWAKE;

  constructor(service: Service, errors: InternalErrors) {
    this.#service = service;
    this.#errors = errors;
  }

  transmit(now: number, writer: FrameWriter): boolean {
    if (now < this.#restUntil) return false;
    try {
      return this.#service.transmit(now, writer);
    } catch (error) {
      this.#rest(now);
      this.#errors.caught('transmit', error);
      return false;
    }
  }

  nextDeadline(): number {
    if (this.#restUntil !== AWAKE) return this.#restUntil;
    try {
      return this.#service.nextDeadline();
    } catch (error) {
      this.#rest(Infinity);
      this.#errors.caught('timeout', error);
      return Infinity;
    }
  }

  handleTimeouts(now: number): void {
    if (now < this.#restUntil) return;
    this.#restUntil = AWAKE;
    try {
      this.#service.handleTimeouts(now);
    } catch (error) {
      this.#rest(now);
      this.#errors.caught('timeout', error);
    }
  }

  /** The device has new input. */
  revive(): void {
    this.#failures = 0;
    this.#restUntil = AWAKE;
  }

  #rest(now: number): void {
    this.#failures += 1;
    this.#restUntil = this.#failures > 1 ? Infinity : now + REST_NS;
  }
}

/** All services of a device. */
export class Services implements Service {
  /** Queue pairs may make it work in their turns. */
  readonly neighbours: GuardedService | undefined;
  /** Its packets are those of the port, as those of queue pairs are. */
  readonly notification: GuardedService | undefined;
  readonly #services: readonly GuardedService[];
  readonly #all: readonly GuardedService[];

  constructor({ neighbours, reports, tcp, gsi, cm, notification }: ServiceParts, errors: InternalErrors) {
    const guarded = (service: Service): GuardedService => new GuardedService(service, errors);
    if (neighbours !== undefined) {
      this.neighbours = guarded({
        transmit: (now, writer) => neighbours.poll(now, writer),
        nextDeadline: () => neighbours.nextDeadline(),
        handleTimeouts: (now) => neighbours.handleTimeouts(now),
      });
    }
    if (notification !== undefined)
      this.notification = guarded({ ...untimed, transmit: (now, writer) => notification.transmit(now, writer) });
    const services = this.neighbours === undefined ? [] : [this.neighbours];
    if (reports !== undefined) {
      const nextDeadline = (): number => reports.nextDeadline();
      services.push(guarded({ ...untimed, nextDeadline, transmit: (now, writer) => reports.poll(now, writer) }));
    }
    if (tcp !== undefined) services.push(guarded(tcp));
    services.push(
      guarded({
        transmit: (now, writer) => gsi.transmit(now, writer),
        nextDeadline: () => cm.nextDeadline(),
        handleTimeouts: (now) => cm.handleTimeouts(now),
      }),
    );
    this.#services = services;
    this.#all = this.notification === undefined ? services : [...services, this.notification];
  }

  /** All but the notifications of congestion. */

  transmit(now: number, writer: FrameWriter): boolean {
    let owe = false;
    for (let i = 0; i < this.#services.length; i++)
      owe = (this.#services[i] as GuardedService).transmit(now, writer) || owe;
    return owe;
  }

  nextDeadline(): number {
    let next = Infinity;
    for (let i = 0; i < this.#all.length; i++) next = Math.min(next, (this.#all[i] as GuardedService).nextDeadline());
    return next;
  }

  handleTimeouts(now: number): void {
    for (let i = 0; i < this.#all.length; i++) (this.#all[i] as GuardedService).handleTimeouts(now);
  }

  /** The device has new input: a service that rests is tried again. */
  revive(): void {
    for (let i = 0; i < this.#all.length; i++) (this.#all[i] as GuardedService).revive();
  }
}
