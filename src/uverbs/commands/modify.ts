/**
 * MODIFY_QP: masks and values of the kernel as attributes of ours. Which attributes a move needs and allows the
 * transport decides, by the same table (transport/qp-masks.ts); what RoCE and our verbs do not have is checked here:
 * port, current state. Rules: linux:core/uverbs_cmd.c#modify_qp, rxe:rxe_qp.c#rxe_qp_chk_attr.
 */
import { IpAddress } from '../../../packets/address.ts';
import { Access } from '../../../transport/memory.ts';
import { QpState } from '../../../transport/qp-state.ts';
import { QpType } from '../../../transport/qp-type.ts';
import type { AddressVector, ModifyAttributes } from '../../device/verbs/index.ts';
import { EX_MODIFY_QP_RESP, MODIFY_QP, QP_DEST } from '../abi/queues.ts';
import type { ParsedCommand, Reply } from '../command.ts';
import type { Context } from '../context.ts';
import { type DeviceFacts, mtuOfCode } from '../device-facts.ts';
import { Errno, Refusal } from '../errno.ts';
import { type Fields, response } from '../fields.ts';
import type { QpObject } from '../handles.ts';

/** Values of enum ib_qp_attr_mask. */
export const QpMask = {
  STATE: 1,
  CUR_STATE: 1 << 1,
  EN_SQD_ASYNC_NOTIFY: 1 << 2,
  ACCESS_FLAGS: 1 << 3,
  PKEY_INDEX: 1 << 4,
  PORT: 1 << 5,
  QKEY: 1 << 6,
  AV: 1 << 7,
  PATH_MTU: 1 << 8,
  TIMEOUT: 1 << 9,
  RETRY_CNT: 1 << 10,
  RNR_RETRY: 1 << 11,
  RQ_PSN: 1 << 12,
  MAX_QP_RD_ATOMIC: 1 << 13,
  ALT_PATH: 1 << 14,
  MIN_RNR_TIMER: 1 << 15,
  SQ_PSN: 1 << 16,
  MAX_DEST_RD_ATOMIC: 1 << 17,
  PATH_MIG_STATE: 1 << 18,
  CAP: 1 << 19,
  DEST_QPN: 1 << 20,
} as const;

const STANDARD_BITS = (1 << 21) - 1;
const PSN_MASK = 0xff_ff_ff;
const FLOW_LABEL_MASK = 0xf_ff_ff;
const DEFAULT_HOP_LIMIT = 64;
/** Access flags of a queue pair that mean something here. */
const QP_ACCESS = 0x3_0f;

/** Which members of the command a bit makes valid: kept for QUERY_QP. */
const MEMBERS: readonly (readonly [number, keyof typeof MODIFY_QP.at, number])[] = [
  [QpMask.ACCESS_FLAGS, 'qp_access_flags', 4],
  [QpMask.PORT, 'port_num', 1],
  [QpMask.QKEY, 'qkey', 4],
  [QpMask.AV, 'dest', QP_DEST.size],
  [QpMask.PATH_MTU, 'path_mtu', 1],
  [QpMask.TIMEOUT, 'timeout', 1],
  [QpMask.RETRY_CNT, 'retry_cnt', 1],
  [QpMask.RNR_RETRY, 'rnr_retry', 1],
  [QpMask.RQ_PSN, 'rq_psn', 4],
  [QpMask.MAX_QP_RD_ATOMIC, 'max_rd_atomic', 1],
  [QpMask.ALT_PATH, 'alt_dest', QP_DEST.size],
  [QpMask.ALT_PATH, 'alt_port_num', 1],
  [QpMask.ALT_PATH, 'alt_timeout', 1],
  [QpMask.MIN_RNR_TIMER, 'min_rnr_timer', 1],
  [QpMask.SQ_PSN, 'sq_psn', 4],
  [QpMask.MAX_DEST_RD_ATOMIC, 'max_dest_rd_atomic', 1],
  [QpMask.DEST_QPN, 'dest_qp_num', 4],
];

export async function modifyQp(context: Context, { request }: ParsedCommand): Promise<Reply> {
  await modify(context, request);
  return {};
}

export async function modifyQpExtended(context: Context, { request, room }: ParsedCommand): Promise<Reply> {
  await modify(context, request);
  const core = response(EX_MODIFY_QP_RESP);
  core.put32(EX_MODIFY_QP_RESP.at.response_length, Math.min(room, EX_MODIFY_QP_RESP.size));
  return { core };
}

async function modify(context: Context, request: Fields): Promise<void> {
  const at = MODIFY_QP.at;
  const mask = request.u32(at.attr_mask);
  if ((mask & ~STANDARD_BITS) !== 0) throw new Refusal(Errno.EOPNOTSUPP);
  const object = context.handles.get('qp', request.u32(at.qp_handle));
  checkPlaces(request, mask, context.facts);
  const attributes = attributesOf(request, mask, object, context.facts);
  const { av, altAv } = attributes;
  // Nothing is awaited where there is nothing to resolve: the next command of another thread finds it done.
  if (av !== undefined) await context.device.resolve(av.destination);
  if (altAv !== undefined) await context.device.resolve(altAv.destination);
  // As the kernel does, after the resolution (linux:core/verbs.c#_ib_modify_qp): others may have moved it meanwhile.
  checkState(request, mask, object.qp.state);
  object.qp.modifyNow(attributes);
  for (const [bit, name, bytes] of MEMBERS)
    if ((mask & bit) !== 0) object.attributes.bytes.set(request.slice(at[name], bytes), at[name]);
  if (attributes.state === QpState.Reset) reset(object);
}

function reset({ sends, receives, attributes }: QpObject): void {
  sends.drop();
  receives?.drop();
  attributes.bytes.fill(0);
}

/** What our attributes do not have: that the state is the one that the client takes it for, and a port from INIT on. */
function checkState(request: Fields, mask: number, state: QpState): void {
  const at = MODIFY_QP.at;
  if ((mask & QpMask.CUR_STATE) !== 0 && request.u8(at.cur_qp_state) !== state) throw new Refusal(Errno.EINVAL);
  const begins = (mask & QpMask.STATE) !== 0 && request.u8(at.qp_state) === QpState.Init;
  const place = QpMask.PORT | QpMask.PKEY_INDEX;
  if (begins && state === QpState.Reset && (mask & place) !== place) throw new Refusal(Errno.EINVAL);
}

/** What our attributes do not have: the one port, and GIDs by their index. */
function checkPlaces(request: Fields, mask: number, { gids }: DeviceFacts): void {
  const at = MODIFY_QP.at;
  const refuse = (): never => {
    throw new Refusal(Errno.EINVAL);
  };
  if ((mask & QpMask.STATE) !== 0 && request.u8(at.qp_state) > QpState.Error) refuse();
  if ((mask & QpMask.PORT) !== 0 && request.u8(at.port_num) !== 1) refuse();
  for (const [bit, name] of [
    [QpMask.AV, 'dest'],
    [QpMask.ALT_PATH, 'alt_dest'],
  ] as const) {
    if ((mask & bit) === 0) continue;
    if (request.u8(at[name] + QP_DEST.at.port_num) !== 1) refuse();
    if (request.u8(at[name] + QP_DEST.at.is_global) === 0) refuse();
    if (request.u8(at[name] + QP_DEST.at.sgid_index) >= gids.length) refuse();
  }
}

function attributesOf(request: Fields, mask: number, { qp }: QpObject, facts: DeviceFacts): ModifyAttributes {
  const at = MODIFY_QP.at;
  const has = (bit: number): boolean => (mask & bit) !== 0;
  const rdAtomic = (value: number): number => {
    if (value > facts.device.limits.maxQpRdAtom) throw new Refusal(Errno.EINVAL);
    return value;
  };
  return {
    ...(has(QpMask.STATE) ? { state: request.u8(at.qp_state) as QpState } : {}),
    ...(has(QpMask.ACCESS_FLAGS) ? { access: (request.u32(at.qp_access_flags) & QP_ACCESS) | Access.LocalWrite } : {}),
    ...(has(QpMask.QKEY) ? { qkey: request.u32(at.qkey) } : {}),
    ...(has(QpMask.AV) && qp.type !== QpType.Ud ? { av: addressVectorOf(request, at.dest, facts) } : {}),
    ...(has(QpMask.ALT_PATH) ? { altAv: addressVectorOf(request, at.alt_dest, facts) } : {}),
    ...(has(QpMask.DEST_QPN) ? { destQpn: request.u32(at.dest_qp_num) & PSN_MASK } : {}),
    ...(has(QpMask.RQ_PSN) ? { rqPsn: request.u32(at.rq_psn) & PSN_MASK } : {}),
    ...(has(QpMask.SQ_PSN) ? { sqPsn: request.u32(at.sq_psn) & PSN_MASK } : {}),
    ...(has(QpMask.PATH_MTU) ? { mtu: mtuOfCode(request.u8(at.path_mtu)) } : {}),
    ...(has(QpMask.MAX_DEST_RD_ATOMIC) ? { maxDestRdAtomic: rdAtomic(request.u8(at.max_dest_rd_atomic)) } : {}),
    ...(has(QpMask.MAX_QP_RD_ATOMIC) ? { maxRdAtomic: rdAtomic(request.u8(at.max_rd_atomic)) } : {}),
    ...(has(QpMask.MIN_RNR_TIMER) ? { minRnrTimer: request.u8(at.min_rnr_timer) } : {}),
    ...(has(QpMask.TIMEOUT) ? { timeout: request.u8(at.timeout) } : {}),
    ...(has(QpMask.RETRY_CNT) ? { retryCnt: request.u8(at.retry_cnt) } : {}),
    ...(has(QpMask.RNR_RETRY) ? { rnrRetry: request.u8(at.rnr_retry) } : {}),
    ...(has(QpMask.PATH_MIG_STATE) ? { pathMigState: request.u8(at.path_mig_state) as 0 | 1 | 2 } : {}),
    ...(has(QpMask.EN_SQD_ASYNC_NOTIFY) ? { enSqdAsyncNotify: request.u8(at.en_sqd_async_notify) !== 0 } : {}),
  };
}

/** A struct ib_uverbs_qp_dest as an address vector. */
function addressVectorOf({ view, bytes }: Fields, at: number, { gids }: DeviceFacts): AddressVector {
  const { dgid, flow_label, sgid_index, hop_limit, traffic_class } = QP_DEST.at;
  return vectorOf({
    destination: IpAddress.fromGid(view, at + dgid),
    source: gids[bytes[at + sgid_index] ?? 0],
    flowLabel: view.getUint32(at + flow_label, true),
    hopLimit: bytes[at + hop_limit] ?? 0,
    trafficClass: bytes[at + traffic_class] ?? 0,
  });
}

/** Where a queue pair or an address handle leads, as the client has it. */
export interface Route {
  readonly destination: IpAddress;
  readonly source: IpAddress | undefined;
  readonly flowLabel: number;
  readonly hopLimit: number;
  readonly trafficClass: number;
}

/** The same as an address vector: a hop limit of 0 is filled in, as ib_core does for RoCE. */
export function vectorOf(route: Route): AddressVector {
  const { destination, source, flowLabel, hopLimit, trafficClass } = route;
  const flow = flowLabel & FLOW_LABEL_MASK;
  return {
    destination,
    ...(source === undefined ? {} : { source }),
    ...(flow === 0 ? {} : { flowLabel: flow }),
    hopLimit: hopLimit === 0 ? DEFAULT_HOP_LIMIT : hopLimit,
    trafficClass,
  };
}
