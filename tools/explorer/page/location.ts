/**
 * What the address of the page says: which view, conversation, packet and filter.
 *
 * Owns the hash. Everything in it can be missing or nonsense: then it is the default.
 */

import { type RowSort, SORT_COLUMNS } from '../engine/protocol.ts';

/** The views, in the order of their keys 1, 2, 3... */
export const TABS = ['overview', 'packets', 'ladder', 'sequence', 'rates', 'playground'] as const;
/** One of them. */
export type Tab = (typeof TABS)[number];

/** Where one is in the page. */
export interface PageLocation {
  readonly tab: Tab;
  /** Packet number; 0: none. */
  readonly packet: number;
  readonly filter: string;
  /** Conversation id; 0: the first. */
  readonly conversation: number;
  /** The time that all views show, in nanoseconds since the first packet; equal ones: all of it. */
  readonly fromNs: number;
  readonly toNs: number;
  /** The ladder has equal rows and is not true to time. */
  readonly rows: boolean;
  /** Order of the packets; undefined: that of the capture. */
  readonly sort: RowSort | undefined;
}

/** What the hash says. */
export function readPlace(hash: string): PageLocation {
  const query = new URLSearchParams(hash.replace(/^#/, ''));
  const tab = TABS.find((known) => known === query.get('view')) ?? 'overview';
  return {
    tab,
    packet: count(query.get('packet')),
    filter: query.get('filter') ?? '',
    conversation: count(query.get('conversation')),
    ...timeOf(query.get('time') ?? ''),
    rows: query.get('ladder') === 'rows',
    sort: sortOf(query.get('sort') ?? ''),
  };
}

/** The hash for a place; what `others` carries of other parts of the page stays. */
export function writePlace(place: PageLocation, hash: string): string {
  const query = new URLSearchParams(hash.replace(/^#/, ''));
  set(query, 'view', place.tab === 'overview' ? '' : place.tab);
  set(query, 'packet', place.packet > 0 ? `${place.packet}` : '');
  set(query, 'filter', place.filter);
  set(query, 'conversation', place.conversation > 0 ? `${place.conversation}` : '');
  set(query, 'sort', place.sort === undefined ? '' : `${place.sort.descending ? '-' : ''}${place.sort.column}`);
  set(query, 'ladder', place.rows ? 'rows' : '');
  const [from, to] = [Math.max(0, Math.round(place.fromNs)), Math.round(place.toNs)];
  set(query, 'time', to > from ? `${from}-${to}` : '');
  return query.size === 0 ? '' : `#${query}`;
}

/** "1000-2500": nanoseconds. */
function timeOf(text: string): { readonly fromNs: number; readonly toNs: number } {
  const [, from, to] = /^(\d{1,18})-(\d{1,18})$/.exec(text) ?? [];
  const [fromNs, toNs] = [Number(from ?? 0), Number(to ?? 0)];
  return toNs > fromNs ? { fromNs, toNs } : { fromNs: 0, toNs: 0 };
}

/** "length" upwards, "-length" downwards. */
function sortOf(text: string): RowSort | undefined {
  const column = SORT_COLUMNS.find((known) => known === text.replace(/^-/, ''));
  return column === undefined ? undefined : { column, descending: text.startsWith('-') };
}

function set(query: URLSearchParams, name: string, value: string): void {
  if (value === '') query.delete(name);
  else query.set(name, value);
}

function count(text: string | null): number {
  return text !== null && /^\d{1,9}$/.test(text) ? Number(text) : 0;
}
