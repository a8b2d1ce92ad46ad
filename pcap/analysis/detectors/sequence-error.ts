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
  readonly undecided = new FrameList();
  readonly naks = new FrameList();
  lostResponses = 0;
  longestLateNs = 0;
  /** Of the losses and of the late packets, those that were captured here in order. */
  behind = 0;
  undecidedBehind = 0;
  lateBehind = 0;
  /** Of the late packets, those that the report may have as something else: `limits/selective-repeat.ts`. */
  lateAlone = 0;
  /** PSN of the last RNR NAK; -1: none. */
  rnrPsn = -1;

  addAll(other: DeliveryProblems): void {
    this.losses.addAll(other.losses);
    this.late.addAll(other.late);
    this.undecided.addAll(other.undecided);
    this.naks.addAll(other.naks);
    this.lostResponses += other.lostResponses;
    this.longestLateNs = Math.max(this.longestLateNs, other.longestLateNs);
    this.behind += other.behind;
    this.undecidedBehind += other.undecidedBehind;
    this.lateBehind += other.lateBehind;
    this.lateAlone += other.lateAlone;
  }
}

class SequenceError implements Detector {
  readonly #problems = new Map<number, DeliveryProblems>();

  event(event: TransportEvent): void {
    const { kind, requester, sender, frame, psn } = event;
    if (!KINDS.has(kind)) return;
    const problems = this.#problemsOf(event);
    if (problems === undefined) return;
    if (kind === 'rnr-nak') problems.rnrPsn = psn;
    else if (kind === 'nak') {
      if (event.syndrome === Syndrome.NakSequence && psn !== problems.rnrPsn) problems.naks.add(frame);
    } else if (sender !== requester) {
      if (kind === 'loss') problems.lostResponses += event.count;
    } else if (kind === 'loss') {
      problems.losses.add(frame);
      if (event.reason === 'seen-then-nak') problems.behind += event.count;
    } else if (kind === 'missing') {
      problems.undecided.add(frame);
      if (event.reason === 'seen-then-nak') problems.undecidedBehind += event.count;
    } else {
      problems.late.add(frame);
      if (event.reason === 'behind-capture') problems.lateBehind += event.count;
      if (event.named === true) problems.lateAlone += event.count;
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

const KINDS: ReadonlySet<TransportEvent['kind']> = new Set(['loss', 'reordering', 'missing', 'nak', 'rnr-nak']);

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
  return lostPackets + reorderedPackets - problems.behind - problems.lateBehind;
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
  readonly #interfaces = new Set<number>();
  readonly #problems = new DeliveryProblems();
  #packets = 0;
  #lost = 0;
  #undecided = 0;
  #reordered = 0;
  /** Of the undecided ones, those that came, alone. */
  #alone = 0;
  #repeated = 0;
  #damaged = 0;

  constructor(from: EndReport, to: EndReport) {
    this.#from = from;
    this.#to = to;
  }

  add({ conversation: { id, ends, interfaceIndex }, requester, problems }: View): void {
    this.#conversations.push(id);
    this.#interfaces.add(interfaceIndex);
    this.#problems.addAll(problems);
    const end = ends[requester];
    const { packets, lostPackets, reorderedPackets, undecidedPackets, retransmittedPackets } = end.requester;
    const { impliedNaks, responses } = end.requester;
    const lostResponses =
      impliedNaks > 0 || packets === 0 ? 0 : Math.min(problems.lostResponses, responses.lostPackets);
    this.#packets += packets + (lostResponses > 0 ? responses.packets : 0);
    this.#lost += lostPackets + lostResponses;
    this.#undecided += undecidedPackets;
    this.#reordered += reorderedPackets;
    if (reorderedPackets < problems.lateAlone) this.#alone += Math.min(problems.lateAlone, undecidedPackets);
    this.#repeated += retransmittedPackets;
    this.#damaged += end.badIcrc;
  }

  report(context: DetectorContext): void {
    const { losses, late, undecided } = this.#problems;
    const naks = this.#problems.naks.count;
    // Gaps that the capture itself may have made prove nothing.
    const missing = this.#lost + this.#undecided - this.#undecidedGaps;
    if (missing === 0 && this.#reordered === 0 && naks <= this.#damaged) return;
    const share = this.#packets === 0 ? 0 : this.#lost / this.#packets;
    const costly =
      Math.max(share, missing / Math.max(1, this.#packets)) >= COSTLY_SHARE ||
      (this.#reordered > 0 && naks > 0) ||
      (missing === 0 && naks > this.#damaged);
    context.report({
      severity: costly ? 'warning' : 'note',
      text:
        `${this.#packets === 0 ? 'Of requests that the capture does not have,' : `Of ${counted(this.#packets, 'packet')}`} ` +
        `from ${this.#from.address} to ${this.#to.address}, ${this.#story(share, context)}; ` +
        `the receiver sent ${naks === 0 ? 'no sequence NAK' : counted(naks, 'sequence NAK')}${this.#sentAgain()}.`,
      frames: mergedFrames([losses.frames, late.frames, undecided.frames, this.#problems.naks.frames]),
      frameCount: losses.count + late.count + undecided.count + naks,
      conversations: this.#conversations,
      evidence: {
        lostPackets: this.#lost,
        lossPercent: Number((share * 100).toPrecision(3)),
        reorderedPackets: this.#reordered,
        ...(this.#reordered > 0 ? { longestDelayNs: this.#problems.longestLateNs } : {}),
        ...(this.#undecided > 0 ? { undecidedPackets: this.#undecided } : {}),
        behindCapture: this.#problems.behind + this.#problems.lateBehind,
        sequenceNaks: naks,
        retransmittedPackets: this.#repeated,
      },
      ...(this.#reordered > this.#lost ? { advice: [...SEQUENCE_ERROR.advice].reverse() } : {}),
    });
  }

  /** Of requests that are not here nobody knows. */
  #sentAgain(): string {
    if (this.#packets === 0) return '';
    return `, and ${this.#repeated === 0 ? 'nothing was' : counted(this.#repeated, 'packet was', 'packets were')} sent again`;
  }

  /** Of the undecided ones, gaps of a capture that loses packets. */
  get #undecidedGaps(): number {
    return Math.max(0, this.#undecided - this.#problems.undecided.count - this.#alone);
  }

  /** Everything was captured next to the receiver. */
  #isAtReceiver({ vantages }: DetectorContext): boolean {
    const { address } = this.#to;
    return [...this.#interfaces].every((index) =>
      vantages.some(({ interfaceIndex, hosts }) => interfaceIndex === index && hosts.includes(address)),
    );
  }

  #story(share: number, context: DetectorContext): string {
    const parts: string[] = [];
    if (this.#lost > 0) {
      const behind = this.#isAtReceiver(context)
        ? 'captured next to the receiver, which lacked them: its adapter or host dropped them'
        : 'lost after this capture point';
      const how = this.#problems.behind >= this.#lost ? behind : 'lost and never turned up';
      parts.push(`${this.#lost} (${percent(share)}) ${wereOf(this.#lost)} ${how}`);
    }
    if (this.#reordered > 0) {
      const by = this.#problems.longestLateNs > 0 ? ` by up to ${duration(this.#problems.longestLateNs)}` : '';
      const at = this.#problems.lateBehind >= this.#reordered ? ' at the receiver' : '';
      parts.push(
        `${this.#reordered} came late${at}${by}, overtaken by others, and ${wereOf(this.#reordered)} not lost`,
      );
    }
    const gaps = this.#undecidedGaps;
    const beyond = this.#problems.undecidedBehind > 0 ? ' after this capture point' : '';
    if (this.#undecided > gaps)
      parts.push(
        `${this.#undecided - gaps} did not arrive in order${beyond}, lost or overtaken, which cannot be told from here`,
      );
    if (gaps > 0)
      parts.push(
        `${gaps} ${gaps === 1 ? 'is' : 'are'} missing here, lost by the network or by the capture, which cannot be told`,
      );
    if (parts.length === 0) {
      const where = this.#packets === 0 ? 'which this capture cannot tell' : 'after this capture point';
      parts.push(`some did not arrive in order, lost or overtaken${this.#packets === 0 ? ',' : ''} ${where}`);
    }
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
