/**
 * The columns of the list of packets: which there are, what they say of a packet, and which of them are seen and how
 * wide. The browser keeps the choice where it may.
 *
 * Owns the choice.
 */
import { useCallback, useState } from 'preact/hooks';
import type { PacketRow, SortColumn } from '../engine/protocol.ts';
import { markNames, qpn, seconds, span } from './words.ts';

/** What a column is. */
export interface Column {
  readonly id: ColumnId;
  /** What stands above it, and what that means. */
  readonly words: string;
  readonly title: string;
  /** Pixels at first. The last column has what room is left, and at least these. */
  readonly pixels: number;
  readonly sort: SortColumn | undefined;
  readonly text: (row: PacketRow) => string;
}

/** Names of the columns, in their order. */
export const COLUMN_IDS = [
  'number',
  'time',
  'delta',
  'conversation',
  'ends',
  'length',
  'qp',
  'psn',
  'relative',
  'marks',
  'info',
] as const;
/** One of them. */
export type ColumnId = (typeof COLUMN_IDS)[number];

/** What is seen. */
export interface ColumnChoice {
  readonly shown: readonly ColumnId[];
  readonly pixels: Readonly<Partial<Record<ColumnId, number>>>;
}

/** The columns that are seen, in their order; the last one is always. */
export function columnsOf({ shown }: ColumnChoice): readonly Column[] {
  return COLUMNS.filter(({ id }) => id === 'info' || shown.includes(id));
}

/** As `grid-template-columns` has it, and how wide all of them are at least. */
export function gridOf(choice: ColumnChoice): { readonly template: string; readonly pixels: number } {
  const columns = columnsOf(choice);
  const pixels = columns.map(({ id, pixels: usual }) => choice.pixels[id] ?? usual);
  const tracks = pixels.map((wide, at) => (at === pixels.length - 1 ? `minmax(${wide}px, 1fr)` : `${wide}px`));
  return { template: tracks.join(' '), pixels: pixels.reduce((sum, wide) => sum + wide + GAP, 2 * PADDING - GAP) };
}

/** The choice, and how to change it. */
export function useColumns(): [ColumnChoice, (choice: ColumnChoice) => void] {
  const [choice, setChoice] = useState(stored);
  const change = useCallback((next: ColumnChoice) => {
    setChoice(next);
    keep(next);
  }, []);
  return [choice, change];
}

/** Another width for a column. */
export function withWidth(choice: ColumnChoice, id: ColumnId, pixels: number): ColumnChoice {
  return { ...choice, pixels: { ...choice.pixels, [id]: Math.round(Math.max(LEAST, Math.min(MOST, pixels))) } };
}

function stored(): ColumnChoice {
  try {
    const kept: unknown = JSON.parse(localStorage.getItem(KEY) ?? 'null');
    if (typeof kept !== 'object' || kept === null || !('shown' in kept) || !Array.isArray(kept.shown)) return USUAL;
    const { shown } = kept;
    const widths: unknown = 'pixels' in kept ? kept.pixels : undefined;
    const pixels = Object.entries(typeof widths === 'object' && widths !== null ? widths : {}).flatMap(([id, wide]) =>
      typeof wide === 'number' && wide >= LEAST && wide <= MOST ? [[id, wide] as const] : [],
    );
    return { shown: COLUMN_IDS.filter((id) => shown.includes(id)), pixels: Object.fromEntries(pixels) };
  } catch {
    // No storage, or nonsense in it.
    return USUAL;
  }
}

function keep(choice: ColumnChoice): void {
  try {
    localStorage.setItem(KEY, JSON.stringify(choice));
  } catch {
    // Then the choice lasts as long as the page.
  }
}

/** All of them. */
export const COLUMNS: readonly Column[] = [
  {
    id: 'number',
    words: 'No.',
    title: 'Number of the packet in the capture',
    pixels: 64,
    sort: 'number',
    text: ({ number }) => `${number}`,
  },
  {
    id: 'time',
    words: 'Time, s',
    title: 'Seconds since the first packet of the capture, to the nanosecond',
    pixels: 104,
    sort: 'time',
    text: ({ timeNs }) => seconds(timeNs),
  },
  {
    id: 'delta',
    words: 'Since',
    title: 'Time since the packet before in its conversation',
    pixels: 74,
    sort: undefined,
    text: ({ deltaNs }) => (Number.isNaN(deltaNs) ? '' : span(deltaNs)),
  },
  {
    id: 'conversation',
    words: 'Conv',
    title: 'Conversation, as in the overview',
    pixels: 36,
    sort: 'conversation',
    text: ({ conversation }) => (conversation > 0 ? `${conversation}` : ''),
  },
  {
    id: 'ends',
    words: 'From > to',
    title: 'Source and destination; sorted by conversation and sender',
    pixels: 210,
    sort: 'ends',
    text: ({ ends }) => ends,
  },
  {
    id: 'length',
    words: 'Bytes',
    title: 'Length on the wire',
    pixels: 48,
    sort: 'length',
    text: ({ length }) => `${length}`,
  },
  {
    id: 'qp',
    words: 'To QP',
    title: 'Destination queue pair',
    pixels: 74,
    sort: 'qp',
    text: ({ destQpn }) => (destQpn < 0 ? '' : qpn(destQpn)),
  },
  {
    id: 'psn',
    words: 'PSN',
    title: 'Packet sequence number, as on the wire',
    pixels: 76,
    sort: 'psn',
    text: ({ psn }) => (psn < 0 ? '' : `${psn}`),
  },
  {
    id: 'relative',
    words: 'Rel. PSN',
    title: 'PSN counted from the first of its conversation and direction',
    pixels: 66,
    sort: undefined,
    text: ({ relativePsn }) => (Number.isNaN(relativePsn) ? '' : `${relativePsn}`),
  },
  {
    id: 'marks',
    words: 'Marks',
    title: 'Marks of the analysis',
    pixels: 120,
    sort: 'marks',
    text: ({ marks }) => markNames(marks).join(', '),
  },
  {
    id: 'info',
    words: 'What it is',
    title: 'Marks of the analysis, operation, PSN and queue pair; sorted by operation',
    pixels: 120,
    sort: 'info',
    text: ({ info }) => info,
  },
];
/** What is seen at first. */
export const USUAL: ColumnChoice = {
  shown: ['number', 'time', 'conversation', 'ends', 'length', 'info'],
  pixels: {},
};
const KEY = 'rocev2-columns';
const LEAST = 24;
const MOST = 2000;
/** As in packets.css. */
const GAP = 8;
const PADDING = 10;
