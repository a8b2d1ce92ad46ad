import { describe, expect, it } from 'vitest';
import { readCmRtu } from '../../../packets/cm/index.ts';
import { checkRoundTrip, encode, madBytes, viewOf } from './harness.ts';
import { expectTshark, vectorsOf } from './tshark.ts';

describe('RTU', () => {
  it('of the captures reads as Wireshark prints it', () => {
    const vectors = vectorsOf('cm.rtu.localcommid');
    expect(vectors.length).toBeGreaterThan(3);
    for (const vector of vectors) {
      const message = readCmRtu(viewOf(madBytes(vector.mad)), 0);
      expectTshark(vector, 'cm.rtu', { localcommid: message.localCommId, remotecommid: message.remoteCommId });
    }
  });

  it('survives the wire with all values, and any bytes keep their meaning', () => {
    checkRoundTrip('RTU', (actual, expected) => expect(actual).toEqual(expected));
  });

  it('carries at most 224 bytes of private data (CM-27)', () => {
    const body = { localCommId: 1, remoteCommId: 2, privateData: new Uint8Array(224).fill(3) };
    expect(encode({ kind: 'RTU', body })[255]).toBe(3);
    expect(() => encode({ kind: 'RTU', body: { ...body, privateData: new Uint8Array(225) } })).toThrow(
      '224 bytes, not 225',
    );
  });
});
