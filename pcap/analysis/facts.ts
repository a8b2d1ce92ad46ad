/**
 * What the tracker finds out about one packet: its conversation, its place in the PSN space, and what is remarkable
 * about it.
 *
 * Owns the record that goes from the tracker to detectors, rules, filters, ladders and lists. It is filled again for
 * each packet. Computes nothing.
 */
import type { Dissection, IcrcState } from '../dissection.ts';
import type { CapturedPacket } from '../types.ts';
import type { ConversationReport } from './types.ts';

/** What a packet is to its conversation. */
export const Role = {
  /** Not RoCEv2, or not to be read. */
  None: 0,
  /** A request of a connected service. */
  Request: 1,
  /** An ACK or NAK, a READ response, an atomic response. */
  Response: 2,
  /** A datagram of UD. */
  Datagram: 3,
  /** A congestion notification. */
  Cnp: 4,
  /** A management datagram to queue pair 1. */
  Management: 5,
} as const;
/** One of the roles. */
export type Role = (typeof Role)[keyof typeof Role];

/** What is remarkable in a packet; bits that may come together. */
export const Mark = {
  /** Its PSN was sent before, by the same end. */
  Retransmission: 1 << 0,
  /** The same frame again, unchanged. */
  Copy: 1 << 1,
  /** An original that comes after packets sent later. */
  Late: 1 << 2,
  /** Packets are missing before it. */
  Gap: 1 << 3,
  /** NAK, other than RNR. */
  Nak: 1 << 4,
  /** RNR NAK. */
  RnrNak: 1 << 5,
  /** Requests again what is missing in a gap of READ responses. */
  ImpliedNak: 1 << 6,
  /** Sent after a timeout. */
  AfterTimeout: 1 << 7,
  /** Acknowledges what is acknowledged already, or what was never requested. */
  GhostAck: 1 << 8,
  /** The ICRC is wrong. */
  BadIcrc: 1 << 9,
  /** Marked CE by the network. */
  Ce: 1 << 10,
  /** Breaks a rule of the protocol. */
  Violation: 1 << 11,
} as const;

/** Names of the marks for filters and lists, by bit number. */
export const MARK_NAMES = [
  'retransmission',
  'copy',
  'late',
  'gap',
  'nak',
  'rnr-nak',
  'implied-nak',
  'after-timeout',
  'ghost-ack',
  'bad-icrc',
  'ce',
  'violation',
] as const;

/** One packet. The same object for all packets: read it before the next one. */
export interface PacketFacts {
  /** The packet itself. */
  readonly packet: CapturedPacket;
  /** What it was dissected into. */
  readonly dissection: Dissection;
  /** Whether its ICRC is right. */
  readonly icrc: IcrcState;
  /** Since the first packet of the capture. */
  readonly timeNs: number;
  /** Undefined for what belongs to none. Its figures include this packet. */
  readonly conversation: ConversationReport | undefined;
  /** The end that sent it. */
  readonly sender: 0 | 1;
  /** The end whose PSN space it is in: the sender of a request, the receiver of a response. */
  readonly requester: 0 | 1;
  /** What it is to its conversation. */
  readonly role: Role;
  /**
   * PSN counted from the first of its PSN space, without wrapping; NaN where it has none. Negative before the first one
   * seen.
   */
  readonly relativePsn: number;
  /** PSNs that it takes: of a READ request those of its responses, otherwise 1. */
  readonly psnCount: number;
  /** Bits of `Mark`. */
  readonly marks: number;
  /** With `Mark.Gap`: packets missing before it. */
  readonly missing: number;
  /**
   * Of a request whose PSN was sent before with another opcode or length: those, `opcode << 16 | bytes`; -1: not known
   * to be another.
   */
  readonly earlierShape: number;
  /** A packet it refers to, as `TransportEvent.refersTo`; -1: none. */
  readonly refersTo: number;
}
