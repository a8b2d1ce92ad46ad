/**
 * Rates over time in lanes: goodput and what was sent again, CE marks and CNPs, by who sent them.
 *
 * Owns the lanes; the sums are the worker's.
 */

import { useEffect, useMemo, useState } from 'preact/hooks';
import { defined } from 'rocev2/packets';
import uPlot from 'uplot';
import type { RatePicture } from '../engine/protocol.ts';
import { axis, Chart, type Palette, timeAxis } from './chart.tsx';
import { ConversationPicker, chosenConversation } from './conversation-picker.tsx';
import { TimeButtons, type TimeRange } from './time-range.tsx';
import type { ViewProps } from './view.ts';
import { count, rate, span } from './words.ts';

/** The view. */
export function Rates({ client, news, place, go }: ViewProps) {
  const report = chosenConversation(news, place.conversation);
  const [all, setAll] = useState(false);
  const id = all || report === undefined ? 0 : report.id;
  const range = { fromNs: place.fromNs, toNs: place.toNs };
  const setRange = (wished: TimeRange): void => go(wished);
  const [picture, setPicture] = useState<RatePicture>();
  useEffect(() => {
    let stale = false;
    const bins = Math.max(60, Math.min(600, Math.floor(innerWidth / 3)));
    client.look('rates', { conversation: id, ...range, bins }, (answer) => {
      if (!stale) setPicture(answer);
    });
    return () => {
      stale = true;
    };
  }, [client, id, range.fromNs, range.toNs, news.done]);
  const names =
    id === 0 || report === undefined ? ['first ends', 'second ends'] : report.ends.map((end) => end.address);
  const pacing = id === 0 ? [] : (report?.ends ?? []).filter((end) => end.congestion.cnpPacingNs > 0);
  return (
    <div class="chart-view" data-testid="rates">
      <div class="toolbar">
        <ConversationPicker
          news={news}
          conversation={id}
          all
          onChoose={(conversation) => {
            setAll(conversation === 0);
            if (conversation > 0) go({ conversation, packet: 0 });
          }}
        />
        <TimeButtons shown={picture ?? range} onRange={setRange} />
      </div>
      {picture === undefined ? null : (
        <Lanes picture={picture} names={names} onRange={(fromNs, toNs) => setRange({ fromNs, toNs })} />
      )}
      <p class="prose-line quiet">
        {picture === undefined ? '' : `Each point stands for ${span(Math.round(picture.binNs))}.`}
        {pacing.map((end) => ` ${end.address} sends CNPs no closer than ${span(end.congestion.cnpPacingNs)}.`)}
      </p>
    </div>
  );
}

interface LanesProps {
  readonly picture: RatePicture;
  readonly names: readonly string[];
  readonly onRange: (fromNs: number, toNs: number) => void;
}

interface Lane {
  readonly title: string;
  readonly data: uPlot.AlignedData;
  readonly options: (palette: Palette) => Omit<uPlot.Options, 'width' | 'height'>;
}

function Lanes({ picture, names, onRange }: LanesProps) {
  const title = names.join(' and ');
  const lanes = useMemo(() => lanesOf(picture, title.split(' and ')), [picture, title]);
  return (
    <>
      {lanes.map((lane) => (
        <section class="lane" key={lane.title}>
          <h2>{lane.title}</h2>
          <Chart options={lane.options} data={lane.data} height={LANE_HEIGHT} label={lane.title} onRange={onRange} />
        </section>
      ))}
    </>
  );
}

/** Lanes in which nothing happens are left out, but for the first. */
function lanesOf(picture: RatePicture, names: readonly string[]): Lane[] {
  const { timeNs, sides } = picture;
  const labels = names.map((name) => `from ${name}`);
  const lanes = LANES.map(({ title, unit, of }) => {
    const columns = sides.map(of);
    const data: uPlot.AlignedData = [timeNs, ...columns.map((column) => [...column])];
    const options = (palette: Palette) => laneOptions(palette, picture, labels, unit);
    return { title, data, options, total: columns.reduce((sum, column) => sum + column.reduce((a, b) => a + b, 0), 0) };
  });
  return [...lanes.filter(({ total }, index) => index === 0 || total > 0), ...tracedLanes(picture)];
}

/** The decisions of the traced device. */
function tracedLanes(picture: RatePicture): Lane[] {
  const { traced } = picture;
  if (traced === null) return [];
  const column = (values: Float64Array) => Array.from(values, (value) => (Number.isNaN(value) ? null : value));
  return [
    {
      title: 'Rate',
      data: [traced.timeNs, column(traced.rateBps), column(traced.targetBps)],
      options: (palette) => laneOptions(palette, picture, ['rate', 'target'], 'stepped rate'),
    },
    {
      title: 'Alpha',
      data: [traced.timeNs, column(traced.alpha)],
      options: (palette) => laneOptions(palette, picture, ['alpha'], 'part'),
    },
  ];
}

type Unit = 'rate' | 'stepped rate' | 'number' | 'part';

function laneOptions(
  palette: Palette,
  { fromNs, toNs }: RatePicture,
  labels: readonly string[],
  unit: Unit,
): Omit<uPlot.Options, 'width' | 'height'> {
  const shown = WRITTEN[unit];
  const stepped = unit === 'rate' ? undefined : uPlot.paths.stepped?.({ align: unit === 'number' ? CENTRED : 1 });
  const line = (label: string, index: number): uPlot.Series => ({
    label,
    stroke: palette(index === 0 ? 'accent' : 'odd'),
    width: 1.5,
    dash: index === 0 ? [] : [6, 3],
    points: { show: false },
    value: (plot: uPlot, value: number | null) => (value === null ? mostOf(plot, index + 1, shown) : shown(value)),
    ...defined({ paths: stepped }),
  });
  return {
    cursor: { sync: { key: 'rates' } },
    scales: {
      x: { time: false, range: () => [fromNs, toNs] },
      y: { range: (_plot, _min, max) => [0, unit === 'part' ? 1 : max * 1.05 || 1] },
    },
    axes: [
      timeAxis(palette),
      axis(palette, {
        size: 84,
        values: (_plot, values) => values.map((value) => shown(value)),
        ...(unit === 'number' ? { incrs: WHOLE_STEPS } : {}),
      }),
    ],
    series: [
      {
        label: 'time',
        value: (_plot: uPlot, value: number | null) =>
          value === null ? `${span(Math.round(fromNs))} to ${span(Math.round(toNs))}` : span(Math.round(value)),
      },
      ...labels.map(line),
    ],
  };
}

/** What a legend says as long as the mouse is elsewhere. */
function mostOf(plot: uPlot, series: number, shown: (value: number) => string): string {
  let most = 0;
  for (const value of plot.data[series] ?? []) most = Math.max(most, value ?? 0);
  return `up to ${shown(most)}`;
}

const WRITTEN: Readonly<Record<Unit, (value: number) => string>> = {
  rate,
  'stepped rate': rate,
  number: (value) => count(Math.round(value)),
  part: (value) => value.toFixed(3),
};
const WHOLE_STEPS = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000, 100_000, 1_000_000];
/** uPlot knows 0 for it, its types do not. */
const CENTRED = 0 as -1;

type SideOf = (side: RatePicture['sides'][0]) => Float64Array;
const LANES: readonly { readonly title: string; readonly unit: 'rate' | 'number'; readonly of: SideOf }[] = [
  { title: 'Goodput', unit: 'rate', of: (side) => side.goodputBps },
  { title: 'Sent again', unit: 'rate', of: (side) => side.againBps },
  { title: 'CE marks', unit: 'number', of: (side) => side.ceMarks },
  { title: 'CNPs', unit: 'number', of: (side) => side.cnps },
];
const LANE_HEIGHT = 200;
