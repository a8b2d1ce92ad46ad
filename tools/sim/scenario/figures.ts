/**
 * Names of the figures a result has: a quantity alone (`dropped`), or one of many values and what is made of them
 * (`fctNs.p99`). Owns the list with units and words; `run/measure.ts` takes the figures.
 */
import { RoceError } from 'rocev2/packets';

/** What is one number for a whole run. */
export const SCALARS = {
  flows: ['', 'Flows that have begun.'],
  completed: ['', 'Flows whose last byte was acknowledged.'],
  failed: ['', 'Flows that ended with an error, such as retries used up.'],
  endNs: ['ns', 'When the run ended.'],
  lastFctNs: ['ns', 'From the first begin of a flow to the last end of one.'],
  stepNs: ['ns', 'Rings: from the first begin of one to the last end, which is the time of a training step.'],
  stepIdealNs: ['ns', 'Rings: what a host has to send, at the rate of its link: 2 (n - 1) / n of its bytes.'],
  stepSlowdown: ['', 'Rings: stepNs over stepIdealNs.'],
  throughputBps: [
    'bit/s',
    'Payload delivered, over the time from the first begin of a flow to the end of the last, or of the run.',
  ],
  retransmitted: ['', 'Request packets that hosts sent again, by their own counters.'],
  timeouts: ['', 'ACK timers of hosts that expired; a capture shows those after which something was sent again.'],
  dropped: ['', 'Frames that a full buffer refused.'],
  lost: ['', 'Frames that links lost at random.'],
  marked: ['', 'Frames that switches marked CE.'],
  cnps: ['', 'Congestion notifications that receivers sent.'],
  pauses: ['', 'PFC pause frames sent.'],
  pausedNs: ['ns', 'Time that priorities of ports stood still for a pause, all ports together.'],
  stalls: ['', 'Times that a port had to stop: pauses received, and waits for credits.'],
  stalledPorts: ['', 'Ports that had to stop at least once.'],
  stalledHosts: ['', 'Hosts whose port had to stop at least once: how far congestion has spread.'],
  deadlocks: ['', 'Circles of ports that waited for each other.'],
  dataPackets: ['', 'Packets with payload that were delivered, each once.'],
} as const;

/** What has many values: of flows, or samples over time. */
export const QUANTITIES = {
  fctNs: ['ns', 'Completion time of each completed flow.'],
  slowdown: ['', 'Completion time over that of the same flow alone on an idle network.'],
  goodputBps: ['bit/s', 'Payload of each flow over its time.'],
  windowBps: ['bit/s', 'Payload of each flow that was acknowledged within the window, over the window.'],
  rateBps: ['bit/s', 'What congestion control allows: the mean of each flow, from its samples.'],
  alpha: ['', "DCQCN's estimate of congestion: the mean of each flow, from its samples."],
  queueBytes: [
    'bytes',
    'Length of an egress queue over the window; with `fromNs` or `toNs` the samples of the probe. Of several queues the longest in the mean.',
  ],
} as const;

/** What is made of many values. */
export const STATISTICS = {
  mean: 'the mean',
  min: 'the least',
  max: 'the greatest',
  sum: 'the sum',
  stddev: 'the standard deviation',
  cv: 'standard deviation over mean',
  jitter: 'the 99th percentile less the 50th',
  jain: "Jain's index of fairness: 1 when all are alike, 1/n when one has everything",
  'p<n>': 'the n-th percentile, 0 to 100: `p50`, `p99`, `p99.9`',
} as const;

export type Scalar = keyof typeof SCALARS;
export type Quantity = keyof typeof QUANTITIES;
export type Statistic = Exclude<keyof typeof STATISTICS, 'p<n>'> | { readonly percentile: number };

export type Figure =
  | { readonly kind: 'scalar'; readonly name: Scalar }
  | { readonly kind: 'statistic'; readonly of: Quantity; readonly statistic: Statistic };

/** `dropped` or `fctNs.p99` as what it means. @throws RoceError ERR_ROCE_ARGUMENT */
export function parseFigure(text: string): Figure {
  if (isKey(SCALARS, text)) return { kind: 'scalar', name: text };
  const dot = text.indexOf('.');
  const [of, statistic] = dot < 0 ? [text, undefined] : [text.slice(0, dot), text.slice(dot + 1)];
  if (!isKey(QUANTITIES, of)) {
    const known = [...Object.keys(SCALARS), ...Object.keys(QUANTITIES).map((name) => `${name}.mean`)].join(', ');
    throw new RoceError('ERR_ROCE_ARGUMENT', `There is no figure ${text}; there is ${known}`);
  }
  return { kind: 'statistic', of, statistic: parseStatistic(text, statistic) };
}

function parseStatistic(text: string, statistic: string | undefined): Statistic {
  const [, digits] = /^p(\d{1,3}(?:\.\d{1,3})?)$/.exec(statistic ?? '') ?? [];
  if (digits !== undefined && Number(digits) <= 100) return { percentile: Number(digits) };
  if (statistic === undefined || statistic === 'p<n>' || !isKey(STATISTICS, statistic)) {
    const known = Object.keys(STATISTICS).join(', ');
    throw new RoceError('ERR_ROCE_ARGUMENT', `${text}: which statistic? There is ${known}`);
  }
  // 'p<n>' itself is turned away above.
  return statistic as Exclude<keyof typeof STATISTICS, 'p<n>'>;
}

/** The unit a figure is in; empty for a mere number. */
export function unitOf(figure: Figure): string {
  if (figure.kind === 'scalar') return SCALARS[figure.name][0];
  return figure.statistic === 'cv' || figure.statistic === 'jain' ? '' : QUANTITIES[figure.of][0];
}

/** What a figure is, in a sentence. */
export function aboutFigure(figure: Figure): string {
  if (figure.kind === 'scalar') return SCALARS[figure.name][1];
  const { of, statistic } = figure;
  const part = typeof statistic === 'object' ? `percentile ${statistic.percentile}` : STATISTICS[statistic];
  return `${QUANTITIES[of][1]} Here: ${part}.`;
}

function isKey<T extends object>(record: T, key: string): key is Extract<keyof T, string> {
  return Object.hasOwn(record, key);
}
