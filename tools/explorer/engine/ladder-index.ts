/**
 * Which line of a conversation's ladder is what, for conversations of any length: a number for each line, and rows for those that are seen.
 *
 * Owns the numbers. What a row shows is the business of `ladder/`.
 */
import { describeCmMad } from '../../../packets/cm-fields.ts';
import { Role } from '../../../pcap/analysis/facts.ts';
import { type LadderPacket, type LadderRow, rowsBefore, silenceOfDistances } from '../ladder/rows.ts';
import { NONE, NumberList } from './packet-table.ts';
import type { LadderWindow } from './protocol.ts';
import type { Session } from './session.ts';

/** Lines of one conversation, as far as it is read. */
export class LadderIndex {
  readonly conversation: number;
  readonly #session: Session;
  /** For every line the position of its packet in the conversation, and which of the lines before the packet it is; 0 is the packet itself. */
  readonly #lines = new NumberList();
  /** Packets that have lines. */
  #covered = 0;
  readonly #silenceNs: number;

  constructor(session: Session, conversation: number) {
    this.#session = session;
    this.conversation = conversation;
    this.#silenceNs = this.#usualSilence();
  }

  /** Lines `from` to `from + count`. */
  window(from: number, count: number): LadderWindow {
    this.#cover();
    const rows: LadderRow[] = [];
    const end = Math.min(this.#lines.length, from + Math.min(count, MOST_ROWS));
    for (let line = Math.max(0, from); line < end; line++) {
      const row = this.#row(line);
      if (row !== undefined) rows.push(row);
    }
    const first = this.#session.packetsOf(this.conversation).at(0);
    const originNs = this.#session.table.timeNs[first] ?? 0;
    return { from: Math.max(0, from), total: this.#lines.length, rows, originNs };
  }

  /** The line of the packet of a number, or of the next one in this conversation. */
  lineOf(number: number): number {
    this.#cover();
    const position = this.#session.packetsOf(this.conversation).lowerBound(number - 1);
    // The lines are in order of position, and the packet itself comes last among its own.
    const line = this.#lines.lowerBound(position * KINDS);
    let own = line;
    while (own + 1 < this.#lines.length && this.#lines.at(own) % KINDS !== PACKET) own++;
    return own;
  }

  #cover(): void {
    const packets = this.#session.packetsOf(this.conversation);
    for (; this.#covered < packets.length; this.#covered++) {
      const position = this.#covered;
      const before = this.#before(position);
      for (let extra = 0; extra < before.length; extra++) this.#lines.push(position * KINDS + extra);
      this.#lines.push(position * KINDS + PACKET);
    }
  }

  #row(line: number): LadderRow | undefined {
    const code = this.#lines.at(line);
    const position = Math.floor(code / KINDS);
    if (code % KINDS !== PACKET) return this.#before(position)[code % KINDS];
    return { kind: 'packet', packet: this.#packet(position) };
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
export function ladderPacket(session: Session, index: number): LadderPacket {
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
    refersTo: table.refersTo[index] ?? -1,
    ...(table.role[index] === Role.Management ? { name: managementName(session, index) } : {}),
  };
}

/** "CM REQ". */
function managementName(session: Session, index: number): string {
  const frame = session.dissection(index)?.frame;
  const words =
    frame === undefined || frame.payloadOffset < 0
      ? undefined
      : describeCmMad(frame.view, frame.payloadOffset, frame.payloadLength);
  return words?.split(' ', 2).join(' ') ?? 'management datagram';
}

/** At most two lines stand before a packet. */
const KINDS = 4;
const PACKET = 3;
const MOST_ROWS = 500;
const SAMPLES = 2000;
