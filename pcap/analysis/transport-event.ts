/**
 * Transport events: things out of the ordinary that the tracker finds in a PSN space, as plain data.
 *
 * Owns their kinds, reasons and fields, all of them codes and numbers. `event-text.ts` has the words.
 */

/** Things out of the ordinary that happen to one PSN space. */
export const TRANSPORT_EVENT_KINDS = [
  'loss',
  'missing',
  'unseen',
  'reordering',
  'copy',
  'retransmission',
  'timeout',
  'nak',
  'rnr-nak',
  'implied-nak',
  'ghost-ack',
  'bad-icrc',
  'ce-mark',
  'cnp',
] as const;
/**
 * One of them:
 * - `loss`: packets that were lost by the network. Their retransmission was captured, or nothing was.
 * - `missing`: it cannot be told what became of these packets. They were captured here and the receiver lacked them,
 *   lost or overtaken; or they are not here, and either the network or the capture lost them.
 * - `unseen`: packets that the capture lacks though the peer has acknowledged them: the capture lost them, not the
 *   network.
 * - `reordering`: an original that was captured after packets sent later, or that the receiver got after them.
 * - `copy`: a frame that was captured twice unchanged: the network or the mirror doubled it.
 * - `retransmission`: a run of retransmitted requests or READ responses; see `cause`.
 * - `timeout`: the requester got no response for a while and retransmitted.
 * - `nak`, `rnr-nak`: negative acknowledgements; see `syndrome`.
 * - `implied-nak`: a READ or atomic was requested again from a gap in its responses on.
 * - `ghost-ack`: an ACK of what was acknowledged before.
 * - `bad-icrc`, `ce-mark`, `cnp`: as the names say, one event for each packet.
 */
export type TransportEventKind = (typeof TRANSPORT_EVENT_KINDS)[number];

/** What is known about how an event came about, beyond its kind. `eventDetail` has the words. */
export const TRANSPORT_EVENT_REASONS = [
  'seen-then-nak',
  'seen-then-implied-nak',
  'first-then-implied-nak',
  'retransmission-not-seen',
  'service-without-acks',
  'acknowledged',
  'not-missed',
  'after-retransmission',
  'behind-capture',
  'came-twice',
  'filled-alone',
  'out-of-turn',
  'immediate',
  'after-timeout',
  'ack-not-received',
  'incomplete-capture',
] as const;
/**
 * One of them, by kind of event:
 * - `loss`, `missing`: `seen-then-nak`, the request was captured here, and a sequence NAK then asked for it.
 *   `seen-then-implied-nak`, the same of a READ response that the requester requested again; in the report it is
 *   `missing` where something is overtaken, doubled or damaged, also later. `first-then-implied-nak`, the same of the
 *   first response of a READ, which was lost whatever else is overtaken. `retransmission-not-seen`, the packets were
 *   requested again and not captured then either. `service-without-acks`, the network or the capture lost them.
 *   `came-twice`, of `missing`: what filled the gap came twice, and either its original was late or its
 *   retransmission was doubled. `out-of-turn`, of `missing`: what filled the gap came out of turn among packets that were
 *   sent again, and is the late original or a late retransmission. In the report only, of `missing`: `filled-alone`, it
 *   filled the gap alone after a NAK, and the requester may be one that sends again only what was lost;
 *   `incomplete-capture`, the capture lacks packets, this one or what would tell what became of it.
 * - `unseen`: `acknowledged`, the peer received it. `not-missed`, nothing shows that the peer lacked it.
 * - `reordering`: `after-retransmission`, the original came after its own retransmission. `behind-capture`, the
 *   request was captured here in order, and the receiver's answers show that it came late there.
 * - `implied-nak`, and its retransmission: `immediate` or `after-timeout`; none between these, where no ACK timeout was
 *   agreed: the requester has waited for that, or is slow.
 * - `timeout`, and its retransmission: `ack-not-received`, the request was acknowledged, but the ACK did not reach the
 *   requester.
 */
export type TransportEventReason = (typeof TRANSPORT_EVENT_REASONS)[number];

/** One event. */
export interface TransportEvent {
  /** What happened. */
  readonly kind: TransportEventKind;
  /** When it was seen, or when it became certain. */
  readonly timeNs: number;
  /** The packet that shows it. */
  readonly frame: number;
  /**
   * An earlier packet that it refers to: the original of a retransmission or copy, the NAK that it reacts to, the first
   * packet after a gap; -1: none.
   */
  readonly refersTo: number;
  /** Id of the conversation; 0: none. */
  readonly conversation: number;
  /** The end (0 or 1) whose PSN space this is: the requester's. */
  readonly requester: 0 | 1;
  /** The end that sent the packet: for READ responses, ACKs and NAKs the responder. */
  readonly sender: 0 | 1;
  /** First PSN concerned; -1 where there is none. */
  readonly psn: number;
  /** Packets concerned, 1 or more. */
  readonly count: number;
  /** Of a retransmission. */
  readonly cause?: 'nak' | 'rnr' | 'implied-nak' | 'timeout' | 'duplicate-request' | 'unknown';
  /**
   * How long it took: the reaction to a NAK, the wait before a timeout, the time from the gap to its NAK; -1: unknown.
   */
  readonly durationNs: number;
  /** How it came about; absent where the kind says everything. */
  readonly reason?: TransportEventReason;
  /**
   * Of a loss: a NAK, or a READ that was sent again, asked for its first packet by the PSN. The receiver lacked that
   * one, whatever the capture lacks. Of a reordering: so it did, and the packet came alone.
   */
  readonly named?: boolean;
  /**
   * Of a loss, a reordering or `missing`: PSNs of requests that cannot be told apart, this one among them. What the
   * event says is true of `amongCount` of them, which have an event each; which ones they are is not known.
   */
  readonly among?: readonly number[];
  /** With `among`: of how many of them this is true. */
  readonly amongCount?: number;
  /** Of `nak` and `rnr-nak`: the whole syndrome of the AETH, 0..255. */
  readonly syndrome?: number;
}
