/**
 * Symptom: two queue pairs were connected with starting PSNs that do not match.
 *
 * Owns one finding for each two hosts. The first requests of a connection are never acknowledged, and
 * - the responder sends sequence NAKs that all ask for one PSN (one is enough: it asks once), or at least two ACKs that
 *   all repeat the one before it, and that PSN is far from those of the requests: they are ahead of what it expects, or
 *   behind it and taken for duplicates; or
 * - connection management announced another PSN than the one that they begin with.
 * Where the requests are ahead of the capture's beginning, or lost, the responder asks for a PSN near by. Answers
 * without requests alone prove nothing: the capture may have one direction only. Rules: ref:wire#8 (PSN), ref:rxe#7.
 */
import { AETH_AT } from '../../../packets/opcode.ts';
import { PSN_MASK, psnDiff } from '../../../packets/psn.ts';
import type { Detector, DetectorContext, Symptom } from '../detector.ts';
import { Mark, type PacketFacts, Role } from '../facts.ts';
import { PacketKind } from '../packet-kind.ts';
import type { ConversationReport, EndReport, TransportEvent } from '../types.ts';
import { endsOf, type Failure, FailureWatch } from './failures.ts';
import { FrameList, mergedFrames } from './frame-list.ts';
import { counted, duration, qpName, times } from './words.ts';

export const WRONG_STARTING_PSN: Symptom = {
  id: 'wrong-starting-psn',
  row: 0,
  title: 'Starting PSNs that do not match',
  complaint:
    'Completion status 12 with the first requests of a connection, though every packet arrives and is answered.',
  about:
    'Each end tells the other the PSN that it begins with (sq_psn), and the other expects that one (rq_psn). A program that connects its queue pairs by hand ' +
    'exchanges them itself. If it swaps the two, cuts one off, or forgets the byte order, the responder sees requests far ahead, and asks for the one it ' +
    'expects again and again; or far behind, which it takes for duplicates and drops. The requester ignores answers to what it never sent.',
  advice: [
    'Give ibv_modify_qp to RTR the sq_psn of the peer as rq_psn, and to RTS the own one as sq_psn.',
    'Exchange PSNs as 24 bits, in one byte order, and both values in one message.',
  ],
  commands: [
    'rdma resource show qp',
    'rdma statistic show link DEV/1',
    "roce dump FILE 'nak or retransmission' --ladder",
  ],
  explains: ['no-reply', 'retry-exceeded', 'first-error', 'sequence-error', 'duplicate-requests', 'peer-restarted'],
  make: () => new WrongStartingPsn(),
};

/** Answers to one queue pair that fit none of its requests: all name the same PSN. */
interface StrayAnswers {
  readonly conversation: number;
  readonly requester: 0 | 1;
  /** The PSN that the responder expects. */
  readonly expected: number;
  nak: boolean;
  readonly frames: FrameList;
}

class WrongStartingPsn implements Detector {
  readonly #failures = new FailureWatch();
  /** By 2 * conversation + requester; `NONE` where the answers go on, as they should. */
  readonly #strays: (StrayAnswers | undefined)[] = [];

  get interest(): number {
    return this.#failures.interest | PacketKind.Ack;
  }

  event(event: TransportEvent): void {
    this.#failures.event(event);
  }

  packet(facts: PacketFacts): void {
    this.#failures.packet(facts);
    const { conversation, role, marks } = facts;
    if (conversation === undefined || role !== Role.Response || (marks & Mark.BadIcrc) !== 0) return;
    this.#answer(facts, conversation);
  }

  finish(context: DetectorContext): void {
    const failures = this.#failures.finish(context).filter(({ kind }) => kind === 'silence');
    const strays = new Map<number, StrayAnswers>();
    this.#strays.forEach((stray, index) => {
      if (stray !== NONE && stray !== undefined) strays.set(index, stray);
    });
    const found = failures.flatMap((failure) => this.#startOf(context, failure, strays) ?? []);
    const groups = new Map<string, WrongStart[]>();
    for (const start of found) {
      const key = [start.from.address, start.to.address].sort().join(' ');
      groups.set(key, [...(groups.get(key) ?? []), start]);
    }
    for (const group of [...groups.values()].slice(0, MOST_FINDINGS)) report(context, group);
  }

  #answer({ requester, packet, dissection: { frame } }: PacketFacts, { id }: ConversationReport): void {
    const at = AETH_AT[frame.opcode] ?? -1;
    const syndrome = at < 0 ? -1 : frame.view.getUint8(frame.bthOffset + at);
    const nak = syndrome === SEQUENCE_ERROR;
    if (!nak && (syndrome < 0 || syndrome > CREDITS_MASK)) return;
    const expected = nak ? frame.psn : (frame.psn + 1) & PSN_MASK;
    const index = 2 * id + requester;
    const known = this.#strays[index];
    if (known === NONE) return;
    const stray = known ?? { conversation: id, requester, expected, nak, frames: new FrameList() };
    stray.nak &&= nak;
    stray.frames.add(packet.number);
    this.#strays[index] = stray.expected === expected ? stray : NONE;
  }

  #startOf(context: DetectorContext, failure: Failure, strays: Map<number, StrayAnswers>): WrongStart | undefined {
    const { conversation, requester } = failure;
    const used = failure.psn;
    const [from, to] = endsOf(failure);
    const own = strays.get(2 * conversation.id + requester);
    const { acks, responses, rnrNaks, firstPsn } = from.requester;
    // Answered as it should be.
    if (responses.packets > 0 || rnrNaks > 0 || acks > (own?.frames.count ?? 0)) return undefined;
    const announced = conversation.cm === undefined ? -1 : firstPsn;
    const stray = own ?? takeStray(context, strays, failure);
    if (stray !== undefined && stray.frames.count < (stray.nak ? 1 : ENOUGH_ACKS)) return undefined;
    if (stray === undefined && announced < 0) return undefined;
    const expected = stray?.expected ?? announced;
    if (Math.abs(psnDiff(expected, used)) <= NEAR) return undefined;
    const other = stray === undefined || stray === own ? [] : [stray.conversation];
    return { conversations: [conversation.id, ...other], from, to, used, expected, announced, stray, failure };
  }
}

interface WrongStart {
  readonly conversations: readonly number[];
  readonly from: EndReport;
  readonly to: EndReport;
  readonly used: number;
  readonly expected: number;
  /** By connection management; -1: not known. */
  readonly announced: number;
  readonly stray: StrayAnswers | undefined;
  readonly failure: Failure;
}

/** Answers to another queue pair of the requester, of which nothing else was seen, between its tries. */
function takeStray(
  { conversation }: DetectorContext,
  strays: Map<number, StrayAnswers>,
  failure: Failure,
): StrayAnswers | undefined {
  const [from, to] = endsOf(failure);
  const since = failure.frames.frames[0] ?? 0;
  for (const [index, stray] of strays) {
    const whole = conversation(stray.conversation);
    const end = whole?.ends[stray.requester];
    const peer = whole?.ends[stray.requester === 0 ? 1 : 0];
    if (end?.address !== from.address || peer?.address !== to.address || end.requester.packets > 0) continue;
    if (whole?.interfaceIndex !== failure.conversation.interfaceIndex || whole.id === failure.conversation.id) continue;
    if (from.qpn >= 0 && from.qpn !== end.qpn) continue;
    const [first = 0] = stray.frames.frames;
    if (first < since) continue;
    strays.delete(index);
    return stray;
  }
  return undefined;
}

function report(context: DetectorContext, group: readonly WrongStart[]): void {
  const [first] = group;
  if (first === undefined) return;
  const { from, to, used, expected, announced, stray, failure } = first;
  const clue = clueOf(context, first);
  const answers =
    stray === undefined
      ? 'and there is no answer'
      : `and ${to.address} answers ${times(stray.frames.count)} with ${stray.nak ? 'a sequence NAK for' : 'an ACK that expects'} PSN ${expected}`;
  const rest =
    group.length === 1
      ? ''
      : ` ${counted(group.length - 1, 'more direction or connection', 'more directions or connections')} between these hosts began so.`;
  context.report({
    severity: group.some((start) => start.announced >= 0 || start.failure.gaveUp) ? 'error' : 'warning',
    text:
      `${from.address} begins with PSN ${used} towards ${qpName(to.qpn)} of ${to.address}, ${answers}` +
      `${announced >= 0 ? `; connection management announced PSN ${announced}` : ''}` +
      `; the request was sent ${times(failure.tries)} in ${duration(failure.lastNs - failure.firstNs)}. ` +
      `The starting PSNs of the two ends do not match${clue}.${rest}`,
    frames: mergedFrames(group.map((start) => [...start.failure.frames.frames, ...(start.stray?.frames.frames ?? [])])),
    frameCount: group.reduce((sum, start) => sum + start.failure.frames.count + (start.stray?.frames.count ?? 0), 0),
    conversations: [...new Set(group.flatMap(({ conversations }) => conversations))],
    evidence: {
      usedPsn: used,
      expectedPsn: expected,
      ...(announced >= 0 ? { announcedPsn: announced } : {}),
      answers: stray?.frames.count ?? 0,
      tries: failure.tries,
      connections: group.length,
    },
  });
}

/** How the one may have been made of the other; empty where nothing fits. */
function clueOf({ conversations }: DetectorContext, { from, to, used, expected }: WrongStart): string {
  for (const { ends } of conversations) {
    for (const side of [0, 1] as const) {
      const [asking, asked] = side === 0 ? ends : [ends[1], ends[0]];
      const own = asking.address === to.address && asked.address === from.address ? asking.requester.firstPsn : -1;
      if (own >= 0 && own === expected)
        return `: ${expected} is the one that ${to.address} itself begins with, so the two were swapped`;
      if (own >= 0 && own === used)
        return `: ${used} is the one that ${to.address} begins with, so the two were swapped`;
    }
  }
  if ((used & 0xff_ff) === (expected & 0xff_ff)) return ': they agree in the lower 16 bits, so one was cut off';
  const turned = turnedOver(used) === expected || (turnedOver(used << 8) & PSN_MASK) === expected;
  if (turned || (turnedOver(expected << 8) & PSN_MASK) === used) return ': one is the other with its bytes turned over';
  return '';
}

/** The three bytes of a PSN in the other order; of a number of four bytes likewise the lower three. */
function turnedOver(value: number): number {
  return ((value & 0xff) << 16) | (value & 0xff_00) | ((value >>> 16) & 0xff);
}

const SEQUENCE_ERROR = 0x60;
const CREDITS_MASK = 0x1f;
/** The first requests may be lost, or come before the capture. */
const NEAR = 1024;
/** Of one connection alone, which an ACK of what came before the capture looks like. */
const ENOUGH_ACKS = 2;
/** Answers of which not all name the same PSN. */
const NONE: StrayAnswers = { conversation: 0, requester: 0, expected: -1, nak: false, frames: new FrameList() };
const MOST_FINDINGS = 20;
