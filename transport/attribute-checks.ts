/**
 * What `modify` demands of attributes: the move must be allowed, the attributes those that qp-masks.ts names for it,
 * and each value in its range. Changes nothing. Rules: ibv_modify_qp(3).
 */
import { RoceError } from '../packets/errors.ts';
import { MigState, PRIVILEGED_QKEY, type QpAttributes } from './qp-attributes.ts';
import { maskOf } from './qp-masks.ts';
import { canModify, QP_STATE_NAMES, type QpState } from './qp-state.ts';
import { QpType } from './qp-type.ts';

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
  const allowed: readonly AttributeName[] = ['state', ...ANY_MOVE[type], ...required, ...optional];
  const misplaced = given.filter((name) => !allowed.includes(name));
  if (misplaced.length > 0)
    throw new RoceError('ERR_ROCE_ARGUMENT', `${misplaced.join(', ')} cannot change from ${move}`);
}

/** Not an attribute of verbs, so it may change at any time. */
const ANY_MOVE: Readonly<Record<QpType, readonly AttributeName[]>> = {
  [QpType.Rc]: ['migReq', 'flowControl', 'msn'],
  [QpType.Uc]: ['migReq'],
  [QpType.Ud]: [],
  [QpType.XrcSend]: ['migReq'],
  [QpType.XrcRecv]: ['migReq'],
};
