/**
 * Which counters of a device are causes of suspicion: compared after each frame and each turn of a queue pair, so that
 * what counts needs to know nothing of it. Owns the list; adds up a few numbers where nothing has changed.
 */
import type { Frame } from '../../packets/frame.ts';
import type { PortCounters } from '../../transport/counters.ts';
import type { DeviceCounters } from './counters.ts';
import type { SuspicionCause, Suspicions } from './suspicions.ts';
import type { Qp } from './verbs/index.ts';

/** Causes that counters of frames tell. */
export const SUSPICIOUS_DEVICE_COUNTERS: readonly (readonly [keyof DeviceCounters, SuspicionCause])[] = [
  ['badIcrc', 'bad-icrc'],
  ['badQpn', 'bad-qpn'],
  ['badSource', 'bad-source'],
];

/** Causes that counters of queue pairs tell. */
export const SUSPICIOUS_PORT_COUNTERS: readonly (readonly [keyof PortCounters, SuspicionCause])[] = [
  ['psnOutsideWindow', 'psn-outside-window'],
  ['psnAlarm', 'psn-alarm'],
  ['responseOutsideWindow', 'response-outside-window'],
  ['earlyNak', 'early-nak'],
  ['readResponseCut', 'read-response-cut'],
  ['rpCnpExcess', 'cnp-excess'],
  ['badAddress', 'bad-address'],
  ['badSourcePort', 'bad-source-port'],
  ['qkeyViolation', 'bad-qkey'],
  ['accessRefused', 'access-refused'],
  ['refusedRequest', 'access-refused'],
];

export class SuspiciousCounters {
  readonly #device: DeviceCounters;
  readonly #port: PortCounters;
  readonly #suspicions: Suspicions;
  /** The counters when they were looked at last, those of the device first. */
  readonly #seen = new Float64Array(SUSPICIOUS_DEVICE_COUNTERS.length + SUSPICIOUS_PORT_COUNTERS.length);
  #seenSum = 0;

  constructor(device: DeviceCounters, port: PortCounters, suspicions: Suspicions) {
    this.#device = device;
    this.#port = port;
    this.#suspicions = suspicions;
  }

  /** A frame was taken: what is counted anew is of its source. */
  afterFrame(now: number, frame: Frame): void {
    if (this.#sum() !== this.#seenSum) this.#tell(now, frame, undefined);
  }

  /** A queue pair has sent: what is counted anew is of its peer. */
  afterTurn(now: number, qp: Qp): void {
    if (this.#sum() !== this.#seenSum) this.#tell(now, undefined, qp);
  }

  /** Counters only count up, so that their sum changes with any of them. All of both lists. */
  #sum(): number {
    const device = this.#device;
    const port = this.#port;
    return (
      device.badIcrc +
      device.badQpn +
      device.badSource +
      port.psnOutsideWindow +
      port.psnAlarm +
      port.responseOutsideWindow +
      port.earlyNak +
      port.readResponseCut +
      port.rpCnpExcess +
      port.badAddress +
      port.badSourcePort +
      port.qkeyViolation +
      port.accessRefused +
      port.refusedRequest
    );
  }

  #tell(now: number, frame: Frame | undefined, qp: Qp | undefined): void {
    this.#seenSum = this.#sum();
    const devices = SUSPICIOUS_DEVICE_COUNTERS.length;
    for (let i = 0; i < this.#seen.length; i++) {
      const [name, cause] = (SUSPICIOUS_DEVICE_COUNTERS[i] ?? SUSPICIOUS_PORT_COUNTERS[i - devices]) as WatchedCounter;
      const value = i < devices ? this.#device[name as keyof DeviceCounters] : this.#port[name as keyof PortCounters];
      const times = value - (this.#seen[i] as number);
      if (times === 0) continue;
      this.#seen[i] = value;
      if (frame !== undefined) this.#suspicions.byFrame(now, cause, times, frame, frame.destQpn);
      else if (qp !== undefined)
        this.#suspicions.byAddress(now, cause, times, qp.core.config.path?.remote, undefined, qp.qpn);
    }
  }
}

type WatchedCounter = readonly [keyof DeviceCounters | keyof PortCounters, SuspicionCause];
