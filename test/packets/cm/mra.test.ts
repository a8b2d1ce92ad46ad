import { describe, expect, it } from 'vitest';
import { checkRoundTrip, encode } from './harness.ts';

const MRA = { localCommId: 1, remoteCommId: 2, messageMraed: 1, serviceTimeout: 24, privateData: Uint8Array.of(9) };

describe('MRA', () => {
  it('has its fields where the kernel has them', () => {
    const bytes = encode({ kind: 'MRA', body: MRA });
    expect([...bytes.subarray(24, 36)]).toEqual([0, 0, 0, 1, 0, 0, 0, 2, 0x40, 24 << 3, 9, 0]);
  });

  it('survives the wire with all values, and any bytes keep their meaning', () => {
    checkRoundTrip('MRA', (actual, expected) => expect(actual).toEqual(expected));
  });

  it('carries at most 222 bytes of private data', () => {
    expect(() => encode({ kind: 'MRA', body: { ...MRA, privateData: new Uint8Array(223) } })).toThrow(
      '222 bytes, not 223',
    );
  });
});
