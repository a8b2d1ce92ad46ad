/** Goal: staged copies are copies. Method: every way source and destination can stand, lengths about the size of the stage, both directions. */
import { describe, expect, it } from 'vitest';
import { copyBytes } from '../../transport/segments.ts';
import { copyStaged, isShared, noteMemory, sharedMemoryIsUsed, WORTH_STAGING } from '../../transport/shared-copy.ts';

const pattern = (length: number): Uint8Array => Uint8Array.from({ length }, (_, i) => (i * 31 + (i >> 8)) & 0xff);

function shared(length: number): Uint8Array {
  return new Uint8Array(new SharedArrayBuffer(length + 3), 3, length);
}

describe('copies to and from shared memory', () => {
  it('tell whose memory it is', () => {
    expect([isShared(shared(8)), isShared(new Uint8Array(8)), isShared(Buffer.alloc(8))]).toEqual([true, false, false]);
  });

  it.each([1, 511, 512, 4095, 4096, 4097, 8191, 10_000])('move %i bytes and no others', (length) => {
    for (let fromAt = 0; fromAt < 8; fromAt++) {
      for (let toAt = 0; toAt < 8; toAt += 3) {
        for (const make of [shared, (size: number) => new Uint8Array(size)]) {
          const source = make(length + 16);
          source.set(pattern(length), fromAt);
          const target = make === shared ? new Uint8Array(length + 16).fill(0xee) : shared(length + 16).fill(0xee);
          copyStaged(target, toAt, source, fromAt, length, make === shared);
          const copy = Buffer.from(target.slice(toAt, toAt + length));
          expect(copy.equals(Buffer.from(pattern(length)))).toBe(true);
          expect([target[toAt - 1] ?? 0xee, target[toAt + length]]).toEqual([0xee, 0xee]);
        }
      }
    }
  });

  it('are staged from the moment on that shared memory is registered', () => {
    noteMemory(new Uint8Array(8));
    expect(sharedMemoryIsUsed).toBe(false);
    noteMemory(shared(8));
    expect(sharedMemoryIsUsed).toBe(true);
  });

  it.each([WORTH_STAGING - 1, WORTH_STAGING, 4096])('are what segments do with %i bytes of either memory', (length) => {
    for (const source of [shared(length + 1), new Uint8Array(length + 1)]) {
      source.set(pattern(length), 1);
      for (const target of [shared(length), new Uint8Array(length)]) {
        copyBytes(target, 0, source, 1, length);
        expect(Buffer.from(target.slice()).equals(Buffer.from(pattern(length)))).toBe(true);
      }
    }
  });
});
