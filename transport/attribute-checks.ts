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
  checkRanges(attributes);
  if (attributes.mtu !== undefined && !PATH_MTUS.includes(attributes.mtu)) {
    throw new RoceError('ERR_ROCE_ARGUMENT', `path MTU is one of ${PATH_MTUS.join(', ')} bytes, not ${attributes.mtu}`);
  }
  if ((attributes.qkey ?? 0) >= PRIVILEGED_QKEY)
    throw new RoceError('ERR_ROCE_ACCESS', 'a Q_Key with its highest bit set belongs to management');
}

/** One by one, not from a table: a connection is modified three times at each end, and names as keys take longer. */
function checkRanges(attributes: QpAttributes): void {
  demandRange('access', attributes.access, 0x3_ff);
  demandRange('pkey', attributes.pkey, 0xff_ff);
  demandRange('qkey', attributes.qkey, 0xff_ff_ff_ff);
  demandRange('destQpn', attributes.destQpn, 0xff_ff_fe, 2);
  demandRange('rqPsn', attributes.rqPsn, 0xff_ff_ff);
  demandRange('sqPsn', attributes.sqPsn, 0xff_ff_ff);
  demandRange('maxDestRdAtomic', attributes.maxDestRdAtomic, 255);
  demandRange('maxRdAtomic', attributes.maxRdAtomic, 255);
  demandRange('minRnrTimer', attributes.minRnrTimer, 31);
  demandRange('timeout', attributes.timeout, 31);
  demandRange('retryCnt', attributes.retryCnt, 7);
  demandRange('rnrRetry', attributes.rnrRetry, 7);
  demandRange('pathMigState', attributes.pathMigState, MigState.Armed, MigState.Migrated);
  demandRange('migReq', attributes.migReq, 1);
  demandRange('msn', attributes.msn, 0xff_ff_ff);
}

function demandRange(name: AttributeName, value: number | undefined, high: number, low = 0): void {
  if (value === undefined || (Number.isInteger(value) && value >= low && value <= high)) return;
  throw new RoceError('ERR_ROCE_ARGUMENT', `${name} is a whole number from ${low} to ${high}`);
}

function checkMask(type: QpType, from: QpState, to: QpState, attributes: QpAttributes, move: string): void {
  const { required, optional } = maskOf(type, from, to);
  const missing = required.filter((name) => attributes[name] === undefined);
  if (missing.length > 0) throw new RoceError('ERR_ROCE_ARGUMENT', `${move} needs ${missing.join(', ')}`);
  const allowed: readonly (readonly AttributeName[])[] = [required, optional, ANY_MOVE[type]];
  const misplaced = (Object.keys(attributes) as AttributeName[]).filter(
    (name) => name !== 'state' && attributes[name] !== undefined && !allowed.some((names) => names.includes(name)),
  );
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
