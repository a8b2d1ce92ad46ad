/**
 * The files of a `RateRecord`: JSON to compute with, CSV for other programs, a page with plots. Owns names and columns.
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { reportHtml } from '../sim/report/html.ts';
import { decimate, type Plot, type PlotLine, rounded, timeUnit } from '../sim/report/plot.ts';
import type { FlowRates, RateRecord, ValueSeries } from './rates.ts';

export const RATES_FILE = 'rates.json';

/** Writes `rates.json`, `rates.csv` and `rates.html`; nothing where no queue pair reacts to congestion. */
export function writeRates(directory: string, title: string, record: RateRecord): void {
  if (record.flows.length === 0) return;
  writeFileSync(join(directory, RATES_FILE), `${JSON.stringify(record)}\n`);
  writeFileSync(join(directory, 'rates.csv'), csv(record.flows));
  writeFileSync(join(directory, 'rates.html'), page(title, record));
}

function csv(flows: readonly FlowRates[]): string {
  const rows = flows.flatMap(({ host, qpn, timesNs, rateBps, targetRateBps, alpha }) =>
    timesNs.map((time, i) => [time / 1e9, host, qpn, rateBps[i], targetRateBps[i], alpha[i]].join(',')),
  );
  return `${['seconds,host,qpn,rateBps,targetRateBps,alpha', ...rows].join('\n')}\n`;
}

function page(title: string, { flows, values }: RateRecord): string {
  const endNs = Math.max(1, ...[...flows, ...values].map(({ timesNs }) => timesNs.at(-1) ?? 0));
  const counts = values.filter(({ unit }) => unit === 'packets');
  const queues = values.filter(({ unit }) => unit === 'bytes');
  const plots: Plot[] = [
    ratePlot(flows, endNs),
    alphaPlot(flows, endNs),
    valuePlot('Marks and notifications', 'Packets, counted from the start of the case', 'packets', counts, endNs),
    valuePlot('Queues', 'What waits on a wire for its rate', 'bytes', queues, endNs),
  ];
  const about =
    'Looked at whenever a packet came in on a wire, and every few milliseconds, while real packets passed. The capture beside this ' +
    'file has every one of them.';
  return reportHtml({
    title,
    sections: [
      { kind: 'text', paragraphs: [about] },
      { kind: 'plots', heading: 'Over time', plots: plots.filter(({ lines }) => lines.length > 0) },
    ],
    footer: 'roce experiment run',
  });
}

function ratePlot(flows: readonly FlowRates[], endNs: number): Plot {
  const lines = flows.flatMap((flow, colour) => [
    line(`${nameOf(flow)}: rate`, colour, 0, flow.timesNs, flow.rateBps, endNs, 1e6),
    line(`${nameOf(flow)}: target`, colour, 1, flow.timesNs, flow.targetRateBps, endNs, 1e6),
  ]);
  const about = 'What the reaction point allows each queue pair, and where its recovery is heading';
  return { title: 'Rates', about, x: timeAxis(endNs), y: 'Mb/s', stepped: true, lines };
}

function alphaPlot(flows: readonly FlowRates[], endNs: number): Plot {
  const lines = flows.map((flow, colour) => line(nameOf(flow), colour, 0, flow.timesNs, flow.alpha, endNs, 1));
  const about = 'The estimate of congestion: half of it is what a notification takes off the rate';
  return { title: 'Alpha', about, x: timeAxis(endNs), y: 'alpha', stepped: true, lines };
}

function valuePlot(title: string, about: string, y: string, series: readonly ValueSeries[], endNs: number): Plot {
  const lines = series.map(({ name, timesNs, values }, colour) => line(name, colour, 0, timesNs, values, endNs, 1));
  return { title, about, x: timeAxis(endNs), y, stepped: true, lines };
}

function line(
  label: string,
  colour: number,
  dash: number,
  timesNs: readonly number[],
  values: readonly number[],
  endNs: number,
  divisor: number,
): PlotLine {
  const thin = decimate(timesNs, values);
  // The last value has held until the end.
  const times = [...thin.x, endNs];
  const all = [...thin.y, values.at(-1) ?? 0];
  const { ns } = timeUnit(endNs);
  return {
    label,
    colour,
    dash,
    x: rounded(times.map((time) => time / ns)),
    y: rounded(all.map((value) => value / divisor)),
  };
}

function nameOf({ host, qpn }: FlowRates): string {
  return `${host}, queue pair 0x${qpn.toString(16)}`;
}

function timeAxis(endNs: number): string {
  return `time, ${timeUnit(endNs).name}`;
}
