/**
 * What stands above the list of packets: a head for each column, which sorts by it and whose edge makes it wider, and
 * the choice of columns.
 *
 * Owns dragging an edge.
 */
import { useRef } from 'preact/hooks';
import type { RowSort } from '../engine/protocol.ts';
import { COLUMNS, type Column, type ColumnChoice, columnsOf, USUAL, withWidth } from './columns.ts';

/** What heads share. */
export interface HeadProps {
  readonly choice: ColumnChoice;
  readonly onChoice: (choice: ColumnChoice) => void;
  readonly sort: RowSort | undefined;
  readonly onSort: (sort: RowSort | undefined) => void;
}

/** The heads; they stay in sight. */
export function ListHead(props: HeadProps) {
  const columns = columnsOf(props.choice);
  return (
    // biome-ignore lint/a11y/useFocusableInteractive: the grid has the focus
    // biome-ignore lint/a11y/useSemanticElements: a table lays out all of its rows
    <div class="list-head" role="row">
      {columns.map((column, at) => (
        <Head key={column.id} column={column} last={at === columns.length - 1} {...props} />
      ))}
    </div>
  );
}

function Head({ column, last, choice, onChoice, sort, onSort }: HeadProps & { column: Column; last: boolean }) {
  const own = column.sort;
  const sorted = own !== undefined && sort?.column === own ? (sort.descending ? 'descending' : 'ascending') : 'none';
  return (
    // biome-ignore lint/a11y/useFocusableInteractive: the button inside has the focus
    // biome-ignore lint/a11y/useSemanticElements: as for the row
    <span class={`cell head-cell ${column.id} ${sorted}`} role="columnheader" aria-sort={sorted}>
      {own === undefined ? (
        <span class="cell" title={column.title}>
          {column.words}
        </span>
      ) : (
        <button
          type="button"
          class="cell"
          title={`${column.title}. Sorts by it`}
          onClick={() => onSort(nextSort(sort, own))}
        >
          {column.words}
        </button>
      )}
      {last ? null : <Edge column={column} choice={choice} onChoice={onChoice} />}
    </span>
  );
}

/** Upwards, downwards, and as the capture has it. */
function nextSort(sort: RowSort | undefined, column: RowSort['column']): RowSort | undefined {
  if (sort?.column !== column) return { column, descending: false };
  return sort.descending ? undefined : { column, descending: true };
}

/** The right edge of a column: dragged, or moved with the arrow keys; a double click makes it as wide as at first. */
function Edge({ column, choice, onChoice }: Pick<HeadProps, 'choice' | 'onChoice'> & { readonly column: Column }) {
  const start = useRef<{ x: number; pixels: number } | undefined>(undefined);
  const { id } = column;
  const pixels = choice.pixels[id] ?? column.pixels;
  const set = (wide: number): void => onChoice(withWidth(choice, id, wide));
  return (
    // biome-ignore lint/a11y/useSemanticElements: hr takes no value
    <span
      class="edge"
      role="separator"
      tabIndex={0}
      aria-orientation="vertical"
      aria-label={`Width of ${column.words}`}
      aria-valuenow={pixels}
      aria-valuemin={0}
      aria-valuemax={2000}
      onPointerDown={(event) => {
        event.currentTarget.setPointerCapture(event.pointerId);
        start.current = { x: event.clientX, pixels };
        event.preventDefault();
      }}
      onPointerMove={(event) => {
        if (start.current !== undefined) set(start.current.pixels + event.clientX - start.current.x);
      }}
      onPointerUp={() => {
        start.current = undefined;
      }}
      onDblClick={() => set(column.pixels)}
      onKeyDown={(event) => {
        const by = event.key === 'ArrowRight' ? STEP : event.key === 'ArrowLeft' ? -STEP : 0;
        if (by === 0) return;
        set(pixels + by);
        event.preventDefault();
        event.stopPropagation();
      }}
    />
  );
}

/** Which columns are seen. */
export function ColumnMenu({ choice, onChoice }: Pick<HeadProps, 'choice' | 'onChoice'>) {
  return (
    <details class="legend column-menu">
      <summary>Columns</summary>
      <fieldset>
        <legend class="spoken">Columns of the list</legend>
        {COLUMNS.slice(0, -1).map(({ id, words, title }) => (
          <label key={id} title={title}>
            <input
              type="checkbox"
              checked={choice.shown.includes(id)}
              onChange={({ currentTarget: { checked } }) =>
                onChoice({
                  ...choice,
                  shown: checked ? [...choice.shown, id] : choice.shown.filter((one) => one !== id),
                })
              }
            />{' '}
            {words}
          </label>
        ))}
        <button type="button" onClick={() => onChoice(USUAL)}>
          As at first
        </button>
      </fieldset>
    </details>
  );
}

const STEP = 8;
