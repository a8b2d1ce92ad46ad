/** Goal: the bytes of a file of any size, of which few blocks are in memory. Method: a file that counts how it is read. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { FileBytes } from '../../../tools/explorer/engine/file-bytes.ts';

describe('FileBytes', () => {
  /** A file of 1,000 bytes, of which it is known how often it was read. */
  function file(blockBytes: number, keptBytes = 0) {
    const bytes = Uint8Array.from({ length: 1000 }, (_, at) => at % 251);
    const reads: [from: number, to: number][] = [];
    const source = {
      size: bytes.length,
      keptBytes,
      read: (from: number, to: number) => {
        reads.push([from, to]);
        return bytes.slice(from, to);
      },
    };
    return { bytes, reads, source, file: new FileBytes(source, blockBytes) };
  }

  it('gives any part, wherever blocks begin and end', () => {
    const { bytes, file: whole } = file(64);
    fc.assert(
      fc.property(fc.nat(1000), fc.nat(400), (from, length) => {
        expect(whole.range(from, length)).toEqual(bytes.subarray(from, from + length));
      }),
    );
  });

  it('keeps the blocks that were used last, and no more', () => {
    const { reads, file: whole } = file(4);
    // Every other one: nobody goes on from one to the next.
    for (let index = 0; index < 128; index += 2) whole.block(index);
    for (let index = 0; index < 128; index += 2) whole.block(index);
    expect(reads.length).toBe(64);
    whole.block(200);
    whole.block(2);
    expect(reads.length).toBe(65);
    whole.block(0);
    expect(reads.slice(64)).toEqual([
      [800, 804],
      [0, 4],
    ]);
    expect(whole.block(250)).toBeUndefined();
  });

  it('reads far ahead for whoever goes from block to block, also where others look elsewhere in between', () => {
    const { reads, file: whole } = file(4);
    for (let index = 0; index < 34; index++) {
      whole.block(index);
      if (index % 10 === 9) whole.block(249 - index);
    }
    expect(reads.filter(([from]) => from < 500)).toEqual([
      [0, 4],
      [4, 68],
      [68, 132],
      [132, 196],
    ]);
    expect(whole.block(249)).toHaveLength(4);
  });

  it('reads its beginning once, as far as it may be kept, and what is behind again', () => {
    const { reads, bytes, file: whole } = file(4, 600);
    const readAll = (): void => {
      for (let index = 0; index < 250; index++)
        expect(whole.block(index)).toEqual(bytes.subarray(4 * index).subarray(0, 4));
    };
    readAll();
    const first = reads.splice(0);
    expect(Math.max(...first.map(([, to]) => to))).toBe(1000);
    readAll();
    // The last blocks of the first pass are the ones that go first in the second.
    expect(Math.min(...reads.map(([from]) => from))).toBe(600);
    expect(reads.reduce((sum, [from, to]) => sum + to - from, 0)).toBe(400);
  });

  it('keeps less, and goes on, where memory is not enough', () => {
    const { reads, source, bytes } = file(4, 1000);
    let refuse = false;
    const short = new FileBytes(
      {
        ...source,
        read(from, to) {
          if (refuse) {
            refuse = false;
            throw new RangeError('Array buffer allocation failed');
          }
          return source.read(from, to);
        },
      },
      4,
    );
    for (let index = 0; index < 100; index++) short.block(index);
    const before = reads.length;
    refuse = true;
    for (let index = 100; index < 250; index++)
      expect(short.block(index)).toEqual(bytes.slice(4 * index, 4 * index + 4));
    expect(refuse).toBe(false);
    const behind = reads.length;
    expect(behind).toBeGreaterThan(before);
    // What was kept is gone.
    short.block(0);
    expect(reads.slice(behind)).toEqual([[0, 4]]);
    // And no more is kept than of a file without a beginning: 64 blocks.
    const readAll = (): number => {
      const { length } = reads;
      for (let index = 0; index < 250; index++) short.block(index);
      return reads.length - length;
    };
    readAll();
    expect(readAll()).toBeGreaterThan(10);
  });

  it('says so when the file is shorter than it was', () => {
    const { source, bytes } = file(64);
    const shrunk = new FileBytes({ ...source, read: (from, to) => bytes.slice(from, Math.min(to, 100)) }, 64);
    expect(shrunk.range(0, 64).length).toBe(64);
    expect(() => shrunk.range(64, 64)).toThrow(/shorter/);
  });
});
