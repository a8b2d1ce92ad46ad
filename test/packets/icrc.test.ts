/**
 * The ICRC against real rxe packets, and bit by bit against the list of masked fields, which is typed here once more.
 */

import { crc32 as zlibCrc32 } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { IpAddress } from '../../packets/address.ts';
import { writeBth } from '../../packets/bth.ts';
import { CRC32_INITIAL, crc32Update, useBulkCrc32 } from '../../packets/crc32.ts';
import { Frame, FrameStatus, Medium, parseFrame } from '../../packets/frame.ts';
import { FrameWriter } from '../../packets/frame-writer.ts';
import { HeaderTemplate } from '../../packets/header-template.ts';
import { computeIcrc, ICRC_SEED, icrcMatches } from '../../packets/icrc.ts';
import { writeReth } from '../../packets/reth.ts';
import { zlibBulkCrc32 } from '../support/zlib-crc32.ts';
import { rxeCapture } from '../vectors/captures.ts';
import { RXE_FRAMES } from '../vectors/rxe-frames.ts';
import { exactView, flipBit, fromHex, placed, viewOf } from './support.ts';

/**
 * Byte ranges of an IPv4 packet whose change must not break the ICRC: TOS, TTL, header checksum, UDP checksum, BTH byte
 * 4.
 */
const MASKED_V4: ReadonlySet<number> = new Set([1, 8, 10, 11, 26, 27, 32].flatMap(bitsOfByte));
/** The same of an IPv6 packet; the first four bits are the version. */
const MASKED_V6: ReadonlySet<number> = new Set(
  [...[0, 1, 2, 3, 7, 46, 47, 52].flatMap(bitsOfByte)].filter((bit) => bit > 3),
);

function bitsOfByte(byte: number): number[] {
  return Array.from({ length: 8 }, (_, bit) => 8 * byte + bit);
}

describe('ICRC', () => {
  it('starts from the register after eight bytes of ones', () => {
    const ones = new Uint8Array(8).fill(0xff);
    expect(crc32Update(CRC32_INITIAL, ones, 0, 8)).toBe(ICRC_SEED);
    expect(ICRC_SEED).toBe(0xde_bb_20_e3);
    expect(zlibCrc32(ones)).toBe(0x21_44_df_1c);
  });

  it.each([
    ['without', null],
    ['with', zlibBulkCrc32],
  ] as const)('is that of rdma_rxe for every opcode in the captures, %s a bulk CRC', (_, bulk) => {
    useBulkCrc32(bulk);
    for (const { hex, icrcBytes } of RXE_FRAMES) {
      const { bytes, view, start, end } = placed(fromHex(hex));
      const frame = new Frame();
      expect(parseFrame(bytes, view, start, end, Medium.Ethernet, frame)).toBe(FrameStatus.Ok);
      expect(icrcMatches(frame)).toBe(true);
      const computed = computeIcrc(bytes, view, frame.ipOffset, 4, frame.bthOffset, frame.icrcOffset);
      expect(view.getUint32(frame.icrcOffset, true)).toBe(computed);
      expect(view.getUint32(frame.icrcOffset)).toBe(icrcBytes);
    }
    useBulkCrc32(null);
  });

  it.each([
    ['rxe-6.1.pcap', 613],
    ['rxe-6.12.pcap', 619],
  ] as const)('is right in every RoCE packet of %s', (name, packets) => {
    const bytes = rxeCapture(name);
    const view = viewOf(bytes);
    const frame = new Frame();
    let right = 0;
    let length = 0;
    // Classic pcap, little-endian: 24 bytes of file header, 16 before each frame.
    for (let at = 24 + 16; at <= bytes.length; at += length + 16) {
      length = view.getUint32(at - 8, true);
      const status = parseFrame(bytes, view, at, at + length, Medium.Ethernet, frame);
      if (status === FrameStatus.Ok && icrcMatches(frame)) right++;
      else expect([FrameStatus.NotIp, FrameStatus.NotUdp]).toContain(status);
    }
    expect(right).toBe(packets);
  });

  it('leaves the frame as it was', () => {
    const [first] = RXE_FRAMES;
    const { bytes, view, start, end } = placed(fromHex(first?.hex ?? ''));
    const before = bytes.slice();
    const frame = new Frame();
    parseFrame(bytes, view, start, end, Medium.Ethernet, frame);
    icrcMatches(frame);
    expect(bytes).toEqual(before);
  });

  it('follows the written recipe for an IPv6 packet, computed here from a masked copy', () => {
    const packet = samplePacket('fe80::1', 'fe80::2');
    const masked = [...packet];
    for (const bit of MASKED_V6) masked[bit >>> 3] = (masked[bit >>> 3] ?? 0) | (0x80 >>> (bit & 7));
    const covered = Uint8Array.from([...new Array(8).fill(0xff), ...masked.slice(0, -4)]);
    expect(viewOf(packet).getUint32(packet.length - 4, true)).toBe(zlibCrc32(covered));
  });

  it('breaks when any covered bit changes and holds when a masked bit does, over IPv4', () => {
    expect(bitsThatHold(samplePacket('10.77.0.2', '10.77.0.1'), 4)).toEqual([...MASKED_V4]);
  });

  it('breaks when any covered bit changes and holds when a masked bit does, over IPv6', () => {
    expect(bitsThatHold(samplePacket('fe80::1', 'fe80::2'), 6)).toEqual([...MASKED_V6]);
  });
});

/** A whole WRITE Only over the IP medium, with 5 bytes of payload and 3 of pad, from the writer. */
function samplePacket(source: string, destination: string): Uint8Array {
  const mac = new Uint8Array(6);
  const template = new HeaderTemplate({
    medium: Medium.Ip,
    sourceMac: mac,
    destMac: mac,
    source: IpAddress.parse(source),
    destination: IpAddress.parse(destination),
    trafficClass: 0x6a,
    hopLimit: 64,
    flowLabel: 0x1_23_45,
    sourcePort: 0xc1_23,
  });
  const writer = new FrameWriter(1, 256);
  const bth = writer.begin(template);
  writeBth(writer.view, bth, 0x0a, 0, 1, 3, 0xff_ff, 0x11, 1, 0xff_ff_fe);
  writeReth(writer.view, bth + 12, 0x55_9a, 0x12_82_e1_80, 0x580, 5);
  writer.bytes.set([1, 2, 3, 4, 5, 0, 0, 0], bth + 28);
  writer.end(template, bth + 36);
  return writer.bytes.slice(0, writer.lengths[0]);
}

/**
 * Which bits before the ICRC can be inverted without breaking it, by `computeIcrc` alone: some flips make frames that
 * do not parse.
 */
function bitsThatHold(packet: Uint8Array, ipVersion: 4 | 6): number[] {
  const end = packet.length - 4;
  const bth = ipVersion === 4 ? 28 : 48;
  const icrc = viewOf(packet).getUint32(end, true);
  const holding: number[] = [];
  for (let bit = 0; bit < 8 * end; bit++) {
    const flipped = flipBit(packet, bit);
    const view = exactView(flipped);
    if (computeIcrc(flipped, view, 0, ipVersion, bth, end) === icrc) holding.push(bit);
  }
  return holding;
}
