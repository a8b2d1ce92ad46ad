/**
 * The ladder true to time: the slope of an arrow is the time on the way, and pauses are folded.
 *
 * Owns the scale, and what stays in the middle when it changes. The worker owns places, `ladder/time-layout.ts` shapes.
 */
import { useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import type { TimeLadderWindow } from '../engine/protocol.ts';
import { type LaidRow, railsOf } from '../ladder/layout.ts';
import { captureAt, layoutTimeLadder, type PlacedRow } from '../ladder/time-layout.ts';
import { drawnShape, LadderHead, SpokenRows } from './ladder-parts.tsx';
import { type BoxProps, useLadderKeys, useLadderPlace } from './ladder-place.ts';
import { memo } from './memo.ts';
import { isTyping } from './view.ts';
import { usePart, useScrolling } from './windowed.ts';
import { seconds, span } from './words.ts';

/** The ladder. */
export function TimeLadderBox({ client, news, place, go, conversation, left, right }: BoxProps) {
  const [zoom, setZoom] = useState(0);
  const [about, setAbout] = useState<TimeLadderWindow>();
  const wish = { conversation, fromNs: place.fromNs, toNs: place.toNs, zoom };
  const total = Math.ceil((about?.height ?? 0) / STEP_PIXELS);
  const { box, height, first, visible, shift, width, reveal } = useScrolling<HTMLElement>(total, STEP_PIXELS);
  const ask = async (from: number, steps: number) => {
    const answer = await client.ask('timeLadder', { ...wish, top: from * STEP_PIXELS, height: steps * STEP_PIXELS });
    setAbout(answer);
    return { from, rows: answer.rows };
  };
  const count = visible + 2 * SPARE;
  const version = `${conversation} ${place.fromNs} ${place.toNs} ${zoom} ${news.done}`;
  const part = usePart<PlacedRow>(ask, Math.max(0, first - SPARE), count, version);
  const rails = railsOf(width);
  const long = (news.analysis?.capture.durationNs ?? 0) >= 1e9;
  const room = {
    rails,
    transitNs: about?.transitNs ?? ([Number.NaN, Number.NaN] as const),
    pixelsPerNs: about?.pixelsPerNs ?? 0,
    clock: (timeNs: number) =>
      long ? seconds(timeNs, rails.narrow ? 6 : 9) : (timeNs / 1e3).toFixed(rails.narrow ? 1 : 3),
  };
  const drawn = useMemo(() => layoutTimeLadder(part.rows, room), [part, width, about?.pixelsPerNs, long]);
  const lineOf = async (number: number): Promise<number> =>
    Math.floor((await client.ask('timeLadderPlace', { ...wish, number })) / STEP_PIXELS);
  const move = useLadderPlace({ client, conversation, place, go, total, reveal: centred(box, reveal), lineOf });
  useLadderKeys(move, () => go({ tab: 'packets', filter: '', conversation }));
  useZoomKeys((by) => setZoom(by === 0 ? 0 : zoom + by));
  useMiddle(box, zoom, total);
  const x = captureAt(room);
  const svgTop = part.from * STEP_PIXELS;
  return (
    <>
      <LadderHead rails={rails} left={left} right={right} clock={long ? 's' : 'us'}>
        {slopeWords(room.transitNs)}{' '}
        <span class="buttons">
          <button type="button" title="Key +" aria-label="Zoom in" onClick={() => setZoom(zoom + 1)}>
            +
          </button>
          <button type="button" title="Key -" aria-label="Zoom out" onClick={() => setZoom(zoom - 1)}>
            −
          </button>
        </span>
      </LadderHead>
      <section
        class="ladder"
        ref={box}
        // biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, and takes the keys
        tabIndex={0}
        aria-label={`Ladder of conversation ${conversation}, true to time`}
        data-testid="ladder"
      >
        <div style={{ height: `${height}px`, position: 'relative', overflow: 'hidden' }}>
          <svg
            class="ladder-svg"
            width={width}
            height={count * STEP_PIXELS}
            style={{ top: `${svgTop + shift}px` }}
            viewBox={`0 ${svgTop} ${width} ${count * STEP_PIXELS}`}
            aria-hidden="true"
          >
            {[rails.left, rails.right].map((at) => (
              <line key={at} class="rail" x1={at} x2={at} y1={svgTop} y2={svgTop + count * STEP_PIXELS} />
            ))}
            {x === undefined ? null : (
              <line class="capture-line" x1={x} x2={x} y1={svgTop} y2={svgTop + count * STEP_PIXELS} />
            )}
            {drawn.map((row, index) => (
              <Rung
                key={part.rows[index]?.line ?? index}
                row={row}
                width={width}
                scale={room.pixelsPerNs}
                selected={row.number > 0 && row.number === place.packet}
                onSelect={(packet) => go({ packet, conversation })}
              />
            ))}
          </svg>
          <SpokenRows rows={drawn} />
        </div>
      </section>
    </>
  );
}

/** What the slopes are made of. */
function slopeWords(transitNs: readonly [number, number]): string {
  const known = transitNs.filter((ns) => !Number.isNaN(ns));
  if (known.length === 0) return 'Time on the way: not known, arrows are level.';
  const sum = known.reduce((all, ns) => all + ns, 0);
  const part = known.length === 2 ? '' : ' on the part that is known';
  return `Slope: on the way at most ${span(Math.round(sum))}${part}. Dotted: the capture, whose times these are.`;
}

interface RungProps {
  readonly row: LaidRow;
  readonly width: number;
  readonly scale: number;
  readonly selected: boolean;
  readonly onSelect: (number: number) => void;
}

const Rung = memo(
  function Rung({ row, selected, onSelect }: RungProps) {
    return (
      // biome-ignore lint/a11y/noStaticElementInteractions: the ladder as a whole takes the keys
      <g
        class={`rung${selected ? ' selected' : ''}${row.number > 0 ? ' packet-rung' : ''}`}
        data-number={row.number}
        onClick={() => row.number > 0 && onSelect(row.number)}
        onKeyDown={() => undefined}
      >
        <title>{row.text}</title>
        {row.shapes.map((shape, index) => drawnShape(shape, index))}
      </g>
    );
  },
  (one, other) =>
    one.row.top === other.row.top &&
    one.row.text === other.row.text &&
    one.row.shapes.length === other.row.shapes.length &&
    one.width === other.width &&
    one.scale === other.scale &&
    one.selected === other.selected,
);

/** Not at the edge, where its arrow would be cut. */
function centred(box: { readonly current: HTMLElement | null }, reveal: (line: number) => void) {
  return (line: number): void => {
    const around = Math.floor((box.current?.clientHeight ?? 0) / STEP_PIXELS / 4);
    reveal(Math.max(0, line - around));
    reveal(line + around);
  };
}

/** What was in the middle stays there when the scale changes. */
function useMiddle(box: { readonly current: HTMLElement | null }, zoom: number, total: number): void {
  const before = useRef({ zoom, total, part: 0 });
  useLayoutEffect(() => {
    const element = box.current;
    if (element === null) return undefined;
    const look = (): void => {
      before.current.part = (element.scrollTop + element.clientHeight / 2) / Math.max(1, element.scrollHeight);
    };
    element.addEventListener('scroll', look, { passive: true });
    return () => element.removeEventListener('scroll', look);
  }, [box]);
  useLayoutEffect(() => {
    const element = box.current;
    const last = before.current;
    if (element !== null && last.zoom !== zoom && last.total !== total) {
      element.scrollTop = last.part * element.scrollHeight - element.clientHeight / 2;
      before.current = { ...last, zoom, total };
    } else if (last.zoom === zoom) before.current = { ...last, total };
  }, [box, zoom, total]);
}

function useZoomKeys(change: (by: number) => void): void {
  const latest = useRef(change);
  latest.current = change;
  useLayoutEffect(() => {
    const listen = (event: KeyboardEvent): void => {
      if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return;
      const by = event.key === '+' ? 1 : event.key === '-' ? -1 : 0;
      if (by === 0 && event.key !== '0') return;
      latest.current(by);
      event.preventDefault();
    };
    addEventListener('keydown', listen);
    return () => removeEventListener('keydown', listen);
  }, []);
}

/** The ladder is asked for in steps of so many pixels. */
const STEP_PIXELS = 28;
const SPARE = 10;
