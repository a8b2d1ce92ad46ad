/**
 * What a queue pair is doing, as plain data, to be shown to people. Owns the shapes.
 * Everything here is a copy: changing it does not change the queue pair.
 */
import { PSN_MASK } from '../packets/psn.ts';
import type { WrOpcode } from './work.ts';

/** A send work request that has not completed. */
export interface SendInspection {
  /** As posted. */
  readonly wrId: number;
  /** As posted. */
  readonly opcode: WrOpcode;
  /** Message bytes. */
  readonly length: number;
  /** First PSN, 24 bits, of a READ that of its responses; -1 before the first packet has left. */
  readonly firstPsn: number;
  /** Last PSN, as `firstPsn`. */
  readonly lastPsn: number;
  /** PSNs whose responses have come, of a request that expects responses. */
  readonly answered: number;
  /** READs, atomics, FLUSH and ATOMIC WRITE complete by their response and not by an ACK. */
  readonly expectsResponse: boolean;
}

/** A receive work request that no message has taken. */
export interface ReceiveInspection {
  /** As posted. */
  readonly wrId: number;
  /** Bytes there is room for. */
  readonly length: number;
}

/** How far the requester of a reliable connection is. PSNs have 24 bits. */
export interface RequesterInspection {
  /** Of the next packet. Behind `sentPsn` while packets are sent again. */
  readonly nextPsn: number;
  /** The first that was never sent. */
  readonly sentPsn: number;
  /** The oldest that is not acknowledged. */
  readonly unackedPsn: number;
  /** READs, atomics, FLUSHes and ATOMIC WRITEs that were sent and lack responses. */
  readonly outstanding: number;
  /** Retries left after timeouts and sequence NAKs. */
  readonly retriesLeft: number;
  /** Retries left after RNR NAKs; 7 means infinitely many. */
  readonly rnrRetriesLeft: number;
  /** Waiting after an RNR NAK, until `deadline`. */
  readonly rnrWaiting: boolean;
  /** When the oldest packet counts as lost or the pause ends, in nanoseconds; Infinity when nothing is timed. */
  readonly deadline: number;
}

/** A reply that is owed. */
export interface ReplyInspection {
  /**
   * What is sent: an ACK, a NAK, READ responses, an atomic response, or a response without data (FLUSH, ATOMIC WRITE).
   */
  readonly kind: 'ack' | 'nak' | 'read' | 'atomic' | 'empty';
  /** PSN of its first packet, 24 bits. */
  readonly psn: number;
  /** PSN of its last packet, 24 bits. */
  readonly lastPsn: number;
  /** Answers a duplicate request. */
  readonly repeated: boolean;
}

/** A READ or atomic that was executed and is remembered, for duplicates. */
export interface ReplayInspection {
  /** Opcode of the request, 8 bits. */
  readonly opcode: number;
  /** First PSN that the request took up, 24 bits. */
  readonly firstPsn: number;
  /** Last PSN that the request took up, 24 bits. */
  readonly lastPsn: number;
  /** Atomics: the value before. */
  readonly original: bigint;
}

/** How far the responder of a reliable connection is. */
export interface ResponderInspection {
  /** The PSN to be executed next. */
  readonly expectedPsn: number;
  /** Messages executed, 24 bits. */
  readonly msn: number;
  /** A NAK for `expectedPsn` is out: other requests are dropped without a reply until that one comes. */
  readonly nakked: boolean;
  /** Replies that are owed, in the order of PSNs, in which they leave. */
  readonly replies: readonly ReplyInspection[];
  /** What was executed and is remembered for duplicates, in the order of PSNs. */
  readonly replays: readonly ReplayInspection[];
}

/** One queue pair. */
export interface QpInspection {
  /** Send work requests that have not completed, oldest first. */
  readonly sends: readonly SendInspection[];
  /** Receive work requests that no message has taken, oldest first. */
  readonly receives: readonly ReceiveInspection[];
  /** Of a reliable connection. */
  readonly requester?: RequesterInspection;
  /** Of a reliable connection. */
  readonly responder?: ResponderInspection;
  /** Unreliable services: the PSN of the next packet. */
  readonly nextPsn?: number;
}

/** The low 24 bits of an extended PSN: what travels. */
export function wirePsn(extended: number): number {
  return extended & PSN_MASK;
}
