/**
 * ACK Extended Transport Header, 4 bytes: acknowledgements and the first and last READ response.
 *
 *   0                   1                   2                   3
 *   0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
 *  +---------------+-----------------------------------------------+
 *  |   syndrome    |                      MSN                      |
 *  +-----+---------+-----------------------------------------------+
 *  |kind | credit code, RNR timer code or NAK code
 *  +-----+---------
 *
 * Owns the bits and the names of syndromes; what a syndrome makes a queue pair do is transport. Rules: ref:wire#7.
 */

export const AETH_BYTES = 4;

const SYNDROME = 0;

/** Whole syndromes that this project sends. `RnrNak` is to be combined with a timer code 0..31. */
export const Syndrome = {
  /** Positive, credit field not in use. */
  Ack: 0x1f,
  RnrNak: 0x20,
  NakSequence: 0x60,
  NakInvalidRequest: 0x61,
  NakRemoteAccess: 0x62,
  NakRemoteOperational: 0x63,
} as const;

/** `syndrome & SYNDROME_KIND_MASK` is a `SyndromeKind`; the rest is `SYNDROME_VALUE_MASK`. */
export const SYNDROME_KIND_MASK = 0xe0;
export const SYNDROME_VALUE_MASK = 0x1f;

/** Kinds 0x80 and above have the top bit set, which is reserved. */
export const SyndromeKind = { Ack: 0x00, RnrNak: 0x20, Reserved: 0x40, Nak: 0x60 } as const;

export interface Aeth {
  readonly syndrome: number;
  /** Message sequence number, 24 bits: completed request messages. */
  readonly msn: number;
}

export function readAeth(view: DataView, offset: number): Aeth {
  return { syndrome: aethSyndrome(view, offset), msn: aethMsn(view, offset) };
}

export function writeAeth(view: DataView, at: number, syndrome: number, msn: number): void {
  view.setUint32(at + SYNDROME, (syndrome << 24) | (msn & 0xff_ff_ff));
}

export function aethSyndrome(view: DataView, at: number): number {
  return view.getUint8(at + SYNDROME);
}

export function aethMsn(view: DataView, at: number): number {
  return view.getUint32(at + SYNDROME) & 0xff_ff_ff;
}
