/**
 * Symptom: READs and atomics wait for each other, because no more of them may be outstanding.
 *
 * Owns two findings:
 * - more are outstanding than the responder announced (responder resources in its REQ or REP): a warning, and an error
 *   when the responder refused one or stopped responding, since it drops or refuses what it has no resources for. The
 *   finding needs later packets that show the oldest request to be still unanswered at that time: a response that the
 *   capture lacks would look the same;
 * - the limit is reached at least 16 times, each time with silence until a response comes, for at least half of the
 *   time that READs were outstanding, and the next request follows within a quarter of that wait. It is a warning where
 *   the limit is the one that the connection managers agreed on, and otherwise a note, since an application may choose
 *   such a depth. A limit of one without an agreement gives no finding: every program that waits for its READ has it.
 * Rules: ref:analyzer#1 row 19, ref:wire#10, ref:rxe#7 (max_dest_rd_atomic).
 */
import { Syndrome } from '../../../packets/aeth.ts';
import { FrameStatus } from '../../../packets/frame.ts';
import { OpFlag } from '../../../packets/opcode.ts';
import { IcrcState } from '../../dissection.ts';
import type { Detector, DetectorContext, Symptom } from '../detector.ts';
import { nakName } from '../event-text.ts';
import { Mark, type PacketFacts, Role } from '../facts.ts';
import { ALL_KINDS, PacketKind } from '../packet-kind.ts';
import type { ConversationReport } from '../types.ts';
import { cmSighting, remember } from './cm-reading.ts';
import { FrameList } from './frame-list.ts';
import { counted, duration, grouped, percent, qpName, times } from './words.ts';

export const READ_STALL: Symptom = {
  id: 'read-stall',
  row: 19,
  title: 'READs wait for the responder',
  complaint: 'READs or atomics are much slower than WRITEs of the same size; the link is idle between them.',
  about:
    'A responder keeps a place for each READ or atomic that it has yet to answer, and a requester may not have more of them outstanding than there are ' +
    'places: responder resources (IRD) of one end, initiator depth (ORD) of the other. With few places and a long way the requester stands ' +
    'still until an answer frees one. With a wrong number it overruns the responder, which drops or refuses what it cannot keep.',
  advice: [
    'Raise responder_resources and initiator_depth in the connection parameters of both ends (up to max_qp_rd_atom of the device), or read more at a time.',
    'Give max_dest_rd_atomic of one end the value of max_rd_atomic of the other where queue pairs are connected by hand.',
  ],
  commands: ['ibv_devinfo -v | grep rd_atom', 'rdma resource show qp', 'rdma statistic show link DEV/1'],
  make: () => new ReadStall(),
};

/** READs and atomics of one end under way. */
class OutstandingReads {
  /** PSN behind the last one of each that is under way, oldest first. */
  readonly #ends: number[] = [];
  /** PSN behind the last response. */
  #answeredTo = Number.NEGATIVE_INFINITY;
  most = 0;
  /** What the responder can answer at a time; Infinity where the capture does not say. */
  readonly limit: number;
  /** Time of the last request or response. */
  #lastNs = 0;
  /** Time with something outstanding, and time of silence at each depth that was the largest so far. */
  busyNs = 0;
  stalledNs = 0;
  stalls = 0;
  /** Stalls after which the next request followed at once. */
  hurried = 0;
  overruns = 0;
  #stallStartNs = -1;
  #stallNs = 0;
  #answeredNs = -1;
  readonly frames = new FrameList();
  readonly overrunFrames = new FrameList();
  #lastRequestFrame = 0;
  /** Requests beyond the limit, or after a response that the capture lacks: later packets decide. */
  readonly #unconfirmed: number[] = [];

  constructor(limit: number) {
    this.limit = limit;
  }

  onRequest(endPsn: number, timeNs: number, frame: number): void {
    this.#passes(timeNs);
    if (this.#answeredNs >= 0 && timeNs - this.#answeredNs <= this.#stallNs * HURRY) this.hurried++;
    this.#answeredNs = -1;
    // A repetition overtook it: both are one.
    if (endPsn <= this.#answeredTo || this.#ends.includes(endPsn)) return;
    if (this.#ends.length < MOST_OUTSTANDING) this.#ends.push(endPsn);
    const depth = this.#ends.length;
    if (depth > this.limit) this.#unconfirmed.push(frame);
    if (depth > this.most) {
      this.most = depth;
      this.#forgetStalls();
    }
    this.#stallStartNs = depth === this.most ? timeNs : -1;
    this.#lastRequestFrame = frame;
  }

  onResponse(psn: number, timeNs: number, frame: number): void {
    this.#passes(timeNs);
    if (this.#unconfirmed.length > 0) this.#settle(psn < (this.#ends[0] ?? 0));
    if (this.#stallStartNs >= 0) {
      this.#stallNs = timeNs - this.#stallStartNs;
      this.stalls++;
      this.stalledNs += this.#stallNs;
      this.frames.add(this.#lastRequestFrame);
      this.frames.add(frame);
      this.#stallStartNs = -1;
    }
    this.#answeredTo = Math.max(this.#answeredTo, psn + 1);
    const before = this.#ends.length;
    while (this.#ends.length > 0 && (this.#ends[0] ?? 0) <= psn + 1) this.#ends.shift();
    if (this.#ends.length < before && before === this.most) this.#answeredNs = timeNs;
  }

  /** The responder refused a request, or the oldest one is requested again: it and all after it are outstanding. */
  confirmOverrun(): void {
    this.#settle(true);
  }

  #settle(oldestIsOutstanding: boolean): void {
    if (oldestIsOutstanding) {
      this.overruns += this.#unconfirmed.length;
      for (const frame of this.#unconfirmed) this.overrunFrames.add(frame);
    }
    this.#unconfirmed.length = 0;
  }

  #passes(timeNs: number): void {
    if (this.#ends.length > 0) this.busyNs += timeNs - this.#lastNs;
    this.#lastNs = timeNs;
  }

  /** The assumed limit was exceeded: it was none. */
  #forgetStalls(): void {
    this.stalls = 0;
    this.stalledNs = 0;
    this.hurried = 0;
    this.busyNs = 0;
    this.frames.clear();
  }
}

class ReadStall implements Detector {
  readonly interest = ALL_KINDS & ~(PacketKind.Data | PacketKind.UcData | PacketKind.Cnp);
  /** By 2 * conversation + requester. */
  readonly #reads: (OutstandingReads | undefined)[] = [];
  /** READs and atomics that a queue pair answers at a time, from its REQ or REP: by address and number. */
  readonly #resources = new Map<string, number>();

  packet(facts: PacketFacts): void {
    const { conversation, role, icrc, marks, requester, relativePsn, psnCount, dissection, timeNs, packet } = facts;
    const { frame, status } = dissection;
    if (status !== FrameStatus.Ok || icrc === IcrcState.Bad) return;
    if (role === Role.Management || role === Role.Datagram) {
      this.#agreement(facts);
      return;
    }
    if (conversation === undefined || Number.isNaN(relativePsn)) return;
    if (role === Role.Request && (frame.flags & HELD) !== 0) {
      if ((marks & Mark.Copy) !== 0) return;
      if ((marks & Mark.Retransmission) !== 0) {
        this.#reads[2 * conversation.id + requester]?.confirmOverrun();
        return;
      }
      this.#of(conversation, requester).onRequest(relativePsn + psnCount, timeNs, packet.number);
    } else if (role === Role.Response) {
      const reads = this.#reads[2 * conversation.id + requester];
      if ((marks & (Mark.Nak | Mark.RnrNak)) !== 0) reads?.confirmOverrun();
      else reads?.onResponse(relativePsn, timeNs, packet.number);
    }
  }

  finish(context: DetectorContext): void {
    const found: ReadStallCandidate[] = [];
    for (const conversation of context.conversations) {
      if (conversation.sameAs !== 0) continue;
      for (const requester of [0, 1] as const) {
        const reads = this.#reads[2 * conversation.id + requester];
        if (reads !== undefined) found.push({ reads, conversation, requester, limit: reads.limit });
      }
    }
    const overruns = found.filter(({ reads }) => reads.overruns > 0);
    for (const overrun of overruns.slice(0, MOST_FINDINGS)) reportOverrun(context, overrun);
    const stalls = found.filter((entry) => !overruns.includes(entry) && isStall(entry));
    stalls.sort((a, b) => b.reads.stalledNs - a.reads.stalledNs);
    for (const stall of stalls.slice(0, MOST_FINDINGS)) reportStall(context, stall);
  }

  #agreement(facts: PacketFacts): void {
    const sighting = cmSighting(facts);
    if (sighting === undefined) return;
    const { message, source } = sighting;
    if (message.kind !== 'REQ' && message.kind !== 'REP') return;
    remember(this.#resources, `${source} ${message.body.localQpn}`, message.body.responderResources, MOST_AGREEMENTS);
  }

  /** From the responder resources that the peer announced. */
  #limitOf(conversation: ConversationReport, requester: 0 | 1): number {
    if (this.#resources.size === 0 || conversation.learnt !== 'cm') return Number.POSITIVE_INFINITY;
    const { address, qpn } = conversation.ends[requester === 0 ? 1 : 0];
    const resources = this.#resources.get(`${address} ${qpn}`) ?? 0;
    return resources === 0 ? Number.POSITIVE_INFINITY : resources;
  }

  #of(conversation: ConversationReport, requester: 0 | 1): OutstandingReads {
    const index = 2 * conversation.id + requester;
    const known = this.#reads[index];
    if (known !== undefined) return known;
    const made = new OutstandingReads(this.#limitOf(conversation, requester));
    this.#reads[index] = made;
    return made;
  }
}

interface ReadStallCandidate {
  readonly reads: OutstandingReads;
  readonly conversation: ConversationReport;
  readonly requester: 0 | 1;
  readonly limit: number;
}

function isStall({ reads, limit }: ReadStallCandidate): boolean {
  const { stalls, stalledNs, busyNs, hurried, most } = reads;
  if (stalls < ENOUGH_STALLS || (most < 2 && limit !== most)) return false;
  return stalledNs >= STALLED_SHARE * busyNs && hurried >= STALLED_SHARE * stalls;
}

function reportStall(context: DetectorContext, { reads, conversation, requester, limit }: ReadStallCandidate): void {
  const end = conversation.ends[requester];
  const { most, stalls, stalledNs, busyNs, frames } = reads;
  const agreed = limit === most;
  context.report({
    severity: agreed ? 'warning' : 'note',
    text: `${end.address} (${qpName(end.qpn)}) had ${counted(most, 'READ or atomic', 'READs and atomics')} outstanding ${times(stalls)}${agreed ? ', all that the connection managers agreed on,' : ''} and then waited ${duration(stalledNs / stalls)} on average for an answer: ${percent(stalledNs / busyNs)} of the time nothing moved.`,
    frames: frames.frames,
    frameCount: frames.count,
    conversations: [conversation.id],
    evidence: {
      outstanding: most,
      agreed: Number.isFinite(limit) ? limit : 0,
      stalls,
      meanWaitNs: Math.round(stalledNs / stalls),
      stalledPercent: Math.round((100 * stalledNs) / busyNs),
    },
  });
}

function reportOverrun(context: DetectorContext, { reads, conversation, requester, limit }: ReadStallCandidate): void {
  const [end, other] = [conversation.ends[requester], conversation.ends[requester === 0 ? 1 : 0]];
  const { naks, timeouts } = end.requester;
  const refused = naks[nakName(Syndrome.NakInvalidRequest)] ?? 0;
  const fails = timeouts > 0 || Object.keys(naks).length > 0;
  context.report({
    severity: fails ? 'error' : 'warning',
    text: `${end.address} (${qpName(end.qpn)}) had up to ${grouped(reads.most)} READs and atomics outstanding, but ${other.address} announced that it answers ${grouped(limit)} at a time${fails ? '; it refuses or drops the others' : ''}.`,
    frames: reads.overrunFrames.frames,
    frameCount: reads.overrunFrames.count,
    conversations: [conversation.id],
    evidence: { outstanding: reads.most, agreed: limit, overruns: reads.overruns, timeouts, refused },
  });
}

/** Requests that the responder keeps until it has answered. */
const HELD = OpFlag.Read | OpFlag.Atomic;
const ENOUGH_STALLS = 16;
const STALLED_SHARE = 0.5;
/** Of the wait: what follows later was not waiting for it. */
const HURRY = 0.25;
const MOST_OUTSTANDING = 4096;
const MOST_AGREEMENTS = 65_536;
const MOST_FINDINGS = 8;
