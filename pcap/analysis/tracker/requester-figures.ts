/**
 * The figures of the requests of one end, counted while the capture is read: a `RequesterReport` that is always up to
 * date.
 *
 * Owns the figures. The trackers of a PSN space (`request-tracker.ts`, `response-tracker.ts`) count.
 */
import { OpFlag } from '../../../packets/opcode.ts';
import type { LatencyReport, RequesterReport } from '../types.ts';
import { Histogram, latencyOf } from './histogram.ts';
import { RoundTrips } from './round-trips.ts';

/** What happened to packets of one kind. */
export class PacketCounts {
  packets = 0;
  retransmittedPackets = 0;
  lostPackets = 0;
  unseenPackets = 0;
  reorderedPackets = 0;
  undecidedPackets = 0;
  /** Of the lost ones, those that nothing names: a gap that a retransmission filled, as one of the capture is too. */
  unnamedLosses = 0;
  /** Packets that filled, alone, a gap which a NAK had named, and count as late as nothing behind them came again. */
  filledAlone = 0;
  /** Packets were sent again that had come: the sender goes back. */
  wentBack = false;
}

export class RequesterFigures implements RequesterReport {
  firstPsn = -1;
  fromStart = false;
  nextPsn = -1;
  packets = 0;
  retransmittedPackets = 0;
  lostPackets = 0;
  unseenPackets = 0;
  reorderedPackets = 0;
  undecidedPackets = 0;
  /** As of `PacketCounts`. */
  unnamedLosses = 0;
  filledAlone = 0;
  wentBack = false;
  /** An answer to a duplicate may have been about a request that others had overtaken. */
  seemsOvertaken = false;
  readonly responses = new PacketCounts();
  /** Of its lost responses, those that were captured before they were requested again. */
  missedResponses = 0;
  /** READs that asked at once for the response behind the one that the READ before had asked for, and got again. */
  nextAsked = 0;
  copies = 0;
  rnrNaks = 0;
  impliedNaks = 0;
  timeouts = 0;
  ghostAcks = 0;
  acks = 0;
  mostOutstandingReads = 0;
  mostUnackedPackets = 0;
  creditCode = -1;
  goodputBytes = 0;
  unansweredPsn = -1;
  /** Times of the first and the last packet of the PSN space. */
  startNs = -1;
  endNs = -1;
  /** Messages begun: their number in all is what an MSN is compared with. */
  messagesBegun = 0;
  #messages: number[] | undefined;
  #naks: Map<string, number> | undefined;
  #ack: Histogram | undefined;
  #read: Histogram | undefined;
  #generation: Histogram | undefined;
  #reaction: Histogram | undefined;
  #turnaround: Histogram | undefined;
  roundTrips = new RoundTrips();

  get messages(): Readonly<Record<string, number>> {
    const counts: Record<string, number> = {};
    MESSAGE_NAMES.forEach((name, kind) => {
      const count = this.#messages?.[kind] ?? 0;
      if (count > 0) counts[name] = count;
    });
    return counts;
  }

  get naks(): Readonly<Record<string, number>> {
    return Object.fromEntries(this.#naks ?? []);
  }

  get goodputBps(): number {
    const duration = this.endNs - this.startNs;
    return duration > 0 ? Math.round((this.goodputBytes * 8e9) / duration) : 0;
  }

  get ackLatency(): LatencyReport {
    return latencyOf(this.#ack);
  }

  get readLatency(): LatencyReport {
    return latencyOf(this.#read);
  }

  get nakGeneration(): LatencyReport {
    return latencyOf(this.#generation);
  }

  get nakReaction(): LatencyReport {
    return latencyOf(this.#reaction);
  }

  /** From an answer after which nothing is outstanding to the next request. */
  get turnaround(): LatencyReport {
    return latencyOf(this.#turnaround);
  }

  /** Histograms and round trips are shared: the original counts no more. */
  copy(): RequesterFigures {
    const copy = new RequesterFigures();
    const { responses, ...figures } = this;
    Object.assign(copy, figures);
    Object.assign(copy.responses, responses);
    copy.#messages = this.#messages?.slice();
    copy.#naks = this.#naks === undefined ? undefined : new Map(this.#naks);
    copy.#ack = this.#ack;
    copy.#read = this.#read;
    copy.#generation = this.#generation;
    copy.#reaction = this.#reaction;
    copy.#turnaround = this.#turnaround;
    return copy;
  }

  countMessage(flags: number, opcode: number): void {
    this.#messages ??= MESSAGE_NAMES.map(() => 0);
    const kind = messageKind(flags, opcode);
    this.#messages[kind] = (this.#messages[kind] as number) + 1;
    this.messagesBegun++;
  }

  countNak(name: string): void {
    this.#naks ??= new Map();
    this.#naks.set(name, (this.#naks.get(name) ?? 0) + 1);
  }

  /** @param endNs when the ACK came */
  addAckLatency(durationNs: number, endNs: number): void {
    this.#ack ??= new Histogram();
    this.#ack.add(durationNs);
    this.roundTrips.add(Math.max(durationNs, 0), endNs);
  }

  addReadLatency(durationNs: number): void {
    this.#read ??= new Histogram();
    this.#read.add(durationNs);
  }

  addTurnaround(durationNs: number): void {
    this.#turnaround ??= new Histogram();
    this.#turnaround.add(durationNs);
  }

  addNakGeneration(durationNs: number): void {
    this.#generation ??= new Histogram();
    this.#generation.add(durationNs);
  }

  addNakReaction(durationNs: number): void {
    this.#reaction ??= new Histogram();
    this.#reaction.add(durationNs);
  }
}

/** The figures as they are, without what makes them. */
export function requesterReport(live: RequesterReport): RequesterReport {
  const { packets, retransmittedPackets, lostPackets, unseenPackets, reorderedPackets, undecidedPackets } =
    live.responses;
  return {
    firstPsn: live.firstPsn,
    fromStart: live.fromStart,
    nextPsn: live.nextPsn,
    messages: live.messages,
    packets: live.packets,
    retransmittedPackets: live.retransmittedPackets,
    lostPackets: live.lostPackets,
    unseenPackets: live.unseenPackets,
    reorderedPackets: live.reorderedPackets,
    undecidedPackets: live.undecidedPackets,
    responses: { packets, retransmittedPackets, lostPackets, unseenPackets, reorderedPackets, undecidedPackets },
    missedResponses: live.missedResponses,
    copies: live.copies,
    naks: live.naks,
    rnrNaks: live.rnrNaks,
    impliedNaks: live.impliedNaks,
    timeouts: live.timeouts,
    ghostAcks: live.ghostAcks,
    acks: live.acks,
    mostOutstandingReads: live.mostOutstandingReads,
    mostUnackedPackets: live.mostUnackedPackets,
    creditCode: live.creditCode,
    goodputBytes: live.goodputBytes,
    goodputBps: live.goodputBps,
    ackLatency: live.ackLatency,
    readLatency: live.readLatency,
    nakGeneration: live.nakGeneration,
    nakReaction: live.nakReaction,
    unansweredPsn: live.unansweredPsn,
  };
}

function messageKind(flags: number, opcode: number): number {
  if ((flags & OpFlag.Send) !== 0) return 0;
  if ((flags & OpFlag.Write) !== 0) return 1;
  if ((flags & OpFlag.Read) !== 0) return 2;
  if ((flags & OpFlag.Atomic) !== 0) return (opcode & OPERATION_MASK) === COMPARE_SWAP ? 4 : 3;
  if ((flags & OpFlag.Flush) !== 0) return 5;
  return (flags & OpFlag.AtomicWrite) !== 0 ? 6 : 7;
}

const OPERATION_MASK = 0x1f;
const COMPARE_SWAP = 0x13;
const MESSAGE_NAMES = ['SEND', 'WRITE', 'READ', 'FETCH_ADD', 'CMP_SWAP', 'FLUSH', 'ATOMIC_WRITE', 'RESYNC'];
