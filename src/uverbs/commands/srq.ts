/**
 * Commands about shared receive queues. Rules: linux:core/uverbs_cmd.c#__uverbs_create_xsrq,
 * rxe:rxe_srq.c#rxe_srq_chk_init, #rxe_srq_chk_attr, #rxe_srq_from_attr.
 */
import {
  CREATE_SRQ,
  CREATE_SRQ_RESP,
  DESTROY_SRQ,
  DESTROY_SRQ_RESP,
  MODIFY_SRQ,
  QUERY_SRQ,
  QUERY_SRQ_RESP,
} from '../abi/queues.ts';
import { MMINFO, RXE_CREATE_SRQ_RESP, RXE_MODIFY_SRQ_CMD, RXE_RECV_WQE, RXE_SGE } from '../abi/rxe.ts';
import type { ParsedCommand, Reply } from '../command.ts';
import type { Context } from '../context.ts';
import { Errno, Refusal } from '../errno.ts';
import { response } from '../fields.ts';
import type { SrqObject } from '../handles.ts';
import { ReceiveRing } from '../receive-ring.ts';
import { InboundRing, ringSize } from '../ring.ts';
import { WorkIds } from '../work-ids.ts';
import { putMapping } from './completion.ts';

const SrqMask = { MAX_WR: 1, LIMIT: 2 } as const;

export function createSrq(context: Context, { request, driverRoom }: ParsedCommand): Reply {
  const at = CREATE_SRQ.at;
  const { pd } = context.handles.get('pd', request.u32(at.pd_handle));
  const maxWr = request.u32(at.max_wr);
  const maxSge = Math.max(1, request.u32(at.max_sge));
  const limit = request.u32(at.srq_limit);
  if (driverRoom < RXE_CREATE_SRQ_RESP.size) throw new Refusal(Errno.EINVAL);
  if (maxWr < 1 || maxWr > context.facts.maxSrqWr || maxSge > context.facts.maxSge) throw new Refusal(Errno.EINVAL);
  const size = ringSize(maxWr, entryBytes(maxSge));
  const { srq, receives } = context.allocateFor(size, (shared) => {
    const source = new ReceiveRing(new InboundRing(shared, size), maxSge, new WorkIds(), context);
    return { srq: pd.createSrq({ maxWr: size.capacity, maxSge, limit, source }), receives: source };
  });
  const events = { userHandle: request.u64(at.user_handle), asyncEvents: 0, ended: false };
  const object: SrqObject = { kind: 'srq', srq, receives, ...events };
  context.forwardEvents(srq.events, object);
  const core = response(CREATE_SRQ_RESP);
  core.put32(CREATE_SRQ_RESP.at.srq_handle, context.handles.add(object));
  core.put32(CREATE_SRQ_RESP.at.max_wr, size.capacity);
  core.put32(CREATE_SRQ_RESP.at.max_sge, maxSge);
  core.put32(CREATE_SRQ_RESP.at.srqn, srq.srqn);
  const driver = response(RXE_CREATE_SRQ_RESP);
  putMapping(driver, RXE_CREATE_SRQ_RESP.at.mi, receives.shared, size.bytes);
  driver.put32(RXE_CREATE_SRQ_RESP.at.srq_num, srq.srqn);
  return { core, driver };
}

function entryBytes(maxSge: number): number {
  return RXE_RECV_WQE.size + maxSge * RXE_SGE.size;
}

export function modifySrq(context: Context, { request, driver }: ParsedCommand): Reply {
  const at = MODIFY_SRQ.at;
  const { srq, receives } = context.handles.get('srq', request.u32(at.srq_handle));
  const mask = request.u32(at.attr_mask);
  if (driver.bytes.length < RXE_MODIFY_SRQ_CMD.size) throw new Refusal(Errno.EINVAL);
  const limit = (mask & SrqMask.LIMIT) === 0 ? srq.limit : request.u32(at.srq_limit);
  if ((mask & SrqMask.MAX_WR) === 0) {
    srq.modify({ limit });
    return {};
  }
  const maxWr = request.u32(at.max_wr);
  if (maxWr < 1 || maxWr > context.facts.maxSrqWr) throw new Refusal(Errno.EINVAL);
  const size = ringSize(maxWr, entryBytes(receives.maxSge));
  const before = context.allocateFor(size, (shared) => {
    const mapping = response(MMINFO);
    putMapping(mapping, 0, shared, size.bytes);
    const address = Number(driver.u64(RXE_MODIFY_SRQ_CMD.at.mmap_info_addr));
    if (!context.host.memory.write(address, mapping.bytes, 0, MMINFO.size)) throw new Refusal(Errno.EFAULT);
    // Last: what is refused changes nothing.
    srq.modify({ maxWr: size.capacity, limit });
    return receives.replace(shared, size);
  });
  context.host.free(before);
  return {};
}

export function querySrq({ handles }: Context, { request }: ParsedCommand): Reply {
  const { srq } = handles.get('srq', request.u32(QUERY_SRQ.at.srq_handle));
  const reply = response(QUERY_SRQ_RESP);
  reply.put32(QUERY_SRQ_RESP.at.max_wr, srq.maxWr);
  reply.put32(QUERY_SRQ_RESP.at.max_sge, srq.maxSge);
  reply.put32(QUERY_SRQ_RESP.at.srq_limit, srq.limit);
  return { core: reply };
}

export function destroySrq(context: Context, { request }: ParsedCommand): Reply {
  const handle = request.u32(DESTROY_SRQ.at.srq_handle);
  const object = context.handles.doomed('srq', handle);
  object.srq.destroy();
  object.receives.ids.clear();
  context.host.free(object.receives.shared);
  context.handles.remove(handle);
  const reply = response(DESTROY_SRQ_RESP);
  reply.put32(DESTROY_SRQ_RESP.at.events_reported, context.asyncEventsRead(object));
  return { core: reply };
}
