/**
 * Goal: verify agrees on everything this project writes, at length: frames of every kind for many seeds, sound and
 * damaged; the demo's capture with its bad wire; a simulation's with CNPs and pauses; and a file of 100,000 frames in
 * little memory. Method: as the quick test, in processes of their own where the command is what is looked at; rates are
 * printed, nothing is timed.
 */

import { once } from 'node:events';
import { createWriteStream } from 'node:fs';
import { afterAll, expect, it } from 'vitest';
import { LinkType, PcapngWriter } from '../../../pcap/index.ts';
import { Prng } from '../../../src/ground/prng.ts';
import { tsharkAvailable } from '../../../tools/tshark.ts';
import { type FrameDifference, type VerifySummary, verifyFile } from '../../../tools/verify/index.ts';
import { describeWith } from '../../support/need.ts';
import { startProgram } from '../../support/running.ts';
import { everyFrame } from './every-frame.ts';
import { captureOf, damaged, Scratch } from './made-capture.ts';

const SEEDS = 6;
const MANY = 100_000;

async function verify(file: string): Promise<VerifySummary & { readonly surprises: readonly FrameDifference[] }> {
  const surprises: FrameDifference[] = [];
  const onDifference = (difference: FrameDifference) => {
    if (difference.expectation === undefined && surprises.length < 10) surprises.push(difference);
  };
  const summary = await verifyFile(file, { version: tsharkAvailable().version, onDifference });
  return { ...summary, surprises };
}

/** Runs a command of ours that writes a capture. */
async function roce(...args: readonly string[]): Promise<void> {
  const { code, stderr } = await startProgram('tools/roce.ts', args).ended;
  expect([code, stderr]).toEqual([0, expect.any(String)]);
}

describeWith('tshark', 'verify, at length', () => {
  const scratch = new Scratch();
  afterAll(() => scratch.remove());

  it.each(Array.from({ length: SEEDS }, (_, i) => 1000 + i))(
    'agrees on frames of seed %i, sound and damaged',
    async (seed) => {
      const frames = everyFrame(seed);
      const sound = await verify(scratch.file('sound.pcapng', captureOf(frames)));
      expect(sound.surprises).toEqual([]);
      expect(sound.noLongerNeeded.size).toBe(0);
      const broken = await verify(scratch.file('broken.pcapng', captureOf(damaged(frames, new Prng(seed)))));
      expect(broken.surprises).toEqual([]);
      expect([sound.frames, broken.frames]).toEqual([frames.length, frames.length]);
    },
  );

  it('agrees on the capture of the demo, damage included', async () => {
    const file = scratch.file('demo.pcapng');
    await roce('demo', '--write', file, '--seed', '11');
    const summary = await verify(file);
    expect(summary.surprises).toEqual([]);
    expect(summary.roceFrames).toBeGreaterThan(5_000);
  });

  it('agrees on captures of simulated networks', async () => {
    for (const scenario of ['incast-lossless', 'go-back-n-loss']) {
      const file = scratch.file(`${scenario}.pcapng`);
      await roce('sim', scenario, '--capture', file, '--capture-frames', '5000', '--quiet');
      const summary = await verify(file);
      expect(summary.surprises).toEqual([]);
      expect(summary.frames).toBeGreaterThan(500);
    }
  });

  it(`reads ${MANY} frames without holding them`, async () => {
    const file = scratch.file('many.pcapng');
    await writeMany(file);
    const before = process.memoryUsage().rss;
    let most = before;
    const began = process.hrtime.bigint();
    const summary = await verifyFile(file, {
      version: tsharkAvailable().version,
      onDifference: ({ frame }) => {
        if (frame % 64 === 0) most = Math.max(most, process.memoryUsage().rss);
      },
    });
    const seconds = Number(process.hrtime.bigint() - began) / 1e9;
    console.info(
      `roce verify: ${MANY} frames, ${summary.fields} fields, ${Math.round(MANY / seconds)} frames/s, ${Math.round((most - before) / 1e6)} MB more`,
    );
    expect(summary).toMatchObject({ frames: MANY, unexpected: 0 });
    // A hundred thousand frames as objects would be some gigabytes.
    expect(most - before).toBeLessThan(400e6);
  });
});

/** Frames of every kind over and over, written as they are made. */
async function writeMany(file: string): Promise<void> {
  const frames = everyFrame(5);
  const writer = new PcapngWriter();
  writer.addInterface({ name: 'ethernet', linkType: LinkType.Ethernet });
  writer.addInterface({ name: 'ip', linkType: LinkType.Raw });
  const stream = createWriteStream(file);
  for (let i = 0; i < MANY; i++) {
    const made = frames[i % frames.length];
    if (made !== undefined) writer.packet(made.medium, made.bytes, 0, made.bytes.length, 1 + i, 0);
    if (writer.pendingBytes > 1 << 20 && !stream.write(writer.take())) await once(stream, 'drain');
  }
  stream.end(writer.take());
  await once(stream, 'close');
}
