/**
 * The count of lost packets, and of those among them that nothing has asked for by their PSN.
 *
 * Owns that both go up and down together.
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
export function unbookPacket(counts: Counts, memory: PacketMemory, psn: number): boolean {
  const flags = memory.flagsOf(psn);
  if ((flags & PacketFlag.BookedLost) === 0) return false;
  unbookLost(counts, 1, (flags & PacketFlag.UnnamedLoss) === 0);
  return true;
}
