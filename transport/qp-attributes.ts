/** The attributes of a queue pair, as `modify` takes them. Owns the record; names follow ibv_modify_qp(3). */
import type { QpPath } from './qp-path.ts';
import type { QpState } from './qp-state.ts';

/** Path migration state, values of ibv_mig_state. */
export const MigState = {
  /** On the path it has; no alternate path is armed. */
  Migrated: 0,
  /** An alternate path is to be armed as soon as the peer agrees. */
  Rearm: 1,
  /** An alternate path waits to be taken. */
  Armed: 2,
} as const;
/** One of the states. */
export type MigState = (typeof MigState)[keyof typeof MigState];

/** Q_Keys with this bit are for the kernel of verbs: in a work request it stands for the queue pair's own Q_Key. */
export const PRIVILEGED_QKEY = 0x80_00_00_00;

/** Attributes of a queue pair (ibv_qp_attr); which of them a move needs or allows, ibv_modify_qp(3) says by type. */
export interface QpAttributes {
  /** The state to move to; absent: none. */
  readonly state?: QpState;
  /** Remote access allowed, a bit set of `Access`. Connected services. */
  readonly access?: number;
  /** P_Key of all packets, 16 bits. */
  readonly pkey?: number;
  /** UD: what datagrams must carry to be taken, 31 bits; the upper half is reserved for management (EPERM). */
  readonly qkey?: number;
  /** The way to the peer. Connected services. */
  readonly path?: QpPath;
  /** The peer's queue pair, 2..0xfffffe. Connected services. */
  readonly destQpn?: number;
  /** First PSN expected from the peer, 24 bits. */
  readonly rqPsn?: number;
  /** Path MTU: 256, 512, 1024, 2048 or 4096 bytes. */
  readonly mtu?: number;
  /** READs and atomics the peer may have outstanding, 0..255. */
  readonly maxDestRdAtomic?: number;
  /** Code of the RNR timer in RNR NAKs, 0..31; 0 is the longest. */
  readonly minRnrTimer?: number;
  /** First PSN sent, 24 bits. */
  readonly sqPsn?: number;
  /** Local ACK timeout code, 4.096 us * 2^timeout, 0..31; 0 waits infinitely. */
  readonly timeout?: number;
  /** Retries after a timeout or sequence NAK, 0..7. */
  readonly retryCnt?: number;
  /** Retries after an RNR NAK, 0..7; 7 retries infinitely. */
  readonly rnrRetry?: number;
  /** READs and atomics this side may have outstanding, 0..255. */
  readonly maxRdAtomic?: number;
  /** The way to take when the first one fails. */
  readonly altPath?: QpPath;
  /** A `MigState`: rearm arms the alternate path, migrated takes it now. */
  readonly pathMigState?: MigState;
  /**
   * End-to-end flow control (the bit of that name in REQ and REP): heed the credits in the peer's ACKs, and give
   * credits. Default no. A peer that gives none is not waited for. RC only; XRC receives are shared.
   */
  readonly flowControl?: boolean;
  /**
   * On the way to SQD: report when all sends under way have completed [yes; verbs say no, and rdma_rxe always reports]
   * (IBV_QP_EN_SQD_ASYNC_NOTIFY).
   */
  readonly enSqdAsyncNotify?: boolean;
  /** The MigReq bit of packets sent; both values are accepted (ref:wire#4). */
  readonly migReq?: 0 | 1;
  /**
   * With `rqPsn`: how many messages of the peer are counted as executed already, 24 bits [0]; the MSN of ACKs goes on
   * from there. Not of verbs: to see the count wrap without 2^24 messages. RC only.
   */
  readonly msn?: number;
}
