/**
 * Goal: staged copies are copies. Method: every way source and destination can stand, lengths about the size of the
 * stage, both directions.
 */
import { describe, expect, it } from 'vitest';
import { Grant } from '../../transport/grant.ts';
import { ProtectionDomain } from '../../transport/memory.ts';
import { isShared, Stage, WORTH_STAGING } from '../../transport/shared-copy.ts';

const pattern = (length: number): Uint8Array => Uint8Array.from({ length }, (_, i) => (i * 31 + (i >> 8)) & 0xff);

function shared(length: number): Uint8Array {
  return new Uint8Array(new SharedArrayBuffer(length + 3), 3, length);
}

describe('copies to and from shared memory', () => {
  it('tell whose memory it is', () => {
    expect([isShared(shared(8)), isShared(new Uint8Array(8)), isShared(Buffer.alloc(8))]).toEqual([true, false, false]);
  });

  it.each([1, 511, 512, 4095, 4096, 4097, 8191, 10_000])('move %i bytes and no others', (length) => {
    const stage = new Stage();
    for (let fromAt = 0; fromAt < 8; fromAt++) {
      for (let toAt = 0; toAt < 8; toAt += 3) {
        for (const make of [shared, (size: number) => new Uint8Array(size)]) {
          const source = make(length + 16);
          source.set(pattern(length), fromAt);
          const target = make === shared ? new Uint8Array(length + 16).fill(0xee) : shared(length + 16).fill(0xee);
          stage.copy(target, toAt, source, fromAt, length, make === shared);
          const copy = Buffer.from(target.slice(toAt, toAt + length));
          expect(copy.equals(Buffer.from(pattern(length)))).toBe(true);
          expect([target[toAt - 1] ?? 0xee, target[toAt + length]]).toEqual([0xee, 0xee]);
        }
      }
    }
  });

  it.each([WORTH_STAGING - 1, WORTH_STAGING, 4096])(
    "move %i bytes between a key's memory and a frame, whichever of them is shared",
    (length) => {
      const own = (size: number) => new Uint8Array(size);
      for (const [makeMemory, makeFrame] of [
        [shared, shared],
        [shared, own],
        [own, shared],
        [own, own],
      ] as const) {
        const grant = new Grant(new ProtectionDomain(1), makeMemory(length + 9), { key: 1, access: 0, iova: 0n });
        const [sent, received] = [makeFrame(length + 1), makeFrame(length + 2)];
        sent.set(pattern(length), 1);
        grant.copyIn(5, sent, 1, length);
        grant.copyOut(5, received, 2, length);
        expect(Buffer.from(grant.bytes.slice(5, 5 + length)).equals(Buffer.from(pattern(length)))).toBe(true);
        expect(Buffer.from(received.slice(2)).equals(Buffer.from(pattern(length)))).toBe(true);
        expect([grant.bytes[4], grant.bytes[5 + length], received[1]]).toEqual([0, 0, 0]);
      }
    },
  );
});
