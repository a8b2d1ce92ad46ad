/**
 * Ranges of PSNs that are missing in a PSN space, in order, until they are filled or reported.
 *
 * Owns the list, which is bounded: the oldest hole is removed; and how a hole is explained that is never filled.
 */
import type { TransportEventReason } from '../types.ts';

/** PSNs from `from` to just before `to` that were not captured, though later ones were. */
export interface Hole {
  from: number;
  to: number;
  /** The first packet behind it. */
  readonly openedNs: number;
  readonly openedFrame: number;
  /** Its IPv4 identification; -1: none. */
  readonly behindId: number;
  /** A NAK or a repeated request has named it: the network has lost it. */
  requestedAgain: boolean;
  /** When the peer was first known to have the missing packets; -1: not known to have them. */
  acknowledgedNs: number;
}

export class Holes {
  readonly list: Hole[] = [];

  /** Adds a hole behind all others; returns one that had to make room. */
  open(hole: Hole): Hole | undefined {
    // Mostly at the end; elsewhere only when a hole opens in what was not known to exist.
    let at = this.list.length;
    while (at > 0 && (this.list[at - 1] as Hole).from > hole.from) at--;
    this.list.splice(at, 0, hole);
    return this.list.length > MOST_HOLES ? this.list.shift() : undefined;
  }

  at(psn: number): Hole | undefined {
    for (const hole of this.list) if (psn >= hole.from && psn < hole.to) return hole;
    return undefined;
  }

  /** The first that this packet has shown. */
  openedBy(frame: number): Hole | undefined {
    for (const hole of this.list) if (hole.openedFrame === frame) return hole;
    return undefined;
  }

  /** Parts a hole at `psn`, which lies inside: `hole` keeps what is before. */
  split(hole: Hole, psn: number): void {
    this.list.splice(this.list.indexOf(hole) + 1, 0, partOf(hole, psn));
    hole.to = psn;
  }

  /** Takes [from, to) out of a hole, which may vanish or fall in two. */
  fill(hole: Hole, from: number, to: number): void {
    const at = this.list.indexOf(hole);
    if (from > hole.from && to < hole.to) {
      this.list.splice(at + 1, 0, partOf(hole, to));
      hole.to = from;
    } else if (from > hole.from) hole.to = Math.min(hole.to, from);
    else if (to < hole.to) hole.from = Math.max(hole.from, to);
    else this.list.splice(at, 1);
  }
}

/** What is left of a hole from this PSN on. */
function partOf({ to, openedNs, openedFrame, behindId, requestedAgain, acknowledgedNs }: Hole, from: number): Hole {
  return { from, to, openedNs, openedFrame, behindId, requestedAgain, acknowledgedNs };
}

/** Why a hole was never filled. @param asked its packets were requested again @param reliable the service has ACKs */
export function unfilledReason({ acknowledgedNs }: Hole, asked: boolean, reliable: boolean): TransportEventReason {
  if (asked) return 'retransmission-not-seen';
  if (!reliable) return 'service-without-acks';
  return acknowledgedNs >= 0 ? 'acknowledged' : 'not-missed';
}

const MOST_HOLES = 256;
