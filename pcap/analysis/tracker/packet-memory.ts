/**
 * The recent packets of a PSN space by PSN: time, frame number, and what distinguishes a frame from its retransmission.
 *
 * Owns a table indexed by the low bits of the relative PSN, with the full PSN beside it, so that an entry that was
 * replaced is recognized as unknown. The table grows while a packet would replace one that is unacknowledged or recent.
 * There is a bound for each table, and one for all tables of an analysis, so that a hostile capture cannot exhaust the
 * memory.
 */

/** The packets by which all tables of an analysis may still grow. */
export interface MemoryBudget {
  entries: number;
}

import type { MutableFacts } from './mutable-facts.ts';

/** What is known of a packet beside its identity; bits. */
export const PacketFlag = {
  /** It was sent more than once. */
  Repeated: 1 << 0,
  /** It came after packets sent later. */
  Late: 1 << 1,
  /** It is counted as lost after this capture point. */
  BookedLost: 1 << 2,
  /** Its AckReq bit is set. */
  AckReq: 1 << 3,
  /** It is counted as lost, and nothing has asked for it by its PSN. */
  UnnamedLoss: 1 << 4,
} as const;

/** The flag of a packet with the AckReq bit. */
export function askedAck({ dissection: { frame } }: MutableFacts): number {
  return frame.ackReq === 1 ? PacketFlag.AckReq : 0;
}

export class PacketMemory {
  readonly #budget: MemoryBudget;
  #mask = FIRST_ENTRIES - 1;
  /** PSN and time, in turn. */
  #doubles = new Float64Array(2 * FIRST_ENTRIES).fill(-Infinity);
  /** Frame number, ICRC, identification with flags in its upper half, identification of the sending before, in turn. */
  #words = new Uint32Array(WORDS * FIRST_ENTRIES);

  constructor(budget: MemoryBudget) {
    this.#budget = budget;
  }

  /** @param keepFrom packets from this PSN on are worth more memory */
  put(psn: number, facts: MutableFacts, flags: number, keepFrom: number): void {
    let slot = slotOf(psn, this.#mask);
    const before = this.#doubles[2 * slot] as number;
    if (before !== psn && before !== -Infinity && this.#shouldGrow(slot, before >= keepFrom, facts.timeNs)) {
      this.#grow();
      slot = slotOf(psn, this.#mask);
    }
    const id = (this.#words[WORDS * slot + 2] as number) & 0xff_ff;
    this.#words[WORDS * slot + 3] = before === psn ? id : NO_ID;
    this.#doubles[2 * slot] = psn;
    this.#doubles[2 * slot + 1] = facts.timeNs;
    this.#words[WORDS * slot] = facts.packet.number;
    this.#words[WORDS * slot + 1] = facts.icrcValue;
    this.#words[WORDS * slot + 2] = (facts.ipId & 0xff_ff) | (flags << 16);
  }

  has(psn: number): boolean {
    return this.#doubles[2 * slotOf(psn, this.#mask)] === psn;
  }

  /** -1: not known. */
  frameOf(psn: number): number {
    return this.has(psn) ? (this.#words[WORDS * slotOf(psn, this.#mask)] as number) : -1;
  }

  /** NaN: not known. */
  timeOf(psn: number): number {
    return this.has(psn) ? (this.#doubles[2 * slotOf(psn, this.#mask) + 1] as number) : Number.NaN;
  }

  /** 0 also when not known. */
  flagsOf(psn: number): number {
    return this.has(psn) ? (this.#words[WORDS * slotOf(psn, this.#mask) + 2] as number) >>> 16 : 0;
  }

  addFlag(psn: number, flag: number): void {
    if (!this.has(psn)) return;
    const at = WORDS * slotOf(psn, this.#mask) + 2;
    this.#words[at] = (this.#words[at] as number) | (flag << 16);
  }

  /** IPv4 identification of the last packet with this PSN; -1: not known. */
  idOf(psn: number): number {
    return this.has(psn) ? (this.#words[WORDS * slotOf(psn, this.#mask) + 2] as number) & 0xff_ff : -1;
  }

  /** Whether the packet at hand is, as far as one can see, the frame that had this PSN last. */
  isSameFrame(psn: number, facts: MutableFacts): boolean {
    if (!this.has(psn)) return false;
    const at = WORDS * slotOf(psn, this.#mask);
    return (
      this.#words[at + 1] === facts.icrcValue && ((this.#words[at + 2] as number) & 0xff_ff) === (facts.ipId & 0xff_ff)
    );
  }

  /** Whether the packet at hand has the identification of the sending before the last. */
  isEarlierSending(psn: number, facts: MutableFacts): boolean {
    return this.has(psn) && facts.ipId >= 0 && this.#words[WORDS * slotOf(psn, this.#mask) + 3] === facts.ipId;
  }

  /** The packet at hand is that sending, and has come late: another one like it will be its copy. */
  noteEarlierSending(psn: number, facts: MutableFacts): void {
    if (this.has(psn) && facts.ipId >= 0) this.#words[WORDS * slotOf(psn, this.#mask) + 3] = facts.ipId;
  }

  #shouldGrow(slot: number, isNeeded: boolean, timeNs: number): boolean {
    const entries = this.#mask + 1;
    if (this.#budget.entries < entries) return false;
    if (entries < USUAL_ENTRIES) return true;
    if (entries >= (isNeeded ? MAX_ENTRIES : MAX_RECENT_ENTRIES)) return false;
    return isNeeded || timeNs - (this.#doubles[2 * slot + 1] as number) < RECENT_NS;
  }

  #grow(): void {
    this.#budget.entries -= this.#mask + 1;
    const doubles = this.#doubles;
    const words = this.#words;
    const entries = 2 * (this.#mask + 1);
    this.#mask = entries - 1;
    this.#doubles = new Float64Array(2 * entries).fill(-Infinity);
    this.#words = new Uint32Array(WORDS * entries);
    for (let old = 0; old < entries / 2; old++) {
      const psn = doubles[2 * old] as number;
      if (psn === -Infinity) continue;
      const slot = slotOf(psn, this.#mask);
      this.#doubles.set(doubles.subarray(2 * old, 2 * old + 2), 2 * slot);
      this.#words.set(words.subarray(WORDS * old, WORDS * old + WORDS), WORDS * slot);
    }
  }
}

/** Relative PSNs are safe integers, and those of one memory lie close together: the low 32 bits are enough. */
function slotOf(psn: number, mask: number): number {
  return psn & mask;
}

const WORDS = 4;
const NO_ID = 0x1_00_00;
/** Most of the many connections of a large capture say little. */
const FIRST_ENTRIES = 4;
/** For all that say more. */
const USUAL_ENTRIES = 16;
const MAX_ENTRIES = 8192;
/** What is acknowledged is kept as long as copies and latecomers are likely, if it is not too much. */
const RECENT_NS = 1_000_000;
const MAX_RECENT_ENTRIES = 1024;
