/**
 * The ladder of a conversation true to time: a pixel is the same number of nanoseconds everywhere, but where nothing
 * happens for long, which is folded.
 *
 * Owns where each packet stands, for conversations of any length, and which of them have room for words. A folded pause
 * keeps the time that packets need on their way at both of its ends, so the slope of an arrow is never folded.
 */
import { Mark } from 'rocev2/pcap';
import { goneOf, type LadderNote } from '../ladder/rows.ts';
import type { PlacedRow } from '../ladder/time-layout.ts';
import { ladderPacket } from './ladder-index.ts';
import { notesOf } from './notes.ts';
import { NumberList } from './packet-table.ts';
import type { TimeLadderWindow } from './protocol.ts';
import type { CaptureSession } from './session.ts';
import { type Transit, transitOf } from './transit.ts';

/** What a ladder is of. */
export interface LadderCut {
  readonly conversation: number;
  /** All time where `toNs` is not above `fromNs`. */
  readonly fromNs: number;
  readonly toNs: number;
}

/** Places of one conversation at one scale. */
export class LadderTime {
  readonly #session: CaptureSession;
  readonly #packets: NumberList;
  readonly #notes: readonly LadderNote[];
  readonly #transit: Transit;
  readonly #pixelsPerNs: number;
  /** Of each line: what it is, the position of its packet or note, its place, and what of it is written. */
  readonly #kinds = new NumberList();
  readonly #positions = new NumberList();
  #places = new Float64Array(64);
  readonly #written = new NumberList();

  /** @param zoom doublings of the usual scale, negative ones halve it */
  constructor(session: CaptureSession, { conversation, fromNs, toNs }: LadderCut, zoom: number) {
    this.#session = session;
    this.#packets = session.packetsOf(conversation);
    this.#transit = transitOf(session, conversation);
    const whole = toNs <= fromNs;
    const within = (timeNs: number): boolean => whole || (timeNs >= fromNs && timeNs <= toNs);
    this.#notes = notesOf(session, conversation).filter(({ timeNs }) => within(timeNs));
    this.#pixelsPerNs = this.#usualScale(within) * 2 ** zoom;
    this.#place(within);
    this.#write();
  }

  /** Lines between two places, and those whose arrows come in from above or below. */
  window(top: number, height: number): TimeLadderWindow {
    const reach = this.#flightNs * this.#pixelsPerNs;
    const first = this.#lineAt(top - reach);
    const end = this.#lineAt(top + height + reach);
    const step = Math.max(1, Math.ceil((end - first) / MOST_ROWS));
    const rows: PlacedRow[] = [];
    for (let line = first; line < end; line++) {
      if (step > 1 && line % step !== 0 && !this.#isRemarkable(line)) continue;
      const row = this.#row(line);
      if (row !== undefined && rows.length < MOST_DRAWN) rows.push(row);
    }
    return { top, height: this.#height, rows, step, transitNs: this.#transit, pixelsPerNs: this.#pixelsPerNs };
  }

  /** Place of the packet of a number, or of the next one in this ladder. */
  placeOf(number: number): number {
    const position = this.#packets.lowerBound(number - 1);
    for (let line = 0; line < this.#kinds.length; line++)
      if (this.#kinds.at(line) === Line.Packet && this.#positions.at(line) >= position) return this.#places[line] ?? 0;
    return this.#places[Math.max(0, this.#kinds.length - 1)] ?? 0;
  }

  get #height(): number {
    const last = this.#places[Math.max(0, this.#kinds.length - 1)] ?? 0;
    return last + this.#flightNs * this.#pixelsPerNs + MARGIN;
  }

  /** From one end to the other. */
  get #flightNs(): number {
    return (this.#transit[0] || 0) + (this.#transit[1] || 0);
  }

  /** The usual distance has room for words, and no arrow is steeper than can be read. */
  #usualScale(within: (timeNs: number) => boolean): number {
    const { timeNs } = this.#session.table;
    const { values } = this.#packets;
    const distances: number[] = [];
    const step = Math.max(1, Math.floor(values.length / SAMPLES));
    for (let at = 1; at < values.length; at += step) {
      const [before, now] = [timeNs[values[at - 1] ?? 0] ?? 0, timeNs[values[at] ?? 0] ?? 0];
      if (within(before) && within(now) && now > before) distances.push(now - before);
    }
    distances.sort((a, b) => a - b);
    const usualNs = distances[Math.floor(distances.length / 2)] ?? 1000;
    return Math.min(USUAL_PIXELS / usualNs, MOST_SLOPE / Math.max(1, this.#flightNs));
  }

  #place(within: (timeNs: number) => boolean): void {
    const { table } = this.#session;
    const { values } = this.#packets;
    let noted = 0;
    let lastNs = Number.NaN;
    let place = MARGIN + (this.#transit[0] || 0) * this.#pixelsPerNs;
    const go = (timeNs: number): void => {
      const gapNs = timeNs - lastNs;
      if (gapNs > 0) {
        const pixels = gapNs * this.#pixelsPerNs;
        const kept = 2 * this.#flightNs * this.#pixelsPerNs;
        if (pixels - kept > FOLD_FROM) {
          this.#line(Line.Fold, 0, place + kept / 2 + FOLD_PIXELS / 2);
          this.#folds.set(this.#kinds.length - 1, gapNs);
          place += kept + FOLD_PIXELS;
        } else place += pixels;
      }
      lastNs = timeNs;
    };
    for (let position = 0; position < values.length; position++) {
      const index = values[position] ?? 0;
      const timeNs = table.timeNs[index] ?? 0;
      if (!within(timeNs)) continue;
      for (; (this.#notes[noted]?.timeNs ?? Number.POSITIVE_INFINITY) < timeNs; noted++) {
        go(this.#notes[noted]?.timeNs ?? 0);
        this.#line(Line.Note, noted, place);
      }
      const before = place;
      go(timeNs);
      // When it was sent is not known: between the packets around it.
      const from = Math.max(before, place - LOST_BEFORE);
      const gone = (table.missing[index] ?? 0) > 0 ? goneOf(ladderPacket(this.#session, index)).length : 0;
      for (let run = 1; run <= gone; run++) this.#line(Line.Lost, position, from + ((place - from) * run) / (gone + 1));
      this.#line(Line.Packet, position, place);
    }
    for (; noted < this.#notes.length; noted++) {
      go(this.#notes[noted]?.timeNs ?? 0);
      this.#line(Line.Note, noted, place);
    }
  }

  /** Durations of folded pauses, by line. */
  readonly #folds = new Map<number, number>();

  #line(kind: number, position: number, place: number): void {
    const line = this.#kinds.length;
    this.#kinds.push(kind);
    this.#positions.push(position);
    if (line === this.#places.length) {
      const more = new Float64Array(2 * line);
      more.set(this.#places);
      this.#places = more;
    }
    this.#places[line] = place;
  }

  /** Words stand where there is room above and below; what is remarkable comes first. */
  #write(): void {
    const lines = this.#kinds.length;
    const written = new Uint8Array(lines);
    for (const remarkable of [true, false]) {
      const last: [number, number, number] = [
        Number.NEGATIVE_INFINITY,
        Number.NEGATIVE_INFINITY,
        Number.NEGATIVE_INFINITY,
      ];
      const next = this.#nextRemarkable(remarkable);
      for (let line = 0; line < lines; line++) {
        const place = this.#places[line] ?? 0;
        const side = this.#sideOf(line);
        if (this.#isRemarkable(line) !== remarkable) {
          if (((written[line] ?? 0) & 1) !== 0) last[side] = place;
          if (((written[line] ?? 0) & 2) !== 0) last[2] = place;
          continue;
        }
        const room =
          place - last[side] >= LETTERS_HIGH &&
          (next[side]?.[line] ?? Number.POSITIVE_INFINITY) - place >= LETTERS_HIGH;
        const timed =
          this.#kinds.at(line) !== Line.Lost &&
          place - last[2] >= LETTERS_HIGH &&
          (next[2]?.[line] ?? Number.POSITIVE_INFINITY) - place >= LETTERS_HIGH;
        if (room) last[side] = place;
        if (timed) last[2] = place;
        written[line] = (room ? 1 : 0) | (timed ? 2 : 0);
      }
    }
    for (const flags of written) this.#written.push(flags);
  }

  /** For each line the place of the next remarkable one, by side, and of any; none where only these are placed. */
  #nextRemarkable(none: boolean): Float64Array[] {
    const lines = this.#kinds.length;
    if (none) return [];
    const next = [new Float64Array(lines), new Float64Array(lines), new Float64Array(lines)];
    const after = [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY];
    for (let line = lines - 1; line >= 0; line--) {
      next.forEach((places, side) => {
        places[line] = after[side] ?? 0;
      });
      if (!this.#isRemarkable(line)) continue;
      after[this.#sideOf(line)] = this.#places[line] ?? 0;
      if (this.#kinds.at(line) !== Line.Lost) after[2] = this.#places[line] ?? 0;
    }
    return next;
  }

  #isRemarkable(line: number): boolean {
    const kind = this.#kinds.at(line);
    if (kind !== Line.Packet) return kind !== Line.Note;
    return ((this.#session.table.marks[this.#packets.at(this.#positions.at(line))] ?? 0) & ~Mark.Ce & ~Mark.Gap) !== 0;
  }

  #sideOf(line: number): 0 | 1 {
    if (this.#kinds.at(line) === Line.Note) return this.#notes[this.#positions.at(line)]?.side ?? 0;
    return this.#session.table.sender[this.#packets.at(this.#positions.at(line))] === 1 ? 1 : 0;
  }

  /** The first line that is not above a place. */
  #lineAt(place: number): number {
    let [low, high] = [0, this.#kinds.length];
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((this.#places[middle] ?? 0) < place) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  #row(line: number): PlacedRow | undefined {
    const kind = this.#kinds.at(line);
    const position = this.#positions.at(line);
    const flags = this.#written.at(line);
    const about = { line, place: this.#places[line] ?? 0, worded: (flags & 1) !== 0, timed: (flags & 2) !== 0 };
    if (kind === Line.Fold)
      return {
        ...about,
        row: { kind: 'silence', durationNs: this.#folds.get(line) ?? 0, timeout: this.#isTimeout(line + 1) },
      };
    if (kind === Line.Note) {
      const note = this.#notes[position];
      return note && { ...about, row: { kind: 'note', note } };
    }
    const packet = ladderPacket(this.#session, this.#packets.at(position));
    if (kind === Line.Packet) return { ...about, row: { kind: 'packet', packet } };
    // Runs stand one after the other, the first one first.
    let run = 0;
    while (this.#kinds.at(line - run - 1) === Line.Lost && this.#positions.at(line - run - 1) === position) run++;
    const lost = goneOf(packet)[run];
    return lost && { ...about, row: { kind: 'lost', sender: packet.sender, ...lost } };
  }

  #isTimeout(line: number): boolean {
    const index = this.#packets.at(this.#positions.at(line));
    return this.#kinds.at(line) !== Line.Note && ((this.#session.table.marks[index] ?? 0) & Mark.AfterTimeout) !== 0;
  }
}

const Line = { Packet: 0, Lost: 1, Note: 2, Fold: 3 } as const;
const USUAL_PIXELS = 24;
/** From one rail to the other, downwards. */
const MOST_SLOPE = 240;
/** A pause that would be higher is folded to that. */
const FOLD_FROM = 150;
const FOLD_PIXELS = 40;
const LOST_BEFORE = 24;
const LETTERS_HIGH = 13;
const MARGIN = 28;
/** Lines of a part: so many of what is usual, and with what is remarkable so many. More is a surface, not lines. */
const MOST_ROWS = 160;
const MOST_DRAWN = 240;
const SAMPLES = 4000;
