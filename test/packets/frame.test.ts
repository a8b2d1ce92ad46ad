/**
 * The frame parser against real rxe packets, their every truncation and single-bit change, and arbitrary bytes.
 *
 * Goal: a status for any bytes, never a throw, never a read outside the frame. Method: views that end where the frame
 * ends throw on a read beyond it; surroundings of two different fills show a read that does not throw.
 */

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { IpAddress } from '../../packets/address.ts';
import { readAeth } from '../../packets/aeth.ts';
import { readAtomicAckEth } from '../../packets/atomic-ack-eth.ts';
import { readAtomicEth } from '../../packets/atomic-eth.ts';
import { readDeth } from '../../packets/deth.ts';
import {
  Frame,
  FrameStatus,
  frameDestination,
  frameDestinationIs,
  frameSource,
  frameSourceIs,
  frameStatusName,
  Medium,
  parseFrame,
} from '../../packets/frame.ts';
import { icrcMatches } from '../../packets/icrc.ts';
import { readImmDt } from '../../packets/imm-dt.ts';
import {
  AETH_AT,
  ATOMIC_ACK_ETH_AT,
  ATOMIC_ETH_AT,
  DETH_AT,
  IMM_AT,
  OPCODE_FLAGS,
  opcodeInfo,
  RETH_AT,
} from '../../packets/opcode.ts';
import { readReth } from '../../packets/reth.ts';
import { RXE_FRAMES } from '../vectors/rxe-frames.ts';
import { exactView, flipBit, fromHex, placed, viewOf } from './support.ts';

const STATUSES = new Set<number>(Object.values(FrameStatus));
const ETHERNET = 14;
const ACK = RXE_FRAMES.find(({ opcode }) => opcode === 0x11)?.hex ?? '';

/** Parses in exact-length memory, then in the middle of 0xA5 and of 0x5A, and checks that all three agree. */
function parse(bytes: Uint8Array, medium: Medium = Medium.Ethernet): { status: FrameStatus; frame: Frame } {
  const frame = new Frame();
  const status = parseFrame(bytes, exactView(bytes), 0, bytes.length, medium, frame);
  for (const fill of [0xa5, 0x5a]) {
    const slab = placed(bytes, fill);
    const again = new Frame();
    expect(parseFrame(slab.bytes, slab.view, slab.start, slab.end, medium, again)).toBe(status);
    expect(fieldsOf(again, slab.start)).toEqual(fieldsOf(frame, 0));
  }
  return { status, frame };
}

/** All numbers of a frame, offsets relative to its start. */
function fieldsOf(frame: Frame, base: number): Record<string, number> {
  const isOffset = /Offset$|^ipEnd$|^start$|^end$/;
  const numbers = Object.entries(frame).filter((entry): entry is [string, number] => typeof entry[1] === 'number');
  return Object.fromEntries(numbers.map(([name, n]) => [name, isOffset.test(name) && n !== -1 ? n - base : n]));
}

/** The ACK of the capture with some bytes replaced; `fix` makes the IPv4 checksum right again. */
function changed(changes: Readonly<Record<number, number>>, fix = false): Uint8Array {
  const bytes = fromHex(ACK);
  for (const [at, value] of Object.entries(changes)) bytes[Number(at)] = value;
  if (fix) {
    const view = viewOf(bytes);
    view.setUint16(ETHERNET + 10, 0);
    let sum = 0;
    for (let at = ETHERNET; at < ETHERNET + 20; at += 2) sum += view.getUint16(at);
    view.setUint16(ETHERNET + 10, ~((sum & 0xff_ff) + (sum >>> 16)));
  }
  return bytes;
}

describe('parseFrame on real rxe frames', () => {
  it.each(RXE_FRAMES)('reads frame $number as tshark does', (expected) => {
    const { status, frame } = parse(fromHex(expected.hex));
    expect(status).toBe(FrameStatus.Ok);
    const { opcode, psn, destQpn, ackReq, solicited, sourcePort } = expected;
    expect(frame).toMatchObject({ opcode, psn, destQpn, ackReq, solicited, sourcePort });
    expect(frame).toMatchObject({
      etherType: 0x0800,
      vlanTci: -1,
      ipVersion: 4,
      protocol: 17,
      destPort: 4791,
      hopLimit: 64,
    });
    expect(frame).toMatchObject({ migReq: 0, padCount: 0, transportVersion: 0, pkey: 0xff_ff, fecn: 0, becn: 0 });
    expect(frame.flags).toBe(OPCODE_FLAGS[opcode]);
    const { headerBytes } = opcodeInfo(opcode);
    expect(frame.payloadOffset).toBe(frame.bthOffset + 12 + headerBytes);
    expect(frame.payloadOffset + frame.payloadLength).toBe(frame.icrcOffset);
    expect(frame.icrcOffset + 4).toBe(frame.ipEnd);
    expect(frame.view.getUint32(frame.icrcOffset)).toBe(expected.icrcBytes);
  });

  it('finds the extended headers where the table says, with the values that tshark prints', () => {
    for (const expected of RXE_FRAMES) {
      const { frame } = parse(fromHex(expected.hex));
      const read = <T>(table: Int8Array, reader: (view: DataView, at: number) => T): T | undefined => {
        const at = table[frame.opcode] ?? -1;
        return at < 0 ? undefined : reader(frame.view, frame.bthOffset + at);
      };
      expect(read(AETH_AT, readAeth)).toEqual(expected.aeth);
      expect(read(RETH_AT, readReth)).toEqual(expected.reth);
      expect(read(ATOMIC_ETH_AT, readAtomicEth)).toEqual(expected.atomicEth);
      expect(read(ATOMIC_ACK_ETH_AT, readAtomicAckEth)).toEqual(expected.atomicAckEth);
      expect(read(DETH_AT, readDeth)).toEqual(expected.deth);
      expect(read(IMM_AT, readImmDt)).toEqual(expected.immDt);
    }
  });

  it('gives every truncation a status other than Ok', () => {
    for (const { hex } of RXE_FRAMES) {
      const whole = fromHex(hex);
      for (let length = 0; length < whole.length; length++) {
        const frame = new Frame();
        const cut = whole.slice(0, length);
        expect(parseFrame(cut, exactView(cut), 0, length, Medium.Ethernet, frame)).toBe(FrameStatus.Truncated);
        const inner = whole.slice(ETHERNET, length);
        expect(parseFrame(inner, exactView(inner), 0, inner.length, Medium.Ip, frame)).toBe(FrameStatus.Truncated);
      }
    }
  });

  it('ignores an Ethernet trailer beyond the IP length', () => {
    const { status, frame } = parse(Uint8Array.from([...fromHex(ACK), ...new Array(18).fill(0xee)]));
    expect([status, icrcMatches(frame)]).toEqual([FrameStatus.Ok, true]);
  });

  it('lets no inverted bit through, except in the masked fields and in what the ICRC does not see', () => {
    const whole = fromHex(ACK);
    const passing = new Set<number>();
    for (let bit = 0; bit < 8 * whole.length; bit++) {
      const { status, frame } = parse(flipBit(whole, bit));
      if (status === FrameStatus.Ok && icrcMatches(frame)) passing.add(bit >>> 3);
    }
    // MAC addresses; UDP checksum; BTH byte 4. The IP checksum guards TOS, TTL and itself.
    expect([...passing]).toEqual([...Array.from({ length: 12 }, (_, i) => i), 40, 41, 46]);
  });

  it('reuses a frame without a trace of the one before', () => {
    const frame = new Frame();
    const reth = fromHex(RXE_FRAMES.find(({ opcode }) => opcode === 0x06)?.hex ?? '');
    parseFrame(reth, viewOf(reth), 0, reth.length, Medium.Ethernet, frame);
    const nothing = new Uint8Array(0);
    expect(parseFrame(nothing, viewOf(nothing), 0, 0, Medium.Ethernet, frame)).toBe(FrameStatus.Truncated);
    expect(fieldsOf(frame, 0)).toEqual(fieldsOf(new Frame(), 0));
  });
});

describe('parseFrame, one fault at a time', () => {
  it.each([
    ['an ARP frame', { 12: 0x08, 13: 0x06 }, false, FrameStatus.NotIp],
    ['RoCE version 1', { 12: 0x89, 13: 0x15 }, false, FrameStatus.NotIp],
    ['IP version 6 behind an IPv4 EtherType', { 14: 0x65 }, true, FrameStatus.BadIpHeader],
    ['IPv4 options', { 14: 0x46 }, true, FrameStatus.BadIpHeader],
    ['an IPv4 header length below 5', { 14: 0x44 }, true, FrameStatus.BadIpHeader],
    ['a total length below the header', { 16: 0, 17: 19 }, true, FrameStatus.BadIpHeader],
    ['a total length beyond the frame', { 17: 0x31 }, true, FrameStatus.Truncated],
    ['a wrong header checksum', { 22: 65 }, false, FrameStatus.BadIpChecksum],
    ['more fragments', { 20: 0x20 }, true, FrameStatus.Fragment],
    ['a fragment offset', { 20: 0x40, 21: 1 }, true, FrameStatus.Fragment],
    ['TCP', { 23: 6 }, true, FrameStatus.NotUdp],
    ['another UDP port', { 37: 0xb8 }, false, FrameStatus.NotRoce],
    ['a UDP length beyond IP', { 39: 0x1d }, false, FrameStatus.BadUdpLength],
    ['a UDP length below what IP carries', { 39: 0x18, 42: 0x04 }, false, FrameStatus.BadUdpLength],
    ['a UDP length without room for the ICRC', { 39: 23 }, false, FrameStatus.BadUdpLength],
    ['IP with room for half a UDP header', { 16: 0, 17: 24 }, true, FrameStatus.BadUdpLength],
    [
      'another transport version, even with an unknown opcode',
      { 42: 0xff, 43: 1 },
      false,
      FrameStatus.BadTransportVersion,
    ],
    ['a reserved opcode', { 42: 0x15 }, false, FrameStatus.UnknownOpcode],
    ['an opcode whose headers do not fit', { 42: 0x12 }, false, FrameStatus.BadHeaderLength],
    ['a pad without bytes for it', { 43: 0x10 }, false, FrameStatus.BadPad],
  ] as const)('%s', (_, changes, fix, status) => {
    expect(frameStatusName(parse(changed(changes, fix)).status)).toBe(frameStatusName(status));
  });

  it('tells what it knows of a frame that is not RoCE', () => {
    const { frame } = parse(changed({ 23: 1 }, true));
    expect(frame).toMatchObject({
      ipVersion: 4,
      ipOffset: 14,
      l4Offset: 34,
      protocol: 1,
      bthOffset: -1,
      icrcOffset: -1,
    });
    expect(parse(changed({ 12: 0x08, 13: 0x06 })).frame).toMatchObject({
      etherType: 0x0806,
      ipVersion: 0,
      ipOffset: -1,
    });
  });

  it('reads one or two VLAN tags and keeps the inner one', () => {
    const bytes = fromHex(ACK);
    const tagged = (...tags: string[]) =>
      Uint8Array.from([...bytes.slice(0, 12), ...fromHex(tags.join('')), ...bytes.slice(12)]);
    const one = parse(tagged('81006005'));
    expect([one.status, one.frame.vlanTci, one.frame.etherType, icrcMatches(one.frame)]).toEqual([
      0,
      0x6005,
      0x0800,
      true,
    ]);
    const two = parse(tagged('88a80064', '81006005'));
    expect([two.status, two.frame.vlanTci, icrcMatches(two.frame)]).toEqual([FrameStatus.Ok, 0x6005, true]);
    expect(parse(tagged('88a80064', '81006005', '81000001')).status).toBe(FrameStatus.NotIp);
    expect(parse(tagged('88a80064', '81006005').slice(0, 20)).status).toBe(FrameStatus.Truncated);
  });

  it('finds IPv6 behind the nibble on the IP medium, and nothing behind another', () => {
    const v6 = fromHex(`6000000000083a40${'00'.repeat(32)}${'00'.repeat(8)}`);
    expect(parse(v6, Medium.Ip).frame).toMatchObject({
      ipVersion: 6,
      protocol: 58,
      l4Offset: 40,
      ipEnd: 48,
      etherType: 0,
    });
    expect(parse(v6, Medium.Ip).status).toBe(FrameStatus.NotUdp);
    expect(parse(Uint8Array.of(0x50, 0), Medium.Ip).status).toBe(FrameStatus.NotIp);
    expect(parse(v6.slice(0, -1), Medium.Ip).status).toBe(FrameStatus.Truncated);
    expect(parse(v6.slice(0, 39), Medium.Ip).status).toBe(FrameStatus.Truncated);
  });

  it('reads no port of a UDP header that IP has no room for', () => {
    for (const v6 of [false, true]) {
      const ipBytes = v6 ? 40 : 20;
      for (let room = 0; room < 8; room++) {
        const packet = udpPacket(new Uint8Array(0), v6).slice(0, ipBytes + room);
        const view = viewOf(packet);
        if (v6) view.setUint16(4, room);
        else {
          view.setUint16(2, packet.length);
          view.setUint16(10, ~(0x45_00 + packet.length + 0x40_11));
        }
        const { status, frame } = parse(packet, Medium.Ip);
        expect([status, frame.destPort]).toEqual([FrameStatus.BadUdpLength, 0]);
      }
    }
  });

  it('names every status', () => {
    const names = Object.values(FrameStatus).map(frameStatusName);
    expect(names).toEqual(Object.keys(FrameStatus));
    expect(Object.values(FrameStatus)).toEqual(Array.from({ length: 13 }, (_, i) => i));
  });
});

describe('parseFrame on hostile bytes', () => {
  it('returns a status for any bytes on both media', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 140 }), fc.constantFrom(Medium.Ethernet, Medium.Ip), (bytes, medium) => {
        expect(STATUSES.has(parse(bytes, medium).status)).toBe(true);
      }),
      { numRuns: 500 },
    );
  });

  it('returns a status for any bytes behind headers that lead to a BTH, and keeps Ok inside the frame', () => {
    const arbitrary = fc.tuple(fc.uint8Array({ maxLength: 90 }), fc.boolean());
    fc.assert(
      fc.property(arbitrary, ([payload, v6]) => {
        const { status, frame } = parse(udpPacket(payload, v6), Medium.Ip);
        expect(STATUSES.has(status)).toBe(true);
        if (status === FrameStatus.Ok) expectInside(frame);
      }),
      { numRuns: 500 },
    );
  });

  it('returns a status for all 256 opcodes, UDP payloads of 0 to 64 bytes and pads 0 to 3', () => {
    const seen = new Map<FrameStatus, number>();
    const frame = new Frame();
    for (let length = 0; length <= 64; length++) {
      const packet = udpPacket(new Uint8Array(length).fill(0xff), false);
      const view = exactView(packet);
      for (let opcode = 0; opcode < 256; opcode++) {
        for (let pad = 0; pad < 4; pad++) {
          if (length > 0) view.setUint8(28, opcode);
          if (length > 1) view.setUint8(29, 0xc0 | (pad << 4));
          const status = parseFrame(packet, view, 0, packet.length, Medium.Ip, frame);
          expectShape(status, opcode, length, pad);
          if (status === FrameStatus.Ok) expectInside(frame);
          seen.set(status, (seen.get(status) ?? 0) + 1);
        }
      }
    }
    const { Ok, BadUdpLength, UnknownOpcode, BadPad, BadHeaderLength } = FrameStatus;
    expect([...seen.keys()].sort((a, b) => a - b)).toEqual([Ok, BadUdpLength, UnknownOpcode, BadPad, BadHeaderLength]);
  });
});

describe('addresses of a frame', () => {
  it('are compared without making them, and agree with those made', () => {
    const { frame } = parse(fromHex(ACK));
    const [source, destination] = [frameSource(frame), frameDestination(frame)];
    expect([String(source), String(destination)]).toEqual(['10.77.0.1', '10.77.0.2']);
    expect(frameSourceIs(frame, source) && frameDestinationIs(frame, destination)).toBe(true);
    expect(frameSourceIs(frame, destination) || frameDestinationIs(frame, source)).toBe(false);
    expect(frameSourceIs(frame, new IpAddress(6, source.w0, source.w1, source.w2, source.w3))).toBe(false);
  });

  it('differ in any single word, over IPv6', () => {
    const { frame } = parse(fromHex(`6000000000003b40${'00000001000000020000000300000004'.repeat(2)}`), Medium.Ip);
    expect(frameSource(frame).equals(frameDestination(frame))).toBe(true);
    for (const is of [frameSourceIs, frameDestinationIs]) {
      expect(is(frame, new IpAddress(6, 1, 2, 3, 4))).toBe(true);
      expect(is(frame, new IpAddress(6, 0, 2, 3, 4))).toBe(false);
      expect(is(frame, new IpAddress(6, 1, 0, 3, 4))).toBe(false);
      expect(is(frame, new IpAddress(6, 1, 2, 0, 4))).toBe(false);
      expect(is(frame, new IpAddress(6, 1, 2, 3, 0))).toBe(false);
    }
  });
});

/** An IP packet to port 4791 with right lengths and checksum around `payload`. */
function udpPacket(payload: Uint8Array, v6: boolean): Uint8Array {
  const ipBytes = v6 ? 40 : 20;
  const bytes = new Uint8Array(ipBytes + 8 + payload.length);
  const view = viewOf(bytes);
  if (v6) {
    view.setUint32(0, 0x60_00_00_00);
    view.setUint16(4, 8 + payload.length);
    view.setUint16(6, 0x11_40);
  } else {
    view.setUint16(0, 0x45_00);
    view.setUint16(2, bytes.length);
    view.setUint16(8, 0x40_11);
    view.setUint16(10, ~(0x45_00 + bytes.length + 0x40_11));
  }
  view.setUint16(ipBytes + 2, 4791);
  view.setUint16(ipBytes + 4, 8 + payload.length);
  bytes.set(payload, ipBytes + 8);
  return bytes;
}

/** What the status of a packet with transport version 0 must be. */
function expectShape(status: FrameStatus, opcode: number, length: number, pad: number): void {
  const { known, headerBytes } = opcodeInfo(opcode);
  const rest = length - 12 - 4 - headerBytes;
  let expected: FrameStatus = FrameStatus.Ok;
  if (length < 16) expected = FrameStatus.BadUdpLength;
  else if (!known) expected = FrameStatus.UnknownOpcode;
  else if (rest < 0) expected = FrameStatus.BadHeaderLength;
  else if (rest < pad) expected = FrameStatus.BadPad;
  // Not `expect` alone: 66,560 calls would take most of the test's time.
  if (status !== expected) expect.fail(`opcode ${opcode}, ${length} bytes, pad ${pad}: ${status} and not ${expected}`);
}

function expectInside(frame: Frame): void {
  const { start, bthOffset, payloadOffset, payloadLength, padCount, icrcOffset, ipEnd, end } = frame;
  const afterPad = payloadOffset + payloadLength + padCount;
  const inside = start < bthOffset && bthOffset + 12 <= payloadOffset && payloadLength >= 0;
  if (!inside || afterPad !== icrcOffset || icrcOffset + 4 > ipEnd || ipEnd > end) {
    expect.fail(`parts outside the frame: ${JSON.stringify(fieldsOf(frame, start))}`);
  }
}
