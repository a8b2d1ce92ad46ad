/** One name that a driver gives a counter. Owns the shape of the rows of the tables, and how they are written down. */
import type { Kind } from './kinds.ts';

/** A row. */
export interface CounterName {
  /** As the driver writes it; `{p}` is a priority, 0 to 7. */
  readonly name: string;
  readonly kind: Kind;
  /** The driver, tool or device that has it. */
  readonly driver: string;
  /** Where it is said: addresses, or files of this repository. */
  readonly source: string;
  /** Width, where the source says that it is not 64. */
  readonly bits?: 32;
  /** One of several that add up to the kind; otherwise names of one kind count the same events. */
  readonly part?: true;
}

/** Rows of one driver and source. */
export function namesOf(
  driver: string,
  source: string,
  names: Readonly<Record<string, Kind>>,
  more: Pick<CounterName, 'bits' | 'part'> = {},
): CounterName[] {
  return Object.entries(names).map(([name, kind]) => ({ name, kind, driver, source, ...more }));
}
