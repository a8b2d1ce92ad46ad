/**
 * What a table of an export is: columns with a type, a meaning, and the way from a row to the value.
 *
 * Owns the vocabulary of the tables and the version of all of them. `docs/export.md` is written from the same columns.
 */
import type { CaptureTime } from 'rocev2/pcap';

/**
 * Version of the tables, in the metadata of every file as `rocev2.schema_version`. One more when a column changes its
 * name, type or meaning or goes away; a column or table that is added changes nothing for whoever reads the others.
 */
export const SCHEMA_VERSION = 1;

/** A value of a column; undefined is NULL. */
export type Value = string | number | bigint | boolean | undefined;

/** Types that DuckDB, Spark and ClickHouse read alike. Times are INT64: Spark refuses timestamps in nanoseconds. */
export type ColumnType = 'STRING' | 'BOOLEAN' | 'INT32' | 'INT64';

/** Which capture a row is of; the same columns begin every table. */
export interface Origin {
  readonly capture: string;
  /** Undefined: nobody said. */
  readonly host: string | undefined;
}

/**
 * A column whose value may change after its row was written: a conversation turns out to be a half of another one.
 * `conversation` is its number; `end` is 0 or 1, and NULL exactly where the number is.
 */
export type Late = 'conversation' | 'end';

/** One column. Every column of a file may be NULL; `about` says when one is. */
export interface Column<Row> {
  readonly name: string;
  readonly type: ColumnType;
  /** A sentence, or part of one: meaning, unit, range, names. */
  readonly about: string;
  readonly of: (row: Row, origin: Origin) => Value;
  readonly late?: Late;
}

/** One table. */
export interface Table<Row> {
  /** Name of its folder. */
  readonly name: string;
  /** What a row is. */
  readonly about: string;
  /** Columns that identify a row. */
  readonly key: readonly string[];
  readonly columns: readonly Column<Row>[];
}

/** Makes the columns of a table of such rows. */
export class Columns<Row> {
  text(name: string, about: string, of: Column<Row>['of']): Column<Row> {
    return { name, type: 'STRING', about, of };
  }

  flag(name: string, about: string, of: (row: Row) => boolean): Column<Row> {
    return { name, type: 'BOOLEAN', about, of };
  }

  /** For what has 31 bits at most. */
  int32(name: string, about: string, of: (row: Row) => number | undefined, late?: Late): Column<Row> {
    return { name, type: 'INT32', about, of, ...(late === undefined ? {} : { late }) };
  }

  int64(name: string, about: string, of: (row: Row) => number | bigint | undefined): Column<Row> {
    return { name, type: 'INT64', about, of: (row) => toInt64(of(row)) };
  }

  /** `capture` and `host`, which every table begins with. */
  origin(): Column<Row>[] {
    return [
      this.text('capture', 'name of the capture, which is that of its file', (_, { capture }) => capture),
      this.text(
        'host',
        'where it was captured, by `--host` or `--host-from`; NULL: nobody said',
        (_, { host }) => host,
      ),
    ];
  }
}

/** Nanoseconds since 1970; undefined where the clock of a capture is so wrong that 64 bits have no room for it. */
export function epochNs({ seconds, nanoseconds }: CaptureTime, laterNs = 0): bigint | undefined {
  return toInt64(BigInt(seconds) * NS_PER_SECOND + BigInt(nanoseconds) + BigInt(Math.round(laterNs)));
}

/** Undefined for what -1 stands for in reports: unknown, or none. */
export function known(value: number): number | undefined {
  return value < 0 ? undefined : value;
}

/** Undefined for what 0 stands for in reports: no frame, no conversation. */
export function nonZero(value: number): number | undefined {
  return value === 0 ? undefined : value;
}

function toInt64(value: number | bigint | undefined): bigint | undefined {
  if (value === undefined) return undefined;
  const whole = typeof value === 'bigint' ? value : BigInt(Math.round(value));
  return whole < -INT64_LIMIT || whole >= INT64_LIMIT ? undefined : whole;
}

const NS_PER_SECOND = 1_000_000_000n;
const INT64_LIMIT = 1n << 63n;
