import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  CmAttribute,
  CmParseStatus,
  cmKind,
  parseCmMad,
  readCmMessage,
  writeCmMad,
  writeCmMessage,
} from '../../../packets/cm/index.ts';
import { MAD_BYTES, readMadHeader } from '../../../packets/mad.ts';
import { CM_VECTORS } from '../../vectors/cm-mads.ts';
import { arbitraryMessage, CM_KINDS, madBytes, viewOf } from './harness.ts';

const sample = () => {
  const [vector] = CM_VECTORS;
  if (vector === undefined) throw new Error('no vectors');
  return madBytes(vector.mad);
};

describe('the envelope of a connection management MAD', () => {
  it('is recognised in every captured MAD, and each is written again byte for byte', () => {
    const kinds = new Set<string>();
    for (const vector of CM_VECTORS) {
      const bytes = madBytes(vector.mad);
      const mad = parseCmMad(viewOf(bytes), 0, MAD_BYTES);
      if (typeof mad === 'number') throw new Error(`frame ${vector.frame} of ${vector.capture}: status ${mad}`);
      kinds.add(mad.message.kind);
      const again = new Uint8Array(MAD_BYTES).fill(0xa5);
      writeCmMad(viewOf(again), 0, mad.header.transactionId, mad.message, mad.header.attributeModifier);
      expect(again, `frame ${vector.frame} of ${vector.capture}`).toEqual(bytes);
    }
    expect([...kinds].sort()).toEqual(['DREP', 'DREQ', 'REP', 'REQ', 'RTU', 'SIDR_REP', 'SIDR_REQ']);
    expect(CM_VECTORS.length).toBe(46);
  });

  it('names what is wrong with it, one cause for each field', () => {
    const cases: readonly (readonly [number, number, number])[] = [
      [0, 2, CmParseStatus.BadBaseVersion],
      [1, 0x04, CmParseStatus.NotCm],
      [2, 3, CmParseStatus.BadClassVersion],
      [3, 0x81, CmParseStatus.BadMethod],
      [17, 0x1b, CmParseStatus.UnknownAttribute],
      [16, 0x01, CmParseStatus.UnknownAttribute],
    ];
    for (const [at, value, status] of cases) {
      const bytes = sample();
      bytes[at] = value;
      expect(parseCmMad(viewOf(bytes), 0, MAD_BYTES)).toBe(status);
    }
  });

  it('has exactly 256 bytes (CM-25)', () => {
    const bytes = new Uint8Array(300);
    bytes.set(sample());
    for (const length of [0, 23, 255, 257, 300]) {
      expect(parseCmMad(viewOf(bytes), 0, length)).toBe(CmParseStatus.BadLength);
    }
  });

  it('never throws, whatever the bytes, and never reads outside the MAD', () => {
    const bytes = fc.uint8Array({ minLength: MAD_BYTES, maxLength: MAD_BYTES });
    fc.assert(
      fc.property(bytes, fc.constantFrom(...CM_KINDS), fc.boolean(), (random, kind, framed) => {
        if (framed) random.set([1, 7, 2, 3, 0, 0, 0, 0], 0);
        if (framed) random.set([0, CmAttribute[kind]], 16);
        const mad = parseCmMad(viewOf(random), 0, MAD_BYTES);
        if (framed) expect(typeof mad).toBe('object');
      }),
    );
  });

  it('has one attribute id for each kind and one kind for each attribute id', () => {
    for (const kind of CM_KINDS) expect(cmKind(CmAttribute[kind])).toBe(kind);
    expect(new Set(Object.values(CmAttribute)).size).toBe(CM_KINDS.length);
    expect(cmKind(0x0f)).toBeUndefined();
    expect(cmKind(0x1b)).toBeUndefined();
  });

  it('writes header and body of every kind', () => {
    for (const kind of CM_KINDS) {
      fc.assert(
        fc.property(arbitraryMessage(kind), (message) => {
          const whole = new Uint8Array(MAD_BYTES);
          writeCmMad(viewOf(whole), 0, 77n, message, 5);
          expect(readMadHeader(viewOf(whole), 0)).toMatchObject({
            transactionId: 77n,
            attributeId: CmAttribute[kind],
            attributeModifier: 5,
          });
          const body = new Uint8Array(MAD_BYTES);
          writeCmMessage(viewOf(body), 0, message);
          expect(body.subarray(24)).toEqual(whole.subarray(24));
          expect(readCmMessage(viewOf(whole), 0, kind)).toEqual(message);
        }),
        { numRuns: 20 },
      );
    }
  });
});
