/**
 * Requests that failed: retransmitted without an answer, refused by RNR NAKs until the end, or answered by a NAK that
 * ends the connection.
 *
 * Owns the bookkeeping that the detectors of failures share, and which failure is the consequence of which. It reports
 * nothing itself. Memory is bounded: stuck PSN spaces beyond `MOST_STALLS` at one time are not followed.
 *
 * - A stall begins with the first retransmission after a timeout, or with an RNR NAK. It ends with anything that lets
 *   the requester advance.
 * - A stall at the end of the capture is a failure in two cases: the request was tried as often as the retry count
 *   allows (that of connection management, seven at most), or no further try came for three times the longest wait
 *   between tries. An HCA may wait up to four times the timeout that is configured (rdma_rxe and this stack wait
 *   exactly that long), and every such wait has been seen already.
 * - A silence is the consequence of another failure when it began after that failure had ended its queue pair. On other
 *   connections between the same hosts it is one only if an endpoint, not the network, was the cause, and within
 *   `TEARDOWN_NS`.
 */
import { AETH_AT } from '../../../packets/opcode.ts';
import { psnDiff } from '../../../packets/psn.ts';
import { RNR_TIMER_NS } from '../../../packets/rnr-timer.ts';
import type { DetectorContext } from '../detector.ts';
import { Mark, type PacketFacts, Role } from '../facts.ts';
import { PacketKind, REQUEST_KINDS } from '../packet-kind.ts';
import type { ConversationReport, EndReport, TransportEvent } from '../types.ts';
import { DisconnectedQueuePairs } from './disconnected-queue-pairs.ts';
import { FrameList } from './frame-list.ts';
import { heirFrames } from './heirs.ts';

/** Why a PSN space is stuck: no response at all, the receiver is not ready, or a NAK has ended it. */
export type FailureKind = 'silence' | 'rnr' | 'fatal';

/** Requests of one end that are stuck, or were until the capture ended. */
export interface Failure {
  readonly kind: FailureKind;
  readonly conversation: ConversationReport;
  readonly requester: 0 | 1;
  /** Of the request that is stuck. */
  readonly psn: number;
  /** How often it was sent; 0 where only the NAKs were seen. */
  readonly tries: number;
  /** When it was sent first, or became the oldest unanswered request; and when it was last tried or refused. */
  readonly firstNs: number;
  readonly lastNs: number;
  /** Tries, or NAKs. */
  readonly frames: FrameList;
  /** Between tries; at most `MOST_WAITS`. */
  readonly waits: readonly number[];
  /** Of the last NAK; -1: none. */
  readonly syndrome: number;
  /** No further tries: the capture goes on without one, or their number has reached the retry count. */
  readonly gaveUp: boolean;
  /** Requests that are new have followed the last try. */
  readonly sentMore: boolean;
}

/** Watches for stalls. */
export class FailureWatch {
  readonly #stalls = new Map<number, Stall>();
  readonly #fatal: Stall[] = [];
  /** The last timeout event: its packet, and the wait before it. */
  #timeoutFrame = 0;
  #timeoutWaitNs = -1;

  /**
   * Kinds of packets that it needs: everything out of the ordinary, and everything that may let a stuck requester
   * advance.
   */
  get interest(): number {
    return this.#stalls.size === 0 ? PacketKind.Other : STUCK_KINDS;
  }

  /** Before or after the packet that it is about. */
  event(event: TransportEvent): void {
    if (event.kind !== 'timeout') return;
    this.#timeoutFrame = event.frame;
    this.#timeoutWaitNs = event.durationNs;
    this.#stalls.get(event.conversation * 2 + event.requester)?.waited(event.frame, event.durationNs);
  }

  packet(facts: PacketFacts): void {
    // Nearly all packets end here.
    if ((facts.marks & REMARKABLE) === 0 && this.#stalls.size === 0) return;
    const { conversation, role } = facts;
    if (conversation === undefined || (role !== Role.Request && role !== Role.Response)) return;
    const key = conversation.id * 2 + facts.requester;
    const stall = this.#stalls.get(key);
    if (role === Role.Request) this.#request(facts, conversation, key, stall);
    else this.#response(facts, conversation, key, stall);
  }

  /** All that are stuck at the end, first to last; each once, whatever the number of vantage points that show it. */
  finish({ capture, conversations, conversation }: FinishContext): Failure[] {
    const disconnected = new DisconnectedQueuePairs(conversations);
    const heirs = heirFrames(conversations);
    const all = [...this.#stalls.values(), ...this.#fatal].flatMap((stall) => {
      if (stall.beganFrame >= (heirs.get(stall.conversation.id) ?? Number.POSITIVE_INFINITY)) return [];
      const failure = finalOf(stall.toFailure(capture.durationNs), conversation(stall.conversation.id));
      if (failure === undefined) return [];
      return failure.kind === 'silence' && disconnected.explain(failure, TEARDOWN_NS) ? [] : [failure];
    });
    return unique(all.sort((a, b) => a.lastNs - b.lastNs));
  }

  #request(facts: PacketFacts, conversation: ConversationReport, key: number, stall: Stall | undefined): void {
    const { marks, packet } = facts;
    if ((marks & Mark.Copy) !== 0) return;
    if ((marks & Mark.AfterTimeout) === 0 || stall?.waitsForRetry === true) {
      if (stall?.sent(facts) === false) this.#stalls.delete(key);
      return;
    }
    const psn = psnOf(facts);
    if (stall?.kind === 'silence' && stall.psn === psn) {
      stall.triedAgain(facts);
      return;
    }
    const silence = new Stall('silence', conversation, facts, psn);
    this.#begin(key, silence);
    if (packet.number === this.#timeoutFrame) silence.waited(packet.number, this.#timeoutWaitNs);
  }

  #response(facts: PacketFacts, conversation: ConversationReport, key: number, stall: Stall | undefined): void {
    const { marks } = facts;
    if ((marks & (Mark.BadIcrc | Mark.Copy)) !== 0) return;
    if ((marks & Mark.RnrNak) !== 0) {
      const psn = psnOf(facts);
      if (stall?.kind === 'rnr' && stall.psn === psn) stall.refused(facts);
      else this.#begin(key, new Stall('rnr', conversation, facts, psn));
      return;
    }
    if ((marks & Mark.Nak) !== 0) {
      const syndrome = syndromeOf(facts);
      // What is pipelined behind a refused request draws a sequence NAK; it is refused still (ref:rxe#7).
      if (syndrome === SEQUENCE_ERROR && stall?.kind === 'rnr' && stall.psn === psnOf(facts)) return;
      this.#stalls.delete(key);
      if (syndrome === SEQUENCE_ERROR || this.#fatal.length >= MOST_STALLS) return;
      this.#fatal.push(new Stall('fatal', conversation, facts, psnOf(facts)));
      return;
    }
    // A response to an answered request does not let the requester advance.
    if (stall !== undefined && psnDiff(psnOf(facts), stall.psn) >= 0) this.#stalls.delete(key);
  }

  #begin(key: number, stall: Stall): void {
    if (this.#stalls.size < MOST_STALLS || this.#stalls.has(key)) this.#stalls.set(key, stall);
  }
}

/** The part of the context that is used at the end. */
type FinishContext = Pick<DetectorContext, 'capture' | 'conversations' | 'conversation'>;

/** The requester and the responder. */
export function endsOf({ conversation, requester }: Failure): readonly [EndReport, EndReport] {
  const [first, second] = conversation.ends;
  return requester === 0 ? [first, second] : [second, first];
}

/**
 * Whether the requester ever got a response in this PSN space: at this vantage point or, for what may be the same queue
 * pairs, at another one.
 */
export function wasAnswered(
  failure: Failure,
  { conversations, seenElsewhere }: Pick<DetectorContext, 'conversations' | 'seenElsewhere'>,
): boolean {
  const [requesterEnd, responderEnd] = endsOf(failure);
  if (answersTo(requesterEnd) > 0) return true;
  if (!seenElsewhere(failure.conversation, failure.requester === 0 ? 1 : 0)) return false;
  const { service, interfaceIndex } = failure.conversation;
  return conversations.some((other) => {
    if (other.interfaceIndex === interfaceIndex || other.service !== service) return false;
    const [first, second] = other.ends;
    const straight = isSameEnd(first, requesterEnd) && isSameEnd(second, responderEnd) && answersTo(first) > 0;
    return straight || (isSameEnd(second, requesterEnd) && isSameEnd(first, responderEnd) && answersTo(second) > 0);
  });
}

/** What follows from what: for each silence that another failure explains, that one. */
export function consequences(failures: readonly Failure[]): Map<Failure, Failure> {
  const roots = new Map<Failure, Failure>();
  for (const failure of failures.slice(0, MOST_COMPARED)) {
    if (failure.kind !== 'silence') continue;
    const root = failures.find((other) => other !== failure && !roots.has(other) && explains(other, failure));
    if (root !== undefined) roots.set(failure, root);
  }
  return roots;
}

/**
 * The failure with the figures of the end of the capture. Undefined when those show that there was none, because
 * everything was answered, possibly by packets of the other half of the conversation.
 */
function finalOf(failure: Failure, conversation: ConversationReport | undefined): Failure | undefined {
  if (conversation === undefined) return undefined;
  const requesterEnd = failure.conversation.ends[failure.requester];
  const same = isSameEnd(conversation.ends[failure.requester], requesterEnd);
  const requester = same ? failure.requester : failure.requester === 0 ? 1 : 0;
  const { unansweredPsn } = conversation.ends[requester].requester;
  const isOver = unansweredPsn < 0 || psnDiff(unansweredPsn, failure.psn) > 0;
  return failure.kind === 'silence' && isOver ? undefined : { ...failure, conversation, requester };
}

/** Without those that another vantage point, or the other half of a conversation, shows as well. */
function unique(failures: readonly Failure[]): Failure[] {
  const seen = new Set<string>();
  return failures.filter(({ kind, conversation, requester }) => {
    const key = `${kind} ${groupOf(conversation)} ${conversation.ends[requester].address} ${conversation.ends[requester].qpn}`;
    return !seen.has(key) && seen.add(key);
  });
}

function isSameEnd(one: EndReport, other: EndReport): boolean {
  return one.address === other.address && (one.qpn === other.qpn || one.qpn < 0 || other.qpn < 0);
}

function explains(root: Failure, silence: Failure): boolean {
  if (silence.firstNs < root.lastNs) return false;
  if (groupOf(root.conversation) === groupOf(silence.conversation)) return root.gaveUp;
  if (root.kind === 'silence' || !root.gaveUp) return false;
  return sameHosts(root, silence) && silence.firstNs <= root.lastNs + TEARDOWN_NS;
}

function sameHosts(one: Failure, other: Failure): boolean {
  const [a, b] = endsOf(one);
  const [c, d] = endsOf(other);
  return (a.address === c.address && b.address === d.address) || (a.address === d.address && b.address === c.address);
}

/** How often the requester may retry after RNR NAKs, if known: by the REQ for the passive end, by the REP else. */
export function rnrRetriesOf({
  conversation: { cm },
  requester,
}: Pick<Failure, 'conversation' | 'requester'>): number | undefined {
  return cm?.activeEnd === requester ? cm.activeRnrRetryCount : cm?.rnrRetryCount;
}

/** What conversations share that are the same at several vantage points. */
export function groupOf({ id, sameAs }: ConversationReport): number {
  return sameAs === 0 ? id : sameAs;
}

/** Responses that an end received, NAKs included. */
export function answersTo({ requester }: EndReport): number {
  const naks = Object.values(requester.naks).reduce((sum, count) => sum + count, 0);
  return requester.acks + requester.responses.packets + requester.rnrNaks + naks;
}

class Stall {
  readonly kind: FailureKind;
  readonly conversation: ConversationReport;
  readonly requester: 0 | 1;
  readonly psn: number;
  tries: number;
  firstNs: number;
  lastNs: number;
  syndrome = -1;
  readonly frames = new FrameList();
  readonly waits: number[] = [];
  readonly beganFrame: number;
  #lastRequestNs: number;
  #sentMore = false;
  /** RNR: a try has followed the last NAK. */
  #retried = false;

  constructor(kind: FailureKind, conversation: ConversationReport, facts: PacketFacts, psn: number) {
    this.kind = kind;
    this.conversation = conversation;
    this.requester = facts.requester;
    this.psn = psn;
    this.beganFrame = facts.packet.number;
    this.firstNs = facts.timeNs;
    this.lastNs = facts.timeNs;
    this.#lastRequestNs = facts.timeNs;
    this.tries = kind === 'silence' ? 2 : 1;
    if (kind !== 'silence') this.syndrome = syndromeOf(facts);
    else if (facts.refersTo > 0) this.frames.add(facts.refersTo);
    this.frames.add(facts.packet.number);
  }

  /** Refused, and due to try again. */
  get waitsForRetry(): boolean {
    return this.kind === 'rnr' && !this.#retried;
  }

  /** Silence: sets the wait without a response before `frame` was sent. */
  waited(frame: number, durationNs: number): void {
    if (frame !== this.beganFrame || this.kind !== 'silence' || this.waits.length > 0 || !(durationNs > 0)) return;
    this.waits.push(durationNs);
    this.firstNs = this.lastNs - durationNs;
  }

  triedAgain(facts: PacketFacts): void {
    this.tries++;
    this.#sentMore = false;
    this.#lastRequestNs = facts.timeNs;
    this.#wait(facts);
  }

  refused(facts: PacketFacts): void {
    this.tries++;
    this.syndrome = syndromeOf(facts);
    if (!this.#retried) this.#wait(facts);
    else this.frames.add(facts.packet.number);
    this.lastNs = Math.max(facts.timeNs, this.lastNs);
    this.#retried = false;
    this.#sentMore = false;
  }

  /** Any other request of the space. Returns false when it shows that the stall is over though no answer was seen. */
  sent(facts: PacketFacts): boolean {
    const { timeNs, marks } = facts;
    this.#lastRequestNs = timeNs;
    if (this.waitsForRetry && psnOf(facts) === this.psn) {
      this.#retried = true;
      this.#noteWait(timeNs);
    }
    if ((marks & Mark.Retransmission) !== 0) return true;
    this.#sentMore = true;
    return this.kind !== 'silence' || timeNs - this.lastNs <= MOVED_ON * Math.max(...this.waits, 0);
  }

  toFailure(endNs: number): Failure {
    const { kind, conversation, requester, psn, tries, firstNs, lastNs, frames, waits, syndrome } = this;
    const ending = { gaveUp: this.#gaveUp(endNs), sentMore: this.#sentMore };
    return { kind, conversation, requester, psn, tries, firstNs, lastNs, frames, waits, syndrome, ...ending };
  }

  #gaveUp(endNs: number): boolean {
    if (this.kind === 'fatal') return true;
    const told = this.kind === 'rnr' ? rnrRetriesOf(this) : this.conversation.cm?.retryCount;
    // Seven RNR retries mean infinitely many. rdma_rxe treats seven timeouts so as well, and continues (ref:rxe#8).
    const most = told ?? (this.kind === 'rnr' ? Number.POSITIVE_INFINITY : MOST_RETRIES);
    if (this.kind === 'rnr' && told === MOST_RETRIES) return false;
    if (this.tries === most + 1) return true;
    const rnrWaitNs = this.kind === 'rnr' ? (RNR_TIMER_NS[this.syndrome & 0x1f] ?? 0) : 0;
    const longest = Math.max(rnrWaitNs, ...this.waits);
    return longest > 0 && !this.#retried && endNs - Math.max(this.lastNs, this.#lastRequestNs) > PATIENCE * longest;
  }

  /** Clocks of captures go back at times: that is no wait. */
  #noteWait(timeNs: number): void {
    if (this.waits.length < MOST_WAITS) this.waits.push(Math.max(0, timeNs - this.lastNs));
  }

  #wait({ timeNs, packet }: PacketFacts): void {
    this.#noteWait(timeNs);
    this.lastNs = Math.max(timeNs, this.lastNs);
    this.frames.add(packet.number);
  }
}

function psnOf({ dissection }: PacketFacts): number {
  return dissection.frame.psn;
}

function syndromeOf({ dissection: { frame } }: PacketFacts): number {
  const at = AETH_AT[frame.opcode] ?? -1;
  return at < 0 ? -1 : frame.view.getUint8(frame.bthOffset + at);
}

const STUCK_KINDS = PacketKind.Other | REQUEST_KINDS | PacketKind.Answer | PacketKind.Ack;
const REMARKABLE = Mark.AfterTimeout | Mark.RnrNak | Mark.Nak;
const SEQUENCE_ERROR = 0x60;
const MOST_RETRIES = 7;
/** Failures that are compared with all others. */
const MOST_COMPARED = 2000;
const MOST_STALLS = 4096;
/** More than any retry count allows; of endless ones the first say enough. */
const MOST_WAITS = 16;
/** So many times the longest wait between two tries. */
const PATIENCE = 3;
/**
 * A requester that sends new requests for so many times that wait, without a retransmission, has its answer; the
 * capture lacks it.
 */
const MOVED_ON = 4;
/** A program that sees an error closes what else it has within seconds. */
const TEARDOWN_NS = 10e9;
