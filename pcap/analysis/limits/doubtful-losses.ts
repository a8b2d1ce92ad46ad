/**
 * Losses that cannot be told, as the end of the capture shows: gaps that either the network or the capture has made,
 * where the capture lacks packets; and READ responses that were captured and asked for again, where packets are
 * overtaken.
 *
 * Owns the division, for totals and events alike. What a peer asked for it lacked: the network has lost it, unless
 * packets are overtaken on this network: then what came late may be what the capture lacks. A gap that nobody named and
 * that a retransmission filled is a loss too where the capture has everything. But behind a loss everything is sent
 * again, and what the capture lost of the first sending looks the same. So at an interface that lost packets, whatever
 * nobody named is undecided, and everything where packets are overtaken. In a sample nothing can be told: neither that
 * nothing was overtaken, nor that what came late is not the retransmission of what is not in the sample. UC has nobody
 * who asks: its losses say themselves that they may be of either.
 *
 * Before the loss nothing tells a READ response that was lost from one that was overtaken (`missed-verdicts.ts`). So it
 * is lost where nothing in the conversation was overtaken, neither before nor later.
 */
import { psnAdd } from '../../../packets/psn.ts';
import type { PacketCounts, RequesterFigures } from '../tracker/requester-figures.ts';
import type { ConversationReport, TransportEvent } from '../types.ts';
import type { Coverage } from './coverage.ts';

type Counts = Pick<PacketCounts, 'lostPackets' | 'reorderedPackets' | 'undecidedPackets' | 'unnamedLosses'>;

/** A conversation whose figures can still be changed. */
export interface CountedConversation {
  readonly service: ConversationReport['service'];
  readonly ends: readonly [CountedEnd, CountedEnd];
}

/** One end of it, and the packets that it sent: all, and those with a wrong ICRC. */
interface CountedEnd {
  readonly requester: RequesterFigures;
  readonly packets: number;
  readonly badIcrc: number;
}

/** Moves what is in doubt to the undecided packets. */
export function moveDoubtful(conversation: CountedConversation, coverage: Coverage | undefined): void {
  if (doesMore(conversation)) for (const { requester } of conversation.ends) moveMissed(requester);
  if (coverage?.isIncomplete !== true) return;
  const { isSample } = coverage;
  const everything = isSample || overtakes(conversation);
  for (const { requester } of conversation.ends)
    for (const counts of [requester, requester.responses]) {
      if (isSample || conversation.service !== 'UC') moveLosses(counts, everything);
      if (isSample) moveLate(counts);
    }
}

/**
 * The event as it is to be reported: what is in doubt is `missing`. A loss whose first packet was named is parted where
 * that one is not in doubt.
 */
export function withoutDoubtful(
  event: TransportEvent,
  coverage: Coverage | undefined,
  conversation: CountedConversation | undefined,
): readonly TransportEvent[] {
  const { kind, reason, named, psn, count, among: _, amongCount: __, ...rest } = event;
  const isMissed = kind === 'loss' && reason === 'seen-then-implied-nak';
  if (isMissed && conversation !== undefined && doesMore(conversation))
    return [{ ...rest, kind: 'missing', reason, psn, count }];
  if (coverage?.isIncomplete !== true) return [event];
  const { isSample } = coverage;
  const doubtful = kind === 'loss' ? isSample || reason !== 'service-without-acks' : isSample && kind === 'reordering';
  if (!doubtful) return [event];
  const missing = { ...rest, kind: 'missing', reason: 'incomplete-capture' } as const;
  const everything = isSample || (conversation !== undefined && overtakes(conversation));
  if (named !== true || everything) return [{ ...missing, psn, count }];
  return count === 1
    ? [event]
    : [
        { ...event, count: 1 },
        { ...missing, psn: psnAdd(psn, 1), count: count - 1 },
      ];
}

function moveLosses(counts: Counts, everything: boolean): void {
  const moved = everything ? counts.lostPackets : counts.unnamedLosses;
  counts.lostPackets -= moved;
  counts.undecidedPackets += moved;
  counts.unnamedLosses = 0;
}

/** READ responses that were captured, and requested again. */
function moveMissed(figures: RequesterFigures): void {
  const { responses, missedResponses } = figures;
  responses.lostPackets -= missedResponses;
  responses.undecidedPackets += missedResponses;
  figures.missedResponses = 0;
}

function moveLate(counts: Counts): void {
  counts.undecidedPackets += counts.reorderedPackets;
  counts.reorderedPackets = 0;
}

/** Packets of this conversation came late, in either direction, or may have. */
function overtakes(conversation: CountedConversation): boolean {
  return hasLate(conversation) || conversation.ends.some(({ requester }) => requester.seemsOvertaken);
}

/**
 * The network does more to packets than to lose them: it overtakes them, or doubles or damages them, so that it may
 * also overtake what is not seen here. Copies of nearly all are the capture's own.
 */
function doesMore(conversation: CountedConversation): boolean {
  const { ends } = conversation;
  if (overtakes(conversation) || ends.some(({ requester }) => asksForNext(requester))) return true;
  const [copies, packets, damaged] = ends.reduce(
    ([some, all, bad], end) => [some + end.requester.copies, all + end.packets, bad + end.badIcrc],
    [0, 0, 0] as [number, number, number],
  );
  return damaged > 0 || (copies > 0 && copies < MOST_COPIES * packets);
}

/**
 * The requester asks for a response, and then for the next one, too often: by chance the next one is lost as it is sent
 * again, and that is as likely as any loss. Where the first has come late, the next one was dropped before that.
 */
function asksForNext({ nextAsked, impliedNaks, responses }: RequesterFigures): boolean {
  if (nextAsked === 0) return false;
  const expected = (impliedNaks * impliedNaks) / Math.max(responses.packets, 1);
  let chance = 1;
  for (let i = 1; i <= nextAsked; i++) chance *= expected / i;
  return chance < CHANCE;
}

function hasLate({ ends }: CountedConversation): boolean {
  return ends.some(
    ({ requester: { reorderedPackets, responses } }) => reorderedPackets + responses.reorderedPackets > 0,
  );
}

/** Of all packets. More are those of a mirror that shows each frame twice. */
const MOST_COPIES = 0.1;
/** What is less likely is no chance. */
const CHANCE = 1 / 200;
