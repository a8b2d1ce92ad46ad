/**
 * Goal: captures of real rdma_rxe traffic show what was run and nothing else: from their beginning, from any packet on,
 * and with packets taken out. Method: the captures in test/vectors, whose README.md says what was run.
 */
import { describe, expect, it } from 'vitest';
import { Analyzer } from '../../../../pcap/analysis/analyzer.ts';
import type { Analysis } from '../../../../pcap/analysis/types.ts';
import { type CapturedPacket, readCapture } from '../../../../pcap/index.ts';
import { RXE_CAPTURES, rxeCapture } from '../../../vectors/captures.ts';

function analyze(packets: Iterable<CapturedPacket>): Analysis {
  const analyzer = new Analyzer({ verifyIcrc: false });
  for (const packet of packets) analyzer.packet(packet);
  return analyzer.finish();
}

for (const name of RXE_CAPTURES)
  describe(name, () => {
    const packets = [...readCapture(rxeCapture(name))];

    it('has the conversations that were run, and no events', () => {
      const { conversations, events, capture } = analyze(packets);
      expect(events).toEqual([]);
      expect(capture).toMatchObject({ packets: packets.length, badIcrc: 0, cutPackets: 0 });
      const what = conversations.map(({ service, learnt, ends }) => {
        const messages = ends.map(({ requester }) => Object.keys(requester.messages).join('+'));
        return `${service} ${learnt} ${ends.map(({ qpn }) => qpn).join('-')} ${messages.join(' / ')}`;
      });
      expect(what).toEqual([
        'RC cm 17-17 SEND / SEND+WRITE+READ',
        'RC cm 18-18 SEND / SEND',
        'RC cm 19-19 SEND / SEND',
        'UD traffic 20-20 SEND / SEND',
        'RC cm 21-21 SEND / SEND',
        'RC traffic 22-22 WRITE / ',
        'RC traffic 23-23 READ / ',
        'RC traffic 24-24 SEND / ',
        'RC traffic 25-25 FETCH_ADD / ',
        'RC traffic 26-26 CMP_SWAP / ',
        'RC traffic 27-27 SEND / SEND',
        'UC traffic 28-28 SEND / SEND',
        'UD traffic 29-29 SEND / SEND',
        'RC traffic 30-30 SEND / SEND',
        'RC traffic 31-31 SEND / SEND',
        // Nobody answers UC, so that nothing shows the queue pair of the sender.
        'UC traffic -1-32 WRITE / ',
      ]);
      for (const { service, ends } of conversations) {
        for (const { requester } of ends) expect(requester.unansweredPsn).toBe(-1);
        const atomics = ends.some(({ requester: { messages } }) => 'FETCH_ADD' in messages || 'CMP_SWAP' in messages);
        const total = ends.reduce((sum, { requester }) => sum + requester.goodputBytes, 0);
        expect(total > 0, service).toBe(!atomics);
      }
    });

    it('knows from connection management what was agreed on', () => {
      const [rping] = analyze(packets).conversations;
      expect(rping?.cm).toMatchObject({ activeEnd: 0, pathMtu: 1024, retryCount: 7, rnrRetryCount: 7 });
      expect(rping?.cm?.serviceId).toBe('0x0000000001061c06');
      const frames = [rping?.cm?.reqFrame, rping?.cm?.repFrame, rping?.cm?.rtuFrame, rping?.cm?.dreqFrame].map(Number);
      expect(frames).toEqual([...frames].sort((a, b) => a - b));
      expect(frames[0]).toBeGreaterThan(0);
    });

    it('has no events from any packet on', () => {
      for (let from = 1; from < packets.length; from += 31) expect(analyze(packets.slice(from)).events).toEqual([]);
    });

    it('has lost nothing but in the capture when packets are taken out of it', () => {
      for (const [n, offset] of [
        [3, 0],
        [3, 2],
        [10, 4],
        [50, 20],
      ] as const) {
        const { events, conversations } = analyze(packets.filter((_, i) => i % n !== offset));
        const unreliable = new Set(conversations.filter(({ service }) => service === 'UC').map(({ id }) => id));
        const others = events.filter(({ kind, conversation }) => kind !== 'unseen' && !unreliable.has(conversation));
        expect(others).toEqual([]);
      }
    });

    it('has no events with one direction only', () => {
      const fromClient = packets.filter(({ bytes }) => bytes[11] === 2);
      const { events, conversations } = analyze(fromClient);
      expect(events).toEqual([]);
      expect(conversations.length).toBeGreaterThan(10);
    });
  });
