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

/** Length of the header, in bytes. */
export const RDETH_BYTES = 4;

/** The header, as a record (ref:wire#6). */
export interface Rdeth {
  /** 24 bits */
  readonly eeContext: number;
}

/** Reads the header at `offset`, where `RDETH_BYTES` must be. @throws RangeError otherwise */
export function readRdeth(view: DataView, offset: number): Rdeth {
  return { eeContext: rdethEeContext(view, offset) };
}

/** Writes all 4 bytes; the context is cut to 24 bits. */
export function writeRdeth(view: DataView, at: number, eeContext: number): void {
  view.setUint32(at, eeContext & 0xff_ff_ff);
}

/** End-to-end context of the RDETH at `at`, 0..0xffffff. */
export function rdethEeContext(view: DataView, at: number): number {
  return view.getUint32(at) & 0xff_ff_ff;
}
