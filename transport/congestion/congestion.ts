/**
 * Congestion control of one device: its notification point, and the pacers of its queue pairs. Checks its options once,
 * for all of them.
 */
import { RoceError } from '../../packets/errors.ts';
import { Ecn, trafficClassOf } from '../../packets/traffic-class.ts';
import type { PortCounters } from '../counters.ts';
import type { QpCongestion } from '../qp-identity.ts';
import { type CongestionOptions, type ControllerSpec, notificationParameters } from './congestion-options.ts';
import { makeController } from './make-controller.ts';
import { NotificationPoint } from './notification-point.ts';
import { Pacer } from './pacer.ts';

/**
 * Traffic class of packets of a device with congestion control: DSCP 26, as NICs are set up for RoCE, and ECT(0)
 * (ref:dcqcn#2, ref:dcqcn#7).
 */
export const CONGESTION_TRAFFIC_CLASS = trafficClassOf(26, Ecn.Ect0);

const DEFAULT_LINE_RATE_BPS = 10e9;
const DEFAULT_MAX_BURST_BYTES = 0x1_00_00;

/**
 * What the queue pairs of one device meet congestion with.
 *
 * @example
 * ```ts
 * import { Congestion, PortCounters } from 'rocev2/transport';
 *
 * const reaction = { kind: 'dcqcn', profile: 'paper' } as const;
 * const congestion = new Congestion({ reaction, lineRateBps: 100e9 }, new PortCounters());
 * // A connection has one, and no limit until a notification halves its rate.
 * const controller = congestion.newPacer()?.controller;
 * console.log(controller?.rateBps(0)); // Infinity
 * controller?.notified(1_000);
 * console.log(controller?.rateBps(1_000)); // 50000000000
 * ```
 */
export class Congestion implements QpCongestion {
  /** Takes note of marked packets. */
  readonly notification: NotificationPoint | undefined;
  readonly #reaction: ControllerSpec;
  readonly #lineRateBps: number;
  readonly #maxBurstBytes: number;

  /** @throws RoceError ERR_ROCE_ARGUMENT naming what is out of range */
  constructor(options: CongestionOptions, counters: PortCounters) {
    const { reaction = { kind: 'none' }, notification = {} } = options;
    this.#reaction = reaction;
    this.#lineRateBps = positive('lineRateBps', options.lineRateBps ?? DEFAULT_LINE_RATE_BPS);
    this.#maxBurstBytes = options.maxBurstBytes ?? DEFAULT_MAX_BURST_BYTES;
    if (!(this.#maxBurstBytes >= 0 && this.#maxBurstBytes < Infinity))
      throw new RoceError('ERR_ROCE_ARGUMENT', `maxBurstBytes is 0 or more, not ${this.#maxBurstBytes}`);
    makeController(reaction, this.#lineRateBps);
    if (notification !== false)
      this.notification = new NotificationPoint(notificationParameters(notification), counters);
  }

  newPacer(): Pacer | undefined {
    const controller = makeController(this.#reaction, this.#lineRateBps);
    return controller === undefined ? undefined : new Pacer(controller, this.#maxBurstBytes);
  }
}

function positive(name: string, value: number): number {
  if (value > 0 && value < Infinity) return value;
  throw new RoceError('ERR_ROCE_ARGUMENT', `${name} is more than 0, not ${value}`);
}
