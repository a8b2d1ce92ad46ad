import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { CM_PATH_BYTES, NO_PATH, readCmPath, writeCmPath } from '../../../packets/cm/index.ts';
import { arbitraryPath } from './harness.ts';

describe('the path of a REQ', () => {
  it('survives the wire with all values and writes 44 bytes, no more', () => {
    fc.assert(
      fc.property(arbitraryPath, (path) => {
        const bytes = new Uint8Array(CM_PATH_BYTES + 2).fill(0xa5);
        writeCmPath(new DataView(bytes.buffer), 1, path);
        expect(readCmPath(new DataView(bytes.buffer), 1)).toEqual(path);
        expect([bytes[0], bytes[CM_PATH_BYTES + 1]]).toEqual([0xa5, 0xa5]);
      }),
    );
  });

  it('is all zeros when there is none', () => {
    const bytes = new Uint8Array(CM_PATH_BYTES).fill(0xa5);
    writeCmPath(new DataView(bytes.buffer), 0, NO_PATH);
    expect(bytes).toEqual(new Uint8Array(CM_PATH_BYTES));
  });
});
