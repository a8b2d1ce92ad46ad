/**
 * The count of lost packets, and of those among them that nothing has asked for by their PSN.
 *
 * Owns that both go up and down together, and which losses were the last: packets that are late come when the memory of
 * packets has other ones.
 */
import { PacketFlag, type PacketMemory } from './packet-memory.ts';
import type { PacketCounts } from './requester-figures.ts';

type Counts = Pick<PacketCounts, 'lostPackets' | 'unnamedLosses'>;

/** Counts lost packets. @param named the first of them was asked for */
export function bookLost(counts: Counts, count: number, named: boolean): void {
  counts.lostPackets += count;
  counts.unnamedLosses += named ? count - 1 : count;
}

/** They were late after all. @param named the first of them was asked for */
export function unbookLost(counts: Counts, count: number, named: boolean): void {
  counts.lostPackets -= count;
  counts.unnamedLosses -= named ? count - 1 : count;
}

/** What the memory says of a booked packet. */
export function lostFlags(named: boolean): number {
  return named ? PacketFlag.BookedLost : PacketFlag.BookedLost | PacketFlag.UnnamedLoss;
}

/** This packet did not get lost after all. Returns whether it was counted as lost. */
export function unbookPacket(counts: Counts, memory: PacketMemory, last: LastLosses, psn: number): boolean {
  const known = last.take(psn);
  const flags = known === undefined ? memory.flagsOf(psn) : lostFlags(known.named);
  // What was late is counted as that already.
  if ((flags & (PacketFlag.BookedLost | PacketFlag.Late)) !== PacketFlag.BookedLost) return false;
  unbookLost(counts, 1, (flags & PacketFlag.UnnamedLoss) === 0);
  return true;
}

/** The last few packets that were counted as lost, however long ago. */
export class LastLosses {
  readonly #list: { readonly psn: number; readonly named: boolean }[] = [];

  add(psn: number, named: boolean): void {
    this.take(psn);
    this.#list.push({ psn, named });
    if (this.#list.length > MOST_LAST) this.#list.shift();
  }

  has(psn: number): boolean {
    return this.#list.some((each) => each.psn === psn);
  }

  /** Takes out all from `from` to just before `to`. Returns their PSNs. */
  takeAll(from: number, to: number): number[] {
    const psns = this.#list.map(({ psn }) => psn).filter((psn) => psn >= from && psn < to);
    for (const psn of psns) this.take(psn);
    return psns;
  }

  /** Takes it out; undefined: it is none of them. */
  take(psn: number): { readonly named: boolean } | undefined {
    const at = this.#list.findIndex((each) => each.psn === psn);
    return at < 0 ? undefined : this.#list.splice(at, 1)[0];
  }
}

const MOST_LAST = 32;
