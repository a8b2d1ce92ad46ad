/**
 * The list of packets: as long as the capture; only the visible rows exist.
 *
 * Owns how a line looks.
 */
import { useLayoutEffect, useRef } from 'preact/hooks';
import type { PacketRow } from '../engine/protocol.ts';
import type { Client } from './client.ts';
import { COLUMN_IDS, type Column, type ColumnChoice, type ColumnId, columnsOf, gridOf } from './columns.ts';
import { isMenuKey } from './context-menu.tsx';
import { type HeadProps, ListHead } from './list-head.tsx';
import { memo } from './memo.ts';
import { useNarrow } from './narrow.ts';
import { usePart, useScrolling } from './windowed.ts';
import { markNames } from './words.ts';

interface Props extends HeadProps {
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
  /** The menu of a packet was asked for, at one of its cells. */
  readonly onMenu: (event: MouseEvent | KeyboardEvent, row: PacketRow, column: ColumnId) => void;
}

/** The list. */
export function PacketList({ client, total, version, selected, reveal, onSelect, onMenu, ...heads }: Props) {
  const narrow = useNarrow();
  const choice = narrow ? NARROW_CHOICE : heads.choice;
  const rowPixels = narrow ? NARROW_ROW_PIXELS : ROW_PIXELS;
  const { box, height, first, visible, shift, reveal: scrollTo } = useScrolling(total, rowPixels, ROW_PIXELS);
  const count = visible + 2 * SPARE;
  const { sort } = heads;
  const { from, rows } = usePart<PacketRow>(
    (start, wanted) => client.ask('rows', { from: start, count: wanted, ...(sort && { sort }) }),
    Math.max(0, first - SPARE),
    count,
    `${version} ${sort?.column} ${sort?.descending}`,
  );
  const scroll = useRef(scrollTo);
  scroll.current = scrollTo;
  useLayoutEffect(() => {
    if (reveal !== undefined) scroll.current(reveal.row);
  }, [reveal]);
  const columns = columnsOf(choice);
  const { template, pixels } = gridOf(choice);
  const style = narrow ? {} : { '--columns': template, '--list-width': `${pixels}px` };
  return (
    // biome-ignore lint/a11y/useSemanticElements: a table lays out all of its rows, this one only those that are seen
    <div
      class={narrow ? 'list two-lines' : 'list'}
      role="grid"
      aria-label="Packets"
      aria-rowcount={total + 1}
      aria-activedescendant={rows.some(({ number }) => number === selected) ? `row-${selected}` : undefined}
      tabIndex={0}
      ref={box}
      style={style}
      onContextMenu={(event) => {
        const cell = event.target instanceof Element ? event.target.closest('[data-column]') : null;
        const number = Number(cell?.closest('.row')?.id.slice('row-'.length) ?? 0);
        const row = rows.find((one) => one.number === number);
        const column = COLUMN_IDS.find((id) => id === cell?.getAttribute('data-column'));
        if (row !== undefined && column !== undefined) onMenu(event, row, column);
      }}
      onKeyDown={(event) => {
        const row = rows.find((one) => one.number === selected);
        if (row !== undefined && isMenuKey(event)) onMenu(event, row, 'info');
      }}
      data-testid="list"
    >
      <ListHead {...heads} choice={choice} />
      {/* biome-ignore lint/a11y/useSemanticElements: as for the grid */}
      <div class="list-room" role="rowgroup" style={{ height: `${height}px` }}>
        {rows.map((row, index) => (
          <Line
            // Lines that leave the window on one side come back on the other: nothing is made or thrown away.
            key={(from + index) % Math.max(count, rows.length)}
            row={row}
            columns={columns}
            choice={choice}
            top={(from + index) * rowPixels + shift}
            at={from + index}
            selected={row.number === selected}
            onSelect={onSelect}
          />
        ))}
      </div>
    </div>
  );
}

interface LineProps {
  readonly row: PacketRow;
  readonly columns: readonly Column[];
  /** Tells whether the columns are the same. */
  readonly choice: ColumnChoice;
  readonly at: number;
  readonly top: number;
  readonly selected: boolean;
  readonly onSelect: Props['onSelect'];
}

const Line = memo(function Line({ row, columns, choice, at, top, selected, onSelect }: LineProps) {
  const marks = markNames(row.marks);
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: the grid takes the keys for all of its rows
    // biome-ignore lint/a11y/useFocusableInteractive: the grid has the focus and names its active row
    // biome-ignore lint/a11y/useSemanticElements: as for the grid
    <div
      class={`row${selected ? ' selected' : ''}${row.broken ? ' broken' : ''}${toneOf(marks)}`}
      role="row"
      id={`row-${row.number}`}
      aria-rowindex={at + 2}
      aria-selected={selected}
      style={{ transform: `translateY(${top}px)` }}
      onClick={() => onSelect(row.number, at)}
    >
      {columns.map(({ id, text }) => (
        <Cell name={id} key={id}>
          {id !== 'info' || choice.shown.includes('marks')
            ? null
            : marks.map((mark) => (
                <span class="mark" key={mark}>
                  {mark}
                </span>
              ))}
          {text(row)}
        </Cell>
      ))}
    </div>
  );
}, sameLine);

/** Rows come anew with each answer: what they say counts. */
function sameLine(one: LineProps, other: LineProps): boolean {
  const [a, b] = [one.row, other.row];
  return (
    one.choice === other.choice &&
    one.top === other.top &&
    one.at === other.at &&
    one.selected === other.selected &&
    a.number === b.number &&
    a.marks === b.marks &&
    a.conversation === b.conversation &&
    a.info === b.info &&
    a.timeNs === b.timeNs &&
    a.deltaNs === b.deltaNs &&
    a.length === b.length
  );
}

function Cell({ name, children }: { readonly name: string; readonly children: preact.ComponentChildren }) {
  return (
    // biome-ignore lint/a11y/useFocusableInteractive: cells are read, not operated
    // biome-ignore lint/a11y/useSemanticElements: as for the grid
    <span class={`cell ${name}`} role="gridcell" data-column={name}>
      {children}
    </span>
  );
}

function toneOf(marks: readonly string[]): string {
  if (marks.some((mark) => BAD.has(mark))) return ' tone-bad';
  return marks.some((mark) => mark !== 'ce') ? ' tone-odd' : marks.length > 0 ? ' tone-ce' : '';
}

const BAD: ReadonlySet<string> = new Set(['gap', 'nak', 'rnr-nak', 'bad-icrc', 'violation']);
/** As in packets.css and narrow.css. */
const ROW_PIXELS = 24;
const NARROW_ROW_PIXELS = 44;
const SPARE = 12;
/** On a telephone a packet has two lines: these, and what it is below. */
const NARROW_CHOICE: ColumnChoice = { shown: ['number', 'time', 'ends', 'length'], pixels: {} };
