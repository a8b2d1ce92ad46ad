/**
 * Rates over time in lanes: goodput and what was sent again, CE marks and CNPs, by who sent them.
 *
 * Owns the lanes; the sums are the worker's.
 */
import { useEffect, useMemo, useState } from 'preact/hooks';
import uPlot from 'uplot';
import type { RatePicture } from '../engine/protocol.ts';
import { axis, Chart, type Palette, timeAxis } from './chart.tsx';
import { ConversationPicker, chosenConversation } from './conversation-picker.tsx';
import { TimeButtons, useTimeRange } from './time-range.tsx';
import type { ViewProps } from './view.ts';
import { count, rate, span } from './words.ts';

/** The view. */
export function Rates({ client, news, place, go }: ViewProps) {
  const report = chosenConversation(news, place.conversation);
  const [all, setAll] = useState(false);
  const id = all || report === undefined ? 0 : report.id;
  const [range, setRange] = useTimeRange(`${id}`);
  const [picture, setPicture] = useState<RatePicture>();
  useEffect(() => {
    let stale = false;
    const bins = Math.max(60, Math.min(600, Math.floor(innerWidth / 3)));
    void client.ask('rates', { conversation: id, ...range, bins }).then((answer) => {
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
          <h3>{lane.title}</h3>
          <Chart options={lane.options} data={lane.data} height={LANE_HEIGHT} label={lane.title} onRange={onRange} />
        </section>
      ))}
    </>
  );
}

/** Lanes in which nothing happens are left out, but for the first. */
function lanesOf({ timeNs, sides }: RatePicture, names: readonly string[]): Lane[] {
  const lanes = LANES.map(({ title, unit, of }) => {
    const columns = sides.map(of);
    const data: uPlot.AlignedData = [timeNs, ...columns.map((column) => [...column])];
    const options = (palette: Palette) => laneOptions(palette, names, unit);
    return { title, data, options, total: columns.reduce((sum, column) => sum + column.reduce((a, b) => a + b, 0), 0) };
  });
  return lanes.filter(({ total }, index) => index === 0 || total > 0);
}

function laneOptions(
  palette: Palette,
  names: readonly string[],
  unit: 'rate' | 'number',
): Omit<uPlot.Options, 'width' | 'height'> {
  const shown = unit === 'rate' ? rate : (value: number) => count(Math.round(value));
  const line = (label: string, tone: 'accent' | 'odd', dash: number[]): uPlot.Series => ({
    label,
    stroke: palette(tone),
    width: 1.5,
    dash,
    points: { show: false },
    value: (_plot: uPlot, value: number | null) => (value === null ? '' : shown(value)),
    ...(unit === 'number' && uPlot.paths.stepped !== undefined
      ? { paths: uPlot.paths.stepped({ align: 0 as -1 }) }
      : {}),
  });
  return {
    cursor: { sync: { key: 'rates' } },
    scales: {
      x: { time: false, range: (_plot, min, max) => [min, max] },
      y: { range: (_plot, _min, max) => [0, max * 1.05 || 1] },
    },
    axes: [
      timeAxis(palette, () => 0),
      axis(palette, { size: 84, values: (_plot, values) => values.map((value) => shown(value)) }),
    ],
    series: [
      { label: 'time', value: (_plot: uPlot, value: number | null) => (value === null ? '' : span(Math.round(value))) },
      line(`from ${names[0] ?? ''}`, 'accent', []),
      line(`from ${names[1] ?? ''}`, 'odd', [6, 3]),
    ],
  };
}

type SideOf = (side: RatePicture['sides'][0]) => Float64Array;
const LANES: readonly { readonly title: string; readonly unit: 'rate' | 'number'; readonly of: SideOf }[] = [
  { title: 'Goodput', unit: 'rate', of: (side) => side.goodputBps },
  { title: 'Sent again', unit: 'rate', of: (side) => side.againBps },
  { title: 'CE marks', unit: 'number', of: (side) => side.ceMarks },
  { title: 'CNPs', unit: 'number', of: (side) => side.cnps },
];
const LANE_HEIGHT = 200;
