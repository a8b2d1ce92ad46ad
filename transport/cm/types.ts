/**
 * What goes into and comes out of the connection manager: options, requests of the application, events, outgoing MADs,
 * statuses.
 *
 * Owns: shapes only. Units are in the names or comments; a "code" is a 5-bit exponent that means 4.096 us * 2^code.
 */
import type { IpAddress } from '../../packets/address.ts';
import type { CmPath, CmRep, CmReq, CmTransportService, IpCmHeader } from '../../packets/cm/index.ts';
import type { Random } from '../random.ts';
import type { CmId } from './cm-id.ts';
import type { SidrEvent } from './sidr-types.ts';
import type { CmState } from './states.ts';

export type { CmId } from './cm-id.ts';

/** How a connection manager works. */
export interface CmOptions {
  /** Communication ids and transaction ids come from here: a predictable source makes spoofing easy. */
  readonly random: Random;
  /** GUID of the channel adapter; peers tell restarted and running connections apart by it. */
  readonly caGuid: bigint;
  /**
   * Requests that no application has taken yet and remembered refusals, and lookups of datagram services, at most; some
   * 2 kB each. Beyond that the source with most requests loses one. Default 1024.
   */
  readonly maxPending?: number;
  /** Of them at one listener from one source address, at most. Default 512. */
  readonly maxPendingPerSource?: number;
  /**
   * Repetitions of a REP by its own timer while nothing shows that the peer is there; each repetition of its REQ allows
   * one more. Default 7.
   */
  readonly maxUnprovenReps?: number;
  /** Outgoing MADs at most that wait for pollTransmit; more are dropped, as a full wire would. Default 1024. */
  readonly maxTransmits?: number;
  /** Code: upper limit of the response timeouts and TIMEWAIT lengths that peers request. Default 20 (4.3 s). */
  readonly maxResponseTimeout?: number;
  /** Code: upper limit of the delay an MRA may request. Default 24 (69 s), what rdma_cm requests. */
  readonly maxServiceTimeout?: number;
  /** How long the application may take for a request without MRA, ns. Default 60 s. */
  readonly requestLifetimeNs?: number;
  /** Code sent in REP. Default 15, as rdma_rxe. */
  readonly targetAckDelay?: number;
}

/** What `connect` needs. Numbers beyond the width of their field are refused. */
export interface ConnectParameters {
  /** See rdmaServiceId; the remote port is part of it. */
  readonly serviceId: bigint;
  /** Our address. */
  readonly local: IpAddress;
  /** The peer's address, of the same version. */
  readonly remote: IpAddress;
  /** Source port in the IP CM header, when the service id is one of RDMA CM. */
  readonly localPort: number;
  /**
   * What the queue pair is [rc]. XRC: this one initiates; what only a target has is left out of the REQ, as ib_cm does.
   */
  readonly service?: CmTransportService;
  /** Our queue pair, 24 bits. */
  readonly qpn: number;
  /** PSN with which the peer is to begin, 24 bits. */
  readonly startingPsn: number;
  /** MTU code, 1 (256) to 5 (4096). */
  readonly mtu: number;
  /** READs and atomics this side wants to have outstanding. */
  readonly initiatorDepth: number;
  /** READs and atomics this side can answer at a time. */
  readonly responderResources: number;
  /** Transport retries of both sides, 0..7. */
  readonly retryCount: number;
  /** RNR retries requested of the peer, 0..7; 7 infinitely. */
  readonly rnrRetryCount: number;
  /** Code: local ACK timeout of the connection. */
  readonly ackTimeout: number;
  /** Our queue pair takes from a shared receive queue [false]. */
  readonly srq?: boolean;
  /** Our ACKs carry credits [false]. */
  readonly flowControl?: boolean;
  /** Up to 56 bytes with an RDMA CM service id, up to 92 with any other. */
  readonly privateData?: Uint8Array;
  /** Code: how long either side waits for an answer of connection management. Default 20, as rdma_cm. */
  readonly cmResponseTimeout?: number;
  /** Repetitions of REQ, 0 to 15. Default 15, as rdma_cm. */
  readonly maxCmRetries?: number;
  /** DSCP and ECN of the connection, 0..255 [0]. */
  readonly trafficClass?: number;
  /** Default 64. */
  readonly hopLimit?: number;
  /** Default: random, so that connections spread over equal-cost paths. */
  readonly flowLabel?: number;
  /** P_Key, 16 bits [0xffff]. */
  readonly partitionKey?: number;
}

/** What `accept` needs. */
export interface AcceptParameters {
  /** Our queue pair, 24 bits. */
  readonly qpn: number;
  /** PSN with which the peer is to begin, 24 bits. */
  readonly startingPsn: number;
  /** Cut to the responder resources of the request. */
  readonly initiatorDepth: number;
  /** Cut to the initiator depth of the request. */
  readonly responderResources: number;
  /** RNR retries requested of the peer, 0..7; 7 infinitely. */
  readonly rnrRetryCount: number;
  /** Our queue pair takes from a shared receive queue [false]. */
  readonly srq?: boolean;
  /** Our ACKs carry credits [false]. */
  readonly flowControl?: boolean;
  /**
   * What became of the alternate path of the request: 0 loaded, 1 not supported, 2 refused. Default 1 when the request
   * has one, 0 (as ib_cm sends it) when it has none.
   */
  readonly failoverAccepted?: 0 | 1 | 2;
  /** Up to 196 bytes. */
  readonly privateData?: Uint8Array;
}

/** An alternate path as this side sees it. */
export interface AlternatePath {
  /** Our address on it. */
  readonly local: IpAddress;
  /** The peer's address on it. */
  readonly remote: IpAddress;
  /** 20 bits. */
  readonly flowLabel: number;
  /** 8 bits: DSCP and ECN. */
  readonly trafficClass: number;
  /** 8 bits. */
  readonly hopLimit: number;
  /** Code: local ACK timeout on this path. */
  readonly ackTimeout: number;
}

/**
 * What has happened to a connection or a lookup, told apart by `type`. `id` names it; `privateData` is what came with
 * the message: the
 * whole field, zeros at its end included, but for the IP CM header. `rep`, `request` and `info` are the message's own;
 * `reason` is a `CmRejReason`,
 * `serviceTimeout` a code; `source` and `destination` are the packet's addresses.
 */
export type CmEvent =
  | SidrEvent
  | AlternatePathEvent
  | {
      readonly type: 'connect-request';
      readonly id: CmId;
      readonly request: CmReq;
      readonly service: CmTransportService;
      /**
       * Present when the service id is one of RDMA CM. What it says is the peer's claim; `source` is where the packet
       * came from.
       */
      readonly ipHeader: IpCmHeader | undefined;
      /** Behind the IP CM header, if there is one. */
      readonly privateData: Uint8Array;
      readonly source: IpAddress;
      readonly destination: IpAddress;
    }
  | {
      readonly type: 'connect-response';
      readonly id: CmId;
      readonly rep: CmRep;
      /** The peer's queue pair, wherever the REP has it. */
      readonly remoteQpn: number;
      readonly privateData: Uint8Array;
      /** What this side may have outstanding: its own wish, cut to the peer's resources. */
      readonly initiatorDepth: number;
      /** What this side must be able to answer. */
      readonly responderResources: number;
    }
  | {
      readonly type: 'established';
      readonly id: CmId;
      readonly cause: EstablishCause;
      readonly privateData: Uint8Array;
    }
  | { readonly type: 'mra'; readonly id: CmId; readonly serviceTimeout: number; readonly privateData: Uint8Array }
  | {
      readonly type: 'rejected';
      readonly id: CmId;
      readonly reason: number;
      readonly info: Uint8Array;
      readonly privateData: Uint8Array;
    }
  /** Retries are used up, or (`application`) the peer has lost patience with our accept. The id is gone. */
  | { readonly type: 'unreachable'; readonly id: CmId; readonly waitingFor: 'REP' | 'RTU' | 'application' }
  | {
      readonly type: 'disconnected';
      readonly id: CmId;
      readonly cause: DisconnectCause;
      readonly privateData: Uint8Array;
    }
  /** TIMEWAIT is over: the id is gone, and the queue pair number may be used again. */
  | { readonly type: 'timewait-exit'; readonly id: CmId };

/** The first is to be answered by `answerAlternatePath`; the others end what `loadAlternatePath` began. */
export type AlternatePathEvent =
  | {
      readonly type: 'alternate-path-request';
      readonly id: CmId;
      /** As the peer sees it: its "local" is our remote. */
      readonly path: CmPath;
      readonly privateData: Uint8Array;
    }
  | {
      readonly type: 'alternate-path-response';
      readonly id: CmId;
      /** A `CmAprStatus`. */
      readonly status: number;
      readonly info: Uint8Array;
      readonly privateData: Uint8Array;
    }
  | { readonly type: 'alternate-path-unanswered'; readonly id: CmId };

/** RTU arrived; data arrived before it; or our own `ready` on the active side. */
export type EstablishCause = 'rtu' | 'traffic' | 'ready';
/**
 * DREQ arrived; DREP arrived; our DREQ stayed without a reply; the peer has forgotten the connection; the peer sent
 * REJ.
 */
export type DisconnectCause = 'dreq' | 'drep' | 'timeout' | 'stale' | 'rej';

/**
 * A MAD to send: UD SEND ONLY from queue pair 1 to queue pair 1, Q_Key GSI_QKEY. The bytes must not be changed: they
 * may be sent again.
 */
export interface OutgoingMad {
  /** The MAD, 256 bytes. */
  readonly bytes: Uint8Array;
  /** Our address. */
  readonly source: IpAddress;
  /** Where it goes. */
  readonly destination: IpAddress;
  /** Queue pair there; 1 but for a MAD that came from another. */
  readonly remoteQpn: number;
  /** Sent before, and the peer has not answered or has not heard it. */
  readonly repeated: boolean;
  /** Answers a message whose source has not shown that it is there. */
  readonly unproven: boolean;
}

/** Where a MAD came from, as the packet says. Its Q_Key, ICRC and length have been checked by the device. */
export interface MadOrigin {
  /** Where it came from. */
  readonly source: IpAddress;
  /** Which of our addresses it was sent to. */
  readonly destination: IpAddress;
  /** The queue pair that sent it. */
  readonly sourceQpn: number;
}

/** What became of a MAD. Each value has a counter. */
export const CmInputStatus = {
  /** Taken. */
  Ok: 0,
  /** Not 256 bytes. */
  BadLength: 1,
  /** Base version other than 1. */
  BadBaseVersion: 2,
  /** Another management class. */
  NotCm: 3,
  /** Class version other than 2. */
  BadClassVersion: 4,
  /** A method other than Send. */
  BadMethod: 5,
  /** No message has this attribute id. */
  UnknownAttribute: 6,
  /** Not from queue pair 1, which only a privileged process owns. */
  BadSourceQpn: 7,
  /** A repetition, absorbed or answered as before. */
  Duplicate: 8,
  /** Nothing here has these communication ids. */
  UnknownId: 9,
  /** Right ids, but not from the connection's peer. */
  ForeignAddress: 10,
  /** A DREQ that names another queue pair than the connection's. */
  WrongQpn: 11,
  /** Right ids, but nothing that the state of the connection allows. */
  UnexpectedState: 12,
  /** No listener for the service id; drew a REJ. */
  NoListener: 13,
  /** Names a queue pair that is connected already. */
  Stale: 14,
  /** A REQ or REP with values we do not take; it drew a REJ. */
  Refused: 15,
  /** As many half-open connections as allowed. */
  TableFull: 16,
  /** As many requests as the listener takes wait for its application. */
  BacklogFull: 17,
  /** Names a connection that exists, but another queue pair than it has. */
  DuplicateCommId: 18,
  /** As many requests of its source wait for the application as allowed. */
  SourceFull: 19,
} as const;
/** One of the statuses. */
export type CmInputStatus = (typeof CmInputStatus)[keyof typeof CmInputStatus];

/** Name of a status. */
export function cmInputStatusName(status: CmInputStatus): string {
  return STATUS_NAMES[status] ?? `status ${status}`;
}

/** Where a connection stands, as plain data, to be shown to people. */
export interface CmInspection {
  /** Its state. */
  readonly state: CmState;
  /** When it goes on by itself, in ns; Infinity: it waits for the peer or the application, for as long as they take. */
  readonly deadline: number;
  /**
   * What happens at the deadline. 'repeat': its REQ, REP, DREQ or LAP is sent again; 'wait': it is not, as nothing has
   * shown that the peer is there; 'expire': the state ends, by giving up where an answer is missing.
   */
  readonly next: 'repeat' | 'wait' | 'expire';
  /** How often it may still repeat. */
  readonly retriesLeft: number;
}

/**
 * What happens to a request that finds its listener's backlog full: nothing, so that the peer tries again (ib_cm), or a
 * refusal.
 */
export type WhenFull = 'drop' | 'reject';

/** What rdma_cm uses: 4.3 s, 15 times. */
export const DEFAULT_CM_RESPONSE_TIMEOUT = 20;
/** Repetitions of REQ and its siblings. */
export const DEFAULT_CM_RETRIES = 15;

/** 4.096 us * 2^code, in ns. */
export function codeToNs(code: number): number {
  return 4096 * 2 ** code;
}

const STATUS_NAMES: readonly string[] = Object.keys(CmInputStatus);
