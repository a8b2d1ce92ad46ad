/**
 * What is sampled while a simulation runs, and when: queues for series and statistics, rates of flows, sums of
 * notifications and pauses. Owns the times; changes nothing that it samples. Samples are taken between steps of the
 * world and cost nothing in between.
 */
import { RoceError } from '../../../packets/errors.ts';
import type { PortCounters } from '../../../transport/counters.ts';
import type { EgressPort } from '../switching/index.ts';
import type { FlowRun } from './flow-run.ts';
import { DEFAULT_POINTS, type ProbeOptions, type ProbeSeries, type QueueStats } from './options.ts';
import { QueueMeter, SeriesRecorder } from './recorder.ts';

/** What probes sample. */
export interface ProbeTargets {
  readonly ports: readonly EgressPort[];
  readonly flows: readonly FlowRun[];
  /** Counters of the hosts. */
  readonly hosts: readonly Readonly<PortCounters>[];
}

/** The probes of one simulation. */
export class Probes {
  readonly #probed: ProbeTargets;
  readonly #intervalNs: number;
  readonly #sampleNs: number;
  readonly #window: { readonly fromNs: number; readonly toNs: number };
  readonly #queues: readonly {
    readonly port: EgressPort;
    readonly recorder: SeriesRecorder;
    readonly meter: QueueMeter;
  }[];
  readonly #flows: readonly { readonly run: FlowRun; readonly recorders: readonly SeriesRecorder[] }[];
  readonly #sums: readonly SeriesRecorder[];
  #nextPoint: number;
  #nextSample: number;

  /** @throws RoceError ERR_ROCE_ARGUMENT for a queue that is not there */
  constructor(options: ProbeOptions | undefined, window: { fromNs: number; toNs: number }, probed: ProbeTargets) {
    const { intervalNs = 0, fromNs = 0, queues = [], flows = false, queueSampleNs = QUEUE_SAMPLE_NS } = options ?? {};
    const maxPoints = options?.maxPoints ?? DEFAULT_POINTS;
    this.#probed = probed;
    this.#intervalNs = intervalNs;
    this.#sampleNs = queueSampleNs;
    this.#window = window;
    this.#nextPoint = options === undefined ? Infinity : fromNs;
    this.#nextSample = queues.length === 0 ? Infinity : window.fromNs;
    this.#queues = queues.map((name) => ({
      port: findPort(probed.ports, name),
      recorder: new SeriesRecorder('queue', name, 'bytes', maxPoints),
      meter: new QueueMeter(name),
    }));
    const chosen = typeof flows === 'boolean' ? (flows ? probed.flows.map(({ index }) => index) : []) : flows;
    this.#flows = chosen.flatMap((index) => {
      const run = probed.flows[index];
      const make = (kind: 'rate' | 'target' | 'alpha', unit: string): SeriesRecorder =>
        new SeriesRecorder(kind, `flow ${index}`, unit, maxPoints);
      return run === undefined
        ? []
        : [{ run, recorders: [make('rate', 'bit/s'), make('target', 'bit/s'), make('alpha', '')] }];
    });
    this.#sums = [
      new SeriesRecorder('notifications', 'all', 'packets', maxPoints),
      new SeriesRecorder('pauses', 'all', 'packets', maxPoints),
    ];
  }

  /** The time of the next sample. */
  get nextTime(): number {
    return Math.min(this.#nextPoint, this.#nextSample);
  }

  /** Takes the samples that are due. */
  look(now: number): void {
    if (now >= this.#nextSample) {
      for (const { port, meter } of this.#queues) meter.add(port.queueBytes);
      this.#nextSample += this.#sampleNs;
      if (this.#nextSample > this.#window.toNs) this.#nextSample = Infinity;
    }
    if (now < this.#nextPoint) return;
    this.#nextPoint += this.#intervalNs;
    for (const { port, recorder } of this.#queues) recorder.add(now, port.queueBytes);
    for (const { run, recorders } of this.#flows) {
      const state = run.sender?.congestion;
      if (state === undefined) continue;
      recorders[0]?.add(now, state.rateBps);
      recorders[1]?.add(now, state.targetRateBps);
      recorders[2]?.add(now, state.alpha);
    }
    this.#sums[0]?.add(now, sum(this.#probed.hosts, notificationsOf));
    this.#sums[1]?.add(now, sum(this.#probed.ports, pausesOf));
  }

  /** What was recorded; a series without a point is left out. */
  series(): ProbeSeries[] {
    const all = [
      ...this.#queues.map(({ recorder }) => recorder),
      ...this.#flows.flatMap(({ recorders }) => recorders),
      ...this.#sums,
    ];
    return all.filter(({ times }) => times.length > 0).map((recorder) => recorder.take());
  }

  /** Queues over the window. */
  queueStats(): QueueStats[] {
    return this.#queues.map(({ meter }) => meter.take());
  }
}

function findPort(ports: readonly EgressPort[], name: string): EgressPort {
  const port = ports.find((candidate) => candidate.name === name);
  if (port === undefined)
    throw new RoceError('ERR_ROCE_ARGUMENT', `probe.queues: the network has no port ${JSON.stringify(name)}`);
  return port;
}

function notificationsOf({ rpCnpHandled, rpCnpIgnored }: Readonly<PortCounters>): number {
  return rpCnpHandled + rpCnpIgnored;
}

function pausesOf({ counters }: EgressPort): number {
  return counters.pausesSent;
}

function sum<T>(list: readonly T[], of: (item: T) => number): number {
  let total = 0;
  for (const item of list) total += of(item);
  return total;
}

const QUEUE_SAMPLE_NS = 997;
