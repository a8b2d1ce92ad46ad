// Goal: echo messages of both versions agree with what Linux sends, checksums included, and survive any bytes.
// Method: golden packets captured on the loopback of a Linux host (request by hand, reply by the kernel), properties.

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  type IcmpEcho,
  icmpChecksumIsRight,
  icmpv6ChecksumIsRight,
  readIcmpEcho,
  readIcmpv6Echo,
  writeIcmpEcho,
  writeIcmpv6Echo,
} from '../../packets/icmp.ts';
import { IPV4_BYTES } from '../../packets/ipv4.ts';
import { IPV6_BYTES } from '../../packets/ipv6.ts';

const bytesOf = (hex: string) => Uint8Array.from(hex.match(/../g) ?? [], (digits) => Number.parseInt(digits, 16));

// IP packets; data "rocev2!", an odd number of bytes.
const IPV4_REPLY = bytesOf('4500002300320000' + '40017ca67f0000017f000001' + '000080c312340001' + '726f6365763221');
const IPV6_REQUEST = bytesOf(`60020490000f3a40${'0'.repeat(31)}1${'0'.repeat(31)}18000007812340001726f6365763221`);
const IPV6_REPLY = bytesOf(`600b9c60000f3a40${'0'.repeat(31)}1${'0'.repeat(31)}18100ff7712340001726f6365763221`);
const DATA = new TextEncoder().encode('rocev2!');

const readV4 = (packet: Uint8Array) => readIcmpEcho(new DataView(packet.buffer), IPV4_BYTES, packet.length);
const readV6 = (packet: Uint8Array) => readIcmpv6Echo(new DataView(packet.buffer), 0, IPV6_BYTES, packet.length);

describe('ICMP echo', () => {
  it('reads what the kernel answers', () => {
    expect(readV4(IPV4_REPLY)).toEqual({ reply: true, identifier: 0x1234, sequence: 1, data: DATA });
    expect(readV6(IPV6_REQUEST)).toEqual({ reply: false, identifier: 0x1234, sequence: 1, data: DATA });
    expect(readV6(IPV6_REPLY)).toEqual({ reply: true, identifier: 0x1234, sequence: 1, data: DATA });
  });

  it('writes the same bytes again', () => {
    const bytes = new Uint8Array(15).fill(0xa5);
    const echo: IcmpEcho = { reply: true, identifier: 0x1234, sequence: 1, data: DATA };
    expect(writeIcmpEcho(new DataView(bytes.buffer), 0, echo)).toBe(15);
    expect(bytes).toEqual(IPV4_REPLY.slice(IPV4_BYTES));
    for (const golden of [IPV6_REQUEST, IPV6_REPLY]) {
      const packet = golden.slice().fill(0xa5, IPV6_BYTES);
      writeIcmpv6Echo(new DataView(packet.buffer), 0, IPV6_BYTES, { ...echo, reply: golden === IPV6_REPLY });
      expect(packet).toEqual(golden);
    }
  });

  it('is undefined for every change of a bit, which the checksum sees', () => {
    for (const [golden, read, from] of [
      [IPV4_REPLY, readV4, IPV4_BYTES],
      [IPV6_REPLY, readV6, 8], // from the addresses on: they are in the pseudo header
    ] as const) {
      for (let bit = from * 8; bit < golden.length * 8; bit++) {
        const packet = golden.slice();
        packet[bit >> 3] = (packet[bit >> 3] ?? 0) ^ (0x80 >> (bit & 7));
        expect(read(packet), `bit ${bit}`).toBeUndefined();
      }
    }
  });

  it('is undefined for other types, other codes and messages cut short, even with a right checksum', () => {
    for (const [type, code] of [
      [3, 0],
      [8, 1],
      [128, 0],
    ] as const) {
      const packet = IPV4_REPLY.slice();
      const view = new DataView(packet.buffer);
      view.setUint16(IPV4_BYTES, (type << 8) | code);
      // Only the first word changed: the checksum moves by the difference.
      view.setUint16(IPV4_BYTES + 2, onesComplementMinus(view.getUint16(IPV4_BYTES + 2), (type << 8) | code));
      expect(icmpChecksumIsRight(view, IPV4_BYTES, packet.length)).toBe(true);
      expect(readV4(packet)).toBeUndefined();
    }
    for (let length = 0; length < 8; length++) {
      expect(readIcmpEcho(new DataView(new ArrayBuffer(28)), IPV4_BYTES, IPV4_BYTES + length)).toBeUndefined();
      expect(readIcmpv6Echo(new DataView(new ArrayBuffer(48)), 0, IPV6_BYTES, IPV6_BYTES + length)).toBeUndefined();
    }
  });

  it('round-trips for any identifier, sequence, data and addresses', () => {
    const echoes = fc.record({
      reply: fc.boolean(),
      identifier: fc.nat({ max: 0xffff }),
      sequence: fc.nat({ max: 0xffff }),
      data: fc.uint8Array({ maxLength: 70 }),
    });
    fc.assert(
      fc.property(echoes, fc.uint8Array({ minLength: 40, maxLength: 40 }), (echo, header) => {
        const packet = new Uint8Array(IPV6_BYTES + 8 + echo.data.length).fill(0xa5);
        packet.set(header);
        const view = new DataView(packet.buffer);
        writeIcmpv6Echo(view, 0, IPV6_BYTES, echo);
        expect(icmpv6ChecksumIsRight(view, 0, IPV6_BYTES, packet.length)).toBe(true);
        expect(readV6(packet)).toEqual(echo);
        writeIcmpEcho(view, IPV4_BYTES, echo);
        expect(readIcmpEcho(view, IPV4_BYTES, IPV4_BYTES + 8 + echo.data.length)).toEqual(echo);
      }),
    );
  });
});

function onesComplementMinus(a: number, b: number): number {
  const sum = a + (~b & 0xffff);
  return (sum & 0xffff) + (sum >> 16);
}
