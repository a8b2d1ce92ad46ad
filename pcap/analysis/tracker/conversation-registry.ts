/**
 * All conversations of a capture, by id.
 *
 * Owns the ids and the bound: conversations beyond it are counted and not followed. A conversation that another vantage
 * point has seen before refers to that one (`sameAs`). A half that was merged into another conversation keeps its id,
 * which then stands for the whole.
 */
import { type Frame, frameDestination, frameSource } from '../../../packets/frame.ts';
import type { Dissection } from '../../dissection.ts';
import { Role } from '../facts.ts';
import { Conversation, ConversationEnd } from './conversation.ts';
import { FlowKey, type FlowTable } from './flow-table.ts';
import type { MutableFacts } from './mutable-facts.ts';
import { OmittedCount } from './omitted-count.ts';

export class ConversationRegistry {
  readonly #most: number;
  readonly #flows: FlowTable;
  readonly #elsewhere: (frame: Frame, vantage: number) => readonly number[];
  readonly #conversations: Conversation[] = [];
  /** By number, halves included. */
  readonly #byId: Conversation[] = [];
  readonly #omitted = new OmittedCount();
  readonly #key = new FlowKey();
  #live = 0;

  /** @param elsewhere the vantage points that may have a frame beside this one */
  constructor(most: number, flows: FlowTable, elsewhere: (frame: Frame, vantage: number) => readonly number[]) {
    this.#most = most;
    this.#flows = flows;
    this.#elsewhere = elsewhere;
  }

  /** All that are followed, by number. */
  get conversations(): readonly Conversation[] {
    if (this.#conversations.length !== this.#live) this.#forgetMerged();
    return this.#conversations;
  }

  get omitted(): number {
    return this.#omitted.count;
  }

  byId(id: number): Conversation | undefined {
    let found = this.#byId[id - 1];
    while (found?.mergedInto !== undefined) found = found.mergedInto;
    return found;
  }

  /** Whether end 0 of the conversation of this number is end 1 of the one that it turned out to be a part of. */
  isCrosswise(id: number): boolean {
    let crosswise = false;
    for (let part = this.#byId[id - 1]; part?.mergedInto !== undefined; part = part.mergedInto) {
      if (part.mergedCrosswise) crosswise = !crosswise;
    }
    return crosswise;
  }

  /**
   * A new conversation. End 0 is the sender of the frame at hand. With connection management the frame is the REP of
   * the passive end, and end 0 is its receiver. Undefined when the bound is reached.
   *
   * @param destQpn queue pair of the receiver of the frame
   * @param sourceQpn of a datagram; -1 for connected services
   * @param before the life of the queue pairs that it may follow
   */
  open(
    learnt: 'cm' | 'traffic',
    facts: MutableFacts,
    vantage: number,
    service: Conversation['service'],
    destQpn: number,
    sourceQpn = -1,
    before?: Conversation,
  ): Conversation | undefined {
    const { frame } = facts.dissection;
    if (this.#isFull(facts, vantage, sourceQpn)) return undefined;
    const source = new ConversationEnd(frameSource(frame));
    const destination = new ConversationEnd(frameDestination(frame));
    const ends: readonly [ConversationEnd, ConversationEnd] =
      learnt === 'cm' ? [destination, source] : [source, destination];
    const conversation = new Conversation(this.#byId.length + 1, learnt, vantage, ends, facts);
    conversation.service = service;
    conversation.sameAs = this.#sameElsewhere(facts.dissection, vantage, destQpn, sourceQpn, before);
    this.#add(conversation);
    return conversation;
  }

  /** Gives a conversation that was followed without a number one; false when the bound is reached. */
  adopt(facts: MutableFacts, conversation: Conversation, before: Conversation): boolean {
    if (this.#isFull(facts, conversation.vantage, -1)) return false;
    conversation.id = this.#byId.length + 1;
    const { frame } = facts.dissection;
    conversation.sameAs = this.#sameElsewhere(facts.dissection, conversation.vantage, frame.destQpn, -1, before);
    this.#add(conversation);
    return true;
  }

  #isFull(facts: MutableFacts, vantage: number, sourceQpn: number): boolean {
    if (this.#live < this.#most) return false;
    if (facts.role !== Role.Response) this.#omitted.add(facts.dissection.frame, vantage, sourceQpn);
    return true;
  }

  #add(conversation: Conversation): void {
    this.#live++;
    this.#conversations.push(conversation);
    this.#byId.push(conversation);
  }

  /** `half` was found to be a part of `whole`. */
  merge(half: Conversation, whole: Conversation, crosswise: boolean): void {
    half.mergedInto = whole;
    half.mergedCrosswise = crosswise;
    this.#live--;
  }

  /** Number of the conversation that another vantage point has seen these packets in, and not the life before. */
  #sameElsewhere(
    packet: Dissection,
    vantage: number,
    destQpn: number,
    sourceQpn: number,
    before: Conversation | undefined,
  ): number {
    const except = before === undefined ? 0 : before.sameAs || before.id;
    for (const elsewhere of this.#elsewhere(packet.frame, vantage)) {
      const flow =
        this.#flows.find(packet, this.#key.set(elsewhere, destQpn, sourceQpn, false)) ??
        (sourceQpn < 0 ? undefined : this.#flows.find(packet, this.#key.set(elsewhere, sourceQpn, destQpn, true)));
      const there = flow?.conversation.rival ?? flow?.conversation;
      const id = there === undefined ? 0 : there.sameAs || there.id;
      if (id !== 0 && id !== except) return id;
    }
    return 0;
  }

  #forgetMerged(): void {
    const all = this.#conversations;
    let kept = 0;
    for (const conversation of all) if (conversation.mergedInto === undefined) all[kept++] = conversation;
    all.length = kept;
    for (const conversation of all) {
      if (conversation.sameAs !== 0) conversation.sameAs = this.byId(conversation.sameAs)?.id ?? 0;
    }
  }
}
