/**
 * One queue of NVMe over Fabrics as a capture shows it: the commands that have no response yet.
 *
 * Owns the reading of capsules, and which later commands were answered meanwhile. A queue is one connection, whose
 * active end sends commands (ref:nvmeof#1). Memory is that of the largest number of commands under way, which is
 * bounded. Whatever the capture may lack counts as a response: a repeated identifier ends the command before it.
 * Rules: ref:nvmeof#2.
 */
import type { PacketFacts } from '../facts.ts';

/** A command without a response. */
export interface OutstandingCommand {
  readonly cid: number;
  readonly opcode: number;
  /** Packet of its capsule. */
  readonly frame: number;
  readonly timeNs: number;
  /** Commands of this queue that were sent after it and answered, and the packet and time of the last such response. */
  readonly later: number;
  readonly laterFrame: number;
  readonly laterNs: number;
  /** Packet of the Abort that names it; 0: none. */
  readonly abortFrame: number;
}

/** The last response of a queue. */
export interface LastResponse {
  readonly frame: number;
  readonly timeNs: number;
  /** When its command was sent. */
  readonly sentNs: number;
}

type Slot = { -readonly [K in keyof OutstandingCommand]: OutstandingCommand[K] } & { psn: number };

/** An Abort: which command of which queue. */
export interface AbortOf {
  readonly qid: number;
  readonly cid: number;
}

/** See the top of this file. */
export class NvmeQueue {
  /** Number of the queue: 0 the admin queue. */
  readonly qid: number;
  /** Its conversation. */
  readonly conversation: number;
  /** Its host and its controller, where they are seen. */
  readonly controller: string;
  /** When its first command was sent. */
  startNs = Number.POSITIVE_INFINITY;
  /** The longest that a command of it took. */
  slowestNs = 0;
  /** Whether it cannot be read: it has no capsules, or the capture has not enough of them. */
  unreadable = false;
  readonly last: { -readonly [K in keyof LastResponse]: LastResponse[K] } = { frame: 0, timeNs: 0, sentNs: -1 };
  /** Made for the largest number so far, and used again; the first `#used` are under way. */
  readonly #slots: Slot[] = [];
  #used = 0;
  #newestPsn = Number.NEGATIVE_INFINITY;

  constructor(qid: number, conversation: number, controller: string) {
    this.qid = qid;
    this.conversation = conversation;
    this.controller = controller;
  }

  /** Commands without a response, in the order of their sending. */
  outstanding(): readonly OutstandingCommand[] {
    return this.#slots.slice(0, this.#used).sort((a, b) => a.psn - b.psn);
  }

  /** The first packet of a message of the host. Returns what it asks to abort. */
  command(facts: PacketFacts): AbortOf | undefined {
    const { packet, timeNs, relativePsn, dissection } = facts;
    const { view, payloadOffset: at, payloadLength } = dissection.frame;
    // A repetition is not another command. NaN has no place.
    if (this.unreadable || !(relativePsn > this.#newestPsn)) return undefined;
    const isFirst = this.#newestPsn === Number.NEGATIVE_INFINITY;
    this.#newestPsn = relativePsn;
    if (payloadLength < COMMAND_BYTES || !captured(facts, READ_BYTES)) {
      this.unreadable = true;
      return undefined;
    }
    const opcode = view.getUint8(at);
    if (isFirst) {
      this.startNs = timeNs;
      this.unreadable = opcode !== FABRICS || view.getUint8(at + FABRICS_TYPE_AT) !== CONNECT;
    }
    const slot = this.#slotFor(view.getUint16(at + CID_AT, true));
    if (slot === undefined) return undefined;
    slot.opcode = opcode;
    slot.frame = packet.number;
    slot.timeNs = timeNs;
    slot.psn = relativePsn;
    slot.later = slot.laterFrame = slot.laterNs = slot.abortFrame = 0;
    if (this.qid !== 0 || opcode !== ABORT || !captured(facts, COMMAND_BYTES)) return undefined;
    return { qid: view.getUint16(at + ABORT_QID_AT, true), cid: view.getUint16(at + ABORT_CID_AT, true) };
  }

  /** A message of the controller. */
  response(facts: PacketFacts): void {
    const { packet, timeNs, dissection } = facts;
    const { view, payloadOffset, payloadLength } = dissection.frame;
    if (this.unreadable) return;
    if (payloadLength !== RESPONSE_BYTES || !captured(facts, RESPONSE_BYTES)) {
      this.unreadable = true;
      return;
    }
    const index = this.#indexOf(view.getUint16(payloadOffset + RESPONSE_CID_AT, true));
    if (index < 0) return;
    const slots = this.#slots;
    const done = slots[index] as Slot;
    for (let i = 0; i < this.#used; i++) {
      const other = slots[i] as Slot;
      if (other.psn >= done.psn) continue;
      other.later++;
      other.laterFrame = packet.number;
      other.laterNs = timeNs;
    }
    this.last.frame = packet.number;
    this.last.timeNs = timeNs;
    this.last.sentNs = done.timeNs;
    this.slowestNs = Math.max(this.slowestNs, timeNs - done.timeNs);
    const last = --this.#used;
    slots[index] = slots[last] as Slot;
    slots[last] = done;
  }

  /** The host has asked to abort a command. */
  abort(cid: number, frame: number): void {
    const slot = this.#slots[this.#indexOf(cid)];
    if (slot !== undefined && slot.abortFrame === 0) slot.abortFrame = frame;
  }

  #indexOf(cid: number): number {
    for (let i = 0; i < this.#used; i++) if (this.#slots[i]?.cid === cid) return i;
    return -1;
  }

  /** That of the same identifier, or another. */
  #slotFor(cid: number): Slot | undefined {
    const known = this.#indexOf(cid);
    if (known >= 0) return this.#slots[known];
    if (this.#used >= MOST_COMMANDS) {
      this.unreadable = true;
      return undefined;
    }
    let slot = this.#slots[this.#used];
    if (slot === undefined) {
      slot = { cid, opcode: 0, frame: 0, timeNs: 0, later: 0, laterFrame: 0, laterNs: 0, abortFrame: 0, psn: 0 };
      this.#slots.push(slot);
    }
    this.#used++;
    slot.cid = cid;
    return slot;
  }
}

function captured({ dissection: { cut, capturedEnd, frame } }: PacketFacts, bytes: number): boolean {
  return !cut || frame.payloadOffset + bytes <= capturedEnd;
}

const COMMAND_BYTES = 64;
const RESPONSE_BYTES = 16;
/** What is read of every command. */
const READ_BYTES = 8;
const CID_AT = 2;
const FABRICS_TYPE_AT = 4;
const ABORT_QID_AT = 40;
const ABORT_CID_AT = 42;
const RESPONSE_CID_AT = 12;
const FABRICS = 0x7f;
const CONNECT = 0x01;
const ABORT = 0x08;
/** A queue has 65,535 entries at most; none that is in use has so many. */
const MOST_COMMANDS = 1024;
