/**
 * Counters of switches as CSV: a header with a column of port names, then a row for each port.
 *
 * Owns the columns. A column counts if its name is that of a counter, or says what it counts: "PFC3 Rx", "ECN marked",
 * "RX_DRP". A column `host` or `switch` names the switch, of which there may be several.
 */
import { counterOf } from '../names.ts';
import type { SnapshotBuilder } from '../snapshot.ts';

/** A reader of the rows, if the line is such a header. */
export function csvReader(header: string, into: SnapshotBuilder): ((line: string) => boolean) | undefined {
  const columns = cells(header);
  const portAt = columns.findIndex((name) => /^(port|iface|interface|ifname|port[ _]?name)$/i.test(name));
  if (portAt < 0 || columns.length < 2) return undefined;
  const hostAt = columns.findIndex((name) => /^(host|switch|device|hostname)$/i.test(name));
  const counters = columns.map((name, at) => (at === portAt || at === hostAt ? undefined : columnCounter(name)));
  return (line) => {
    const row = cells(line);
    if (row.length !== columns.length) return false;
    const port = row[portAt] ?? '';
    const host = row[hostAt] ?? '';
    const builder = host === '' ? into : into.of(host);
    for (const [at, counter] of counters.entries()) {
      const value = (row[at] ?? '').replaceAll(',', '');
      if (counter !== undefined && /^\d{1,20}$/.test(value)) builder.set(port, counter, BigInt(value));
    }
    return true;
  };
}

function columnCounter(name: string): string {
  if (counterOf(name) !== undefined) return name;
  return COLUMNS.find(([pattern]) => pattern.test(name)) === undefined ? name : renamed(name);
}

function renamed(name: string): string {
  const priority = /(?:pfc|prio(?:rity)?|pri|tc|cos)[ _-]?(\d)/i.exec(name)?.[1] ?? '';
  const [, counter = name] = COLUMNS.find(([pattern]) => pattern.test(name)) ?? [];
  return counter.includes('{p}')
    ? priority === ''
      ? counter.replace('prio{p}', 'global')
      : counter.replace('{p}', priority)
    : counter;
}

/** The first that fits. */
const COLUMNS: readonly (readonly [RegExp, string])[] = [
  [
    /(pause|pfc).*(duration|time|us).*(rx|recv|received|in\b)|(rx|recv|in).*(pause|pfc).*(duration|time)/i,
    'rx_prio{p}_pause_duration',
  ],
  [
    /(pause|pfc).*(duration|time|us).*(tx|sent|out\b)|(tx|sent|out).*(pause|pfc).*(duration|time)/i,
    'tx_prio{p}_pause_duration',
  ],
  [/(pause|pfc).*(rx|recv|received|in\b)|(rx|recv|in).*(pause|pfc)/i, 'rx_prio{p}_pause'],
  [/(pause|pfc).*(tx|sent|xmit|out\b)|(tx|sent|xmit|out).*(pause|pfc)/i, 'tx_prio{p}_pause'],
  [/ecn|wred.*mark/i, 'SAI_PORT_STAT_ECN_MARKED_PACKETS'],
  [/(tx|out|egress|queue).*(drp|drop|discard)|(drp|drop|discard).*(tx|out|egress)/i, 'SAI_PORT_STAT_IF_OUT_DISCARDS'],
  [/drp|drop|discard/i, 'SAI_PORT_STAT_IF_IN_DISCARDS'],
];

function cells(line: string): string[] {
  const found: string[] = [];
  for (const [, quoted, plain] of line.matchAll(/(?:"((?:[^"]|"")*)"|([^,]*))(?:,|$)/g)) {
    if (quoted === undefined && plain === undefined) break;
    found.push((quoted?.replaceAll('""', '"') ?? plain ?? '').trim());
  }
  // The end of the line is an empty match of its own.
  if (!line.endsWith(',')) found.pop();
  return found;
}
