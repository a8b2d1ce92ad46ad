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
 *   request that asked for no ACK (ref:rxe#7): both sendings arrived, and it was overtaken.
 * - None of these until long after its retransmission was acknowledged: it was lost.
 * - A duplicate that something else may have caused, or no acknowledgement at all: it cannot be told.
 * Bounded: the oldest request gets its verdict when there are too many.
 */

/** What became of a request. */
export type Verdict = 'lost' | 'overtaken' | 'unknown';

/** A request that a sequence NAK asks for. */
export interface AskedRequest {
  readonly psn: number;
  /** Frame and time of the last sending before the NAK. */
  readonly frame: number;
  readonly sentNs: number;
  /** Its last sending was not captured: it was lost or overtaken before this capture point. */
  readonly unseen: boolean;
  /** Frame and time of the NAK. */
  readonly nakFrame: number;
  readonly askedNs: number;
}

/** The same, and what is known of it since. */
export interface MissedRequest extends AskedRequest {
  /** When it was sent again; -1: not yet. */
  resentNs: number;
  /** That was after a timeout, which leaves open what the receiver had. */
  resentUnsure: boolean;
  /** When it was known to have arrived; -1: not yet. */
  arrivedNs: number;
  /** It came while the receiver waited for one before it, and was dropped, unless it turns out to have come late. */
  readonly stoodBehind: boolean;
  /** A duplicate was answered, and nothing else explains it. */
  answeredTwice: boolean;
  /** A duplicate was answered, which may have been this one. */
  doubtful: boolean;
}

/** What the ACKs of the space have shown so far. */
export interface AckEvidence {
  /** The shortest time from a request to its ACK; Infinity where there is none. */
  readonly shortestAckNs: number;
  /** ACKs that look like answers to duplicates of which nothing is known. */
  readonly strayAcks: number;
}

/** Takes the verdicts, each once and for good. */
export type VerdictSink = (request: MissedRequest, verdict: Verdict) => void;

export class MissedRequests {
  readonly #open: MissedRequest[] = [];
  readonly #sink: VerdictSink;
  readonly #evidence: AckEvidence;
  #asked = 0;
  /**
   * ACKs that are expected for duplicates: up to one PSN, as nothing new arrives between them, or up to any, for what
   * was sent again though its ACK had passed here.
   */
  #explained = 0;
  #explainedPsn = -1;
  #explainedUntilNs = -1;
  #vain = 0;
  #vainUntilNs = -1;
  /** While the receiver waited for what came late at last: it dropped what was sent then. */
  #waitedFromNs = Number.POSITIVE_INFINITY;
  #waitedToNs = Number.POSITIVE_INFINITY;
  /** Requests sent again after a timeout: whether the receiver had them is not known. */
  #unsure = 0;
  #unsureUntilNs = -1;
  #latestNs = Number.NEGATIVE_INFINITY;

  constructor(sink: VerdictSink, evidence: AckEvidence) {
    this.#sink = sink;
    this.#evidence = evidence;
  }

  get isEmpty(): boolean {
    return this.#open.length === 0;
  }

  /** A sequence NAK asks for a request that was captured. */
  asked({ psn, frame, sentNs, unseen, nakFrame, askedNs: timeNs }: AskedRequest): void {
    this.#asked++;
    // So soon after a sending the NAK is about the one before.
    const soon = timeNs - sentNs < this.#soonestNs;
    this.arrived(psn, timeNs, soon ? 0 : sentNs);
    const stoodBehind = soon ? sentNs >= this.#waitedToNs : sentNs >= this.#waitedFromNs && sentNs < this.#waitedToNs;
    const resentNs = soon ? sentNs : -1;
    const fresh = { arrivedNs: -1, resentUnsure: false, answeredTwice: false, doubtful: false };
    this.#open.push({ psn, frame, sentNs, unseen, nakFrame, askedNs: timeNs, resentNs, stoodBehind, ...fresh });
    if (this.#open.length > MOST_OPEN) this.#settle(this.#open[0] as MissedRequest);
  }

  /** A request is sent again. @param unsure after a timeout, which leaves open what the receiver has */
  resent(psn: number, timeNs: number, unsure: boolean): void {
    for (const each of this.#open) {
      if (each.psn !== psn || each.resentNs >= 0) continue;
      each.resentNs = timeNs;
      each.resentUnsure = unsure;
    }
    if (!unsure) return;
    if (timeNs > this.#unsureUntilNs) this.#unsure = 0;
    this.#unsure++;
    this.#unsureUntilNs = timeNs + this.#soonNs;
  }

  /** A request is sent again that the receiver has acknowledged. */
  resentInVain(timeNs: number): void {
    if (timeNs > this.#vainUntilNs) this.#vain = 0;
    this.#vain++;
    this.#vainUntilNs = timeNs + this.#soonNs;
  }

  /** The receiver has everything before `to`. @param sentNs of the packet that it asks for instead */
  arrived(to: number, timeNs: number, sentNs = Number.POSITIVE_INFINITY): void {
    this.#noticeStep(timeNs);
    for (let i = 0; i < this.#open.length; i++) {
      const each = this.#open[i] as MissedRequest;
      if (each.arrivedNs >= 0 || each.psn >= to) continue;
      each.arrivedNs = timeNs;
      const soon = each.resentNs < 0 || timeNs - each.resentNs < this.#soonestNs;
      // What was sent before its retransmission cannot be asked for unless it came before the retransmission, too.
      if (!soon && sentNs >= each.resentNs) continue;
      this.#expectDuplicates(each, to - 1, timeNs);
      this.#remove(each);
      this.#sink(each, 'overtaken');
      i--;
    }
    this.#age(timeNs);
  }

  /** An ACK up to `psn` that a duplicate explains. Returns whether one is known. */
  duplicateAck(psn: number, timeNs: number): boolean {
    if (this.#explained > 0 && psn === this.#explainedPsn && timeNs <= this.#explainedUntilNs) {
      this.#explained--;
      return true;
    }
    if (this.#vain > 0 && timeNs <= this.#vainUntilNs) {
      this.#vain--;
      return true;
    }
    const isResent = ({ psn: missed, resentNs, stoodBehind, answeredTwice }: MissedRequest): boolean =>
      !stoodBehind && !answeredTwice && missed <= psn && resentNs >= 0 && timeNs - resentNs >= this.#soonestNs;
    const candidates = this.#open.filter(isResent);
    const newest = candidates.at(-1);
    // Soon after a retransmission it is the answer to that. Later it is the original that was held up longest.
    const late = newest !== undefined && timeNs - newest.resentNs > this.#soonNs;
    const recent = candidates.filter(({ resentNs }) => timeNs - resentNs < this.#soonNs * RECENT);
    if (recent.length > 1) for (const each of recent) each.doubtful = true;
    return this.#duplicate(late ? candidates[0] : newest, psn, timeNs);
  }

  /** The first response of a READ or an atomic came again. */
  answeredAgain(psn: number, timeNs: number): void {
    this.#duplicate(
      this.#open.find((each) => each.psn === psn && each.resentNs >= 0 && !each.answeredTwice),
      psn,
      timeNs,
    );
  }

  /** A sending of it was captured late: it has its verdict. */
  cameLate(psn: number): void {
    const each = this.#open.find((one) => one.psn === psn);
    if (each !== undefined) this.#remove(each);
  }

  /** The capture ends. */
  finish(): void {
    while (this.#open.length > 0) this.#settle(this.#open[0] as MissedRequest);
  }

  /** The shortest time in which a retransmission can be acknowledged. */
  get #soonestNs(): number {
    const { shortestAckNs } = this.#evidence;
    return shortestAckNs === Number.POSITIVE_INFINITY ? 0 : shortestAckNs * ROUND_TRIP_SHARE;
  }

  /** The time in which a retransmission is answered. */
  get #soonNs(): number {
    return this.#soonestNs === 0 ? EXPECTED_NS : this.#soonestNs * SOON_ROUND_TRIPS;
  }

  /** Too many duplicates come unasked: the network doubles packets, and one more proves nothing. */
  get #isUnsound(): boolean {
    const strays = this.#evidence.strayAcks;
    return strays > this.#asked * STRAY_SHARE;
  }

  #duplicate(each: MissedRequest | undefined, to: number, timeNs: number): boolean {
    const unsure = this.#unsure > 0 && timeNs <= this.#unsureUntilNs;
    if (unsure) this.#unsure--;
    if (each === undefined) return unsure;
    if (unsure) each.doubtful ||= each.resentUnsure;
    else {
      each.answeredTwice = true;
      this.#expectDuplicates(each, to, timeNs);
    }
    return true;
  }

  /** @param to the last PSN that the receiver had then: up to there retransmissions are duplicates */
  #expectDuplicates(each: MissedRequest, to: number, timeNs: number): void {
    const sinceNs = each.resentNs < 0 ? -1 : timeNs - each.resentNs;
    this.#waitedFromNs = each.sentNs;
    this.#waitedToNs = each.resentNs < 0 ? timeNs : each.resentNs;
    // The original came after its retransmission: only that one was a duplicate.
    this.#explained = sinceNs > this.#soonNs ? 0 : to - each.psn + (sinceNs < this.#soonestNs ? 1 : 0);
    this.#explainedPsn = to;
    this.#explainedUntilNs = timeNs + (sinceNs < 0 ? Math.max(EXPECTED_NS, this.#soonNs) : this.#soonNs);
  }

  /** When the clock went back, nothing that is decided by times can be told. */
  #noticeStep(timeNs: number): void {
    const stepped = timeNs < this.#latestNs - GRACE_NS;
    this.#latestNs = timeNs;
    if (!stepped) return;
    while (this.#open.length > 0) this.#settle(this.#open[0] as MissedRequest, true);
    this.#explained = 0;
    this.#vain = 0;
    this.#unsure = 0;
  }

  /** Those that have been acknowledged for long get their verdict. */
  #age(timeNs: number): void {
    for (let first = this.#open[0]; first !== undefined; first = this.#open[0]) {
      if (first.arrivedNs < 0 || timeNs - first.arrivedNs < GRACE_NS) return;
      this.#settle(first);
    }
  }

  #settle(each: MissedRequest, stepped = false): void {
    this.#remove(each);
    if (each.stoodBehind) return;
    const isUnknown = stepped || each.doubtful || each.resentNs < 0 || each.arrivedNs < 0 || this.#isUnsound;
    this.#sink(each, isUnknown ? 'unknown' : each.answeredTwice ? 'overtaken' : 'lost');
  }

  #remove(each: MissedRequest): void {
    this.#open.splice(this.#open.indexOf(each), 1);
  }
}

const MOST_OPEN = 64;
/** Of the requests that were missed. */
const STRAY_SHARE = 0.2;
/** How long after its acknowledgement a request may still turn out to have been overtaken. */
const GRACE_NS = 100_000_000;
/** Round trips differ by a little; what is answered in less was no retransmission. */
const ROUND_TRIP_SHARE = 0.9;
const SOON_ROUND_TRIPS = 3;
/** Of several that were sent again within this many times that, each may be the one whose original came late. */
const RECENT = 4;
/** How long ACKs of known duplicates are expected. */
const EXPECTED_NS = 1_000_000;
