/** Goal: a loss of an incomplete capture is told only where nothing can have come late. Method: one named loss. */
import { describe, expect, it } from 'vitest';
import type { Coverage } from '../../../../pcap/analysis/limits/coverage.ts';
import { moveDoubtful, withoutDoubtful } from '../../../../pcap/analysis/limits/doubtful-losses.ts';
import { RequesterFigures } from '../../../../pcap/analysis/tracker/requester-figures.ts';
import type { TransportEvent } from '../../../../pcap/analysis/types.ts';

const loss = { kind: 'loss', reason: 'seen-then-nak', named: true, psn: 5, count: 1 } as unknown as TransportEvent;
const lacking = { isIncomplete: true, isSample: false } as Coverage;

function conversationOf() {
  const ends = [{ requester: new RequesterFigures() }, { requester: new RequesterFigures() }] as const;
  return { service: 'RC', ends } as const;
}

function kindsWith(change: (requester: RequesterFigures) => void): readonly string[] {
  const conversation = conversationOf();
  const { requester } = conversation.ends[0];
  requester.lostPackets = 1;
  change(requester);
  moveDoubtful(conversation, lacking);
  const told = withoutDoubtful(loss, lacking, conversation).map(({ kind }) => kind);
  return [...told, `${requester.lostPackets} lost`, `${requester.undecidedPackets} undecided`];
}

it('what a receiver asked for was lost', () => {
  expect(kindsWith(() => {})).toEqual(['loss', '1 lost', '0 undecided']);
});

it('where packets come late, or an answer seems to be to a late one, that may be in what the capture lacks', () => {
  const late = kindsWith((requester) => {
    requester.reorderedPackets = 1;
  });
  const seems = kindsWith((requester) => {
    requester.seemsOvertaken = true;
  });
  for (const told of [late, seems]) expect(told).toEqual(['missing', '0 lost', '1 undecided']);
});

describe('a READ response that was captured before it was asked for again', () => {
  const missed = { ...loss, reason: 'seen-then-implied-nak' } as unknown as TransportEvent;
  const seen = (reorderedPackets: number, event = missed, coverage?: Coverage) => {
    const conversation = conversationOf();
    const { requester } = conversation.ends[0];
    requester.missedResponses = 8;
    Object.assign(requester.responses, { lostPackets: 9, reorderedPackets });
    moveDoubtful(conversation, coverage);
    const [told] = withoutDoubtful(event, coverage, conversation);
    const { lostPackets, undecidedPackets } = requester.responses;
    return `${told?.kind} ${told?.reason} ${told?.named === true}, ${lostPackets} lost, ${undecidedPackets} undecided`;
  };
  const LOST = 'loss seen-then-implied-nak true, 9 lost, 0 undecided';
  const UNDECIDED = 'missing seen-then-implied-nak false, 1 lost, 8 undecided';

  it('was lost, unless something is known to be overtaken', () => {
    expect([seen(0), seen(1)]).toEqual([LOST, UNDECIDED]);
    expect(seen(1, loss)).toContain('loss seen-then-nak true');
  });

  it('is undecided once where the capture lacks packets, too', () => {
    expect(seen(1, missed, lacking)).toBe('missing seen-then-implied-nak false, 0 lost, 9 undecided');
    expect(seen(0, missed, lacking)).toBe(LOST);
  });
});
