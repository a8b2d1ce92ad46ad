/**
 * Symptom: small messages work and large ones fail, because the ends or the path do not agree on the MTU.
 *
 * Owns four findings, best evidence first. For each pair of hosts only the first one found is reported:
 * - ICMP "fragmentation needed" or ICMPv6 "packet too big" about a RoCE packet: an error;
 * - fragments of RoCE packets, which no adapter reassembles: an error;
 * - the ends differ: FIRST and MIDDLE packets of the two directions have payloads of two sizes, each constant, at least
 *   two packets of each. They carry exactly the path MTU (ref:wire#8), and a receiver with another one refuses them: an
 *   error when anything was refused, lost, or retransmitted without an answer, otherwise a warning;
 * - a black hole: packets of more than 1,500 bytes of IP were sent three times or more and none was ever answered,
 *   while at least four smaller ones of the same end were: an error. An end that died at that moment looks the same,
 *   and the text mentions it.
 * Rules: ref:analyzer#1 row 11, ref:wire#8, ref:rxe#7.
 */

import { FrameStatus } from '../../../packets/frame.ts';
import { OpFlag } from '../../../packets/opcode.ts';
import { IcrcState } from '../../dissection.ts';
import type { Detector, DetectorContext, Symptom } from '../detector.ts';
import { Mark, type PacketFacts, Role } from '../facts.ts';
import { PacketKind, REQUEST_KINDS } from '../packet-kind.ts';
import type { ConversationReport, EndReport } from '../types.ts';
import { FrameList, mergedFrames } from './frame-list.ts';
import { fragmentLength, fragmentPair, isRoceFragment, type PacketTooBig, tooBigNotice } from './mtu-notices.ts';
import { counted, grouped, qpName, times } from './words.ts';

export const MTU_MISMATCH: Symptom = {
  id: 'mtu-mismatch',
  row: 11,
  title: 'MTU mismatch',
  complaint: 'Messages up to 1024 bytes work, larger ones fail or hang; status 12 or 9.',
  about:
    'The first and middle packets of a long message carry exactly the path MTU, so both ends have to be set to the same one: a receiver drops or refuses ' +
    'packets of another size. A path MTU of 4096 needs interfaces and switches that let about 4200 bytes pass. RoCE packets are never fragmented: ' +
    'what does not fit is lost, and only sometimes a router reports it.',
  advice: [
    'Set the same MTU on both interfaces and on every switch between them: 4200 and more for a path MTU of 4096, 1500 gives 1024.',
    'Use the smaller path MTU on both ends: -m of perftest and of the pingpong programs, path_mtu of the queue pair.',
  ],
  commands: ['ip link show DEV', 'ibv_devinfo -v | grep mtu', 'ping -M do -s 4172 PEER', 'rdma resource show qp'],
  explains: ['retry-exceeded', 'no-reply', 'remote-invalid-request'],
  make: () => new MtuMismatch(),
};

/** Payloads of FIRST and MIDDLE packets of one end, and how its long and short packets fared. */
class PayloadSizes {
  payload = 0;
  same = true;
  readonly frames = new FrameList();
  /** IP length of the largest packet that was answered. */
  answered = 0;
  answeredPackets = 0;
  /** Packets beyond the limit, all unanswered: the first PSN of them, how often it was sent, and its length. */
  hopelessPsn = Number.NaN;
  hopelessSent = 0;
  hopelessLength = 0;
  readonly hopeless = new FrameList();
  /** IP lengths of what waits for an answer: the highest PSN of a short packet, and its length. */
  waitingPsn = Number.NEGATIVE_INFINITY;
  waitingLength = 0;

  full(payload: number, frame: number): void {
    if (this.payload !== 0 && this.payload !== payload) this.same = false;
    this.payload = payload;
    this.frames.add(frame);
  }

  sent(psn: number, length: number, frame: number): void {
    if (length <= COMMON_MTU) {
      if (psn > this.waitingPsn) this.waitingPsn = psn;
      this.waitingLength = Math.max(this.waitingLength, length);
      return;
    }
    if (Number.isNaN(this.hopelessPsn)) this.hopelessPsn = psn;
    if (psn !== this.hopelessPsn) return;
    this.hopelessSent++;
    this.hopelessLength = length;
    this.hopeless.add(frame);
  }

  /** Anything from the other end about a PSN, good or bad. */
  answer(psn: number): void {
    if (psn >= this.hopelessPsn) {
      this.hopelessPsn = Number.POSITIVE_INFINITY;
      this.hopelessSent = 0;
      return;
    }
    this.answeredPackets++;
    this.answered = Math.max(this.answered, this.waitingLength);
  }
}

class MtuMismatch implements Detector {
  readonly interest = PacketKind.Other | REQUEST_KINDS | PacketKind.Answer | PacketKind.Ack;
  readonly #notices = new Map<string, { readonly notice: PacketTooBig; readonly frames: FrameList }>();
  readonly #fragments = new Map<string, { readonly frames: FrameList; longest: number }>();
  /** By 2 * conversation + end. */
  readonly #sizes: (PayloadSizes | undefined)[] = [];

  packet(facts: PacketFacts): void {
    const { dissection, conversation, packet, role, sender, requester, icrc, relativePsn, marks } = facts;
    const { frame, status } = dissection;
    if (status !== FrameStatus.Ok) {
      if (status === FrameStatus.NotUdp || status === FrameStatus.Fragment) this.#notice(facts);
      return;
    }
    if (conversation === undefined || icrc === IcrcState.Bad) return;
    if (role === Role.Request) {
      const sizes = this.#of(conversation.id, sender);
      if ((frame.flags & FULL) !== 0) sizes.full(frame.payloadLength, packet.number);
      if ((marks & Mark.Copy) === 0) sizes.sent(relativePsn, frame.ipEnd - frame.ipOffset, packet.number);
    } else if (role === Role.Response) {
      if ((frame.flags & FULL) !== 0) this.#of(conversation.id, sender).full(frame.payloadLength, packet.number);
      this.#of(conversation.id, requester).answer(relativePsn);
    }
  }

  finish(context: DetectorContext): void {
    const told = new Set<string>();
    this.#reportNotices(context, told);
    this.#reportFragments(context, told);
    this.#reportEnds(context, told);
  }

  #notice({ dissection: { frame, status }, packet }: PacketFacts): void {
    const notice = tooBigNotice(frame, status);
    if (notice !== undefined) {
      const key = `${notice.source} ${notice.destination}`;
      const known = this.#notices.get(key) ?? { notice, frames: new FrameList() };
      known.frames.add(packet.number);
      if (this.#notices.size < MOST_PAIRS) this.#notices.set(key, known);
    } else if (isRoceFragment(frame, status)) {
      const key = fragmentPair(frame);
      const known = this.#fragments.get(key) ?? { frames: new FrameList(), longest: 0 };
      known.frames.add(packet.number);
      known.longest = Math.max(known.longest, fragmentLength(frame));
      if (this.#fragments.size < MOST_PAIRS) this.#fragments.set(key, known);
    }
  }

  #of(conversation: number, end: 0 | 1): PayloadSizes {
    const index = 2 * conversation + end;
    const known = this.#sizes[index];
    if (known !== undefined) return known;
    const made = new PayloadSizes();
    this.#sizes[index] = made;
    return made;
  }

  #reportNotices(context: DetectorContext, told: Set<string>): void {
    for (const [pair, { notice, frames }] of this.#notices) {
      const { reporter, source, destination, mtu, length } = notice;
      told.add(pair);
      context.report({
        severity: 'error',
        text: `${reporter} reported ${times(frames.count)} that RoCE packets of ${source} to ${destination} do not fit${mtu > 0 ? `: ${grouped(length)} bytes of IP, and ${grouped(mtu)} is the limit there` : ''}.`,
        frames: frames.frames,
        frameCount: frames.count,
        conversations: conversationsOf(context, pair),
        evidence: {
          sign: 'icmp',
          reporter,
          source,
          destination,
          limitBytes: mtu,
          packetBytes: length,
          messages: frames.count,
        },
      });
    }
  }

  #reportFragments(context: DetectorContext, told: Set<string>): void {
    for (const [pair, { frames, longest }] of this.#fragments) {
      if (told.has(pair)) continue;
      told.add(pair);
      const [source = '', destination = ''] = pair.split(' ');
      context.report({
        severity: 'error',
        text: `${counted(frames.count, 'RoCE packet')} of ${source} to ${destination} ${frames.count === 1 ? 'was' : 'were'} cut into IP fragments of up to ${grouped(longest)} bytes; adapters put none together.`,
        frames: frames.frames,
        frameCount: frames.count,
        conversations: conversationsOf(context, pair),
        evidence: { sign: 'fragments', source, destination, packets: frames.count, fragmentBytes: longest },
      });
    }
  }

  #reportEnds(context: DetectorContext, told: Set<string>): void {
    for (const conversation of context.conversations) {
      const { id, ends, sameAs } = conversation;
      const sizes = [this.#sizes[2 * id], this.#sizes[2 * id + 1]] as const;
      const pair = ends
        .map(({ address }) => address)
        .sort()
        .join(' ');
      if (
        told.has(pair) ||
        told.has(`${ends[0].address} ${ends[1].address}`) ||
        told.has(`${ends[1].address} ${ends[0].address}`)
      )
        continue;
      if (sameAs === 0 && reportDifference(context, conversation, sizes)) told.add(pair);
      else
        for (const end of [0, 1] as const) if (reportBlackHole(context, conversation, end, sizes[end])) told.add(pair);
    }
  }
}

function reportDifference(
  context: DetectorContext,
  { id, ends, cm }: ConversationReport,
  [a, b]: readonly [PayloadSizes | undefined, PayloadSizes | undefined],
): boolean {
  if (a === undefined || b === undefined || !a.same || !b.same || a.payload === b.payload) return false;
  if (a.frames.count < ENOUGH_FULL || b.frames.count < ENOUGH_FULL) return false;
  const fails = ends.some(isFailing);
  const agreed = cm === undefined ? '' : ` The connection managers agreed on ${grouped(cm.pathMtu)}.`;
  context.report({
    severity: fails ? 'error' : 'warning',
    text: `${ends[0].address} sends long messages in packets of ${grouped(a.payload)} bytes and ${ends[1].address} in packets of ${grouped(b.payload)}: their path MTUs differ${fails ? ', and such packets are refused or lost' : ''}.${agreed}`,
    frames: mergedFrames([a.frames.frames.slice(0, 10), b.frames.frames.slice(0, 10)]),
    frameCount: a.frames.count + b.frames.count,
    conversations: [id],
    evidence: {
      sign: 'ends',
      pathMtus: [a.payload, b.payload],
      agreed: cm?.pathMtu ?? 0,
      failing: fails ? 'yes' : 'no',
    },
  });
  return true;
}

function reportBlackHole(
  context: DetectorContext,
  { id, ends, sameAs }: ConversationReport,
  end: 0 | 1,
  sizes: PayloadSizes | undefined,
): boolean {
  if (sizes === undefined || sizes.hopelessSent < ENOUGH_REPEATS || sizes.answeredPackets < ENOUGH_ANSWERS)
    return false;
  const { hopelessSent, hopelessLength, answered, answeredPackets, hopeless } = sizes;
  const [sender, receiver] = [ends[end], ends[end === 0 ? 1 : 0]];
  context.report({
    severity: 'error',
    text: `The first packet of ${grouped(hopelessLength)} bytes that ${sender.address} (${qpName(sender.qpn)}) sent to ${receiver.address} was sent ${times(hopelessSent)} without any answer, while ${counted(answeredPackets, 'answer')} came to packets of up to ${grouped(answered)} bytes: either the path lets no such packet pass, or ${receiver.address} died just then.`,
    frames: hopeless.frames,
    frameCount: hopeless.count,
    conversations: sameAs === 0 ? [id] : [sameAs, id],
    evidence: {
      sign: 'black-hole',
      packetBytes: hopelessLength,
      sent: hopelessSent,
      answeredBytes: answered,
      answers: answeredPackets,
    },
  });
  return true;
}

function isFailing({ requester }: EndReport): boolean {
  const naks = Object.values(requester.naks).reduce((sum, count) => sum + count, 0);
  return naks > 0 || requester.timeouts > 0 || requester.retransmittedPackets > 0 || requester.lostPackets > 0;
}

/** Both directions, as either may be quoted. */
function conversationsOf({ conversations }: DetectorContext, pair: string): number[] {
  return conversations
    .filter(({ ends: [a, b] }) => pair === `${a.address} ${b.address}` || pair === `${b.address} ${a.address}`)
    .map(({ id }) => id)
    .slice(0, MOST_PAIRS);
}

const FULL = OpFlag.First | OpFlag.Middle;
/** IP packets of this many bytes pass nearly everywhere. */
const COMMON_MTU = 1500;
const ENOUGH_FULL = 2;
const ENOUGH_REPEATS = 3;
const ENOUGH_ANSWERS = 4;
const MOST_PAIRS = 64;
