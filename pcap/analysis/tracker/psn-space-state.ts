/**
 * The state of one PSN space: the requests of one end and the responses to them.
 *
 * Owns the state that `request-tracker.ts` and `response-tracker.ts` share, and how an event of this space is reported.
 * Decides nothing. All PSNs in here are relative: counted from the first one of the space, without wrapping
 * (ref:wire#8).
 */
import { PSN_MASK, psnDiff } from '../../../packets/psn.ts';
import type { ConversationReport, TransportEvent, TransportEventKind, TransportEventReason } from '../types.ts';
import { DamagedPsns } from './damaged-psns.ts';
import { Holes } from './holes.ts';
import type { IpIdOrder } from './id-order.ts';
import type { LateWaits } from './late-waits.ts';
import type { MessageEnds } from './message-ends.ts';
import type { MissedRequests } from './missed-requests.ts';
import type { MutableFacts } from './mutable-facts.ts';
import { OutdatedNaks, type PendingNak } from './outdated-naks.ts';
import { type MemoryBudget, PacketMemory } from './packet-memory.ts';
import { ReadQueue } from './read-queue.ts';
import type { ReceiverModel } from './receiver-model.ts';
import { RequestShapes } from './request-shapes.ts';
import type { RequesterFigures } from './requester-figures.ts';
import { RoundTrips } from './round-trips.ts';

/** Takes events as they become certain. */
export interface EventSink {
  emit(event: TransportEvent): void;
}

/** What all spaces of an analysis share. */
export interface SharedResources {
  readonly sink: EventSink;
  readonly budget: MemoryBudget;
  readonly shapeBudget: MemoryBudget;
}

/** What a PSN space reads of its conversation, which in turn holds the space. */
export interface PsnSpaceOwner {
  readonly id: number;
  readonly service: ConversationReport['service'];
  /** Payload of a full packet, bytes; 0: not known. */
  readonly pathMtu: number;
  /** A DREQ has been seen. */
  readonly ended: boolean;
  /** Takes the events instead of the sink. */
  readonly held: TransportEvent[] | undefined;
  readonly cm?: { readonly ackTimeoutExponent: number };
  end(index: 0 | 1): {
    readonly ids: IpIdOrder;
    readonly requester: RequesterFigures;
    /** Payload of the last FIRST or MIDDLE packet of this end, bytes; 0: none seen. */
    readonly mtu: number;
  };
}

/** What is particular to an event; the rest is that of the packet at hand. */
export interface EventDetails {
  readonly psn?: number;
  readonly count?: number;
  readonly frame?: number;
  readonly timeNs?: number;
  readonly refersTo?: number;
  readonly durationNs?: number;
  readonly cause?: TransportEvent['cause'] | undefined;
  readonly reason?: TransportEventReason | undefined;
  readonly syndrome?: number;
  readonly named?: boolean;
  readonly among?: readonly number[] | undefined;
  readonly amongCount?: number | undefined;
}

/** The same of an event that belongs to another packet than the one at hand. */
export interface PlacedDetails extends EventDetails {
  readonly frame: number;
  readonly timeNs: number;
}

/** A response that was captured is requested again. */
export interface MissedResponse {
  readonly psn: number;
  readonly details: PlacedDetails;
  /** It was lost, whatever else is overtaken. */
  readonly surely: boolean;
  /** The PSN behind all that is requested again with it. */
  askedTo: number;
  /** The PSN behind the last response since it was sent again; -1: it was not. */
  sentTo: number;
  /** When one was sent, since then, that would show that the next one is missing; and the last; Infinity: none yet. */
  shownNs: number;
  sentAllNs: number;
}

export class PsnSpaceState {
  conversation: PsnSpaceOwner;
  requester: 0 | 1;
  report: RequesterFigures;
  readonly surroundings: SharedResources;
  /** PSN on the wire of relative PSN 0. */
  readonly origin: number;
  /** The requester really began at the origin: connection management announced it. */
  readonly announced: boolean;
  /** The service has ACKs. */
  readonly reliable: boolean;
  /** The next PSN, and the largest that it can be: they differ behind a READ of unknown path MTU. */
  next = 0;
  nextLimit = 0;
  /** Requests have been seen, and responses to them. */
  begun = false;
  answered = false;
  /** Everything before this is acknowledged; -Infinity: no ACK was seen yet. */
  acked = -Infinity;
  /** The largest MSN of a response; -1: none was seen. */
  msn = -1;
  /** The responder has refused a request for good: the connection has ended. */
  refused = false;
  lastRequestNs = -Infinity;
  /** When an ACK or a response last acknowledged something new. */
  lastProgressNs = -Infinity;
  /** When anything was answered last, also by a NAK; and the longest wait without an answer or a retransmission. */
  lastAnswerNs = -Infinity;
  patienceNs = 0;
  /** The packet with which a response of a READ or atomic last came, or was last seen to be missing. */
  lastResponseFrame = -1;
  nak: PendingNak | undefined;
  rnr: PendingNak | undefined;
  /** NAKs that seem to be dealt with, and for which the requester may go back all the same. */
  outdatedNaks: OutdatedNaks | undefined;
  /** What a sequence NAK asked for last, and the response that was requested again last; NaN: none. */
  askedPsn = Number.NaN;
  askedResponse = Number.NaN;
  /** The response that the requester waits for: it has dropped those behind it; NaN: none. */
  awaitedResponse = Number.NaN;
  /** A response that came here, and that the requester lacks. */
  missedResponse: MissedResponse | undefined;
  /** The response that was last requested again though it was captured; NaN: none. */
  lastMissedPsn = Number.NaN;
  /** From a response to the READ that asks for the one before it. */
  readonly reactions = new RoundTrips();
  /** A response that was overtaken was so by no more packets than that; Infinity: not known. */
  lateWithin = Number.POSITIVE_INFINITY;
  /** The PSN behind the last response. */
  responsesEnd = -1;
  /** Retransmitted requests, each of which the responder may acknowledge once more. */
  repeats = 0;
  /** Requests that the responder lacked though they were captured; most spaces have none. */
  missed: MissedRequests | undefined;
  /** The request that the responder was last known to lack though it was captured, and when it asked for it. */
  missedPsn = -1;
  missedNs = -1;
  /** What the responder does with what is captured; undefined: nothing was missing yet. */
  receiver: ReceiverModel | undefined;
  /** When the responder waited for requests that came late. */
  lateWaits: LateWaits | undefined;
  /** The shortest time from a NAK to the packets that it asks for; Infinity: unknown. */
  shortestReactionNs = Number.POSITIVE_INFINITY;
  /** The longest silence before a reaction to a gap in responses. */
  slowestReactionNs = 0;
  /** The last run of retransmitted requests: when it began, and with which PSN. */
  runNs = Number.POSITIVE_INFINITY;
  runPsn = -1;
  runCause: TransportEvent['cause'];
  /** It answers a NAK that was outdated. */
  runOutdated = false;
  /** No NAK that still held asked for it: what the responder had of the sendings before is not known. */
  runUnsure = false;
  /** ACKs up to a request that asked for none, which no duplicate explains. */
  unaskedAcks = 0;
  /** Requests that asked for an ACK and got none of their own, since the first request was missed. */
  skippedAcks = 0;
  /** Timeouts for a request that was missing, as the next answer has shown. */
  explainedTimeouts = 0;
  /** The last request that was sent before a timeout that is not answered yet; -1: there is none. */
  silentPsn = -1;
  /** The last request that was new. */
  lastNewPsn = -1;
  readonly requestHoles = new Holes();
  readonly responseHoles = new Holes();
  readonly requests: PacketMemory;
  readonly shapes: RequestShapes;
  #responses: PacketMemory | undefined;
  readonly reads = new ReadQueue();
  /** Where the first messages ended, until the responder is known. */
  messages: MessageEnds | undefined;
  /** PSNs of requests, and of responses, that had a wrong ICRC. */
  readonly damagedRequests = new DamagedPsns();
  readonly damagedResponses = new DamagedPsns();

  constructor(
    conversation: PsnSpaceOwner,
    requester: 0 | 1,
    surroundings: SharedResources,
    origin: number,
    announced: boolean,
    reliable: boolean,
  ) {
    this.conversation = conversation;
    this.requester = requester;
    this.report = conversation.end(requester).requester;
    this.surroundings = surroundings;
    this.requests = new PacketMemory(surroundings.budget);
    this.shapes = new RequestShapes(surroundings.shapeBudget);
    this.origin = origin;
    this.announced = announced;
    this.reliable = reliable;
    if (announced) this.acked = 0;
  }

  /** The requester has not gone back for this NAK, and may do so all the same. */
  noteOutdated(nak: PendingNak): void {
    this.outdatedNaks ??= new OutdatedNaks();
    this.outdatedNaks.add(nak);
  }

  get roundTrips(): RoundTrips {
    return this.report.roundTrips;
  }

  /**
   * The share of answers that is missing: ACKs for which a later one stands, responses that got lost, and timeouts that
   * were not shown to be for a request. Such a timeout is for an answer as often as answers get lost when `lost`
   * requests do, where one answer more counts: none may have been noticed.
   */
  missingShare(lost: number): number {
    const { acks, packets, responses, timeouts } = this.report;
    const answers = Math.max(acks + responses.packets, 1);
    const missing = this.skippedAcks / Math.max(acks, 1) + responses.lostPackets / answers;
    const likely = missing + 1 / answers;
    const unexplained = Math.max(0, timeouts - this.explainedTimeouts);
    return missing + ((likely / (likely + lost / Math.max(packets, 1))) * unexplained) / answers;
  }

  get latePackets(): number {
    return this.report.reorderedPackets + this.report.responses.reorderedPackets;
  }

  get strayAcks(): number {
    return this.report.ghostAcks + this.unaskedAcks;
  }

  /** No retransmission answers a NAK sooner, nanoseconds; 0: that is not known. The first few may take longer. */
  get soonestReactionNs(): number {
    return this.shortestReactionNs === Number.POSITIVE_INFINITY ? 0 : this.shortestReactionNs * REACTION_SHARE;
  }

  get responses(): PacketMemory {
    this.#responses ??= new PacketMemory(this.surroundings.budget);
    return this.#responses;
  }

  /** The relative PSN; of all possible values the one closest to the current position of the requester. */
  relative(psn: number): number {
    return this.next + psnDiff(psn, (this.origin + this.next) & PSN_MASK);
  }

  absolute(relative: number): number {
    return (this.origin + relative) & PSN_MASK;
  }

  emit(kind: TransportEventKind, facts: MutableFacts, sender: 0 | 1, details: EventDetails): void {
    const { timeNs = facts.timeNs, frame = facts.packet.number } = details;
    this.#emit(kind, sender, timeNs, frame, details);
  }

  emitAt(kind: TransportEventKind, sender: 0 | 1, details: PlacedDetails): void {
    this.#emit(kind, sender, details.timeNs, details.frame, details);
  }

  #emit(kind: TransportEventKind, sender: 0 | 1, timeNs: number, frame: number, details: EventDetails): void {
    const { psn, cause, reason, syndrome, named = false, among, amongCount } = details;
    const event: MutableEvent = {
      kind,
      timeNs,
      frame,
      refersTo: details.refersTo ?? -1,
      conversation: this.conversation.id,
      requester: this.requester,
      sender,
      psn: psn === undefined ? -1 : this.absolute(psn),
      count: details.count ?? 1,
      durationNs: details.durationNs ?? -1,
    };
    if (cause !== undefined) event.cause = cause;
    if (reason !== undefined) event.reason = reason;
    if (syndrome !== undefined) event.syndrome = syndrome;
    if (named) event.named = named;
    if (among !== undefined) event.among = among;
    if (amongCount !== undefined) event.amongCount = amongCount;
    const { held } = this.conversation;
    if (held === undefined) this.surroundings.sink.emit(event);
    else held.push(event);
  }
}

type MutableEvent = { -readonly [Name in keyof TransportEvent]: TransportEvent[Name] };

/** A requester that has much to send reacts later: the shortest of a few reactions may be that of such a one. */
const REACTION_SHARE = 0.5;
