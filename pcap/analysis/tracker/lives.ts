/**
 * Lives of queue pairs: the same numbers come again after a reconnect or a restart, and the same addresses with them.
 *
 * Owns the decision whether a request that does not follow its predecessors belongs to the conversation of its queue
 * pair, or to the next one. Evidence, in this order:
 * - Connection management begins a life at once (`tracker.ts`).
 * - A request that the life cannot have (`PsnSpace.lifeOf`) opens a conversation beside it, the rival. The queue pair
 *   numbers go over to the rival when a response fits it, or when it goes on while the other one is silent. Until then
 *   both get what fits them: a single forged packet changes nothing.
 * - A request that may be a retransmission, or may follow a hole of the capture, is followed both ways: in the life
 *   there is, and in a hidden one. The first response decides: a new responder counts its messages from 0 again
 *   (ref:wire#7), and may send to another queue pair. What the wrong one has told and counted is taken back.
 * - Nothing else begins a life: a pause, another source port, a PSN that wraps.
 */
import { aethMsn } from '../../../packets/aeth.ts';
import { frameDestinationIs } from '../../../packets/frame.ts';
import { AETH_AT } from '../../../packets/opcode.ts';
import { psnDiff } from '../../../packets/psn.ts';
import type { TransportEvent } from '../types.ts';
import { Conversation, ConversationEnd } from './conversation.ts';
import type { ConversationRegistry } from './conversation-registry.ts';
import { FlowKey, type FlowTable } from './flow-table.ts';
import { HiddenLife } from './hidden-life.ts';
import type { MutableFacts } from './mutable-facts.ts';
import { Life } from './psn-space.ts';
import { maySend, other, type UnpairedConversations, type UnpairedMatch } from './unpaired-conversations.ts';

/** Counts a request with a conversation, and places it in the PSN space of its sender. */
export type PlaceRequest = (facts: MutableFacts, conversation: Conversation, sender: 0 | 1) => void;

/** The parts of the tracker that are used. */
export interface LivesContext {
  readonly registry: ConversationRegistry;
  readonly flows: FlowTable;
  readonly unpaired: UnpairedConversations;
  readonly placeRequest: PlaceRequest;
  emit(event: TransportEvent): void;
}

export class Lives {
  readonly #context: LivesContext;
  readonly #key = new FlowKey();
  /** Lives that are followed both ways now, by the one there is: few, and none for long. */
  readonly #hidden = new Map<Conversation, HiddenLife>();

  constructor(context: LivesContext) {
    this.#context = context;
  }

  /**
   * Whose request this is, where the queue pair is known to belong to `known`. Undefined: the request was counted, and
   * has no place.
   */
  ofRequest(facts: MutableFacts, known: UnpairedMatch): UnpairedMatch | undefined {
    const { conversation, sender } = known;
    const { space } = conversation.end(sender);
    const life = space === undefined ? Life.Same : space.lifeOf(facts);
    const hidden = this.#hiddenOf(conversation);
    if (hidden !== undefined) return this.#ofHidden(facts, known, hidden, life);
    if (conversation.rival !== undefined) {
      const match = this.#ofRival(facts, known, conversation.rival, life);
      if (match !== undefined) return match;
    }
    if (life === Life.Same) return known;
    if (life === Life.Other) return this.#challenge(facts, known);
    if (this.#hidden.size >= MOST_HIDDEN) return known;
    return this.#follow(facts, known, this.#hide(facts, conversation, sender, life === Life.Ahead));
  }

  /** Whose response this is, where the queue pair belongs to `known`; that one, or the life that it shows to be new. */
  ofResponse(facts: MutableFacts, known: UnpairedMatch): UnpairedMatch {
    const { conversation } = known;
    const { rival } = conversation;
    const hidden = this.#hiddenOf(conversation);
    if (hidden !== undefined) {
      if (hidden.conversation.end(known.sender).qpn < 0) return known;
      return this.#decide(facts, hidden, other(known.sender)) ?? known;
    }
    if (rival === undefined) return known;
    const match = sideOf(facts, rival);
    const space = match === undefined ? undefined : rival.end(other(match.sender)).space;
    const old = conversation.end(other(known.sender)).space;
    if (
      match === undefined ||
      space?.isAnswered(facts) !== true ||
      !showsNewLife(facts, space.messagesBegun, old?.lastMsn ?? -1)
    )
      return known;
    rival.end(other(match.sender)).qpn = facts.dissection.frame.destQpn;
    this.#succeed(facts, conversation, rival);
    return match;
  }

  /** Whose response this is, if its queue pair is not known: a requester may have another one in a new life. */
  ofUnknown(facts: MutableFacts, vantage: number): UnpairedMatch | undefined {
    for (const hidden of this.#hidden.values()) {
      const { frame } = facts.dissection;
      if (hidden.old.vantage !== vantage || !maySend(frame, hidden.conversation, other(hidden.sender))) continue;
      if (hidden.conversation.end(hidden.sender).space?.isAnswered(facts) !== true) continue;
      hidden.conversation.end(hidden.sender).qpn = frame.destQpn;
      return this.#decide(facts, hidden, hidden.sender);
    }
    return undefined;
  }

  /** A response has shown both queue pairs of a conversation: if it is a rival, it has won. */
  paired(facts: MutableFacts, conversation: Conversation): void {
    if (conversation.rivalOf !== undefined) this.#succeed(facts, conversation.rivalOf, conversation);
  }

  finish(): void {
    for (const hidden of [...this.#hidden.values()]) this.#keepOld(hidden);
  }

  #hiddenOf(conversation: Conversation): HiddenLife | undefined {
    return this.#hidden.size === 0 ? undefined : this.#hidden.get(conversation);
  }

  /** Opens a conversation beside the one that cannot have this request. */
  #challenge(facts: MutableFacts, { conversation: old, sender }: UnpairedMatch): UnpairedMatch | undefined {
    const { registry, unpaired } = this.#context;
    const { frame } = facts.dissection;
    const rival = registry.open('traffic', facts, old.vantage, old.service, frame.destQpn, -1, old);
    if (rival === undefined) return undefined;
    rival.ends[1].qpn = frame.destQpn;
    unpaired.add(frame, rival);
    if (old.rival !== undefined) old.rival.rivalOf = undefined;
    old.rival = rival;
    rival.rivalOf = old;
    // Nothing is left that could go on.
    if (old.ended || old.end(sender).space?.isOver === true) this.#succeed(facts, old, rival);
    return { conversation: rival, sender: 0 };
  }

  #ofRival(facts: MutableFacts, known: UnpairedMatch, rival: Conversation, life: Life): UnpairedMatch | undefined {
    const { conversation: old } = known;
    const expecting = old.end(known.sender).space;
    const match = sideOf(facts, rival);
    if (match === undefined) return undefined;
    const { space, packets } = rival.end(match.sender);
    if (space === undefined ? life === Life.Same : !space.isNext(facts, life === Life.Same)) return undefined;
    // Both expect it: the one that has shown less has to wait.
    if (packets < 2 && expecting?.continues(facts.dissection.frame.psn) === true) return undefined;
    if (packets + 1 >= ENOUGH && facts.timeNs - old.endNs >= SILENCE_NS) this.#succeed(facts, old, rival);
    return match;
  }

  /** The queue pair numbers belong to `heir` from now on. */
  #succeed(facts: MutableFacts, old: Conversation, heir: Conversation): void {
    const { flows, unpaired } = this.#context;
    const { frame } = facts.dissection;
    old.rival = undefined;
    heir.rivalOf = undefined;
    heir.previousLife = old.id;
    const [one, two] = heir.ends;
    if (one.qpn >= 0 && two.qpn >= 0) unpaired.remove(frame, heir);
    for (const side of [0, 1] as const) {
      const { qpn, ip } = heir.end(side);
      if (qpn < 0) continue;
      const key = this.#key.set(heir.vantage, qpn, -1, !frameDestinationIs(frame, ip));
      flows.point(facts.dissection, key, heir, other(side));
    }
  }

  #hide(facts: MutableFacts, old: Conversation, sender: 0 | 1, ahead: boolean): HiddenLife {
    const ends = [new ConversationEnd(old.ends[0].ip), new ConversationEnd(old.ends[1].ip)] as const;
    const conversation = new Conversation(0, 'traffic', old.vantage, ends, facts);
    conversation.service = old.service;
    conversation.pathMtu = old.pathMtu;
    for (const side of [0, 1] as const) ends[side].qpn = old.end(side).qpn;
    const hidden = new HiddenLife(old, conversation, sender, facts.dissection.frame.psn, ahead);
    this.#hidden.set(old, hidden);
    return hidden;
  }

  #ofHidden(facts: MutableFacts, known: UnpairedMatch, hidden: HiddenLife, life: Life): UnpairedMatch | undefined {
    const { psn } = facts.dissection.frame;
    const { conversation, sender } = known;
    const same = sender === hidden.sender;
    const space = conversation.end(sender).space;
    // What nobody sends again, or the other end begins anew as well.
    if (life === Life.Other && (!same || space?.fits(psn) === true)) return this.#keepNew(facts, hidden, sender);
    const expected = hidden.conversation.end(sender).space?.continues(psn) === true;
    const goesOn = space?.continues(psn) === true;
    const again = same && psn === hidden.firstPsn;
    if (same && expected && !again && hidden.requests < MOST_PACKETS) return this.#follow(facts, known, hidden);
    // Both ends may have begun anew, and then it goes on in the life there is since its jump only.
    if (!same && (expected || !goesOn)) return this.#follow(facts, known, hidden);
    // It goes on where it was, or tries again, or neither: nothing is new.
    this.#keepOld(hidden);
    if (life === Life.Other) return this.#challenge(facts, known);
    if (!goesOn) space?.trustJumps();
    return known;
  }

  /** Places a request in the hidden life as well; the result is its place in the life there is. */
  #follow(facts: MutableFacts, known: UnpairedMatch, hidden: HiddenLife): UnpairedMatch | undefined {
    facts.asIf(() => this.#context.placeRequest(facts, hidden.conversation, known.sender));
    hidden.requests++;
    // A single packet far ahead may be forged, and would make a hole of what is still to come.
    if (hidden.ahead && hidden.requests === 1) {
      known.conversation.count(facts, known.sender);
      facts.requester = known.sender;
      return undefined;
    }
    return known;
  }

  /**
   * The response at hand decides, if it can; the result is its place if the hidden life is the right one. One to the
   * other end, which may have begun anew as well, shows a new life only.
   */
  #decide(facts: MutableFacts, hidden: HiddenLife, requester: 0 | 1): UnpairedMatch | undefined {
    const { old, conversation } = hidden;
    if ((AETH_AT[facts.dissection.frame.opcode] ?? -1) < 0) return undefined;
    const space = conversation.end(requester).space;
    const isNew =
      space?.isAnswered(facts) === true &&
      showsNewLife(facts, space.messagesBegun, old.end(requester).space?.lastMsn ?? -1);
    if (isNew) return this.#keepNew(facts, hidden, other(requester));
    if (requester === hidden.sender) this.#keepOld(hidden);
    return undefined;
  }

  #keepOld(hidden: HiddenLife): void {
    this.#hidden.delete(hidden.old);
    hidden.confirmOld(this.#context.emit);
  }

  #keepNew(facts: MutableFacts, hidden: HiddenLife, sender: 0 | 1): UnpairedMatch | undefined {
    const { old, conversation } = hidden;
    this.#hidden.delete(old);
    hidden.takeBack();
    if (!this.#context.registry.adopt(facts, conversation, old)) return undefined;
    hidden.tellNew(this.#context.emit);
    this.#succeed(facts, old, conversation);
    return { conversation, sender };
  }
}

/** Which end of the conversation has sent the packet. Within a host: the one across from its queue pair. */
function sideOf({ dissection: { frame } }: MutableFacts, conversation: Conversation): UnpairedMatch | undefined {
  const senders = ([0, 1] as const).filter((sender) => maySend(frame, conversation, sender));
  const qpnAcross = (sender: 0 | 1): number => conversation.end(other(sender)).qpn;
  const sender =
    senders.find((each) => qpnAcross(each) === frame.destQpn) ??
    senders.find((each) => qpnAcross(each) < 0) ??
    senders[0];
  return sender === undefined ? undefined : { conversation, sender };
}

/**
 * Whether the responder counts its messages anew.
 *
 * @param begun messages that the new life has begun
 * @param before the largest MSN of the life before; -1: none was seen, or it has ended
 */
function showsNewLife({ dissection: { frame } }: MutableFacts, begun: number, before: number): boolean {
  const aeth = AETH_AT[frame.opcode] ?? -1;
  if (aeth < 0) return false;
  const msn = aethMsn(frame.view, frame.bthOffset + aeth);
  return msn <= begun && (before < 0 || psnDiff(msn, before) < 0);
}

/** Without a response: packets of a rival, and the silence of the life before. A queue pair is not remade sooner. */
const ENOUGH = 3;
const SILENCE_NS = 1_000_000;
const MOST_HIDDEN = 64;
/** Of a hidden life: the first response comes sooner, or never. */
const MOST_PACKETS = 4096;
