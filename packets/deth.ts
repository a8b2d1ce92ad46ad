/**
 * Datagram Extended Transport Header, 8 bytes: UD (and RD) requests.
 *
 *   0                   1                   2                   3
 *   0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
 *  +---------------------------------------------------------------+
 *  |                             Q_Key                             |
 *  +---------------+-----------------------------------------------+
 *  |   reserved    |                  source QPN                   |
 *  +---------------+-----------------------------------------------+
 *
 * Owns the bits only. Rules: ref:wire#6.
 */

export const DETH_BYTES = 8;

const QKEY = 0;
const SOURCE_QPN = 4;

export interface Deth {
  readonly qkey: number;
  /** 24 bits */
  readonly sourceQpn: number;
}

export function readDeth(view: DataView, offset: number): Deth {
  return { qkey: dethQkey(view, offset), sourceQpn: dethSourceQpn(view, offset) };
}

export function writeDeth(view: DataView, at: number, qkey: number, sourceQpn: number): void {
  view.setUint32(at + QKEY, qkey);
  view.setUint32(at + SOURCE_QPN, sourceQpn & 0xff_ff_ff);
}

export function dethQkey(view: DataView, at: number): number {
  return view.getUint32(at + QKEY);
}

export function dethSourceQpn(view: DataView, at: number): number {
  return view.getUint32(at + SOURCE_QPN) & 0xff_ff_ff;
}
