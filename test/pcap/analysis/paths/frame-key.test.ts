/**
 * Goal: a frame has the same key wherever it is captured, and another one as soon as anything differs that no router
 * and no switch changes. Method: random bytes of every length, at any place in memory, each byte changed in turn.
 */
import { describe, expect, it } from 'vitest';
import { bodyHash, type FrameBytes, frameKey, payloadHash } from '../../../../pcap/analysis/paths/frame-key.ts';
import { Prng } from '../../../../src/ground/prng.ts';

const random = new Prng(3);
const LENGTHS = [60, 61, 62, 63, 64, 124, 128, 129, 137, 138, 139, 141, 142, 143, 150, 151, 152, 153, 300, 301];
/** What changes on the way, counted from the IP header. */
const CHANGING = { 4: [1, 8, 10, 11, 26, 27], 6: [0, 1, 2, 3, 7, 46, 47] } as const;

function randomBytes(length: number): Uint8Array {
  return Uint8Array.from({ length }, () => random.below(256));
}

/** In the middle of other bytes. */
function placed(bytes: Uint8Array, before = 5): FrameBytes {
  const memory = randomBytes(before + bytes.length + 9);
  memory.set(bytes, before);
  return { view: new DataView(memory.buffer), start: before, end: before + bytes.length };
}

function keyOf(bytes: Uint8Array, ipOffset: number, ipVersion: 0 | 4 | 6, before?: number): number {
  const frame = placed(bytes, before);
  return frameKey(frame, ipOffset, ipVersion, payloadHash(frame, ipOffset));
}

function bodyOf(bytes: Uint8Array, ipOffset: number): number {
  const frame = placed(bytes);
  return bodyHash(frame, ipOffset, payloadHash(frame, ipOffset));
}

function changed(bytes: Uint8Array, at: number): Uint8Array {
  return bytes.with(at, (bytes[at] as number) ^ 0x10);
}

describe('The key of a frame', () => {
  it.each([4, 6] as const)(
    'over IPv%i depends on all that nothing on the way changes, and on nothing else',
    (version) => {
      for (const length of LENGTHS) {
        const bytes = randomBytes(length);
        const key = keyOf(bytes, 14, version);
        expect(keyOf(bytes, 14, version, 8)).toBe(key);
        for (let at = 0; at < length; at++) {
          const stays = at < 14 || CHANGING[version].some((place) => place === at - 14);
          expect(keyOf(changed(bytes, at), 14, version) === key).toBe(stays);
        }
      }
    },
  );

  it('is the same with a tag, with two, and without', () => {
    for (const length of LENGTHS) {
      const packet = randomBytes(length);
      const keys = [14, 18, 22].map((tagged) => keyOf(Uint8Array.of(...randomBytes(tagged), ...packet), tagged, 4));
      expect(new Set(keys).size).toBe(1);
    }
  });

  it('without an IP header depends on everything behind the MAC addresses', () => {
    for (const length of LENGTHS) {
      const bytes = randomBytes(length);
      for (let at = 0; at < length; at++)
        expect(keyOf(changed(bytes, at), -1, 0) === keyOf(bytes, -1, 0)).toBe(at < 12);
    }
  });
});

describe('The hash of the body of a frame', () => {
  it.each([-1, 0, 14, 22])('depends on what is not kept as bytes, with the IP header at %i', (ipOffset) => {
    for (const length of LENGTHS) {
      const bytes = randomBytes(length);
      for (let at = 0; at < length; at++) {
        const isKept = length <= 128 || at < 124 || at >= length - 4;
        expect(bodyOf(changed(bytes, at), ipOffset) === bodyOf(bytes, ipOffset)).toBe(isKept);
      }
    }
  });
});
