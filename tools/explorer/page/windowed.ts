/**
 * A window of a long list, requested from the worker while scrolling: one request at a time, the newest wish next.
 *
 * Owns the order of requests, and the arithmetic of scroll bars that are shorter than what they stand for.
 */
import type { RefObject } from 'preact';
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';

/** A part of a list. */
export interface ListPart<Row> {
  readonly from: number;
  readonly rows: readonly Row[];
}

/** The last part that was answered. `ask` is called when `version` or the wish changes, and never twice at a time. */
export function usePart<Row>(
  ask: (from: number, count: number) => Promise<ListPart<Row> | undefined>,
  from: number,
  count: number,
  version: string,
): ListPart<Row> {
  const [part, setPart] = useState<ListPart<Row>>({ from: 0, rows: [] });
  const state = useRef({ wish: { from, count, version }, ask, asking: false, alive: true });
  state.current.wish = { from, count, version };
  state.current.ask = ask;
  useEffect(() => {
    const { current } = state;
    current.alive = true;
    return () => {
      current.alive = false;
    };
  }, []);
  useEffect(() => {
    const { current } = state;
    const run = async (): Promise<void> => {
      current.asking = true;
      for (let asked = ''; current.alive; ) {
        const { wish } = current;
        const name = `${wish.from} ${wish.count} ${wish.version}`;
        if (name === asked) break;
        asked = name;
        const answer = await current.ask(wish.from, wish.count).catch(() => undefined);
        if (answer !== undefined && current.alive) setPart(answer);
      }
      current.asking = false;
    };
    // A request under way already sees the new wish when its answer comes.
    if (!current.asking) void run();
  }, [from, count, version]);
  return part;
}

/** Where a box is scrolled to, in rows of equal height. */
export interface Scrolling<Box extends HTMLElement> {
  readonly box: RefObject<Box | null>;
  /** Height of what is inside. */
  readonly height: number;
  /** First row that is seen, and how many are. */
  readonly first: number;
  readonly visible: number;
  /** What to add to a row's own place, `row * rowPixels`. */
  readonly shift: number;
  readonly width: number;
  /** Scrolls as little as shows the row. */
  reveal(row: number): void;
}

/**
 * Follows the scrolling of a box with `total` rows of `rowPixels`, below a head of `headPixels` that stays in sight.
 */
export function useScrolling<Box extends HTMLElement = HTMLDivElement>(
  total: number,
  rowPixels: number,
  headPixels = 0,
): Scrolling<Box> {
  const box = useRef<Box | null>(null);
  const [view, setView] = useState({ top: 0, height: 400, width: 800 });
  useLayoutEffect(() => {
    const element = box.current;
    if (element === null) return undefined;
    const look = (): void =>
      setView({ top: element.scrollTop, height: element.clientHeight - headPixels, width: element.clientWidth });
    const observer = new ResizeObserver(look);
    observer.observe(element);
    element.addEventListener('scroll', look, { passive: true });
    look();
    return () => {
      observer.disconnect();
      element.removeEventListener('scroll', look);
    };
  }, [headPixels]);
  const bar = new ScrollBar(total, rowPixels);
  const first = bar.firstRow(view.top, view.height);
  return {
    box,
    height: bar.height,
    first,
    visible: Math.ceil(view.height / rowPixels),
    // Positions are relative to the first row, so they are right however many rows a pixel of the scroll bar stands
    // for.
    shift: bar.exact ? 0 : view.top - first * rowPixels,
    width: view.width,
    reveal: (row) => {
      const element = box.current;
      if (element === null) return;
      const room = element.clientHeight - headPixels;
      const at = bar.firstRow(element.scrollTop, room);
      const seen = Math.max(1, Math.floor(room / rowPixels) - 1);
      const exactlySeen = bar.exact && row * rowPixels < element.scrollTop;
      if (row < at || exactlySeen) element.scrollTop = bar.topOf(row, room);
      else if (row >= at + seen) element.scrollTop = bar.topOf(Math.max(0, row - seen + 1), room);
    },
  };
}

/**
 * Between rows and pixels. Elements that are too high are cut by browsers: then the bar is a measure, and not the thing
 * itself.
 */
class ScrollBar {
  readonly #total: number;
  readonly #rowPixels: number;

  constructor(total: number, rowPixels: number) {
    this.#total = total;
    this.#rowPixels = rowPixels;
  }

  get exact(): boolean {
    return this.#total * this.#rowPixels <= MOST_PIXELS;
  }

  get height(): number {
    return Math.min(this.#total * this.#rowPixels, MOST_PIXELS);
  }

  firstRow(top: number, seen: number): number {
    if (this.exact) return Math.floor(top / this.#rowPixels);
    const rows = this.#total - Math.floor(seen / this.#rowPixels);
    return Math.max(0, Math.floor((top / Math.max(1, this.height - seen)) * rows));
  }

  topOf(row: number, seen: number): number {
    if (this.exact) return row * this.#rowPixels;
    return Math.ceil((row / (this.#total - Math.floor(seen / this.#rowPixels))) * (this.height - seen));
  }
}

const MOST_PIXELS = 8_000_000;
