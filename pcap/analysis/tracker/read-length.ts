/** How much a READ asks for. Owns nothing else. */
import { OpFlag, RETH_AT } from '../../../packets/opcode.ts';
import { rethDmaLength } from '../../../packets/reth.ts';
import type { MutableFacts } from './mutable-facts.ts';

/** DMA length of a READ; 0 for what takes one PSN anyway. */
export function readLength({ dissection: { frame } }: MutableFacts): number {
  return (frame.flags & OpFlag.Read) === 0
    ? 0
    : rethDmaLength(frame.view, frame.bthOffset + (RETH_AT[frame.opcode] ?? 0));
}
