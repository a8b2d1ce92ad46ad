/**
 * Gaps that either the network or the capture has made, where the capture loses packets.
 *
 * Owns the division. What a peer asked for it lacked: the network has lost it. A gap that nobody named and that a
 * retransmission filled is a loss too where the capture has everything. But behind a loss everything is sent again, and
 * what the capture lost of the first sending looks the same: as many gaps as it may have made there count as undecided.
 */
import type { PacketCounts, RequesterFigures } from '../tracker/requester-figures.ts';
import type { Coverage } from './coverage.ts';

type Counts = Pick<PacketCounts, 'lostPackets' | 'undecidedPackets' | 'unnamedLosses' | 'retransmittedPackets'>;

/** Moves losses of one end's requests, and of their responses, to the undecided ones. */
export function moveDoubtfulLosses(requester: RequesterFigures, coverage: Coverage | undefined): void {
  if (coverage === undefined) return;
  const { isSample, unseenShare } = coverage;
  for (const counts of [requester, requester.responses]) {
    move(counts, isSample ? Number.POSITIVE_INFINITY : mostByCapture(unseenShare, counts.retransmittedPackets));
    if (!isSample) continue;
    // What came late may be the retransmission of what is not in the sample.
    counts.undecidedPackets += counts.reorderedPackets;
    counts.reorderedPackets = 0;
  }
}

function move(counts: Counts, most: number): void {
  const moved = Math.min(counts.unnamedLosses, counts.lostPackets, most);
  counts.lostPackets -= moved;
  counts.undecidedPackets += moved;
  counts.unnamedLosses -= moved;
}

/** Gaps that the capture makes in so many packets at most, but for chance; 0 where it loses nothing. */
function mostByCapture(share: number, packets: number): number {
  const expected = share * packets;
  return share === 0 || packets === 0 ? 0 : Math.ceil(2 * expected + 2 * Math.sqrt(expected) + 1);
}
