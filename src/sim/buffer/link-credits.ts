/**
 * Credits of one link and virtual lane, as a lossless fabric of the InfiniBand kind has them instead of pauses.
 *
 * Owns one count: blocks of 64 bytes that are free at the far end. A frame takes whole blocks before it leaves and
 * never leaves without them, so nothing is ever dropped there; the receiver gives them back as it makes room. Never
 * carries the message that does so.
 */
import { invariant, RoceError } from '../../../packets/errors.ts';

/** Bytes of one credit. */
export const CREDIT_BLOCK_BYTES = 64;

/** Blocks that a frame of `bytes` takes: what does not fill one takes it whole. */
export function creditBlocks(bytes: number): number {
  return Math.ceil(bytes / CREDIT_BLOCK_BYTES);
}

/** What the sender of one virtual lane may still send. */
export class LinkCredits {
  /** Blocks that the receiver has in all. */
  readonly blocks: number;
  #available: number;
  #refused = 0;

  /** All blocks are free. @param blocks of 64 bytes, at least 1 @throws RoceError ERR_ROCE_ARGUMENT otherwise */
  constructor(blocks: number) {
    if (!Number.isSafeInteger(blocks) || blocks < 1) {
      throw new RoceError('ERR_ROCE_ARGUMENT', `credits of a link must be at least one block, not ${blocks}`);
    }
    this.blocks = blocks;
    this.#available = blocks;
  }

  /** Blocks that are free. */
  get available(): number {
    return this.#available;
  }

  /** Times that `take` returned false. */
  get refused(): number {
    return this.#refused;
  }

  /** Takes what a frame of `bytes` needs; false when there is not enough, and then nothing is taken. */
  take(bytes: number): boolean {
    const needed = creditBlocks(bytes);
    if (needed > this.#available) {
      this.#refused++;
      return false;
    }
    this.#available -= needed;
    return true;
  }

  /** The receiver has passed a frame of `bytes` on. */
  giveBack(bytes: number): void {
    this.#available += creditBlocks(bytes);
    invariant(this.#available <= this.blocks, 'no more credits come back than were taken');
  }
}
