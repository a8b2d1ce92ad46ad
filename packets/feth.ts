/**
 * Flush Extended Transport Header, 4 bytes: what a FLUSH request makes visible or durable.
 *
 *   0                   1                   2                   3
 *   0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
 *  +---------------------------------------------------+---+-------+
 *  |                     reserved                      |SEL| PLT   |
 *  +---------------------------------------------------+---+-------+
 *
 * SEL selectivity level, PLT placement type. Owns the bits only. Rules: ref:wire#6.
 */

/** Length of the header, in bytes. */
export const FETH_BYTES = 4;

/** The header, field by field (ref:wire#6). */
export interface Feth {
  /** 4 bits */
  readonly placement: number;
  /** 2 bits */
  readonly selectivity: number;
}

/** Reads the header at `offset`, where `FETH_BYTES` must be. @throws RangeError otherwise */
export function readFeth(view: DataView, offset: number): Feth {
  return { placement: fethPlacement(view, offset), selectivity: fethSelectivity(view, offset) };
}

/** Writes all 4 bytes; placement is cut to 4 bits, selectivity to 2. */
export function writeFeth(view: DataView, at: number, placement: number, selectivity: number): void {
  view.setUint32(at, ((selectivity & 3) << 4) | (placement & 0x0f));
}

/** Placement type of the FETH at `at`, a set of 4 bits: global visibility 1, persistence 2. */
export function fethPlacement(view: DataView, at: number): number {
  return view.getUint32(at) & 0x0f;
}

/** Selectivity level of the FETH at `at`, 0..3: 0 a range, 1 a whole region. */
export function fethSelectivity(view: DataView, at: number): number {
  return (view.getUint32(at) >>> 4) & 3;
}
