/**
 * Conversations of which a capture has one direction, and which prove that there is another one.
 *
 * Owns the proof; silence alone is none, for that is what a dead peer looks like. Responses come after requests. And a
 * requester whose requests go on has its answers: it sent many without sending any again, or it waited for one request
 * and later for another one, which means that the first one was answered. What the same hosts say to each other in
 * other conversations of the interface is missing as well. Where an interface has anything of the other direction
 * between two hosts, it has both.
 */
import { psnDiff } from '../../../packets/psn.ts';
import type { ConversationReport, TransportEvent } from '../types.ts';

/** One direction between two hosts, at one interface. */
export interface OneDirection {
  readonly interfaceIndex: number;
  /** The host whose packets are there, and the one whose packets are not. */
  readonly from: string;
  readonly to: string;
  readonly conversations: Set<number>;
  packets: number;
  /** The first packets of conversations, a few. */
  readonly frames: number[];
}

export class Directions {
  /** By conversation and requester: PSN of the first timeout, and of the last. */
  readonly #waits = new Map<number, { readonly first: number; last: number }>();

  event({ kind, conversation, requester, psn }: TransportEvent): void {
    if (kind !== 'timeout') return;
    const key = conversation * 2 + requester;
    const wait = this.#waits.get(key);
    if (wait !== undefined) wait.last = psn;
    else if (this.#waits.size < MOST_SPACES) this.#waits.set(key, { first: psn, last: psn });
  }

  finish(
    conversations: readonly ConversationReport[],
    seenElsewhere: (conversation: ConversationReport, sender: 0 | 1) => boolean,
  ): OneDirection[] {
    const ways = waysOf(conversations);
    const oneSided = conversations.filter((each) => {
      const silent = silentEnd(each);
      if (silent === undefined || !ACKNOWLEDGED.has(each.service) || seenElsewhere(each, silent)) return false;
      return !ways.has(wayOf(each, silent));
    });
    const found = new Map<string, OneDirection>();
    for (const each of oneSided) if (this.#provesAnother(each)) add(found, each, true);
    for (const each of oneSided) add(found, each, false);
    return [...found.values()];
  }

  #provesAnother(conversation: ConversationReport): boolean {
    const sender = silentEnd(conversation) === 0 ? 1 : 0;
    const { requester } = conversation.ends[sender];
    // Packets of this end that are no requests are responses to those of the other one.
    const responses =
      conversation.ends[sender].packets - requester.packets - conversation.ends[sender].congestion.cnpsSent;
    if (responses >= FEWEST_RESPONSES) return true;
    const wait = this.#waits.get(conversation.id * 2 + sender);
    // What is sent again without a timeout was asked for.
    if (wait === undefined && requester.retransmittedPackets === 0) return requester.packets >= FEWEST_REQUESTS;
    if (wait === undefined) return psnDiff(requester.nextPsn, requester.firstPsn) > LARGEST_WINDOW;
    const beyond = psnDiff(requester.nextPsn, wait.first);
    return psnDiff(wait.last, wait.first) > 0 || beyond > LARGEST_WINDOW;
  }
}

/** From which host to which one each interface has anything. */
function waysOf(conversations: readonly ConversationReport[]): ReadonlySet<string> {
  const ways = new Set<string>();
  for (const each of conversations) {
    for (const sender of [0, 1] as const) if (each.ends[sender].packets > 0) ways.add(wayOf(each, sender));
  }
  return ways;
}

function wayOf({ interfaceIndex, ends }: ConversationReport, sender: 0 | 1): string {
  return `${interfaceIndex} ${ends[sender].address} ${ends[sender === 0 ? 1 : 0].address}`;
}

/** The end that sent nothing here, where the other one did. */
function silentEnd({ ends: [first, second] }: ConversationReport): 0 | 1 | undefined {
  if (first.packets === 0) return second.packets === 0 ? undefined : 0;
  return second.packets === 0 ? 1 : undefined;
}

function add(found: Map<string, OneDirection>, conversation: ConversationReport, proven: boolean): void {
  const silent = silentEnd(conversation) ?? 0;
  const { address: to } = conversation.ends[silent];
  const { address: from, packets } = conversation.ends[silent === 0 ? 1 : 0];
  const { interfaceIndex, id, firstFrame } = conversation;
  const key = `${interfaceIndex} ${from} ${to}`;
  let each = found.get(key);
  if (each === undefined) {
    if (!proven) return;
    each = { interfaceIndex, from, to, conversations: new Set(), packets: 0, frames: [] };
    found.set(key, each);
  }
  if (each.conversations.has(id)) return;
  each.conversations.add(id);
  each.packets += packets;
  if (each.frames.length < MOST_EXAMPLES) each.frames.push(firstFrame);
}

/** Services whose requests are answered. */
const ACKNOWLEDGED: ReadonlySet<ConversationReport['service']> = new Set(['RC', 'XRC']);
const FEWEST_RESPONSES = 2;
/** A requester without an answer sends no more than it may have outstanding, and then the same again. */
const FEWEST_REQUESTS = 16;
const LARGEST_WINDOW = 256;
const MOST_SPACES = 8192;
const MOST_EXAMPLES = 5;
