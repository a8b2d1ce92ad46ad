/**
 * Symptom: the MigReq bit of an end changes in the middle of a connection.
 *
 * Owns the finding, one for each end whose bit changed, about the last change:
 * - the requester's bit changed, and of all requests from that packet on none was answered: an error where it gave up,
 *   a warning where it still tries, four times at least. The oldest request without an answer is that packet, which is
 *   no repetition: a connection that was silent before is not silent for this, nor one that worked with the other bit;
 * - the responder's bit changed, and since then the requester sent the same request again after three timeouts or more,
 *   each time answered, and nothing new: it drops the answers. A warning, and an error from seven timeouts on;
 * - an end moved to other addresses between the same queue pairs, with another bit and PSNs that go on, and nothing was
 *   answered there: as the first; path migration that the peer does not know of;
 * - anything else is a note: the connection works with either bit, or migrated as it should.
 * CNPs do not count: their MigReq is always 0 (ref:wire#9).
 * Rules: ref:wire#4, ref:conformance#PKT-24 (the bit is set in the state migrated only).
 */
import { psnDiff } from '../../../packets/psn.ts';
import type { Detector, DetectorContext, Symptom } from '../detector.ts';
import { Mark, type PacketFacts, Role } from '../facts.ts';
import type { ConversationReport, EndReport, Severity, TransportEvent } from '../types.ts';
import { answersTo, endsOf, type Failure, FailureWatch } from './failures.ts';
import { FrameList, mergedFrames } from './frame-list.ts';
import { qpName, times } from './words.ts';

export const MIGREQ_FLIP: Symptom = {
  id: 'migreq-flip',
  row: 0,
  title: 'MigReq changes midway',
  complaint:
    'Status 12 on a connection that worked, at an instant at which nothing else happened; or slow after a failover.',
  about:
    'The MigReq bit says whether a queue pair is on its only path (1) or has an alternate one ready (0). Both ends agree on it, and it changes when ' +
    'path migration is armed and when a queue pair moves to its other path. A receiver that was not told of an alternate path may drop packets whose bit is not ' +
    'its own, silently; others take either, or handle such packets on a slower way. Firmware and gateways that rewrite headers change it too.',
  advice: [
    'Load the same alternate path at both ends (ibv_modify_qp with IBV_QP_ALT_PATH and path_mig_state), or at none.',
    'Compare firmware and drivers of both ends: a peer that sends 0 without migration, as rdma_rxe does, wants a peer that takes 0.',
  ],
  commands: ['rdma resource show qp -dd', 'ibv_devinfo -v', "roce dump CAPTURE 'not migreq'"],
  explains: ['no-reply', 'retry-exceeded', 'duplicate-requests', 'rule/mig-req', 'rule/source-port'],
  make: () => new MigReqFlip(),
};

/** The last change of one end. */
interface Flip {
  readonly conversation: ConversationReport;
  readonly sender: 0 | 1;
  readonly frames: FrameList;
  /** Of the last one. */
  frame: number;
  psn: number;
  role: Role;
  repeated: boolean;
  /** Timeouts since, all about one PSN, though it was answered; -1: about several. */
  refused: number;
  refusedPsn: number;
  /** Of the requester, at the last of these timeouts. */
  nextPsn: number;
  readonly refusedFrames: FrameList;
}

/** A change as it is judged. */
interface Verdict {
  readonly severity: Severity;
  readonly words: string;
  readonly tries: number;
  readonly frames: readonly number[];
}

class MigReqFlip implements Detector {
  readonly #failures = new FailureWatch();
  /** By 2 * conversation + end. */
  readonly #flips = new Map<number, Flip>();

  get interest(): number {
    return this.#failures.interest;
  }

  packet(facts: PacketFacts): void {
    this.#failures.packet(facts);
    const { conversation, sender, packet, role } = facts;
    // A changed bit breaks a rule: nearly all packets end here.
    if ((facts.marks & Mark.Violation) === 0 || conversation === undefined) return;
    if (conversation.ends[sender].migReqFrame !== packet.number) return;
    const key = 2 * conversation.id + sender;
    const known = this.#flips.get(key);
    if (known === undefined && this.#flips.size >= MOST_FLIPS) return;
    const flip = known ?? { ...NEW, conversation, sender, frames: new FrameList(), refusedFrames: new FrameList() };
    this.#flips.set(key, flip);
    flip.frames.add(packet.number);
    flip.frame = packet.number;
    flip.psn = facts.dissection.frame.psn;
    flip.role = role;
    flip.repeated = (facts.marks & Mark.Retransmission) !== 0;
    flip.refused = 0;
    flip.refusedPsn = -1;
    flip.refusedFrames.clear();
  }

  event(event: TransportEvent): void {
    this.#failures.event(event);
    if (event.reason !== 'ack-not-received' || event.kind !== 'timeout' || this.#flips.size === 0) return;
    const flip = this.#flips.get(2 * event.conversation + (event.requester === 0 ? 1 : 0));
    if (flip === undefined) return;
    if (flip.refusedPsn >= 0 && flip.refusedPsn !== event.psn) flip.refused = Number.NEGATIVE_INFINITY;
    flip.refusedPsn = event.psn;
    flip.nextPsn = flip.conversation.ends[event.requester].requester.nextPsn;
    flip.refused++;
    flip.refusedFrames.add(event.frame);
  }

  finish(context: DetectorContext): void {
    const silences = this.#failures.finish(context).filter(({ kind }) => kind === 'silence');
    let told = 0;
    for (const flip of this.#flips.values()) {
      const conversation = context.conversation(flip.conversation.id);
      if (conversation === undefined || conversation.sameAs !== 0 || ++told > MOST_FINDINGS) continue;
      const end = flip.conversation.ends[flip.sender];
      const [own, peer] = isEnd(conversation.ends[0], end)
        ? conversation.ends
        : [conversation.ends[1], conversation.ends[0]];
      report(context, [conversation], own, flip.frames, judge(flip, own, peer, silences));
    }
    for (const moved of migrations(context).slice(0, MOST_FINDINGS)) reportMove(context, moved, silences);
  }
}

function judge(flip: Flip, own: EndReport, peer: EndReport, silences: readonly Failure[]): Verdict {
  const silence = silences.find((failure) => isEnd(endsOf(failure)[0], own) && isEnd(endsOf(failure)[1], peer));
  if (silence !== undefined && flip.role === Role.Request && !flip.repeated && silence.psn === flip.psn) {
    const verdict = silent(silence, peer);
    if (verdict !== undefined) return verdict;
  }
  if (flip.role === Role.Response && flip.refused >= ENOUGH_REFUSALS && peer.requester.nextPsn === flip.nextPsn) {
    return {
      severity: flip.refused >= SURE_REFUSALS ? 'error' : 'warning',
      words: `Since then ${peer.address} has sent PSN ${flip.refusedPsn} again after each of ${flip.refused} timeouts and nothing new, though it was answered each time: it drops the answers.`,
      tries: flip.refused,
      frames: flip.refusedFrames.frames,
    };
  }
  const moved = own.sourcePorts.length > 1 ? ' Its UDP source port changed too, as it does with another path.' : '';
  return { severity: 'note', words: `Nothing that follows shows that this did harm.${moved}`, tries: 0, frames: [] };
}

function silent(silence: Failure, peer: EndReport): Verdict | undefined {
  if (!silence.gaveUp && silence.tries < SURE_TRIES) return undefined;
  return {
    severity: silence.gaveUp ? 'error' : 'warning',
    words:
      `From that packet on ${peer.address} answered nothing, and everything before: PSN ${silence.psn} was sent ` +
      `${times(silence.tries)}${silence.gaveUp ? ', and then the requester gave up' : ', and the capture ends while it is still tried'}.`,
    tries: silence.tries,
    frames: silence.frames.frames,
  };
}

function report(
  context: DetectorContext,
  conversations: readonly ConversationReport[],
  own: EndReport,
  flips: FrameList,
  { severity, words, tries, frames }: Verdict,
): void {
  const changes = flips.count === 1 ? '' : ` (${times(flips.count)} in all)`;
  context.report({
    severity,
    text: `The MigReq bit of ${own.address} (${qpName(own.qpn)}) changed to ${own.migReq} in frame ${own.migReqFrame}${changes}. ${words}`,
    frames: mergedFrames([flips.frames.slice(0, FRAMES_OF_FLIPS), frames]),
    frameCount: flips.count + frames.length,
    conversations: conversations.map(({ id }) => id),
    ...(severity === 'note' ? HARMLESS : {}),
    evidence: { host: own.address, migReq: own.migReq, frame: own.migReqFrame, changes: flips.count, tries },
  });
}

/** An end that goes on from, or to, other addresses. */
interface Move {
  readonly from: ConversationReport;
  readonly to: ConversationReport;
  readonly before: EndReport;
  readonly after: EndReport;
  readonly peer: EndReport;
}

/** The same two queue pairs and the same host, later, between other addresses, with PSNs that go on. */
function migrations({ conversations }: DetectorContext): Move[] {
  const byPair = new Map<string, ConversationReport>();
  const moves: Move[] = [];
  for (const to of conversations) {
    if (to.sameAs !== 0) continue;
    for (const end of [0, 1] as const) {
      const [after, peer] = end === 0 ? to.ends : [to.ends[1], to.ends[0]];
      const key = `${after.mac} ${after.migReq === 1 ? 0 : 1} ${peer.qpn}`;
      const from = byPair.get(key);
      const before = from?.ends.find(({ mac, requester }) => mac === after.mac && isGoingOn(requester, after));
      if (from === undefined || before === undefined || after.packets === 0 || before.address === after.address)
        continue;
      moves.push({ from, to, before, after, peer });
      break;
    }
    for (const end of [0, 1] as const) {
      const [own, peer] = end === 0 ? to.ends : [to.ends[1], to.ends[0]];
      if (own.mac !== '' && own.migReq >= 0 && peer.qpn >= 0) byPair.set(`${own.mac} ${own.migReq} ${peer.qpn}`, to);
    }
  }
  return moves;
}

function isGoingOn({ nextPsn }: EndReport['requester'], { requester: { firstPsn } }: EndReport): boolean {
  return firstPsn >= 0 && nextPsn >= 0 && Math.abs(psnDiff(firstPsn, nextPsn)) <= MOST_OUTSTANDING;
}

function reportMove(context: DetectorContext, move: Move, silences: readonly Failure[]): void {
  const { from, to, before, after, peer } = move;
  const silence = silences.find(({ conversation }) => conversation.id === to.id);
  const refused = answersTo(after) > 0 || silence === undefined ? undefined : silent(silence, peer);
  context.report({
    severity: refused?.severity ?? 'note',
    text:
      `${before.address} migrated: from frame ${to.firstFrame} on its requests to ${qpName(peer.qpn)} come from ${after.address} and go to ` +
      `${peer.address}, with MigReq ${after.migReq} and not ${before.migReq}. ${refused?.words ?? 'The connection went on there.'}`,
    frames: mergedFrames([[to.firstFrame], refused?.frames ?? []]),
    frameCount: 1 + (refused?.frames.length ?? 0),
    conversations: [from.id, to.id],
    ...(refused === undefined ? HARMLESS : {}),
    evidence: {
      host: before.address,
      newAddress: after.address,
      migReq: after.migReq,
      frame: to.firstFrame,
      tries: refused?.tries ?? 0,
    },
  });
}

function isEnd(one: EndReport, other: EndReport): boolean {
  return one.address === other.address && one.qpn === other.qpn;
}

/** It is the cause of nothing else. */
const HARMLESS = { explains: ['rule/mig-req', 'rule/source-port'] };
const NEW = { frame: 0, psn: -1, role: Role.None, repeated: false, refused: 0, refusedPsn: -1, nextPsn: -1 };
/** Tries after which a silence is one even if the capture ends. */
const SURE_TRIES = 4;
const ENOUGH_REFUSALS = 3;
/** The largest retry count. */
const SURE_REFUSALS = 7;
/** Packets that a requester may have outstanding, at most, for PSNs to go on. */
const MOST_OUTSTANDING = 4096;
const FRAMES_OF_FLIPS = 4;
const MOST_FLIPS = 4096;
const MOST_FINDINGS = 20;
