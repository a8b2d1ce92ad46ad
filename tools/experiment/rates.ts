/**
 * Watches congestion control while a case runs: the allowed rates of the queue pairs of each host, what was marked and
 * notified, and the queues of the wires. Owns the samples: one is kept when something has changed. Samples are taken
 * whenever a frame comes in on a wire, before it goes on, and every few milliseconds: the state before a notification
 * and that after it are both sampled.
 */
import type { RateState } from 'rocev2/transport';
import { FAULT_DIRECTIONS } from '../bump/rules-file.ts';
import type { RunningBump } from '../bump/run.ts';
import type { ExperimentHost } from './host.ts';

/** How fast one queue pair may send, over time: columns of equal length. */
export interface FlowRates {
  readonly host: string;
  readonly qpn: number;
  /** From the start of the case, ascending. */
  readonly timesNs: readonly number[];
  readonly rateBps: readonly number[];
  readonly targetRateBps: readonly number[];
  readonly alpha: readonly number[];
}

/** Something else that changes over time. */
export interface ValueSeries {
  /** `ours: rpCnpHandled`, `wire a-to-b: queue`. */
  readonly name: string;
  readonly unit: 'packets' | 'bytes';
  readonly timesNs: readonly number[];
  readonly values: readonly number[];
}

export interface RateRecord {
  readonly flows: readonly FlowRates[];
  readonly values: readonly ValueSeries[];
}

/** How the rates of the flows of a host are combined. */
export const RATE_STATISTICS = ['lowest', 'highest', 'last'] as const;
export type RateStatistic = (typeof RATE_STATISTICS)[number];

/** Over all queue pairs of a host; 'last' is the lowest of their last ones. Undefined where none was seen. */
export function rateOf({ flows }: RateRecord, host: string, statistic: RateStatistic): number | undefined {
  const own = flows.filter((flow) => flow.host === host);
  if (own.length === 0) return undefined;
  if (statistic === 'last') return Math.min(...own.map(({ rateBps }) => rateBps.at(-1) ?? Infinity));
  const rates = own.flatMap(({ rateBps }) => rateBps);
  return rates.reduce((a, b) => (statistic === 'lowest' ? Math.min(a, b) : Math.max(a, b)));
}

export interface WatchedWire {
  readonly name: string;
  readonly bump: RunningBump;
}

export class RateWatch {
  readonly #hosts: ReadonlyMap<string, Pick<ExperimentHost, 'rates' | 'counters'>>;
  #wires: readonly WatchedWire[] = [];
  readonly #started = performance.now();
  readonly #flows = new Map<string, FlowColumns>();
  readonly #values = new Map<string, ValueColumns>();
  #timer: NodeJS.Timeout | undefined;

  constructor(hosts: ReadonlyMap<string, Pick<ExperimentHost, 'rates' | 'counters'>>) {
    this.#hosts = hosts;
  }

  /** From now on, until `stop`, samples are taken by a timer as well. */
  start(wires: readonly WatchedWire[]): void {
    this.#wires = wires;
    this.#timer = setInterval(this.look, LOOK_MS).unref();
  }

  stop(): RateRecord {
    clearInterval(this.#timer);
    this.look();
    const flows = [...this.#flows.values()];
    // A count that has stayed 0 and a queue that was always empty are left out.
    const values = [...this.#values.values()].filter((column) => column.values.some((value) => value !== 0));
    return { flows, values };
  }

  readonly look = (): void => {
    const now = Math.round((performance.now() - this.#started) * 1e6);
    for (const [name, host] of this.#hosts) {
      for (const { qpn, ...state } of host.rates()) this.#flow(name, qpn).look(now, state);
    }
    // Nothing reacts to congestion: most experiments.
    if (this.#flows.size === 0) return;
    for (const [name, host] of this.#hosts) {
      const counters = host.counters();
      for (const counter of COUNTERS) this.#value(`${name}: ${counter}`, 'packets').look(now, counters[counter] ?? 0);
    }
    for (const { name, bump } of this.#wires) {
      const { counters, queueBytes } = bump.bump;
      for (const direction of FAULT_DIRECTIONS) {
        this.#value(`${name} ${direction}: marked`, 'packets').look(now, counters[direction].marked);
        this.#value(`${name} ${direction}: queue`, 'bytes').look(now, queueBytes[direction]);
      }
    }
  };

  #flow(host: string, qpn: number): FlowColumns {
    const key = `${host} ${qpn}`;
    const known = this.#flows.get(key);
    if (known !== undefined) return known;
    const flow = new FlowColumns(host, qpn);
    this.#flows.set(key, flow);
    return flow;
  }

  #value(name: string, unit: ValueSeries['unit']): ValueColumns {
    const known = this.#values.get(name);
    if (known !== undefined) return known;
    const value = new ValueColumns(name, unit);
    this.#values.set(name, value);
    return value;
  }
}

class FlowColumns implements FlowRates {
  readonly host: string;
  readonly qpn: number;
  readonly timesNs: number[] = [];
  readonly rateBps: number[] = [];
  readonly targetRateBps: number[] = [];
  readonly alpha: number[] = [];

  constructor(host: string, qpn: number) {
    this.host = host;
    this.qpn = qpn;
  }

  look(now: number, { rateBps, targetRateBps, alpha }: RateState): void {
    const same =
      this.rateBps.at(-1) === rateBps && this.targetRateBps.at(-1) === targetRateBps && this.alpha.at(-1) === alpha;
    if (same || this.timesNs.length >= MAX_SAMPLES) return;
    this.timesNs.push(now);
    this.rateBps.push(rateBps);
    this.targetRateBps.push(targetRateBps);
    this.alpha.push(alpha);
  }
}

class ValueColumns implements ValueSeries {
  readonly name: string;
  readonly unit: ValueSeries['unit'];
  readonly timesNs: number[] = [];
  readonly values: number[] = [];
  /** The first value of a count: it may include earlier cases. */
  #first = 0;

  constructor(name: string, unit: ValueSeries['unit']) {
    this.name = name;
    this.unit = unit;
  }

  look(now: number, value: number): void {
    if (this.values.length === 0) this.#first = this.unit === 'packets' ? value : 0;
    const grown = value - this.#first;
    if (this.values.at(-1) === grown || this.values.length >= MAX_SAMPLES) return;
    this.timesNs.push(now);
    this.values.push(grown);
  }
}

const COUNTERS = ['npEcnMarkedRocePackets', 'npCnpSent', 'rpCnpHandled', 'rpCnpIgnored'] as const;
const LOOK_MS = 4;
const MAX_SAMPLES = 200_000;
