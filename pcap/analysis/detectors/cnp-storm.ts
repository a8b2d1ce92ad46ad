/**
 * Symptom: a receiver sends far more congestion notifications than one that keeps the rules can.
 *
 * Owns the finding, a warning for each receiver, from what no rule allows. It needs 64 CNPs for one queue pair:
 * - more CNPs than packets: twice as many as the end that they go to has sent to this receiver at all. Each CNP answers
 *   one marked packet or more, so this holds wherever the capture was made, before the switch that marks as well as
 *   behind it, and whatever becomes of ECN on the way;
 * - more CNPs than marks: twice as many as packets that came in marked, in a capture of the receiver itself, which says
 *   so: the CNPs are outbound packets of its interface, and no other interface has the connection, as a bump in the wire
 *   does. Anywhere else marks may be set later, or be rewritten, and the same figures prove nothing; in a tunnel the
 *   mark may be on the outer header;
 * - no pacing: 256 CNPs for one queue pair that are 2 us apart on average, half of the shortest interval that is known
 *   (4 us; ref:dcqcn#7). Many queue pairs, each with its pace, are an incast and none of this.
 * A capture that lacks more than a tenth of what the sender sent gives no finding by numbers of packets.
 * It stands for `ecn-misconfigured` about the same connections: a sender that does not heed such CNPs is right.
 * Rules: ref:dcqcn#1 (notification point), ref:dcqcn#7 (one CNP answers marked packets of one queue pair).
 */
import { Direction } from '../../types.ts';
import type { Detector, DetectorContext, Symptom } from '../detector.ts';
import { type PacketFacts, Role } from '../facts.ts';
import { PacketKind } from '../packet-kind.ts';
import type { ConversationReport, EndReport } from '../types.ts';
import { FrameList, mergedFrames } from './frame-list.ts';
import { bitRate, counted, duration, grouped, qpName } from './words.ts';

export const CNP_STORM: Symptom = {
  id: 'cnp-storm',
  row: 0,
  title: 'Storm of congestion notifications',
  complaint:
    'A sender hardly sends: its rate is the lowest that congestion control allows, though no switch has a full queue. Counters of CNPs grow fast.',
  about:
    'A receiver answers marked packets with CNPs, one for each flow and interval at most, and each CNP cuts the rate of the sender. One that sends CNPs ' +
    'without marks, or one for every packet, keeps the sender at its minimum: by a fault of firmware, an interval of 0, a proxy that notifies in its name, or on ' +
    'purpose, since anybody who knows addresses and queue pair number can forge them.',
  advice: [
    'Set the interval between CNPs of the receiver (min_time_between_cnps), and update its firmware.',
    'Compare its counter of marked packets with that of CNPs sent: without marks the CNPs have no reason.',
    'Capture at the receiver: CNPs that it does not send itself come from a switch or from somebody else.',
  ],
  commands: [
    'cat /sys/class/net/DEV/ecn/roce_np/min_time_between_cnps',
    'rdma statistic show link DEV/1 | grep -iE "cnp|ecn"',
    'ethtool -S DEV | grep -iE "cnp|ecn"',
  ],
  explains: ['ecn-misconfigured'],
  make: () => new CnpStorm(),
};

/** CNPs to one queue pair. */
class CnpFlow {
  readonly conversation: ConversationReport;
  /** The end that sends them. */
  readonly receiver: 0 | 1;
  readonly frames = new FrameList();
  firstNs = 0;
  lastNs = 0;
  /** What the other end had sent at the first CNP, and at the last. */
  bytesBefore = 0;
  bytesUntil = 0;
  /** Of so many CNPs in a row, the shortest time. */
  fastestNs = Number.POSITIVE_INFINITY;
  #blockStartNs = 0;
  /** All of them left the interface of the receiver. */
  outbound = true;
  tunneled = false;

  constructor(conversation: ConversationReport, receiver: 0 | 1) {
    this.conversation = conversation;
    this.receiver = receiver;
  }

  add({ timeNs, packet, dissection: { depth } }: PacketFacts): void {
    const { bytes } = this.conversation.ends[this.receiver === 0 ? 1 : 0];
    if (this.frames.count === 0) {
      this.firstNs = timeNs;
      this.bytesBefore = bytes;
    }
    if (this.frames.count % BLOCK === 0) {
      if (this.frames.count > 0) this.fastestNs = Math.min(this.fastestNs, timeNs - this.#blockStartNs);
      this.#blockStartNs = timeNs;
    }
    this.frames.add(packet.number);
    this.lastNs = timeNs;
    this.bytesUntil = bytes;
    if (packet.direction !== Direction.Outbound) this.outbound = false;
    if (depth > 0) this.tunneled = true;
  }
}

/** A flow with too many CNPs. */
interface Storm {
  readonly flow: CnpFlow;
  readonly conversation: ConversationReport;
  readonly sender: EndReport;
  readonly receiver: EndReport;
  readonly sign: 'packets' | 'marks' | 'rate';
}

class CnpStorm implements Detector {
  readonly interest = PacketKind.Cnp | PacketKind.Other;
  /** By 2 * conversation + the end that sends them. */
  readonly #flows = new Map<number, CnpFlow>();

  packet(facts: PacketFacts): void {
    const { role, conversation, sender } = facts;
    if (role !== Role.Cnp || conversation === undefined) return;
    const key = 2 * conversation.id + sender;
    let flow = this.#flows.get(key);
    if (flow === undefined) {
      if (this.#flows.size >= MOST_FLOWS) return;
      flow = new CnpFlow(conversation, sender);
      this.#flows.set(key, flow);
    }
    flow.add(facts);
  }

  finish(context: DetectorContext): void {
    const byReceiver = new Map<string, Storm[]>();
    for (const flow of this.#flows.values()) {
      const storm = flow.frames.count < LEAST_CNPS ? undefined : stormOf(context, flow);
      if (storm === undefined) continue;
      const { address } = storm.receiver;
      byReceiver.set(address, [...(byReceiver.get(address) ?? []), storm]);
    }
    for (const storms of [...byReceiver.values()].slice(0, MOST_FINDINGS)) report(context, storms);
  }
}

function stormOf(context: DetectorContext, flow: CnpFlow): Storm | undefined {
  const conversation = context.conversation(flow.conversation.id);
  if (conversation === undefined || conversation.sameAs !== 0) return undefined;
  const { address } = flow.conversation.ends[flow.receiver];
  const [first, second] = conversation.ends;
  const [receiver, sender] = first.address === address ? [first, second] : [second, first];
  const isOnlyPlace = !context.conversations.some(({ sameAs }) => sameAs === conversation.id);
  const sign = signOf(flow, sender, isOnlyPlace);
  return sign === undefined ? undefined : { flow, conversation, sender, receiver, sign };
}

function signOf(
  { frames, fastestNs, outbound, tunneled }: CnpFlow,
  sender: EndReport,
  isOnlyPlace: boolean,
): Storm['sign'] | undefined {
  const { packets, congestion, requester } = sender;
  const sent = packets - congestion.cnpsSent;
  const unseen = requester.unseenPackets + requester.responses.unseenPackets;
  const isWhole = sent > 0 && unseen <= sent / 10;
  if (isWhole && frames.count >= TOO_MANY * sent) return 'packets';
  const isReceivers = outbound && isOnlyPlace && !tunneled;
  if (isWhole && isReceivers && frames.count >= TOO_MANY * congestion.ce) return 'marks';
  return fastestNs <= BLOCK * TOO_CLOSE_NS ? 'rate' : undefined;
}

function report(context: DetectorContext, storms: readonly Storm[]): void {
  const [first] = [...storms].sort((a, b) => b.flow.frames.count - a.flow.frames.count);
  if (first === undefined) return;
  const { flow, sender, receiver, sign } = first;
  const cnps = storms.reduce((sum, each) => sum + each.flow.frames.count, 0);
  const sent = sender.packets - sender.congestion.cnpsSent;
  const marks = sender.congestion.ce;
  const lastedNs = Math.max(1, flow.lastNs - flow.firstNs);
  const perSecond = Math.round(((flow.frames.count - 1) * 1e9) / lastedNs);
  const underBps = ((flow.bytesUntil - flow.bytesBefore) * 8e9) / lastedNs;
  const beforeNs = flow.firstNs - flow.conversation.startNs;
  const beforeBps = beforeNs > 0 ? (flow.bytesBefore * 8e9) / beforeNs : 0;
  const others =
    storms.length > 1
      ? ` ${counted(storms.length - 1, 'more queue pair')} got such, ${grouped(cnps)} CNPs in all.`
      : '';
  context.report({
    severity: 'warning',
    text:
      `${receiver.address} sent ${counted(flow.frames.count, 'CNP')} to ${qpName(sender.qpn)} of ${sender.address}, ${grouped(perSecond)} a second, ` +
      `${reason(sign, flow, sent, marks)}. Under them ${sender.address} sent at ${bitRate(underBps)}` +
      `${beforeBps > 0 ? `, before at ${bitRate(beforeBps)}` : ''}.${others}`,
    frames: mergedFrames(storms.map((each) => each.flow.frames.frames)),
    frameCount: cnps,
    conversations: storms.map(({ conversation }) => conversation.id),
    evidence: {
      sign,
      receiver: receiver.address,
      sender: sender.address,
      cnps: flow.frames.count,
      queuePairs: storms.length,
      perSecond,
      packets: sent,
      marks,
      ...(marks > 0 ? { cnpsPerMark: Number((flow.frames.count / marks).toPrecision(3)) } : {}),
      bpsBefore: Math.round(beforeBps),
      bpsUnderCnps: Math.round(underBps),
    },
  });
}

function reason(sign: Storm['sign'], { fastestNs }: CnpFlow, sent: number, marks: number): string {
  switch (sign) {
    case 'packets':
      return `for only ${counted(sent, 'packet')} from there, of which one CNP may answer one marked packet or more`;
    case 'marks':
      return marks === 0
        ? 'though none of the packets from there came in marked'
        : `though only ${counted(marks, 'packet')} from there came in marked`;
    case 'rate':
      return `${BLOCK} of them ${duration(fastestNs / BLOCK)} apart on average: one for each flow in 4 us is the most that is known of receivers`;
    default:
      return sign satisfies never;
  }
}

const LEAST_CNPS = 64;
/** Times as many as there can be. */
const TOO_MANY = 2;
/** CNPs over which their distance is taken: interrupts hand over tens of packets with one time. */
const BLOCK = 256;
const TOO_CLOSE_NS = 2_000;
const MOST_FLOWS = 65_536;
const MOST_FINDINGS = 20;
