/**
 * The decisions of the queue pairs in a step, in words. Owns the wording and the kinds; reads `QpTrace` and counters,
 * and decides nothing. Not on a hot path: every note allocates.
 */

import type { DeviceCounters } from 'rocev2/browser';
import {
  type PortCounters,
  QP_STATE_NAMES,
  QpState,
  type QpTrace,
  type RequestJudgement,
  type RetryTrigger,
  WcStatus,
  type WorkCompletion,
  wcStatusName,
} from 'rocev2/transport';

/** Kinds of notes, for colours and for lessons that wait for one. */
export type NoteKind =
  | 'acknowledged'
  | 'asked'
  | 'completed'
  | 'connected'
  | 'disconnected'
  | 'dropped'
  | 'duplicate'
  | 'failed'
  | 'icrc'
  | 'not-ready'
  | 'notified'
  | 'out-of-sequence'
  | 'patience'
  | 'paused'
  | 'posted'
  | 'refused'
  | 'rejected'
  | 'resumed'
  | 'retry'
  | 'rnr-over'
  | 'rnr-wait'
  | 'state'
  | 'timewait-over'
  | 'unreachable'
  | 'unreliable-loss';

/** One decision. */
export interface SessionNote {
  readonly kind: NoteKind;
  /** Whose. */
  readonly host: number;
  readonly text: string;
}

/** A completion as it was polled. */
export interface PolledCompletion {
  readonly host: number;
  readonly timeNs: number;
  readonly qpn: number;
  readonly wrId: number;
  readonly status: number;
  /** `status` in words. */
  readonly statusName: string;
  /** A `WcOpcode`. */
  readonly opcode: number;
  readonly byteLen: number;
  /** Immediate data, or -1. */
  readonly immData: number;
}

/** Records the decisions of one host's queue pairs. */
export class HostNotes implements QpTrace {
  readonly #host: number;
  readonly #name: string;
  readonly #notes: SessionNote[];
  readonly #counters = new Map<string, number>();
  /** Queue pairs that pause after an RNR NAK. */
  readonly waiting = new Set<number>();

  /** Appends to `notes`, which all hosts share. */
  constructor(host: number, name: string, notes: SessionNote[]) {
    this.#host = host;
    this.#name = name;
    this.#notes = notes;
  }

  stateChanged(_qpn: number, from: QpState, to: QpState): void {
    const why = to === QpState.Error ? ': nothing is sent any more, and all work is flushed' : '';
    this.#note('state', `${this.#name} moves from ${QP_STATE_NAMES[from]} to ${QP_STATE_NAMES[to]}${why}`);
  }

  acknowledged(_qpn: number, psn: number, outstanding: number): void {
    const rest = outstanding === 0 ? 'nothing is outstanding' : `${packets(outstanding)} still to be acknowledged`;
    this.#note('acknowledged', `${this.#name} knows that everything before PSN ${psn} arrived; ${rest}`);
  }

  retried(_qpn: number, psn: number, trigger: RetryTrigger, retriesLeft: number): void {
    const why = trigger === 'timeout' ? 'The ACK timer ran out' : 'Something is missing at the peer';
    const left = Number.isFinite(retriesLeft) ? `; ${retriesLeft} more tries` : '';
    this.#note('retry', `${why}: ${this.#name} goes back to PSN ${psn} and sends from there again${left}`);
  }

  rnrWait(qpn: number, psn: number, waitNs: number): void {
    this.waiting.add(qpn);
    this.#note('rnr-wait', `${this.#name} waits ${microseconds(waitNs)} before it sends PSN ${psn} again`);
  }

  judged(_qpn: number, psn: number, judgement: RequestJudgement): void {
    this.#note(judgement, `${this.#name} ${JUDGEMENTS[judgement]} (PSN ${psn})`);
  }

  completed({ wrId, status }: WorkCompletion): void {
    if (status === WcStatus.Success) this.#note('completed', `${this.#name}: work request ${wrId} is done`);
    else this.#note('failed', `${this.#name}: work request ${wrId} failed: ${wcStatusName(status)}`);
  }

  notified(): void {
    this.#note('notified', `${this.#name} received a CNP and slows down`);
  }

  rate(): void {}

  /** The pause of a queue pair is over. */
  rnrOver(qpn: number): void {
    this.waiting.delete(qpn);
    this.#note('rnr-over', `The pause is over: ${this.#name} tries again`);
  }

  /** A pause of PFC began or is over, for the host or its switch. */
  pause(paused: boolean, text: string): void {
    this.#note(paused ? 'paused' : 'resumed', `${this.#name} ${text}`);
  }

  /** What the connection manager has told the application. */
  connection(kind: NoteKind, text: string): void {
    this.#note(kind, `${this.#name} ${text}`);
  }

  /** What was posted, or was refused at once. */
  posted(text: string): void {
    this.#note('posted', `${this.#name} ${text}`);
  }

  /** Says what counters have counted since the last call, where no decision of a queue pair says it. */
  count(device: DeviceCounters, port: PortCounters): void {
    for (const [name, kind, text] of COUNTED) {
      const value = name in device ? device[name as keyof DeviceCounters] : port[name as keyof PortCounters];
      if (value > (this.#counters.get(name) ?? 0)) this.#note(kind, `${this.#name} ${text}`);
      this.#counters.set(name, value);
    }
  }

  #note(kind: NoteKind, text: string): void {
    this.#notes.push({ kind, host: this.#host, text });
  }
}

function packets(count: number): string {
  return count === 1 ? '1 packet is' : `${count} packets are`;
}

/** "12.5 us", "1.2 ms", "68.72 s". */
export function microseconds(ns: number): string {
  if (ns === Infinity) return 'infinitely';
  if (ns >= 1e9) return `${round(ns / 1e9)} s`;
  if (ns >= 1e6) return `${round(ns / 1e6)} ms`;
  return ns >= 1_000 ? `${round(ns / 1_000)} us` : `${ns} ns`;
}

function round(value: number): number {
  return Math.round(value * 100) / 100;
}

const JUDGEMENTS: Readonly<Record<RequestJudgement, string>> = {
  duplicate: 'has executed this before: it answers once more and does nothing twice',
  'out-of-sequence': 'expects an earlier PSN: it says so with one NAK',
  dropped: 'drops it without a word: its NAK is out, or it remembers nothing of it',
  'not-ready': 'has no receive posted: it asks for a pause with an RNR NAK',
  refused: 'refuses this request with a NAK, and gives the connection up',
};

const COUNTED: readonly (readonly [keyof DeviceCounters | keyof PortCounters, NoteKind, string])[] = [
  ['badIcrc', 'icrc', 'finds the ICRC wrong: it drops the packet without a word'],
  ['badIpChecksum', 'icrc', 'finds the IP checksum wrong: it drops the packet without a word'],
  [
    'brokenMessage',
    'unreliable-loss',
    'misses a part of the message: the rest of it is worthless, and no error is reported',
  ],
  ['noReceive', 'unreliable-loss', 'has no receive posted: the message is gone, and no error is reported'],
  [
    'bufferTooSmall',
    'unreliable-loss',
    'has a receive that is too small: the message is gone, and no error is reported',
  ],
  ['accessRefused', 'unreliable-loss', 'does not allow this WRITE: it is dropped, and no error is reported'],
];
