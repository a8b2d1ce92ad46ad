/**
 * Invalidate Extended Transport Header, 4 bytes: the key that a SEND with Invalidate revokes.
 *
 *   0                   1                   2                   3
 *   0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
 *  +---------------------------------------------------------------+
 *  |                             R_Key                             |
 *  +---------------------------------------------------------------+
 *
 * Owns the bits only. Rules: ref:wire#6.
 */

/** Length of the header, in bytes. */
export const IETH_BYTES = 4;

/** The header, as a record (ref:wire#6). */
export interface Ieth {
  /** The key to invalidate, 32 bits. */
  readonly rkey: number;
}

/** Reads the header at `offset`, where `IETH_BYTES` must be. @throws RangeError otherwise */
export function readIeth(view: DataView, offset: number): Ieth {
  return { rkey: iethRkey(view, offset) };
}

/** Writes all 4 bytes. */
export function writeIeth(view: DataView, at: number, rkey: number): void {
  view.setUint32(at, rkey);
}

/** The key to invalidate in the IETH at `at`, unsigned 32 bits. */
export function iethRkey(view: DataView, at: number): number {
  return view.getUint32(at);
}
