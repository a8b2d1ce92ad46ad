/**
 * Goal: a packet has the same key wherever it is captured, and other packets have other keys. Method: packets of a scene
 * and of corpus/ are changed as switches and routers change them, and as nothing may; the hash is compared with one of
 * BigInts.
 */
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { FrameStatus, maskVariantFields } from '../../../packets/index.ts';
import { type CapturedPacket, Dissection, dissect, readCapture } from '../../../pcap/index.ts';
import { frameKey } from '../../../tools/export/frame-key.ts';
import { bothWays } from './fleet.ts';

const captureOf = (name: string): Uint8Array =>
  readFileSync(fileURLToPath(new URL(`../../../corpus/${name}`, import.meta.url)));
const dissection = new Dissection();

function keyOf(packet: CapturedPacket): bigint | undefined {
  return frameKey(dissect(packet, dissection), dissection.frame);
}

/** The packet with some of its bytes changed. */
function changed(packet: CapturedPacket, change: (view: DataView, ip: number) => void): CapturedPacket {
  dissect(packet, dissection);
  const ip = dissection.frame.ipOffset - dissection.packetOffset;
  const bytes = packet.bytes.slice();
  change(new DataView(bytes.buffer), ip);
  return { ...packet, bytes };
}

const ipv4 = [...readCapture(await bothWays('A'))]
  .filter((packet) => dissect(packet, dissection) === FrameStatus.Ok)
  .slice(0, 50);
const ipv6 = [...readCapture(captureOf('cut/ipv6.pcapng'))].slice(0, 20);

it('is FNV-1a of 64 bits over the headers, without what the ICRC does not cover', () => {
  for (const packet of [...ipv4, ...ipv6]) {
    const key = keyOf(packet);
    const { status, frame } = dissection;
    if (status !== FrameStatus.Ok) continue;
    const headers = frame.bytes.slice(frame.ipOffset, frame.payloadOffset);
    maskVariantFields(new DataView(headers.buffer), 0, frame.ipVersion);
    let hash = 0xcbf2_9ce4_8422_2325n;
    for (const byte of headers) hash = BigInt.asUintN(64, (hash ^ BigInt(byte)) * 0x100_0000_01b3n);
    expect(key).toBe(BigInt.asIntN(64, hash));
  }
});

it('does not change where a router lowers the TTL and marks the packet, or a switch sets FECN', () => {
  const [packet] = ipv4;
  if (packet === undefined) throw new Error('there are packets');
  const routed = changed(packet, (view, ip) => {
    view.setUint8(ip + 1, view.getUint8(ip + 1) | 3);
    view.setUint8(ip + 8, view.getUint8(ip + 8) - 1);
    // Traffic class and TTL are in the checksum: one's complement sums.
    const words = [0, 2, 4, 6, 8, 12, 14, 16, 18].map((at) => view.getUint16(ip + at));
    let sum = words.reduce((a, b) => a + b, 0);
    while (sum > 0xffff) sum = (sum & 0xffff) + (sum >>> 16);
    view.setUint16(ip + 10, ~sum & 0xffff);
    view.setUint8(ip + 32, view.getUint8(ip + 32) | 0x80);
  });
  expect(keyOf(packet)).toBeTypeOf('bigint');
  expect(keyOf(routed)).toBe(keyOf(packet));
});

it('does not change in a VLAN, and not where the capture has cut the payload', () => {
  for (const packet of ipv4) {
    const key = keyOf(packet);
    const { payloadOffset } = dissection.frame;
    const headers = payloadOffset - dissection.packetOffset;
    const { bytes } = packet;
    const tagged = new Uint8Array(bytes.length + 4);
    tagged.set(bytes.subarray(0, 12));
    tagged.set([0x81, 0x00, 0x60, 0x2a], 12);
    tagged.set(bytes.subarray(12), 16);
    expect(keyOf({ ...packet, bytes: tagged, originalLength: tagged.length })).toBe(key);
    expect(keyOf({ ...packet, bytes: bytes.slice(0, headers) })).toBe(key);
    if (headers < bytes.length) expect(keyOf({ ...packet, bytes: bytes.slice(0, headers - 1) })).toBeUndefined();
  }
});

it('is another one for another P_Key, QPN, AckReq or PSN, and for an ACK of another MSN', () => {
  const [packet] = ipv4;
  const ack = ipv4.find((one) => dissect(one, dissection) === FrameStatus.Ok && dissection.frame.opcode === 0x11);
  if (packet === undefined || ack === undefined) throw new Error('there are packets');
  const flip = (of: CapturedPacket, at: number): bigint | undefined =>
    keyOf(changed(of, (view, ip) => view.setUint8(ip + at, view.getUint8(ip + at) ^ 1)));
  // BTH: opcode at 28, P_Key 30, QPN 33, AckReq 36, PSN 37. AETH: 40.
  for (const at of [30, 33, 35, 36, 37, 39]) expect(flip(packet, at)).not.toBe(keyOf(packet));
  expect(flip(ack, 43)).not.toBe(keyOf(ack));
});

it('is none for what is not RoCEv2', () => {
  const others = [...readCapture(captureOf('layers/unreadable.pcapng'))];
  expect(others.map(keyOf)).toEqual(others.map(() => undefined));
});
