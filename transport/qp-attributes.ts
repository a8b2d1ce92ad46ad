/**
 * The attributes of a queue pair and what `modify` demands of them: the move must be allowed, the attributes those that
 * qp-masks.ts names for it, and each value in its range. Names follow ibv_modify_qp(3). Nothing is changed here.
 */
import { RoceError } from '../packets/errors.ts';
import type { QpPath } from './qp-config.ts';
import { maskOf } from './qp-masks.ts';
import { canModify, QP_STATE_NAMES, type QpState } from './qp-state.ts';
import { QpType } from './qp-type.ts';

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
  /** Code of the wait asked for in RNR NAKs, 0..31; 0 is the longest. */
  readonly minRnrTimer?: number;
  /** First PSN sent, 24 bits. */
  readonly sqPsn?: number;
  /** Local ACK timeout code, 4.096 us * 2^timeout, 0..31; 0 waits for ever. */
  readonly timeout?: number;
  /** Retries after a timeout or sequence NAK, 0..7. */
  readonly retryCnt?: number;
  /** Retries after an RNR NAK, 0..7; 7 retries for ever. */
  readonly rnrRetry?: number;
  /** READs and atomics this side may have outstanding, 0..255. */
  readonly maxRdAtomic?: number;
  /** The way to take when the first one fails. */
  readonly altPath?: QpPath;
  /** A `MigState`: rearm asks for the alternate path to be armed, migrated takes it now. */
  readonly pathMigState?: MigState;
  /**
   * End-to-end flow control (the bit of that name in REQ and REP): heed credits that acknowledges of the peer carry, and give some.
   * Default no. A peer that gives none is not waited for. RC only; XRC receives are shared.
   */
  readonly flowControl?: boolean;
  /**
   * On the way to SQD: tell when all sends under way have completed [yes; verbs say no, and rdma_rxe always tells]
   * (IBV_QP_EN_SQD_ASYNC_NOTIFY).
   */
  readonly enSqdAsyncNotify?: boolean;
  /** The MigReq bit of packets sent; both values are accepted (ref:wire#4). */
  readonly migReq?: 0 | 1;
  /**
   * With `rqPsn`: how many messages of the peer are counted as executed already, 24 bits [0]; what acknowledges say goes on from there. Not
   * of verbs: to see the count wrap without 2^24 messages. RC only.
   */
  readonly msn?: number;
}

type AttributeName = keyof QpAttributes;

const RANGES: Partial<Record<AttributeName, readonly [number, number]>> = {
  access: [0, 0x3_ff],
  pkey: [0, 0xff_ff],
  qkey: [0, 0xff_ff_ff_ff],
  destQpn: [2, 0xff_ff_fe],
  rqPsn: [0, 0xff_ff_ff],
  sqPsn: [0, 0xff_ff_ff],
  maxDestRdAtomic: [0, 255],
  maxRdAtomic: [0, 255],
  minRnrTimer: [0, 31],
  timeout: [0, 31],
  retryCnt: [0, 7],
  rnrRetry: [0, 7],
  pathMigState: [MigState.Migrated, MigState.Armed],
  migReq: [0, 1],
  msn: [0, 0xff_ff_ff],
};

const PATH_MTUS: readonly number[] = [256, 512, 1024, 2048, 4096];

/**
 * Throws ERR_ROCE_STATE for a move that is not allowed, ERR_ROCE_ARGUMENT for missing, misplaced or bad attributes and
 * ERR_ROCE_ACCESS for a Q_Key that an application may not have (ref:conformance#UD-12).
 */
export function checkAttributes(type: QpType, from: QpState, attributes: QpAttributes): void {
  const to = attributes.state ?? from;
  const move = `${QP_STATE_NAMES[from]} to ${QP_STATE_NAMES[to] ?? to}`;
  if (!canModify(from, to)) throw new RoceError('ERR_ROCE_STATE', `a queue pair cannot move from ${move}`);
  checkMask(type, from, to, attributes, move);
  for (const [name, [low, high]] of Object.entries(RANGES) as [AttributeName, readonly [number, number]][]) {
    const value = attributes[name];
    if (value === undefined) continue;
    if (typeof value !== 'number' || !Number.isInteger(value) || value < low || value > high) {
      throw new RoceError('ERR_ROCE_ARGUMENT', `${name} is a whole number from ${low} to ${high}`);
    }
  }
  if (attributes.mtu !== undefined && !PATH_MTUS.includes(attributes.mtu)) {
    throw new RoceError('ERR_ROCE_ARGUMENT', `path MTU is one of ${PATH_MTUS.join(', ')} bytes, not ${attributes.mtu}`);
  }
  if ((attributes.qkey ?? 0) >= PRIVILEGED_QKEY)
    throw new RoceError('ERR_ROCE_ACCESS', 'a Q_Key with its highest bit set belongs to management');
}

function checkMask(type: QpType, from: QpState, to: QpState, attributes: QpAttributes, move: string): void {
  const { required, optional } = maskOf(type, from, to);
  const given = (Object.keys(attributes) as AttributeName[]).filter((name) => attributes[name] !== undefined);
  const missing = required.filter((name) => !given.includes(name));
  if (missing.length > 0) throw new RoceError('ERR_ROCE_ARGUMENT', `${move} needs ${missing.join(', ')}`);
  const allowed: readonly AttributeName[] = ['state', ...FREE[type], ...required, ...optional];
  const misplaced = given.filter((name) => !allowed.includes(name));
  if (misplaced.length > 0)
    throw new RoceError('ERR_ROCE_ARGUMENT', `${misplaced.join(', ')} cannot change from ${move}`);
}

/** Not an attribute of verbs, so it may change at any time. */
const FREE: Readonly<Record<QpType, readonly AttributeName[]>> = {
  [QpType.Rc]: ['migReq', 'flowControl', 'msn'],
  [QpType.Uc]: ['migReq'],
  [QpType.Ud]: [],
  [QpType.XrcSend]: ['migReq'],
  [QpType.XrcRecv]: ['migReq'],
};
