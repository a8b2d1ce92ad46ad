/**
 * kill -9 of `roce nvme serve` between any two writes: what was acknowledged is in the file afterwards, and
 * a block that was being written is whole, old or new. A process that is killed leaves the page cache behind: what a
 * loss of power takes is for fdatasync(2), of which the test of the disk knows.
 */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { Prng } from '../../../src/ground/prng.ts';
import { type OpenDevice, openDevice } from '../../../src/index.ts';
import { NvmOpcode, setBlocks } from '../../../src/ulp/nvme/index.ts';
import { makeNetnsPair, type NetnsPair } from '../../../tools/netns.ts';
import { describeWith } from '../../support/need.ts';
import { within } from '../../support/netns.ts';
import { type Running, startProgram } from '../../support/running.ts';
import { connectAdmin, type HostPlace, NQN, ScriptedQueue } from '../../ulp/nvme/target/support.ts';

/** Three minutes of them; ROCE_KILLS=200 for the whole. */
const { ROCE_KILLS = '24' } = process.env;
const KILLS = Number(ROCE_KILLS);
const BLOCKS = 64;
const BLOCK = 4096;
const MOST_WRITES = 24;
const TARGET = 'fd99::2';

describeWith(['netns', 'koffi'], 'a target that is killed', () => {
  let directory = '';
  let pair: NetnsPair;
  let opened: OpenDevice;
  let serving: Running | undefined;

  beforeAll(async () => {
    directory = mkdtempSync(join(tmpdir(), 'rocev2-crash-'));
    pair = makeNetnsPair();
    opened = await within(pair.a, () => openDevice({ link: 'udp6:[fd99::1]' }));
  });

  afterAll(async () => {
    serving?.kill();
    await opened.close();
    pair.remove();
    rmSync(directory, { recursive: true, force: true });
  });

  async function serve(disk: string): Promise<Running> {
    const size = `${(BLOCKS * BLOCK) / 1024}K`;
    const args = ['--namespace', disk, '--size', size, '--block-size', `${BLOCK}`, '--nqn', NQN];
    const words = ['nvme', 'serve', ...args, '--link', `udp6:[${TARGET}]`];
    const running = startProgram('tools/roce.ts', words, pair.b.prefix);
    await running.shows('nvme connect');
    return running;
  }

  it(`has what it acknowledged, after each of ${KILLS} kills`, { timeout: KILLS * 30_000 }, async () => {
    const disk = join(directory, 'disk.img');
    const random = new Prng(19);
    /** Of each block: the last write that was acknowledged. */
    const acknowledged = new Array<number>(BLOCKS).fill(0);
    let write = 0;
    for (let kill = 0; kill < KILLS; kill++) {
      serving = await serve(disk);
      const place: HostPlace = { a: opened.device, world: { run: (promise) => promise }, address: TARGET };
      const admin = await connectAdmin(place);
      const io = await ScriptedQueue.open(place, 1);
      expect((await io.connect({ qid: 1 }, { cntlid: 1 })).status).toBe(0);
      const writes = 1 + random.below(MOST_WRITES);
      for (let i = 0; i < writes; i++) {
        const block = random.below(BLOCKS);
        expect((await io.send(writeOf(io, block, ++write))).status).toBe(0);
        acknowledged[block] = write;
      }
      // One more is on its way while the target dies.
      const last = random.below(BLOCKS);
      io.post(writeOf(io, last, ++write));
      serving.kill();
      await serving.ended;
      for (const queue of [io, admin]) queue.abandon();
      const bytes = readFileSync(disk);
      const found = acknowledged.map((_, block) => contentOf(bytes.subarray(block * BLOCK, (block + 1) * BLOCK)));
      if (found[last] === write) acknowledged[last] = write;
      expect(found, `after kill ${kill}`).toEqual(acknowledged);
    }
  });
});

/** A block full of the number of its write. */
function writeOf(io: ScriptedQueue, block: number, write: number) {
  const command = io.command(NvmOpcode.Write);
  setBlocks(command, NvmOpcode.Write, 1, block, 1);
  new Uint32Array(io.memory.bytes.buffer, io.memory.bytes.byteOffset, BLOCK / 4).fill(write);
  return io.withData(command, BLOCK);
}

/** The number that the block is full of; -1 for one of several writes. */
function contentOf(block: Buffer): number {
  const first = block.readUInt32LE(0);
  for (let at = 4; at < block.length; at += 4) if (block.readUInt32LE(at) !== first) return -1;
  return first;
}
