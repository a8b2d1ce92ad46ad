/**
 * Watches a bump: writes both sides to the capture and notes everything that was done, so that account and capture name
 * the same frames. Owns the events, bounded in number. Never changes a frame.
 */

import type { BumpObserver } from 'rocev2';
import { FAULT_DIRECTIONS, type FaultPath } from 'rocev2/faults';
import { Frame, Medium, opcodeInfo, parseFrame } from 'rocev2/packets';
import type { Clock } from '../wall-clock.ts';
import type { EventAccount } from './account.ts';
import type { BumpCapture } from './capture.ts';

export class BumpRecorder implements BumpObserver {
  readonly events: EventAccount[] = [];
  eventsOmitted = 0;
  readonly #capture: BumpCapture | undefined;
  readonly #clock: Clock;
  /** Frames that were touched or may be by a queue, and have not left yet, by direction and serial. */
  readonly #underWay = new Map<string, UnderWay>();
  readonly #frame = new Frame();
  readonly #onFrame: (() => void) | undefined;

  /** @param onFrame called for every frame that has come in, before anything else is done with it */
  constructor(clock: Clock, capture: BumpCapture | undefined, onFrame?: () => void) {
    this.#clock = clock;
    this.#capture = capture;
    this.#onFrame = onFrame;
  }

  entered(now: number, path: FaultPath, serial: number, bytes: Uint8Array, start: number, end: number): void {
    this.#onFrame?.();
    const { verdict } = path.engine;
    const touched = verdict.did !== 0;
    const comment = touched ? commentOn(path, verdict.describe()) : '';
    const number = this.#capture?.frame(now, path.direction, 'in', bytes, start, end, comment || undefined);
    // A queue decides when a frame leaves it.
    if (!touched && path.engine.departures(path.direction) === undefined) return;
    const out: number[] = [];
    const event = this.#eventOf(now, path, number, out);
    if (touched) this.#note(event);
    if (verdict.dropped) return;
    const origin = number === undefined ? [] : [`came in as frame ${number}`];
    const comments = touched ? [comment, ...origin] : [];
    this.#underWay.set(keyOf(path.direction, serial), { number, comments, event, out, left: 1 + verdict.copies });
  }

  marked(now: number, path: FaultPath, serial: number, behindBytes: number): void {
    const frame = this.#underWay.get(keyOf(path.direction, serial));
    if (frame === undefined) return;
    const action = `marked CE by the queue, ${behindBytes} bytes behind it`;
    this.#note({ ...frame.event, time: timeText(this.#clock, now), action, rules: [] });
    if (frame.comments.length === 0 && frame.number !== undefined)
      frame.comments.push(`came in as frame ${frame.number}`);
    frame.comments.unshift(action);
  }

  notifying(
    now: number,
    path: FaultPath,
    serial: number,
    bytes: Uint8Array,
    start: number,
    end: number,
    about: number,
  ): void {
    const frame = this.#frame;
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    parseFrame(bytes, view, start, end, Medium.Ethernet, frame);
    const number = this.#underWay.get(keyOf(1 - path.direction, about))?.number;
    const action = `sent a congestion notification${number === undefined ? '' : ` for frame ${number}`}`;
    const out: number[] = [];
    const event: EventAccount = {
      time: timeText(this.#clock, now),
      direction: FAULT_DIRECTIONS[path.direction] ?? 'a-to-b',
      ...(number === undefined ? {} : { about: number, out }),
      action,
      rules: [],
      opcode: opcodeInfo(frame.opcode).name,
      qpn: frame.destQpn,
      psn: frame.psn,
    };
    this.#note(event);
    this.#underWay.set(keyOf(path.direction, serial), { number, comments: [action], event, out, left: 1 });
  }

  left(now: number, path: FaultPath, serial: number, bytes: Uint8Array, start: number, end: number): void {
    const frame = this.#underWay.size === 0 ? undefined : this.#underWay.get(keyOf(path.direction, serial));
    const comment = frame === undefined || frame.comments.length === 0 ? undefined : frame.comments.join('; ');
    const number = this.#capture?.frame(now, 1 - path.direction, 'out', bytes, start, end, comment);
    if (frame === undefined) return;
    if (number !== undefined) frame.out.push(number);
    if (--frame.left === 0) this.#underWay.delete(keyOf(path.direction, serial));
  }

  #note(event: EventAccount): void {
    if (this.events.length < MAX_EVENTS) this.events.push(event);
    else this.eventsOmitted++;
  }

  #eventOf(now: number, path: FaultPath, number: number | undefined, out: readonly number[]): EventAccount {
    const { verdict, frame, note } = path.engine;
    return {
      time: timeText(this.#clock, now),
      direction: FAULT_DIRECTIONS[path.direction] ?? 'a-to-b',
      ...(number === undefined ? {} : { in: number, out }),
      action: verdict.describe(),
      rules: verdict.rules.map(({ name }) => name),
      ...(frame.bthOffset < 0 ? {} : { opcode: opcodeInfo(frame.opcode).name, qpn: frame.destQpn, psn: frame.psn }),
      ...(note.connection === 0 ? {} : { connection: note.connection }),
      ...(note.sourceQpn < 0 ? {} : { sourceQpn: note.sourceQpn }),
      ...(Number.isNaN(note.relativePsn) ? {} : { relativePsn: note.relativePsn, iteration: note.iteration }),
    };
  }
}

/** A monotonic time as `seconds.nanoseconds` since 1970. */
export function timeText(clock: Clock, timeNs: number): string {
  const { seconds, nanoseconds } = clock.at(timeNs);
  return `${seconds}.${String(nanoseconds).padStart(9, '0')}`;
}

/** A frame between its two ends. */
interface UnderWay {
  /** In the capture; of a notification, that of the frame it is about. */
  readonly number: number | undefined;
  /** Its comment as it leaves; undefined as long as nothing was done to it. */
  readonly comments: string[];
  readonly event: EventAccount;
  readonly out: number[];
  /** Copies that have not left yet. */
  left: number;
}

function keyOf(direction: number, serial: number): string {
  return `${direction} ${serial}`;
}

function commentOn({ engine: { note } }: FaultPath, action: string): string {
  const words = [action];
  if (note.connection > 0) words.push(`connection ${note.connection}`);
  if (!Number.isNaN(note.relativePsn))
    words.push(`PSN ${note.relativePsn} of the connection`, `iteration ${note.iteration}`);
  return words.join('; ');
}

const MAX_EVENTS = 100_000;
