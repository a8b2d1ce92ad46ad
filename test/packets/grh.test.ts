import { describe, expect, it } from 'vitest';
import { GRH_BYTES, readGrh, writeGrh } from '../../packets/grh.ts';
import { exactView, fromHex, written } from './support.ts';

describe('GRH', () => {
  const hex = `6b9abcde0123117f${'fe800000000000005054 00fffe000001'.replace(' ', '')}${'00000000000000000000ffff0a4d0002'}`;

  it('reads every field, GIDs included', () => {
    const { sourceGid, destinationGid, ...rest } = readGrh(exactView(fromHex(hex)), 0);
    expect(rest).toEqual({
      version: 6,
      trafficClass: 0xb9,
      flowLabel: 0xa_bc_de,
      payloadLength: 0x123,
      nextHeader: 17,
      hopLimit: 127,
    });
    expect([String(sourceGid), String(destinationGid)]).toEqual(['fe80::5054:ff:fe00:1', '10.77.0.2']);
  });

  it('writes back what it read, all 40 bytes', () => {
    const grh = readGrh(exactView(fromHex(hex)), 0);
    expect(written(GRH_BYTES, (view, at) => writeGrh(view, at, grh))).toBe(hex);
  });
});
