/**
 * Symptom: READ responses are missing and the requester requests them again, which is called an implied NAK.
 *
 * Owns one finding for each direction between two hosts, a warning: each implied NAK costs at least a round trip and at
 * worst an ACK timeout. It is a note where damaged packets explain it (`icrc-invalid` has the rest). The reason of an
 * `implied-nak` event tells whether the requester reacted at once or after its timer (ref:rxe#8: rdma_rxe waits when
 * the gap is inside one READ). Rules: ref:analyzer#1 row 9.
 */
import type { Detector, DetectorContext, Symptom } from '../detector.ts';
import type { ConversationReport, TransportEvent } from '../types.ts';
import { groupOf } from './failures.ts';
import { FrameList, mergedFrames } from './frame-list.ts';
import { counted, duration, percent, times } from './words.ts';

export const IMPLIED_NAK: Symptom = {
  id: 'implied-nak',
  row: 9,
  title: 'READ responses lost',
  complaint:
    'Counter implied_nak_seq_err grows; READs are slow, or some of them take exactly as long as an ACK timeout.',
  about:
    'The responses of a READ are not acknowledged, so when one is lost only the requester can notice: the next one it sees has too high a PSN. It then ' +
    'requests the READ again, from the gap on. Most NICs do so at once. rdma_rxe does when a later READ shows the gap, and waits for its ACK timer ' +
    'when the gap is inside one READ.',
  advice: [
    'Look for drops on the way from the responder to the requester: READ responses are the data there.',
    'Where the requester waits for its timer (rdma_rxe), a shorter ACK timeout or smaller READs cost less per loss.',
  ],
  commands: ['rdma statistic show link DEV/1', 'ethtool -S DEV | grep -iE "implied_nak|discard|drop"'],
  make: () => new ImpliedNak(),
};

interface ImpliedNakCounts {
  readonly frames: FrameList;
  readonly gaps: FrameList;
  atOnce: number;
  afterTimeout: number;
  /** Between these. */
  later: number;
  longestNs: number;
}

class ImpliedNak implements Detector {
  readonly #counts = new Map<number, ImpliedNakCounts>();

  event(event: TransportEvent): void {
    if (event.kind !== 'implied-nak' || event.conversation === 0) return;
    const key = event.conversation * 2 + event.requester;
    let counts = this.#counts.get(key);
    if (counts === undefined) {
      if (this.#counts.size >= MOST_SPACES) return;
      counts = { frames: new FrameList(), gaps: new FrameList(), atOnce: 0, afterTimeout: 0, later: 0, longestNs: 0 };
      this.#counts.set(key, counts);
    }
    counts.frames.add(event.frame);
    if (event.refersTo > 0) counts.gaps.add(event.refersTo);
    if (event.reason === 'after-timeout') counts.afterTimeout++;
    else if (event.reason === 'immediate') counts.atOnce++;
    else counts.later++;
    counts.longestNs = Math.max(counts.longestNs, event.durationNs);
  }

  finish(context: DetectorContext): void {
    const told = new Set<string>();
    for (const [key, counts] of this.#counts) {
      const conversation = context.conversation(Math.floor(key / 2));
      if (conversation === undefined) continue;
      const requester = key % 2 === 0 ? 0 : 1;
      const { address, qpn } = conversation.ends[requester];
      // Another vantage point has the same finding already.
      const same = `${groupOf(conversation)} ${address} ${qpn}`;
      if (told.has(same) || told.size >= MOST_FINDINGS) continue;
      told.add(same);
      report(context, conversation, requester, counts);
    }
  }
}

function report(
  context: DetectorContext,
  conversation: ConversationReport,
  requester: 0 | 1,
  counts: ImpliedNakCounts,
): void {
  const requesterEnd = conversation.ends[requester];
  const responderEnd = conversation.ends[requester === 0 ? 1 : 0];
  const { frames, gaps, atOnce, afterTimeout, later, longestNs } = counts;
  const { responses, missedResponses } = requesterEnd.requester;
  const { packets, lostPackets, reorderedPackets, undecidedPackets } = responses;
  const captured = Math.min(missedResponses, lostPackets);
  const share = packets === 0 ? 0 : lostPackets / packets;
  const damaged = lostPackets === 0 && responderEnd.badIcrc >= frames.count;
  // All had passed here: they were late for a requester that was in a hurry.
  const late = lostPackets === 0 && reorderedPackets === 0 && undecidedPackets === 0;
  const when = whenOf(counts);
  context.report({
    severity: damaged || late ? 'note' : 'warning',
    text:
      late && !damaged
        ? `${requesterEnd.address} requested READ responses of ${responderEnd.address} again ${times(frames.count)}, though they were captured here: they came late, or its timer is short.`
        : `${requesterEnd.address} requested missing READ responses of ${responderEnd.address} again ${times(frames.count)}, ${when}; ` +
          `${lostPackets} of ${counted(packets, 'response packet')} (${percent(share)}) ${lostPackets === 1 ? 'was' : 'were'} lost` +
          `${undecidedPackets === 0 ? '' : `, and ${undecidedPackets} more by the network or by the capture, which cannot be told`}.` +
          (captured === 0 ? '' : capturedText(captured, lostPackets)),
    frames: mergedFrames([frames.frames, gaps.frames]),
    frameCount: frames.count + gaps.count,
    conversations: [conversation.id],
    evidence: {
      impliedNaks: frames.count,
      atOnce,
      afterTimeout,
      ...(later > 0 ? { later } : {}),
      longestWaitNs: longestNs,
      lostResponses: lostPackets,
      ...(captured > 0 ? { capturedResponses: captured } : {}),
      ...(undecidedPackets > 0 ? { undecidedResponses: undecidedPackets } : {}),
      lossPercent: Number((share * 100).toPrecision(3)),
    },
  });
}

/** No duplicate of a response is answered, so nothing shows here that it came late. */
function capturedText(captured: number, lost: number): string {
  const which = captured < lost ? `${captured} of them` : lost === 1 ? 'It' : 'They';
  const are = captured === 1 ? 'was' : 'were';
  return ` ${which} ${are} captured here: had the network delayed ${captured === 1 ? 'it' : 'them'}, and nothing else, the capture would be the same.`;
}

/** When the requester asked again, in words. */
function whenOf({ atOnce, afterTimeout, later, longestNs }: ImpliedNakCounts): string {
  const all: readonly [number, string][] = [
    [atOnce, 'immediately'],
    [afterTimeout, 'after a timeout'],
    [later, 'later, for a timeout or as it is slow'],
  ];
  const some = all.filter(([count]) => count > 0);
  const longest = afterTimeout + later === 0 ? '' : ` (up to ${duration(longestNs)})`;
  const words = some.map(([count, when]) => (some.length === 1 ? when : `${times(count)} ${when}`)).join(' and ');
  return `${some.length === 1 && atOnce === 0 ? 'only ' : ''}${words}${longest}`;
}

const MOST_SPACES = 4096;
const MOST_FINDINGS = 50;
