/**
 * Requests that a receiver should not accept as the capture shows them, and how many of them it acknowledged all the
 * same.
 *
 * Owns the latest of them. An ACK covers what is before it in its conversation. Where no conversation is known, it
 * covers its own PSN and that before: a message ends with a shorter packet, which may be nothing special.
 */
import { SYNDROME_KIND_MASK, SyndromeKind } from '../../../packets/aeth.ts';
import type { Frame } from '../../../packets/frame.ts';
import { AETH_AT, OpFlag } from '../../../packets/opcode.ts';
import { PSN_MASK } from '../../../packets/psn.ts';

/** See the top of this file. Conversation 0: not known. */
export class AskedPsns {
  /** How many were acknowledged. */
  acknowledged = 0;
  readonly #asked: number[] = [];

  asked(psn: number, conversation = 0): void {
    this.#asked.push(conversation * PSNS + psn);
    if (this.#asked.length > MOST_ASKED) this.#asked.shift();
  }

  /** It was sent once more, as it should be: an ACK is about that. */
  sentAgain(psn: number, conversation: number): void {
    const at = this.#asked.indexOf(conversation * PSNS + psn);
    if (at >= 0) this.#asked.splice(at, 1);
  }

  answered(psn: number, conversation = 0): void {
    for (let at = this.#asked.length - 1; at >= 0; at--) {
      if (!covers(psn, conversation, this.#asked[at] ?? 0)) continue;
      this.#asked.splice(at, 1);
      this.acknowledged++;
    }
  }
}

/** An ACK, or requested data. */
export function isGoodAnswer({ flags, view, bthOffset, opcode }: Frame): boolean {
  if ((flags & OpFlag.Response) === 0) return false;
  if ((flags & OpFlag.Ack) === 0) return true;
  return (view.getUint8(bthOffset + (AETH_AT[opcode] ?? 0)) & SYNDROME_KIND_MASK) === SyndromeKind.Ack;
}

function covers(psn: number, conversation: number, asked: number): boolean {
  const known = Math.floor(asked / PSNS);
  const behind = (psn - asked) & PSN_MASK;
  if (known === 0 || conversation === 0) return behind <= 1;
  return known === conversation && behind < PSNS / 2;
}

const PSNS = 0x1_00_00_00;
const MOST_ASKED = 64;
