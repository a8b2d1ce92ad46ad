/**
 * The list of packets: as long as the capture; only the visible rows exist.
 *
 * Owns how a line looks.
 */
import { useLayoutEffect, useRef } from 'preact/hooks';
import type { PacketRow } from '../engine/protocol.ts';
import type { Client } from './client.ts';
import { memo } from './memo.ts';
import { usePart, useScrolling } from './windowed.ts';
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
  const { box, height, first, visible, shift, reveal: scrollTo } = useScrolling(total, ROW_PIXELS, ROW_PIXELS);
  const count = visible + 2 * SPARE;
  const { from, rows } = usePart<PacketRow>(
    (start, wanted) => client.ask('rows', { from: start, count: wanted }),
    Math.max(0, first - SPARE),
    count,
    version,
  );
  const scroll = useRef(scrollTo);
  scroll.current = scrollTo;
  useLayoutEffect(() => {
    if (reveal !== undefined) scroll.current(reveal.row);
  }, [reveal]);
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
      <Head />
      <div class="list-room" style={{ height: `${height}px` }}>
        {rows.map((row, index) => (
          <Line
            // Lines that leave the window on one side come back on the other: nothing is made or thrown away.
            key={(from + index) % Math.max(count, rows.length)}
            row={row}
            top={(from + index) * ROW_PIXELS + shift}
            at={from + index}
            selected={row.number === selected}
            onSelect={onSelect}
          />
        ))}
      </div>
    </div>
  );
}

/** What the columns are; it stays in sight. */
function Head() {
  return (
    // biome-ignore lint/a11y/useFocusableInteractive: the grid has the focus
    // biome-ignore lint/a11y/useSemanticElements: as for the grid
    <div class="list-head" role="row">
      {HEADS.map(([name, words, title]) => (
        // biome-ignore lint/a11y/useFocusableInteractive: heads are read, not operated
        // biome-ignore lint/a11y/useSemanticElements: as for the grid
        <span class={`cell ${name}`} role="columnheader" title={title} key={name}>
          {words}
        </span>
      ))}
    </div>
  );
}

interface LineProps {
  readonly row: PacketRow;
  readonly at: number;
  readonly top: number;
  readonly selected: boolean;
  readonly onSelect: Props['onSelect'];
}

const Line = memo(function Line({ row, at, top, selected, onSelect }: LineProps) {
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
      <Cell name="time">{seconds(row.timeNs)}</Cell>
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
}, sameLine);

/** Rows come anew with each answer: what they say counts. */
function sameLine(one: LineProps, other: LineProps): boolean {
  const [a, b] = [one.row, other.row];
  return (
    one.top === other.top &&
    one.at === other.at &&
    one.selected === other.selected &&
    a.number === b.number &&
    a.marks === b.marks &&
    a.conversation === b.conversation &&
    a.info === b.info &&
    a.timeNs === b.timeNs &&
    a.length === b.length
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

function toneOf(marks: readonly string[]): string {
  if (marks.some((mark) => BAD.has(mark))) return ' tone-bad';
  return marks.some((mark) => mark !== 'ce') ? ' tone-odd' : marks.length > 0 ? ' tone-ce' : '';
}

const BAD: ReadonlySet<string> = new Set(['gap', 'nak', 'rnr-nak', 'bad-icrc', 'violation']);
/** As in packets.css. */
const ROW_PIXELS = 24;
const SPARE = 12;
/** Class of the cells, what stands above them, and what that means. */
const HEADS: readonly (readonly [name: string, words: string, title: string])[] = [
  ['number', 'No.', 'Number of the packet in the capture'],
  ['time', 'Time, s', 'Seconds since the first packet, to the nanosecond'],
  ['conversation', 'Conv', 'Conversation, as in the overview'],
  ['ends', 'From > to', 'Source and destination'],
  ['length', 'Bytes', 'Length on the wire'],
  ['info', 'What it is', 'Marks of the analysis, operation, PSN and queue pair'],
];
