/**
 * Work requests that are executed here and send no packet: LOCAL INV, BIND MW and REG MR. What can be known to be wrong
 * when they are posted is refused then; what depends on the state of a window or region is found out when their turn
 * comes, and fails the request.
 *
 * Rules: rxe:rxe_req.c#rxe_do_local_ops (statuses), man ibv_bind_mw(3) (access flags); what is allowed is key-table.ts.
 */
import { RoceError } from '../packets/errors.ts';
import { type BindTerms, checkRegistration, type FastTerms, type KeyHolder } from './key-table.ts';
import { Access } from './memory.ts';
import type { SendEntry } from './send-entry.ts';
import { type SendWr, WcStatus, WrOpcode } from './work.ts';

/** Executes the request of `entry`, or returns the status of its failure; nothing is changed then. */
export function executeLocalWork(entry: SendEntry, holder: KeyHolder): WcStatus {
  const { keys } = holder;
  switch (entry.opcode) {
    case WrOpcode.BindMw:
      return entry.bind !== undefined && keys.bind(entry.bind, holder) ? WcStatus.Success : WcStatus.MwBindErr;
    case WrOpcode.RegMr:
      return entry.reg !== undefined && keys.fastRegister(entry.reg, holder) ? WcStatus.Success : WcStatus.LocQpOpErr;
    default:
      return keys.invalidate(entry.invalidateRkey, holder) ? WcStatus.Success : WcStatus.LocQpOpErr;
  }
}

/** Throws ERR_ROCE_ARGUMENT for a request that no region or window can take. `data`: bytes of its SGEs. */
export function checkLocalWork(wr: SendWr, data: number): void {
  if (data > 0 || wr.inline !== undefined) refuse('a request that sends nothing has no data');
  if (wr.opcode === WrOpcode.BindMw) checkBind(wr);
  else if (wr.opcode === WrOpcode.RegMr) checkFast(wr);
  else if (wr.invalidateRkey === undefined) refuse('LOCAL INV needs `invalidateRkey`');
}

/** For a request that `checkLocalWork` has accepted. */
export function bindTerms({ mw, bind, rkey }: SendWr): BindTerms | undefined {
  return mw === undefined || bind === undefined || rkey === undefined ? undefined : { mw, rkey, ...bind };
}

/** For a request that `checkLocalWork` has accepted. */
export function fastTerms({ reg }: SendWr): FastTerms | undefined {
  if (reg === undefined) return undefined;
  const { mr, iova, access, key, memory = mr.bytes, length } = reg;
  return { mr, iova, access, key, bytes: memory.subarray(0, length) };
}

function checkBind({ mw, bind, rkey }: SendWr): void {
  if (mw === undefined || bind === undefined || rkey === undefined) refuse('BIND MW needs `mw`, `bind` and `rkey`');
  const { addr, length, access } = bind;
  if ((access & ~WINDOW_ACCESS) !== 0) refuse(`a window cannot have access flags 0x${access.toString(16)}`);
  if (!isByteCount(length)) refuse('a window has a whole number of bytes');
  if (addr < 0n || addr + BigInt(length) > 1n << 64n) refuse('a window lies within the 64-bit address space');
}

function checkFast({ reg }: SendWr): void {
  if (reg === undefined) refuse('REG MR needs `reg`');
  const { mr, memory = mr.bytes, iova, length, access, key } = reg;
  if (!mr.fast) refuse('REG MR is for regions of `allocMr`');
  if (!isByteCount(length) || length > mr.maxBytes) refuse(`the region takes 0 to ${mr.maxBytes} bytes`);
  if (length > memory.length) refuse(`${length} bytes, and the memory has ${memory.length}`);
  if (!Number.isInteger(key) || key >>> 8 !== mr.rkey >>> 8 || key < 0 || key > 0xff_ff_ff_ff)
    refuse('a new key differs from the old one in its low 8 bits only');
  if ((access & Access.FlushPersistent) !== 0) refuse('a fast registration has no persistent flush access');
  checkRegistration(access, iova, length);
}

function isByteCount(n: number): boolean {
  return Number.isSafeInteger(n) && n >= 0;
}

function refuse(sentence: string): never {
  throw new RoceError('ERR_ROCE_ARGUMENT', sentence);
}

const WINDOW_ACCESS =
  Access.RemoteWrite |
  Access.RemoteRead |
  Access.RemoteAtomic |
  Access.ZeroBased |
  Access.FlushGlobal |
  Access.FlushPersistent;
