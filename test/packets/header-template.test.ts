import { describe, expect, it } from 'vitest';
import { IpAddress, parseMac } from '../../packets/address.ts';
import { ipv4HeaderChecksum } from '../../packets/checksum.ts';
import { RoceError } from '../../packets/errors.ts';
import { Medium } from '../../packets/frame.ts';
import { HeaderTemplate, type PathSpec } from '../../packets/header-template.ts';
import { toHex } from './support.ts';

const V4: PathSpec = {
  medium: Medium.Ethernet,
  sourceMac: parseMac('52:54:00:00:00:02'),
  destMac: parseMac('52:54:00:00:00:01'),
  source: IpAddress.parse('10.77.0.2'),
  destination: IpAddress.parse('10.77.0.1'),
  trafficClass: 0x6a,
  hopLimit: 64,
  flowLabel: 0x1_23_45,
  sourcePort: 0xc1_23,
};
const V6: PathSpec = { ...V4, source: IpAddress.parse('fe80::2'), destination: IpAddress.parse('fe80::1') };

const IPV4_IMAGE = '456a00000000400040110000 0a4d00020a4d0001 c12312b700000000'.replaceAll(' ', '');
const IPV6_IMAGE = `66a1234500001140fe80${'00'.repeat(13)}02fe80${'00'.repeat(13)}01c12312b700000000`;

describe('HeaderTemplate', () => {
  it('is Ethernet, IPv4 without options but with DF, and UDP', () => {
    const template = new HeaderTemplate(V4);
    expect(toHex(template.bytes)).toBe(`5254000000015254000000020800${IPV4_IMAGE}`);
    const { length, ipOffset, udpOffset, ipVersion } = template;
    expect([length, ipOffset, udpOffset, ipVersion]).toEqual([42, 14, 34, 4]);
  });

  it('is Ethernet, IPv6 with the flow label, and UDP', () => {
    const template = new HeaderTemplate(V6);
    expect(toHex(template.bytes)).toBe(`52540000000152540000000286dd${IPV6_IMAGE}`);
    const { length, ipOffset, udpOffset, ipVersion } = template;
    expect([length, ipOffset, udpOffset, ipVersion]).toEqual([62, 14, 54, 6]);
  });

  it('has a VLAN tag when the path has one, also when its control word is 0', () => {
    expect(toHex(new HeaderTemplate({ ...V4, vlanTci: 0x60_05 }).bytes)).toBe(
      `525400000001525400000002810060050800${IPV4_IMAGE}`,
    );
    expect(toHex(new HeaderTemplate({ ...V6, vlanTci: 0 }).bytes)).toBe(
      `5254000000015254000000028100000086dd${IPV6_IMAGE}`,
    );
  });

  it('starts with IP on the IP medium, whatever MAC addresses and tag say', () => {
    const template = new HeaderTemplate({ ...V4, medium: Medium.Ip, vlanTci: 7 });
    template.setDestMac(parseMac('ff:ff:ff:ff:ff:ff'));
    expect(toHex(template.bytes)).toBe(IPV4_IMAGE);
    expect([template.ipOffset, template.length]).toEqual([0, 28]);
  });

  it('takes another destination MAC and nothing else changes', () => {
    const template = new HeaderTemplate(V4);
    template.setDestMac(parseMac('02:00:00:00:00:09'));
    expect(toHex(template.bytes)).toBe(`0200000000095254000000020800${IPV4_IMAGE}`);
  });

  it('knows the IPv4 checksum for any length and identification', () => {
    const template = new HeaderTemplate(V4);
    const header = new DataView(template.bytes.slice(14, 34).buffer);
    for (const [length, id] of [
      [48, 1],
      [0xff_ff, 0xff_ff],
      [1068, 0x80_00],
      [20, 0],
    ] as const) {
      header.setUint16(2, length);
      header.setUint16(4, id);
      expect(template.ipv4Checksum(length, id)).toBe(ipv4HeaderChecksum(header, 0));
    }
  });

  it('refuses addresses of two versions', () => {
    const make = () => new HeaderTemplate({ ...V4, destination: V6.destination });
    expect(make).toThrow(RoceError);
    expect(make).toThrow(expect.objectContaining({ code: 'ERR_ROCE_ADDRESS' }));
  });

  it.each([
    { trafficClass: 256 },
    { hopLimit: -1 },
    { flowLabel: 0x10_00_00 },
    { sourcePort: 65_536 },
    { sourcePort: 1.5 },
    { vlanTci: 65_536 },
  ])('refuses %j', (wrong) => {
    const make = () => new HeaderTemplate({ ...V4, ...wrong });
    expect(make).toThrow(expect.objectContaining({ code: 'ERR_ROCE_ARGUMENT' }));
  });
});
