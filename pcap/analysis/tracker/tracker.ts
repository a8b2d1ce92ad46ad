/**
 * Assigns every RoCEv2 packet of a capture to its conversation, and hands it to the PSN space of its requester.
 *
 * Owns how conversations are found:
 * - Each vantage point (an interface, or an interface of the capturing host in a cooked capture) is separate: packets
 *   seen at two of them make two conversations, and the later one refers to the earlier (`sameAs`). So is each virtual
 *   network at a vantage point (`virtual-networks.ts`): below, a vantage point is a place in this sense.
 * - Connection management gives both queue pair numbers. Without it the first request to a queue pair opens a
 *   conversation, and the first response with a fitting PSN shows the other queue pair. Two halves that are found in
 *   this way are merged under the lower id.
 * - Without responses (UC), two halves are merged when they are the only unpaired ones between their addresses.
 * - Queue pair numbers are used again: `lives.ts` decides where another life begins.
 * - Datagrams are assigned by source and destination queue pair of either direction. Management datagrams belong to the
 *   conversation that they are about.
 * - A packet with a wrong ICRC opens no conversation and changes no PSN state.
 */

import { dethSourceQpn } from '../../../packets/deth.ts';
import { type Frame, frameDestination } from '../../../packets/frame.ts';
import { GSI_QPN } from '../../../packets/mad.ts';
import { DETH_AT, OpFlag } from '../../../packets/opcode.ts';
import { isMarked } from '../../../packets/traffic-class.ts';
import { IcrcState } from '../../dissection.ts';
import { Mark, Role } from '../facts.ts';
import type { ConversationReport, TransportEvent } from '../types.ts';
import { CmLearner, type OpenFromCm } from './cm-learner.ts';
import { type Conversation, serviceOf, showsMtu } from './conversation.ts';
import { ConversationRegistry } from './conversation-registry.ts';
import { DatagramFlow } from './datagram-flow.ts';
import { type Flow, FlowKey, FlowTable } from './flow-table.ts';
import { Lives } from './lives.ts';
import type { MutableFacts } from './mutable-facts.ts';
import { PsnSpace } from './psn-space.ts';
import type { EventSink, SharedResources } from './psn-space-state.ts';
import { StrayDamage } from './stray-damage.ts';
import { other, UnpairedConversations, type UnpairedMatch } from './unpaired-conversations.ts';
import { VantagePoints } from './vantage-points.ts';
import { VirtualNetworks } from './virtual-networks.ts';

export interface TrackerOptions {
  readonly maxConversations: number;
  readonly interfacesTogether: boolean;
}

export class Tracker {
  readonly #sink: EventSink;
  readonly #surroundings: SharedResources;
  readonly #vantages: VantagePoints;
  readonly #flows = new FlowTable();
  readonly #unpaired = new UnpairedConversations();
  readonly #cm = new CmLearner();
  readonly #datagrams = new Map<Conversation, [DatagramFlow | undefined, DatagramFlow | undefined]>();
  readonly #registry: ConversationRegistry;
  readonly #strays = new StrayDamage();
  readonly #lives: Lives;
  readonly #key = new FlowKey();
  readonly #networks: VirtualNetworks = new VirtualNetworks({
    conversations: () => this.conversations,
    mayBelong: (facts, place) => this.#mayBelong(facts, place),
  });

  constructor(sink: EventSink, options: TrackerOptions) {
    this.#sink = sink;
    this.#surroundings = { sink, budget: { entries: MEMORY_ENTRIES }, shapeBudget: { entries: SHAPE_ENTRIES } };
    this.#vantages = new VantagePoints(options.interfacesTogether);
    this.#registry = new ConversationRegistry(options.maxConversations, this.#flows, (frame, place) =>
      this.#networks.elsewhere(frame, place, this.#vantages.count),
    );
    this.#lives = new Lives({
      registry: this.#registry,
      flows: this.#flows,
      unpaired: this.#unpaired,
      placeRequest: this.#placeRequest,
      emit: (event) => sink.emit(event),
    });
  }

  /** All that are followed, by number. */
  get conversations(): readonly Conversation[] {
    return this.#registry.conversations;
  }

  /** How many there are beyond the bound. */
  get omitted(): number {
    return this.#registry.omitted;
  }

  /** The conversation of this number, or the one that it turned out to be a part of. */
  byId(id: number): Conversation | undefined {
    return this.#registry.byId(id);
  }

  /** Whether end 0 of the conversation of this number is end 1 of the one that it turned out to be a part of. */
  isCrosswise(id: number): boolean {
    return this.#registry.isCrosswise(id);
  }

  /** The same event with the id and the ends of the merged conversation, if it was reported of a half. */
  ofWhole(event: TransportEvent): TransportEvent {
    const { conversation, requester, sender } = event;
    const whole = conversation === 0 ? conversation : (this.byId(conversation)?.id ?? conversation);
    if (whole === conversation) return event;
    if (!this.#registry.isCrosswise(conversation)) return { ...event, conversation: whole };
    return { ...event, conversation: whole, requester: other(requester), sender: other(sender) };
  }

  /** Places a packet that was dissected well. */
  observe(facts: MutableFacts): void {
    const { frame } = facts.dissection;
    const { flags, opcode } = frame;
    const vantage = this.#networks.placeOf(facts, this.#vantages.of(facts));
    facts.readIdentity();
    if (facts.icrc === IcrcState.Bad) {
      this.#damaged(facts, vantage);
      return;
    }
    if ((DETH_AT[opcode] ?? -1) >= 0) this.#datagram(facts, vantage);
    else if ((flags & OpFlag.Request) !== 0) this.#request(facts, vantage);
    else if ((flags & OpFlag.Response) !== 0) this.#response(facts, vantage);
    else this.#notification(facts, vantage);
    if (isMarked(frame.trafficClass)) this.#marked(facts);
  }

  finish(facts: MutableFacts): void {
    this.#lives.finish();
    for (const conversation of this.conversations) {
      for (const end of conversation.ends) end.space?.finish(facts);
    }
  }

  #request(facts: MutableFacts, vantage: number): void {
    const { frame } = facts.dissection;
    facts.role = Role.Request;
    const flow = this.#flows.find(facts.dissection, this.#key.set(vantage, frame.destQpn, -1, false));
    const match = flow === undefined ? this.#openForRequest(facts, vantage) : this.#lives.ofRequest(facts, flow);
    if (match !== undefined) this.#placeRequest(facts, match.conversation, match.sender);
  }

  readonly #placeRequest = (facts: MutableFacts, conversation: Conversation, sender: 0 | 1): void => {
    const { frame } = facts.dissection;
    const end = conversation.end(sender);
    conversation.count(facts, sender);
    end.congestion.countData(frame.trafficClass);
    facts.requester = sender;
    end.space ??= new PsnSpace(conversation, sender, this.#surroundings, frame.psn, false);
    if (showsMtu(frame) && end.mtu !== frame.payloadLength) conversation.learnMtu(sender, frame.payloadLength);
    this.#strays.settle(facts, conversation.vantage, end.space);
    end.space.request(facts);
  };

  #response(facts: MutableFacts, vantage: number): void {
    const { frame } = facts.dissection;
    facts.role = Role.Response;
    const flow = this.#flows.find(facts.dissection, this.#key.set(vantage, frame.destQpn, -1, false));
    let match = flow === undefined ? this.#lives.ofUnknown(facts, vantage) : this.#lives.ofResponse(facts, flow);
    const space = match?.conversation.end(other(match.sender)).space;
    if (match === undefined || space === undefined || !space.fits(frame.psn)) {
      match = this.#pairForResponse(facts, vantage, flow);
      if (match === undefined) return;
    }
    const { conversation, sender } = match;
    const requester = other(sender);
    const end = conversation.end(sender);
    conversation.count(facts, sender);
    end.congestion.countData(frame.trafficClass);
    facts.requester = requester;
    const asking = conversation.end(requester);
    asking.space ??= new PsnSpace(conversation, requester, this.#surroundings, frame.psn, false);
    if (showsMtu(frame) && end.mtu !== frame.payloadLength) {
      conversation.learnMtu(sender, frame.payloadLength);
      asking.space.resize(frame.psn, frame.payloadLength);
    }
    this.#strays.settle(facts, conversation.vantage, asking.space);
    asking.space.response(facts);
  }

  /** Whether the packet at hand fits what this place has seen of the other direction. */
  #mayBelong(facts: MutableFacts, place: number): boolean {
    const { frame } = facts.dissection;
    const answers = (frame.flags & OpFlag.Response) !== 0;
    const flow = this.#flows.find(facts.dissection, this.#key.set(place, frame.destQpn, -1, false));
    if (flow !== undefined)
      return flow.conversation.end(answers ? other(flow.sender) : flow.sender).space?.fits(frame.psn) !== false;
    if (!answers) return this.#unpaired.mayBeRequest(frame, place);
    return this.#unpaired.forResponse(facts, place, undefined) !== undefined;
  }

  #notification(facts: MutableFacts, vantage: number): void {
    const { frame } = facts.dissection;
    facts.role = Role.Cnp;
    const flow = this.#flows.find(facts.dissection, this.#key.set(vantage, frame.destQpn, -1, false));
    const match = flow ?? this.#unpaired.onlyOne(frame, vantage, undefined);
    if (match === undefined) {
      this.#tell('cnp', facts, undefined);
      return;
    }
    const { conversation, sender } = match;
    conversation.count(facts, sender);
    conversation.end(sender).congestion.countCnp(frame.trafficClass, facts.timeNs);
    facts.requester = other(sender);
    this.#tell('cnp', facts, conversation);
  }

  #datagram(facts: MutableFacts, vantage: number): void {
    const { frame } = facts.dissection;
    const sourceQpn = dethSourceQpn(frame.view, frame.bthOffset + (DETH_AT[frame.opcode] ?? 0));
    if (frame.destQpn === GSI_QPN) {
      facts.role = Role.Management;
      this.#cm.learn(facts, vantage, this.#establish);
      return;
    }
    facts.role = Role.Datagram;
    const flow =
      this.#flows.find(facts.dissection, this.#key.set(vantage, frame.destQpn, sourceQpn, false)) ??
      this.#openForDatagram(facts, vantage, sourceQpn);
    if (flow === undefined) return;
    const { conversation, sender } = flow;
    conversation.count(facts, sender);
    conversation.end(sender).congestion.countData(frame.trafficClass);
    facts.requester = sender;
    const sides = this.#datagrams.get(conversation);
    if (sides === undefined) return;
    sides[sender] ??= new DatagramFlow(this.#sink, frame.psn);
    sides[sender]?.datagram(facts, conversation);
  }

  /** The packet has a wrong ICRC: its receiver drops it silently. */
  #damaged(facts: MutableFacts, vantage: number): void {
    const { frame } = facts.dissection;
    facts.marks |= Mark.BadIcrc;
    const deth = DETH_AT[frame.opcode] ?? -1;
    const sourceQpn = deth < 0 ? -1 : dethSourceQpn(frame.view, frame.bthOffset + deth);
    const flow = this.#flows.find(facts.dissection, this.#key.set(vantage, frame.destQpn, sourceQpn, false));
    const isRequest = (frame.flags & OpFlag.Request) !== 0;
    if (deth >= 0) facts.role = frame.destQpn === GSI_QPN ? Role.Management : Role.Datagram;
    else if (isRequest) facts.role = Role.Request;
    else facts.role = (frame.flags & OpFlag.Response) !== 0 ? Role.Response : Role.Cnp;
    if (flow !== undefined) {
      const { conversation, sender } = flow;
      conversation.count(facts, sender);
      conversation.end(sender).badIcrc++;
      facts.requester = isRequest ? sender : other(sender);
      if (deth < 0) conversation.end(facts.requester).space?.damaged(facts);
    } else if (deth < 0) this.#strays.add(frame, vantage);
    this.#tell('bad-icrc', facts, flow?.conversation);
  }

  #marked(facts: MutableFacts): void {
    facts.marks |= Mark.Ce;
    this.#tell('ce-mark', facts, facts.conversation);
  }

  #tell(kind: 'cnp' | 'bad-icrc' | 'ce-mark', facts: MutableFacts, conversation: ConversationReport | undefined): void {
    const { timeNs, packet, requester, sender, relativePsn, dissection } = facts;
    this.#sink.emit({
      kind,
      timeNs,
      frame: packet.number,
      refersTo: -1,
      conversation: conversation?.id ?? 0,
      requester,
      sender,
      psn: Number.isNaN(relativePsn) ? -1 : dissection.frame.psn,
      count: 1,
      durationNs: -1,
    });
  }

  /** Nothing is known of its queue pair. */
  #openForRequest(facts: MutableFacts, vantage: number): Flow | undefined {
    const { frame } = facts.dissection;
    const service = serviceOf(frame);
    const found =
      this.#unpaired.forRequest(frame, vantage) ??
      (service === 'UC' ? this.#unpaired.onlyOne(frame, vantage, 'UC') : undefined);
    if (found !== undefined) {
      const { conversation, sender } = found;
      conversation.end(other(sender)).qpn = frame.destQpn;
      this.#noteIfPaired(frame, conversation);
      return this.#flows.point(
        facts.dissection,
        this.#key.set(vantage, frame.destQpn, -1, false),
        conversation,
        sender,
      );
    }
    const conversation = this.#registry.open('traffic', facts, vantage, service, frame.destQpn);
    if (conversation === undefined) return undefined;
    conversation.ends[1].qpn = frame.destQpn;
    this.#unpaired.add(frame, conversation);
    return this.#flows.point(facts.dissection, this.#key.set(vantage, frame.destQpn, -1, false), conversation, 0);
  }

  /**
   * @param known the current owner of packets to this queue pair: none, or a conversation that this response cannot
   * belong to
   */
  #pairForResponse(facts: MutableFacts, vantage: number, known: Flow | undefined): Flow | undefined {
    const { frame } = facts.dissection;
    const space = known?.conversation.end(other(known.sender)).space;
    // Both queue pairs are known, and only the requests were not seen.
    if (known !== undefined && space === undefined && known.conversation.end(known.sender).qpn >= 0) return known;
    const match = this.#unpaired.forResponse(facts, vantage, known?.conversation);
    if (match !== undefined) return this.#pair(facts, match, known);
    if (known !== undefined && (space === undefined || space.state.begun)) return known;
    const conversation = this.#registry.open('traffic', facts, vantage, serviceOf(frame), frame.destQpn);
    if (conversation === undefined) return undefined;
    conversation.ends[1].qpn = frame.destQpn;
    this.#unpaired.add(frame, conversation);
    return this.#flows.point(facts.dissection, this.#key.set(vantage, frame.destQpn, -1, false), conversation, 0);
  }

  /** The response at hand shows the queue pair of the requester. */
  #pair(facts: MutableFacts, { conversation, sender }: UnpairedMatch, known: Flow | undefined): Flow {
    const { frame } = facts.dissection;
    conversation.end(other(sender)).qpn = frame.destQpn;
    const isHalf = known !== undefined && known.conversation.end(known.sender).qpn < 0;
    const whole = isHalf ? this.#merge(facts, conversation, known.conversation, sender !== known.sender) : conversation;
    const wholeSender = known !== undefined && whole === known.conversation ? known.sender : sender;
    this.#noteIfPaired(frame, whole);
    this.#lives.paired(facts, whole);
    return this.#flows.point(
      facts.dissection,
      this.#key.set(whole.vantage, frame.destQpn, -1, false),
      whole,
      wholeSender,
    );
  }

  /** Two halves, one for each direction of requests, are one conversation: the older one. */
  #merge(facts: MutableFacts, one: Conversation, two: Conversation, crosswise: boolean): Conversation {
    const { frame } = facts.dissection;
    const [older, younger] = one.id < two.id ? [one, two] : [two, one];
    older.absorb(younger, crosswise);
    this.#registry.merge(younger, older, crosswise);
    this.#unpaired.remove(frame, younger);
    for (const side of [0, 1] as const) {
      const qpn = older.end(side).qpn;
      const toward = older.end(side).ip.equals(frameDestination(frame));
      if (qpn < 0) continue;
      this.#flows.point(facts.dissection, this.#key.set(older.vantage, qpn, -1, !toward), older, other(side));
    }
    return older;
  }

  #noteIfPaired(frame: Frame, conversation: Conversation): void {
    const [a, b] = conversation.ends;
    if (a.qpn >= 0 && b.qpn >= 0) this.#unpaired.remove(frame, conversation);
  }

  #openForDatagram(facts: MutableFacts, vantage: number, sourceQpn: number): Flow | undefined {
    const { frame } = facts.dissection;
    const { destQpn } = frame;
    const back = this.#flows.find(facts.dissection, this.#key.set(vantage, sourceQpn, destQpn, true));
    if (back !== undefined) {
      const key = this.#key.set(vantage, destQpn, sourceQpn, false);
      return this.#flows.point(facts.dissection, key, back.conversation, other(back.sender));
    }
    const conversation = this.#registry.open('traffic', facts, vantage, serviceOf(frame), destQpn, sourceQpn);
    if (conversation === undefined) return undefined;
    conversation.ends[0].qpn = sourceQpn;
    conversation.ends[1].qpn = destQpn;
    this.#datagrams.set(conversation, [undefined, undefined]);
    return this.#flows.point(facts.dissection, this.#key.set(vantage, destQpn, sourceQpn, false), conversation, 0);
  }

  /** Number of the conversation that had both of these queue pairs until now; 0: none. */
  #before(facts: MutableFacts, vantage: number, activeQpn: number, passiveQpn: number): number {
    const one = this.#flows.find(facts.dissection, this.#key.set(vantage, activeQpn, -1, false))?.conversation;
    const two = this.#flows.find(facts.dissection, this.#key.set(vantage, passiveQpn, -1, true))?.conversation;
    return one !== undefined && one === two ? one.id : 0;
  }

  /** The frame at hand is the REP: its sender is the passive end. */
  readonly #establish: OpenFromCm = (facts, vantage, agreement) => {
    const { active, passive, service, pathMtu, startNs, cm } = agreement;
    const conversation = this.#registry.open('cm', facts, vantage, service, active.qpn);
    if (conversation === undefined) return undefined;
    const [first, second] = conversation.ends;
    conversation.cm = cm;
    conversation.firstFrame = cm.reqFrame;
    conversation.startNs = startNs;
    conversation.pathMtu = pathMtu;
    first.qpn = active.qpn;
    second.qpn = passive.qpn;
    conversation.previousLife = this.#before(facts, vantage, active.qpn, passive.qpn);
    first.space = new PsnSpace(conversation, 0, this.#surroundings, active.firstPsn, true);
    second.space = new PsnSpace(conversation, 1, this.#surroundings, passive.firstPsn, true);
    this.#flows.point(facts.dissection, this.#key.set(vantage, active.qpn, -1, false), conversation, 1);
    this.#flows.point(facts.dissection, this.#key.set(vantage, passive.qpn, -1, true), conversation, 0);
    return conversation;
  };
}

/** Packets remembered beyond the first few of each PSN space; 32 bytes each. */
const MEMORY_ENTRIES = 4_000_000;
/** Requests whose opcode and length are remembered beyond the first few of each space; 8 bytes each. */
const SHAPE_ENTRIES = 4_000_000;
