/**
 * Conversations of which the traffic has shown only one queue pair, and the search for the one that a packet from the
 * other end belongs to.
 *
 * Owns the lists, one for each pair of addresses and vantage point. A response belongs to the requester whose PSNs it
 * fits best (ref:wire#8: a response carries a PSN of its request): the one whose newest request it answers, and among
 * equals the one that has waited longest.
 */
import { type Frame, frameDestinationIs, frameSourceIs } from '../../../packets/frame.ts';
import type { Conversation } from './conversation.ts';
import { pairHash } from './flow-table.ts';
import type { MutableFacts } from './mutable-facts.ts';

/** A conversation, and which of its ends has sent the packet at hand. */
export interface UnpairedMatch {
  readonly conversation: Conversation;
  readonly sender: 0 | 1;
}

export class UnpairedConversations {
  readonly #lists = new Map<number, Conversation[]>();

  add(frame: Frame, conversation: Conversation): void {
    const key = pairHash(frame, conversation.vantage);
    const list = this.#lists.get(key);
    if (list === undefined) this.#lists.set(key, [conversation]);
    else list.push(conversation);
  }

  remove(frame: Frame, conversation: Conversation): void {
    const key = pairHash(frame, conversation.vantage);
    const list = this.#lists.get(key);
    const at = list?.indexOf(conversation) ?? -1;
    if (at >= 0) list?.splice(at, 1);
    if (list?.length === 0) this.#lists.delete(key);
  }

  /**
   * Whose requests the response at hand answers. Within a host where both ends ask, requests of either direction may
   * fit equally well: then none, for a wrong pair is worse than two halves.
   */
  forResponse(facts: MutableFacts, vantage: number, except: Conversation | undefined): UnpairedMatch | undefined {
    const { frame } = facts.dissection;
    let best: UnpairedMatch | undefined;
    let bestScore = Number.POSITIVE_INFINITY;
    let bestNs = Number.POSITIVE_INFINITY;
    let ambiguous = false;
    for (const match of this.#between(frame, vantage)) {
      const { conversation, sender } = match;
      const requester = conversation.end(other(sender));
      if (conversation === except || requester.qpn >= 0 || requester.space === undefined) continue;
      const score = requester.space.answerScore(facts);
      if (score === Number.POSITIVE_INFINITY || score > bestScore) continue;
      ambiguous = score === bestScore && conversation.isWithinHost && except !== undefined;
      const askedNs = requester.space.askedNs(frame.psn);
      // The list is searched newest first: of equals the one with the earliest request is right.
      if (score === bestScore && askedNs > bestNs) continue;
      best = match;
      bestScore = score;
      bestNs = askedNs;
    }
    return ambiguous ? undefined : best;
  }

  /** Whose responses have shown that there is such a request. */
  forRequest(frame: Frame, vantage: number): UnpairedMatch | undefined {
    let best: UnpairedMatch | undefined;
    let bestDistance = Number.POSITIVE_INFINITY;
    for (const match of this.#between(frame, vantage)) {
      const { conversation, sender } = match;
      const { space } = conversation.end(sender);
      if (conversation.end(other(sender)).qpn >= 0 || space === undefined) continue;
      const distance = space.distanceOfRequest(frame.psn);
      if (distance >= bestDistance) continue;
      best = match;
      bestDistance = distance;
    }
    return best;
  }

  /** Whether the responses to the sender that this vantage point has seen, if any, may be to such a request. */
  mayBeRequest(frame: Frame, vantage: number): boolean {
    for (const { conversation, sender } of this.#between(frame, vantage)) {
      if (conversation.end(sender).space !== undefined) return this.forRequest(frame, vantage) !== undefined;
    }
    return true;
  }

  /**
   * The only one there is whose end at the destination of the packet has not shown its queue pair, of this service.
   * None within a host: there such a packet may go to either end of any of them.
   */
  onlyOne(frame: Frame, vantage: number, service: Conversation['service'] | undefined): UnpairedMatch | undefined {
    let found: UnpairedMatch | undefined;
    for (const match of this.#between(frame, vantage)) {
      const { conversation, sender } = match;
      if (conversation.isWithinHost) return undefined;
      if (conversation.end(other(sender)).qpn >= 0 || (service ?? conversation.service) !== conversation.service)
        continue;
      if (found !== undefined) return undefined;
      found = match;
    }
    return found;
  }

  /** The newest conversations between the addresses of a frame, as many as one may look through. */
  *#between(frame: Frame, vantage: number): Generator<UnpairedMatch> {
    const list = this.#lists.get(pairHash(frame, vantage)) ?? [];
    for (let i = list.length - 1; i >= Math.max(0, list.length - MOST_LOOKS); i--) {
      const conversation = list[i];
      if (conversation === undefined || conversation.vantage !== vantage) continue;
      for (const sender of [0, 1] as const) if (maySend(frame, conversation, sender)) yield { conversation, sender };
    }
  }
}

/** Whether this end may have sent the packet, by its addresses: within a host either end. */
export function maySend(frame: Frame, conversation: Conversation, sender: 0 | 1): boolean {
  const { ip } = conversation.end(sender);
  return frameSourceIs(frame, ip) && frameDestinationIs(frame, conversation.end(other(sender)).ip);
}

/** The end across. */
export function other(side: 0 | 1): 0 | 1 {
  return side === 0 ? 1 : 0;
}

const MOST_LOOKS = 256;
