// Goal: neighbour messages agree with what Linux sends, are dropped by every rule of RFC 4861 section 7.1, survive any
// bytes. Method: a golden solicitation from a capture of a Linux guest, one broken rule at a time, properties.

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { formatMac, IpAddress, parseMac } from '../../packets/address.ts';
import { writeIcmpv6Checksum } from '../../packets/icmp.ts';
import {
  LINK_ADDRESS_OPTION_BYTES,
  multicastMac,
  NEIGHBOR_MESSAGE_BYTES,
  type NeighborAdvertisement,
  readNeighborAdvertisement,
  readNeighborSolicitation,
  solicitedNodeAddress,
  writeNeighborAdvertisement,
  writeNeighborSolicitation,
} from '../../packets/icmpv6-nd.ts';
import { IPV6_BYTES, writeIpv6 } from '../../packets/ipv6.ts';

// Frame 3 of rxe-6.1.pcap without its Ethernet header: duplicate address detection, with a nonce option (type 14).
const SOLICITATION = Uint8Array.from(
  (
    '6000000000203aff00000000000000000000000000000000ff0200000000000000000001ff000001' +
    '8700534900000000fe80000000000000505400fffe0000010e01d47c74ff8202'
  ).match(/../g) ?? [],
  (digits) => Number.parseInt(digits, 16),
);

const OURS = IpAddress.parse('fe80::5054:ff:fe00:1');
const THEIRS = IpAddress.parse('fd77::2');
const MAC = parseMac('52:54:00:00:00:01');

/** A packet with its IPv6 header; `write` adds the message and returns its length. */
function packet(source: IpAddress, destination: IpAddress, write: (view: DataView) => number): Uint8Array {
  const bytes = new Uint8Array(IPV6_BYTES + 64).fill(0xa5);
  const view = new DataView(bytes.buffer);
  const fields = { version: 6, trafficClass: 0, flowLabel: 0, nextHeader: 58, hopLimit: 255, source, destination };
  writeIpv6(view, 0, { ...fields, payloadLength: NEIGHBOR_MESSAGE_BYTES + LINK_ADDRESS_OPTION_BYTES });
  return bytes.subarray(0, IPV6_BYTES + write(view));
}

const viewOf = (bytes: Uint8Array) => new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
const solicitationIn = (bytes: Uint8Array) => readNeighborSolicitation(viewOf(bytes), 0, IPV6_BYTES, bytes.length);
const advertisementIn = (bytes: Uint8Array) => readNeighborAdvertisement(viewOf(bytes), 0, IPV6_BYTES, bytes.length);

/** The packet with byte `at` replaced and the checksum made right again. */
function changed(bytes: Uint8Array, at: number, value: number): Uint8Array {
  const copy = bytes.slice();
  copy[at] = value;
  writeIcmpv6Checksum(viewOf(copy), 0, IPV6_BYTES, copy.length);
  return copy;
}

const solicit = () =>
  packet(THEIRS, solicitedNodeAddress(OURS), (view) =>
    writeNeighborSolicitation(view, 0, IPV6_BYTES, { target: OURS, sourceMac: MAC }),
  );
const ANSWER: NeighborAdvertisement = { target: OURS, targetMac: MAC, router: false, solicited: true, override: true };
const advertise = (destination = THEIRS, fields: Partial<NeighborAdvertisement> = {}) =>
  packet(OURS, destination, (view) => writeNeighborAdvertisement(view, 0, IPV6_BYTES, { ...ANSWER, ...fields }));

describe('a neighbour solicitation', () => {
  it('of Linux is read, an option it does not know skipped', () => {
    expect(solicitationIn(SOLICITATION)).toEqual({ target: OURS, sourceMac: undefined });
  });

  it('is written with the layout and checksum of Linux', () => {
    const bytes = packet(IpAddress.parse('::'), solicitedNodeAddress(OURS), (view) =>
      writeNeighborSolicitation(view, 0, IPV6_BYTES, { target: OURS, sourceMac: undefined }),
    );
    // Linux added the nonce; all before it but the checksum is the same, and so is the checksum over the golden bytes.
    expect(bytes.subarray(IPV6_BYTES + 4)).toEqual(SOLICITATION.slice(IPV6_BYTES + 4, IPV6_BYTES + 24));
    expect(changed(SOLICITATION, IPV6_BYTES, 135)).toEqual(SOLICITATION);
  });

  it('round-trips with the MAC of the asker', () => {
    expect(solicitationIn(solicit())).toEqual({ target: OURS, sourceMac: MAC });
  });

  it.each([
    ['another hop limit: it came through a router', () => changed(solicit(), 7, 254)],
    ['another code', () => changed(solicit(), IPV6_BYTES + 1, 1)],
    ['another type', () => changed(solicit(), IPV6_BYTES, 136)],
    ['a multicast target', () => changed(solicit(), IPV6_BYTES + 8, 0xff)],
    ['an option of length zero', () => changed(solicit(), IPV6_BYTES + 25, 0)],
    ['an option longer than the message', () => changed(solicit(), IPV6_BYTES + 25, 2)],
    ['a cut option', () => changed(solicit().slice(0, -1), IPV6_BYTES + 1, 0)],
    ['no room for the target', () => changed(solicit().slice(0, IPV6_BYTES + 23), IPV6_BYTES + 1, 0)],
    ['a MAC although the source is unspecified', () => withSource(solicit(), '::')],
    ['an unspecified source and another destination than the solicited-node group', () => changed(SOLICITATION, 39, 2)],
    ['a wrong checksum', () => SOLICITATION.map((byte, at) => (at === IPV6_BYTES + 3 ? byte ^ 1 : byte))],
  ])('is dropped with %s', (_rule, make) => {
    expect(solicitationIn(make())).toBeUndefined();
  });
});

describe('a neighbour advertisement', () => {
  it('round-trips with every combination of flags, with and without a MAC', () => {
    for (let bits = 0; bits < 16; bits++) {
      const fields = {
        target: OURS,
        targetMac: bits & 8 ? MAC : undefined,
        router: (bits & 1) !== 0,
        solicited: (bits & 2) !== 0,
        override: (bits & 4) !== 0,
      };
      expect(advertisementIn(advertise(THEIRS, fields))).toEqual(fields);
    }
  });

  it('may go to a group when it answers nobody, and is dropped when it claims to', () => {
    const everybody = IpAddress.parse('ff02::1');
    expect(advertisementIn(advertise(everybody, { solicited: false }))).toBeDefined();
    expect(advertisementIn(advertise(everybody, { solicited: true }))).toBeUndefined();
  });

  it('is dropped with another hop limit, a multicast target or a broken option', () => {
    for (const [at, value] of [
      [7, 64],
      [IPV6_BYTES + 8, 0xff],
      [IPV6_BYTES + 25, 0],
      [IPV6_BYTES, 135],
    ] as const) {
      expect(advertisementIn(changed(advertise(), at, value))).toBeUndefined();
    }
  });

  it('ignores a source link-layer address', () => {
    expect(advertisementIn(changed(advertise(), IPV6_BYTES + 24, 1))?.targetMac).toBeUndefined();
  });
});

describe('neighbour messages', () => {
  it('never throw, whatever the bytes', () => {
    const tails = fc.uint8Array({ maxLength: 64 });
    fc.assert(
      fc.property(tails, fc.constantFrom(135, 136), (tail, type) => {
        const bytes = new Uint8Array(IPV6_BYTES + tail.length);
        bytes.set(solicit().subarray(0, IPV6_BYTES));
        bytes.set(tail, IPV6_BYTES);
        if (tail.length >= 4) {
          bytes[IPV6_BYTES] = type;
          bytes[IPV6_BYTES + 1] = 0;
          writeIcmpv6Checksum(viewOf(bytes), 0, IPV6_BYTES, bytes.length);
        }
        const found = [solicitationIn(bytes), advertisementIn(bytes)];
        expect(found.filter((message) => message !== undefined).length).toBeLessThan(2);
      }),
      { numRuns: 500 },
    );
  });

  it('go to the group and MAC that the standards derive from the target', () => {
    expect(solicitedNodeAddress(IpAddress.parse('fd00::12:3456')).toString()).toBe('ff02::1:ff12:3456');
    expect(formatMac(multicastMac(solicitedNodeAddress(IpAddress.parse('fd00::12:3456'))))).toBe('33:33:ff:12:34:56');
  });
});

function withSource(bytes: Uint8Array, source: string): Uint8Array {
  IpAddress.parse(source).write(viewOf(bytes), 8);
  return changed(bytes, IPV6_BYTES + 1, 0);
}
