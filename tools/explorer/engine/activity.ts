/**
 * What a capture is about over time, in few pieces: how much went over the wire, and where something is remarkable.
 *
 * Owns the sums. Draws nothing.
 */
import { Mark } from 'rocev2/pcap';
import type { ActivityPicture } from './protocol.ts';
import type { CaptureSession } from './session.ts';

/** The whole capture as far as it is read, in `bins` equal pieces. */
export function activityPicture({ table }: CaptureSession, bins: number): ActivityPicture {
  const pieces = Math.max(1, Math.min(MOST_BINS, Math.floor(bins)));
  let [fromNs, toNs] = [0, 0];
  for (let index = 0; index < table.length; index++) {
    const timeNs = table.timeNs[index] ?? 0;
    if (timeNs < fromNs) fromNs = timeNs;
    if (timeNs > toNs) toNs = timeNs;
  }
  toNs = Math.max(toNs, fromNs + 1);
  const bytes = new Float64Array(pieces);
  const remarkable = new Float64Array(pieces);
  for (let index = 0; index < table.length; index++) {
    const part = ((table.timeNs[index] ?? 0) - fromNs) / (toNs - fromNs);
    const bin = Math.min(pieces - 1, Math.floor(part * pieces));
    bytes[bin] = (bytes[bin] ?? 0) + (table.original[index] ?? 0);
    if (((table.marks[index] ?? 0) & ~Mark.Ce) !== 0) remarkable[bin] = (remarkable[bin] ?? 0) + 1;
  }
  return { fromNs, toNs, bytes, remarkable };
}

const MOST_BINS = 2000;
