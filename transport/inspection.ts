/**
 * What a queue pair is doing, as plain data, to be shown to people. Owns the shapes.
 * Everything here is a copy: changing it does not change the queue pair.
 */
import { PSN_MASK } from '../packets/psn.ts';
import type { WrOpcode } from './work.ts';

/** A send work request that has not completed. */
export interface SendInspection {
  readonly wrId: number;
  readonly opcode: WrOpcode;
  /** Message bytes. */
  readonly length: number;
  /** First and last PSN, 24 bits; -1 before the first packet has left. Of a READ: of its responses. */
  readonly firstPsn: number;
  readonly lastPsn: number;
  /** PSNs whose responses have come, of a request that expects responses. */
  readonly answered: number;
  /** READs, atomics, FLUSH and ATOMIC WRITE complete by their response and not by an ACK. */
  readonly expectsResponse: boolean;
}

/** A receive work request that no message has taken. */
export interface ReceiveInspection {
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
  readonly kind: 'ack' | 'nak' | 'read' | 'atomic' | 'empty';
  readonly psn: number;
  readonly lastPsn: number;
  /** Answers a duplicate request. */
  readonly repeated: boolean;
}

/** A READ or atomic that was executed and is remembered, for duplicates. */
export interface ReplayInspection {
  readonly opcode: number;
  readonly firstPsn: number;
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
  readonly replies: readonly ReplyInspection[];
  readonly replays: readonly ReplayInspection[];
}

/** One queue pair. */
export interface QpInspection {
  readonly sends: readonly SendInspection[];
  readonly receives: readonly ReceiveInspection[];
  /** Reliable connections. */
  readonly requester?: RequesterInspection;
  readonly responder?: ResponderInspection;
  /** Unreliable services: the PSN of the next packet. */
  readonly nextPsn?: number;
}

/** The low 24 bits of an extended PSN: what travels. */
export function wirePsn(extended: number): number {
  return extended & PSN_MASK;
}
