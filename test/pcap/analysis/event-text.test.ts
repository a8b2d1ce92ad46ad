/** The words of transport events. */
import { describe, expect, it } from 'vitest';
import { Syndrome } from '../../../packets/aeth.ts';
import { eventDetail, nakName } from '../../../pcap/analysis/event-text.ts';
import { TRANSPORT_EVENT_REASONS } from '../../../pcap/analysis/types.ts';

describe('the words of a transport event', () => {
  it('name the NAK by its code, known or not', () => {
    expect(eventDetail({ syndrome: Syndrome.NakSequence })).toBe('PSN sequence error');
    expect(nakName(Syndrome.NakRemoteAccess)).toBe('remote access error');
    expect(nakName(0x69)).toBe('NAK code 9');
  });

  it('give the wait that an RNR NAK asks for in milliseconds', () => {
    expect(eventDetail({ syndrome: Syndrome.RnrNak | 14 })).toBe('wait 1.28 ms');
    expect(eventDetail({ syndrome: Syndrome.RnrNak })).toBe('wait 655.36 ms');
  });

  it('differ for every reason', () => {
    const texts = TRANSPORT_EVENT_REASONS.map((reason) => eventDetail({ reason }));
    expect(new Set(texts).size).toBe(TRANSPORT_EVENT_REASONS.length);
    expect(texts).not.toContain('');
  });

  it('say of how many it is true where it is not known of which', () => {
    const lost = { reason: 'seen-then-nak', among: [5, 8, 9], amongCount: 2 } as const;
    expect(eventDetail(lost)).toBe(
      'seen here, then asked for by a NAK; true of 2 of these 3, not known which: psn 5, 8, 9',
    );
    const many = eventDetail({ among: Array.from({ length: 9 }, (_, at) => at + 1), amongCount: 4 });
    expect(many).toBe('true of 4 of these 9, not known which: psn 1, 2, 3, 4, 5, 6, 7, 8, ...');
  });

  it('are none where the kind of the event says everything', () => {
    expect(eventDetail({})).toBe('');
  });
});
