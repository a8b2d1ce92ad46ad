/**
 * Requesters that send again only what was lost, as newer adapters can (selective repeat).
 *
 * Owns what that makes of packets which filled a gap alone after a NAK had named it, where identifications do not tell.
 * A requester that goes back sends everything behind the gap again, so such a packet is the late original: a
 * retransmission would have brought more. It is not where nothing ever came twice: then each NAK brought just the
 * packet that it asked for, and the receiver has kept what was behind. One or two NAKs may have been lost on their way,
 * and nothing can be told; three were not. That is known at the end only.
 */
import type { PacketCounts } from '../tracker/requester-figures.ts';
import type { TransportEvent } from '../types.ts';
import type { CountedConversation } from './doubtful-losses.ts';

/** Counts such packets as lost and sent again, or as undecided. */
export function moveSelective({ ends }: CountedConversation): void {
  for (const { requester } of ends) {
    const verdict = verdictOf(requester);
    if (verdict === undefined) continue;
    requester.reorderedPackets -= requester.filledAlone;
    requester.retransmittedPackets += requester.filledAlone;
    if (verdict === 'loss') requester.lostPackets += requester.filledAlone;
    else requester.undecidedPackets += requester.filledAlone;
  }
}

/** The event as it is to be reported. */
export function withSelective(event: TransportEvent, conversation: CountedConversation | undefined): TransportEvent {
  const { kind, named, requester, sender, reason: _, ...rest } = event;
  if (kind !== 'reordering' || named !== true || conversation === undefined || sender !== requester) return event;
  const verdict = verdictOf(conversation.ends[requester].requester);
  if (verdict === undefined) return event;
  if (verdict === 'loss') return { ...rest, kind: 'loss', named, requester, sender };
  return { ...rest, kind: 'missing', reason: 'filled-alone', requester, sender };
}

/** What these packets are; undefined: late, as they are counted. */
function verdictOf({ filledAlone, wentBack }: Pick<PacketCounts, 'filledAlone' | 'wentBack'>) {
  if (filledAlone === 0 || wentBack) return undefined;
  return filledAlone >= SURE ? 'loss' : 'missing';
}

const SURE = 3;
