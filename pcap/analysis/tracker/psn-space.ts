/**
 * One PSN space: the requests of one end and all responses to them.
 *
 * Owns how many PSNs a packet takes, which packets can belong to the space at all, and its beginning and end.
 * `request-tracker.ts` and `response-tracker.ts` compare a packet with those before it. Rule: a READ takes ceil(length
 * / path MTU) PSNs (ref:wire#8).
 */
import { aethMsn, aethSyndrome, SYNDROME_KIND_MASK, SyndromeKind } from '../../../packets/aeth.ts';
import { AETH_AT, OpFlag } from '../../../packets/opcode.ts';
import { MessageEnds } from './message-ends.ts';
import type { MutableFacts } from './mutable-facts.ts';
import { PacketFlag } from './packet-memory.ts';
import { type PsnSpaceOwner, PsnSpaceState, type SharedResources } from './psn-space-state.ts';
import { readLength } from './read-length.ts';
import { shapeOf } from './request-shapes.ts';
import { RequestTracker } from './request-tracker.ts';
import type { RequesterFigures } from './requester-figures.ts';
import { ResponseTracker } from './response-tracker.ts';

/** What a request is to the life of its queue pair, by its PSN. */
export const Life = {
  /** It belongs to it. */
  Same: 0,
  /** It repeats what was acknowledged, after a while: a retransmission, or another life with the same PSNs. */
  Repeated: 1,
  /** It is far ahead: behind a hole of the capture, forged, or of another life. */
  Ahead: 2,
  /** It cannot belong to it. */
  Other: 3,
} as const;
export type Life = (typeof Life)[keyof typeof Life];

export class PsnSpace {
  readonly state: PsnSpaceState;
  readonly #requests: RequestTracker;
  readonly #responses: ResponseTracker;
  #trustsJumps = false;

  /** @param announced `origin` is from connection management, and not the first PSN seen */
  constructor(
    conversation: PsnSpaceOwner,
    requester: 0 | 1,
    surroundings: SharedResources,
    origin: number,
    announced: boolean,
  ) {
    const reliable = conversation.service !== 'UC';
    this.state = new PsnSpaceState(conversation, requester, surroundings, origin, announced, reliable);
    this.#requests = new RequestTracker(this.state);
    this.#responses = new ResponseTracker(this.state);
    const { report } = this.state;
    report.firstPsn = origin;
    report.nextPsn = origin;
    report.fromStart = announced;
  }

  request(facts: MutableFacts): void {
    const { state } = this;
    const { frame } = facts.dissection;
    const psn = state.relative(frame.psn);
    facts.relativePsn = psn;
    this.#noteTime(facts);
    if (!state.begun && !state.announced && (frame.flags & BEGINS) !== 0) state.messages = new MessageEnds();
    if ((frame.flags & OpFlag.Read) === 0) this.#requests.request(facts, psn, 1, 1);
    else this.#read(facts, psn);
  }

  response(facts: MutableFacts): void {
    const psn = this.state.relative(facts.dissection.frame.psn);
    facts.relativePsn = psn;
    this.state.messages = undefined;
    this.#noteTime(facts);
    this.#responses.response(facts, psn);
  }

  /** A packet with a wrong ICRC. Its receiver dropped it, so the packet that replaces it does not show a loss. */
  damaged(facts: MutableFacts): void {
    const { state } = this;
    const { psn, flags } = facts.dissection.frame;
    const relative = state.relative(psn);
    facts.relativePsn = relative;
    const isRequest = (flags & OpFlag.Request) !== 0;
    // The PSN itself may be what is damaged.
    const likely = Math.abs(relative - state.next) < FARTHEST_DAMAGED ? relative : state.next;
    if (isRequest) state.damagedRequests.add(likely);
    else state.damagedResponses.add(relative);
  }

  /** The same, of the one right before the packet at hand. Returns false where it is no such packet: it came. */
  damagedBefore(facts: MutableFacts): boolean {
    const { state } = this;
    const { psn, flags } = facts.dissection.frame;
    const before = state.relative(psn) - 1;
    const isRequest = (flags & OpFlag.Request) !== 0;
    if ((isRequest ? state.requests : state.responses).has(before)) return false;
    (isRequest ? state.damagedRequests : state.damagedResponses).add(before);
    return true;
  }

  /** The path MTU is known now: READs without a known number of responses get one. */
  learnMtu(mtu: number): void {
    const { state } = this;
    const end = state.reads.resolve(mtu);
    if (end <= state.next) return;
    state.next = end;
    state.nextLimit = end;
    state.report.nextPsn = state.absolute(end);
  }

  /**
   * The path MTU has changed, as the response with this PSN shows: the newest READ, if that is what it answers and
   * nothing was requested since, takes another number of PSNs than it was taken for.
   */
  resize(psn: number, mtu: number): void {
    const { state } = this;
    const entry = state.reads.newest;
    if (entry === undefined || !entry.isRead || entry.openEnded || entry.end !== state.next) return;
    if (entry.start !== state.relative(psn)) return;
    entry.end = entry.start + Math.max(1, Math.ceil(entry.length / mtu));
    state.next = entry.end;
    state.nextLimit = entry.end;
    state.report.nextPsn = state.absolute(entry.end);
  }

  /** Whether a packet with this PSN can belong to this space. If not, the queue pair numbers have been reused. */
  fits(psn: number): boolean {
    const { state } = this;
    if (!state.begun && !state.answered) return true;
    const relative = state.relative(psn);
    const { next, acked } = state;
    const over = state.conversation.ended || state.refused;
    const reach = over ? NEAR : FARTHEST_BACK;
    if (relative > next + (over ? NEAR : FARTHEST_AHEAD)) return false;
    const oldest = acked === -Infinity ? next : Math.min(acked, next);
    return relative >= oldest - reach || state.reads.find(relative) !== undefined;
  }

  /** What the request at hand is to this life. */
  lifeOf(facts: MutableFacts): Life {
    const { state } = this;
    const { psn, flags } = facts.dissection.frame;
    if (!state.begun && !state.answered) return Life.Same;
    const relative = state.relative(psn);
    const { next, acked } = state;
    // Nearly all requests.
    if (relative >= next && relative <= state.nextLimit + NEAR) return Life.Same;
    const begins = (flags & (OpFlag.First | OpFlag.Only)) !== 0;
    const idleNs = facts.timeNs - Math.max(state.lastRequestNs, state.lastProgressNs);
    if (!state.reliable) {
      const back = relative < next && (relative < next - NEAR || idleNs >= UNRELIABLE_NS);
      return begins && (back || relative > next + FARTHEST_UNRELIABLE) ? Life.Other : Life.Same;
    }
    if (!this.fits(psn)) return Life.Other;
    if (relative > next) return state.begun && !this.#trustsJumps ? Life.Ahead : Life.Same;
    const answered = relative < acked;
    if (state.shapes.otherThan(shapeOf(facts), relative) !== -1) {
      const fresh = answered ? begins || idleNs >= RESTART_NS : relative === 0 && idleNs >= LONG_NS;
      return fresh ? Life.Other : Life.Same;
    }
    if (!begins || idleNs < RESTART_NS || !(answered || state.refused)) return Life.Same;
    return this.lastMsn >= 0 || state.refused ? Life.Repeated : Life.Same;
  }

  /** The largest MSN of a response; -1: none, or the connection has ended with a NAK. */
  get lastMsn(): number {
    return this.state.refused ? -1 : this.state.msn;
  }

  get messagesBegun(): number {
    return this.state.report.messagesBegun;
  }

  /** The responder has refused a request for good. */
  get isOver(): boolean {
    return this.state.refused;
  }

  /** Whether a request with this PSN goes on here. */
  continues(psn: number): boolean {
    const { state } = this;
    const relative = state.relative(psn);
    return relative >= state.next && relative <= state.nextLimit + NEAR;
  }

  /** The same of a space beside another one. @param contested the other one may have it as well */
  isNext({ dissection: { frame } }: MutableFacts, contested: boolean): boolean {
    const { state } = this;
    const relative = state.relative(frame.psn);
    if (relative >= state.next) return relative <= state.nextLimit + (contested ? FEW : NEAR);
    return relative >= 0 && !contested;
  }

  /** Whether the response at hand answers something that is outstanding here. */
  isAnswered({ dissection: { frame } }: MutableFacts): boolean {
    const { state } = this;
    const relative = state.relative(frame.psn);
    return state.begun && relative >= Math.max(0, state.acked) && relative < Math.max(state.next, state.nextLimit);
  }

  /** The capture has holes, or shows samples: a PSN far ahead is nothing particular. */
  trustJumps(): void {
    this.#trustsJumps = true;
  }

  /** Something else has the queue pair now: what was in doubt is forgotten. */
  end(report: RequesterFigures): void {
    const { state } = this;
    state.report = report;
    state.next = state.relative(report.nextPsn);
    state.nextLimit = state.next;
    this.#requests.forget();
    this.#responses.forget();
  }

  /**
   * How well a response fits a request of this space; lower is better, Infinity: not at all. The kind of response must
   * match the request. The MSN and whether the request had AckReq set decide further. A response to a request from just
   * before the beginning of the capture is possible.
   */
  answerScore(facts: MutableFacts): number {
    const { state } = this;
    const { psn, flags, view, bthOffset, opcode } = facts.dissection.frame;
    if (!state.begun) return Number.POSITIVE_INFINITY;
    const relative = state.relative(psn);
    const first = state.announced ? 0 : -NEAR;
    const limit = Math.max(state.next, state.nextLimit);
    if (relative < first || relative > limit + FEW) return Number.POSITIVE_INFINITY;
    if (relative < 0 || relative >= limit) return OUTSIDE_SCORE + Math.abs(limit - relative);
    const entry = state.reads.find(relative);
    const isAck = (flags & OpFlag.Ack) !== 0;
    const aeth = AETH_AT[opcode] ?? -1;
    const positive = aeth >= 0 && (aethSyndrome(view, bthOffset + aeth) & SYNDROME_KIND_MASK) === SyndromeKind.Ack;
    if (isAck ? positive && entry !== undefined : entry?.isRead !== ((flags & OpFlag.ReadResponse) !== 0)) {
      return Number.POSITIVE_INFINITY;
    }
    const right = aeth < 0 ? undefined : state.messages?.matches(relative, aethMsn(view, bthOffset + aeth));
    const asked = !isAck || (state.requests.flagsOf(relative) & PacketFlag.AckReq) !== 0;
    return (right === undefined ? 2 : right ? 0 : 4) + (asked ? 0 : 1);
  }

  /** When the request with this PSN was captured; NaN: unknown. */
  askedNs(psn: number): number {
    const relative = this.state.relative(psn);
    return this.state.reads.find(relative)?.askedNs ?? this.state.requests.timeOf(relative);
  }

  /** How far a request with this PSN is from the expected one, where only responses were seen. */
  distanceOfRequest(psn: number): number {
    const distance = Math.abs(this.state.relative(psn) - this.state.next);
    return this.state.begun || distance > NEAR ? Number.POSITIVE_INFINITY : distance;
  }

  finish(facts: MutableFacts): void {
    const { state } = this;
    this.#requests.finish(facts);
    this.#responses.finish(facts);
    const waiting = state.reads.incompleteBefore(Number.POSITIVE_INFINITY);
    const acked = Math.max(0, state.acked);
    if (!state.reliable || !state.begun) return;
    if (waiting !== undefined && waiting.next < acked) state.report.unansweredPsn = state.absolute(waiting.next);
    else state.report.unansweredPsn = acked < state.next ? state.absolute(acked) : -1;
  }

  #read(facts: MutableFacts, psn: number): void {
    const { conversation, requester } = this.state;
    const responder = requester === 0 ? 1 : 0;
    const length = readLength(facts);
    const mtu = conversation.end(requester).mtu || conversation.pathMtu || conversation.end(responder).mtu;
    const limit = Math.max(1, Math.ceil(length / (mtu || SMALLEST_MTU)));
    this.#requests.request(facts, psn, mtu > 0 ? limit : 1, limit);
  }

  #noteTime(facts: MutableFacts): void {
    const { report } = this.state;
    if (report.startNs < 0) report.startNs = facts.timeNs;
    report.endNs = facts.timeNs;
  }
}

const SMALLEST_MTU = 256;
const BEGINS = OpFlag.First | OpFlag.Only;
const OUTSIDE_SCORE = 100;
/** PSNs by which a capture may have missed the first packets, or the last before a connection ended. */
const NEAR = 1024;
const FEW = 64;
const FARTHEST_DAMAGED = 1024;
/** A capture may miss a lot, but hardly this much; and no requester retransmits what was acknowledged so long ago. */
const FARTHEST_AHEAD = 0x10_00_00;
const FARTHEST_BACK = 0x80_00;
/** UC has no retransmission. So late is no original; and the network may well lose so many packets at a time. */
const UNRELIABLE_NS = 50_000_000;
const FARTHEST_UNRELIABLE = 4096;
/** A queue pair is not reset and connected again sooner, and an original does not come later than after a second. */
const RESTART_NS = 1_000_000;
const LONG_NS = 1_000_000_000;
