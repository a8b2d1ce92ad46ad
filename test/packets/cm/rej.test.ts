import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type CmRej, CmRejReason, cmRejInfo, cmRejReasonName } from '../../../packets/cm/index.ts';
import { arbitraryMessage, checkRoundTrip, encode } from './harness.ts';

const REJ: CmRej = {
  localCommId: 0x0102_0304,
  remoteCommId: 0x0506_0708,
  messageRejected: 1,
  infoLength: 8,
  reason: CmRejReason.Timeout,
  info: Uint8Array.of(1, 2, 3, 4, 5, 6, 7, 8),
  privateData: Uint8Array.of(0xee),
};

describe('REJ', () => {
  it('has its fields where the kernel has them', () => {
    const bytes = encode({ kind: 'REJ', body: REJ });
    expect([...bytes.subarray(24, 24 + 22)]).toEqual([
      1, 2, 3, 4, 5, 6, 7, 8, 0x40, 0x10, 0, 4, 1, 2, 3, 4, 5, 6, 7, 8, 0, 0,
    ]);
    expect(bytes[24 + 84]).toBe(0xee);
  });

  it('survives the wire with all values, and any bytes keep their meaning', () => {
    checkRoundTrip('REJ', (actual, expected) => expect(actual).toEqual(expected));
  });

  it('gives only the additional information that is there, whatever the length field claims', () => {
    fc.assert(
      fc.property(arbitraryMessage('REJ'), ({ body }) => {
        const rej = body as CmRej;
        expect(cmRejInfo(rej)).toEqual(rej.info.subarray(0, Math.min(72, rej.infoLength)));
      }),
    );
  });

  it('carries at most 148 bytes of private data and 72 of information (CM-27)', () => {
    expect(() => encode({ kind: 'REJ', body: { ...REJ, privateData: new Uint8Array(149) } })).toThrow(
      '148 bytes, not 149',
    );
    expect(() => encode({ kind: 'REJ', body: { ...REJ, info: new Uint8Array(73) } })).toThrow('72 bytes, not 73');
  });

  it('has a name for every reason, and the codes of ref:conformance#F', () => {
    expect(new Set(Object.values(CmRejReason)).size).toBe(Object.keys(CmRejReason).length);
    expect(cmRejReasonName(8)).toBe('InvalidServiceId');
    expect(cmRejReasonName(10)).toBe('StaleConnection');
    expect(cmRejReasonName(28)).toBe('ConsumerDefined');
    expect(cmRejReasonName(999)).toBe('reason 999');
  });
});
