/**
 * Immediate Data, 4 bytes that go unchanged into the receiver's completion.
 *
 *   0                   1                   2                   3
 *   0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
 *  +---------------------------------------------------------------+
 *  |                        immediate data                         |
 *  +---------------------------------------------------------------+
 *
 * Owns the bits only; opaque here, a big-endian number by our convention. Rules: ref:wire#6.
 */

/** Length of the header, in bytes. */
export const IMM_DT_BYTES = 4;

/** The header, as a record (ref:wire#6). */
export interface ImmDt {
  /** 32 bits, unsigned. */
  readonly immDt: number;
}

/** Reads the header at `offset`, where `IMM_DT_BYTES` must be. @throws RangeError otherwise */
export function readImmDt(view: DataView, offset: number): ImmDt {
  return { immDt: immDt(view, offset) };
}

/** Writes all 4 bytes, big-endian. */
export function writeImmDt(view: DataView, at: number, data: number): void {
  view.setUint32(at, data);
}

/** Immediate data at `at`, unsigned 32 bits, as the sender's host number. */
export function immDt(view: DataView, at: number): number {
  return view.getUint32(at);
}
