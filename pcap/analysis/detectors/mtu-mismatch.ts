/**
 * Symptom: small messages work and large ones fail, because the ends or the path do not agree on the MTU.
 *
 * Owns four findings, best evidence first. For each pair of hosts only the first one found is reported:
 * - ICMP "fragmentation needed" or ICMPv6 "packet too big" about a RoCE packet: an error;
 * - fragments of RoCE packets, which no adapter reassembles: an error; a warning where they are acknowledged, as the
 *   host of a software stack puts them together;
 * - the ends differ: FIRST and MIDDLE packets of the two directions have payloads of two sizes, each constant, at least
 *   two packets of each. They carry exactly the path MTU (ref:wire#8), and a receiver with another one refuses them: an
 *   error when anything was refused, lost, or retransmitted without an answer, otherwise a warning;
 * - a black hole (`black-hole.ts`): full packets never arrive, while shorter ones do: an error. An end that died at
 *   that moment may look the same, and the text mentions it then.
 * Rules: ref:analyzer#1 row 11, ref:wire#8, ref:rxe#7.
 */

import { type Frame, FrameStatus, frameDestination, frameSource } from '../../../packets/frame.ts';
import { OpFlag } from '../../../packets/opcode.ts';
import { IcrcState } from '../../dissection.ts';
import type { Detector, DetectorContext, Symptom } from '../detector.ts';
import { Mark, type PacketFacts, Role } from '../facts.ts';
import { PacketKind, REQUEST_KINDS } from '../packet-kind.ts';
import type { ConversationReport, EndReport } from '../types.ts';
import { AskedPsns, isGoodAnswer } from './asked-psns.ts';
import { LongPackets } from './black-hole.ts';
import { groupOf } from './failures.ts';
import { FrameList, mergedFrames } from './frame-list.ts';
import { type IcmpError, icmpError } from './icmp-error.ts';
import type { BlackHole } from './late-hole.ts';
import { fragmentLength, fragmentPair, fragmentPsn, isRoceFragment } from './roce-fragments.ts';
import { counted, grouped, times } from './words.ts';

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
  explains: ['retry-exceeded', 'no-reply', 'remote-invalid-request', 'sequence-error', 'implied-nak'],
  make: () => new MtuMismatch(),
};

/** Payloads of FIRST and MIDDLE packets of one end, and how its long and short packets fared. */
class PayloadSizes {
  payload = 0;
  same = true;
  readonly frames = new FrameList();
  readonly requests = new LongPackets();
  readonly responses = new LongPackets();

  full(payload: number, frame: number): void {
    if (this.payload !== 0 && this.payload !== payload) this.same = false;
    this.payload = payload;
    this.frames.add(frame);
  }
}

class Fragments {
  readonly frames = new FrameList();
  longest = 0;
  readonly requests = new AskedPsns();

  add(frame: Frame, number: number): void {
    this.frames.add(number);
    this.longest = Math.max(this.longest, fragmentLength(frame));
    const psn = fragmentPsn(frame);
    if (psn >= 0) this.requests.asked(psn);
  }
}

class MtuMismatch implements Detector {
  readonly interest = PacketKind.Other | REQUEST_KINDS | PacketKind.Answer | PacketKind.Ack;
  readonly #notices = new Map<string, { readonly notice: IcmpError; readonly frames: FrameList }>();
  readonly #fragments = new Map<string, Fragments>();
  /** By 2 * conversation + end. */
  readonly #sizes: (PayloadSizes | undefined)[] = [];

  packet(facts: PacketFacts): void {
    const { dissection, conversation, packet, role, sender, requester, icrc, marks } = facts;
    const { frame, status } = dissection;
    if (status !== FrameStatus.Ok) {
      if (status === FrameStatus.NotUdp || status === FrameStatus.Fragment) this.#notice(facts);
      return;
    }
    if (conversation === undefined || icrc === IcrcState.Bad) return;
    if (role !== Role.Request && role !== Role.Response) return;
    if (this.#fragments.size > 0 && isGoodAnswer(frame))
      this.#fragments.get(`${frameDestination(frame)} ${frameSource(frame)}`)?.requests.answered(frame.psn);
    const sizes = this.#of(conversation.id, sender);
    if ((frame.flags & FULL) !== 0) sizes.full(frame.payloadLength, packet.number);
    if (role === Role.Response) this.#of(conversation.id, requester).requests.answer(facts);
    if ((marks & Mark.Copy) !== 0) return;
    if (role === Role.Request) sizes.requests.sent(facts);
    else if ((frame.flags & OpFlag.ReadResponse) !== 0) sizes.responses.responded(facts);
  }

  finish(context: DetectorContext): void {
    const told = new Set<string>();
    this.#reportNotices(context, told);
    this.#reportFragments(context, told);
    this.#reportEnds(context, told);
  }

  #notice({ dissection, packet }: PacketFacts): void {
    const { frame, status } = dissection;
    const notice = icmpError(dissection);
    if (notice !== undefined) {
      if (notice.kind !== 'too-big') return;
      const key = `${notice.source} ${notice.destination}`;
      const known = this.#notices.get(key) ?? { notice, frames: new FrameList() };
      known.frames.add(packet.number);
      if (this.#notices.size < MOST_PAIRS) this.#notices.set(key, known);
    } else if (isRoceFragment(frame, status)) {
      const key = fragmentPair(frame);
      const known = this.#fragments.get(key) ?? new Fragments();
      known.add(frame, packet.number);
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
        text: `By ICMP ${reporter} reported ${times(frames.count)} that RoCE packets of ${source} to ${destination} do not fit${mtu > 0 ? `: ${grouped(length)} bytes of IP, and ${grouped(mtu)} is the limit there` : ''}.`,
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
        restsOn: [],
      });
    }
  }

  #reportFragments(context: DetectorContext, told: Set<string>): void {
    for (const [pair, { frames, longest, requests }] of this.#fragments) {
      if (told.has(pair)) continue;
      told.add(pair);
      const [source = '', destination = ''] = pair.split(' ');
      const accepted = requests.acknowledged >= ENOUGH_ANSWERS;
      const effect = accepted
        ? `, and they are acknowledged: something puts them together, as the host of a software stack does; adapters put none together`
        : '; adapters put none together';
      context.report({
        severity: accepted ? 'warning' : 'error',
        text: `${counted(frames.count, 'RoCE packet')} of ${source} to ${destination} ${frames.count === 1 ? 'was' : 'were'} cut into IP fragments of up to ${grouped(longest)} bytes${effect}.`,
        frames: frames.frames,
        frameCount: frames.count,
        conversations: conversationsOf(context, pair),
        evidence: {
          sign: 'fragments',
          source,
          destination,
          packets: frames.count,
          fragmentBytes: longest,
          acknowledged: requests.acknowledged,
        },
        restsOn: [],
      });
    }
  }

  #reportEnds(context: DetectorContext, told: Set<string>): void {
    const holes = new Map<string, { readonly hole: BlackHole; readonly conversations: number[] }>();
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
      if (sameAs === 0 && reportDifference(context, conversation, sizes)) {
        told.add(pair);
        continue;
      }
      const hole = holeOf(ends, sizes);
      const known = holes.get(pair);
      if (hole === undefined) continue;
      if (known !== undefined) known.conversations.push(groupOf(conversation));
      else holes.set(pair, { hole, conversations: [groupOf(conversation)] });
    }
    for (const [pair, each] of holes) if (!told.has(pair)) reportBlackHole(context, each.hole, each.conversations);
  }
}

/** The first there is: requests of either end, READ responses of either end. */
function holeOf(
  [one, other]: ConversationReport['ends'],
  [ofOne, ofOther]: readonly [PayloadSizes | undefined, PayloadSizes | undefined],
): BlackHole | undefined {
  return (
    ofOne?.requests.requestHole(one, other) ??
    ofOther?.requests.requestHole(other, one) ??
    ofOne?.responses.responseHole(one, other) ??
    ofOther?.responses.responseHole(other, one)
  );
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

/** @param groups conversations, each whatever the vantage points that show it */
function reportBlackHole(context: DetectorContext, hole: BlackHole, groups: readonly number[]): void {
  const { text, frames, evidence } = hole;
  context.report({
    severity: 'error',
    text,
    frames: frames.frames,
    frameCount: frames.count,
    conversations: context.conversations.filter((each) => groups.includes(groupOf(each))).map(({ id }) => id),
    evidence,
  });
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
const ENOUGH_FULL = 2;
const ENOUGH_ANSWERS = 2;
const MOST_PAIRS = 64;
