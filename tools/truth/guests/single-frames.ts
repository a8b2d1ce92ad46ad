/**
 * Single frames: what the bump did to each, and what is told of each, by its number.
 *
 * Owns which place can know what: damage, copies and marks show where frames arrive; a capture of both sides shows all.
 */
import type { FaultAction } from 'rocev2/faults';
import type { Analysis, PathEffect, TransportEventKind } from 'rocev2/pcap';
import type { GuestCapture } from './capture.ts';
import type { WireFrame } from './pair.ts';
import { compare, noShare, type Share } from './share.ts';

/** The figures of one thing that can be done to a frame, seen from one place. */
export interface FrameRow {
  readonly action: FaultAction;
  readonly vantage: 'receiver' | 'both sides';
  readonly share: Share;
}

/** Nothing judged yet. */
export function newFrameRows(): FrameRow[] {
  const receiver = Object.keys(EVENTS) as (keyof typeof EVENTS)[];
  const both = Object.keys(EFFECTS) as (keyof typeof EFFECTS)[];
  return [
    ...receiver.map((action): FrameRow => ({ action, vantage: 'receiver', share: noShare() })),
    ...both.map((action): FrameRow => ({ action, vantage: 'both sides', share: noShare() })),
  ];
}

/** Adds what the capture of one side tells of the frames that arrive there. */
export function judgeArrivals({ frames }: GuestCapture, { events }: Analysis, rows: readonly FrameRow[]): void {
  for (const { action, vantage, share } of rows) {
    const kind = vantage === 'receiver' ? EVENTS[action] : undefined;
    if (kind === undefined) continue;
    const real = new Set<number>();
    const seen = new Set<number>();
    for (const [i, { serial, direction, did }] of frames.entries()) {
      if (direction === 'out' || !did.includes(action)) continue;
      // Of a doubled frame the second.
      if (action !== 'duplicate' || seen.has(serial)) real.add(i + 1);
      seen.add(serial);
    }
    compare(real, new Set(events.filter((event) => event.kind === kind).map(({ frame }) => frame)), share);
  }
}

/** Adds what the capture of both sides tells of the way between them. */
export function judgePassages({ frames }: GuestCapture, { paths }: Analysis, rows: readonly FrameRow[]): void {
  for (const { action, vantage, share } of rows) {
    const effect = vantage === 'both sides' ? EFFECTS[action] : undefined;
    if (effect === undefined) continue;
    const real = numbersOf(frames, (frame) => {
      if (frame.direction === 'in') return false;
      // Damage and copies of a frame that does not leave are not.
      return (
        frame.did.some((done) => effectOf(done) === effect) && (effect === 'dropped' || !frame.did.includes('drop'))
      );
    });
    const told = paths.flatMap(({ events }) => events.filter(({ effects }) => effects.includes(effect)));
    compare(real, new Set(told.map((event) => event.in)), share);
  }
}

function numbersOf(frames: readonly WireFrame[], holds: (frame: WireFrame) => boolean): Set<number> {
  return new Set([...frames.entries()].filter(([, frame]) => holds(frame)).map(([i]) => i + 1));
}

const EVENTS: Readonly<Partial<Record<FaultAction, TransportEventKind>>> = {
  duplicate: 'copy',
  corrupt: 'bad-icrc',
  'mark-ce': 'ce-mark',
};
/** A delayed frame is held as one that others overtake is: they share a row. */
const EFFECTS: Readonly<Partial<Record<FaultAction, PathEffect>>> = {
  drop: 'dropped',
  duplicate: 'duplicated',
  corrupt: 'corrupted',
  reorder: 'held',
  'mark-ce': 'marked',
};

function effectOf(action: FaultAction): PathEffect | undefined {
  return action === 'delay' ? 'held' : EFFECTS[action];
}
