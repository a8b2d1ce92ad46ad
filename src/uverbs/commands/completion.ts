/**
 * Commands about completion queues. Rules: linux:core/uverbs_cmd.c#create_cq, #ib_uverbs_destroy_cq,
 * rxe:rxe_verbs.c#rxe_create_cq, #rxe_resize_cq, rxe:rxe_cq.c#rxe_cq_chk_attr.
 */
import { MMINFO, RXE_CREATE_CQ_RESP, RXE_RESIZE_CQ_RESP } from '../abi/rxe.ts';
import {
  CREATE_CQ,
  CREATE_CQ_RESP,
  DESTROY_CQ,
  DESTROY_CQ_RESP,
  EX_CREATE_CQ,
  EX_CREATE_CQ_RESP,
  REQ_NOTIFY_CQ,
  RESIZE_CQ,
  RESIZE_CQ_RESP,
  WC,
} from '../abi/verbs.ts';
import type { ParsedCommand, Reply } from '../command.ts';
import type { Context } from '../context.ts';
import { Errno, Refusal } from '../errno.ts';
import { type Fields, response } from '../fields.ts';
import type { CqObject } from '../handles.ts';
import type { SharedRing } from '../host.ts';
import { OutboundRing, ringSize } from '../ring.ts';
import { RingCq } from '../ring-cq.ts';

interface CqRequest {
  readonly userHandle: bigint;
  readonly cqe: number;
  readonly vector: number;
  readonly channel: number;
}

export function createCq(context: Context, { request, driverRoom }: ParsedCommand): Reply {
  const at = CREATE_CQ.at;
  const asked = {
    userHandle: request.u64(at.user_handle),
    cqe: request.u32(at.cqe),
    vector: request.u32(at.comp_vector),
    channel: request.s32(at.comp_channel),
  };
  const core = response(CREATE_CQ_RESP);
  return { core, driver: create(context, asked, driverRoom, core) };
}

export function createCqExtended(context: Context, { request, room, driverRoom }: ParsedCommand): Reply {
  const at = EX_CREATE_CQ.at;
  if (request.u32(at.comp_mask) !== 0 || request.u32(at.reserved) !== 0) throw new Refusal(Errno.EINVAL);
  // Timestamps and ignored overruns.
  if (request.u32(at.flags) !== 0) throw new Refusal(Errno.EOPNOTSUPP);
  const asked = {
    userHandle: request.u64(at.user_handle),
    cqe: request.u32(at.cqe),
    vector: request.u32(at.comp_vector),
    channel: request.s32(at.comp_channel),
  };
  const core = response(EX_CREATE_CQ_RESP);
  core.put32(EX_CREATE_CQ_RESP.at.response_length, Math.min(room, EX_CREATE_CQ_RESP.size));
  return { core, driver: create(context, asked, driverRoom, core) };
}

function create(context: Context, { userHandle, cqe, vector, channel }: CqRequest, room: number, core: Fields): Fields {
  if (vector !== 0) throw new Refusal(Errno.EINVAL);
  if (channel >= 0) context.demandChannel(channel);
  if (room < RXE_CREATE_CQ_RESP.size) throw new Refusal(Errno.EINVAL);
  if (cqe < 1 || cqe > context.facts.maxCqe) throw new Refusal(Errno.EINVAL);
  const size = ringSize(cqe, WC.size);
  const made = context.allocateFor(size, (shared) => ringCqOf(context, new OutboundRing(shared, size)));
  const events = { completionEvents: 0, asyncEvents: 0, ended: false };
  const object: CqObject = { kind: 'cq', cq: made, userHandle, channel, ...events };
  context.addCq(object);
  const handle = context.handles.add(object);
  const { armed } = context.host;
  if (armed !== undefined && handle < armed.length) made.armBy(armed, handle);
  core.put32(CREATE_CQ_RESP.at.cq_handle, handle);
  core.put32(CREATE_CQ_RESP.at.cqe, size.capacity);
  const driver = response(RXE_CREATE_CQ_RESP);
  putMapping(driver, RXE_CREATE_CQ_RESP.at.mi, made.ring.shared, size.bytes);
  return driver;
}

function ringCqOf(context: Context, ring: OutboundRing): RingCq {
  let made: RingCq | undefined;
  context.device.createCq(ring.size.capacity, (_capacity, notified, most, pools) => {
    made = new RingCq(ring, context, notified, most, pools);
    return made;
  });
  if (made === undefined) throw new Refusal(Errno.ENOMEM);
  return made;
}

/** Where the client maps a ring: struct mminfo. */
export function putMapping(fields: Fields, at: number, shared: SharedRing, bytes: number): void {
  fields.put64(at + MMINFO.at.offset, BigInt(shared.offset));
  fields.put32(at + MMINFO.at.size, bytes);
}

/** rdma_rxe sends within post_send: completions of what was posted before this count. */
export async function resizeCq(context: Context, { request, driverRoom }: ParsedCommand): Promise<Reply> {
  await context.host.turn();
  if (context.closed) throw new Refusal(Errno.EIO);
  const { cq } = context.handles.get('cq', request.u32(RESIZE_CQ.at.cq_handle));
  const cqe = request.u32(RESIZE_CQ.at.cqe);
  if (driverRoom < RXE_RESIZE_CQ_RESP.size) throw new Refusal(Errno.EINVAL);
  if (cqe < 1 || cqe > context.facts.maxCqe || cqe < cq.length) throw new Refusal(Errno.EINVAL);
  const size = ringSize(cqe, WC.size);
  const before = cq.ring.shared;
  // The client says what it has consumed, and may say something else by now.
  context.allocateFor(size, (shared) => cq.moveTo(new OutboundRing(shared, size)));
  context.host.free(before);
  const core = response(RESIZE_CQ_RESP);
  core.put32(RESIZE_CQ_RESP.at.cqe, size.capacity);
  const driver = response(RXE_RESIZE_CQ_RESP);
  putMapping(driver, RXE_RESIZE_CQ_RESP.at.mi, cq.ring.shared, size.bytes);
  return { core, driver };
}

export function destroyCq(context: Context, { request }: ParsedCommand): Reply {
  const handle = request.u32(DESTROY_CQ.at.cq_handle);
  const object = context.handles.doomed('cq', handle);
  context.destroyCq(object);
  context.handles.remove(handle);
  const reply = response(DESTROY_CQ_RESP);
  reply.put32(DESTROY_CQ_RESP.at.comp_events_reported, context.completionEventsRead(object));
  reply.put32(DESTROY_CQ_RESP.at.async_events_reported, context.asyncEventsRead(object));
  return { core: reply };
}

export function reqNotifyCq({ handles }: Context, { request }: ParsedCommand): Reply {
  const { cq } = handles.get('cq', request.u32(REQ_NOTIFY_CQ.at.cq_handle));
  cq.arm(request.u32(REQ_NOTIFY_CQ.at.solicited_only) !== 0);
  return {};
}
