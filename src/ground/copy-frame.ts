/**
 * The copy of a frame from one slab to another. Short ones word by word, for a bulk copy has a fixed cost; a slice of
 * the source is made for long ones only.
 */

/** A slab, twice: the same memory. */
export interface Slab {
  readonly bytes: Uint8Array;
  readonly view: DataView;
}

/** Copies `length` bytes at `start` of one slab to `at` of another. Both ranges lie inside. */
export function copyFrame(
  bytes: Uint8Array,
  view: DataView,
  start: number,
  length: number,
  to: Slab,
  at: number,
): void {
  if (length >= BULK_COPY_BYTES) {
    to.bytes.set(bytes.subarray(start, start + length), at);
    return;
  }
  const target = to.view;
  let i = 0;
  for (; i + 4 <= length; i += 4) target.setInt32(at + i, view.getInt32(start + i));
  for (; i < length; i++) target.setUint8(at + i, view.getUint8(start + i));
}

/** From here on a bulk copy beats a loop over words (ref:platform#5). */
const BULK_COPY_BYTES = 256;
