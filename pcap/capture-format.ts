/**
 * The seam between `CaptureReader` and the file formats it reads.
 */

import type { ByteQueue } from './byte-queue.ts';
import type { CapturedPacket, CaptureInterface } from './types.ts';

/** What each file format does behind `CaptureReader`. */
export interface CaptureFormat {
  readonly interfaces: readonly CaptureInterface[];
  /** Consumes records up to and including the next packet; undefined when the queue holds no further whole packet. */
  next(queue: ByteQueue): CapturedPacket | undefined;
}
