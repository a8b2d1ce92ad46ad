/**
 * Commands about domains, memory and windows. Rules: linux:core/uverbs_cmd.c#ib_uverbs_reg_mr,
 * linux:rdma/ib_verbs.h#ib_check_mr_access, rxe:rxe_verbs.c#rxe_reg_user_mr, rxe:rxe_mr.c#rxe_dereg_mr,
 * rxe:rxe_mw.c#rxe_alloc_mw; linux:core/uverbs_cmd.c#ib_uverbs_rereg_mr, rxe:rxe_verbs.c#rxe_rereg_user_mr.
 */
import { Access } from '../../../transport/memory.ts';
import { ON_DEMAND_ACCESS, OPTIONAL_ACCESS } from '../abi/access.ts';
import {
  ALLOC_MW,
  ALLOC_MW_RESP,
  ALLOC_PD_RESP,
  DEALLOC_MW,
  DEALLOC_PD,
  DEREG_MR,
  REG_MR,
  REG_MR_RESP,
  REREG_MR,
  REREG_MR_RESP,
} from '../abi/verbs.ts';
import type { ParsedCommand, Reply } from '../command.ts';
import type { Context } from '../context.ts';
import { Errno, Refusal } from '../errno.ts';
import { response } from '../fields.ts';
import { ProcessRegion } from '../process-region.ts';

const PAGE_MASK = 0xf_ffn;
/** User addresses end here. */
const USER_END = 2 ** 47;
const REMOTE = Access.RemoteWrite | Access.RemoteRead | Access.RemoteAtomic | Access.FlushGlobal;
const WRITES = Access.RemoteWrite | Access.RemoteAtomic;
/** Flags that ib_check_mr_access knows. */
const KNOWN_ACCESS = 0x3_ff;
/** Values of enum ib_mr_rereg_flags. */
const Rereg = { TRANSLATION: 1, PD: 2, ACCESS: 4 } as const;
const SUPPORTED_ACCESS = Access.LocalWrite | Access.MwBind | REMOTE;

export function allocPd(context: Context): Reply {
  const handle = context.handles.add({ kind: 'pd', pd: context.device.allocPd(), making: 0 });
  const reply = response(ALLOC_PD_RESP);
  reply.put32(ALLOC_PD_RESP.at.pd_handle, handle);
  return { core: reply };
}

export function deallocPd({ handles }: Context, { request }: ParsedCommand): Reply {
  const handle = request.u32(DEALLOC_PD.at.pd_handle);
  const { pd, making } = handles.doomed('pd', handle);
  if (making > 0) throw new Refusal(Errno.EBUSY);
  pd.dealloc();
  handles.remove(handle);
  return {};
}

export function regMr(context: Context, { request }: ParsedCommand): Reply {
  const at = REG_MR.at;
  const start = request.u64(at.start);
  const iova = request.u64(at.hca_va);
  if ((start & PAGE_MASK) !== (iova & PAGE_MASK)) throw new Refusal(Errno.EINVAL);
  const access = accessOf(request.u32(at.access_flags));
  const { pd } = context.handles.get('pd', request.u32(at.pd_handle));
  const memory = pinned(context, Number(start), Number(request.u64(at.length)));
  const region = pd.regMr(memory, { access, iova });
  context.addRegion(region);
  const handle = context.handles.add({ kind: 'mr', region, pd });
  const reply = response(REG_MR_RESP);
  reply.put32(REG_MR_RESP.at.mr_handle, handle);
  reply.put32(REG_MR_RESP.at.lkey, region.lkey);
  reply.put32(REG_MR_RESP.at.rkey, (access & REMOTE) === 0 ? 0 : region.rkey);
  return { core: reply };
}

function accessOf(flags: number): number {
  const access = flags & ~OPTIONAL_ACCESS;
  if ((access & WRITES) !== 0 && (access & Access.LocalWrite) === 0) throw new Refusal(Errno.EINVAL);
  if ((access & ~KNOWN_ACCESS) !== 0 || (access & ON_DEMAND_ACCESS) !== 0) throw new Refusal(Errno.EINVAL);
  // Nothing makes the memory of a process durable.
  if ((access & Access.FlushPersistent) !== 0) throw new Refusal(Errno.EINVAL);
  if ((access & ~SUPPORTED_ACCESS) !== 0) throw new Refusal(Errno.EOPNOTSUPP);
  return access;
}

/**
 * The kernel would pin all of it. Here its ends are looked at; what is missing between them shows when it is used.
 */
function pinned({ host }: Context, start: number, length: number): ProcessRegion {
  if (length === 0) throw new Refusal(Errno.EINVAL);
  if (start + length > USER_END) throw new Refusal(Errno.EFAULT);
  const byte = new Uint8Array(1);
  const there = host.memory.read(start, byte, 0, 1) && host.memory.read(start + length - 1, byte, 0, 1);
  if (!there) throw new Refusal(Errno.EFAULT);
  return new ProcessRegion(host.memory, start, length);
}

/** rdma_rxe gives a region another domain or other rights, and no other memory. */
export function reregMr(context: Context, { request }: ParsedCommand): Reply {
  const at = REREG_MR.at;
  const flags = request.u32(at.flags);
  if (flags === 0) throw new Refusal(Errno.EINVAL);
  if ((flags & ~(Rereg.TRANSLATION | Rereg.PD | Rereg.ACCESS)) !== 0) throw new Refusal(Errno.EOPNOTSUPP);
  const moves = (flags & Rereg.TRANSLATION) !== 0;
  if (moves && ((request.u64(at.start) ^ request.u64(at.hca_va)) & PAGE_MASK) !== 0n) throw new Refusal(Errno.EINVAL);
  const object = context.handles.doomed('mr', request.u32(at.mr_handle));
  const { region } = object;
  const access = (flags & Rereg.ACCESS) === 0 ? region.access : accessOf(request.u32(at.access_flags));
  const pd = (flags & Rereg.PD) === 0 ? object.pd : context.handles.get('pd', request.u32(at.pd_handle)).pd;
  if (moves) throw new Refusal(Errno.EOPNOTSUPP);
  pd.reregMr(region, access);
  object.pd = pd;
  const reply = response(REREG_MR_RESP);
  reply.put32(REREG_MR_RESP.at.lkey, region.lkey);
  reply.put32(REREG_MR_RESP.at.rkey, region.rkey);
  return { core: reply };
}

export function deregMr(context: Context, { request }: ParsedCommand): Reply {
  const handle = request.u32(DEREG_MR.at.mr_handle);
  const { region, pd } = context.handles.doomed('mr', handle);
  if (region.windows > 0) throw new Refusal(Errno.EINVAL);
  pd.deregMr(region);
  context.removeRegion(region);
  context.handles.remove(handle);
  return {};
}

export function allocMw(context: Context, { request }: ParsedCommand): Reply {
  const { pd } = context.handles.get('pd', request.u32(ALLOC_MW.at.pd_handle));
  const type = request.u8(ALLOC_MW.at.mw_type);
  if (type !== 1 && type !== 2) throw new Refusal(Errno.EINVAL);
  const mw = pd.allocMw(type);
  context.addWindow(mw);
  const reply = response(ALLOC_MW_RESP);
  reply.put32(ALLOC_MW_RESP.at.mw_handle, context.handles.add({ kind: 'mw', mw }));
  reply.put32(ALLOC_MW_RESP.at.rkey, mw.rkey);
  return { core: reply };
}

export function deallocMw(context: Context, { request }: ParsedCommand): Reply {
  const handle = request.u32(DEALLOC_MW.at.mw_handle);
  const { mw } = context.handles.doomed('mw', handle);
  mw.dealloc();
  context.removeWindow(mw);
  context.handles.remove(handle);
  return {};
}
