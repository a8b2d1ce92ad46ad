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

export const FETH_BYTES = 4;

export interface Feth {
  /** 4 bits */
  readonly placement: number;
  /** 2 bits */
  readonly selectivity: number;
}

export function readFeth(view: DataView, offset: number): Feth {
  return { placement: fethPlacement(view, offset), selectivity: fethSelectivity(view, offset) };
}

export function writeFeth(view: DataView, at: number, placement: number, selectivity: number): void {
  view.setUint32(at, ((selectivity & 3) << 4) | (placement & 0x0f));
}

export function fethPlacement(view: DataView, at: number): number {
  return view.getUint32(at) & 0x0f;
}

export function fethSelectivity(view: DataView, at: number): number {
  return (view.getUint32(at) >>> 4) & 3;
}
