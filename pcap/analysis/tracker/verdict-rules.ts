/**
 * What the evidence on a request that the receiver lacked amounts to, and the answers to duplicates as a whole.
 *
 * Owns when that is enough for a verdict. Where something else is as likely, there is none: where requests come twice,
 * an answer to a duplicate proves nothing of one; where answers are missing, so may the one that would have told that a
 * request was overtaken.
 */
import type { AnswerTimes } from './answer-times.ts';
import type { Lateness } from './lateness.ts';
import { type AckEvidence, cameTwice, isUncertain, type MissedRequest } from './missed-request.ts';
import type { UsualLateness } from './usual-lateness.ts';

/** What became of a request. */
export type Verdict = 'lost' | 'overtaken' | 'unknown';

/** What the rules go by. */
export interface VerdictGrounds {
  /** Requests without a verdict. */
  readonly open: readonly MissedRequest[];
  readonly evidence: AckEvidence;
  readonly times: Pick<AnswerTimes, 'soonestNs' | 'soonNs' | 'usualNs' | 'longestNs' | 'nearNs'>;
  readonly lateness: Pick<Lateness, 'latestNs' | 'boundNs' | 'isOut'>;
  readonly usual: Pick<
    UsualLateness,
    'latestNs' | 'alikeNs' | 'count' | 'isAlike' | 'isAnswered' | 'isAnsweredAlike' | 'comesBetween'
  >;
}

export class VerdictRules {
  readonly #grounds: VerdictGrounds;
  readonly told: Record<Verdict, number> = { lost: 0, overtaken: 0, unknown: 0 };
  /** Sequence NAKs for requests that were captured. */
  asked = 0;
  /** Answers that came soon after a retransmission, others, and all that came later than one is answered. */
  nearAnswers = 0;
  farAnswers = 0;
  slowAnswers = 0;
  /** When the capture ends. */
  endNs = Number.POSITIVE_INFINITY;
  /** Requests that look lost, and are not told to be, as answers are missing. */
  #doubted = 0;

  constructor(grounds: VerdictGrounds) {
    this.#grounds = grounds;
  }

  /** Too many duplicates come unasked: the network doubles packets, and one more proves nothing. */
  get isUnsound(): boolean {
    const [near, far] = [this.nearAnswers, this.farAnswers];
    const { strayAcks } = this.#grounds.evidence;
    return strayAcks > this.asked * STRAY_SHARE || Math.min(near, far) > (near + far) * MIXED_SHARE;
  }

  /**
   * What is late is so by little, and the receiver has just had requests twice: an answer more is about these.
   *
   * @param untilNs when duplicates behind a late request are answered
   */
  isEcho(timeNs: number, untilNs: number): boolean {
    const short = this.farAnswers + this.slowAnswers === 0 && this.nearAnswers + this.told.overtaken >= FEWEST_NEAR;
    return short && timeNs <= untilNs + this.#grounds.times.nearNs;
  }

  /** When a duplicate of it is answered at the latest: at once, or where that was not so before, as late as others. */
  answeredUntilNs({ sentNs, resentNs }: MissedRequest): number {
    const { times, lateness } = this.#grounds;
    const soonNs = resentNs + times.soonNs;
    return this.slowAnswers === 0 ? soonNs : Math.max(soonNs, sentNs + lateness.boundNs);
  }

  verdictOn(each: MissedRequest): Verdict {
    if (isUncertain(each)) return 'unknown';
    if (each.unseen) return 'lost';
    const isByUsual = this.usualNs(each) !== undefined;
    if (!isByUsual && cameTwice(each)) return this.isUnsound || this.#isOdd(each) ? 'unknown' : 'overtaken';
    // Something else explains an answer that came when its own would have, and both may be in it.
    if (this.#grounds.usual.isAnsweredAlike(each.sentNs)) return 'unknown';
    // Where other evidence is in doubt, what is usual may leave none.
    const usualNs = each.hasResponse ? undefined : this.#grounds.usual.latestNs;
    if (!this.#looksLost(each, this.usualNs(each)) && !this.#looksLost(each, usualNs)) return 'unknown';
    if (!this.answersAreMissing) return 'lost';
    this.#doubted++;
    return 'unknown';
  }

  /**
   * Where requests come twice, answers may be about any, and those alone decide that come until a request would have
   * come late at the latest: so long after it was sent, nanoseconds. So it is with one whose answer would be later than
   * any other. Undefined: it is not that which decides.
   */
  usualNs(each: MissedRequest): number | undefined {
    return (this.isUnsound || this.#isOdd(each)) && !each.hasResponse ? this.#grounds.usual.latestNs : undefined;
  }

  /** The answer that may be about it came later than any, before or since. */
  #isOdd({ odd, group, slowNs }: MissedRequest): boolean {
    return odd || (group?.far === true && this.#grounds.lateness.isOut(slowNs));
  }

  /** @param usualNs as `usualNs` returns it */
  #looksLost(each: MissedRequest, usualNs: number | undefined): boolean {
    return !this.#isAnswered(each, usualNs) && !this.mayBeOvertaken(each, usualNs);
  }

  /** An answer to a duplicate may be about it. */
  #isAnswered(each: MissedRequest, usualNs = this.usualNs(each)): boolean {
    const { times, usual, evidence } = this.#grounds;
    const fromNs = each.resentNs + times.soonestNs;
    // Or it was there before its retransmission, and that is answered, or answered as late as others are.
    const soonNs = each.resentNs + Math.max(times.usualNs, usual.alikeNs);
    // Or it was, and that came late: then the answer was later than any.
    const lateNs = this.#isOdd(each) && !this.isUnsound ? each.resentNs : each.sentNs;
    if (usualNs !== undefined) return usual.isAnswered(fromNs, Math.max(lateNs + usualNs, soonNs));
    if (each.group !== undefined) return true;
    // Where nothing is usual, and requests come twice, one that something else explains may be about it as well.
    const untilNs = each.sentNs + evidence.roundTrips.shortestNs * MOST_ROUND_TRIPS;
    return this.isUnsound && !each.hasResponse && usual.isAnswered(fromNs, untilNs);
  }

  /** It looks lost, but what it was answered with if it came late may have been seen, or have waited. */
  mayBeOvertaken(each: MissedRequest, usualNs = this.usualNs(each)): boolean {
    const { after, sentNs } = each;
    const byUsual = usualNs !== undefined;
    const hidden = byUsual ? each.hiddenFromNs <= sentNs + usualNs : each.hidden;
    // What is usual reckons with all answers.
    const unclear = each.unclear || (each.unasked && !byUsual);
    const { evidence, lateness, times } = this.#grounds;
    const { latePackets, roundTrips } = evidence;
    const known = this.nearAnswers + this.farAnswers + this.#overtaken;
    if (unclear && known > 0) return true;
    // Nobody was there to answer one that came as late as others did, or a little later.
    if (this.endNs - sentNs < (usualNs ?? lateness.latestNs ?? 0)) return true;
    const waited = each.waited || each.waitNs > times.longestNs;
    // Sent again behind one that was late then: it stood behind that, and no second NAK tells so.
    const isLate = after !== undefined && (this.#isSlow(after) || after.waited || this.#mayFill(after, sentNs));
    const behindLate = isLate || (after !== undefined && !roundTrips.isSteady);
    return (waited || hidden || behindLate) && known + latePackets > 0;
  }

  /** What was sent again for it may have come late. When it came itself as late as others, that was answered. */
  #isSlow(each: MissedRequest): boolean {
    const isItsOwn = each.group?.requests === 1;
    if (isItsOwn && this.#grounds.usual.isAlike(each.slowNs)) return false;
    return this.usualNs(each) !== undefined ? this.#isAnswered(each) : each.slowNs > 0;
  }

  /**
   * Where packets are overtaken, some that look lost were, too, when answers are missing: lost on their way, not
   * captured, or never sent, as by a receiver that answers several requests at once. So many that too large a share of
   * these verdicts would be wrong.
   */
  get answersAreMissing(): boolean {
    const { open, evidence, usual } = this.#grounds;
    // Where requests come twice, those that did are no sign.
    const overtaken = this.isUnsound && usual.count > 0 ? usual.count : Math.max(this.#overtaken, usual.count);
    if (overtaken === 0) return false;
    let lookLost = this.told.lost + this.#doubted;
    for (const each of open) if (!each.stoodBehind && !this.#isAnswered(each)) lookLost++;
    return overtaken * evidence.missingShare(lookLost) > lookLost * MOST_FALSE;
  }

  /**
   * As late as usual it would come in the place of its retransmission, had that been lost. @param nextNs when the
   * request behind that was sent, which may wait for it as long as it takes itself
   */
  #mayFill(each: MissedRequest, nextNs: number): boolean {
    const { sentNs, beforeNs, resentNs } = each;
    return !cameTwice(each) && this.#grounds.usual.comesBetween(sentNs, beforeNs, 2 * nextNs - resentNs);
  }

  get #overtaken(): number {
    return this.told.overtaken + this.#grounds.open.filter(cameTwice).length;
  }
}

/** Of the requests that were missed. */
const STRAY_SHARE = 0.05;
/** Of all answers. What is late is late by about the same; what is doubled is doubled at any time. */
const MIXED_SHARE = 0.1;
/**
 * Of those that are told to be lost, the share that may have been overtaken. Half of what is wanted: the share of
 * answers that are missing is guessed from few.
 */
const MOST_FALSE = 0.005;
/** So many answers that came soon are no accident. */
const FEWEST_NEAR = 2;
/** What is later by more is not reckoned with, where no lateness is usual. */
const MOST_ROUND_TRIPS = 32;
