/**
 * Senders at the far ends of the links of a switch, as bad as the rules allow: always a frame to send, at line rate,
 * and as late to stop as link and frames make it.
 *
 * One byte takes one nanosecond. A pause or resume waits for a frame that the switch is just sending, takes its own
 * time and that of the link; a frame that was begun is finished.
 */

import { EventQueue } from '../../../src/ground/event-queue.ts';
import type { SharedBuffer } from '../../../src/sim/buffer/index.ts';

/** 8 Gb/s: one byte a nanosecond. */
export const BYTE_RATE_BPS = 8e9;

/** A pause frame on the wire, with preamble, frame check sequence and gap. */
export const PAUSE_FRAME_BYTES = 84;

export interface Upstream {
  readonly senders: number;
  readonly delayNs: number;
  /** Length of the nth frame of a sender. */
  readonly frameBytes: (sender: number, nth: number) => number;
  /** How long the nth message of a port waits behind a frame of its own. */
  readonly waitNs: (port: number, nth: number) => number;
  /** Whether the egress may send now; asked again a little later after a no. */
  readonly drains: (now: number) => boolean;
  /** When the senders begin. */
  readonly startNs?: (sender: number) => number;
  /** From then on nobody begins a frame and the egress sends everything. */
  readonly untilNs: number;
}

export interface UpstreamResult {
  /** What the switch told each sender: 'X' for stop, 'O' for go on. */
  readonly told: readonly string[];
}

const PRIORITY = 3;
const RETRY_NS = 50;
const KINDS = 5;
const BEGIN = 0;
const ARRIVE = 1;
const STOP = 2;
const GO = 3;
const DRAIN = 4;

interface Sender {
  paused: boolean;
  busy: boolean;
  sent: number;
  messages: number;
  lastMessageNs: number;
  readonly onWire: number[];
}

/** Runs `senders` against ports 0.. of `buffer`; port `senders` is where everything goes out. Checks nothing itself. */
export function runUpstream(buffer: SharedBuffer, options: Upstream): UpstreamResult {
  const { senders: count, delayNs, untilNs } = options;
  const events = new EventQueue();
  const told = new Array<string>(count).fill('');
  const senders = Array.from({ length: count }, (): Sender => {
    return { paused: false, busy: false, sent: 0, messages: 0, lastMessageNs: 0, onWire: [] };
  });
  const waiting: { port: number; bytes: number }[] = [];
  let draining = false;
  let now = 0;

  const at = (time: number, kind: number, port: number) => events.push(time, port * KINDS + kind);
  const tell = (port: number, kind: number) => {
    const sender = senders[port] as Sender;
    told[port] += kind === STOP ? 'X' : 'O';
    // A port's messages keep their order.
    const wait = Math.max(now + options.waitNs(port, sender.messages++), sender.lastMessageNs);
    sender.lastMessageNs = wait;
    at(wait + PAUSE_FRAME_BYTES + delayNs, kind, port);
  };
  const begin = (port: number) => {
    const sender = senders[port] as Sender;
    if (sender.paused || sender.busy || now > untilNs) return;
    sender.busy = true;
    const bytes = options.frameBytes(port, sender.sent++);
    sender.onWire.push(bytes);
    at(now + bytes, BEGIN, port);
    at(now + bytes + delayNs, ARRIVE, port);
  };
  const drain = () => {
    const first = waiting[0];
    draining = first !== undefined;
    if (first === undefined) return;
    const sends = options.drains(now) || now > untilNs;
    at(now + (sends ? first.bytes : RETRY_NS), DRAIN, sends ? 1 : 0);
  };
  const arrive = (port: number) => {
    const bytes = (senders[port] as Sender).onWire.shift() as number;
    if (buffer.admit(port, count, PRIORITY, bytes)) waiting.push({ port, bytes });
    if (buffer.takePause(port, PRIORITY)) tell(port, STOP);
    if (!draining) drain();
  };
  const depart = () => {
    const { port, bytes } = waiting.shift() as { port: number; bytes: number };
    buffer.release(port, count, PRIORITY, bytes);
    if (buffer.takeResume(port, PRIORITY)) tell(port, GO);
  };

  for (let port = 0; port < count; port++) at(options.startNs?.(port) ?? 0, BEGIN, port);
  while (events.size > 0) {
    now = events.peekTime();
    const event = events.pop();
    const port = Math.floor(event / KINDS);
    const kind = event % KINDS;
    const sender = senders[port] as Sender;
    if (kind === BEGIN) sender.busy = false;
    else if (kind === ARRIVE) arrive(port);
    else if (kind === STOP) sender.paused = true;
    else if (kind === GO) sender.paused = false;
    else {
      if (port === 1) depart();
      drain();
    }
    if (kind === BEGIN || kind === GO) begin(port);
  }
  return { told };
}
