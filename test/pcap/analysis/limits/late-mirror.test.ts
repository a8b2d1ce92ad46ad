/**
 * Goal: a mirror that shows one direction late does not move the place of a capture to the other end. Method: WRITEs at
 * a pace, captured at either end, and one direction of them later; and the same without delay.
 */
import { describe, expect, it } from 'vitest';
import { readCapture } from '../../../../pcap/reader.ts';
import type { CapturedPacket } from '../../../../pcap/types.ts';
import { play } from '../../../../tools/symptoms/scene.ts';
import { analyze, numbered, shifted } from './made-captures.ts';

const SOURCE_AT = 29;
const DELAYS_NS = [5e6, 20e6];
/** Pauses between WRITEs, in delays. */
const PACES = [0, 0.5, 1.05, 1.15, 1.6, 2.2, 4];

async function writesAt(vantage: string, pauseNs: number): Promise<CapturedPacket[]> {
  const file = await play({ vantages: [vantage], latencyNs: 20_000 }, async (stage) => {
    const { a, b } = await stage.connect(stage.host('A'), stage.host('B'));
    for (let i = 0; i < 40; i++) {
      await a.write(b, 1000);
      await stage.sleep(pauseNs);
    }
  });
  return [...readCapture(file)].filter(({ bytes }) => bytes[12] === 0x08);
}

const timeOf = ({ seconds, nanoseconds }: CapturedPacket): number => seconds * 1e9 + nanoseconds;

function placeOf(packets: readonly CapturedPacket[]): string | undefined {
  return analyze(numbered([...packets].sort((a, b) => timeOf(a) - timeOf(b)))).vantages[0]?.place;
}

describe('a mirror that shows one direction late', () => {
  it.each([
    ['A', 'near-requester'],
    ['B', 'near-responder'],
  ])('at host %s: the place is right, or it is not told', async (vantage, right) => {
    for (const delayNs of DELAYS_NS) {
      for (const pace of PACES) {
        const packets = await writesAt(vantage, pace * delayNs);
        for (const host of [1, 2]) {
          const late = packets.map((packet) => (packet.bytes[SOURCE_AT] === host ? shifted(packet, delayNs) : packet));
          expect([right, 'unknown'], `${delayNs} ns late from host ${host}, pace ${pace}`).toContain(placeOf(late));
        }
      }
    }
  });

  it('is not seen in a capture that is not late: the place is told', async () => {
    expect(placeOf(await writesAt('A', 0))).toBe('near-requester');
    expect(placeOf(await writesAt('B', 1e6))).toBe('near-responder');
  });
});
