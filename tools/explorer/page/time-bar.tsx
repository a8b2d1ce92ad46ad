/**
 * The whole capture as a strip above the views that have a time: how much went over the wire, where something is
 * remarkable, where the chosen packet is. What is drawn out of it is the time that all of these views show.
 *
 * Owns drawing a piece with the mouse, and its ends as sliders for the keys.
 */
import { useEffect, useRef, useState } from 'preact/hooks';
import type { ActivityPicture } from '../engine/protocol.ts';
import { type TimeRange, WHOLE } from './time-range.tsx';
import type { ViewProps } from './view.ts';
import { span } from './words.ts';

/** The strip. */
export function TimeBar({ client, news, place, go }: ViewProps) {
  const picture = useActivity(client, news);
  const selectedNs = useTimeOf(client, place.packet, news.done);
  const [draft, setDraft] = useState<TimeRange>();
  const strip = useRef<HTMLDivElement>(null);
  const start = useRef<number | undefined>(undefined);
  if (picture === undefined) return <div class="time-bar" />;
  const { fromNs, toNs } = picture;
  const brushed = place.toNs > place.fromNs;
  const shown = draft ?? (brushed ? place : picture);
  const part = (timeNs: number): number => Math.max(0, Math.min(1, (timeNs - fromNs) / (toNs - fromNs)));
  const timeAt = (event: PointerEvent): number => {
    const { left = 0, width = 1 } = strip.current?.getBoundingClientRect() ?? {};
    return fromNs + Math.max(0, Math.min(1, (event.clientX - left) / width)) * (toNs - fromNs);
  };
  const move = (end: 'fromNs' | 'toNs', by: number): void => {
    const moved = { fromNs: shown.fromNs, toNs: shown.toNs, [end]: shown[end] + by * (toNs - fromNs) };
    const range = { fromNs: Math.max(fromNs, moved.fromNs), toNs: Math.min(toNs, moved.toNs) };
    if (range.toNs > range.fromNs) go(range.fromNs === fromNs && range.toNs === toNs ? WHOLE : range);
  };
  return (
    <div class="time-bar" data-testid="time-bar">
      <div
        class="time-strip"
        ref={strip}
        onPointerDown={(event) => {
          if (event.button !== 0 || (event.target instanceof Element && event.target.matches('.time-end'))) return;
          event.currentTarget.setPointerCapture(event.pointerId);
          start.current = timeAt(event);
        }}
        onPointerMove={(event) => {
          const from = start.current;
          if (from === undefined) return;
          const to = timeAt(event);
          setDraft({ fromNs: Math.min(from, to), toNs: Math.max(from, to) });
        }}
        onPointerUp={(event) => {
          const from = start.current;
          start.current = undefined;
          setDraft(undefined);
          if (from === undefined) return;
          const to = timeAt(event);
          // A click is no piece: it gives all of the time back.
          const wide = Math.abs(to - from) > (LEAST_PIXELS * (toNs - fromNs)) / event.currentTarget.clientWidth;
          go(wide ? { fromNs: Math.min(from, to), toNs: Math.max(from, to) } : WHOLE);
        }}
        onPointerCancel={() => {
          start.current = undefined;
          setDraft(undefined);
        }}
      >
        <Activity picture={picture} />
        {selectedNs === undefined ? null : <i class="time-packet" style={{ left: `${100 * part(selectedNs)}%` }} />}
        <i class="time-outside" style={{ left: 0, width: `${100 * part(shown.fromNs)}%` }} />
        <i class="time-outside" style={{ right: 0, width: `${100 * (1 - part(shown.toNs))}%` }} />
        {(['fromNs', 'toNs'] as const).map((end) => (
          <div
            key={end}
            class="time-end"
            role="slider"
            tabIndex={0}
            aria-label={end === 'fromNs' ? 'Shown from' : 'Shown to'}
            aria-valuemin={fromNs}
            aria-valuemax={toNs}
            aria-valuenow={Math.round(shown[end])}
            aria-valuetext={span(Math.round(shown[end]))}
            style={{ left: `${100 * part(shown[end])}%` }}
            onKeyDown={(event) => {
              const by = event.key === 'ArrowRight' ? 1 : event.key === 'ArrowLeft' ? -1 : 0;
              if (by === 0) return;
              event.preventDefault();
              event.stopPropagation();
              move(end, by * (event.shiftKey ? LARGE_STEP : STEP));
            }}
          />
        ))}
      </div>
      <span class="quiet time-words" data-testid="time-shown">
        {brushed || draft !== undefined
          ? `${span(Math.round(shown.fromNs))} to ${span(Math.round(shown.toNs))}`
          : `all ${span(Math.round(toNs - fromNs))}`}
      </span>
      {brushed ? (
        <button type="button" onClick={() => go(WHOLE)}>
          All time
        </button>
      ) : null}
    </div>
  );
}

function Activity({ picture: { bytes, remarkable } }: { readonly picture: ActivityPicture }) {
  const most = bytes.reduce((high, value) => Math.max(high, value), 1);
  // Whatever there was can be seen: a root lifts what is small.
  const heights = Array.from(bytes, (value) => (value === 0 ? 0 : Math.max(2, Math.sqrt(value / most) * HEIGHT)));
  const sent = heights.map((high, at) =>
    high === 0 ? '' : `M${at} ${HEIGHT}v${-high.toFixed(1)}h1v${high.toFixed(1)}z`,
  );
  const marked = Array.from(remarkable, (value, at) => (value === 0 ? '' : `M${at} 0v5h1v-5z`));
  return (
    <svg viewBox={`0 0 ${bytes.length} ${HEIGHT}`} preserveAspectRatio="none" aria-hidden="true">
      <path class="time-sent" d={sent.join('')} />
      <path class="time-marked" d={marked.join('')} />
    </svg>
  );
}

/** The strip's sums, anew now and then while the file is read. */
function useActivity(client: ViewProps['client'], { done, packets }: ViewProps['news']): ActivityPicture | undefined {
  const [picture, setPicture] = useState<ActivityPicture>();
  const step = done ? 'all' : Math.floor(Math.log2(1 + packets));
  useEffect(() => {
    let stale = false;
    client.look('activity', { bins: BINS }, (answer) => {
      if (!stale) setPicture(answer);
    });
    return () => {
      stale = true;
    };
  }, [client, step]);
  return picture;
}

function useTimeOf(client: ViewProps['client'], packet: number, done: boolean): number | undefined {
  const [timeNs, setTimeNs] = useState<number>();
  useEffect(() => {
    let stale = false;
    if (packet === 0) setTimeNs(undefined);
    else client.look('packet', { number: packet }, (detail) => !stale && setTimeNs(detail?.row.timeNs));
    return () => {
      stale = true;
    };
  }, [client, packet, done]);
  return timeNs;
}

const BINS = 480;
const HEIGHT = 26;
const LEAST_PIXELS = 3;
const STEP = 0.01;
const LARGE_STEP = 0.1;
