/**
 * Where on the way between two hosts an interface is.
 *
 * Owns the evidence, best first:
 * - the capture says of each packet whether it came or went: the host of all that went is at hand;
 * - both ends request: the round trip from here to either is the shortest time from a request to its answer, and both
 *   answers are made alike. The end that is four times closer is near; where neither is twice as close, and both are
 *   noticeably far, the place is between them;
 * - one end requests: near it is where its next request follows an answer at once, and sooner than a quarter of the
 *   round trip to the responder: a later one may wait for its program, or a mirror may be late with the answers. Near
 *   the responder is where answers follow at once, and requests do not. Anything else may be the time that a program
 *   takes, and proves nothing;
 * - no host has a part in all conversations: the place is between them.
 * Where conversations contradict each other the place is unknown.
 */
import { Direction } from '../../types.ts';
import type { ConversationReport, LatencyReport, Vantage, VantagePlace } from '../types.ts';

/** How long it takes a requester to go on after an answer, as captured here; absent where it was never seen to. */
export type Turnaround = (conversation: ConversationReport, requester: 0 | 1) => LatencyReport | undefined;

/** Counts of one interface by what the capture says of its packets. */
export class DirectionCounts {
  /** By conversation and sender, of those that are counted. */
  readonly #counts = new Map<number, { out: number; in: number }>();

  packet(direction: Direction, conversation: number, sender: 0 | 1): void {
    if (direction === Direction.Unknown) return;
    const key = conversation * 2 + sender;
    let count = this.#counts.get(key);
    if (count === undefined) {
      if (this.#counts.size >= MOST_ENDS) return;
      count = { out: 0, in: 0 };
      this.#counts.set(key, count);
    }
    if (direction === Direction.Outbound) count.out++;
    else count.in++;
  }

  /** The end that is this host: all it sent went out, and nothing of the other did. */
  local(conversation: number): 0 | 1 | undefined {
    const [first, second] = [this.#counts.get(conversation * 2), this.#counts.get(conversation * 2 + 1)];
    if (isOut(first) && !isOut(second, 1)) return 0;
    return isOut(second) && !isOut(first, 1) ? 1 : undefined;
  }
}

function isOut(count: { readonly out: number; readonly in: number } | undefined, least = FEWEST_DIRECTED): boolean {
  return count !== undefined && count.out >= least && count.in === 0;
}

/** The vantages of these interfaces. */
export function vantagesOf(
  conversations: readonly ConversationReport[],
  turnaround: Turnaround,
  directions: DirectionCounts,
): Vantage[] {
  const byInterface = new Map<number, ConversationReport[]>();
  for (const each of conversations) {
    const list = byInterface.get(each.interfaceIndex);
    if (list === undefined) byInterface.set(each.interfaceIndex, [each]);
    else list.push(each);
  }
  return [...byInterface]
    .sort(([a], [b]) => a - b)
    .map(([index, all]) => vantageOf(index, all, turnaround, directions));
}

function vantageOf(
  interfaceIndex: number,
  conversations: readonly ConversationReport[],
  turnaround: Turnaround,
  directions: DirectionCounts,
): Vantage {
  const packets = conversations.reduce((sum, { ends: [a, b] }) => sum + a.packets + b.packets, 0);
  // What a host sends to itself has no two ends to be near.
  const between = conversations.filter(({ ends: [a, b] }) => a.address !== b.address);
  const views = between.map((each) => viewOf(each, turnaround, directions)).filter((view) => view !== undefined);
  const unknown: Vantage = { interfaceIndex, place: 'unknown', hosts: [], packets, evidence: {} };
  if (isShared(between)) return { ...unknown, place: 'middle', evidence: { hostsInAll: 0 } };
  const [first] = views;
  if (first === undefined) return unknown;
  const agreeing = views.filter(({ host }) => host === first.host);
  const evidence = { ...first.evidence, conversations: agreeing.length };
  if (agreeing.length < views.length)
    return { ...unknown, evidence: { ...evidence, contradicting: views.length - agreeing.length } };
  if (first.host === '') return { ...unknown, place: 'middle', evidence };
  return { ...unknown, place: placeOf(first.host, between), hosts: [first.host], evidence };
}

/** What one conversation says: the address of the host nearby, empty: none; and why. */
interface View {
  readonly host: string;
  readonly evidence: Vantage['evidence'];
}

function viewOf(
  conversation: ConversationReport,
  turnaround: Turnaround,
  directions: DirectionCounts,
): View | undefined {
  const { ends, id } = conversation;
  const local = directions.local(id);
  if (local !== undefined) return { host: ends[local].address, evidence: { by: 'directions in the capture' } };
  // Round trips from here to the ends, by who answers.
  const [to1, to0] = [answerTime(ends[0].requester), answerTime(ends[1].requester)];
  if (to0 !== undefined && to1 !== undefined) return bySymmetry(conversation, to0, to1);
  if (to0 === undefined && to1 === undefined) return undefined;
  return byTurnaround(conversation, to1 === undefined ? 1 : 0, to0 ?? to1 ?? 0, turnaround);
}

function bySymmetry({ ends }: ConversationReport, to0: number, to1: number): View | undefined {
  const evidence = { by: 'round trips to both ends', nearNs: Math.min(to0, to1), farNs: Math.max(to0, to1) };
  const { nearNs, farNs } = evidence;
  if (farNs < NOTICEABLE_NS) return undefined;
  if (nearNs * CLOSER <= farNs) return { host: ends[to0 < to1 ? 0 : 1].address, evidence };
  return nearNs * ALIKE >= farNs && nearNs >= NOTICEABLE_NS ? { host: '', evidence } : undefined;
}

function byTurnaround(
  conversation: ConversationReport,
  requester: 0 | 1,
  toResponderNs: number,
  turnaround: Turnaround,
): View | undefined {
  const waits = turnaround(conversation, requester);
  if (waits === undefined || waits.count < FEWEST_ROUND_TRIPS) return undefined;
  const { count, minNs, p50Ns, p99Ns } = waits;
  const { ends } = conversation;
  const evidence = { by: 'round trips', toResponderNs, toRequesterNs: minNs, samples: count };
  const prompt = p50Ns <= PROMPT_NS;
  if (prompt && toResponderNs >= NOTICEABLE_NS && p50Ns * CLOSER <= toResponderNs)
    return { host: ends[requester].address, evidence };
  // Here requests that were on their way already follow an answer, too: the shortest time says nothing.
  if (toResponderNs <= AT_ONCE_NS && p99Ns >= CLOSER * AT_ONCE_NS)
    return { host: ends[requester === 0 ? 1 : 0].address, evidence };
  const alike = prompt && minNs >= NOTICEABLE_NS && toResponderNs >= NOTICEABLE_NS && p50Ns <= toResponderNs * ALIKE;
  return alike && minNs * ALIKE >= toResponderNs ? { host: '', evidence } : undefined;
}

/** The shortest time from a request to its answer; undefined where there are too few. */
function answerTime({ ackLatency, readLatency }: ConversationReport['ends'][0]['requester']): number | undefined {
  if (ackLatency.count + readLatency.count < FEWEST_ROUND_TRIPS) return undefined;
  const shortest = (each: LatencyReport): number => (each.count === 0 ? Number.POSITIVE_INFINITY : each.minNs);
  return Math.min(shortest(ackLatency), shortest(readLatency));
}

/** No host has a part in all of these, by address and by MAC address. */
function isShared(conversations: readonly ConversationReport[]): boolean {
  const busy = conversations.filter(({ ends: [a, b] }) => a.packets > 0 && b.packets > 0);
  if (busy.length < 2) return false;
  const common = (keys: (conversation: ConversationReport) => readonly string[]): boolean => {
    const [first, ...rest] = busy.map(keys);
    return (first ?? []).some((key) => key === '' || rest.every((others) => others.includes(key)));
  };
  return !common(({ ends }) => ends.map(({ address }) => address)) && !common(({ ends }) => ends.map(({ mac }) => mac));
}

function placeOf(host: string, conversations: readonly ConversationReport[]): VantagePlace {
  let [sent, answered] = [0, 0];
  for (const { ends } of conversations) {
    for (const { address, requester } of ends) {
      if (address === host) sent += requester.packets;
      else answered += requester.packets;
    }
  }
  if (answered === 0) return 'near-requester';
  return sent === 0 ? 'near-responder' : 'near-host';
}

const FEWEST_DIRECTED = 3;
const MOST_ENDS = 4096;
const FEWEST_ROUND_TRIPS = 8;
/** So many times as close is near. */
const CLOSER = 4;
/** Within this factor two ends are as far. */
const ALIKE = 2;
/** Light goes 200 m and back: less cannot be told from what an adapter takes. */
const NOTICEABLE_NS = 2_000;
/** An adapter acknowledges within this, and a round trip through a switch takes longer. */
const AT_ONCE_NS = 1_000;
/** A requester that has something to send goes on within this, a way of 20 km included. */
const PROMPT_NS = 200_000;
