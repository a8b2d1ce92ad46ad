/**
 * End-to-end credits: how a responder advertises its receives, in five bits of an ACK, and how far a requester
 * may go with them. Owns the code table and the limit sequence number; never looks at a packet.
 *
 * Messages are counted: the first of a connection is number 1. An ACK with MSN m and credits c means that message m + c
 * finds a receive if all messages consume one. One that consumes none moves the limit on by itself.
 * Rules: ref:conformance#ACK-10..ACK-12, C.4; rxe never gives credits; rdmavt:rc.c#rvt_get_credit,
 * qib:qib_rc.c#qib_make_rc_req.
 */
import { psnDiff } from '../packets/psn.ts';

/** The code for: credits are not used. */
export const NO_CREDITS = 0x1f;
const MAX_CODE = 0x1e;

/** Receives that a code 0..30 stands for: 0 to 4, then doubling in two steps, 3 * 2^n between 2^(n+1) and 2^(n+2). */
export function creditsOf(code: number): number {
  if (code < 4) return code;
  const power = 2 ** (code >> 1);
  return (code & 1) === 0 ? power : (power / 2) * 3;
}

const CREDITS = Uint16Array.from({ length: MAX_CODE + 1 }, (_, code) => creditsOf(code));

/** The code of the largest number of receives that is not above `receives`. */
export function creditCode(receives: number): number {
  if (receives <= 4) return receives;
  const exponent = Math.min(31 - Math.clz32(receives), MAX_CODE / 2);
  const code = exponent * 2;
  return code < MAX_CODE && receives >= (CREDITS[code + 1] as number) ? code + 1 : code;
}

/** How many receives of its peer a requester may rely on. */
export class CreditLimit {
  /** False until the peer gives credits, and again when it stops giving them. */
  limited = false;
  /** Number of the newest message that is sure to find a receive, counted up without wrapping. */
  lsn = 0;

  /** A connection begins. `limited`: the peer gives credits, and has given none so far. */
  reset(limited: boolean): void {
    this.limited = limited;
    this.lsn = 0;
  }

  /** A message that takes no receive is sent for the first time. */
  sentWithoutReceive(): void {
    this.lsn += 1;
  }

  /** A positive ACK with this MSN (24 bits) and credit code; true when more may be sent than before. */
  granted(msn: number, code: number): boolean {
    if (!this.limited) return false;
    if (code > MAX_CODE) {
      this.limited = false;
      return true;
    }
    const lsn = this.lsn + psnDiff((msn + (CREDITS[code] as number)) & 0xff_ff_ff, this.lsn & 0xff_ff_ff);
    if (lsn <= this.lsn) return false;
    this.lsn = lsn;
    return true;
  }
}
