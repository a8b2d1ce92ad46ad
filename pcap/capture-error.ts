/**
 * How every malformed capture file is reported, and where belief in a length ends.
 */

import { RoceError } from '../packets/errors.ts';

/** ERR_ROCE_CAPTURE naming the byte offset in the file. */
export function captureError(offset: number, sentence: string): RoceError {
  return new RoceError('ERR_ROCE_CAPTURE', `capture file, byte ${offset}: ${sentence}`);
}

/** Larger packets and blocks count as damage; Wireshark has the same limit for a block. */
export const LARGEST_RECORD_BYTES = 16 * 1024 * 1024;
