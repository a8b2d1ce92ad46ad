/**
 * Commands that make, show and end queue pairs, and the doorbell. Rules: linux:core/uverbs_cmd.c#create_qp,
 * rxe:rxe_qp.c#rxe_qp_chk_init, #rxe_qp_chk_cap, #rxe_init_sq, #rxe_init_rq.
 */
import { IpAddress } from '../../../packets/address.ts';
import { QpState } from '../../../transport/qp-state.ts';
import { QpType } from '../../../transport/qp-type.ts';
import {
  ATTACH_MCAST,
  CREATE_QP,
  CREATE_QP_RESP,
  DESTROY_QP,
  DESTROY_QP_RESP,
  EX_CREATE_QP,
  EX_CREATE_QP_RESP,
  MODIFY_QP,
  POST_SEND,
  POST_SEND_RESP,
  QP_DEST,
  QUERY_QP,
  QUERY_QP_RESP,
} from '../abi/queues.ts';
import { RXE_CREATE_QP_RESP, RXE_RECV_WQE, RXE_SEND_WQE, RXE_SGE } from '../abi/rxe.ts';
import type { ParsedCommand, Reply } from '../command.ts';
import type { Context } from '../context.ts';
import { Errno, Refusal } from '../errno.ts';
import { type Fields, response } from '../fields.ts';
import type { QpCaps, QpObject } from '../handles.ts';
import { ReceiveRing } from '../receive-ring.ts';
import { InboundRing, type RingSize, ringSize } from '../ring.ts';
import { SendRing } from '../send-ring.ts';
import { WorkIds } from '../work-ids.ts';
import { putMapping } from './completion.ts';

/** Values of enum ib_qp_type. Raw packets and XRC are known to the kernel, and rdma_rxe has none. */
const TYPES: Readonly<Record<number, QpType>> = { 2: QpType.Rc, 3: QpType.Uc, 4: QpType.Ud };
const KERNEL_TYPES: readonly number[] = [2, 3, 4, 8, 9, 10, 0xff];

export function createQp(context: Context, command: ParsedCommand): Reply {
  const core = response(CREATE_QP_RESP);
  return { core, driver: create(context, command.request, CREATE_QP.at, command.driverRoom, core) };
}

export function createQpExtended(context: Context, { request, room, driverRoom }: ParsedCommand): Reply {
  const at = EX_CREATE_QP.at;
  if (request.u32(at.comp_mask) !== 0 || request.u8(at.reserved) !== 0) throw new Refusal(Errno.EINVAL);
  if (request.u32(at.create_flags) !== 0) throw new Refusal(Errno.EOPNOTSUPP);
  const core = response(EX_CREATE_QP_RESP);
  core.put32(EX_CREATE_QP_RESP.at.response_length, Math.min(room, EX_CREATE_QP_RESP.size));
  return { core, driver: create(context, request, at, driverRoom, core) };
}

type CreateOffsets = Readonly<Record<Exclude<keyof typeof CREATE_QP.at, 'response'>, number>>;

function create(context: Context, request: Fields, at: CreateOffsets, room: number, core: Fields): Fields {
  const { facts, handles } = context;
  const kernelType = request.u8(at.qp_type);
  if (!KERNEL_TYPES.includes(kernelType)) throw new Refusal(Errno.EINVAL);
  const srq = request.u8(at.is_srq) === 0 ? undefined : handles.get('srq', request.u32(at.srq_handle));
  const sendCq = handles.get('cq', request.u32(at.send_cq_handle)).cq;
  const recvCq = handles.get('cq', request.u32(at.recv_cq_handle)).cq;
  const { pd } = handles.get('pd', request.u32(at.pd_handle));
  const type = TYPES[kernelType];
  if (type === undefined) throw new Refusal(Errno.EOPNOTSUPP);
  if (room < RXE_CREATE_QP_RESP.size) throw new Refusal(Errno.EINVAL);
  const asked = {
    maxSendWr: request.u32(at.max_send_wr),
    maxRecvWr: srq === undefined ? request.u32(at.max_recv_wr) : 0,
    maxSendSge: request.u32(at.max_send_sge),
    maxRecvSge: srq === undefined ? request.u32(at.max_recv_sge) : 0,
    maxInline: request.u32(at.max_inline_data),
  };
  if (asked.maxSendWr > facts.maxQpWr || asked.maxRecvWr > facts.maxQpWr) throw new Refusal(Errno.EINVAL);
  if (asked.maxSendSge > facts.maxSge || asked.maxRecvSge > facts.maxSge) throw new Refusal(Errno.EINVAL);
  if (asked.maxInline > facts.maxInline) throw new Refusal(Errno.EINVAL);
  const { caps, sendSize, recvSize } = sized(asked);
  const sendShared = context.allocate(sendSize);
  const bounds = {
    maxSge: caps.maxSendSge,
    maxInline: caps.maxInline,
    datagrams: type === QpType.Ud ? pd.core : undefined,
    allSignaled: request.u8(at.sq_sig_all) !== 0,
  };
  const sends = new SendRing(new InboundRing(sendShared, sendSize), bounds, context);
  const ids = srq?.receives.ids ?? new WorkIds();
  let receives: ReceiveRing | undefined;
  try {
    if (srq === undefined)
      receives = new ReceiveRing(new InboundRing(context.allocate(recvSize), recvSize), caps.maxRecvSge, ids, context);
    const qp = pd.createQp({
      ...{ type, sendCq, recvCq },
      maxSendWr: caps.maxSendWr,
      maxRecvWr: caps.maxRecvWr,
      maxSge: Math.max(caps.maxSendSge, caps.maxRecvSge),
      maxInlineData: caps.maxInline,
      ...(srq === undefined ? {} : { srq: srq.srq }),
      ...(receives === undefined ? {} : { receiveSource: receives }),
    });
    const object: QpObject = {
      ...{ kind: 'qp', qp, sends, receives, ids, caps },
      userHandle: request.u64(at.user_handle),
      attributes: response(MODIFY_QP),
      ...{ asyncEvents: 0, ended: false },
    };
    context.addQp(object);
    describe(core, context.handles.add(object), object);
    const driver = response(RXE_CREATE_QP_RESP);
    if (receives !== undefined) putMapping(driver, RXE_CREATE_QP_RESP.at.rq_mi, receives.shared, recvSize.bytes);
    putMapping(driver, RXE_CREATE_QP_RESP.at.sq_mi, sendShared, sendSize.bytes);
    return driver;
  } catch (error) {
    context.host.free(sendShared);
    if (receives !== undefined) context.host.free(receives.shared);
    throw error;
  }
}

/** What a queue pair gets when it asks for so much: room is given in whole segments, and entries to fill the ring. */
function sized(asked: QpCaps): { caps: QpCaps; sendSize: RingSize; recvSize: RingSize } {
  const data = Math.max(asked.maxSendSge * RXE_SGE.size, asked.maxInline);
  const maxSendSge = Math.floor(data / RXE_SGE.size);
  const sendSize = ringSize(asked.maxSendWr, RXE_SEND_WQE.size + data);
  const recvSize = ringSize(asked.maxRecvWr, RXE_RECV_WQE.size + asked.maxRecvSge * RXE_SGE.size);
  const caps = {
    maxSendWr: sendSize.capacity,
    maxRecvWr: asked.maxRecvWr === 0 && asked.maxRecvSge === 0 ? 0 : recvSize.capacity,
    maxSendSge,
    maxRecvSge: asked.maxRecvSge,
    maxInline: data,
  };
  return { caps, sendSize, recvSize };
}

function describe(core: Fields, handle: number, { qp, caps }: QpObject): void {
  const at = CREATE_QP_RESP.at;
  core.put32(at.qp_handle, handle);
  core.put32(at.qpn, qp.qpn);
  putCaps(core, at, caps);
}

type CapsOffsets = Readonly<
  Record<'max_send_wr' | 'max_recv_wr' | 'max_send_sge' | 'max_recv_sge' | 'max_inline_data', number>
>;

function putCaps(fields: Fields, at: CapsOffsets, caps: QpCaps): void {
  fields.put32(at.max_send_wr, caps.maxSendWr);
  fields.put32(at.max_recv_wr, caps.maxRecvWr);
  fields.put32(at.max_send_sge, caps.maxSendSge);
  fields.put32(at.max_recv_sge, caps.maxRecvSge);
  fields.put32(at.max_inline_data, caps.maxInline);
}

/** What MODIFY_QP has set, and what moves by itself. */
export function queryQp({ handles }: Context, { request }: ParsedCommand): Reply {
  const object = handles.get('qp', request.u32(QUERY_QP.at.qp_handle));
  const { attributes, qp, caps, sends } = object;
  const at = QUERY_QP_RESP.at;
  const reply = response(QUERY_QP_RESP);
  const copy = (from: keyof typeof MODIFY_QP.at, to: number, bytes: number): void =>
    reply.bytes.set(attributes.slice(MODIFY_QP.at[from], bytes), to);
  copy('dest', at.dest, QP_DEST.size);
  copy('alt_dest', at.alt_dest, QP_DEST.size);
  for (const name of ['qkey', 'rq_psn', 'sq_psn', 'dest_qp_num', 'qp_access_flags'] as const) copy(name, at[name], 4);
  for (const name of BYTE_ATTRIBUTES) copy(name, at[name], 1);
  putCaps(reply, at, caps);
  reply.put8(at.qp_state, qp.state);
  reply.put8(at.cur_qp_state, qp.state);
  reply.put8(at.path_mig_state, qp.core.config.pathMigState);
  reply.put8(at.sq_draining, qp.state === QpState.Sqd && qp.core.sendsOutstanding > 0 ? 1 : 0);
  reply.put8(at.sq_sig_all, sends.bounds.allSignaled ? 1 : 0);
  return { core: reply };
}

const BYTE_ATTRIBUTES = [
  'path_mtu',
  'max_rd_atomic',
  'max_dest_rd_atomic',
  'min_rnr_timer',
  'port_num',
  'timeout',
  'retry_cnt',
  'rnr_retry',
  'alt_port_num',
  'alt_timeout',
] as const;

export function destroyQp(context: Context, { request }: ParsedCommand): Reply {
  const handle = request.u32(DESTROY_QP.at.qp_handle);
  const object = context.handles.doomed('qp', handle);
  if (context.device.multicast.isMember(object.qp)) throw new Refusal(Errno.EBUSY);
  context.destroyQp(object);
  context.handles.remove(handle);
  const reply = response(DESTROY_QP_RESP);
  reply.put32(DESTROY_QP_RESP.at.events_reported, context.asyncEventsRead(object));
  return { core: reply };
}

/** The work requests lie in the ring; those that a command carries are for drivers without one. */
export function postSend(context: Context, { request }: ParsedCommand): Reply {
  ring(context, context.handles.get('qp', request.u32(POST_SEND.at.qp_handle)));
  return { core: response(POST_SEND_RESP) };
}

/** The doorbell. Refuses with EINVAL before RTS. */
export function ring(context: Context, { qp, sends }: QpObject): void {
  if (!sends.post(qp)) throw new Refusal(Errno.EINVAL);
  context.device.touched(qp);
}

/**
 * Once for a group, as linux:core/uverbs_cmd.c#ib_uverbs_attach_mcast: the next command for it waits for the first. The
 * LID is ignored, as annex A17 has it (linux:core/verbs.c#is_valid_mcast_lid).
 */
export async function attachMcast({ handles }: Context, { request }: ParsedCommand): Promise<Reply> {
  const { qp } = handles.get('qp', request.u32(ATTACH_MCAST.at.qp_handle));
  await qp.attachMcast(IpAddress.fromGid(request.view, ATTACH_MCAST.at.gid));
  return {};
}

export function detachMcast({ handles }: Context, { request }: ParsedCommand): Reply {
  const { qp } = handles.get('qp', request.u32(ATTACH_MCAST.at.qp_handle));
  qp.detachMcast(IpAddress.fromGid(request.view, ATTACH_MCAST.at.gid));
  return {};
}
