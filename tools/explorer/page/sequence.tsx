/**
 * PSNs over time, in the manner of tcptrace.
 *
 * Owns which space and piece of time is shown, and choosing a packet with the mouse; the worker thins,
 * `sequence-marks.ts` draws.
 */
import { useCallback, useEffect, useMemo, useRef, useState } from 'preact/hooks';
import type uPlot from 'uplot';
import type { SequencePicture } from '../engine/protocol.ts';
import { axis, Chart, type Palette, timeAxis } from './chart.tsx';
import { ConversationPicker, chosenConversation } from './conversation-picker.tsx';
import { drawSequence, LEGEND, nearestPoint, wordsAt } from './sequence-marks.ts';
import { TimeButtons, type TimeRange } from './time-range.tsx';
import type { ViewProps } from './view.ts';
import { plural, qpn } from './words.ts';

/** The view. */
export function Sequence({ client, news, place, go }: ViewProps) {
  const report = chosenConversation(news, place.conversation);
  const [side, setSide] = useState<0 | 1>();
  const id = report?.id ?? 0;
  const busier = report === undefined || report.ends[0].requester.packets >= report.ends[1].requester.packets ? 0 : 1;
  const requester = side ?? busier;
  const range = { fromNs: place.fromNs, toNs: place.toNs };
  const setRange = (wished: TimeRange): void => go(wished);
  const [picture, setPicture] = useState<SequencePicture>();
  useEffect(() => {
    if (id === 0) return undefined;
    let stale = false;
    const size = { width: Math.max(300, innerWidth - 110), height: CHART_HEIGHT - 60, selected: place.packet };
    client.look('sequence', { conversation: id, requester, ...range, ...size }, (answer) => {
      if (!stale) setPicture(answer);
    });
    return () => {
      stale = true;
    };
  }, [client, id, requester, range.fromNs, range.toNs, place.packet, news.done]);
  if (report === undefined) {
    return <p class="prose quiet">{news.done ? 'No RoCEv2 conversation in this file.' : 'Reading...'}</p>;
  }
  const end = report.ends[requester];
  return (
    <div class="chart-view" data-testid="sequence">
      <div class="toolbar">
        <ConversationPicker
          news={news}
          conversation={report.id}
          onChoose={(conversation) => {
            setSide(undefined);
            go({ conversation, packet: 0 });
          }}
        />
        <label>
          Requests of{' '}
          <select value={requester} onChange={(event) => setSide(event.currentTarget.value === '1' ? 1 : 0)}>
            {report.ends.map((one, index) => (
              <option key={one.address + one.qpn} value={index}>
                {one.address} {qpn(one.qpn)}
              </option>
            ))}
          </select>
        </label>
        <TimeButtons shown={picture ?? range} onRange={setRange} />
      </div>
      {picture === undefined ? null : (
        <SequenceChart
          picture={picture}
          selected={place.packet}
          onRange={setRange}
          onPacket={(packet) => go({ packet, conversation: report.id })}
        />
      )}
      <p class="prose-line quiet">
        {plural(picture?.packets ?? 0, 'packet')} of this PSN space, PSNs counted from {end.requester.firstPsn}. A
        number beside a mark is how many it stands for. Draw a frame to look closer, double click for all.{' '}
        {place.packet > 0 ? `Packet ${place.packet} is chosen: ` : ''}
        {place.packet > 0 ? (
          <button type="button" class="link" onClick={() => go({ tab: 'packets', filter: '' })}>
            its bytes
          </button>
        ) : null}
      </p>
      <ul class="chart-legend">
        {LEGEND.map(({ name, tone, letter }) => (
          <li key={name} class={`tone-${tone}`}>
            <b>{letter}</b> {name}
          </li>
        ))}
      </ul>
    </div>
  );
}

interface SequenceChartProps {
  readonly picture: SequencePicture;
  readonly selected: number;
  readonly onRange: (range: TimeRange) => void;
  readonly onPacket: (number: number) => void;
}

function SequenceChart({ picture, selected, onRange, onPacket }: SequenceChartProps) {
  const [tip, setTip] = useState({ left: 0, top: 0, words: '' });
  const now = useRef({ picture, selected, onPacket, onTip: setTip });
  now.current = { picture, selected, onPacket, onTip: setTip };
  const options = useCallback((palette: Palette) => sequenceOptions(palette, () => now.current), []);
  const data = useMemo<uPlot.AlignedData>(
    () => [
      [picture.fromNs, picture.toNs],
      [picture.lowPsn, picture.highPsn],
    ],
    // Another chosen packet is another picture.
    [picture, selected],
  );
  return (
    <div class="tipped">
      <Chart
        options={options}
        data={data}
        height={CHART_HEIGHT}
        label={`PSNs over time, ${picture.packets} packets`}
        onRange={(fromNs, toNs) => onRange({ fromNs, toNs })}
      />
      {tip.words === '' ? null : (
        <div class="tip" data-testid="tip" style={{ left: `${tip.left}px`, top: `${tip.top}px` }}>
          {tip.words}
        </div>
      )}
    </div>
  );
}

interface Now {
  readonly picture: SequencePicture;
  readonly selected: number;
  readonly onPacket: (number: number) => void;
  readonly onTip: (tip: { readonly left: number; readonly top: number; readonly words: string }) => void;
}

function sequenceOptions(palette: Palette, now: () => Now): Omit<uPlot.Options, 'width' | 'height'> {
  return {
    scales: {
      x: { time: false, range: (_plot, min, max) => [min, max] },
      y: { range: (_plot, min, max) => [min - (max - min) * 0.02, max + (max - min) * 0.04 + 1] },
    },
    axes: [timeAxis(palette), axis(palette, { label: 'relative PSN', size: 70 })],
    series: [{}, { show: true, stroke: 'transparent', points: { show: false } }],
    legend: { show: false },
    hooks: {
      setCursor: [
        (plot) => {
          const { left = -1, top = -1 } = plot.cursor;
          const words = left < 0 ? '' : wordsAt(plot, now().picture, left, top);
          const most = plot.over.offsetLeft + plot.over.clientWidth - TIP_WIDE;
          now().onTip({ left: Math.max(0, Math.min(plot.over.offsetLeft + left + 12, most)), top: top + 28, words });
        },
      ],
      draw: [(plot) => drawSequence(plot, now().picture, now().selected, palette)],
      ready: [
        (plot) =>
          plot.over.addEventListener('click', (event) => {
            const number = nearestPoint(plot, now().picture, event.offsetX, event.offsetY);
            if (number > 0) now().onPacket(number);
          }),
      ],
    },
  };
}

const CHART_HEIGHT = 460;
const TIP_WIDE = 260;
