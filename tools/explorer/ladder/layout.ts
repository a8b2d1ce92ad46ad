/**
 * Where the lines of a ladder go: rows in, shapes out.
 *
 * Owns all coordinates. Rows are equally high, so a part of a ladder is laid out as the same part of the whole would
 * be; time is written, not measured. Pure: no DOM. Runs in a browser.
 */
import { Mark } from 'rocev2/pcap';
import { type LadderRow, lettersOf, type Tone, toneOf, wordsOf } from './rows.ts';

/** What is drawn, in pixels. `class` names tone and part: a style sheet colours it. */
export type LadderShape =
  | {
      readonly kind: 'line';
      readonly x1: number;
      readonly y1: number;
      readonly x2: number;
      readonly y2: number;
      readonly class: string;
    }
  /** A closed or open path in SVG's words. */
  | { readonly kind: 'path'; readonly d: string; readonly class: string }
  | {
      readonly kind: 'text';
      readonly x: number;
      readonly y: number;
      readonly text: string;
      readonly anchor: 'start' | 'middle' | 'end';
      readonly class: string;
      /** Degrees clockwise, around its place; absent: none. */
      readonly turn?: number;
    };

/** Shapes of one row. */
export interface LaidRow {
  /** Number of the packet; 0 for lines that are none. */
  readonly number: number;
  readonly top: number;
  readonly shapes: readonly LadderShape[];
  /** The row in words, for screen readers. */
  readonly text: string;
}

/** Room for a ladder. */
export interface LadderRoom {
  readonly width: number;
  /** What counts as time 0. */
  readonly originNs: number;
}

/** Height of every row. */
export const ROW_HEIGHT = 28;

/** Lays out `rows`, of which the first is row `first` of the whole ladder. */
export function layoutLadder(rows: readonly LadderRow[], room: LadderRoom, first = 0): LaidRow[] {
  const rails = railsOf(room.width);
  return rows.map((row, index) => layoutRow(row, (first + index) * ROW_HEIGHT, rails, room));
}

/** Where the two rails stand, and what is left beside them. */
export function railsOf(width: number): { readonly left: number; readonly right: number; readonly narrow: boolean } {
  const narrow = width < NARROW;
  return { left: narrow ? 88 : 130, right: Math.max(200, width - (narrow ? 14 : 60)), narrow };
}

function layoutRow(row: LadderRow, top: number, rails: ReturnType<typeof railsOf>, room: LadderRoom): LaidRow {
  switch (row.kind) {
    case 'packet':
      return layoutPacket(row, top, rails, room);
    case 'lost':
      return layoutLost(row, top, rails);
    case 'note':
      return layoutNote(row, top, rails, room);
    case 'silence':
      return layoutSilence(row, top, rails);
  }
}

function layoutPacket(
  { packet }: Extract<LadderRow, { kind: 'packet' }>,
  top: number,
  { left, right, narrow }: ReturnType<typeof railsOf>,
  { originNs }: LadderRoom,
): LaidRow {
  const tone = toneOf(packet);
  const time = ((packet.timeNs - originNs) / 1000).toFixed(narrow ? 0 : 3);
  const letters = lettersOf(packet);
  const words = wordsOf(packet);
  const stopped = packet.lost === true || (packet.marks & Mark.BadIcrc) !== 0;
  const shapes: LadderShape[] = [
    { kind: 'text', x: left - 10, y: top + 15, text: time, anchor: 'end', class: 'time' },
    ...arrow(packet.sender, top, left, right, tone, stopped),
    label(packet.sender, top, left, right, letters, words, tone),
  ];
  return { number: packet.number, top, shapes, text: spoken(packet.number, time, packet.sender, words, letters) };
}

function layoutLost(
  { sender, psn, count }: Extract<LadderRow, { kind: 'lost' }>,
  top: number,
  { left, right }: ReturnType<typeof railsOf>,
): LaidRow {
  const words = count === 1 ? `lost  psn ${psn}` : `${count} lost  psn ${psn} to ${psn + count - 1}`;
  return {
    number: 0,
    top,
    shapes: [...arrow(sender, top, left, right, 'bad', true), label(sender, top, left, right, '✗', words, 'bad')],
    text: words,
  };
}

function layoutNote(
  { note }: Extract<LadderRow, { kind: 'note' }>,
  top: number,
  { left, right, narrow }: ReturnType<typeof railsOf>,
  { originNs }: LadderRoom,
): LaidRow {
  const x = note.side === 0 ? left : right;
  const y = top + ROW_HEIGHT / 2;
  const time = ((note.timeNs - originNs) / 1000).toFixed(narrow ? 0 : 3);
  return {
    number: 0,
    top,
    shapes: [
      { kind: 'text', x: left - 10, y: y + 4, text: time, anchor: 'end', class: 'time' },
      { kind: 'path', d: `M${x} ${y - 4}L${x + 4} ${y}L${x} ${y + 4}L${x - 4} ${y}Z`, class: 'head notice' },
      { ...label(note.side, top + 5, left, right, '', note.text, 'notice'), class: 'note' },
    ],
    text: `At ${time} us, ${note.side === 0 ? 'left' : 'right'}: ${note.text}`,
  };
}

function layoutSilence(
  { durationNs, timeout }: Extract<LadderRow, { kind: 'silence' }>,
  top: number,
  { left, right }: ReturnType<typeof railsOf>,
): LaidRow {
  const words = `${durationOf(durationNs)} ${timeout ? 'until the timeout' : 'of silence'}`;
  const y = top + ROW_HEIGHT / 2;
  return {
    number: 0,
    top,
    shapes: [
      { kind: 'line', x1: left - 8, y1: y - 5, x2: left + 8, y2: y - 1, class: 'break' },
      { kind: 'line', x1: left - 8, y1: y + 1, x2: left + 8, y2: y + 5, class: 'break' },
      { kind: 'line', x1: right - 8, y1: y - 5, x2: right + 8, y2: y - 1, class: 'break' },
      { kind: 'line', x1: right - 8, y1: y + 1, x2: right + 8, y2: y + 5, class: 'break' },
      { kind: 'text', x: (left + right) / 2, y: y + 4, text: words, anchor: 'middle', class: 'silence' },
    ],
    text: words,
  };
}

/** From the sender's rail to the other, a little downwards; one that is stopped ends in a cross on its way. */
function arrow(sender: 0 | 1, top: number, left: number, right: number, tone: Tone, stopped: boolean): LadderShape[] {
  const [from, to] = sender === 0 ? [left, right] : [right, left];
  const reach = stopped ? STOPPED_AT : 1;
  const x = from + (to - from) * reach;
  const y = top + START_Y + (END_Y - START_Y) * reach;
  const shaft: LadderShape = { kind: 'line', x1: from, y1: top + START_Y, x2: x, y2: y, class: `arrow ${tone}` };
  if (stopped) {
    const d = `M${x - 5} ${y - 5}L${x + 5} ${y + 5}M${x - 5} ${y + 5}L${x + 5} ${y - 5}`;
    return [shaft, { kind: 'path', d, class: `cross ${tone}` }];
  }
  const back = sender === 0 ? -HEAD : HEAD;
  return [shaft, { kind: 'path', d: `M${x} ${y}L${x + back} ${y - 4}L${x + back} ${y + 3}Z`, class: `head ${tone}` }];
}

function label(
  sender: 0 | 1,
  top: number,
  left: number,
  right: number,
  letters: string,
  words: string,
  tone: Tone,
): Extract<LadderShape, { kind: 'text' }> {
  const room = Math.floor((right - left - 2 * INSET) / LETTER_WIDTH);
  const marked = letters === '' ? words : `${letters}  ${words}`;
  const text = marked.length <= room ? marked : `${marked.slice(0, Math.max(1, room - 1))}…`;
  const x = sender === 0 ? left + INSET : right - INSET;
  return { kind: 'text', x, y: top + 13, text, anchor: sender === 0 ? 'start' : 'end', class: `words ${tone}` };
}

function spoken(number: number, time: string, sender: 0 | 1, words: string, letters: string): string {
  const marks = letters === '' ? '' : `, ${letters}`;
  return `Packet ${number} at ${time} us, ${sender === 0 ? 'left to right' : 'right to left'}: ${words}${marks}`;
}

/** "67.1 ms". */
export function durationOf(ns: number): string {
  const [value, unit] = ns < 1e6 ? [ns / 1e3, 'us'] : ns < 1e9 ? [ns / 1e6, 'ms'] : [ns / 1e9, 's'];
  return `${value.toFixed(value < 10 ? 2 : value < 100 ? 1 : 0)} ${unit}`;
}

const NARROW = 600;
const INSET = 14;
/** Of the usual letter in the usual font. */
const LETTER_WIDTH = 6.6;
const START_Y = 18;
const END_Y = 24;
const HEAD = 8;
const STOPPED_AT = 0.62;
