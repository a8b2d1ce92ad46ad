/**
 * Requests that were captured here and that the receiver lacked: lost behind this capture point, overtaken there, or
 * not to be told.
 *
 * Owns the verdicts. A receiver takes packets in order only (ref:wire#8): what comes while it waits for an earlier one
 * it drops, and it asks once. Evidence, for a request that a sequence NAK asks for:
 * - The receiver has it before a retransmission of it can have been answered: it was overtaken.
 * - It is asked for because the one before it came late: it had come already, and only stood behind that one. Nothing
 *   happened to it.
 * - The receiver answers its retransmission as one answers a duplicate, by an ACK that acknowledges nothing new, or a
 *   request that asked for no ACK (ref:rxe#7): both sendings arrived, and it was overtaken. Which request such an
 *   answer is about, `missed-request.ts` decides.
 * - None of these until long after its retransmission was acknowledged: it was lost.
 * - A duplicate that something else may have caused, or no acknowledgement at all: it cannot be told. Nor is anything
 *   lost for certain where answers go missing and packets are overtaken: the answer to the duplicate may be missing.
 * - A retransmission that was not captured was lost or overtaken before this point, where late ones are captured. It
 *   cannot be told where one came soon, and one more later without another NAK: the later one answers the NAK, and the
 *   first was on its way.
 * Bounded: the oldest request gets its verdict when there are too many.
 */
import { AnswerTimes, EXPECTED_NS } from './answer-times.ts';
import { ExpectedAnswers } from './expected-answers.ts';
import { Lateness } from './lateness.ts';
import {
  type AckEvidence,
  type Among,
  type AnswerGroup,
  type AskedRequest,
  type Candidates,
  cameTwice,
  candidates,
  isAwaited,
  isUncertain,
  type MissedRequest,
  mayWait,
  NOT_RESENT,
  NOTHING_KNOWN,
  noteDrawn,
  noteHidden,
  noteWait,
  type Resending,
  share,
} from './missed-request.ts';
import { UsualLateness } from './usual-lateness.ts';
import { type Verdict, VerdictRules } from './verdict-rules.ts';

/** Takes the verdicts, each once and for good. `among`: it is true of so many of these; which of them is not known. */
export type VerdictSink = (request: MissedRequest, verdict: Verdict, among?: Among) => void;

export class MissedRequests {
  readonly #open: MissedRequest[] = [];
  readonly #sink: VerdictSink;
  readonly #evidence: AckEvidence;
  readonly #rules: VerdictRules;
  readonly #times: AnswerTimes;
  /** When the latest NAK came. */
  #askedNs = -1;
  readonly #expected = new ExpectedAnswers();
  /** While the receiver waited for what came late at last: it dropped what was sent then. */
  #waitedFromNs = Number.POSITIVE_INFINITY;
  #waitedToNs = Number.POSITIVE_INFINITY;
  #latestNs = Number.NEGATIVE_INFINITY;
  readonly #lateness: Lateness;
  readonly #usual: UsualLateness;

  constructor(sink: VerdictSink, evidence: AckEvidence) {
    this.#sink = sink;
    this.#evidence = evidence;
    this.#times = new AnswerTimes(evidence.roundTrips);
    this.#lateness = new Lateness(evidence.roundTrips);
    this.#usual = new UsualLateness(evidence.roundTrips);
    const [open, times, lateness, usual] = [this.#open, this.#times, this.#lateness, this.#usual];
    this.#rules = new VerdictRules({ open, evidence, times, lateness, usual });
  }

  /** An ACK of `psn` came so long after `frame`, its last sending. What draws it then may have been another one. */
  acknowledged(psn: number, waitNs: number, frame: number): void {
    const waited = waitNs > this.#times.usualNs;
    if (!waited) noteDrawn(this.#open, psn, frame);
    for (const each of this.#open) if (each.psn <= psn && isAwaited(each)) noteWait(each, waitNs, waited);
    this.#answeredFirst(psn);
  }

  /**
   * An ACK up to `psn` comes sooner than what was sent again since `sinceNs` can draw it: something before that did.
   * All of it is had twice, also where the sending before was on its way when the NAK came.
   */
  acknowledgedSooner(psn: number, timeNs: number, sinceNs: number): void {
    const again = this.#open.filter((each) => each.psn < psn && each.againNs >= sinceNs && isAwaited(each));
    const [first] = again;
    if (first === undefined) return;
    for (const each of again) each.drawnBefore ||= each.resentNs >= sinceNs;
    this.arrived(psn + 1, timeNs);
    this.#expected.duplicates(psn - first.psn + 1, psn, timeNs + this.#times.soonNs);
  }

  /** Whether a sending of it is missing that was not captured. */
  hasUnseen(psn: number): boolean {
    return this.#open.some((each) => each.psn === psn && each.unseen);
  }

  /** A sequence NAK asks for a request that was captured. */
  asked(request: AskedRequest): void {
    const { psn, frame, sentNs, behindNs, behindFrame, unseen, readTimeNs, askedNs: timeNs } = request;
    this.#rules.asked++;
    this.#askedNs = timeNs;
    if (!unseen) this.#usual.missing(sentNs);
    // So soon after a sending, or with nothing sent behind it that could draw it, the NAK is about the one before.
    const undrawn = behindFrame >= 0 && behindFrame < frame;
    const soon = timeNs - sentNs < this.#times.soonestNs || undrawn;
    // Of a sending that was not captured it is not known when it was.
    const latestNs = unseen ? Number.POSITIVE_INFINITY : sentNs;
    noteDrawn(this.#open, psn, behindFrame);
    const waitNs = Number.isNaN(behindNs) ? 0 : timeNs - behindNs;
    const waited = waitNs > this.#times.longestNs || !this.#times.isUsual(readTimeNs);
    // What it waited for is the one before: a sending of that came later than its retransmission would have.
    for (const each of this.#open) if (each.arrivedNs < 0 && each.psn < psn) noteWait(each, waitNs, waited);
    const after = this.#open.find((each) => each.behindPsn === psn && mayWait(each) && each.resentNs <= sentNs);
    this.arrived(psn, timeNs, soon ? 0 : latestNs);
    const stoodBehind = soon ? sentNs >= this.#waitedToNs : sentNs >= this.#waitedFromNs && sentNs < this.#waitedToNs;
    const resent = soon ? { ...NOT_RESENT, resentNs: sentNs, resentFrame: frame } : NOT_RESENT;
    this.#open.push({ ...request, ...NOTHING_KNOWN, ...resent, stoodBehind, waitNs, waited, after });
    if (this.#open.length > MOST_OPEN) this.#settle(this.#open[0] as MissedRequest);
  }

  /** A request is sent again. */
  resent(psn: number, { timeNs, frame, backNs, beforeNs, unsure, had, drawsAck }: Resending): void {
    for (const each of this.#open) {
      // What is sent again behind it was so right after it, which the capture lacks.
      const behind = each.psn < psn && !unsure && !each.unseen && backNs >= each.askedNs;
      if (each.psn === psn && !drawsAck) each.hasResponse = true;
      if (each.psn === psn) each.againNs = timeNs;
      if (each.psn === psn && unsure && !each.asksAck && isAwaited(each)) each.timedOut = true;
      if ((each.psn !== psn && !behind) || each.resentNs >= 0) continue;
      each.resentNs = timeNs;
      each.resentFrame = frame;
      each.beforeNs = beforeNs;
      each.resentUnsure = unsure;
    }
    if ((unsure || had) && drawsAck) this.#expected.sentUnsure(timeNs, timeNs + this.#times.expectedNs);
  }

  /**
   * A NAK makes the requester send it again, for the second time since. Much later than the first time and without
   * another NAK: this one answers the NAK, and the first was on its way.
   */
  resentForNak(psn: number, timeNs: number): void {
    for (const each of this.#open) {
      const { unseen, askedNs, resentNs } = each;
      if (each.psn !== psn || !unseen || resentNs < 0 || askedNs !== this.#askedNs) continue;
      each.doubtful ||= timeNs - askedNs > (resentNs - askedNs) * SOONER;
    }
  }

  /** A request is sent again that the receiver has acknowledged. @param psn -1: it comes again, and nobody sent it */
  resentInVain(psn: number, timeNs: number): void {
    this.#expected.sentInVain(psn, timeNs, timeNs + this.#times.soonNs);
  }

  /** The receiver has everything before `to`. @param sentNs of the packet that it asks for instead */
  arrived(to: number, timeNs: number, sentNs = Number.POSITIVE_INFINITY): void {
    this.#noticeStep(timeNs);
    for (let i = 0; i < this.#open.length; i++) {
      const each = this.#open[i] as MissedRequest;
      if (each.arrivedNs >= 0 || each.psn >= to) continue;
      each.arrivedNs = timeNs;
      const soon = each.resentNs < 0 || timeNs - each.resentNs < this.#times.soonestNs || each.drawnBefore;
      // What was sent before its retransmission cannot be asked for unless it came before the retransmission, too.
      if (!soon && sentNs >= each.resentNs) continue;
      this.#expectDuplicates(each, to - 1, timeNs);
      this.#remove(each);
      i--;
      // Or its first sending was dropped behind a late one, whose NAK was slow, and the second has come in order.
      const second = each.again && this.#times.soonestNs === 0;
      if (second && each.stoodBehind) continue;
      // Or that was lost, and all was sent again for a timeout before its NAK came: likelier where nothing else has
      // been overtaken.
      const unclear = second && each.afterTimeout && each.resentNs < 0 && this.#rules.told.overtaken === 0;
      if (!unclear) {
        this.#lateness.note(each.sentNs, timeNs);
        this.#usual.overtaken(each.sentNs, timeNs);
      }
      this.#tell(each, unclear ? 'unknown' : 'overtaken');
    }
    this.#age(timeNs);
  }

  /**
   * An ACK up to `psn` that a duplicate explains. Returns whether one is known. @param dueNs when it would have come at
   * the earliest if it did not wait behind READ responses
   */
  duplicateAck(psn: number, timeNs: number, dueNs: number): boolean {
    this.#answeredFirst(psn);
    if (dueNs < timeNs) for (const each of this.#candidates(psn, timeNs).requests) noteHidden(each, dueNs);
    if (this.#isExpected(psn, timeNs, dueNs)) {
      this.#usual.expected(timeNs);
      return true;
    }
    this.#usual.answered(timeNs);
    const { near, fits, requests } = this.#candidates(psn, timeNs);
    const newest = requests.at(-1);
    if (newest === undefined) return false;
    if (!(near && fits)) {
      if (this.#rules.isEcho(timeNs, this.#expected.explainedUntilNs)) return true;
      if (this.#lateness.isUsual(timeNs - this.#waitedToNs)) {
        // What was sent behind a late request was dropped, and sent again; one of those may have been as late, though
        // nobody missed it. Or it was a copy: it counts as any answer that comes long after.
        this.#rules.farAnswers++;
        return true;
      }
    }
    if (near) this.#rules.nearAnswers++;
    else this.#rules.farAnswers++;
    if (timeNs - newest.resentNs > this.#times.soonNs) this.#rules.slowAnswers++;
    this.#attribute(requests, timeNs, near);
    this.#expectDuplicates(newest, psn, timeNs);
    return true;
  }

  /**
   * An ACK of `psn`. After a timeout it may answer a duplicate of that: it had come late, and what was sent for the NAK
   * was lost, so that all behind it was dropped.
   */
  #answeredFirst(psn: number): void {
    const each = this.#open.find((one) => one.psn === psn && one.timedOut);
    if (each !== undefined) each.unclear = true;
  }

  /** It answers something that is known to be a duplicate. */
  #isExpected(psn: number, timeNs: number, dueNs: number): boolean {
    if (this.#expected.takeDuplicate(psn, dueNs)) return true;
    const vainNs = this.#expected.takeVain(dueNs);
    if (vainNs !== undefined) {
      // Two round trips after the last of them it is as likely to be about another one.
      if (vainNs < this.#times.soonestNs) this.unaskedAck(psn, timeNs);
      return true;
    }
    // Or one that was sent again after a timeout.
    if (!this.#expected.takeUnsure(dueNs)) return false;
    for (const each of this.#open) if (each.resentNs >= 0) each.doubtful ||= each.resentUnsure;
    this.unaskedAck(psn, timeNs);
    return true;
  }

  /** An answer to a duplicate is about one of these. */
  #attribute(requests: readonly MissedRequest[], timeNs: number, near: boolean): void {
    share(this.#open, requests, !near);
    for (const each of requests) {
      if (timeNs - each.resentNs > this.#times.longestNs) each.slowNs = timeNs - each.sentNs;
      if (!cameTwice(each)) continue;
      each.odd ||= this.#lateness.isLonger(each.sentNs, timeNs);
      // One that waited behind READ responses tells nothing of how late a request was.
      if (!each.hidden) this.#lateness.note(each.sentNs, timeNs, near);
    }
  }

  /** The first response of a READ or an atomic came again. */
  answeredAgain(psn: number, timeNs: number): void {
    const each = this.#open.find((one) => one.psn === psn && one.resentNs >= 0 && !one.unseen && !cameTwice(one));
    if (each === undefined) return;
    if (each.resentUnsure) {
      each.doubtful = true;
      return;
    }
    share(this.#open, [each]);
    this.#expectDuplicates(each, psn, timeNs);
  }

  /** An ACK that nobody asked for, of a receiver that often sends such, or with other causes: it may be about these. */
  unaskedAck(psn: number, timeNs: number): void {
    this.#answeredFirst(psn);
    this.#usual.answered(timeNs);
    const { near, requests } = this.#candidates(psn, timeNs);
    if (near) for (const each of requests) each.unasked = true;
  }

  /**
   * An ACK or a NAK that waited behind READ responses, from `fromNs` on, stands for all that did: maybe for an ACK
   * about these. By it the receiver has everything up to `psn`. One that came as soon as any, `waitNs` after what
   * draws it was sent, did not wait.
   */
  hiddenAck(psn: number, timeNs: number, fromNs: number, waitNs: number): void {
    const { isSteady, shortestNs } = this.#evidence.roundTrips;
    if (isSteady && waitNs <= shortestNs * SAME) return;
    this.#usual.expected(timeNs);
    const { near, requests } = this.#candidates(psn, timeNs);
    for (const each of this.#open) noteHidden(each, fromNs);
    // Long after any was sent again, where it is known how late they are here.
    const late = this.#rules.slowAnswers > 0 && this.#lateness.boundNs < Number.POSITIVE_INFINITY;
    if (near || late) for (const each of requests) each.hidden ||= this.#rules.answeredUntilNs(each) >= fromNs;
  }

  /** A sending of it was captured late: it has its verdict. */
  cameLate(psn: number): void {
    const each = this.#open.find((one) => one.psn === psn);
    if (each !== undefined) this.#remove(each);
  }

  /** Its retransmission came twice, without a cause: one of them may have been sent before the NAK and come late. */
  cameAgain(psn: number): void {
    for (const each of this.#open) if (each.unseen && each.psn === psn && each.resentNs >= 0) each.doubtful = true;
  }

  /** The capture ends. @param endNs when the receiver answers no more */
  finish(endNs: number): void {
    this.#rules.endNs = endNs;
    this.#usual.finish();
    this.#settleAll();
  }

  #settleAll(): void {
    while (this.#open.length > 0) this.#settle(this.#open[0] as MissedRequest);
  }

  #candidates(psn: number, timeNs: number): Candidates {
    return candidates(this.#open, { psn, timeNs }, this.#times, this.#lateness);
  }

  /** @param to the last PSN that the receiver had then: up to there retransmissions are duplicates */
  #expectDuplicates(each: MissedRequest, to: number, timeNs: number): void {
    const sinceNs = each.resentNs < 0 ? -1 : timeNs - each.resentNs;
    this.#waitedFromNs = each.sentNs;
    this.#waitedToNs = each.resentNs < 0 ? timeNs : each.resentNs;
    // The original came after its retransmission: only that one was a duplicate.
    const latestNs = Math.min(this.#times.soonNs, this.#times.usualNs);
    const before = sinceNs < this.#times.soonestNs || each.drawnBefore;
    const count = sinceNs > latestNs ? 0 : to - each.psn + (before ? 1 : 0);
    this.#expected.duplicates(
      count,
      to,
      timeNs + (sinceNs < 0 ? Math.max(EXPECTED_NS, this.#times.soonNs) : this.#times.soonNs),
    );
  }

  /** When the clock went back, nothing that is decided by times can be told. */
  #noticeStep(timeNs: number): void {
    const stepped = timeNs < this.#latestNs - GRACE_NS;
    this.#latestNs = timeNs;
    if (!stepped) return;
    for (const each of this.#open) each.doubtful = true;
    this.#settleAll();
    this.#expected.forget();
  }

  /** Those that have been acknowledged for long get their verdict. */
  #age(timeNs: number): void {
    for (let first = this.#open[0]; first !== undefined; first = this.#open[0]) {
      if (first.arrivedNs < 0 || timeNs - first.arrivedNs < GRACE_NS) return;
      this.#settle(first);
    }
  }

  #settle(each: MissedRequest): void {
    if (
      this.#rules.usualNs(each) === undefined &&
      each.group !== undefined &&
      !cameTwice(each) &&
      this.#settleGroup(each.group)
    )
      return;
    const verdict = this.#rules.verdictOn(each);
    this.#remove(each);
    if (!each.stoodBehind) this.#tell(each, verdict);
  }

  /** With fewer answers than requests, all others were lost, whichever they are. Returns whether that can be told. */
  #settleGroup(group: AnswerGroup): boolean {
    const { requests, answers } = group;
    const all = this.#open.filter((each) => each.group === group);
    const known = all.every((each) => !isUncertain(each) && !each.stoodBehind && !this.#rules.mayBeOvertaken(each));
    if (all.length !== requests || !known || group.far || this.#rules.answersAreMissing) return false;
    // Something else explains one more, which may be about one of these.
    if (all.filter((each) => this.#usual.isAnsweredAlike(each.sentNs)).length > answers) return false;
    for (const each of all) this.#remove(each);
    // Where some answers have other causes, no less of them were lost.
    const answered = this.#rules.isUnsound ? 'unknown' : 'overtaken';
    for (const [at, each] of all.entries())
      if (at < answers) this.#tell(each, answered, { requests: all, count: answers });
      else this.#tell(each, 'lost', { requests: all, count: requests - answers });
    return true;
  }

  #tell(each: MissedRequest, verdict: Verdict, among?: Among): void {
    this.#rules.told[verdict]++;
    this.#sink(each, verdict, among);
  }

  #remove(each: MissedRequest): void {
    this.#open.splice(this.#open.indexOf(each), 1);
  }
}

const MOST_OPEN = 64;
/** How long after its acknowledgement a request may still turn out to have been overtaken. */
const GRACE_NS = 100_000_000;
/** Times that differ by no more are the same. */
const SAME = 1.02;
/** By how much the sending on its way comes sooner than the one that answers the NAK. */
const SOONER = 4;
