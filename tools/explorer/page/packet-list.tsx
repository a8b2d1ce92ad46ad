/**
 * The list of packets: as long as the capture, of which only what can be seen exists.
 *
 * Owns scrolling and the window of rows that it asks the worker for: one question at a time, the newest wish next.
 */
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import type { Row, RowWindow } from '../engine/protocol.ts';
import type { Client } from './client.ts';
import { markNames, seconds } from './words.ts';

interface Props {
  readonly client: Client;
  /** Rows there are. */
  readonly total: number;
  /** Changes whenever rows may have changed: another filter, another file, more packets. */
  readonly version: string;
  /** Number of the selected packet; 0: none. */
  readonly selected: number;
  /** Row to bring into sight; a new object asks again. */
  readonly reveal: { readonly row: number } | undefined;
  readonly onSelect: (number: number, row: number) => void;
}

/** The list. */
export function PacketList({ client, total, version, selected, reveal, onSelect }: Props) {
  const box = useRef<HTMLDivElement>(null);
  const [view, setView] = useState({ top: 0, height: 400 });
  const height = Math.min(total * ROW_PIXELS, MOST_PIXELS);
  const visible = Math.ceil(view.height / ROW_PIXELS);
  const first = firstRow(view.top, view.height, total, height);
  const rows = useRows(client, Math.max(0, first - SPARE), visible + 2 * SPARE, version);
  useLayoutEffect(() => {
    const element = box.current;
    if (element === null) return undefined;
    const look = (): void => setView({ top: element.scrollTop, height: element.clientHeight });
    const observer = new ResizeObserver(look);
    observer.observe(element);
    element.addEventListener('scroll', look, { passive: true });
    look();
    return () => {
      observer.disconnect();
      element.removeEventListener('scroll', look);
    };
  }, []);
  useLayoutEffect(() => {
    const element = box.current;
    if (element === null || reveal === undefined) return;
    const at = firstRow(element.scrollTop, element.clientHeight, total, height);
    const seen = Math.max(1, Math.floor(element.clientHeight / ROW_PIXELS) - 1);
    if (reveal.row < at) element.scrollTop = topOf(reveal.row, element.clientHeight, total, height);
    else if (reveal.row >= at + seen)
      element.scrollTop = topOf(Math.max(0, reveal.row - seen + 1), element.clientHeight, total, height);
  }, [reveal, total, height]);
  // What is drawn hangs on the row at the top, so that it is right however coarse a pixel of the scroll bar is.
  const shift = total * ROW_PIXELS <= MOST_PIXELS ? 0 : view.top - first * ROW_PIXELS;
  return (
    // biome-ignore lint/a11y/useSemanticElements: a table lays out all of its rows, this one only those that are seen
    <div
      class="list"
      role="grid"
      aria-label="Packets"
      aria-rowcount={total}
      aria-activedescendant={selected > 0 ? `row-${selected}` : undefined}
      tabIndex={0}
      ref={box}
      data-testid="list"
    >
      <div class="list-room" style={{ height: `${height}px` }}>
        {rows.map(({ row, at }) => (
          <Line
            key={at}
            row={row}
            top={at * ROW_PIXELS + shift}
            at={at}
            selected={row.number === selected}
            onSelect={onSelect}
          />
        ))}
      </div>
    </div>
  );
}

interface LineProps {
  readonly row: Row;
  readonly at: number;
  readonly top: number;
  readonly selected: boolean;
  readonly onSelect: Props['onSelect'];
}

function Line({ row, at, top, selected, onSelect }: LineProps) {
  const marks = markNames(row.marks);
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: the grid takes the keys for all of its rows
    // biome-ignore lint/a11y/useFocusableInteractive: the grid has the focus and names its active row
    // biome-ignore lint/a11y/useSemanticElements: as for the grid
    <div
      class={`row${selected ? ' selected' : ''}${row.broken ? ' broken' : ''}${toneOf(marks)}`}
      role="row"
      id={`row-${row.number}`}
      aria-rowindex={at + 1}
      aria-selected={selected}
      style={{ transform: `translateY(${top}px)` }}
      onClick={() => onSelect(row.number, at)}
    >
      <Cell name="number">{row.number}</Cell>
      <Cell name="time">{seconds(row.timeNs, 6)}</Cell>
      <Cell name="conversation">{row.conversation > 0 ? row.conversation : ''}</Cell>
      <Cell name="ends">{row.ends}</Cell>
      <Cell name="length">{row.length}</Cell>
      <Cell name="info">
        {marks.map((mark) => (
          <span class="mark" key={mark}>
            {mark}
          </span>
        ))}
        {row.info}
      </Cell>
    </div>
  );
}

function Cell({ name, children }: { readonly name: string; readonly children: preact.ComponentChildren }) {
  return (
    // biome-ignore lint/a11y/useFocusableInteractive: cells are read, not operated
    // biome-ignore lint/a11y/useSemanticElements: as for the grid
    <span class={`cell ${name}`} role="gridcell">
      {children}
    </span>
  );
}

/** Rows that are known, at their places. */
function useRows(client: Client, from: number, count: number, version: string): { row: Row; at: number }[] {
  const [window, setWindow] = useState<RowWindow>({ from: 0, total: 0, rows: [] });
  const state = useRef({ wish: { from, count, version }, asking: false, alive: true });
  state.current.wish = { from, count, version };
  useEffect(() => {
    const { current } = state;
    current.alive = true;
    return () => {
      current.alive = false;
    };
  }, []);
  useEffect(() => {
    const { current } = state;
    const ask = async (): Promise<void> => {
      current.asking = true;
      for (let asked = ''; current.alive; ) {
        const { wish } = current;
        const name = `${wish.from} ${wish.count} ${wish.version}`;
        if (name === asked) break;
        asked = name;
        const answer = await client.ask('rows', { from: wish.from, count: wish.count }).catch(() => undefined);
        if (answer !== undefined && current.alive) setWindow(answer);
      }
      current.asking = false;
    };
    // Whoever is asking already sees the new wish when its answer comes.
    if (!current.asking) void ask();
  }, [client, from, count, version]);
  return window.rows.map((row, index) => ({ row, at: window.from + index }));
}

function firstRow(top: number, seen: number, total: number, height: number): number {
  if (total * ROW_PIXELS <= MOST_PIXELS) return Math.floor(top / ROW_PIXELS);
  const rows = total - Math.floor(seen / ROW_PIXELS);
  return Math.max(0, Math.floor((top / Math.max(1, height - seen)) * rows));
}

function topOf(row: number, seen: number, total: number, height: number): number {
  if (total * ROW_PIXELS <= MOST_PIXELS) return row * ROW_PIXELS;
  return Math.ceil((row / (total - Math.floor(seen / ROW_PIXELS))) * (height - seen));
}

function toneOf(marks: readonly string[]): string {
  if (marks.some((mark) => BAD.has(mark))) return ' tone-bad';
  return marks.some((mark) => mark !== 'ce') ? ' tone-odd' : marks.length > 0 ? ' tone-ce' : '';
}

const BAD: ReadonlySet<string> = new Set(['gap', 'nak', 'rnr-nak', 'bad-icrc', 'violation']);
/** As in style.css. */
const ROW_PIXELS = 24;
/** Elements that are higher than this are cut by browsers: then the scroll bar is a measure and not the thing itself. */
const MOST_PIXELS = 8_000_000;
const SPARE = 20;
