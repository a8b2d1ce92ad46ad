/**
 * Goal: in the captures that our commands write, no two frames of one sender are closer to each other than the rate of
 * its wire permits. Method: every capture is read back, and every pair at one interface is measured: by the bytes of
 * the second frame where times are of the last byte (what arrives), of the first frame where they are of the first (what
 * a host sends). A vantage point sees a sender either way, never both.
 */
import { describe, expect, it } from 'vitest';
import { type CapturedPacket, readCapture } from '../../pcap/index.ts';
import { runDemo } from '../../tools/demo/run.ts';
import { DEFAULT_SETTINGS } from '../../tools/demo/settings.ts';
import { LESSONS } from '../../tools/explorer/lessons/index.ts';
import { PlaygroundSession, parseLesson, parseScenario } from '../../tools/explorer/playground/index.ts';
import { play } from '../../tools/symptoms/scene.ts';

const BITS_NS = 8e9;
const RATE_BPS = 10e9;

/** Pairs that the rate does not permit, by the shorter of their two frames' ways of being timed. */
function impossiblePairs(capture: Uint8Array): string[] {
  const last = new Map<string, CapturedPacket>();
  const found: string[] = [];
  const sides = new Map<string, [first: number, last: number, pairs: string]>();
  for (const packet of readCapture(capture)) {
    const sender = `${packet.interfaceIndex} ${Buffer.from(packet.bytes.subarray(6, 12)).toString('hex')}`;
    const before = last.get(sender);
    last.set(sender, packet);
    if (before === undefined) continue;
    const gapNs = (packet.seconds - before.seconds) * 1e9 + packet.nanoseconds - before.nanoseconds;
    const side = sides.get(sender) ?? [0, 0, ''];
    sides.set(sender, side);
    if (gapNs < needNs(before)) side[0]++;
    if (gapNs < needNs(packet)) side[1]++;
    side[2] = `frames ${before.number} and ${packet.number}: ${gapNs} ns`;
  }
  for (const [sender, [first, lastByte, pair]] of sides)
    if (Math.min(first, lastByte) > 0) found.push(`${sender}: ${Math.min(first, lastByte)} pairs, the last ${pair}`);
  return found;
}

/** Times are whole nanoseconds, and one byte may wait for the wire: each makes up to one of difference. */
function needNs({ originalLength }: CapturedPacket): number {
  return ((originalLength - 1) * BITS_NS) / RATE_BPS - 1.01;
}

describe('times in a capture that we write', () => {
  it.each([1, 2, 3])('are possible at the rate of the wire: the demo with seed %i', async (seed) => {
    const { capture } = await runDemo({ ...DEFAULT_SETTINGS, seed, maxSize: 256 * 1024 });
    expect(impossiblePairs(capture)).toEqual([]);
  });

  it('are possible where everything goes wrong at the same time', async () => {
    const worst = { loss: 0.1, duplicate: 0.2, reorder: 0.2, corrupt: 0.05 };
    const { capture } = await runDemo({ ...DEFAULT_SETTINGS, ...worst, maxSize: 64 * 1024 });
    expect(impossiblePairs(capture)).toEqual([]);
  });

  it.each(['A', 'B', 'mirror'])('are possible at the vantage point %s of a scene', async (vantage) => {
    const capture = await play({ vantages: [vantage] }, async (stage) => {
      const pair = await stage.connect(stage.host('A'), stage.host('B'), { timeout: 8 });
      stage.faults(pair.a.host, { loss: 0.05, duplicate: 0.1, reorder: 0.1 });
      pair.b.receive(20);
      for (let i = 0; i < 20; i++) await pair.a.send(20_000);
    });
    expect(impossiblePairs(capture)).toEqual([]);
  });

  it('are possible in the playground, whatever is done to packets, at either host', () => {
    const link = { duplicate: 0.2, reorder: 0.2, loss: 0.05, corrupt: 0.05 };
    for (let seed = 1; seed <= 20; seed++) {
      const operations = [
        { kind: 'write', bytes: 16_384, count: 1 },
        { kind: 'read', bytes: 8_192, atNs: 5_000 },
      ];
      const session = new PlaygroundSession(parseScenario({ seed, link, operations }));
      session.run();
      for (const vantage of [0, 1] as const) expect(impossiblePairs(session.pcapng(vantage))).toEqual([]);
    }
  });

  it('are possible in every lesson', () => {
    for (const lesson of LESSONS.map((value) => parseLesson(value))) {
      const { ratesBps } = lesson.scenario.link;
      if (ratesBps.some((rate) => rate > 0)) continue;
      const session = new PlaygroundSession(lesson.scenario);
      session.run();
      for (const vantage of [0, 1] as const)
        expect([lesson.id, impossiblePairs(session.pcapng(vantage))]).toEqual([lesson.id, []]);
    }
  });
});
