/**
 * Symptom: messages of an unreliable connection (UC) are lost, because packets of them are missing.
 *
 * Owns one finding for each direction between two hosts. A missing packet costs its whole message: the receiver drops
 * the rest, up to the next FIRST or ONLY (ref:conformance#UC-02). Whole messages between two others that are missing
 * count once for each gap: their number is not known. Packets that came late fill their gap: the capture may have two
 * queues. Of several interfaces with the same packets the last one on the way counts.
 *
 * UC has no ACKs, so the capture itself may have lost what is missing. Witnesses are the RC connections beside it, of
 * which ACKs show what the capture lacks. Where it is known to lose packets the finding is a note. From
 * `COSTLY_SHARE` of the messages on it is a warning, and from `RUINOUS_SHARE` on an error if a witness says that the
 * capture is complete.
 */
import { OpFlag } from '../../../packets/opcode.ts';
import type { Detector, DetectorContext, Symptom } from '../detector.ts';
import { Mark, type PacketFacts, Role } from '../facts.ts';
import { PacketKind } from '../packet-kind.ts';
import type { ConversationReport, EndReport } from '../types.ts';
import { groupOf } from './failures.ts';
import { FrameList, mergedFrames } from './frame-list.ts';
import { counted, percent } from './words.ts';

export const UC_LOSS: Symptom = {
  id: 'uc-loss',
  row: 0,
  title: 'Messages of UC lost',
  complaint:
    'Messages are missing at the receiver, or parts of its memory were not written, and neither end reports an error.',
  about:
    'An unreliable connection has no acknowledgements and no retransmission. When a packet is missing, the receiver drops the message that it belongs to, with ' +
    'all that is still to come of it, and goes on with the next one; a message of a hundred packets is lost a hundred times as often as a packet. Only a ' +
    'counter of the receiver, or the application, can notice.',
  advice: [
    'Look for drops at switch ports and NICs on the way, and make the priority of RoCE lossless.',
    'Use RC, or let the application number its messages, where a lost one matters.',
    'Send smaller messages: each lost packet costs a whole one.',
  ],
  commands: [
    'ethtool -S DEV | grep -iE "out_of_seq|seq_err|discard|drop"',
    'rdma statistic show link DEV/1',
    'tcpdump -ni DEV udp port 4791   # dropped by kernel: 0?',
  ],
  explains: ['sequence-error'],
  make: () => new UcLoss(),
};

/** Packets that are missing, [from, to). */
interface Gap {
  readonly from: number;
  readonly to: number;
  filled: number;
  /** Messages that it has cost. */
  readonly messages: number;
  readonly frame: number;
}

/** Requests of one end. */
class Messages {
  readonly conversation: number;
  readonly sender: 0 | 1;
  begun = 0;
  lostPackets = 0;
  lostMessages = 0;
  readonly frames = new FrameList();
  readonly #gaps: Gap[] = [];
  /** A message is under way, and it is whole so far. */
  #open = false;
  #broken = false;

  constructor(conversation: number, sender: 0 | 1) {
    this.conversation = conversation;
    this.sender = sender;
  }

  request({ marks, missing, relativePsn, psnCount, packet, dissection: { frame } }: PacketFacts): void {
    if ((marks & Mark.Copy) !== 0) return;
    if ((marks & Mark.Late) !== 0) {
      this.#fill(relativePsn, relativePsn + psnCount);
      return;
    }
    const begins = (frame.flags & (OpFlag.First | OpFlag.Only)) !== 0;
    if ((marks & Mark.Gap) !== 0) {
      // The open message, unless it was lost before; between two whole ones at least one is missing. What goes on
      // behind the gap is of the open one as far as can be seen.
      const messages = this.#open && this.#broken ? 0 : 1;
      this.#note({ from: relativePsn - missing, to: relativePsn, filled: 0, messages, frame: packet.number });
      this.#broken = !begins;
    }
    if (begins) {
      this.begun++;
      this.#broken = false;
    }
    this.#open = (frame.flags & (OpFlag.First | OpFlag.Middle)) !== 0;
  }

  settle(): void {
    for (const gap of this.#gaps) this.#book(gap);
    this.#gaps.length = 0;
  }

  #note(gap: Gap): void {
    this.#gaps.push(gap);
    const oldest = this.#gaps.length > MOST_GAPS ? this.#gaps.shift() : undefined;
    if (oldest !== undefined) this.#book(oldest);
  }

  #fill(from: number, to: number): void {
    const gap = this.#gaps.find((each) => from >= each.from && from < each.to);
    if (gap !== undefined) gap.filled += Math.min(to, gap.to) - from;
  }

  #book({ from, to, filled, messages, frame }: Gap): void {
    const lost = to - from - filled;
    if (lost <= 0) return;
    this.lostPackets += lost;
    this.lostMessages += messages;
    this.frames.add(frame);
  }
}

class UcLoss implements Detector {
  readonly interest = PacketKind.Other | PacketKind.UcData;
  /** By 2 * conversation + sender. */
  readonly #messages: (Messages | undefined)[] = [];

  packet(facts: PacketFacts): void {
    const { conversation, role, sender, relativePsn, marks } = facts;
    if (role !== Role.Request || conversation?.service !== 'UC') return;
    if ((marks & Mark.BadIcrc) !== 0 || Number.isNaN(relativePsn)) return;
    const index = 2 * conversation.id + sender;
    let messages = this.#messages[index];
    if (messages === undefined) {
      messages = new Messages(conversation.id, sender);
      this.#messages[index] = messages;
    }
    messages.request(facts);
  }

  finish(context: DetectorContext): void {
    const views = new Map<string, View>();
    for (const messages of this.#messages) {
      const conversation = messages === undefined ? undefined : context.conversation(messages.conversation);
      if (messages === undefined || conversation === undefined) continue;
      messages.settle();
      const end = conversation.ends.find((_, side) => side === messages.sender);
      if (end === undefined) continue;
      const view = { conversation, end, peer: conversation.ends[messages.sender === 0 ? 1 : 0], messages };
      const key = `${groupOf(conversation)} ${end.address}`;
      const known = views.get(key);
      if (known === undefined || known.conversation.startNs <= conversation.startNs) views.set(key, view);
    }
    const directions = new Map<string, View[]>();
    for (const view of views.values()) {
      if (view.messages.lostMessages === 0) continue;
      const key = `${view.end.address} ${view.peer.address}`;
      directions.set(key, [...(directions.get(key) ?? []), view]);
    }
    for (const each of [...directions.values()].slice(0, MOST_FINDINGS)) report(context, each);
  }
}

interface View {
  readonly conversation: ConversationReport;
  readonly end: EndReport;
  readonly peer: EndReport;
  readonly messages: Messages;
}

function report(context: DetectorContext, views: readonly View[]): void {
  const [first] = views;
  if (first === undefined) return;
  const sum = (of: (view: View) => number) => views.reduce((total, view) => total + of(view), 0);
  const lostPackets = sum(({ messages }) => messages.lostPackets);
  const lostMessages = sum(({ messages }) => messages.lostMessages);
  const seen = sum(({ end }) => end.requester.packets);
  // A message without its beginning was not counted as begun, and a missing one neither.
  const messages = Math.max(
    lostMessages,
    sum((view) => view.messages.begun),
  );
  const share = lostMessages / messages;
  const complete = isComplete(context);
  const most = complete === 'yes' ? 'error' : 'warning';
  const severity = share >= RUINOUS_SHARE ? most : share >= COSTLY_SHARE ? 'warning' : 'note';
  context.report({
    severity: complete === 'no' ? 'note' : severity,
    text:
      `${lostPackets} of ${counted(seen + lostPackets, 'packet')} over UC from ${first.end.address} to ${first.peer.address} ` +
      `are missing here (${percent(lostPackets / (seen + lostPackets))}), which costs at least ${counted(lostMessages, 'message')} of about ` +
      `${messages} (${percent(share)}): UC sends nothing again. ${WORDS[complete]}`,
    frames: mergedFrames(views.map(({ messages: { frames } }) => frames.frames)),
    frameCount: sum(({ messages: { frames } }) => frames.count),
    conversations: views.map(({ conversation }) => conversation.id),
    evidence: {
      lostPackets,
      lostMessages,
      messages,
      lossPercent: Number(((100 * lostPackets) / (seen + lostPackets)).toPrecision(3)),
      captureIsComplete: complete,
    },
  });
}

/** Whether the capture has what others acknowledged. */
function isComplete({ capture, conversations }: DetectorContext): 'yes' | 'no' | 'unknown' {
  if (capture.captureDrops > 0) return 'no';
  let acknowledged = 0;
  for (const { ends } of conversations) {
    for (const { requester } of ends) {
      if (requester.unseenPackets > 0 || requester.responses.unseenPackets > 0) return 'no';
      if (requester.acks > 0) acknowledged += requester.packets;
    }
  }
  return acknowledged >= WITNESS_PACKETS ? 'yes' : 'unknown';
}

const WORDS = {
  yes: 'The capture lacks nothing of the connections whose ACKs it has: the network has lost them.',
  no: 'The capture itself is known to lack packets, and these may be among them.',
  unknown: 'UC has no ACKs, so whether the network or the capture has lost them shows at the receiver only.',
} as const;
/** One message in ten thousand, and one in a hundred. */
const COSTLY_SHARE = 1e-4;
const RUINOUS_SHARE = 0.01;
/** So many packets that were acknowledged, and all of them captured, say something about the capture. */
const WITNESS_PACKETS = 50;
const MOST_GAPS = 64;
const MOST_FINDINGS = 50;
