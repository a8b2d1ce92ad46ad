/**
 * The order of the rows of the list: that of the capture, or by what a column says, ties in the order of the capture.
 *
 * Owns the sorted lists of indices; one is kept, and made anew when other packets pass the filter. While the capture is
 * read, or the filter looks at it, rows stand in the order of the capture.
 */
import { NONE, type PacketTable } from './packet-table.ts';
import type { RowSort, SortColumn } from './protocol.ts';
import type { CaptureSession } from './session.ts';

/** Where packets stand, and what stands where. */
export class RowOrder {
  readonly #session: CaptureSession;
  #kept: { readonly name: string; readonly order: Uint32Array } | undefined;

  constructor(session: CaptureSession) {
    this.#session = session;
  }

  /** Index of the packet in a row; undefined behind the last. */
  indexOfRow(row: number, sort: RowSort | undefined): number | undefined {
    const order = this.#order(sort);
    return order === undefined ? this.#session.indexOfRow(row) : order[row];
  }

  /** Row in which the packet of an index stands, or in the order of the capture the next one that is shown. */
  rowOfIndex(index: number, sort: RowSort | undefined): number {
    const order = this.#order(sort);
    if (order === undefined) return this.#session.rowOfIndex(index);
    return Math.max(0, order.indexOf(index));
  }

  #order(sort: RowSort | undefined): Uint32Array | undefined {
    const session = this.#session;
    if (sort === undefined || !session.done || !session.filterIsDone) return undefined;
    const name = `${sort.column} ${sort.descending} ${session.filterings}`;
    if (this.#kept?.name === name) return this.#kept.order;
    const shown = Uint32Array.from({ length: session.shown }, (_, row) => session.indexOfRow(row) ?? 0);
    const order = sorted(shown, KEYS[sort.column], session.table);
    if (sort.descending) order.reverse();
    this.#kept = { name, order };
    return order;
  }
}

type Key = (table: PacketTable, index: number) => number;

/**
 * Without comparing functions, which take a second for a million packets: key and index are one number as long as that
 * is exact.
 */
function sorted(indices: Uint32Array, key: Key, table: PacketTable): Uint32Array {
  const keys = Float64Array.from(indices, (index) => key(table, index));
  const [least, most] = keys.reduce(([low, high], value) => [Math.min(low, value), Math.max(high, value)], [
    Number.POSITIVE_INFINITY,
    Number.NEGATIVE_INFINITY,
  ] as [number, number]);
  const count = table.length;
  if ((most - least + 1) * count > Number.MAX_SAFE_INTEGER) {
    const rows = Uint32Array.from(indices, (_, row) => row);
    return rows.sort((a, b) => (keys[a] ?? 0) - (keys[b] ?? 0) || a - b).map((row) => indices[row] ?? 0);
  }
  const joined = keys.map((value, row) => (value - least) * count + (indices[row] ?? 0)).sort();
  return Uint32Array.from(joined, (value) => value % count);
}

const KEYS: Readonly<Record<SortColumn, Key>> = {
  number: (_, index) => index,
  time: (table, index) => table.timeNs[index] ?? 0,
  conversation: (table, index) => table.conversation[index] ?? 0,
  ends: (table, index) => 2 * (table.conversation[index] ?? 0) + (table.sender[index] ?? 0),
  length: (table, index) => table.original[index] ?? 0,
  psn: (table, index) => ((table.opcode[index] ?? NONE) === NONE ? -1 : (table.psn[index] ?? 0)),
  qp: (table, index) => ((table.opcode[index] ?? NONE) === NONE ? -1 : (table.destQpn[index] ?? 0)),
  marks: (table, index) => table.marks[index] ?? 0,
  info: (table, index) => 256 * (table.opcode[index] ?? NONE) + ((table.syndrome[index] ?? NONE) & 0xff),
};
