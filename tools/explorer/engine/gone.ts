/**
 * What never came past before a packet of a conversation, as runs of PSNs.
 *
 * Owns the difference between lost and damaged: a packet with a wrong ICRC is none to its receiver, and the analysis
 * counts its PSN as missing, but it is in the capture and has a line of its own. So it is not lost as well.
 */
import { Mark } from 'rocev2/pcap';
import type { LostRun } from '../ladder/rows.ts';
import type { CaptureSession } from './session.ts';

/** Runs of packets that are missing before the packet of an index, in order, without those that came damaged. */
export function goneBefore(session: CaptureSession, index: number): readonly LostRun[] {
  const missing = session.table.missing[index] ?? 0;
  const next = session.table.relativePsn[index] ?? Number.NaN;
  if (missing === 0 || Number.isNaN(next)) return [];
  const runs: LostRun[] = [];
  let from = next - missing;
  for (const psn of damagedIn(session, index, from, next)) {
    if (psn > from) runs.push({ psn: from, count: psn - from });
    from = psn + 1;
  }
  if (next > from) runs.push({ psn: from, count: next - from });
  if (runs.length <= MOST_RUNS) return runs;
  const last = runs[MOST_RUNS - 1]?.psn ?? from;
  return [...runs.slice(0, MOST_RUNS - 1), { psn: last, count: next - last }];
}

/** PSNs from `from` to `next` of damaged packets that came before this one, from the same end, in order. */
function damagedIn(session: CaptureSession, index: number, from: number, next: number): number[] {
  const { table } = session;
  const packets = session.packetsOf(table.conversation[index] ?? 0);
  const damaged = new Set<number>();
  const at = packets.lowerBound(index);
  for (let position = at - 1; position >= Math.max(0, at - (next - from) - MOST_BETWEEN); position--) {
    const earlier = packets.at(position);
    const psn = table.relativePsn[earlier] ?? Number.NaN;
    const same = table.sender[earlier] === table.sender[index] && table.requester[earlier] === table.requester[index];
    if (same && ((table.marks[earlier] ?? 0) & Mark.BadIcrc) !== 0 && psn >= from && psn < next) damaged.add(psn);
  }
  return [...damaged].sort((a, b) => a - b);
}

/** Lines before one packet, at most. */
export const MOST_RUNS = 8;
/** Packets of the other end, and others, among those that are looked at. */
const MOST_BETWEEN = 256;
