/**
 * Symptom: a host comes back with new queue pairs, and its peers do not know.
 *
 * Owns one finding for each host that came back, or for each two hosts:
 * - an error where a requester goes on sending to a queue pair that answered before and has fallen silent, while its
 *   host begins with others: it asked for a connection itself, or all that it had before fell silent. A host that still
 *   sends on what it had before has not restarted. A program that has given up and connects again is no restart either;
 * - where the same queue pair numbers come again (`previousLife`), a warning if requests of the life before were never
 *   answered, and otherwise a note. After a disconnect (DREQ) or a NAK that ended it there is nothing to report.
 */
import { Syndrome } from '../../../packets/aeth.ts';
import type { Detector, DetectorContext, Symptom } from '../detector.ts';
import { nakName } from '../event-text.ts';
import { type PacketFacts, Role } from '../facts.ts';
import { PacketKind } from '../packet-kind.ts';
import type { ConversationReport, EndReport, TransportEvent } from '../types.ts';
import { mayShareNetwork } from './disconnected-queue-pairs.ts';
import { endsOf, type Failure, FailureWatch, groupOf, wasAnswered } from './failures.ts';
import { mergedFrames } from './frame-list.ts';
import { counted, duration, qpName, times } from './words.ts';

export const PEER_RESTARTED: Symptom = {
  id: 'peer-restarted',
  row: 0,
  title: 'The peer has restarted',
  complaint:
    'Completion status 12 after traffic had flowed, while the other host is up and works with new connections.',
  about:
    'A process or a host that restarts loses its queue pairs without a word: no DREQ, and nobody who answers. What its peers still send goes to numbers that ' +
    'no longer exist, and is dropped, until their retries are used up. Meanwhile the host makes new queue pairs, with other numbers and PSNs, or with the ' +
    'same numbers and other PSNs.',
  advice: [
    'Find out why the process or the host restarted: its log, core dumps, uptime.',
    'Let the application notice sooner: keepalives, a TCP connection beside, a shorter ACK timeout; and destroy the old queue pair when the peer asks anew.',
  ],
  commands: ['uptime', 'journalctl -b | tail', 'rdma resource show qp', 'rdma statistic show link DEV/1'],
  explains: ['retry-exceeded', 'no-reply', 'first-error'],
  make: () => new PeerRestarted(),
};

class PeerRestarted implements Detector {
  readonly #failures = new FailureWatch();
  /**
   * When each end last showed that it is there, and the packet that it sent then: by 2 * conversation + end. A response
   * shows both: the one that sends it, and the one that has asked.
   */
  readonly #lastNs: number[] = [];
  readonly #lastFrame: number[] = [];

  get interest(): number {
    return this.#failures.interest | PacketKind.Ack | PacketKind.Answer;
  }

  event(event: TransportEvent): void {
    this.#failures.event(event);
  }

  packet(facts: PacketFacts): void {
    this.#failures.packet(facts);
    const { conversation, role, sender, timeNs, packet } = facts;
    if (conversation === undefined || role !== Role.Response) return;
    const index = 2 * conversation.id + sender;
    this.#lastNs[index] = timeNs;
    this.#lastNs[index ^ 1] = timeNs;
    this.#lastFrame[index] = packet.number;
  }

  finish(context: DetectorContext): void {
    const told = new Set<string>();
    for (const failure of this.#failures.finish(context)) {
      const successor = this.#successorOf(context, failure);
      if (successor === undefined || told.size >= MOST_FINDINGS) continue;
      const [, responder] = endsOf(failure);
      if (told.has(responder.address)) continue;
      told.add(responder.address);
      this.#reportVoid(context, responder.address);
    }
    reportLives(context, told);
  }

  /** The conversation with which the silent host begins anew, while the requester still sends to what it was. */
  #successorOf(context: DetectorContext, failure: Failure): ConversationReport | undefined {
    if (failure.kind !== 'silence' || failure.tries < SURE_TRIES || !wasAnswered(failure, context)) return undefined;
    const [requester, responder] = endsOf(failure);
    const host = responder.address;
    const { interfaceIndex } = failure.conversation;
    // Another tenant's host may have the same address.
    const isHost = (end: EndReport): boolean => end.address === host && mayShareNetwork(end, responder);
    const here = context.conversations.filter(
      ({ interfaceIndex: at, ends }) => at === interfaceIndex && ends.some(isHost),
    );
    const before = here.filter(({ startNs }) => startNs < failure.firstNs);
    const after = here.filter(({ startNs }) => startNs > failure.firstNs && startNs < failure.lastNs);
    const lastNs = Math.max(...before.map((each) => this.#lastSent(each, host)));
    const alone = new Set(before.map(groupOf)).size < 2;
    return after.find((each) => {
      const end = each.ends.find(({ address }) => address === host);
      if (end === undefined || end.packets === 0 || end.qpn === responder.qpn || lastNs >= each.startNs) return false;
      const begun = each.learnt === 'cm' || each.ends.some(({ requester: { fromStart } }) => fromStart);
      const asking = each.ends[each.cm?.activeEnd ?? 0];
      return (
        begun &&
        (asking.address === host || (!alone && this.#allCutOff(before, host)) || sameQueuePair(each, requester))
      );
    });
  }

  /** The others that the host had were alive until then as well, and not left long before. */
  #allCutOff(before: readonly ConversationReport[], host: string): boolean {
    const last = before.map((each) => this.#lastSent(each, host)).filter((ns) => ns >= 0);
    return last.length >= 2 && Math.max(...last) - Math.min(...last) <= AT_ONCE_NS;
  }

  #lastSent({ id, ends }: ConversationReport, host: string): number {
    return Math.max(...ends.map(({ address }, side) => (address === host ? (this.#lastNs[2 * id + side] ?? -1) : -1)));
  }

  /** All requesters that send to what the host has lost. */
  #reportVoid(context: DetectorContext, host: string): void {
    const lost: Failure[] = [];
    const successors: ConversationReport[] = [];
    for (const failure of this.#failures.finish(context)) {
      if (endsOf(failure)[1].address !== host) continue;
      const successor = this.#successorOf(context, failure);
      if (successor === undefined) continue;
      lost.push(failure);
      if (!successors.includes(successor)) successors.push(successor);
    }
    const [first] = lost;
    const [next] = successors;
    if (first === undefined || next === undefined) return;
    const [requester, responder] = endsOf(first);
    const side = first.requester === 0 ? 1 : 0;
    const index = 2 * first.conversation.id + side;
    const [lastNs, lastFrame] = [this.#lastNs[index] ?? 0, this.#lastFrame[index] ?? 0];
    const end = next.ends.find(({ address }) => address === host);
    const others =
      lost.length === 1
        ? ''
        : ` ${counted(lost.length - 1, 'more requester sends', 'more requesters send')} into the void.`;
    context.report({
      severity: 'error',
      text:
        `${host} has lost its queue pairs and came back with others: the last packet from ${qpName(responder.qpn)} is frame ${lastFrame}, and ` +
        `${duration(next.startNs - lastNs)} later, with frame ${next.firstFrame}, it begins with ${qpName(end?.qpn ?? -1)}. ` +
        `${requester.address} went on sending to the old one: PSN ${first.psn} ${times(first.tries)}, until ${duration(first.lastNs - lastNs)} after its last answer.${others}`,
      frames: mergedFrames([[lastFrame, next.firstFrame], ...lost.map(({ frames }) => frames.frames)]),
      frameCount: lost.reduce((sum, { frames }) => sum + frames.count, 2),
      conversations: [
        ...new Set([...lost.map(({ conversation }) => conversation.id), ...successors.map(({ id }) => id)]),
      ],
      evidence: {
        host,
        lastFrame,
        firstFrame: next.firstFrame,
        awayNs: next.startNs - lastNs,
        tries: first.tries,
        requesters: lost.length,
      },
    });
  }
}

function sameQueuePair({ ends }: ConversationReport, requester: EndReport): boolean {
  return requester.qpn >= 0 && ends.some(({ address, qpn }) => address === requester.address && qpn === requester.qpn);
}

/** Queue pair numbers that come again, by pair of hosts. */
function reportLives(context: DetectorContext, told: ReadonlySet<string>): void {
  const groups = new Map<string, ConversationReport[]>();
  for (const conversation of context.conversations) {
    const before = context.conversation(conversation.previousLife);
    if (before === undefined || conversation.sameAs !== 0 || hasEnded(before)) continue;
    const addresses = conversation.ends.map(({ address }) => address).sort();
    if (addresses.some((address) => told.has(address))) continue;
    const key = addresses.join(' ');
    groups.set(key, [...(groups.get(key) ?? []), conversation]);
  }
  for (const group of [...groups.values()].slice(0, MOST_FINDINGS)) reportGroup(context, group);
}

/** By a disconnect, or by a refusal. */
function hasEnded({ cm, ends }: ConversationReport): boolean {
  const refused = ends.some(({ requester }) => Object.keys(requester.naks).some((name) => name !== SEQUENCE_ERROR));
  return refused || (cm?.dreqFrame ?? 0) > 0;
}

function reportGroup(context: DetectorContext, group: readonly ConversationReport[]): void {
  const [first] = group;
  const before = context.conversation(first?.previousLife ?? 0);
  if (first === undefined || before === undefined) return;
  const ended = group.flatMap(({ previousLife }) => context.conversation(previousLife) ?? []);
  const cutOff = ended.filter(({ ends }) => ends.some(({ requester }) => requester.unansweredPsn >= 0));
  const [one, two] = first.ends;
  const others =
    group.length === 1 ? '' : ` So did ${counted(group.length - 1, 'more pair', 'more pairs')} of these hosts.`;
  context.report({
    severity: cutOff.length > 0 ? 'warning' : 'note',
    text:
      `Two queue pairs were connected again with other PSNs, ${qpName(one.qpn)} of ${one.address} and ${qpName(two.qpn)} of ${two.address}: the life before ends with frame ${before.lastFrame}, ` +
      `the next begins ${duration(first.startNs - before.endNs)} later with frame ${first.firstFrame}, and there was no disconnect.` +
      `${cutOff.length === 0 ? '' : ' Requests were outstanding that were never answered.'}${others}`,
    frames: mergedFrames(
      group.map((each) => [context.conversation(each.previousLife)?.lastFrame ?? 0, each.firstFrame]),
    ),
    frameCount: 2 * group.length,
    conversations: [...new Set([...ended, ...group].map(({ id }) => id))],
    evidence: { lives: group.length, cutOff: cutOff.length, pauseNs: first.startNs - before.endNs },
  });
}

const SEQUENCE_ERROR = nakName(Syndrome.NakSequence);
/** Tries: a lost packet or two are no restart. */
const SURE_TRIES = 3;
/** What a restart takes away ends within this time. */
const AT_ONCE_NS = 1_000_000_000;
const MOST_FINDINGS = 20;
