/**
 * Symptom: a responder acknowledges late, and the requester stands still until it does.
 *
 * Owns one finding for each requester. A wait counts when
 * - SENDs or WRITEs were outstanding and nothing passed in either direction, for at least `LATE_NS`, until the ACK: so
 *   it was not READ data, not the pace of the requester (DCQCN), and not an ACK that nobody waited for;
 * - the next request followed within a quarter of the wait: the requester had no room for more, or waited for it.
 * At least `ENOUGH_WAITS` of them, and half of the time that something was outstanding.
 *
 * It is a warning where the responder is known to be the cause, and not the way to it: the capture is from its host
 * (frames have directions), or something was answered in a tenth of that time, to the same host at the same interface,
 * or its ACKs say that it has no receive left (credits 0). Otherwise it is a note that says so; likewise where pauses
 * or congestion marks explain it. Rules: ref:wire#7 (credits).
 */
import { AETH_AT } from '../../../packets/opcode.ts';
import { Direction } from '../../types.ts';
import type { Detector, DetectorContext, Symptom } from '../detector.ts';
import { Mark, type PacketFacts, Role } from '../facts.ts';
import { ALL_KINDS, PacketKind, packetKind } from '../packet-kind.ts';
import type { ConversationReport, EndReport, LatencyReport } from '../types.ts';
import { FrameList } from './frame-list.ts';
import { counted, duration, percent, qpName, times } from './words.ts';

export const SLOW_RESPONDER: Symptom = {
  id: 'slow-responder',
  row: 0,
  title: 'Slow responder',
  complaint:
    'SENDs or WRITEs are slow in one direction; no retransmission, no error, and the link is idle between messages.',
  about:
    'A requester may have so much outstanding and no more, and then it waits for the ACK. A responder acknowledges when it has placed the data. Where that ' +
    'takes long, every ACK is late: the host or its memory is slow (a stack in software without processor time, PCIe, a NUMA node far away, paging), or ' +
    'it has no receive for the next message and says so with credits of 0.',
  advice: [
    'Look at the responder: processor time of a software stack, PCIe errors and width, the NUMA node of NIC and memory, power saving.',
    'Post more receives, and earlier, where its ACKs carry credits of 0.',
    'Have more outstanding: a longer send queue, larger messages, several queue pairs.',
  ],
  commands: ['rdma statistic show link DEV/1', 'lspci -vv -s BDF | grep LnkSta', 'numastat', 'mpstat -P ALL 1'],
  make: () => new SlowResponder(),
};

/** SENDs and WRITEs of one end, and the waits for their ACKs. */
class AckWaits {
  readonly conversation: number;
  readonly requester: 0 | 1;
  waits = 0;
  waitedNs = 0;
  busyNs = 0;
  longestNs = 0;
  /** Of the ACKs that were waited for. */
  withoutCredits = 0;
  /** The capture is from the responder's host: how many requests came in, and how many ACKs went out. */
  inbound = 0;
  outbound = 0;
  readonly frames = new FrameList();
  #lastNs = 0;
  #lastFrame = 0;
  #highest = Number.NEGATIVE_INFINITY;
  #acked = Number.NEGATIVE_INFINITY;
  #waitNs = 0;
  #ackNs = -1;
  #ackFrame = 0;
  #credits = -1;

  constructor(conversation: number, requester: 0 | 1) {
    this.conversation = conversation;
    this.requester = requester;
  }

  /** Anything of the conversation: the wire is not idle. */
  passes(timeNs: number): void {
    if (this.#acked < this.#highest) this.busyNs += Math.max(0, timeNs - this.#lastNs);
    this.#lastNs = timeNs;
  }

  request(psn: number, timeNs: number, frame: number): void {
    if (this.#ackNs >= 0 && timeNs - this.#ackNs <= HURRY * this.#waitNs) this.#count();
    this.#ackNs = -1;
    this.passes(timeNs);
    this.#lastFrame = frame;
    if (psn > this.#highest) this.#highest = psn;
  }

  /** @param credits code of the AETH */
  acknowledged(psn: number, timeNs: number, frame: number, credits: number): void {
    const waitNs = timeNs - this.#lastNs;
    const waited = this.#acked < this.#highest && psn > this.#acked && waitNs >= LATE_NS;
    this.passes(timeNs);
    if (psn > this.#acked) this.#acked = psn;
    this.#ackNs = waited ? timeNs : -1;
    this.#waitNs = waitNs;
    this.#ackFrame = frame;
    this.#credits = credits;
  }

  /** Something else had to be waited for. */
  forget(): void {
    this.#ackNs = -1;
  }

  #count(): void {
    this.waits++;
    this.waitedNs += this.#waitNs;
    this.longestNs = Math.max(this.longestNs, this.#waitNs);
    if (this.#credits === 0) this.withoutCredits++;
    this.frames.add(this.#lastFrame);
    this.frames.add(this.#ackFrame);
  }
}

class SlowResponder implements Detector {
  readonly interest = ALL_KINDS & ~(PacketKind.Management | PacketKind.Datagram);
  /** By 2 * conversation + requester. */
  readonly #waits: (AckWaits | undefined)[] = [];

  packet(facts: PacketFacts): void {
    const { conversation, role, requester, relativePsn, timeNs, packet, marks, dissection } = facts;
    if (conversation === undefined || Number.isNaN(relativePsn) || conversation.service === 'UC') return;
    const kind = packetKind(facts);
    const index = 2 * conversation.id + requester;
    let waits = this.#waits[index];
    if (kind === PacketKind.Data || kind === PacketKind.Ack) {
      if (waits === undefined) {
        waits = new AckWaits(conversation.id, requester);
        this.#waits[index] = waits;
      }
      if (kind === PacketKind.Data) {
        if (packet.direction === Direction.Inbound) waits.inbound++;
        waits.request(relativePsn, timeNs, packet.number);
      } else {
        if (packet.direction === Direction.Outbound) waits.outbound++;
        const { view, bthOffset, opcode } = dissection.frame;
        const credits = view.getUint8(bthOffset + (AETH_AT[opcode] ?? 0)) & CREDITS_MASK;
        waits.acknowledged(relativePsn, timeNs, packet.number, credits);
      }
    } else {
      // A NAK, a retransmission, READ data: another reason to wait.
      waits?.passes(timeNs);
      if ((marks & ~Mark.Ce) !== 0) waits?.forget();
    }
    if (role === Role.Request || role === Role.Response) this.#waits[index ^ 1]?.passes(timeNs);
  }

  finish(context: DetectorContext): void {
    const found = this.#waits.filter((waits) => waits !== undefined && isSlow(waits)) as AckWaits[];
    found.sort((a, b) => b.waitedNs - a.waitedNs);
    const told = new Set<string>();
    for (const waits of found) {
      const conversation = context.conversation(waits.conversation);
      if (conversation === undefined || told.size >= MOST_FINDINGS) continue;
      const [end, peer] = endsOf(conversation, waits.requester);
      const key = `${end.network} ${end.address} ${end.qpn} ${peer.address} ${peer.qpn}`;
      if (told.has(key)) continue;
      told.add(key);
      report(context, waits, conversation);
    }
  }
}

function isSlow({ waits, waitedNs, busyNs }: AckWaits): boolean {
  return waits >= ENOUGH_WAITS && waitedNs >= WAITED_SHARE * busyNs;
}

function endsOf({ ends }: ConversationReport, requester: 0 | 1): readonly [EndReport, EndReport] {
  return requester === 0 ? ends : [ends[1], ends[0]];
}

function report(context: DetectorContext, waits: AckWaits, conversation: ConversationReport): void {
  const [end, peer] = endsOf(conversation, waits.requester);
  const meanNs = waits.waitedNs / waits.waits;
  const fastestNs = fastestAnswer(context, peer.address, conversation.interfaceIndex);
  const here = waits.inbound > 0 && waits.outbound > 0;
  const noCredits = waits.withoutCredits >= WAITED_SHARE * waits.waits;
  const excuse = excuseOf(context, conversation);
  const proof = here
    ? 'the capture is from its own host, so it is not the network'
    : fastestNs * FASTER <= meanNs
      ? `it has answered in ${duration(fastestNs)} from here, so it is not the way`
      : noCredits
        ? 'it has no receive left for more'
        : '';
  const { p50Ns, p99Ns } = end.requester.ackLatency;
  context.report({
    severity: proof !== '' && excuse === '' ? 'warning' : 'note',
    text:
      `${peer.address} acknowledges late what ${end.address} (${qpName(end.qpn)}) sends: half of the ACKs took ${duration(p50Ns)} or more, ` +
      `one in a hundred ${duration(p99Ns)}; ${times(waits.waits)} nothing moved until the ACK came and ${end.address} could go on, ` +
      `${percent(waits.waitedNs / Math.max(1, waits.busyNs))} of the time that it had something outstanding` +
      (noCredits
        ? `; ${counted(waits.withoutCredits, 'of these ACKs carries', 'of these ACKs carry')} credits of 0`
        : '') +
      `. ${proof === '' ? 'From here this cannot be told from a way that takes as long: nothing else was answered sooner.' : `It is the responder: ${proof}.`}` +
      excuse,
    frames: [...waits.frames.frames],
    frameCount: waits.frames.count,
    conversations: [conversation.id],
    evidence: {
      responder: peer.address,
      waits: waits.waits,
      meanWaitNs: Math.round(meanNs),
      longestWaitNs: waits.longestNs,
      medianAckNs: p50Ns,
      p99AckNs: p99Ns,
      fastestAnswerNs: Number.isFinite(fastestNs) ? fastestNs : -1,
      waitedPercent: Math.round((100 * waits.waitedNs) / Math.max(1, waits.busyNs)),
      acksWithoutCredits: waits.withoutCredits,
    },
  });
}

/** The shortest time in which this host answered anything, as this interface saw it. */
function fastestAnswer({ conversations }: DetectorContext, responder: string, interfaceIndex: number): number {
  let fastest = Number.POSITIVE_INFINITY;
  for (const conversation of conversations) {
    if (conversation.interfaceIndex !== interfaceIndex) continue;
    conversation.ends.forEach((peer, side) => {
      const asking = conversation.ends[side === 0 ? 1 : 0]?.requester;
      if (peer.address !== responder || asking === undefined) return;
      fastest = Math.min(fastest, shortest(asking.ackLatency), shortest(asking.readLatency));
    });
  }
  return fastest;
}

function shortest({ count, minNs }: LatencyReport): number {
  return count === 0 ? Number.POSITIVE_INFINITY : minNs;
}

/** What else holds up packets and ACKs alike. */
function excuseOf({ capture }: DetectorContext, { ends }: ConversationReport): string {
  if ((capture.others['PFC'] ?? 0) > 0) return ' Links were paused meanwhile (PFC), which delays both.';
  if (ends.some(({ congestion }) => congestion.ce > 0 || congestion.cnpsSent > 0))
    return ' The network was congested meanwhile, which delays both.';
  return '';
}

/** Far above every round trip within a data centre. */
const LATE_NS = 500_000;
const ENOUGH_WAITS = 8;
const WAITED_SHARE = 0.5;
/** Of the wait: what follows later was not waiting for it. */
const HURRY = 0.25;
/** The way takes at most a tenth of the wait. */
const FASTER = 10;
const CREDITS_MASK = 0x1f;
const MOST_FINDINGS = 8;
