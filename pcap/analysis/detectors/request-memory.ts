/**
 * Recent requests, by PSN space and PSN, so that a NAK can be matched with the request that it refuses.
 *
 * Owns a table of fixed size: a newer request replaces an older one in the same slot, and a replaced request is unknown
 * from then on. It allocates nothing per packet. PSNs are those of the wire.
 */
import type { Frame } from '../../../packets/frame.ts';
import { AETH_AT, ATOMIC_ETH_AT, IETH_AT, OpFlag, opcodeInfo, RETH_AT } from '../../../packets/opcode.ts';
import { rethDmaLength, rethRkey, rethVaHi, rethVaLo } from '../../../packets/reth.ts';
import type { PacketFacts } from '../facts.ts';
import type { ConversationReport, EndReport } from '../types.ts';

/** A request as it was sent last. */
export interface PastRequest {
  readonly conversation: ConversationReport;
  readonly requester: 0 | 1;
  readonly psn: number;
  readonly frame: number;
  readonly opcode: number;
  /** `OpFlag` bits. */
  readonly flags: number;
  readonly payloadBytes: number;
  readonly padCount: number;
  /** Of RETH or AtomicETH; 0n where there is none. */
  readonly va: bigint;
  /** Of RETH, AtomicETH, or the key that a SEND invalidates; 0 where there is none. */
  readonly rkey: number;
  /** Of RETH; 8 for atomics; 0 where there is none. */
  readonly dmaLength: number;
}

export class RequestMemory {
  readonly #owners: (ConversationReport | undefined)[] = new Array(SLOTS).fill(undefined);
  /** `WORDS` of each request. */
  readonly #words = new Uint32Array(WORDS * SLOTS);
  /** Number of the packet that was remembered last. */
  #newest = -1;

  /**
   * Remembers a request of a conversation. Several detectors share the memory and may call this with the same packet.
   */
  put(facts: PacketFacts, conversation: ConversationReport): void {
    const { number } = facts.packet;
    if (number === this.#newest) return;
    this.#newest = number;
    const { frame } = facts.dissection;
    const { opcode, psn, flags } = frame;
    const slot = slotOf(conversation.id, facts.requester, psn);
    // A store of what is there already would be told to the garbage collector as well.
    if (this.#owners[slot] !== conversation) this.#owners[slot] = conversation;
    const row = slot * WORDS;
    const words = this.#words;
    words[row + Word.Psn] = psn;
    words[row + Word.Frame] = number;
    words[row + Word.Shape] = (frame.payloadLength << 11) | (facts.requester << 10) | (frame.padCount << 8) | opcode;
    if ((flags & BARE) === 0) this.#putAddress(row, frame);
  }

  #putAddress(row: number, { opcode, flags, view, bthOffset }: Frame): void {
    const words = this.#words;
    const isAtomic = (flags & OpFlag.Atomic) !== 0;
    const at = ((isAtomic ? ATOMIC_ETH_AT[opcode] : RETH_AT[opcode]) as number) + bthOffset;
    const addressed = at >= bthOffset;
    words[row + Word.VaHi] = addressed ? rethVaHi(view, at) : 0;
    words[row + Word.VaLo] = addressed ? rethVaLo(view, at) : 0;
    words[row + Word.Length] = isAtomic ? ATOMIC_BYTES : addressed ? rethDmaLength(view, at) : 0;
    if (addressed) words[row + Word.Rkey] = rethRkey(view, at);
    else
      words[row + Word.Rkey] =
        (flags & OpFlag.Invalidate) === 0 ? 0 : view.getUint32(bthOffset + (IETH_AT[opcode] as number));
  }

  find(conversation: ConversationReport, requester: 0 | 1, psn: number): PastRequest | undefined {
    const slot = slotOf(conversation.id, requester, psn);
    const holds = this.#owners[slot]?.id === conversation.id && this.#requesterAt(slot) === requester;
    return holds && this.#word(slot, Word.Psn) === psn ? this.#at(slot) : undefined;
  }

  /** All requests remembered that went to this host, in no order. */
  *to(address: string): Generator<PastRequest> {
    for (let slot = 0; slot < SLOTS; slot++) {
      const owner = this.#owners[slot];
      if (owner === undefined) continue;
      if (owner.ends[this.#requesterAt(slot) === 0 ? 1 : 0].address === address) {
        const request = this.#at(slot);
        if (request !== undefined) yield request;
      }
    }
  }

  #at(slot: number): PastRequest | undefined {
    const conversation = this.#owners[slot];
    if (conversation === undefined) return undefined;
    const shape = this.#word(slot, Word.Shape);
    const opcode = shape & 0xff;
    const { flags } = opcodeInfo(opcode);
    const bare = (flags & BARE) !== 0;
    return {
      conversation,
      requester: this.#requesterAt(slot),
      psn: this.#word(slot, Word.Psn),
      frame: this.#word(slot, Word.Frame),
      opcode,
      flags,
      payloadBytes: shape >>> 11,
      padCount: (shape >>> 8) & 3,
      va: bare ? 0n : (BigInt(this.#word(slot, Word.VaHi)) << 32n) | BigInt(this.#word(slot, Word.VaLo)),
      rkey: bare ? 0 : this.#word(slot, Word.Rkey),
      dmaLength: bare ? 0 : this.#word(slot, Word.Length),
    };
  }

  #requesterAt(slot: number): 0 | 1 {
    return ((this.#word(slot, Word.Shape) >>> 10) & 1) === 0 ? 0 : 1;
  }

  #word(slot: number, word: number): number {
    return this.#words[slot * WORDS + word] as number;
  }
}

/** The end that a request went to. */
export function responderEndOf({
  conversation,
  requester,
}: Pick<PastRequest, 'conversation' | 'requester'>): EndReport {
  return conversation.ends[requester === 0 ? 1 : 0];
}

/** The end that sent it. */
export function requesterEndOf({
  conversation,
  requester,
}: Pick<PastRequest, 'conversation' | 'requester'>): EndReport {
  return conversation.ends[requester];
}

/** The syndrome of a packet with an AETH; -1 without one. */
export function syndromeOf({ dissection: { frame } }: PacketFacts): number {
  const at = AETH_AT[frame.opcode] ?? -1;
  return at < 0 ? -1 : frame.view.getUint8(frame.bthOffset + at);
}

/** Neighbouring PSNs of a space have neighbouring slots; spaces begin anywhere. */
function slotOf(id: number, requester: number, psn: number): number {
  return (Math.imul(id * 2 + requester, SPREAD) + psn) & (SLOTS - 1);
}

/** Of no MIDDLE is there an address or a key. */
const BARE = OpFlag.Middle;
const SLOTS = 1 << 14;
/**
 * Of a request, together, since a packet has one slot and that is not in the processor's cache. In a shape: payload
 * length, requester, pad and opcode, from the highest bits to the lowest. Address, key and length only of opcodes that
 * have them; what lies there of others is older.
 */
const Word = { Psn: 0, Frame: 1, Shape: 2, VaHi: 3, VaLo: 4, Rkey: 5, Length: 6 };
const WORDS = 8;
/** 2^32 over the golden ratio. */
const SPREAD = 0x9e37_79b1 | 0;
const ATOMIC_BYTES = 8;
