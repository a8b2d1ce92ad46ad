/**
 * Symptom: requests are retransmitted though they had arrived, because ACKs are lost or late on the way back.
 *
 * Owns the finding, one for each conversation. Two signs count, each once for a run of retransmissions, and only for
 * SENDs and WRITEs, whose only response is an ACK:
 * - captured near the responder: packets are retransmitted whose ACK was seen before, longer ago than a round trip
 *   takes;
 * - captured near the requester: the first ACK after a run names the last packet that was sent, the end of a message,
 *   before the run has reached it, or the responder acknowledges that end more than once. The responder had everything
 *   before: it acknowledges new packets once. An ACK that names less shows a loss, which is another symptom.
 * Where more ACKs come back than packets were retransmitted, no ACK was lost. They were late, which is always a note. A
 * run that follows a NAK before anything new was acknowledged is the reaction to that NAK and no sign. Copies made by
 * the network or a mirror are no sign either. Three runs are a warning, fewer are a note: any network loses a single
 * ACK now and then.
 * Rules: ref:analyzer#1 row 18, ref:rxe#7 (a duplicate is acknowledged again, with the newest PSN).
 */
import { SYNDROME_KIND_MASK, SyndromeKind } from '../../../packets/aeth.ts';
import { AETH_AT, OpFlag } from '../../../packets/opcode.ts';
import { IcrcState } from '../../dissection.ts';
import type { Detector, DetectorContext, Symptom } from '../detector.ts';
import { Mark, type PacketFacts, Role } from '../facts.ts';
import { PacketKind, REQUEST_KINDS } from '../packet-kind.ts';
import type { ConversationReport } from '../types.ts';
import { FrameList, mergedFrames } from './frame-list.ts';
import { heirFrames } from './heirs.ts';
import { counted, duration, qpName, times } from './words.ts';

export const DUPLICATE_REQUESTS: Symptom = {
  id: 'duplicate-requests',
  row: 18,
  title: 'Requests retransmitted though they had arrived',
  complaint:
    'duplicate_request counts up at the receiver, local_ack_timeout_err at the sender; messages take a timeout longer.',
  about:
    'A requester that gets no ACK retransmits. When the data had arrived, the responder sees requests below the PSN that it expects, does not ' +
    'execute them again, and acknowledges them again. So ACKs are lost, or delayed beyond the timeout, on the way back; the requests arrive.',
  advice: [
    'Look for losses on the way back: another route or another class (DSCP) than that of the requests, a busy receiver, a policer.',
    'Raise the local ACK timeout when ACKs are only late.',
  ],
  commands: ['rdma statistic show link DEV/1', 'ethtool -S DEV | grep -iE "drop|discard"', 'mlnx_qos -i DEV'],
  make: () => new DuplicateRequests(),
};

/** SENDs and WRITEs of one end. */
class Requests {
  readonly conversation: number;
  readonly requester: 0 | 1;
  /** Newest PSN acknowledged, since when, and by which packet. */
  ackedPsn = Number.NEGATIVE_INFINITY;
  ackedNs = 0;
  ackedFrame = 0;
  /** The packet before. */
  lastPsn = Number.NEGATIVE_INFINITY;
  highestPsn = Number.NEGATIVE_INFINITY;
  /** Whether the packet with that PSN ends a message and has AckReq set. */
  highestAsks = false;
  /** The current run of retransmitted packets. */
  runPsn = Number.NEGATIVE_INFINITY;
  runFrame = 0;
  runCounts = false;
  /**
   * After a NAK: the newest packet at that time. Until more than that is acknowledged, retransmissions are reactions to
   * the NAK.
   */
  nakUntil = Number.NEGATIVE_INFINITY;
  inRun = false;
  /** The run has been counted. */
  counted = false;
  /** End of the last message before the run, not acknowledged by then, and how often it has been since; NaN: none. */
  claimPsn = Number.NaN;
  claimAcks = 0;
  claimFrame = 0;
  /** Packets of the run, and whether the end was acknowledged before the run came to it. */
  runPackets = 0;
  early = false;

  /** Runs whose packets had an ACK in the capture before, and runs that a later ACK reveals. */
  seenAcked = 0;
  shownByAck = 0;
  /** Runs whose ACKs were only late. */
  late = 0;
  duplicates = 0;
  longestNs = 0;
  readonly frames = new FrameList();

  constructor(conversation: number, requester: 0 | 1) {
    this.conversation = conversation;
    this.requester = requester;
  }

  sent(psn: number, asks: boolean, repeated: boolean, timeNs: number, frame: number): void {
    if (!repeated) this.inRun = false;
    else {
      if (!this.inRun || psn <= this.lastPsn) this.#runBegins(frame);
      this.runPsn = psn;
      this.runPackets++;
      this.#judge(psn, timeNs, frame);
    }
    this.lastPsn = psn;
    if (psn < this.highestPsn) return;
    this.highestPsn = psn;
    this.highestAsks = asks;
  }

  acknowledged(psn: number, timeNs: number, frame: number): void {
    if (psn > this.claimPsn) this.settle();
    else if (psn === this.claimPsn) {
      this.claimAcks++;
      if (this.claimAcks === 1) this.early = psn > this.runPsn;
      // The first one that shows it.
      if (this.claimAcks === 1 || (this.claimAcks === 2 && !this.early)) this.claimFrame = frame;
    }
    if (psn <= this.ackedPsn) return;
    if (psn > this.nakUntil) this.nakUntil = Number.NEGATIVE_INFINITY;
    this.ackedPsn = psn;
    this.ackedNs = timeNs;
    this.ackedFrame = frame;
  }

  /** No more ACKs of the run are expected: evaluates them. */
  settle(): void {
    const shown = this.claimAcks > 1 || (this.claimAcks === 1 && this.early);
    this.claimPsn = Number.NaN;
    if (!shown || this.counted) return;
    this.counted = true;
    // More ACKs than retransmitted packets: the ACK of the original is among them, and was only late.
    if (this.claimAcks > this.runPackets) this.late++;
    else this.shownByAck++;
    this.frames.add(this.runFrame);
    this.frames.add(this.claimFrame);
  }

  /** The last run is of the next life of the queue pairs if that begins with it or before. */
  endBefore(heirFrame = Number.POSITIVE_INFINITY): void {
    if (this.runFrame >= heirFrame && this.seenAcked > 0) this.seenAcked--;
  }

  #runBegins(frame: number): void {
    this.settle();
    this.inRun = true;
    this.runFrame = frame;
    this.runCounts = this.nakUntil === Number.NEGATIVE_INFINITY;
    this.counted = false;
    this.claimPsn =
      this.runCounts && this.highestAsks && this.ackedPsn < this.highestPsn ? this.highestPsn : Number.NaN;
    this.claimAcks = 0;
    this.runPackets = 0;
    this.early = false;
  }

  #judge(psn: number, timeNs: number, frame: number): void {
    if (psn > this.ackedPsn || !this.runCounts || timeNs - this.ackedNs < LEAST_ROUND_TRIP_NS) return;
    this.duplicates++;
    if (this.counted) return;
    this.counted = true;
    this.seenAcked++;
    this.longestNs = Math.max(this.longestNs, timeNs - this.ackedNs);
    this.frames.add(this.ackedFrame);
    this.frames.add(frame);
  }
}

class DuplicateRequests implements Detector {
  readonly interest = PacketKind.Other | REQUEST_KINDS | PacketKind.Ack;
  /** By 2 * conversation + requester. */
  readonly #requests: (Requests | undefined)[] = [];

  packet(facts: PacketFacts): void {
    const { conversation, role, icrc, marks, requester, relativePsn, dissection, timeNs, packet } = facts;
    if (conversation === undefined || icrc === IcrcState.Bad || Number.isNaN(relativePsn)) return;
    const { frame } = dissection;
    if (role === Role.Request) {
      if ((marks & Mark.Copy) !== 0) return;
      const requests = this.#of(conversation.id, requester);
      // A packet that differs from the one sent before is no retransmission: the PSNs are reused.
      const repeated = (marks & (Mark.Retransmission | Mark.Violation)) === Mark.Retransmission;
      // READs and atomics are requested again when their response is lost, which is a loss of data.
      if ((frame.flags & (OpFlag.Send | OpFlag.Write)) === 0) requests.inRun = false;
      else {
        const asks = frame.ackReq === 1 && (frame.flags & (OpFlag.Last | OpFlag.Only)) !== 0;
        requests.sent(relativePsn, asks, repeated, timeNs, packet.number);
      }
    } else if (role === Role.Response && (frame.flags & OpFlag.Ack) !== 0 && (marks & Mark.Copy) === 0) {
      const requests = this.#of(conversation.id, requester);
      const syndrome = frame.view.getUint8(frame.bthOffset + (AETH_AT[frame.opcode] ?? 0));
      if ((syndrome & SYNDROME_KIND_MASK) === SyndromeKind.Ack)
        requests.acknowledged(relativePsn, timeNs, packet.number);
      else requests.nakUntil = requests.highestPsn;
    }
  }

  finish(context: DetectorContext): void {
    const byId = new Map(context.conversations.map((conversation) => [conversation.id, conversation]));
    const heirs = heirFrames(context.conversations);
    const best = new Map<string, readonly [Requests, ConversationReport]>();
    for (const requests of this.#requests) {
      requests?.settle();
      requests?.endBefore(heirs.get(requests.conversation));
      const conversation = requests === undefined ? undefined : byId.get(requests.conversation);
      if (requests === undefined || conversation === undefined || runsOf(requests) === 0) continue;
      // Several interfaces captured the same conversation: the one with the better view counts.
      const key = `${conversation.sameAs === 0 ? conversation.id : conversation.sameAs} ${conversation.ends[requests.requester].address}`;
      const known = best.get(key);
      if (known === undefined || scoreOf(requests) > scoreOf(known[0])) best.set(key, [requests, conversation]);
    }
    const found = [...best.values()].sort(([a], [b]) => runsOf(b) - runsOf(a));
    for (const [requests, conversation] of found.slice(0, MOST_FINDINGS)) report(context, requests, conversation);
  }

  #of(conversation: number, requester: 0 | 1): Requests {
    const index = 2 * conversation + requester;
    const known = this.#requests[index];
    if (known !== undefined) return known;
    const made = new Requests(conversation, requester);
    this.#requests[index] = made;
    return made;
  }
}

function runsOf({ seenAcked, shownByAck, late }: Requests): number {
  return seenAcked + shownByAck + late;
}

/** An ACK that was captured before is better evidence than one that only reveals it. */
function scoreOf({ seenAcked, shownByAck, late }: Requests): number {
  return 3 * seenAcked + 2 * shownByAck + late;
}

function report(context: DetectorContext, requests: Requests, { id, ends, sameAs }: ConversationReport): void {
  const requester = ends[requests.requester];
  const responder = ends[requests.requester === 0 ? 1 : 0];
  const { seenAcked, shownByAck, late, duplicates, longestNs, frames } = requests;
  const { lostPackets } = requester.requester;
  const lost = seenAcked + shownByAck;
  const [how, why] =
    seenAcked > 0
      ? [
          `up to ${duration(longestNs)} after its ACK was captured here`,
          `ACKs are lost or late after this capture point`,
        ]
      : lost > 0
        ? ['as the ACKs that came at last show', `ACKs are lost or late on the way from ${responder.address}`]
        : ['which acknowledged it once more for each retransmission', 'its ACKs come later than the ACK timeout'];
  const data =
    lostPackets === 0 ? 'no request was lost' : `${counted(lostPackets, 'packet')} of requests got lost as well`;
  context.report({
    severity: lost >= ENOUGH_RUNS ? 'warning' : 'note',
    text: `${requester.address} (${qpName(requester.qpn)}) retransmitted ${times(runsOf(requests))} what ${responder.address} had received, ${how}: ${why}; ${data}.`,
    frames: mergedFrames([frames.frames]),
    frameCount: frames.count,
    conversations: sameAs === 0 ? [id] : [sameAs, id],
    evidence: {
      requester: requester.address,
      responder: responder.address,
      runs: runsOf(requests),
      repeatedAfterAck: seenAcked,
      shownByLateAck: shownByAck,
      onlyLate: late,
      duplicatePackets: duplicates,
      lostRequestPackets: lostPackets,
      longestNs,
    },
  });
}

/**
 * Round trips in data centres are shorter. A retransmission that follows its ACK sooner than this crossed it on the
 * way.
 */
const LEAST_ROUND_TRIP_NS = 200_000;
const ENOUGH_RUNS = 3;
const MOST_FINDINGS = 8;
