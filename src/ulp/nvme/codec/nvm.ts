/**
 * Commands of the NVM command set: what dwords 10 to 15 say on the path of data.
 *
 * LBAs are numbers: one of 2^53 or above, beyond every namespace that we can serve, reads as `LBA_TOO_LARGE`. The
 * arguments of Read, Write, Compare, Write Zeroes and Verify are alike; Flush has none. Rules: ref:nvmeof.
 */
import { RoceError } from '../../../../packets/errors.ts';
import { type NvmeCommand, NvmOpcode } from './command.ts';

/** What `lbaOf` returns for an LBA that no number can hold: larger than any size of a namespace. */
export const LBA_TOO_LARGE = Infinity;

/** Blocks that one command names at most. */
export const MAX_BLOCKS = 0x1_00_00;

/** First block: 0..2^53-1, or `LBA_TOO_LARGE`. */
export function lbaOf(command: NvmeCommand): number {
  return command.cdw11 < LBA_HIGH_END ? command.cdw11 * 2 ** 32 + command.cdw10 : LBA_TOO_LARGE;
}

/** Blocks, 1..65536. */
export function blocksOf(command: NvmeCommand): number {
  return (command.cdw12 & 0xff_ff) + 1;
}

/** Force unit access: durable before it completes. */
export function isFua(command: NvmeCommand): boolean {
  return (command.cdw12 & FUA) !== 0;
}

/** Limited retry: the host prefers a quick error. */
export function isLimitedRetry(command: NvmeCommand): boolean {
  return command.cdw12 >= LIMITED_RETRY;
}

/** Protection information fields, 4 bits: PRACT and checks; 0 where there is none. */
export function protectionOf(command: NvmeCommand): number {
  return (command.cdw12 >>> 26) & 0x0f;
}

/** Write Zeroes: the blocks may be deallocated. */
export function mayDeallocate(command: NvmeCommand): boolean {
  return (command.cdw12 & DEALLOCATE) !== 0;
}

/** How a command of blocks is made. */
export interface BlockOptions {
  /** Force unit access. */
  readonly fua?: boolean;
  /** Limited retry. */
  readonly limitedRetry?: boolean;
  /** Write Zeroes: the blocks may be deallocated. */
  readonly deallocate?: boolean;
}

/**
 * Makes it a command of `blocks` blocks, 1..65536, from `lba` on; the SGL is none yet.
 *
 * @throws RoceError ERR_ROCE_ARGUMENT
 */
export function setBlocks(
  command: NvmeCommand,
  opcode: number,
  nsid: number,
  lba: number,
  blocks: number,
  { fua = false, limitedRetry = false, deallocate = false }: BlockOptions = NO_OPTIONS,
): void {
  if (!(Number.isSafeInteger(lba) && lba >= 0)) throw new RoceError('ERR_ROCE_ARGUMENT', `${lba} is no LBA`);
  if (!(Number.isInteger(blocks) && blocks >= 1 && blocks <= MAX_BLOCKS))
    throw new RoceError('ERR_ROCE_ARGUMENT', `a command names 1 to ${MAX_BLOCKS} blocks, not ${blocks}`);
  command.begin(opcode, nsid);
  command.cdw10 = lba >>> 0;
  command.cdw11 = Math.floor(lba / 2 ** 32);
  command.cdw12 = blocks - 1 + (fua ? FUA : 0) + (limitedRetry ? LIMITED_RETRY : 0) + (deallocate ? DEALLOCATE : 0);
}

/** A range of Dataset Management. */
export interface DsmRange {
  /** First block; `LBA_TOO_LARGE` as with `lbaOf`. */
  readonly lba: number;
  /** Blocks, 0..2^32-1. */
  readonly blocks: number;
  /** Hints on access, 32 bits. */
  readonly attributes: number;
}

/** Ranges of one command at most. */
export const MAX_DSM_RANGES = 256;
/** Length of a range, in bytes. */
export const DSM_RANGE_BYTES = 16;

/** Dataset Management: ranges in its data, 1..256. */
export function dsmRangeCount(command: NvmeCommand): number {
  return (command.cdw10 & 0xff) + 1;
}

/** Dataset Management: whether the ranges are to be deallocated. */
export function isDeallocation(command: NvmeCommand): boolean {
  return (command.cdw11 & DSM_DEALLOCATE) !== 0;
}

/** Makes it a Dataset Management that deallocates `ranges` ranges, 1..256. @throws RoceError ERR_ROCE_ARGUMENT */
export function setDeallocation(command: NvmeCommand, nsid: number, ranges: number): void {
  if (!(Number.isInteger(ranges) && ranges >= 1 && ranges <= MAX_DSM_RANGES))
    throw new RoceError('ERR_ROCE_ARGUMENT', `a command has 1 to ${MAX_DSM_RANGES} ranges, not ${ranges}`);
  command.begin(NvmOpcode.DatasetManagement, nsid);
  command.cdw10 = ranges - 1;
  command.cdw11 = DSM_DEALLOCATE;
}

/** `count` ranges, or as many as the bytes hold. */
export function readDsmRanges(data: Uint8Array, count: number): DsmRange[] {
  const view = new DataView(data.buffer, data.byteOffset, data.byteLength);
  const held = Math.min(count, Math.floor(data.length / DSM_RANGE_BYTES));
  return Array.from({ length: held }, (_, i) => {
    const at = i * DSM_RANGE_BYTES;
    const high = view.getUint32(at + 12, true);
    return {
      attributes: view.getUint32(at, true),
      blocks: view.getUint32(at + 4, true),
      lba: high < LBA_HIGH_END ? high * 2 ** 32 + view.getUint32(at + 8, true) : LBA_TOO_LARGE,
    };
  });
}

/** The ranges as bytes. @throws RoceError ERR_ROCE_ARGUMENT for an LBA or a number of blocks that does not fit */
export function encodeDsmRanges(ranges: readonly DsmRange[]): Uint8Array {
  const data = new Uint8Array(ranges.length * DSM_RANGE_BYTES);
  const view = new DataView(data.buffer);
  for (const [i, { lba, blocks, attributes }] of ranges.entries()) {
    if (!(Number.isSafeInteger(lba) && lba >= 0 && Number.isInteger(blocks) && blocks >= 0 && blocks < 2 ** 32))
      throw new RoceError('ERR_ROCE_ARGUMENT', `${blocks} blocks from ${lba} on are no range`);
    const at = i * DSM_RANGE_BYTES;
    view.setUint32(at, attributes, true);
    view.setUint32(at + 4, blocks, true);
    view.setUint32(at + 8, lba >>> 0, true);
    view.setUint32(at + 12, Math.floor(lba / 2 ** 32), true);
  }
  return data;
}

const NO_OPTIONS: BlockOptions = {};
const LIMITED_RETRY = 0x80_00_00_00;
const FUA = 0x40_00_00_00;
const DEALLOCATE = 0x02_00_00_00;
const DSM_DEALLOCATE = 4;
/** From here on in the upper half an LBA is 2^53 or more. */
const LBA_HIGH_END = 2 ** 21;
