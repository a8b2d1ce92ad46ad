/** Goal: a loss of an incomplete capture is told only where nothing can have come late. Method: one named loss. */
import { describe, expect, it } from 'vitest';
import type { Coverage } from '../../../../pcap/analysis/limits/coverage.ts';
import { moveDoubtful, withoutDoubtful } from '../../../../pcap/analysis/limits/doubtful-losses.ts';
import { RequesterFigures } from '../../../../pcap/analysis/tracker/requester-figures.ts';
import type { TransportEvent } from '../../../../pcap/analysis/types.ts';

const loss = { kind: 'loss', reason: 'seen-then-nak', named: true, psn: 5, count: 1 } as unknown as TransportEvent;
const lacking = { isIncomplete: true, isSample: false } as Coverage;

function conversationOf() {
  const end = () => ({ requester: new RequesterFigures(), packets: 50, badIcrc: 0 });
  const ends = [end(), end()] as const;
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
    expect(requester.missedResponses).toBe(undecidedPackets >= 8 ? 0 : 8);
    return `${told?.kind} ${told?.reason} ${told?.named === true}, ${lostPackets} lost, ${undecidedPackets} undecided`;
  };
  const LOST = 'loss seen-then-implied-nak true, 9 lost, 0 undecided';
  const UNDECIDED = 'missing seen-then-implied-nak false, 1 lost, 8 undecided';

  it('was lost, unless something is known to be overtaken', () => {
    expect([seen(0), seen(1)]).toEqual([LOST, UNDECIDED]);
    expect(seen(1, loss)).toContain('loss seen-then-nak true');
  });

  it('cannot be told where the network doubles or damages packets, either', () => {
    const where = (copies: number, badIcrc: number, from: 0 | 1 = 0) => {
      const conversation = conversationOf();
      const end = conversation.ends[from];
      end.requester.copies = copies;
      end.badIcrc = badIcrc;
      return withoutDoubtful(missed, undefined, conversation)[0]?.kind;
    };
    expect([where(1, 0), where(9, 0, 1), where(0, 1), where(0, 1, 1)]).toEqual(Array(4).fill('missing'));
    // A mirror that shows each frame twice says nothing of the network.
    expect([where(0, 0), where(10, 0), where(50, 0, 1)]).toEqual(['loss', 'loss', 'loss']);
    const seems = conversationOf();
    seems.ends[1].requester.seemsOvertaken = true;
    expect(withoutDoubtful(missed, undefined, seems)[0]?.kind).toBe('missing');
  });

  it('cannot be told where the next one is asked for behind it, more often than by chance', () => {
    const kind = (nextAsked: number, impliedNaks: number, packets: number) => {
      const conversation = conversationOf();
      const { requester } = conversation.ends[1];
      Object.assign(requester, { nextAsked, impliedNaks });
      requester.responses.packets = packets;
      return withoutDoubtful(missed, undefined, conversation)[0]?.kind;
    };
    // Two losses of a hundred: one of nine is lost again, or two of thirteen. Four of four are not.
    expect([kind(1, 9, 450), kind(2, 13, 604), kind(4, 8, 500)]).toEqual(['loss', 'loss', 'missing']);
    expect(kind(3, 13, 604)).toBe('missing');
    expect([kind(2, 6, 2000), kind(2, 6, 300), kind(0, 1, 5000)]).toEqual(['missing', 'loss', 'loss']);
    expect(kind(1, 2, 0)).toBe('loss');
  });

  it('was lost whatever happens to others where it began what was asked for', () => {
    const first = { ...missed, reason: 'first-then-implied-nak' } as unknown as TransportEvent;
    expect(seen(1, first)).toContain('loss first-then-implied-nak true');
  });

  it('is undecided once where the capture lacks packets, too', () => {
    expect(seen(1, missed, lacking)).toBe('missing seen-then-implied-nak false, 0 lost, 9 undecided');
    expect(seen(0, missed, lacking)).toBe(LOST);
  });
});
