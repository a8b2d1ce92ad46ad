import { describe, expect, it } from 'vitest';
import { IPV6_BYTES, ipv6FirstWord, readIpv6, writeIpv6 } from '../../packets/ipv6.ts';
import { exactView, fromHex, written } from './support.ts';

describe('IPv6', () => {
  const hex = `6b9abcde00381140${'fe80000000000000505400fffe000001'}${'00000000000000000000ffff0a4d0002'}`;

  it('reads every field and keeps a v4-mapped address an IPv6 address', () => {
    const { source, destination, ...rest } = readIpv6(exactView(fromHex(hex)), 0);
    expect(rest).toEqual({
      version: 6,
      trafficClass: 0xb9,
      flowLabel: 0xa_bc_de,
      payloadLength: 0x38,
      nextHeader: 17,
      hopLimit: 64,
    });
    expect([source.toString(), destination.version]).toEqual(['fe80::5054:ff:fe00:1', 6]);
  });

  it('writes back what it read, all 40 bytes', () => {
    const header = readIpv6(exactView(fromHex(hex)), 0);
    expect(written(IPV6_BYTES, (view, at) => writeIpv6(view, at, header))).toBe(hex);
  });

  it('cuts class and flow label to their bits in the first word', () => {
    expect(ipv6FirstWord(6, 0x1ff, 0x1f_ff_ff)).toBe(0x6f_ff_ff_ff);
    expect(ipv6FirstWord(15, 0, 0)).toBe(0xf0_00_00_00);
  });
});
