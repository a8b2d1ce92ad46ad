/** Goal: a loss of an incomplete capture is told only where nothing can have come late. Method: one named loss. */
import { expect, it } from 'vitest';
import type { Coverage } from '../../../../pcap/analysis/limits/coverage.ts';
import { moveDoubtful, withoutDoubtful } from '../../../../pcap/analysis/limits/doubtful-losses.ts';
import { RequesterFigures } from '../../../../pcap/analysis/tracker/requester-figures.ts';
import type { TransportEvent } from '../../../../pcap/analysis/types.ts';

const loss = { kind: 'loss', reason: 'seen-then-nak', named: true, psn: 5, count: 1 } as unknown as TransportEvent;
const lacking = { isIncomplete: true, isSample: false } as Coverage;

function kindsWith(change: (requester: RequesterFigures) => void): readonly string[] {
  const ends = [{ requester: new RequesterFigures() }, { requester: new RequesterFigures() }] as const;
  const { requester } = ends[0];
  requester.lostPackets = 1;
  change(requester);
  const conversation = { service: 'RC', ends } as const;
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
