/**
 * One connection, or the attempt at one, as the connection manager sees it.
 *
 * Owns: the fields. Never: decisions (the handlers), indexes (connection-table.ts).
 */
import type { IpAddress } from '../../packets/address.ts';
import type { CmPath, CmTransportService } from '../../packets/cm/index.ts';
import type { Timed } from './deadlines.ts';
import type { CmState } from './states.ts';
import type { CmId, WhenFull } from './types.ts';

/** A service id with a listener. */
export interface Listener {
  readonly serviceId: bigint;
  readonly backlog: number;
  readonly whenFull: WhenFull;
  readonly services: readonly CmTransportService[];
  /** Requests that the application has not answered yet. */
  waiting: number;
  /** Of them, those that the application has not taken and whose peers have got an MRA. They give way to no other. */
  told: number;
}

/** Which side has to reply about an alternate path. */
export type LapState = 'idle' | 'lap-sent' | 'mra-lap-rcvd' | 'lap-rcvd' | 'mra-lap-sent';

export interface SeenLap {
  readonly transactionId: bigint;
  readonly path: CmPath;
  /** MRA or APR. */
  answer: Uint8Array | undefined;
}

export class Connection implements Timed {
  readonly id: CmId;
  readonly role: 'active' | 'passive';
  readonly service: CmTransportService;
  readonly local: IpAddress;
  readonly remote: IpAddress;
  state: CmState;
  /** The application has let go of it: no more events. */
  detached = false;
  /** The application knows that it has ended, although DREQ is still being repeated. */
  endReported = false;

  /** Of the exchange that set the connection up; its replies echo it. */
  readonly transactionId: bigint;
  /** 0 until the peer has sent it. */
  remoteCommId = 0;
  remoteCaGuid = 0n;
  remoteQpn = 0;
  localQpn = 0;

  /** What the request offered, or what this side requested. */
  initiatorDepth = 0;
  responderResources = 0;

  /** The peer has shown that it is at its address: it is ours to call, or has answered with our communication id. */
  proven: boolean;

  /** Passive side: the request named an alternate path. */
  alternatePathOffered = false;
  /** Passive side: what counts against its backlog until the application has decided. */
  listener: Listener | undefined = undefined;

  /** Passive side: one of the listener's `told`. */
  told = false;
  /** REPs that may be repeated before anything shows that the peer is there. */
  unprovenReps: number;

  /** Sent again at each deadline until answered: REQ, REP or DREQ. */
  request: Uint8Array | undefined = undefined;
  retriesLeft = 0;
  readonly maxRetries: number;
  /** Between repetitions; an MRA makes it longer. */
  intervalNs: number;
  readonly responseTimeoutNs: number;
  /** Sent again when the peer repeats what it answered: MRA, RTU or REJ. */
  answer: Uint8Array | undefined = undefined;
  readonly timewaitNs: number;
  /** Changing the alternate path, while established (rdma:ib_cm.h, ib_cm_lap_state). */
  lap: LapState = 'idle';
  /** The LAP that was reported last, and what it was answered: a repetition gets the same. */
  lapSeen: SeenLap | undefined = undefined;
  /** When handleTimeout has something to do here; Infinity: never. Set by ConnectionTable.schedule only. */
  deadline = Number.POSITIVE_INFINITY;
  heapIndex = -1;

  constructor(init: ConnectionInit) {
    this.id = init.id;
    this.role = init.role;
    this.service = init.service;
    this.local = init.local;
    this.remote = init.remote;
    this.unprovenReps = init.unprovenReps ?? 0;
    this.proven = init.role === 'active';
    this.state = init.role === 'active' ? 'req-sent' : 'req-rcvd';
    this.transactionId = init.transactionId;
    this.maxRetries = init.maxRetries;
    this.intervalNs = init.responseTimeoutNs;
    this.responseTimeoutNs = init.responseTimeoutNs;
    this.timewaitNs = init.timewaitNs;
  }
}

/** What does not change afterwards. */
export interface ConnectionInit {
  readonly id: CmId;
  readonly role: 'active' | 'passive';
  readonly service: CmTransportService;
  readonly local: IpAddress;
  readonly remote: IpAddress;
  readonly transactionId: bigint;
  readonly maxRetries: number;
  readonly responseTimeoutNs: number;
  readonly timewaitNs: number;
  /** Passive side. */
  readonly unprovenReps?: number;
}
