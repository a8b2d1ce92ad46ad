import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { BROADCAST_MAC, formatMac, IpAddress, IpPrefix, parseMac } from '../../packets/address.ts';
import { RoceError } from '../../packets/errors.ts';
import { exactView, fromHex, written } from './support.ts';

function addressError(run: () => unknown): void {
  expect(run).toThrow(RoceError);
  expect(run).toThrow(expect.objectContaining({ code: 'ERR_ROCE_ADDRESS' }));
}

describe('IpAddress', () => {
  it('keeps an IPv4 address as the GID ::ffff:a.b.c.d', () => {
    const address = IpAddress.parse('10.77.0.2');
    expect([address.version, address.w0, address.w1, address.w2, address.w3]).toEqual([
      4, 0, 0, 0xff_ff, 0x0a_4d_00_02,
    ]);
    expect(written(4, (view, at) => address.write(view, at))).toBe('0a4d0002');
    expect(written(16, (view, at) => address.writeGid(view, at))).toBe('00000000000000000000ffff0a4d0002');
  });

  it('parses IPv6 and prints it in the shortest form', () => {
    expect(IpAddress.parse('FE80:0:0:0:5054:ff:fe00:1').toString()).toBe('fe80::5054:ff:fe00:1');
    expect(IpAddress.parse('::').toString()).toBe('::');
    expect(written(16, (view, at) => IpAddress.parse('2001:db8::1').write(view, at))).toBe(
      '20010db8000000000000000000000001',
    );
  });

  it('takes a v4-mapped spelling and a v4-mapped GID for the IPv4 address', () => {
    const mapped = exactView(fromHex('00000000 00000000 0000ffff 0a4d0001'));
    expect(IpAddress.parse('::ffff:10.77.0.1').equals(IpAddress.parse('10.77.0.1'))).toBe(true);
    expect(IpAddress.fromGid(mapped, 0).toString()).toBe('10.77.0.1');
    expect(IpAddress.read(mapped, 0, 6).equals(IpAddress.parse('10.77.0.1'))).toBe(false);
  });

  it.each([
    '',
    '10.1',
    '0x0a.0.0.1',
    '010.0.0.1',
    '10.0.0.256',
    '1.2.3.4.5',
    'fe80::1%eth0',
    '::10.0.0.1',
    ':::',
    'host',
  ])('rejects %j', (text) => {
    addressError(() => IpAddress.parse(text));
  });

  it('knows multicast of both versions', () => {
    const multicast = ['224.0.0.1', '239.255.255.255', 'ff02::1'].map((text) => IpAddress.parse(text).isMulticast);
    const unicast = ['223.255.255.255', '240.0.0.1', '10.0.0.1', 'fe80::1'].map((t) => IpAddress.parse(t).isMulticast);
    expect(multicast).toEqual([true, true, true]);
    expect(unicast).toEqual([false, false, false, false]);
  });

  it('differs from another address in each single word and in the version', () => {
    const address = new IpAddress(6, 1, 2, 3, 4);
    expect(address.equals(new IpAddress(6, 1, 2, 3, 4))).toBe(true);
    const others = [
      new IpAddress(4, 1, 2, 3, 4),
      new IpAddress(6, 0, 2, 3, 4),
      new IpAddress(6, 1, 0, 3, 4),
      new IpAddress(6, 1, 2, 0, 4),
      new IpAddress(6, 1, 2, 3, 0),
    ];
    expect(others.map((other) => address.equals(other))).toEqual([false, false, false, false, false]);
  });

  it('survives printing and parsing, and writing and reading, whatever the address', () => {
    fc.assert(
      fc.property(fc.uint8Array({ minLength: 16, maxLength: 16 }), (bytes) => {
        const view = exactView(bytes);
        for (const address of [IpAddress.fromGid(view, 0), IpAddress.read(view, 0, 4)]) {
          expect(IpAddress.parse(address.toString()).equals(address)).toBe(true);
          const gid = new DataView(new ArrayBuffer(16));
          address.writeGid(gid, 0);
          expect(IpAddress.fromGid(gid, 0).equals(address)).toBe(true);
        }
      }),
    );
  });
});

describe('IpPrefix', () => {
  it('contains the addresses that share its leading bits, and keeps its host bits', () => {
    const prefix = IpPrefix.parse('10.77.0.1/24');
    expect(prefix.toString()).toBe('10.77.0.1/24');
    expect(prefix.contains(IpAddress.parse('10.77.0.255'))).toBe(true);
    expect(prefix.contains(IpAddress.parse('10.77.1.1'))).toBe(false);
    expect(prefix.contains(IpAddress.parse('::a4d:1'))).toBe(false);
  });

  it('agrees with comparing the bits one by one, at every length', () => {
    const bit = (words: readonly number[], at: number) => ((words[at >>> 5] ?? 0) >>> (31 - (at & 31))) & 1;
    const words = (a: IpAddress) => [a.w0, a.w1, a.w2, a.w3];
    const base = IpAddress.parse('fe80::5054:ff:fe00:1');
    for (let flipped = 0; flipped < 128; flipped++) {
      const changed = words(base).map((word, i) =>
        i === flipped >>> 5 ? word ^ (0x80_00_00_00 >>> (flipped & 31)) : word,
      );
      const [w0 = 0, w1 = 0, w2 = 0, w3 = 0] = changed;
      const other = new IpAddress(6, w0, w1, w2, w3);
      for (let length = 0; length <= 128; length++) {
        let same = true;
        for (let at = 0; at < length; at++) same &&= bit(words(base), at) === bit(words(other), at);
        expect(new IpPrefix(base, length).contains(other)).toBe(same);
      }
    }
  });

  it.each(['10.0.0.1', '10.0.0.1/', '10.0.0.1/33', '::/129', '10.0.0.1/-1', '/24', '10.0.0.1/24/8'])(
    'rejects %j',
    (text) => {
      addressError(() => IpPrefix.parse(text));
    },
  );
});

describe('MAC addresses', () => {
  it('parse with colons or dashes and print with colons', () => {
    expect(formatMac(parseMac('52:54:00:AB:cd:02'))).toBe('52:54:00:ab:cd:02');
    expect(formatMac(parseMac('52-54-00-ab-cd-02'))).toBe('52:54:00:ab:cd:02');
    expect(formatMac(BROADCAST_MAC)).toBe('ff:ff:ff:ff:ff:ff');
    expect(formatMac(fromHex('00112233445566'), 1)).toBe('11:22:33:44:55:66');
  });

  it.each(['', '52:54:00:ab:cd', '52:54:00:ab:cd:02:03', '52:54:00:ab:cd:0g', '5:54:00:ab:cd:02', '52:54-00:ab-cd:02'])(
    'rejects %j',
    (text) => {
      addressError(() => parseMac(text));
    },
  );
});
