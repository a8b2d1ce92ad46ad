/**
 * Goal: a timeout that the analyzer reports is one of the requester, and none is shorter than the ACK timeout that
 * connection management has agreed on. Method: the real stack over a network that loses and delays, captured at either
 * end; the requester's own counter is the truth.
 */
import { describe, expect, it } from 'vitest';
import { Analyzer } from '../../../../pcap/analysis/analyzer.ts';
import { readCapture } from '../../../../pcap/reader.ts';
import { play } from '../../../../tools/symptoms/scene.ts';

const EXPONENT = 10;
const AGREED_NS = 4096 * 2 ** EXPONENT;
/** At the other end waits are as long as the network makes them. */
const JITTER = 0.98;

async function timeoutsOf(seed: number, vantage: 'A' | 'B') {
  let truth = 0;
  const capture = await play({ seed, vantages: [vantage] }, async (stage) => {
    const [left, right] = [stage.host('A'), stage.host('B')];
    const { a, b } = await stage.connect(left, right, { cm: true, timeout: EXPONENT });
    for (const host of [left, right]) stage.faults(host, { loss: 0.05, reorder: 0.03, reorderDelayNs: 200_000 });
    for (let i = 0; i < 40; i++) {
      // Several requests are outstanding, and some have just been sent when the timer of the oldest ends.
      await Promise.all([a.write(b, 3000), a.write(b, 100), a.read(b, 5000)]);
    }
    truth = left.device.portCounters.localAckTimeoutErr;
  });
  const analyzer = new Analyzer();
  for (const packet of readCapture(capture)) analyzer.packet(packet);
  const timeouts = analyzer.finish().events.filter(({ kind }) => kind === 'timeout');
  return { truth, timeouts };
}

describe('timeouts of a requester whose ACK timeout is known', () => {
  it.each([1, 2, 3, 4, 5, 6])('are all seen at its end, and none of them is shorter: seed %i', async (seed) => {
    const { truth, timeouts } = await timeoutsOf(seed, 'A');
    expect(truth).toBeGreaterThan(0);
    expect(timeouts).toHaveLength(truth);
    for (const { durationNs } of timeouts) expect(durationNs).toBeGreaterThanOrEqual(AGREED_NS);
  });

  it.each([1, 2, 3, 4, 5, 6])(
    'are at most as many at the other end, where some leave no trace: seed %i',
    async (seed) => {
      const { truth, timeouts } = await timeoutsOf(seed, 'B');
      expect(timeouts.length).toBeGreaterThan(0);
      expect(timeouts.length).toBeLessThanOrEqual(truth);
      for (const { durationNs } of timeouts) expect(durationNs).toBeGreaterThanOrEqual(AGREED_NS * JITTER);
    },
  );
});
