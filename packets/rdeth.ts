/**
 * Reliable Datagram Extended Transport Header, 4 bytes. RD is decoded, never spoken.
 *
 *   0                   1                   2                   3
 *   0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
 *  +---------------+-----------------------------------------------+
 *  |   reserved    |              end-to-end context               |
 *  +---------------+-----------------------------------------------+
 *
 * Owns the bits only. Rules: ref:wire#6.
 */

export const RDETH_BYTES = 4;

export interface Rdeth {
  /** 24 bits */
  readonly eeContext: number;
}

export function readRdeth(view: DataView, offset: number): Rdeth {
  return { eeContext: rdethEeContext(view, offset) };
}

export function writeRdeth(view: DataView, at: number, eeContext: number): void {
  view.setUint32(at, eeContext & 0xff_ff_ff);
}

export function rdethEeContext(view: DataView, at: number): number {
  return view.getUint32(at) & 0xff_ff_ff;
}
