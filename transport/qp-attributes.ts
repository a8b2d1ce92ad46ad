/**
 * The attributes of a queue pair and what `modify` demands of them: ranges, and those each transition cannot do without.
 * Names and the required sets follow ibv_modify_qp(3) for RC.
 */
import { RoceError } from '../packets/errors.ts';
import type { QpPath } from './qp-config.ts';
import { canModify, QP_STATE_NAMES, QpState } from './qp-state.ts';

export interface QpAttributes {
  readonly state?: QpState;
  /** Remote access allowed, a bit set of `Access`. */
  readonly access?: number;
  readonly pkey?: number;
  readonly path?: QpPath;
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
  /** The MigReq bit of packets sent; both values are accepted (ref:wire#4). */
  readonly migReq?: 0 | 1;
}

type AttributeName = keyof QpAttributes;

const RANGES: Partial<Record<AttributeName, readonly [number, number]>> = {
  access: [0, 0x0f],
  pkey: [0, 0xff_ff],
  destQpn: [2, 0xff_ff_fe],
  rqPsn: [0, 0xff_ff_ff],
  sqPsn: [0, 0xff_ff_ff],
  maxDestRdAtomic: [0, 255],
  maxRdAtomic: [0, 255],
  minRnrTimer: [0, 31],
  timeout: [0, 31],
  retryCnt: [0, 7],
  rnrRetry: [0, 7],
  migReq: [0, 1],
};

const PATH_MTUS: readonly number[] = [256, 512, 1024, 2048, 4096];

const TO_RTR: readonly AttributeName[] = ['path', 'destQpn', 'rqPsn', 'mtu', 'maxDestRdAtomic', 'minRnrTimer'];
const TO_RTS: readonly AttributeName[] = ['sqPsn', 'timeout', 'retryCnt', 'rnrRetry', 'maxRdAtomic'];

/** Attributes that belong to the way to RTR or RTS; given at another time they would disturb a running connection. */
const RTR_ONLY: readonly AttributeName[] = ['path', 'destQpn', 'rqPsn', 'mtu'];
const RTS_ONLY: readonly AttributeName[] = ['sqPsn', 'timeout', 'retryCnt', 'rnrRetry', 'maxRdAtomic'];

/** Throws ERR_ROCE_STATE for a move that is not allowed and ERR_ROCE_ARGUMENT for missing, misplaced or bad attributes. */
export function checkAttributes(from: QpState, attributes: QpAttributes): void {
  const to = attributes.state ?? from;
  const move = `${QP_STATE_NAMES[from]} to ${QP_STATE_NAMES[to] ?? to}`;
  if (!canModify(from, to)) throw new RoceError('ERR_ROCE_STATE', `a queue pair cannot move from ${move}`);
  const toRtr = from === QpState.Init && to === QpState.Rtr;
  const toRts = from === QpState.Rtr && to === QpState.Rts;
  if (toRtr) demand(attributes, TO_RTR, move);
  if (toRts) demand(attributes, TO_RTS, move);
  if (!toRtr) forbid(attributes, RTR_ONLY, move);
  if (!toRts) forbid(attributes, RTS_ONLY, move);
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
}

function demand(attributes: QpAttributes, names: readonly AttributeName[], move: string): void {
  const missing = names.filter((name) => attributes[name] === undefined);
  if (missing.length > 0) throw new RoceError('ERR_ROCE_ARGUMENT', `${move} needs ${missing.join(', ')}`);
}

function forbid(attributes: QpAttributes, names: readonly AttributeName[], move: string): void {
  const misplaced = names.filter((name) => attributes[name] !== undefined);
  if (misplaced.length > 0)
    throw new RoceError('ERR_ROCE_ARGUMENT', `${misplaced.join(', ')} cannot change from ${move}`);
}
