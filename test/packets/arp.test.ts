// Goal: the ARP codec agrees with what Linux sends, round-trips, and survives any bytes.
// Method: golden bytes from a capture of two Linux guests, properties.

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { IpAddress, parseMac } from '../../packets/address.ts';
import { ARP_BYTES, ArpOperation, readArp, writeArp } from '../../packets/arp.ts';

// Frames 15 and 16 of rxe-6.1.pcap, without their Ethernet headers.
const REQUEST = Uint8Array.from([
  ...[0x00, 0x01, 0x08, 0x00, 0x06, 0x04, 0x00, 0x01, 0x52, 0x54, 0x00, 0x00, 0x00, 0x02, 0x0a, 0x4d, 0x00, 0x02],
  ...[0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x0a, 0x4d, 0x00, 0x01],
]);
const REPLY = Uint8Array.from([
  ...[0x00, 0x01, 0x08, 0x00, 0x06, 0x04, 0x00, 0x02, 0x52, 0x54, 0x00, 0x00, 0x00, 0x01, 0x0a, 0x4d, 0x00, 0x01],
  ...[0x52, 0x54, 0x00, 0x00, 0x00, 0x02, 0x0a, 0x4d, 0x00, 0x02],
]);

function read(bytes: Uint8Array) {
  return readArp(new DataView(bytes.buffer, bytes.byteOffset, bytes.length), 0, bytes.length);
}

describe('ARP', () => {
  it('reads what Linux sends', () => {
    expect(read(REQUEST)).toEqual({
      operation: ArpOperation.Request,
      senderMac: parseMac('52:54:00:00:00:02'),
      senderIp: IpAddress.parse('10.77.0.2'),
      targetMac: parseMac('00:00:00:00:00:00'),
      targetIp: IpAddress.parse('10.77.0.1'),
    });
    expect(read(REPLY)?.operation).toBe(ArpOperation.Reply);
    expect(read(REPLY)?.senderMac).toEqual(parseMac('52:54:00:00:00:01'));
  });

  it('writes the same bytes again, at any offset, over whatever was there', () => {
    for (const golden of [REQUEST, REPLY]) {
      const arp = read(golden);
      const bytes = new Uint8Array(40).fill(0xa5);
      expect(arp && writeArp(new DataView(bytes.buffer), 7, arp)).toBe(ARP_BYTES);
      expect(bytes.subarray(7, 35)).toEqual(golden);
      expect([...bytes.subarray(0, 7), ...bytes.subarray(35)]).toEqual(new Array(12).fill(0xa5));
    }
  });

  it('is undefined when cut short, for other hardware, other protocols and other lengths', () => {
    for (let length = 0; length < ARP_BYTES; length++) expect(read(REPLY.slice(0, length))).toBeUndefined();
    for (const at of [0, 1, 2, 3, 4, 5]) {
      const bytes = REPLY.slice();
      bytes[at] = 0x77;
      expect(read(bytes)).toBeUndefined();
    }
  });

  it('never throws and never reads outside its bytes, whatever they are', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 40 }), (bytes) => {
        const arp = read(bytes);
        if (arp === undefined) return;
        const again = new Uint8Array(ARP_BYTES);
        writeArp(new DataView(again.buffer), 0, arp);
        expect(again).toEqual(bytes.slice(0, ARP_BYTES));
      }),
    );
  });
});
