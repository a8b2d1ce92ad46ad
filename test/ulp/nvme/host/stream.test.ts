// Goal: a namespace is a stream of bytes from any offset to any other, and what is around them stays.
import { describe, expect, it } from 'vitest';
import { type NvmeNamespace, readNvme, writeNvme } from '../../../../src/ulp/nvme/host/index.ts';
import { BLOCK, BLOCKS } from './scripted-target.ts';
import { makeRig, pattern, type Rig } from './support.ts';

async function diskOf(rig: Rig): Promise<NvmeNamespace> {
  const controller = await rig.connect();
  rig.target.disk.set(pattern(BLOCK * BLOCKS, 1));
  return rig.world.run(controller.namespace(1));
}

async function whole(pieces: AsyncIterable<Uint8Array>): Promise<Uint8Array> {
  const all: number[] = [];
  for await (const piece of pieces) all.push(...piece);
  return Uint8Array.from(all);
}

describe('a stream of a namespace', () => {
  it.each([
    [0, 3 * BLOCK],
    [5, 7],
    [BLOCK - 1, 2],
    [BLOCK, BLOCK],
    [100, 10 * BLOCK + 3],
    [BLOCK * BLOCKS - 700, 700],
    [77, 0],
  ])('reads from byte %i on %i bytes', async (offset, length) => {
    const rig = makeRig();
    const disk = await diskOf(rig);
    const read = await rig.world.run(whole(readNvme(disk, offset, length, { pieceBytes: 1000, ahead: 3 })));
    expect(read).toEqual(rig.target.disk.slice(offset, offset + length));
  });

  it.each([
    [0, [BLOCK]],
    [5, [7]],
    [BLOCK - 1, [1, 1]],
    [100, [1, 5000, 3, 2048]],
    [BLOCK * BLOCKS - 700, [350, 350]],
    [77, []],
  ])('writes from byte %i on pieces of %j bytes', async (offset, lengths) => {
    const rig = makeRig();
    const disk = await diskOf(rig);
    const expected = rig.target.disk.slice();
    const pieces = lengths.map((length, i) => pattern(length, 100 + i));
    let at = offset;
    for (const piece of pieces) {
      expected.set(piece, at);
      at += piece.length;
    }
    expect(await rig.world.run(writeNvme(disk, offset, pieces, { pieceBytes: 1000, ahead: 2 }))).toBe(at - offset);
    // Not by toEqual, which takes seconds for so many bytes.
    expect(Buffer.compare(rig.target.disk, expected)).toBe(0);
  });

  it('refuses what is beyond the end', async () => {
    const rig = makeRig();
    const disk = await diskOf(rig);
    await expect(whole(readNvme(disk, disk.bytes - 1, 2))).rejects.toThrow(/of a disk with/);
    await expect(rig.world.run(writeNvme(disk, disk.bytes - 1, [new Uint8Array(2)]))).rejects.toThrow(
      /of a disk with|closed/,
    );
    await expect(whole(readNvme(disk, 0, 1, { ahead: 0 }))).rejects.toThrow(/1 or more/);
  });
});
