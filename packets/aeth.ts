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

/** Length of the header, in bytes. */
export const AETH_BYTES = 4;

const SYNDROME = 0;

/** Whole syndromes that this project sends. `RnrNak` is to be combined with a timer code 0..31. */
export const Syndrome = {
  /** Positive, credit field not in use. */
  Ack: 0x1f,
  /** Receiver not ready, timer code 0. */
  RnrNak: 0x20,
  /** A packet is missing before this one: send again from the PSN in the BTH. */
  NakSequence: 0x60,
  /** The request is malformed or not allowed: opcode, length, resources. */
  NakInvalidRequest: 0x61,
  /** The key, range or rights do not allow it. */
  NakRemoteAccess: 0x62,
  /** The responder failed on its own account. */
  NakRemoteOperational: 0x63,
} as const;

/** `syndrome & SYNDROME_KIND_MASK` is a `SyndromeKind`; the rest is `SYNDROME_VALUE_MASK`. */
export const SYNDROME_KIND_MASK = 0xe0;
/** The bits of a syndrome that hold the credit code, RNR timer code or NAK code. */
export const SYNDROME_VALUE_MASK = 0x1f;

/** Names of NAKs by their code, the lower five bits of the syndrome; codes from 5 on have none. */
export const NAK_NAMES: readonly string[] = [
  'PSN sequence error',
  'invalid request',
  'remote access error',
  'remote operational error',
  'invalid RD request',
];

/** Kinds 0x80 and above have the top bit set, which is reserved. */
export const SyndromeKind = {
  /** Positive; the value is a credit code, 31 for "no credits counted". */
  Ack: 0x00,
  /** Receiver not ready; the value is a timer code (`RNR_TIMER_NS`). */
  RnrNak: 0x20,
  /** Not to be sent. */
  Reserved: 0x40,
  /** Negative; the value is a NAK code. */
  Nak: 0x60,
} as const;

/** The header, field by field (ref:wire#7). */
export interface Aeth {
  /** 8 bits: kind in the upper three, value in the lower five. */
  readonly syndrome: number;
  /** Message sequence number, 24 bits: completed request messages. */
  readonly msn: number;
}

/** Reads the header at `offset`, where `AETH_BYTES` must be. @throws RangeError otherwise */
export function readAeth(view: DataView, offset: number): Aeth {
  return { syndrome: aethSyndrome(view, offset), msn: aethMsn(view, offset) };
}

/** Writes all 4 bytes; the MSN is cut to 24 bits. */
export function writeAeth(view: DataView, at: number, syndrome: number, msn: number): void {
  view.setUint32(at + SYNDROME, (syndrome << 24) | (msn & 0xff_ff_ff));
}

/** Syndrome of the AETH at `at`, 0..255. */
export function aethSyndrome(view: DataView, at: number): number {
  return view.getUint8(at + SYNDROME);
}

/** MSN of the AETH at `at`, 0..0xffffff. */
export function aethMsn(view: DataView, at: number): number {
  return view.getUint32(at + SYNDROME) & 0xff_ff_ff;
}
