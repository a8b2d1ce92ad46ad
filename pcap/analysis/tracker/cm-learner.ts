/**
 * What connection management messages tell about conversations: queue pair numbers, starting PSNs, the end of a
 * connection.
 *
 * Owns the exchanges in progress, a bounded number: the oldest is dropped. Rules: REQ and REP carry the queue pair
 * numbers, and the starting PSN in each is the first one that the *other* end sends (observed with rdma_rxe, see
 * ARCHITECTURE.md). An XRC target puts its queue pair number into the end-to-end context. Communication ids belong to
 * the addresses that chose them. A MAD with a wrong ICRC is ignored, and one that the capture has cut: what is missing
 * would read as zeros.
 */
import { type CmMad, type CmRep, type CmReq, cmRepQpn, cmReqService, parseCmMad } from '../../../packets/cm/index.ts';
import { type Frame, frameDestination, frameSource } from '../../../packets/frame.ts';
import type { Conversation, MutableCmReport } from './conversation.ts';
import type { MutableFacts } from './mutable-facts.ts';

/** A connection as REQ and REP have agreed on it. */
export interface CmAgreement {
  readonly service: 'RC' | 'UC' | 'XRC';
  readonly active: { readonly qpn: number; readonly firstPsn: number };
  readonly passive: { readonly qpn: number; readonly firstPsn: number };
  /** Bytes. */
  readonly pathMtu: number;
  /** When the REQ was seen: the conversation begins with it. */
  readonly startNs: number;
  readonly cm: MutableCmReport;
}

/** Makes the conversation of a REP at hand, whose sender is the passive end; undefined when no more are followed. */
export type OpenFromCm = (facts: MutableFacts, vantage: number, agreement: CmAgreement) => Conversation | undefined;

interface CmExchange {
  readonly req: CmReq;
  readonly reqFrame: number;
  readonly reqNs: number;
  rep: CmRep | undefined;
  conversation: Conversation | undefined;
}

export class CmLearner {
  /** By vantage point, address and id of the active side, and of the passive side once it has one. */
  readonly #active = new Map<string, CmExchange>();
  readonly #passive = new Map<string, CmExchange>();

  /** Reads a MAD, and counts it with the conversation that it is about. */
  learn(facts: MutableFacts, vantage: number, establish: OpenFromCm): void {
    const { frame, cut } = facts.dissection;
    if (cut) return;
    const mad = parseCmMad(frame.view, frame.payloadOffset, frame.payloadLength);
    if (typeof mad === 'number') return;
    const conversation = this.#conversationOf(facts, vantage, mad, establish);
    if (conversation === undefined) return;
    conversation.lastFrame = facts.packet.number;
    conversation.endNs = facts.timeNs;
    facts.conversation = conversation;
    facts.sender = conversation.ends[0].ip.equals(frameSource(frame)) ? 0 : 1;
    facts.requester = facts.sender;
  }

  #conversationOf(
    facts: MutableFacts,
    vantage: number,
    { message }: CmMad,
    establish: OpenFromCm,
  ): Conversation | undefined {
    const { frame } = facts.dissection;
    const number = facts.packet.number;
    switch (message.kind) {
      case 'REQ':
        return this.#request(facts, vantage, message.body);
      case 'REP':
        return this.#reply(facts, vantage, message.body, establish);
      case 'RTU': {
        const conversation = this.#find(frame, vantage, message.body)?.conversation;
        if (conversation?.cm?.rtuFrame === 0) conversation.cm.rtuFrame = number;
        return conversation;
      }
      case 'DREQ':
      case 'DREP': {
        const conversation = this.#find(frame, vantage, message.body)?.conversation;
        if (conversation?.cm === undefined) return conversation;
        if (message.kind === 'DREQ' && conversation.cm.dreqFrame === 0) conversation.cm.dreqFrame = number;
        conversation.ended = true;
        return conversation;
      }
      case 'MRA':
      case 'REJ':
        return this.#find(frame, vantage, message.body)?.conversation;
      default:
        return undefined;
    }
  }

  #request(facts: MutableFacts, vantage: number, req: CmReq): Conversation | undefined {
    const key = keyOf(facts.dissection.frame, vantage, false, req.localCommId);
    const known = this.#active.get(key);
    // Repeated; the same id with another queue pair or PSN is another connection.
    if (known !== undefined && known.req.localQpn === req.localQpn && known.req.startingPsn === req.startingPsn) {
      return known.conversation;
    }
    this.#active.delete(key);
    const { timeNs, packet } = facts;
    this.#active.set(key, { req, reqFrame: packet.number, reqNs: timeNs, rep: undefined, conversation: undefined });
    evictOldest(this.#active);
    return undefined;
  }

  #reply(facts: MutableFacts, vantage: number, rep: CmRep, establish: OpenFromCm): Conversation | undefined {
    const { frame } = facts.dissection;
    const exchange = this.#active.get(keyOf(frame, vantage, true, rep.remoteCommId));
    if (exchange === undefined) return undefined;
    const service = cmReqService(exchange.req);
    if (exchange.rep !== undefined || service === undefined) return exchange.conversation;
    exchange.rep = rep;
    exchange.conversation = establish(facts, vantage, agreementOf(exchange, rep, service, facts.packet.number));
    this.#passive.set(keyOf(frame, vantage, false, rep.localCommId), exchange);
    evictOldest(this.#passive);
    return exchange.conversation;
  }

  /** The exchange that a later message of either side is about. */
  #find(frame: Frame, vantage: number, ids: { localCommId: number; remoteCommId: number }): CmExchange | undefined {
    const local = keyOf(frame, vantage, false, ids.localCommId);
    const remote = keyOf(frame, vantage, true, ids.remoteCommId);
    const sent = this.#active.get(local);
    if (sent !== undefined && (sent.rep === undefined || sent.rep.localCommId === ids.remoteCommId)) return sent;
    const received = this.#active.get(remote);
    if (received !== undefined && (received.rep === undefined || received.rep.localCommId === ids.localCommId)) {
      return received;
    }
    return this.#passive.get(local) ?? this.#passive.get(remote);
  }
}

function agreementOf(
  { req, reqFrame, reqNs }: CmExchange,
  rep: CmRep,
  service: 'rc' | 'uc' | 'xrc',
  repFrame: number,
): CmAgreement {
  const pathMtu = req.pathMtu >= 1 && req.pathMtu <= 5 ? 128 << req.pathMtu : 0;
  return {
    service: service === 'rc' ? 'RC' : service === 'uc' ? 'UC' : 'XRC',
    active: { qpn: req.localQpn, firstPsn: rep.startingPsn },
    passive: { qpn: cmRepQpn(rep, service), firstPsn: req.startingPsn },
    pathMtu,
    startNs: reqNs,
    cm: {
      reqFrame,
      repFrame,
      rtuFrame: 0,
      dreqFrame: 0,
      activeEnd: 0,
      pathMtu,
      ackTimeoutExponent: req.primaryPath.localAckTimeout,
      retryCount: req.retryCount,
      rnrRetryCount: req.rnrRetryCount,
      activeRnrRetryCount: rep.rnrRetryCount,
      responderResources: rep.responderResources,
      initiatorDepth: rep.initiatorDepth,
      serviceId: `0x${req.serviceId.toString(16).padStart(16, '0')}`,
    },
  };
}

function keyOf(frame: Frame, vantage: number, ofDestination: boolean, commId: number): string {
  const [one, two] = ofDestination
    ? [frameDestination(frame), frameSource(frame)]
    : [frameSource(frame), frameDestination(frame)];
  return `${vantage} ${one} ${two} ${commId}`;
}

function evictOldest(map: Map<string, CmExchange>): void {
  if (map.size <= MOST_EXCHANGES) return;
  for (const key of map.keys()) {
    map.delete(key);
    return;
  }
}

const MOST_EXCHANGES = 65_536;
