/**
 * Goal: the memory that an analysis needs does not grow with the capture, so that one of 10 GB fits. Method: a capture is
 * made while it is analyzed; after as many packets as any table needs to fill, and after four times as many, what is
 * alive is measured behind a collection of garbage.
 */
import { setImmediate } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, it } from 'vitest';
import { analyzeChunks } from '../../../tools/analyze/index.ts';
import { endlessCapture } from './endless-capture.ts';

/** Bytes in use, V8's and buffers'. */
async function aliveBytes(): Promise<number> {
  setFlagsFromString('--expose-gc');
  const collect: () => void = runInNewContext('gc');
  // Buffers are freed by another thread.
  for (let round = 0; round < 3; round++) {
    collect();
    await setImmediate();
  }
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

/** More than the 32,768 packets after which the search for a second interface ends. */
const FILLED_BYTES = 40_000_000;

it('is as large after four times as many packets', async () => {
  const alive: number[] = [];
  async function* watched(): AsyncGenerator<Uint8Array> {
    let bytes = 0;
    for await (const chunk of endlessCapture(Number.POSITIVE_INFINITY)) {
      yield chunk;
      bytes += chunk.length;
      if (bytes >= FILLED_BYTES * 4 ** alive.length) alive.push(await aliveBytes());
      if (alive.length === 2) return;
    }
  }
  const { analysis, damage } = await analyzeChunks(watched());
  expect(damage).toBeUndefined();
  expect(analysis.capture.packets).toBeGreaterThan(150_000);
  expect(analysis.capture.goodIcrc).toBe(analysis.capture.packets);
  expect(analysis.findings.map(({ id }) => id)).toEqual(['sequence-error']);
  const lost = analysis.conversations.reduce((sum, { ends }) => sum + ends[0].requester.lostPackets, 0);
  expect(lost).toBeGreaterThan(30);
  const [one = 0, four = 0] = alive;
  expect(one).toBeGreaterThan(10_000_000);
  // Events of the report, and a chunk more or less; the capture has grown by 130 MB.
  expect(four - one).toBeLessThan(2_000_000);
});
