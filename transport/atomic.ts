/**
 * COMPARE SWAP, FETCH ADD and ATOMIC WRITE on 64-bit words of a region. Operands are big-endian on the wire; memory
 * holds them in host order, which this stack fixes as little-endian, the order of nearly every RDMA host
 * (ref:conformance#ATM-01..ATM-03, ATM-14). An ATOMIC WRITE carries an image of the word, as a WRITE would
 * (rxe:rxe_resp.c#atomic_write_reply). All are atomic with respect to each other; threads that share the memory may see
 * half of one.
 */
import { atomicCompareHi, atomicCompareLo, atomicSwapAddHi, atomicSwapAddLo } from '../packets/atomic-eth.ts';
import type { Frame } from '../packets/frame.ts';
import { ATOMIC_ETH_AT, Op, SERVICE_MASK } from '../packets/opcode.ts';
import type { ExecutedRequest } from './replay.ts';

/** Executes the atomic of `frame` on the word at `offset` and leaves the original value in `kept`. */
export function executeAtomic(frame: Frame, memory: DataView, offset: number, kept: ExecutedRequest): void {
  const at = frame.bthOffset + (ATOMIC_ETH_AT[frame.opcode] as number);
  const lo = memory.getUint32(offset, true);
  const hi = memory.getUint32(offset + 4, true);
  kept.originalLo = lo;
  kept.originalHi = hi;
  const operandHi = atomicSwapAddHi(frame.view, at);
  const operandLo = atomicSwapAddLo(frame.view, at);
  if ((frame.opcode & ~SERVICE_MASK) === Op.FetchAdd) {
    const sum = lo + operandLo;
    memory.setUint32(offset, sum >>> 0, true);
    memory.setUint32(offset + 4, (hi + operandHi + (sum > 0xff_ff_ff_ff ? 1 : 0)) >>> 0, true);
  } else if (hi === atomicCompareHi(frame.view, at) && lo === atomicCompareLo(frame.view, at)) {
    memory.setUint32(offset, operandLo, true);
    memory.setUint32(offset + 4, operandHi, true);
  }
}

/** Executes the ATOMIC WRITE of `frame`, which was checked, on the word at `offset`. */
export function executeAtomicWrite(frame: Frame, memory: DataView, offset: number): void {
  memory.setUint32(offset, frame.view.getUint32(frame.payloadOffset));
  memory.setUint32(offset + 4, frame.view.getUint32(frame.payloadOffset + 4));
}
