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

  it('are none where the kind of the event says everything', () => {
    expect(eventDetail({})).toBe('');
  });
});
