/**
 * FLUSH: which placement types and selectivity levels there are, whether a peer's FLUSH may be executed, and its
 * execution. Requests of a queue pair are executed in order, so a FLUSH finds every earlier WRITE in memory, and our
 * memory is visible at once: global visibility needs nothing more. Persistence is what a region's owner
 * makes of it (`RegionOptions.persistent`).
 *
 * Rules: ref:wire#6, ref:conformance#MPE-01 to MPE-06, MPE-16; rxe:rxe_resp.c#check_rkey, #process_flush.
 */
import { fethPlacement, fethSelectivity } from '../packets/feth.ts';
import type { Frame } from '../packets/frame.ts';
import { FETH_AT, RETH_AT } from '../packets/opcode.ts';
import { rethDmaLength, rethRkey, rethVaHi, rethVaLo } from '../packets/reth.ts';
import { Access } from './memory.ts';
import type { QpConfig } from './qp-config.ts';
import { MAX_MESSAGE_BYTES } from './send-queue.ts';
import { Verdict } from './verdict.ts';
import { FlushLevel, FlushType } from './work.ts';
import type { RemoteTarget } from './write-slot.ts';

/** Opens what the FLUSH of `frame` names, or returns why not. A key is needed even for no bytes (MPE-03). */
export function checkFlush(frame: Frame, target: RemoteTarget, config: QpConfig): Verdict {
  const { view, bthOffset, opcode } = frame;
  const feth = bthOffset + (FETH_AT[opcode] as number);
  const access = flushAccess(fethPlacement(view, feth));
  const level = fethSelectivity(view, feth);
  if (access === 0 || level > FlushLevel.Mr || (config.access & access) !== access) return Verdict.NotPermitted;
  if (frame.payloadLength !== 0 || frame.padCount !== 0) return Verdict.BadLength;
  const reth = bthOffset + (RETH_AT[opcode] as number);
  const key = rethRkey(view, reth);
  if (level === FlushLevel.Mr) return target.openWhole(key, access, config);
  const length = rethDmaLength(view, reth);
  if (length > MAX_MESSAGE_BYTES) return Verdict.BadLength;
  return target.open(key, rethVaHi(view, reth), rethVaLo(view, reth), length, access, config);
}

/**
 * Executes the FLUSH of `frame`, which `checkFlush` has accepted. Through a window, the whole of it is the whole there
 * is.
 */
export function executeFlush(frame: Frame, { grant, offset }: RemoteTarget): void {
  const { view, bthOffset, opcode } = frame;
  const feth = bthOffset + (FETH_AT[opcode] as number);
  if (grant === undefined || (fethPlacement(view, feth) & FlushType.Persistent) === 0) return;
  const whole = fethSelectivity(view, feth) === FlushLevel.Mr;
  grant.persist(offset, whole ? grant.length : rethDmaLength(view, bthOffset + (RETH_AT[opcode] as number)));
}

/** The access flags that a placement type needs, of queue pair and region; 0 for a type that does not exist. */
export function flushAccess(placement: number): number {
  return FLUSH_ACCESS[placement] ?? 0;
}

const FLUSH_ACCESS: readonly number[] = [
  0,
  Access.FlushGlobal,
  Access.FlushPersistent,
  Access.FlushGlobal | Access.FlushPersistent,
];
