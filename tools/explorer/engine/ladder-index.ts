/**
 * Which line of a conversation's ladder is what, for conversations of any length: a number for each line, and rows for
 * those that are seen.
 *
 * Owns the numbers. `ladder/` decides what a row shows.
 */
import { describeCmMad } from 'rocev2/packets/management';
import { Role } from 'rocev2/pcap';
import { type LadderNote, type LadderPacket, type LadderRow, rowsBefore, silenceOfDistances } from '../ladder/rows.ts';
import { goneBefore, MOST_RUNS } from './gone.ts';
import { notesOf } from './notes.ts';
import { NONE, NumberList } from './packet-table.ts';
import type { LadderWindow } from './protocol.ts';
import type { CaptureSession } from './session.ts';

/** Lines of one conversation, as far as it is read. */
export class LadderIndex {
  readonly conversation: number;
  readonly #session: CaptureSession;
  readonly #fromNs: number;
  readonly #toNs: number;
  /**
   * For every line the position of the packet that it is, or stands before; one more than the last for what comes after
   * all.
   */
  readonly #positions = new NumberList();
  /** What the line is: `PACKET`, the number of a line before a packet, or from `FIRST_NOTE` on a note. */
  readonly #kinds = new NumberList();
  /** Packets and notes that have lines. */
  #covered = 0;
  #noted = 0;
  readonly #notes: readonly LadderNote[];
  readonly #silenceNs: number;

  /** All time where `toNs` is not above `fromNs`. */
  constructor(session: CaptureSession, conversation: number, fromNs = 0, toNs = 0) {
    this.#session = session;
    this.conversation = conversation;
    this.#fromNs = toNs > fromNs ? fromNs : Number.NEGATIVE_INFINITY;
    this.#toNs = toNs > fromNs ? toNs : Number.POSITIVE_INFINITY;
    this.#silenceNs = this.#usualSilence();
    this.#notes = notesOf(session, conversation).filter(({ timeNs }) => timeNs >= this.#fromNs && timeNs <= this.#toNs);
  }

  /** Lines `from` to `from + count`. */
  window(from: number, count: number): LadderWindow {
    this.#cover();
    const rows: LadderRow[] = [];
    const end = Math.min(this.#kinds.length, from + Math.min(count, MOST_ROWS));
    for (let line = Math.max(0, from); line < end; line++) {
      const row = this.#row(line);
      if (row !== undefined) rows.push(row);
    }
    const first = this.#session.packetsOf(this.conversation).at(0);
    const originNs = this.#session.table.timeNs[first] ?? 0;
    return { from: Math.max(0, from), total: this.#kinds.length, rows, originNs };
  }

  /** The line of the packet of a number, or of the next one in this conversation. */
  lineOf(number: number): number {
    this.#cover();
    const position = this.#session.packetsOf(this.conversation).lowerBound(number - 1);
    // Lines are in order of position, and the packet itself comes last among its own.
    let line = this.#positions.lowerBound(position);
    while (line + 1 < this.#kinds.length && this.#kinds.at(line) !== PACKET) line++;
    return Math.min(line, Math.max(0, this.#kinds.length - 1));
  }

  #cover(): void {
    const packets = this.#session.packetsOf(this.conversation);
    for (; this.#covered < packets.length; this.#covered++) {
      const position = this.#covered;
      const timeNs = this.#session.table.timeNs[packets.at(position)] ?? 0;
      if (timeNs < this.#fromNs || timeNs > this.#toNs) continue;
      this.#note(position, timeNs);
      const before = this.#before(position).length;
      for (let extra = 0; extra < before; extra++) this.#line(position, extra);
      this.#line(position, PACKET);
    }
    if (this.#session.done) this.#note(packets.length, Number.POSITIVE_INFINITY);
  }

  /** Lines for the notes before a time. */
  #note(position: number, timeNs: number): void {
    for (; (this.#notes[this.#noted]?.timeNs ?? Number.POSITIVE_INFINITY) < timeNs; this.#noted++) {
      this.#line(position, FIRST_NOTE + this.#noted);
    }
  }

  #line(position: number, kind: number): void {
    this.#positions.push(position);
    this.#kinds.push(kind);
  }

  #row(line: number): LadderRow | undefined {
    const kind = this.#kinds.at(line);
    const position = this.#positions.at(line);
    if (kind === PACKET) return { kind: 'packet', packet: this.#packet(position) };
    if (kind < PACKET) return this.#before(position)[kind];
    const note = this.#notes[kind - FIRST_NOTE];
    return note === undefined ? undefined : { kind: 'note', note };
  }

  #before(position: number): LadderRow[] {
    const packets = this.#session.packetsOf(this.conversation);
    const lastNs = position === 0 ? undefined : this.#session.table.timeNs[packets.at(position - 1)];
    return rowsBefore(lastNs, this.#packet(position), this.#silenceNs);
  }

  #packet(position: number): LadderPacket {
    const index = this.#session.packetsOf(this.conversation).at(position);
    return ladderPacket(this.#session, index);
  }

  #usualSilence(): number {
    const packets = this.#session.packetsOf(this.conversation);
    const { timeNs } = this.#session.table;
    const step = Math.max(1, Math.floor(packets.length / SAMPLES));
    const distances: number[] = [];
    for (let at = 1; at < packets.length; at += step) {
      distances.push((timeNs[packets.at(at)] ?? 0) - (timeNs[packets.at(at - 1)] ?? 0));
    }
    return silenceOfDistances(distances);
  }
}

/** A packet of the table as a ladder shows it. */
export function ladderPacket(session: CaptureSession, index: number): LadderPacket {
  const { table } = session;
  const relative = table.relativePsn[index] ?? Number.NaN;
  const syndrome = table.syndrome[index] ?? NONE;
  return {
    number: index + 1,
    timeNs: table.timeNs[index] ?? 0,
    sender: table.sender[index] === 1 ? 1 : 0,
    opcode: table.opcode[index] ?? 0,
    psn: Number.isNaN(relative) ? (table.psn[index] ?? 0) : relative,
    syndrome: syndrome === NONE ? -1 : syndrome,
    payload: table.payload[index] ?? 0,
    marks: table.marks[index] ?? 0,
    missing: table.missing[index] ?? 0,
    ...((table.missing[index] ?? 0) > 0 && !Number.isNaN(relative) ? { gone: goneBefore(session, index) } : {}),
    refersTo: table.refersTo[index] ?? -1,
    ...(table.role[index] === Role.Management ? { name: managementName(session, index) } : {}),
  };
}

/** "CM REQ". */
function managementName(session: CaptureSession, index: number): string {
  const frame = session.dissection(index)?.frame;
  const words =
    frame === undefined || frame.payloadOffset < 0
      ? undefined
      : describeCmMad(frame.view, frame.payloadOffset, frame.payloadLength);
  return words?.split(' ', 2).join(' ') ?? 'management datagram';
}

/** A silence and runs of lost packets stand before a packet, notes not counted. */
const PACKET = MOST_RUNS + 1;
const FIRST_NOTE = PACKET + 1;
const MOST_ROWS = 500;
const SAMPLES = 2000;
