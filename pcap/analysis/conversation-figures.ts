/**
 * The figures of a whole conversation, both directions together: one definition for every view.
 *
 * Owns what is added up, and over which time: goodput is over the time from the first packet of the conversation to the
 * last, so that rates of its two ends can be added.
 */
import type { ConversationReport, EndReport } from './types.ts';

/** Both ends together. */
export interface ConversationFigures {
  /** Packets that both sent. */
  readonly packets: number;
  /** Their bytes on the wire. */
  readonly bytes: number;
  /** From its first packet to its last. */
  readonly durationNs: number;
  /** Payload bytes that arrived for the first time, in both directions. */
  readonly goodputBytes: number;
  /** `goodputBytes` over `durationNs`; 0 when that is no time. */
  readonly goodputBps: number;
  /** Requests and responses that were lost. */
  readonly lost: number;
  /** Requests and responses that were sent again. */
  readonly retransmitted: number;
  /** NAKs other than RNR. */
  readonly naks: number;
  /** RNR NAKs. */
  readonly rnrNaks: number;
  /** Retransmissions after a timeout. */
  readonly timeouts: number;
}

/** The figures of a conversation. */
export function conversationFigures(conversation: ConversationReport): ConversationFigures {
  const { ends, startNs, endNs } = conversation;
  const sum = (value: (end: EndReport) => number): number => value(ends[0]) + value(ends[1]);
  const goodputBytes = sum(({ requester }) => requester.goodputBytes);
  return {
    packets: sum(({ packets }) => packets),
    bytes: sum(({ bytes }) => bytes),
    durationNs: endNs - startNs,
    goodputBytes,
    goodputBps: goodputBps(conversation, goodputBytes),
    lost: sum(({ requester }) => requester.lostPackets + requester.responses.lostPackets),
    retransmitted: sum(({ requester }) => requester.retransmittedPackets + requester.responses.retransmittedPackets),
    naks: sum(({ requester }) => Object.values(requester.naks).reduce((total, count) => total + count, 0)),
    rnrNaks: sum(({ requester }) => requester.rnrNaks),
    timeouts: sum(({ requester }) => requester.timeouts),
  };
}

/** Bits a second of so many bytes over the time of a conversation; 0 when that is no time. */
export function goodputBps({ startNs, endNs }: ConversationReport, bytes: number): number {
  return endNs > startNs ? Math.round((bytes * 8e9) / (endNs - startNs)) : 0;
}

/**
 * "VXLAN 42", or "VXLAN 42, VXLAN 43" where each direction has one of its own: what tells a conversation from one
 * between the same queue pairs in another virtual network; '' without one.
 */
export function conversationNetworks({ ends }: Pick<ConversationReport, 'ends'>): string {
  return [...new Set(ends.map(({ network }) => network))].filter((network) => network !== '').join(', ');
}
