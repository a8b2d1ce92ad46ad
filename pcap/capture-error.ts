/**
 * How every malformed capture file is reported, and where belief in a length ends.
 */

import { RoceError } from '../packets/errors.ts';

/** ERR_ROCE_CAPTURE naming the byte offset in the file. */
export function captureError(offset: number, sentence: string): RoceError {
  return new RoceError('ERR_ROCE_CAPTURE', `capture file, byte ${offset}: ${sentence}`);
}

/** Packets and blocks above this are taken for damage; Wireshark draws the line for a block at the same size. */
export const LARGEST_RECORD_BYTES = 16 * 1024 * 1024;
