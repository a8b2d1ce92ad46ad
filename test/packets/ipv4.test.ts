import { describe, expect, it } from 'vitest';
import { IPV4_BYTES, readIpv4, writeIpv4 } from '../../packets/ipv4.ts';
import { exactView, fromHex, written } from './support.ts';

describe('IPv4', () => {
  /** The header of frame 20 of the rxe capture. */
  const hex = '4502004c4c1e4000401113bc0a4d00020a4d0001';

  it('reads every field', () => {
    const { source, destination, ...rest } = readIpv4(exactView(fromHex(hex)), 0);
    expect(rest).toEqual({
      version: 4,
      ihl: 5,
      trafficClass: 2,
      totalLength: 0x4c,
      identification: 0x4c1e,
      flags: 2,
      fragmentOffset: 0,
      ttl: 64,
      protocol: 17,
      checksum: 0x13bc,
    });
    expect([String(source), String(destination)]).toEqual(['10.77.0.2', '10.77.0.1']);
  });

  it('tells the fragment bits apart', () => {
    const { flags, fragmentOffset } = readIpv4(exactView(fromHex(`450000000000b0e5${'00'.repeat(12)}`)), 0);
    expect([flags, fragmentOffset]).toEqual([5, 0x10_e5]);
  });

  it('writes back what it read, all 20 bytes', () => {
    const header = readIpv4(exactView(fromHex(hex)), 0);
    expect(written(IPV4_BYTES, (view, at) => writeIpv4(view, at, header))).toBe(hex);
  });
});
