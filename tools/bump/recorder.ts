/**
 * Watches a bump: writes both sides to the capture and notes everything that was done, so that account and capture name the same frames.
 * Owns the events, bounded in number. Never changes a frame.
 */
import { opcodeInfo } from '../../packets/opcode.ts';
import type { BumpObserver } from '../../src/bump.ts';
import type { FaultPath } from '../../src/faults/path.ts';
import { FAULT_DIRECTIONS } from '../../src/faults/rule.ts';
import type { WallClock } from '../wall-clock.ts';
import type { EventAccount } from './account.ts';
import type { BumpCapture } from './capture.ts';

export class BumpRecorder implements BumpObserver {
  readonly events: EventAccount[] = [];
  eventsOmitted = 0;
  readonly #capture: BumpCapture | undefined;
  readonly #clock: WallClock;
  /** Frames that were touched and have not left yet, by direction and serial. */
  readonly #underWay = new Map<string, TouchedFrame>();

  constructor(clock: WallClock, capture: BumpCapture | undefined) {
    this.#clock = clock;
    this.#capture = capture;
  }

  entered(now: number, path: FaultPath, serial: number, bytes: Uint8Array, start: number, end: number): void {
    const { verdict } = path.engine;
    const touched = verdict.did !== 0;
    const comment = touched ? commentOn(path) : undefined;
    const number = this.#capture?.frame(now, path.direction, 'in', bytes, start, end, comment);
    if (!touched) return;
    const out: number[] = [];
    this.#note(this.#eventOf(now, path, number, out));
    if (verdict.dropped) return;
    const origin = number === undefined ? '' : `; came in as frame ${number}`;
    const left = 1 + verdict.copies;
    this.#underWay.set(keyOf(path, serial), { comment: `${comment}${origin}`, out, left });
  }

  left(now: number, path: FaultPath, serial: number, bytes: Uint8Array, start: number, end: number): void {
    const touched = this.#underWay.size === 0 ? undefined : this.#underWay.get(keyOf(path, serial));
    const number = this.#capture?.frame(now, 1 - path.direction, 'out', bytes, start, end, touched?.comment);
    if (touched === undefined) return;
    if (number !== undefined) touched.out.push(number);
    if (--touched.left === 0) this.#underWay.delete(keyOf(path, serial));
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
export function timeText(clock: WallClock, timeNs: number): string {
  const { seconds, nanoseconds } = clock.at(timeNs);
  return `${seconds}.${String(nanoseconds).padStart(9, '0')}`;
}

interface TouchedFrame {
  readonly comment: string;
  readonly out: number[];
  /** Copies that have not left yet. */
  left: number;
}

function keyOf(path: FaultPath, serial: number): string {
  return `${path.direction} ${serial}`;
}

function commentOn({ engine }: FaultPath): string {
  const { verdict, note } = engine;
  const words = [verdict.describe()];
  if (note.connection > 0) words.push(`connection ${note.connection}`);
  if (!Number.isNaN(note.relativePsn))
    words.push(`PSN ${note.relativePsn} of the connection`, `iteration ${note.iteration}`);
  return words.join('; ');
}

const MAX_EVENTS = 100_000;
