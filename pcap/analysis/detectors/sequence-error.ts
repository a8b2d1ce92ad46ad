/**
 * Symptom: request packets are missing at the receiver, because they were lost, or late, because others overtook them.
 *
 * Owns one finding for each direction between two hosts. It is a warning where the lost share is at least
 * `COSTLY_SHARE`, or where late packets caused sequence NAKs: each costs everything that was outstanding behind it.
 * Less is a note, and so is reordering without NAKs, which a capture with several queues shows too.
 * Not counted: losses of the capture, damaged packets (`icrc-invalid`), the sequence NAK that follows an RNR NAK
 * (ref:rxe#7), and UC, where nothing tells a loss of the network from one of the capture. Losses of READ responses
 * count only where there is no implied NAK for them (`implied-nak`). Rules: ref:analyzer#1 row 8.
 */
import { Syndrome } from '../../../packets/aeth.ts';
import { PSN_MASK } from '../../../packets/psn.ts';
import type { Detector, DetectorContext, Symptom } from '../detector.ts';
import type { ConversationReport, EndReport, TransportEvent } from '../types.ts';
import { groupOf } from './failures.ts';
import { FrameList, mergedFrames } from './frame-list.ts';
import { counted, duration, listed, percent } from './words.ts';

export const SEQUENCE_ERROR: Symptom = {
  id: 'sequence-error',
  row: 8,
  title: 'Packets lost or overtaken',
  complaint:
    'Counters out_of_sequence, packet_seq_err and rnr of the NIC grow, throughput falls short, and nothing else is reported.',
  about:
    'A receiver takes packets in order only. When one is missing it requests it with a sequence NAK and drops all that comes after it, and the sender goes ' +
    'back and sends everything from there on again. If the missing packet itself turns up later, nothing was lost: it took a longer way, as over ' +
    'ECMP or a LAG that spreads single packets. If only its retransmission does, it was dropped on the way or damaged.',
  advice: [
    'Loss: look for drops at switch ports and NICs, and make the priority of RoCE lossless or mark with ECN before queues overflow.',
    'Reordering: let ECMP and LAG hash whole flows (source port included), and turn off packet spraying unless both NICs can reorder.',
  ],
  commands: [
    'ethtool -S DEV | grep -iE "out_of_seq|seq_err|discard|drop"',
    'rdma statistic show link DEV/1',
    'mlnx_qos -i DEV',
  ],
  make: () => new SequenceError(),
};

/** What happened to requests of one end. */
class DeliveryProblems {
  readonly losses = new FrameList();
  readonly late = new FrameList();
  readonly naks = new FrameList();
  lostResponses = 0;
  longestLateNs = 0;
  /** Of the losses, those that were captured here first. */
  behind = 0;
  /** Of these, those that followed a late packet: the receiver dropped them while it waited. */
  discarded = 0;
  /** PSN of the last RNR NAK, and the PSN behind the last packet that came late; -1: none. */
  rnrPsn = -1;
  behindLatePsn = -1;

  addAll(other: DeliveryProblems): void {
    this.losses.addAll(other.losses);
    this.late.addAll(other.late);
    this.naks.addAll(other.naks);
    this.lostResponses += other.lostResponses;
    this.longestLateNs = Math.max(this.longestLateNs, other.longestLateNs);
    this.behind += other.behind;
    this.discarded += other.discarded;
  }
}

class SequenceError implements Detector {
  readonly #problems = new Map<number, DeliveryProblems>();

  event(event: TransportEvent): void {
    const { kind, requester, sender, frame, psn } = event;
    if (kind !== 'loss' && kind !== 'reordering' && kind !== 'nak' && kind !== 'rnr-nak') return;
    const problems = this.#problemsOf(event);
    if (problems === undefined) return;
    if (kind === 'rnr-nak') problems.rnrPsn = psn;
    else if (kind === 'nak') {
      if (event.syndrome === Syndrome.NakSequence && psn !== problems.rnrPsn) problems.naks.add(frame);
    } else if (sender !== requester) {
      if (kind === 'loss') problems.lostResponses += event.count;
    } else if (kind === 'loss') noteLoss(problems, event);
    else {
      problems.late.add(frame);
      problems.behindLatePsn = (psn + event.count) & PSN_MASK;
      problems.longestLateNs = Math.max(problems.longestLateNs, event.durationNs);
    }
  }

  finish(context: DetectorContext): void {
    const views = new Map<string, View>();
    for (const [key, problems] of this.#problems) {
      const conversation = context.conversation(Math.floor(key / 2));
      if (conversation === undefined || conversation.service === 'UC' || conversation.service === 'UD') continue;
      keepBest(views, { conversation, requester: key % 2 === 0 ? 0 : 1, problems });
    }
    const directions = new Map<string, HostDirection>();
    for (const view of views.values()) directionOf(directions, view).add(view);
    for (const each of [...directions.values()].slice(0, MOST_FINDINGS)) each.report(context);
  }

  #problemsOf({ conversation, requester }: TransportEvent): DeliveryProblems | undefined {
    if (conversation === 0) return undefined;
    const key = conversation * 2 + requester;
    let problems = this.#problems.get(key);
    if (problems === undefined && this.#problems.size < MOST_SPACES) {
      problems = new DeliveryProblems();
      this.#problems.set(key, problems);
    }
    return problems;
  }
}

/**
 * A receiver that waits for a packet drops those behind it and requests them again even when the packet comes late.
 * Nothing was lost then.
 */
function noteLoss(problems: DeliveryProblems, { psn, frame, count, reason }: TransportEvent): void {
  if (reason !== 'seen-then-nak') problems.losses.add(frame);
  else if (psn === problems.behindLatePsn) problems.discarded += count;
  else {
    problems.losses.add(frame);
    problems.behind += count;
  }
}

/** What one vantage point shows of a PSN space. */
interface View {
  readonly conversation: ConversationReport;
  readonly requester: 0 | 1;
  readonly problems: DeliveryProblems;
}

/** Of several vantage points with the same packets, the one that captured most of the losses directly counts. */
function keepBest(views: Map<string, View>, view: View): void {
  const { address, qpn } = view.conversation.ends[view.requester];
  const key = `${groupOf(view.conversation)} ${address} ${qpn}`;
  const before = views.get(key);
  if (before === undefined) views.set(key, view);
  else if (before.conversation === view.conversation) before.problems.addAll(view.problems);
  else if (packetsSeen(view) > packetsSeen(before)) views.set(key, view);
}

/** Packets whose fate the vantage point has seen itself. */
function packetsSeen({ conversation, requester, problems }: View): number {
  const { lostPackets, reorderedPackets } = conversation.ends[requester].requester;
  return lostPackets + reorderedPackets - problems.behind - problems.discarded;
}

function directionOf(
  directions: Map<string, HostDirection>,
  { conversation: { ends }, requester }: View,
): HostDirection {
  const [from, to] = requester === 0 ? ends : [ends[1], ends[0]];
  const key = `${from.address} ${to.address}`;
  let each = directions.get(key);
  if (each === undefined) {
    each = new HostDirection(from, to);
    directions.set(key, each);
  }
  return each;
}

/** All connections from one host to another. */
class HostDirection {
  readonly #from: EndReport;
  readonly #to: EndReport;
  readonly #conversations: number[] = [];
  readonly #problems = new DeliveryProblems();
  #packets = 0;
  #sawLost = 0;
  #reordered = 0;
  #repeated = 0;
  #damaged = 0;

  constructor(from: EndReport, to: EndReport) {
    this.#from = from;
    this.#to = to;
  }

  add({ conversation: { id, ends }, requester, problems }: View): void {
    this.#conversations.push(id);
    this.#problems.addAll(problems);
    const end = ends[requester];
    const { packets, lostPackets, reorderedPackets, retransmittedPackets, impliedNaks, responses } = end.requester;
    const lostResponses = impliedNaks > 0 ? 0 : problems.lostResponses;
    this.#packets += packets + (lostResponses > 0 ? responses.packets : 0);
    this.#sawLost += lostPackets + lostResponses;
    this.#reordered += reorderedPackets;
    this.#repeated += retransmittedPackets;
    this.#damaged += end.badIcrc;
  }

  get #lost(): number {
    return Math.max(0, this.#sawLost - this.#problems.discarded);
  }

  report(context: DetectorContext): void {
    const naks = this.#problems.naks.count;
    if (this.#lost === 0 && this.#reordered === 0 && naks <= this.#damaged) return;
    const share = this.#packets === 0 ? 0 : this.#lost / this.#packets;
    const costly =
      share >= COSTLY_SHARE || (this.#reordered > 0 && naks > 0) || (this.#lost === 0 && naks > this.#damaged);
    context.report({
      severity: costly ? 'warning' : 'note',
      text:
        `${this.#packets === 0 ? 'Of requests that the capture does not have,' : `Of ${counted(this.#packets, 'packet')}`} ` +
        `from ${this.#from.address} to ${this.#to.address}, ${this.#story(share)}; ` +
        `the receiver sent ${counted(naks, 'sequence NAK')}, and ${counted(this.#repeated, 'packet was', 'packets were')} sent again.`,
      frames: mergedFrames([this.#problems.losses.frames, this.#problems.late.frames, this.#problems.naks.frames]),
      frameCount: this.#problems.losses.count + this.#problems.late.count + naks,
      conversations: this.#conversations,
      evidence: {
        lostPackets: this.#lost,
        lossPercent: Number((share * 100).toPrecision(3)),
        reorderedPackets: this.#reordered,
        ...(this.#reordered > 0 ? { longestDelayNs: this.#problems.longestLateNs } : {}),
        behindCapture: this.#problems.behind,
        sequenceNaks: naks,
        retransmittedPackets: this.#repeated,
      },
      ...(this.#reordered > this.#lost ? { advice: [...SEQUENCE_ERROR.advice].reverse() } : {}),
    });
  }

  #story(share: number): string {
    const parts: string[] = [];
    if (this.#lost > 0) {
      const how =
        this.#problems.behind >= this.#lost
          ? 'lost, or overtaken, after this capture point'
          : 'lost and never turned up';
      parts.push(`${this.#lost} (${percent(share)}) ${wereOf(this.#lost)} ${how}`);
    }
    if (this.#reordered > 0) {
      const by = this.#problems.longestLateNs > 0 ? ` by up to ${duration(this.#problems.longestLateNs)}` : '';
      parts.push(`${this.#reordered} came late${by}, overtaken by others, and ${wereOf(this.#reordered)} not lost`);
    }
    if (parts.length === 0) parts.push('some did not arrive in order, lost or overtaken after this capture point');
    return listed(parts);
  }
}

function wereOf(count: number): string {
  return count === 1 ? 'was' : 'were';
}

/** One packet in ten thousand: at that rate going back begins to cost goodput that can be measured. */
const COSTLY_SHARE = 1e-4;
const MOST_SPACES = 8192;
const MOST_FINDINGS = 50;
