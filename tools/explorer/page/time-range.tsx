/** The piece of time that views show: buttons and keys to move it. Owns the arithmetic. */
import { useLayoutEffect, useRef } from 'preact/hooks';
import { isTyping } from './view.ts';

/** From and to, in nanoseconds; equal ones mean all of it. */
export interface TimeRange {
  readonly fromNs: number;
  readonly toNs: number;
}

/** All of it. */
export const WHOLE: TimeRange = { fromNs: 0, toNs: 0 };

interface Props {
  readonly shown: TimeRange;
  readonly onRange: (range: TimeRange) => void;
}

/** Buttons, and the keys + - 0 and the arrows to the sides. */
export function TimeButtons({ shown, onRange }: Props) {
  const latest = useRef({ shown, onRange });
  latest.current = { shown, onRange };
  // Before the browser paints, as all keys: what one sees takes its keys.
  useLayoutEffect(() => {
    const listen = (event: KeyboardEvent): void => {
      if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return;
      const change = CHANGES[event.key];
      const tab = event.target instanceof HTMLElement && event.target.role === 'tab';
      if (change === undefined || (tab && event.key.startsWith('Arrow'))) return;
      latest.current.onRange(change(latest.current.shown));
      event.preventDefault();
    };
    addEventListener('keydown', listen);
    return () => removeEventListener('keydown', listen);
  }, []);
  return (
    <span class="buttons">
      <button type="button" onClick={() => onRange(zoomed(shown, 0.5))} title="Key +">
        Zoom in
      </button>
      <button type="button" onClick={() => onRange(zoomed(shown, 2))} title="Key -">
        Zoom out
      </button>
      <button type="button" onClick={() => onRange(WHOLE)} title="Key 0">
        All
      </button>
    </span>
  );
}

function zoomed({ fromNs, toNs }: TimeRange, factor: number): TimeRange {
  const middle = (fromNs + toNs) / 2;
  const half = Math.max(LEAST_NS, (factor * (toNs - fromNs)) / 2);
  return clamped(middle - half, middle + half);
}

function moved({ fromNs, toNs }: TimeRange, part: number): TimeRange {
  const by = part * (toNs - fromNs);
  return clamped(fromNs + by, toNs + by);
}

/** Nothing is before the first packet, as far as ranges go. */
function clamped(fromNs: number, toNs: number): TimeRange {
  return fromNs < 0 ? { fromNs: 0, toNs: toNs - fromNs } : { fromNs, toNs };
}

const LEAST_NS = 50;
const CHANGES: Readonly<Record<string, (range: TimeRange) => TimeRange>> = {
  '+': (range) => zoomed(range, 0.5),
  '-': (range) => zoomed(range, 2),
  '0': () => WHOLE,
  ArrowLeft: (range) => moved(range, -0.25),
  ArrowRight: (range) => moved(range, 0.25),
};
