/**
 * Goal: a mirror that shows every frame twice changes nothing but the number of copies. Method: a lossy scene, as it is
 * and with each frame once more, so much later.
 */
import { expect, it } from 'vitest';
import { Analyzer } from '../../../../pcap/analysis/analyzer.ts';
import { readCapture } from '../../../../pcap/reader.ts';
import type { CapturedPacket } from '../../../../pcap/types.ts';
import { play } from '../../../../tools/symptoms/scene.ts';

async function lossyScene(): Promise<CapturedPacket[]> {
  const capture = await play({ seed: 3 }, async (stage) => {
    const [left, right] = [stage.host('A'), stage.host('B')];
    const { a, b } = await stage.connect(left, right, { cm: true, timeout: 10 });
    for (const host of [left, right]) stage.faults(host, { loss: 0.05 });
    for (let i = 0; i < 60; i++) await Promise.all([a.write(b, 5000), a.write(b, 3000), a.read(b, 5000)]);
  });
  return [...readCapture(capture)];
}

const timeOf = ({ seconds, nanoseconds }: CapturedPacket): number => seconds * 1e9 + nanoseconds;

function later(packet: CapturedPacket, byNs: number): CapturedPacket {
  const at = timeOf(packet) + byNs;
  return { ...packet, seconds: Math.floor(at / 1e9), nanoseconds: at % 1e9 };
}

function figuresOf(packets: readonly CapturedPacket[]) {
  const analyzer = new Analyzer();
  packets.forEach((packet, i) => void analyzer.packet({ ...packet, number: i + 1 }));
  const { requester } = analyzer.finish().conversations[0]?.ends[0] ?? {};
  return {
    naks: requester?.naks,
    lost: requester?.lostPackets,
    retransmitted: requester?.retransmittedPackets,
    impliedNaks: requester?.impliedNaks,
    ghostAcks: requester?.ghostAcks,
    timeouts: requester?.timeouts,
  };
}

it.each([0, 300, 2000])('frames that a mirror shows twice, %i ns apart, count once', async (byNs) => {
  const packets = await lossyScene();
  const doubled = packets.flatMap((packet) => [packet, later(packet, byNs)]).sort((a, b) => timeOf(a) - timeOf(b));
  const once = figuresOf(packets);
  expect(once.naks).toEqual({ 'PSN sequence error': 21 });
  expect(figuresOf(doubled)).toEqual(once);
});
