/**
 * One table of one capture as a Parquet file.
 *
 * Owns the encoding: rows are kept as columns until there are enough for a row group, which is then written. Late
 * columns (`schema.ts`) are written plain, uncompressed and without statistics, so that their numbers can be written
 * over at the end.
 */
import { type ColumnSource, ParquetWriter, type SchemaElement } from 'hyparquet-writer';
import { invariant } from 'rocev2/packets';
import { FileSink } from './file-sink.ts';
import { type Column, type Origin, SCHEMA_VERSION, type Table, type Value } from './schema.ts';

/** The conversation that another one turned out to be a part of, and whether its ends are the other way round. */
export type WholeOf = (conversation: number) => { readonly id: number; readonly crosswise: boolean } | undefined;

/** Where the numbers of a late column lie: `count` times four bytes. */
interface LateNumbers {
  readonly at: number;
  readonly count: number;
}

export class TableFile<Row> {
  readonly #columns: readonly Column<Row>[];
  readonly #origin: Origin;
  readonly #sink: FileSink;
  readonly #writer: ParquetWriter;
  readonly #values: Value[][];
  /** For each row group, the late columns in their order. */
  readonly #late: LateNumbers[][] = [];
  readonly #rowGroupRows: number;
  #rows = 0;

  /** Begins the file. Throws the errors of the system, as all methods do. */
  constructor(path: string, table: Table<Row>, origin: Origin, createdBy: string, rowGroupRows = ROW_GROUP_ROWS) {
    this.#columns = table.columns;
    this.#origin = origin;
    this.#rowGroupRows = rowGroupRows;
    this.#values = table.columns.map(() => []);
    this.#sink = new FileSink(path);
    const kvMetadata = [
      { key: 'rocev2.schema_version', value: String(SCHEMA_VERSION) },
      { key: 'rocev2.table', value: table.name },
    ];
    const schema = [{ name: 'root', num_children: table.columns.length }, ...table.columns.map(elementOf)];
    this.#writer = new ParquetWriter({ writer: this.#sink, schema, kvMetadata, createdBy });
  }

  add(row: Row): void {
    const columns = this.#columns;
    for (let i = 0; i < columns.length; i++) {
      (this.#values[i] as Value[]).push((columns[i] as Column<Row>).of(row, this.#origin));
    }
    this.#rows += 1;
    if (this.#rows === this.#rowGroupRows) this.#writeRowGroup();
  }

  /** Writes what is left, corrects the late columns, and closes the file. */
  finish(wholeOf: WholeOf): void {
    if (this.#rows > 0) this.#writeRowGroup();
    void this.#writer.finish();
    for (const numbers of this.#late) this.#settle(numbers, wholeOf);
    this.#sink.close();
  }

  publish(): void {
    this.#sink.publish();
  }

  /** Leaves nothing behind. */
  discard(): void {
    this.#sink.discard();
  }

  #writeRowGroup(): void {
    const rows = this.#rows;
    const columnData = this.#columns.map((column, i) => sourceOf(column, this.#values[i] as Value[]));
    void this.#writer.write({ columnData, rowGroupSize: rows, pageSize: PAGE_BYTES });
    const group = this.#writer.row_groups.at(-1);
    invariant(group?.num_rows === BigInt(rows), 'rows of one call are one row group');
    const late = this.#columns.flatMap(({ late }, i) => {
      if (late === undefined) return [];
      const meta = group.columns[i]?.meta_data;
      invariant(meta !== undefined, 'every column has its chunk');
      const count = (this.#values[i] as Value[]).filter((value) => value !== undefined).length;
      // One page: its header, the levels, and the numbers at its end.
      return { at: Number(meta.data_page_offset + meta.total_compressed_size) - count * 4, count };
    });
    if (late.length > 0) this.#late.push(late);
    for (const values of this.#values) values.length = 0;
    this.#rows = 0;
  }

  /** Writes the numbers of whole conversations over those of parts. */
  #settle(places: readonly LateNumbers[], wholeOf: WholeOf): void {
    const late = this.#columns.flatMap(({ late }) => (late === undefined ? [] : late));
    const columns = places.map(({ at, count }) => {
      const bytes = new Uint8Array(count * 4);
      this.#sink.read(at, bytes);
      return { at, bytes, view: new DataView(bytes.buffer) };
    });
    const ids = columns[late.indexOf('conversation')];
    invariant(ids !== undefined, 'ends are those of a conversation');
    invariant(
      columns.every(({ bytes }) => bytes.length === ids.bytes.length),
      'all late columns are NULL in the same rows',
    );
    let changed = false;
    for (let at = 0; at < ids.bytes.length; at += 4) {
      const whole = wholeOf(ids.view.getInt32(at, true));
      if (whole === undefined) continue;
      changed = true;
      ids.view.setInt32(at, whole.id, true);
      if (!whole.crosswise) continue;
      for (const { view } of columns) if (view !== ids.view) view.setInt32(at, 1 - view.getInt32(at, true), true);
    }
    if (changed) for (const { at, bytes } of columns) this.#sink.overwrite(at, bytes);
  }
}

function elementOf<Row>({ name, type }: Column<Row>): SchemaElement {
  const repetition_type = 'OPTIONAL';
  return type === 'STRING'
    ? { name, type: 'BYTE_ARRAY', converted_type: 'UTF8', repetition_type }
    : { name, type, repetition_type };
}

function sourceOf<Row>({ name, type, late }: Column<Row>, data: Value[]): ColumnSource {
  if (late !== undefined) return { name, data, encoding: 'PLAIN', codec: 'UNCOMPRESSED', statistics: false };
  // Older readers do not know run lengths of booleans.
  return type === 'BOOLEAN' ? { name, data, encoding: 'PLAIN' } : { name, data };
}

/** What is in memory: some 50 MB of packets. */
const ROW_GROUP_ROWS = 65_536;
/** A late column of a row group fits into one page. */
const PAGE_BYTES = 1024 * 1024;
