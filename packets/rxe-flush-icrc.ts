/**
 * The ICRC that rdma_rxe gives a FLUSH and demands of one, which is not the right one.
 *
 * rxe:rxe_opcode.c#rxe_opcode names no payload offset for RC FLUSH, so that rxe:rxe_icrc.c takes the packet from its
 * BTH on for a payload and runs the CRC over BTH, FETH and RETH twice: the second time with nothing masked. Seen on
 * 6.12 and 7.2: a FLUSH with the right ICRC is dropped in silence, one with this is judged and answered. Owns this
 * recipe only; never writes to a frame.
 */
import { crc32Update } from './crc32.ts';
import { computeIcrc, type IcrcSpan } from './icrc.ts';
import { Op } from './opcode.ts';

/**
 * From the right ICRC of a FLUSH, whose BTH starts at `bthOffset` and whose ICRC field starts at `end`, the one of
 * rdma_rxe, as u32.
 */
export function rxeFlushIcrc(icrc: number, bytes: Uint8Array, bthOffset: number, end: number): number {
  return ~crc32Update(~icrc >>> 0, bytes, bthOffset, end) >>> 0;
}

/** Whether a frame, which `parseFrame` found Ok, is a FLUSH with the ICRC of rdma_rxe. */
export function isRxeFlush({ bytes, view, ipOffset, ipVersion, bthOffset, icrcOffset }: IcrcSpan): boolean {
  if (view.getUint8(bthOffset) !== Op.Flush) return false;
  const icrc = computeIcrc(bytes, view, ipOffset, ipVersion, bthOffset, icrcOffset);
  return view.getUint32(icrcOffset, true) === rxeFlushIcrc(icrc, bytes, bthOffset, icrcOffset);
}
