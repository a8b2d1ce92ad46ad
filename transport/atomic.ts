/**
 * COMPARE SWAP, FETCH ADD and ATOMIC WRITE on 64-bit words of a region. Operands are big-endian on the wire; memory
 * holds them in host order, which this stack fixes as little-endian, the order of nearly every RDMA host
 * (ref:conformance#ATM-01..ATM-03, ATM-14). An ATOMIC WRITE carries an image of the word, as a WRITE would
 * (rxe:rxe_resp.c#atomic_write_reply). All are atomic with respect to each other; threads that share the memory may see
 * half of one, and so may another process whose memory is reached by copies.
 */
import { atomicCompareHi, atomicCompareLo, atomicSwapAddHi, atomicSwapAddLo } from '../packets/atomic-eth.ts';
import type { Frame } from '../packets/frame.ts';
import { ATOMIC_ETH_AT, Op, SERVICE_MASK } from '../packets/opcode.ts';
import type { ExecutedRequest } from './replay.ts';
import type { RemoteTarget } from './write-slot.ts';

/** The word that is being worked on: memory that is reached by copies has no other. */
const WORD = new Uint8Array(8);
const WORD_VIEW = new DataView(WORD.buffer);

/**
 * Executes the atomic of `frame` on the word that was opened and leaves the original value in `kept`. False when the
 * word is not there any more.
 */
export function executeAtomic(frame: Frame, { grant, offset }: RemoteTarget, kept: ExecutedRequest): boolean {
  if (grant?.copyOut(offset, WORD, 0, 8) !== true) return false;
  const at = frame.bthOffset + (ATOMIC_ETH_AT[frame.opcode] as number);
  const lo = WORD_VIEW.getUint32(0, true);
  const hi = WORD_VIEW.getUint32(4, true);
  kept.originalLo = lo;
  kept.originalHi = hi;
  const operandHi = atomicSwapAddHi(frame.view, at);
  const operandLo = atomicSwapAddLo(frame.view, at);
  if ((frame.opcode & ~SERVICE_MASK) === Op.FetchAdd) {
    const sum = lo + operandLo;
    WORD_VIEW.setUint32(0, sum >>> 0, true);
    WORD_VIEW.setUint32(4, (hi + operandHi + (sum > 0xff_ff_ff_ff ? 1 : 0)) >>> 0, true);
  } else if (hi === atomicCompareHi(frame.view, at) && lo === atomicCompareLo(frame.view, at)) {
    WORD_VIEW.setUint32(0, operandLo, true);
    WORD_VIEW.setUint32(4, operandHi, true);
  } else return true;
  return grant.copyIn(offset, WORD, 0, 8);
}

/** Executes the ATOMIC WRITE of `frame`, which was checked; false when the word is not there any more. */
export function executeAtomicWrite(frame: Frame, { grant, offset }: RemoteTarget): boolean {
  return grant?.copyIn(offset, frame.bytes, frame.payloadOffset, 8) === true;
}
