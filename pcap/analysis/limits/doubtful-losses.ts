/**
 * Gaps that either the network or the capture has made, where the capture lacks packets.
 *
 * Owns the division, for totals and events alike. What a peer asked for it lacked: the network has lost it. A gap that
 * nobody named and that a retransmission filled is a loss too where the capture has everything. But behind a loss
 * everything is sent again, and what the capture lost of the first sending looks the same. So at an interface that is a
 * sample, or that lost packets, whatever nobody named is undecided. UC has nobody who asks: its losses say themselves
 * that they may be of either, and are undecided in a sample. There, what came late is undecided as well: it may be the
 * retransmission of what is not in the sample.
 */
import { psnAdd } from '../../../packets/psn.ts';
import type { PacketCounts, RequesterFigures } from '../tracker/requester-figures.ts';
import type { ConversationReport, TransportEvent } from '../types.ts';
import type { Coverage } from './coverage.ts';

type Counts = Pick<PacketCounts, 'lostPackets' | 'reorderedPackets' | 'undecidedPackets' | 'unnamedLosses'>;

/** A conversation whose figures can still be changed. */
export interface CountedConversation {
  readonly service: ConversationReport['service'];
  readonly ends: readonly [{ readonly requester: RequesterFigures }, { readonly requester: RequesterFigures }];
}

/** Moves what is in doubt to the undecided packets. */
export function moveDoubtful({ service, ends }: CountedConversation, coverage: Coverage | undefined): void {
  if (coverage?.isIncomplete !== true) return;
  const { isSample } = coverage;
  for (const { requester } of ends)
    for (const counts of [requester, requester.responses]) {
      if (isSample || service !== 'UC') moveLosses(counts);
      if (isSample) moveLate(counts);
    }
}

/** The event as it is to be reported: what is in doubt is `missing`. A loss whose first packet was named is parted. */
export function withoutDoubtful(event: TransportEvent, coverage: Coverage | undefined): readonly TransportEvent[] {
  if (coverage?.isIncomplete !== true) return [event];
  const { kind, reason, named, psn, count, ...rest } = event;
  const { isSample } = coverage;
  const doubtful = kind === 'loss' ? isSample || reason !== 'service-without-acks' : isSample && kind === 'reordering';
  if (!doubtful) return [event];
  const missing = { ...rest, kind: 'missing', reason: 'incomplete-capture' } as const;
  if (named !== true) return [{ ...missing, psn, count }];
  return count === 1
    ? [event]
    : [
        { ...event, count: 1 },
        { ...missing, psn: psnAdd(psn, 1), count: count - 1 },
      ];
}

function moveLosses(counts: Counts): void {
  counts.lostPackets -= counts.unnamedLosses;
  counts.undecidedPackets += counts.unnamedLosses;
  counts.unnamedLosses = 0;
}

function moveLate(counts: Counts): void {
  counts.undecidedPackets += counts.reorderedPackets;
  counts.reorderedPackets = 0;
}
