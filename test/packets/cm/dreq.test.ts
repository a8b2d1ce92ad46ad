import { describe, expect, it } from 'vitest';
import { readCmDreq } from '../../../packets/cm/index.ts';
import { checkRoundTrip, encode, madBytes, viewOf } from './harness.ts';
import { expectTshark, vectorsOf } from './tshark.ts';

describe('DREQ', () => {
  it('of the captures reads as Wireshark prints it', () => {
    const vectors = vectorsOf('cm.dreq.localcommid');
    expect(vectors.length).toBeGreaterThan(3);
    for (const vector of vectors) {
      const dreq = readCmDreq(viewOf(madBytes(vector.mad)), 0);
      expectTshark(vector, 'cm', {
        'dreq.localcommid': dreq.localCommId,
        'dreq.remotecommid': dreq.remoteCommId,
        'req.remoteqpneecn': dreq.remoteQpn,
      });
    }
  });

  it('survives the wire with all values, and any bytes keep their meaning', () => {
    checkRoundTrip('DREQ', (actual, expected) => expect(actual).toEqual(expected));
  });

  it('carries at most 220 bytes of private data (CM-27)', () => {
    const body = { localCommId: 1, remoteCommId: 2, remoteQpn: 3, privateData: new Uint8Array(221) };
    expect(() => encode({ kind: 'DREQ', body })).toThrow('220 bytes, not 221');
  });
});
