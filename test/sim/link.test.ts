/** The simulated network as a link: plain, slow, on the IP medium, and under a capture. */
import { describe, expect, it } from 'vitest';
import { Medium } from '../../packets/frame.ts';
import type { Link } from '../../src/ground/link.ts';
import { CaptureLink } from '../../src/node/links/capture.ts';
import { type NetworkOptions, type PortOptions, SimulatedNetwork } from '../../src/sim/network.ts';
import { type LinkPair, linkCompliance } from '../node/links/compliance.ts';
import { batchOf, Collector, frame, tagOf } from './support.ts';

function pairOf(options: NetworkOptions, port: PortOptions, wrap: (link: Link) => Link = (link) => link) {
  return (): Promise<LinkPair> => {
    const network = new SimulatedNetwork(options);
    return Promise.resolve({
      a: wrap(network.attach('a', port)),
      b: wrap(network.attach('b', port)),
      ready: () => Promise.resolve(),
      pump: () => {
        if (network.nextEventTime() < Infinity) network.deliverDue(network.nextEventTime());
        return Promise.resolve();
      },
      dispose: () => Promise.resolve(),
    });
  };
}

const noSink = { frame: () => {} };

linkCompliance('a simulated port', pairOf({ maxFrames: 2048 }, {}), { lossless: true });
linkCompliance('a slow simulated port', pairOf({}, { faults: { rateBps: 1e9, jitterNs: 5000 }, mtu: 4200 }), {
  lossless: true,
});
linkCompliance('a simulated port on the IP medium', pairOf({ medium: Medium.Ip, maxFrames: 2048 }, {}), {
  lossless: true,
});
linkCompliance(
  'a capture of a simulated port',
  pairOf({ maxFrames: 2048 }, {}, (link) => new CaptureLink(link, noSink, () => 0)),
  { lossless: true },
);

describe('CaptureLink', () => {
  it('shows each frame once, when the link has taken it or it has arrived', async () => {
    const network = new SimulatedNetwork({ maxFrames: 2 });
    const shown: string[] = [];
    const sink = {
      frame: (timeNs: number, direction: string, bytes: Uint8Array, start: number, end: number) =>
        void shown.push(`${timeNs} ${direction} ${tagOf(bytes.subarray(start, end))} ${end - start}`),
    };
    const a = new CaptureLink(network.attach('a'), sink, () => network.now);
    const b = network.attach('b');
    await a.start(new Collector());
    await b.start(new Collector());
    const batch = batchOf(frame(1, 2, 1), frame(1, 2, 2), frame(1, 2, 3, 99));
    expect(a.send(batch, 0)).toBe(2);
    network.deliverDue(5000);
    expect(a.send(batch, 2)).toBe(1);
    b.send(batchOf(frame(2, 1, 9)), 0);
    network.deliverDue(10_000);
    expect(shown).toEqual(['0 out 1 64', '0 out 2 64', '5000 out 3 99', '6000 in 9 64']);
    expect([a.name, a.mtu, a.medium]).toEqual(['a', 1500, Medium.Ethernet]);
    await a.close();
  });
});
