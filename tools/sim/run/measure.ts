/**
 * Takes figures of an outcome: the numbers that records carry, verdicts compare and tables show. Owns what each figure
 * means. A figure of nothing (no flow has ended, no queue was probed) is undefined, never 0.
 */
import type { Selection } from '../scenario/expect.ts';
import { type Figure, parseFigure, type Quantity, type Scalar, type Statistic } from '../scenario/figures.ts';
import type { FlowOutcome, OutcomeSeries, QueueSummary, RunOutcome } from './outcome.ts';

/** One figure of an outcome, or of the part of it that is selected. */
export function measure(outcome: RunOutcome, figure: Figure, selection: Selection = {}): number | undefined {
  if (figure.kind === 'scalar') return scalar(outcome, figure.name, selection);
  const looked = figure.of === 'queueBytes' ? queueSummary(outcome, figure.statistic, selection) : undefined;
  return looked ?? statistic(values(outcome, figure.of, selection), figure.statistic);
}

/** What was looked at more often than samples were kept; of several queues the one that is longest in the mean. */
function queueSummary(outcome: RunOutcome, which: Statistic, selection: Selection): number | undefined {
  const { queue, fromNs, toNs } = selection;
  if (fromNs !== undefined || toNs !== undefined) return undefined;
  const queues = outcome.queues.filter(({ port }) => queue === undefined || port === queue);
  const longest = queues.reduce<QueueSummary | undefined>(
    (a, b) => (a === undefined || b.mean > a.mean ? b : a),
    undefined,
  );
  if (longest === undefined) return undefined;
  const name = typeof which === 'object' ? `p${which.percentile}` : which;
  if (name === 'cv') return longest.mean === 0 ? undefined : longest.stddev / longest.mean;
  return QUEUE_STATISTICS.includes(name) ? longest[name as Exclude<keyof QueueSummary, 'port'>] : undefined;
}

/** The figures that every record has; those of flows again for each group where there is more than one. */
export function summary(outcome: RunOutcome): Record<string, number> {
  const figures: [string, number | undefined][] = SUMMARY.map((name) => [name, measure(outcome, parseFigure(name))]);
  const groups = [...new Set(outcome.flows.map(({ group }) => group))];
  if (groups.length > 1)
    for (const group of groups)
      for (const name of GROUP_SUMMARY)
        figures.push([`${group}:${name}`, measure(outcome, parseFigure(name), { group })]);
  return Object.fromEntries(figures.filter((entry): entry is [string, number] => entry[1] !== undefined));
}

function scalar(outcome: RunOutcome, name: Scalar, selection: Selection): number | undefined {
  const flows = selectFlows(outcome, selection);
  switch (name) {
    case 'flows':
      return flows.length;
    case 'completed':
      return flows.filter(({ fctNs }) => fctNs !== undefined).length;
    case 'failed':
      return flows.filter(({ status }) => !HEALTHY.has(status)).length;
    case 'endNs':
      return outcome.endNs;
    case 'lastFctNs':
      return flows.every(({ fctNs }) => fctNs !== undefined) ? spanNs(outcome, flows) : undefined;
    case 'throughputBps':
      return throughputBps(outcome, flows);
    default:
      return outcome.counts[name];
  }
}

/** From the first begin to the last end; a flow that has none has lasted until the end of the run. */
function spanNs({ endNs }: RunOutcome, flows: readonly FlowOutcome[]): number | undefined {
  if (flows.length === 0) return undefined;
  const start = flows.reduce((least, flow) => Math.min(least, flow.startNs), Infinity);
  const end = flows.reduce((most, flow) => Math.max(most, endOf(flow, endNs)), 0);
  return end - start;
}

function endOf({ startNs, fctNs }: FlowOutcome, endNs: number): number {
  return fctNs === undefined ? endNs : startNs + fctNs;
}

function throughputBps(outcome: RunOutcome, flows: readonly FlowOutcome[]): number | undefined {
  const span = spanNs(outcome, flows);
  if (span === undefined || span <= 0) return undefined;
  const bits = flows.reduce((total, flow) => total + flow.deliveredBytes * 8, 0);
  return (bits / span) * 1e9;
}

function values(outcome: RunOutcome, of: Quantity, selection: Selection): number[] {
  switch (of) {
    case 'fctNs':
    case 'slowdown':
    case 'goodputBps':
    case 'windowBps':
      return selectFlows(outcome, selection).flatMap((flow) => flow[of] ?? []);
    case 'queueBytes':
      return samples(outcome, of, selection).flatMap((series) => within(series, selection));
    case 'rateBps':
    case 'alpha':
      return samples(outcome, of, selection).flatMap((series) => mean(within(series, selection)) ?? []);
    default:
      return unknownQuantity(of);
  }
}

function unknownQuantity(of: never): never {
  throw new TypeError(`no quantity ${String(of)}`);
}

function selectFlows({ flows }: RunOutcome, { group, minBytes = 0, maxBytes = Infinity }: Selection): FlowOutcome[] {
  return flows.filter(
    (flow) => (group === undefined || flow.group === group) && flow.bytes >= minBytes && flow.bytes <= maxBytes,
  );
}

/** Series of flows by the flow, of queues by the port. */
function samples(
  { series, flows }: RunOutcome,
  kind: OutcomeSeries['kind'],
  { group, queue }: Selection,
): OutcomeSeries[] {
  return series.filter(({ kind: has, of }) => {
    if (has !== kind) return false;
    if (typeof of === 'number') return group === undefined || flows[of]?.group === group;
    return queue === undefined || of === queue;
  });
}

function within({ times, values: all }: OutcomeSeries, { fromNs = 0, toNs = Infinity }: Selection): number[] {
  return all.filter((_, at) => {
    const time = times[at] ?? -1;
    return time >= fromNs && time < toNs;
  });
}

/** What is made of many values; undefined where there are none. */
export function statistic(all: readonly number[], which: Statistic): number | undefined {
  const average = mean(all);
  if (average === undefined) return undefined;
  if (typeof which === 'object') return percentile(sorted(all), which.percentile);
  switch (which) {
    case 'mean':
      return average;
    case 'min':
      return all.reduce((least, value) => Math.min(least, value), Infinity);
    case 'max':
      return all.reduce((most, value) => Math.max(most, value), -Infinity);
    case 'sum':
      return sum(all);
    case 'stddev':
      return deviation(all, average);
    case 'cv':
      return average === 0 ? undefined : deviation(all, average) / average;
    case 'jitter':
      return percentile(sorted(all), 99) - percentile(sorted(all), 50);
    case 'jain':
      return jain(all);
    default:
      return unknownStatistic(which);
  }
}

function unknownStatistic(which: never): never {
  throw new TypeError(`no statistic ${String(which)}`);
}

/** The nearest-rank percentile of ascending values; there is at least one. */
export function percentile(ascending: readonly number[], percent: number): number {
  const rank = Math.ceil((percent / 100) * ascending.length);
  return ascending[Math.min(Math.max(rank, 1), ascending.length) - 1] ?? Number.NaN;
}

export function sorted(all: readonly number[]): number[] {
  return [...all].sort((a, b) => a - b);
}

function mean(all: readonly number[]): number | undefined {
  return all.length === 0 ? undefined : sum(all) / all.length;
}

function sum(all: readonly number[]): number {
  return all.reduce((total, value) => total + value, 0);
}

function deviation(all: readonly number[], average: number): number {
  return Math.sqrt(all.reduce((total, value) => total + (value - average) ** 2, 0) / all.length);
}

/** Jain, Chiu, Hawe 1984: (sum x)^2 / (n sum x^2). Everybody having nothing is fair. */
function jain(all: readonly number[]): number {
  const squares = all.reduce((total, value) => total + value * value, 0);
  return squares === 0 ? 1 : sum(all) ** 2 / (all.length * squares);
}

/** Flows by size, and the percentiles of their slowdown: a line of the plot and of the table. */
export interface SlowdownRow {
  /** Sizes from ... */
  readonly fromBytes: number;
  /** ... to, both included. */
  readonly toBytes: number;
  readonly flows: number;
  readonly p50: number;
  readonly p95: number;
  readonly p99: number;
}

/** Completed flows in at most `rows` parts of as many flows each, by size; flows of one size stay together. */
export function slowdownBySize(outcome: RunOutcome, rows = 10): SlowdownRow[] {
  const flows = outcome.flows
    .flatMap(({ bytes, slowdown }) => (slowdown === undefined ? [] : [{ bytes, slowdown }]))
    .sort((a, b) => a.bytes - b.bytes);
  const table: SlowdownRow[] = [];
  for (let from = 0; from < flows.length; ) {
    const wanted = Math.floor(((table.length + 1) * flows.length) / rows);
    let to = Math.max(wanted, from + 1);
    while (to < flows.length && flows[to]?.bytes === flows[to - 1]?.bytes) to++;
    table.push(slowdownRow(flows.slice(from, to)));
    from = to;
  }
  return table;
}

function slowdownRow(flows: readonly { readonly bytes: number; readonly slowdown: number }[]): SlowdownRow {
  const ascending = sorted(flows.map(({ slowdown }) => slowdown));
  return {
    fromBytes: flows[0]?.bytes ?? 0,
    toBytes: flows.at(-1)?.bytes ?? 0,
    flows: flows.length,
    p50: percentile(ascending, 50),
    p95: percentile(ascending, 95),
    p99: percentile(ascending, 99),
  };
}

/** Everything else is a flow that failed. */
const HEALTHY = new Set(['done', 'running', 'stopped', 'waiting']);
const QUEUE_STATISTICS: readonly string[] = ['mean', 'stddev', 'p5', 'p50', 'p95', 'max'];

const GROUP_SUMMARY = [
  'flows',
  'completed',
  'fctNs.mean',
  'fctNs.p50',
  'fctNs.p99',
  'fctNs.max',
  'slowdown.mean',
  'slowdown.p50',
  'slowdown.p99',
  'goodputBps.mean',
  'goodputBps.jain',
  'windowBps.mean',
  'windowBps.jain',
] as const;

const SUMMARY = [
  ...GROUP_SUMMARY,
  'fctNs.min',
  'fctNs.jitter',
  'failed',
  'stepNs',
  'stepIdealNs',
  'stepSlowdown',
  'throughputBps',
  'queueBytes.mean',
  'queueBytes.p5',
  'queueBytes.p50',
  'queueBytes.p95',
  'queueBytes.max',
  'rateBps.mean',
  'rateBps.jain',
  'dropped',
  'marked',
  'cnps',
  'pauses',
  'pausedNs',
  'stalls',
  'stalledPorts',
  'stalledHosts',
  'deadlocks',
  'retransmitted',
  'timeouts',
  'dataPackets',
  'endNs',
] as const;
