/**
 * One request that a receiver lacked, and which answers to duplicates may be about it.
 *
 * Owns how an answer is attributed. An answer to a duplicate names no request: it may be about any that was sent again
 * before. It is taken for one that was sent again shortly before, where there is such a one, otherwise for any. Those
 * that an answer may be about are one group from then on; all of them came twice when the group has as many answers as
 * requests. With fewer, it can be told how many came twice, and not which.
 */

import type { AnswerTimes } from './answer-times.ts';
import type { Lateness } from './lateness.ts';
import type { RoundTrips } from './round-trips.ts';

/** What the ACKs of the space have shown so far. */
export interface AckEvidence {
  readonly roundTrips: Pick<RoundTrips, 'shortestNs' | 'longestNs' | 'boundNs' | 'isSteady'>;
  /** ACKs that look like answers to duplicates of which nothing is known. */
  readonly strayAcks: number;
  /** Of all answers, the share that is missing, as far as the capture shows, when so many requests were lost. */
  missingShare(lost: number): number;
  /** Packets that came late, here or behind this place. */
  readonly latePackets: number;
}

/** A request that a sequence NAK asks for. */
export interface AskedRequest {
  readonly psn: number;
  /** Frame and time of the last sending before the NAK. */
  readonly frame: number;
  readonly sentNs: number;
  /** When the request behind it was sent, whose arrival draws the NAK; NaN: not known. */
  readonly behindNs: number;
  /** The frame of that; -1: not known. */
  readonly behindFrame: number;
  /** The PSN of that. */
  readonly behindPsn: number;
  /**
   * How long the first response took of a READ that it follows, and whose responses came right before the NAK; 0:
   * there is none. If that READ came late, what is behind it was dropped, and the NAK for the READ waited until it was
   * not needed any more.
   */
  readonly readTimeNs: number;
  /** Its last sending was not captured: it was lost or overtaken before this capture point. */
  readonly unseen: boolean;
  /** It asks for an ACK, which it gets whenever it comes. */
  readonly asksAck: boolean;
  /** Nobody asked for its last sending: the NAK may be about the one before, and this one on its way. */
  readonly again: boolean;
  /** That was for a timeout, or for no reason that is known. */
  readonly afterTimeout: boolean;
  /** Frame and time of the NAK. */
  readonly nakFrame: number;
  readonly askedNs: number;
}

/** A request is sent again. */
export interface Resending {
  readonly timeNs: number;
  readonly frame: number;
  /** When the requester went back, and when it had sent the request before this one. */
  readonly backNs: number;
  readonly beforeNs: number;
  /** The receiver may have it: after a timeout, which leaves that open. */
  readonly unsure: boolean;
  /** By what was captured the receiver has it: it came in order, behind what that waited for. */
  readonly had: boolean;
  /** An ACK answers a duplicate of it. */
  readonly drawsAck: boolean;
}

/** The same, and what is known of it since. */
export interface MissedRequest extends AskedRequest {
  /** When it was sent again; -1: not yet. */
  resentNs: number;
  resentFrame: number;
  /** When the request before that was sent; -1: not known. */
  beforeNs: number;
  /** When it was sent again last; -1: not yet. */
  againNs: number;
  /** That was after a timeout, which leaves open what the receiver had. */
  resentUnsure: boolean;
  /** A READ or an atomic: its duplicate is answered by its response, and by no ACK (ref:rxe#7). */
  hasResponse: boolean;
  /** It was there before its retransmission came: a later NAK, or an ACK, was drawn by what was sent before that. */
  drawnBefore: boolean;
  /** When it was known to have arrived; -1: not yet. */
  arrivedNs: number;
  /** It came while the receiver waited for one before it, and was dropped, unless it turns out to have come late. */
  readonly stoodBehind: boolean;
  /** How long after the request behind it was sent the NAK came, its own or that of one behind it; nanoseconds. */
  waitNs: number;
  /** That was longer than it takes to draw a NAK: the receiver may have waited for something else. */
  waited: boolean;
  /** The request before it, which the receiver waited for when it was sent; undefined: it waited for none. */
  readonly after: MissedRequest | undefined;
  /** How long after it was sent its retransmission was answered, if that took too long; nanoseconds, 0: it did not. */
  slowNs: number;
  /** It took longer than with any other before: the answer may be about one that was sent later. */
  odd: boolean;
  /** A duplicate was answered that a retransmission after a timeout may have been. */
  doubtful: boolean;
  /** A timeout came before the receiver was known to have it, and it is not answered when it comes late. */
  timedOut: boolean;
  /** And what acknowledges it may answer a duplicate: it may have come late, and its retransmission was lost. */
  unclear: boolean;
  /** The receiver sent an ACK that nobody asked for, as it often does, when it may have answered a duplicate of it. */
  unasked: boolean;
  /** An ACK waited behind READ responses when it may have been about a duplicate of it; one stands for all that do. */
  hidden: boolean;
  /** Since when one has waited that may be about it: the earliest; Infinity: none has. */
  hiddenFromNs: number;
  /** Answers to duplicates that may be about it; undefined: none. */
  group: AnswerGroup | undefined;
}

/** Of one that was just asked for. */
export const NOTHING_KNOWN = {
  hasResponse: false,
  drawnBefore: false,
  slowNs: 0,
  odd: false,
  arrivedNs: -1,
  resentUnsure: false,
  doubtful: false,
  timedOut: false,
  unclear: false,
  unasked: false,
  hidden: false,
  hiddenFromNs: Number.POSITIVE_INFINITY,
  group: undefined,
} as const;
export const NOT_RESENT = { resentNs: -1, resentFrame: -1, beforeNs: -1, againNs: -1 } as const;

/** A NAK came so long after the request behind this one was sent; `waited`: it was not drawn at once. */
export function noteWait(each: MissedRequest, waitNs: number, waited: boolean): void {
  each.waited ||= waited;
  each.waitNs = Math.max(each.waitNs, waitNs);
}

/**
 * The receiver had everything before `psn` when `frame` came, which draws its ACK, or, sent behind it, a NAK for it:
 * sooner than the retransmissions that were sent later.
 */
export function noteDrawn(open: readonly MissedRequest[], psn: number, frame: number): void {
  if (frame < 0) return;
  for (const each of open) each.drawnBefore ||= each.psn < psn && each.resentFrame > frame;
}

/** An answer that may be about it has waited since then. */
export function noteHidden(each: MissedRequest, fromNs: number): void {
  each.hiddenFromNs = Math.min(each.hiddenFromNs, fromNs);
}

/** Answers, and the requests that they may be about. */
export interface AnswerGroup {
  requests: number;
  answers: number;
  /** An answer came long after: another one may have been taken for something else in that time. */
  far: boolean;
}

/** Whether as many answers came as there are requests that they may be about. */
export function cameTwice({ group }: MissedRequest): boolean {
  return group !== undefined && group.answers >= group.requests;
}

/** It was sent again, and the receiver was not known to have it. */
export function isAwaited({ arrivedNs, resentNs, unseen }: MissedRequest): boolean {
  return arrivedNs < 0 && resentNs >= 0 && !unseen;
}

/** The same, or it came later than its retransmission would have: what was sent behind that may have been dropped. */
export function mayWait(each: MissedRequest): boolean {
  return isAwaited(each) || (each.waited && each.resentNs >= 0 && !each.unseen);
}

/** Requests that cannot be told apart, and how many of them a verdict is about. */
export interface Among {
  readonly requests: readonly MissedRequest[];
  readonly count: number;
}

/** Nothing can be told of it: it was not sent again, or not acknowledged, or an answer may be about another sending. */
export function isUncertain({ doubtful, resentNs, arrivedNs }: MissedRequest): boolean {
  return doubtful || resentNs < 0 || arrivedNs < 0;
}

/** The requests that an answer to a duplicate may be about. */
export interface Candidates {
  /** They were sent again shortly before. */
  readonly near: boolean;
  /** As late as others were, they would have come then. */
  readonly fits: boolean;
  readonly requests: readonly MissedRequest[];
}

/**
 * The requests that an answer to a duplicate may be about, by which the receiver has everything up to `psn`: those that
 * were sent again shortly before, or all where there are none; of the former those that were not much later than others
 * were, or all where there are none.
 */
export function candidates(
  open: readonly MissedRequest[],
  { psn, timeNs }: { readonly psn: number; readonly timeNs: number },
  { soonestNs, nearNs }: Pick<AnswerTimes, 'soonestNs' | 'nearNs'>,
  lateness: Pick<Lateness, 'fits'>,
): Candidates {
  const all = open.filter(
    (each) =>
      !each.stoodBehind &&
      !each.unseen &&
      !each.hasResponse &&
      !cameTwice(each) &&
      each.psn <= psn &&
      each.resentNs >= 0 &&
      timeNs - each.resentNs >= soonestNs,
  );
  const near = all.filter(({ resentNs }) => timeNs - resentNs < nearNs);
  if (near.length === 0) return { near: false, fits: false, requests: all };
  const fitting = near.filter(({ sentNs }) => lateness.fits(sentNs, timeNs));
  return { near: true, fits: fitting.length > 0, requests: fitting.length > 0 ? fitting : near };
}

/** One answer more that may be about any of these. */
export function share(open: readonly MissedRequest[], chosen: readonly MissedRequest[], far = false): void {
  const group: AnswerGroup = { requests: 0, answers: 1, far };
  for (const each of chosen) {
    const before = each.group;
    if (before === group) continue;
    group.requests += before?.requests ?? 1;
    group.answers += before?.answers ?? 0;
    group.far ||= before?.far === true;
    each.group = group;
    if (before !== undefined) for (const other of open) if (other.group === before) other.group = group;
  }
}
