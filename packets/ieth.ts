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

export const IETH_BYTES = 4;

export interface Ieth {
  readonly rkey: number;
}

export function readIeth(view: DataView, offset: number): Ieth {
  return { rkey: iethRkey(view, offset) };
}

export function writeIeth(view: DataView, at: number, rkey: number): void {
  view.setUint32(at, rkey);
}

export function iethRkey(view: DataView, at: number): number {
  return view.getUint32(at);
}
