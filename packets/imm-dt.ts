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

export const IMM_DT_BYTES = 4;

export interface ImmDt {
  readonly immDt: number;
}

export function readImmDt(view: DataView, offset: number): ImmDt {
  return { immDt: immDt(view, offset) };
}

export function writeImmDt(view: DataView, at: number, data: number): void {
  view.setUint32(at, data);
}

export function immDt(view: DataView, at: number): number {
  return view.getUint32(at);
}
