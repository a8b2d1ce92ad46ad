/**
 * Addresses or ports that something rewrites between the places that a capture shows: one conversation looks like two.
 *
 * Owns the evidence, of which there are three kinds:
 * - the same packets, from the BTH to the beginning of the payload and with the same IPv4 identification, under other
 *   addresses: a capture on both sides of what rewrites them;
 * - the requests of one conversation, without an answer, and the answers of another one, without a request, that share
 *   one host, the PSNs from the first to the last, and the time: a capture on one side, where one direction is rewritten
 *   later than the other;
 * - two interfaces that show one conversation with other UDP source ports.
 * Packets whose ICRC does not fit what was made of them are those of `icrc-invalid`. Bounded: a few packets of each
 * conversation.
 */
import { PSN_MASK, psnDiff } from '../../../packets/psn.ts';
import { listed } from '../detectors/words.ts';
import { type PacketFacts, Role } from '../facts.ts';
import type { CaptureLimit, ConversationReport, EndReport } from '../types.ts';

export class RewritingWatch {
  /** Hashes of the first packets of a conversation, by its number. */
  readonly #firsts: (number[] | undefined)[] = [];

  packet({ conversation, role, dissection }: PacketFacts): void {
    if (conversation === undefined || (role !== Role.Request && role !== Role.Response)) return;
    const { frame, ipId } = dissection;
    if (frame.payloadLength === 0 && role === Role.Response) return;
    let firsts = this.#firsts[conversation.id];
    if (firsts === undefined) {
      firsts = [];
      this.#firsts[conversation.id] = firsts;
    }
    if (firsts.length >= MOST_FIRSTS) return;
    const { view, bthOffset, payloadOffset, payloadLength, icrcOffset } = frame;
    const end = Math.min(payloadOffset + MOST_PAYLOAD, icrcOffset, dissection.capturedEnd);
    let hash = Math.imul(ipId ^ (payloadLength << 16), 0x9e37_79b1);
    for (let at = bthOffset; at < end; at++) {
      // Congestion marks in the BTH change on the way.
      hash = Math.imul(hash ^ (at === bthOffset + MARKS_AT ? 0 : view.getUint8(at)), 0x0100_0193);
      hash ^= hash >>> 15;
    }
    firsts.push(hash);
  }

  /** @param whole the number of the conversation that this one turned out to be a part of, or its own */
  finish(conversations: readonly ConversationReport[], whole: (id: number) => number): CaptureLimit[] {
    const byId = new Map(conversations.map((conversation) => [conversation.id, conversation]));
    const limits = [
      ...this.#seenTwice(byId, whole).map((pair) => bothSides(pair)),
      ...answeredElsewhere(conversations).map((pair) => oneSide(pair)),
      ...otherPorts(byId).map((pair) => ports(pair)),
    ];
    return limits.slice(0, MOST_LIMITS);
  }

  #seenTwice(byId: ReadonlyMap<number, ConversationReport>, whole: (id: number) => number): Pair[] {
    const owners = new Map<number, number>();
    const shared = new Map<string, number>();
    this.#firsts.forEach((hashes, id) => {
      for (const hash of new Set(hashes)) {
        const owner = owners.get(hash);
        if (owner === undefined) owners.set(hash, whole(id));
        else shared.set(`${owner} ${whole(id)}`, (shared.get(`${owner} ${whole(id)}`) ?? 0) + 1);
      }
    });
    return [...shared]
      .filter(([, count]) => count >= FEWEST_SHARED)
      .map(([key]) => key.split(' ').map((id) => byId.get(Number(id))))
      .filter((pair): pair is [ConversationReport, ConversationReport] => pair.every((each) => each !== undefined))
      .filter(([one, two]) => addressesOf(one) !== addressesOf(two))
      .filter(([one, two]) => one.interfaceIndex !== two.interfaceIndex || apart(one, two) <= MOST_APART_NS);
  }
}

type Pair = readonly [ConversationReport, ConversationReport];

/** Requests without answers, and the answers without requests that are theirs: of each only where there is one. */
function answeredElsewhere(conversations: readonly ConversationReport[]): Pair[] {
  const asking = new Map<number, ConversationReport[]>();
  for (const each of conversations) {
    const sender = senderOf(each);
    if (sender === undefined || sender.requester.packets === 0) continue;
    const bucket = bucketOf(sender.requester.firstPsn);
    const known = asking.get(bucket);
    if (known === undefined) asking.set(bucket, [each]);
    else if (known.length < MOST_ALIKE) known.push(each);
  }
  return conversations.flatMap((answers) => {
    const psn = otherEnd(answers)?.requester.firstPsn ?? -1;
    if (answersOf(answers) < FEWEST_SHARED || psn < 0) return [];
    const near = [-1, 0, 1].flatMap((step) => asking.get(bucketOf(psn + step * NEAR_PSNS)) ?? []);
    const found = near.filter((requests) => belong(requests, answers));
    const [only] = found;
    return only === undefined || found.length > 1 ? [] : [[only, answers] as const];
  });
}

function bucketOf(psn: number): number {
  return (psn & PSN_MASK) >>> 10;
}

function belong(requests: ConversationReport, answers: ConversationReport): boolean {
  const asked = senderOf(requests);
  const answered = otherEnd(answers);
  if (asked === undefined || answered === undefined || requests.interfaceIndex !== answers.interfaceIndex) return false;
  const sameHosts = addressesOf(requests) === addressesOf(answers);
  const shareOne = asked.address === answered.address || otherEnd(requests)?.address === senderOf(answers)?.address;
  if (sameHosts || !shareOne || requests.service !== answers.service) return false;
  const near = (one: number, two: number): boolean => Math.abs(psnDiff(one, two)) <= NEAR_PSNS;
  const samePsns =
    near(answered.requester.firstPsn, asked.requester.firstPsn) &&
    near(answered.requester.nextPsn, asked.requester.nextPsn);
  const isBefore = answers.startNs < requests.startNs - MOST_EARLY_NS;
  return samePsns && !isBefore && apart(requests, answers) <= MOST_APART_NS;
}

/** The only end that has sent anything. */
function senderOf({ ends: [one, two] }: ConversationReport): EndReport | undefined {
  if (one.packets > 0 && two.packets > 0) return undefined;
  return one.packets > 0 ? one : two;
}

function otherEnd(conversation: ConversationReport): EndReport | undefined {
  const sender = senderOf(conversation);
  return sender === undefined ? undefined : conversation.ends.find((end) => end !== sender);
}

/** Packets of the only end that has sent anything, where all of them are answers. */
function answersOf(conversation: ConversationReport): number {
  const sender = senderOf(conversation);
  return sender === undefined || sender.requester.packets > 0 ? 0 : sender.packets;
}

function otherPorts(byId: ReadonlyMap<number, ConversationReport>): Pair[] {
  return [...byId.values()].flatMap((there) => {
    const here = byId.get(there.sameAs);
    const differs = (end: EndReport): boolean => {
      const same = here?.ends.find(({ address, qpn }) => address === end.address && qpn === end.qpn);
      if (same === undefined || same.packets === 0 || end.packets === 0) return false;
      return !end.sourcePorts.some((port) => same.sourcePorts.includes(port));
    };
    return here !== undefined && there.ends.some(differs) ? [[here, there] as const] : [];
  });
}

function bothSides([one, two]: Pair): CaptureLimit {
  return limitOf(
    [one, two],
    `Addresses are rewritten on the way: what ${hostsOf(one)} exchange is also here between ${hostsOf(two)}. ` +
      'These are two conversations in this report, and one of the hosts.',
  );
}

function oneSide([requests, answers]: Pair): CaptureLimit {
  const from = senderOf(requests)?.address ?? '';
  const to = otherEnd(requests)?.address ?? '';
  return limitOf(
    [requests, answers],
    `Addresses are rewritten on the way: what ${from} requests of ${to} is answered ` +
      `from ${senderOf(answers)?.address ?? ''} to ${otherEnd(answers)?.address ?? ''}. ` +
      'Requests and answers are two conversations in this report, neither of which shows what became of the requests.',
  );
}

function ports([here, there]: Pair): CaptureLimit {
  const portsOf = ({ ends }: ConversationReport): string =>
    listed(ends.map(({ address, sourcePorts }) => `${sourcePorts.join(' ')} of ${address}`));
  return limitOf(
    [here, there],
    `UDP source ports are rewritten on the way between two interfaces: ${portsOf(here)} there are ${portsOf(there)} here.`,
  );
}

function limitOf(pair: Pair, text: string): CaptureLimit {
  return {
    kind: 'rewritten',
    text,
    interfaces: [...new Set(pair.map(({ interfaceIndex }) => interfaceIndex))],
    conversations: pair.map(({ id }) => id),
    frames: pair.map(({ firstFrame }) => firstFrame),
    evidence: { hosts: pair.map(hostsOf) },
  };
}

function hostsOf({ ends: [one, two] }: ConversationReport): string {
  return `${one.address} and ${two.address}`;
}

function addressesOf({ ends: [one, two] }: ConversationReport): string {
  return [one.address, two.address].sort().join(' ');
}

/** The larger of the distances of their beginnings and their ends. */
function apart(one: ConversationReport, two: ConversationReport): number {
  return Math.max(Math.abs(one.startNs - two.startNs), Math.abs(one.endNs - two.endNs));
}

const MOST_FIRSTS = 16;
const MOST_PAYLOAD = 64;
/** In the BTH. */
const MARKS_AT = 4;
const FEWEST_SHARED = 8;
const MOST_APART_NS = 1_000_000_000;
/** A capture may begin with an answer, and a mirror show requests late. */
const MOST_EARLY_NS = 10_000_000;
/** By so many PSNs the first and the last request may be from their answers: 10 bits of them, as `bucketOf` has it. */
const NEAR_PSNS = 1024;
/** Conversations that begin with about the same PSN. */
const MOST_ALIKE = 64;
const MOST_LIMITS = 8;
