/**
 * Packets within other packets, and other headers in front of them, as bytes.
 *
 * Owns the layouts of tunnels, from their RFCs (the list is in `pcap/tunnels/find-inner.ts`), written once more: what
 * is read is not made by the reader.
 */
import { finishChecksum, IPV4_BYTES, IPV4_CHECKSUM_AT, onesComplementSum } from 'rocev2/packets/network';

/** Bytes from hexadecimal text, in which spaces do not count. */
export function hex(text: string): Uint8Array {
  const digits = text.replace(/\s/g, '');
  return Uint8Array.from({ length: digits.length / 2 }, (_, i) => Number.parseInt(digits.slice(2 * i, 2 * i + 2), 16));
}

/** One behind the other. */
export function join(...parts: readonly Uint8Array[]): Uint8Array {
  const bytes = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    bytes.set(part, at);
    at += part.length;
  }
  return bytes;
}

/** The low bytes of a number, big-endian. */
export function number(value: number, bytes: number): Uint8Array {
  return Uint8Array.from({ length: bytes }, (_, i) => (value / 2 ** (8 * (bytes - 1 - i))) & 0xff);
}

/** Makes the checksum of the IPv4 header at `ip` right, options included. */
export function ipv4Checksum(view: DataView, ip: number): void {
  const headerBytes = 4 * (view.getUint8(ip) & 0x0f);
  view.setUint16(ip + IPV4_CHECKSUM_AT, 0);
  view.setUint16(ip + IPV4_CHECKSUM_AT, finishChecksum(onesComplementSum(view, ip, ip + headerBytes, 0)));
}

/** An Ethernet frame. */
export function ethernet(type: number, ...body: readonly Uint8Array[]): Uint8Array {
  return join(hex('0200000000b2 0200000000b1'), number(type, 2), ...body);
}

/** An IPv4 packet, with options of a multiple of four bytes. */
export function ipv4(protocol: number, body: Uint8Array, options = new Uint8Array(0)): Uint8Array {
  const headerBytes = IPV4_BYTES + options.length;
  const bytes = join(
    ...[number(0x40 | (headerBytes / 4), 1), hex('00'), number(headerBytes + body.length, 2), hex('0007 4000 40')],
    ...[number(protocol, 1), hex('0000 c6336401 c6336402'), options, body],
  );
  ipv4Checksum(new DataView(bytes.buffer), 0);
  return bytes;
}

/** An IPv6 packet. */
export function ipv6(nextHeader: number, body: Uint8Array): Uint8Array {
  const addresses = hex('20010db8000000000000000000000b01 20010db8000000000000000000000b02');
  return join(hex('60000000'), number(body.length, 2), number(nextHeader, 1), hex('40'), addresses, body);
}

/** A UDP datagram without checksum. */
export function udp(port: number, ...body: readonly Uint8Array[]): Uint8Array {
  const payload = join(...body);
  return join(hex('d001'), number(port, 2), number(8 + payload.length, 2), hex('0000'), payload);
}

/** VXLAN over IPv4 in Ethernet. */
export function vxlan(vni: number, frame: Uint8Array): Uint8Array {
  return ethernet(0x08_00, ipv4(17, udp(4789, hex('08000000'), number(vni, 3), hex('00'), frame)));
}
