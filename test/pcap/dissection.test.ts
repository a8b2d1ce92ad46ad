// Goal: a frame is found behind every link header that this project reads, at any place of any memory, and of a packet
// that the capture cut exactly that is told which was captured. Method: frames of rdma_rxe behind headers written by
// hand, held against `parseFrame` of the whole frame, cut at every length; any bytes behind any link type; tshark on
// the same files.

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { IpAddress } from '../../packets/address.ts';
import { Frame, FrameStatus } from '../../packets/frame.ts';
import { Op } from '../../packets/opcode.ts';
import { rxeFlushIcrc } from '../../packets/rxe-flush-icrc.ts';
import { Dissection, dissect, IcrcState, icrcState } from '../../pcap/dissection.ts';
import { PcapngWriter } from '../../pcap/pcapng-writer.ts';
import { type CapturedPacket, Direction, LinkType } from '../../pcap/types.ts';
import { tsharkRows } from '../../tools/tshark.ts';
import { make, parse, rxeFrame } from '../packets/made-frames.ts';
import { fromHex, toHex } from '../packets/support.ts';
import { describeWith } from '../support/need.ts';
import { RXE_FRAMES } from '../vectors/rxe-frames.ts';

const OVER_IPV6 = { source: IpAddress.parse('fe80::2'), destination: IpAddress.parse('fe80::1') };
const V6 = make(Op.WriteFirst, () => {}, OVER_IPV6, 256);
const FRAMES = [...RXE_FRAMES.map(({ opcode }) => rxeFrame(opcode)), V6, make(Op.Acknowledge, () => {}, OVER_IPV6)];
const WRITE_FIRST = rxeFrame(Op.WriteFirst);

function packet(linkType: number, bytes: Uint8Array, more: Partial<CapturedPacket> = {}): CapturedPacket {
  return {
    ...{ number: 1, seconds: 0, nanoseconds: 0, interfaceIndex: 0, direction: Direction.Unknown, comments: [] },
    ...{ linkType, bytes: inTheMiddle(bytes), originalLength: bytes.length },
    ...more,
  };
}

/** The same bytes with others before and behind them, as in a chunk of a file. */
function inTheMiddle(bytes: Uint8Array): Uint8Array {
  const slab = new Uint8Array(bytes.length + 30).fill(0xa5);
  slab.set(bytes, 17);
  return slab.subarray(17, 17 + bytes.length);
}

function dissected(linkType: number, bytes: Uint8Array, more: Partial<CapturedPacket> = {}): Dissection {
  const into = new Dissection();
  dissect(packet(linkType, bytes, more), into);
  return into;
}

/** The fields of a frame, with offsets counted from the IP header. */
function facts({ status, frame }: { status: FrameStatus; frame: Frame }) {
  const { bytes: _bytes, view: _view, start: _start, end: _end, medium: _medium, ...rest } = frame;
  const from = frame.ipOffset;
  const offsets = ['ipOffset', 'ipEnd', 'l4Offset', 'bthOffset', 'payloadOffset', 'icrcOffset'] as const;
  const relative = offsets.map((name) => [name, frame[name] < 0 ? -1 : frame[name] - from]);
  return { status, ...rest, ...Object.fromEntries(relative) };
}

const isIpv4 = (frame: Uint8Array) => frame[12] === 0x08;
const ipOf = (frame: Uint8Array) => toHex(frame.subarray(14));
const typeOf = (frame: Uint8Array) => (isIpv4(frame) ? '0800' : '86dd');
const cooked = (packetType: number, protocolAndRest: string) =>
  fromHex(`000${packetType} 0001 0006 5254000000020000 ${protocolAndRest}`);
const cooked2 = (packetType: number, protocol: string, rest: string) =>
  fromHex(`${protocol} 0000 00000007 0001 0${packetType} 06 5254000000020000 ${rest}`);

/** Every way to wrap the IP packet of an Ethernet frame. */
const WRAPPINGS: readonly (readonly [name: string, linkType: number, wrap: (frame: Uint8Array) => Uint8Array])[] = [
  ['Ethernet', LinkType.Ethernet, (frame) => frame],
  ['raw IP', LinkType.Raw, (frame) => fromHex(ipOf(frame))],
  ['raw IP, number of BSD', LinkType.RawBsd, (frame) => fromHex(ipOf(frame))],
  ['raw IP, number of OpenBSD', LinkType.RawOpenBsd, (frame) => fromHex(ipOf(frame))],
  ['Linux cooked v1', LinkType.LinuxCooked, (frame) => cooked(0, typeOf(frame) + ipOf(frame))],
  ['Linux cooked v2', LinkType.LinuxCooked2, (frame) => cooked2(0, typeOf(frame), ipOf(frame))],
  ['null, little-endian', LinkType.Null, (frame) => fromHex((isIpv4(frame) ? '02000000' : '1e000000') + ipOf(frame))],
  ['null, big-endian', LinkType.Null, (frame) => fromHex((isIpv4(frame) ? '00000002' : '0000001c') + ipOf(frame))],
  ['loop', LinkType.Loop, (frame) => fromHex((isIpv4(frame) ? '00000002' : '00000018') + ipOf(frame))],
];

describe('dissect', () => {
  it('is tried with frames of both IP versions', () => {
    expect(new Set(FRAMES.map(isIpv4))).toEqual(new Set([true, false]));
    expect(FRAMES.length).toBeGreaterThan(20);
  });

  for (const [name, linkType, wrap] of WRAPPINGS) {
    it(`finds the frame behind ${name}, with its ICRC`, () => {
      for (const frame of FRAMES) {
        const into = dissected(linkType, wrap(frame));
        const { etherType: _, ...expected } = facts(parse(frame));
        expect(facts(into)).toMatchObject(expected);
        expect([into.linkKnown, into.cut, icrcState(into)]).toEqual([true, false, IcrcState.Good]);
        expect([into.packetOffset, into.capturedEnd]).toEqual([17, 17 + wrap(frame).length]);
      }
    });
  }

  it('reads the two link types that name the IP version', () => {
    for (const frame of FRAMES) {
      const [right, wrong] = isIpv4(frame) ? [LinkType.Ipv4, LinkType.Ipv6] : [LinkType.Ipv6, LinkType.Ipv4];
      expect(facts(dissected(right, fromHex(ipOf(frame))))).toMatchObject({
        status: FrameStatus.Ok,
        ipVersion: isIpv4(frame) ? 4 : 6,
      });
      expect(facts(dissected(wrong, fromHex(ipOf(frame))))).toMatchObject({
        status: FrameStatus.BadIpHeader,
        ipVersion: 0,
      });
    }
  });

  it.each([
    [LinkType.LinuxCooked, cooked(0, `8100 6005 0800 ${ipOf(WRITE_FIRST)}`), 0x6005],
    [LinkType.LinuxCooked, cooked(0, `88a8 0001 8100 6005 0800 ${ipOf(WRITE_FIRST)}`), 0x6005],
    [LinkType.LinuxCooked2, cooked2(0, '8100', `6005 0800 ${ipOf(WRITE_FIRST)}`), 0x6005],
    [LinkType.LinuxCooked2, cooked2(0, '88a8', `0001 8100 6005 0800 ${ipOf(WRITE_FIRST)}`), 0x6005],
  ])('reads VLAN tags behind cooked header %i', (linkType, bytes, vlanTci) => {
    const into = dissected(linkType, bytes);
    expect([into.status, into.frame.vlanTci, into.frame.etherType]).toEqual([FrameStatus.Ok, vlanTci, 0x0800]);
    expect(into.frame.start).toBe(into.frame.ipOffset);
    expect(icrcState(into)).toBe(IcrcState.Good);
  });

  it.each([
    ['a cut tag', cooked(0, '8100 0001 08'), FrameStatus.Truncated],
    ['ARP', cooked(0, '0806 0001'), FrameStatus.NotIp],
    ['an IPv6 packet announced as IPv4', cooked(0, '0800 6000'), FrameStatus.BadIpHeader],
    ['nothing behind the protocol', cooked(0, '0800'), FrameStatus.Truncated],
    ['half a cooked header', fromHex('0000 0001 0006 5254'), FrameStatus.Truncated],
    ['no bytes', new Uint8Array(0), FrameStatus.Truncated],
  ])('says what is wrong with %s', (_name, bytes, status) => {
    const into = dissected(LinkType.LinuxCooked, bytes);
    expect(into.status).toBe(status);
    expect([into.frame.ipVersion, into.frame.bthOffset, into.frame.end]).toEqual([0, -1, into.capturedEnd]);
  });

  it('names the EtherType of what is not IP', () => {
    expect(dissected(LinkType.LinuxCooked, cooked(0, '8100 0009 0806')).frame).toMatchObject({
      etherType: 0x0806,
      vlanTci: 9,
    });
  });

  it.each([
    ['00000002', 'v4'],
    ['02000000', 'v4'],
    ...['18', '1c', '1e'].flatMap((family) => [
      [`000000${family}`, 'v6'],
      [`${family}000000`, 'v6'],
    ]),
    ['00000007', 'neither'],
    ['02000002', 'neither'],
    ['00020000', 'neither'],
    ['00000200', 'neither'],
    ['ffffffff', 'neither'],
  ])('knows address family %s as %s', (family, meaning) => {
    const [v4, v6] = [WRITE_FIRST, V6].map((frame) => dissected(LinkType.Null, fromHex(family + ipOf(frame))));
    const { Ok, BadIpHeader, NotIp } = FrameStatus;
    const expected = { v4: [Ok, BadIpHeader], v6: [BadIpHeader, Ok], neither: [NotIp, NotIp] }[meaning];
    expect([v4?.status, v6?.status]).toEqual(expected);
    expect(v4?.frame.etherType).toBe({ v4: 0x0800, v6: 0x86dd, neither: 0 }[meaning]);
  });

  it('reads the direction of a cooked header, unless the file tells', () => {
    const { Unknown, Inbound, Outbound } = Direction;
    const directions = [0, 1, 2, 3, 4, 5, 6].map(
      (type) => dissected(LinkType.LinuxCooked, cooked(type, '0806')).direction,
    );
    expect(directions).toEqual([Inbound, Inbound, Inbound, Inbound, Outbound, Unknown, Unknown]);
    expect([0, 4, 5].map((type) => dissected(LinkType.LinuxCooked2, cooked2(type, '0806', '')).direction)).toEqual([
      Inbound,
      Outbound,
      Unknown,
    ]);
    expect(dissected(LinkType.LinuxCooked, cooked(0, '0806'), { direction: Outbound }).direction).toBe(Outbound);
    expect(dissected(LinkType.Ethernet, cooked(0, '0806')).direction).toBe(Unknown);
    // As long as a header of version 2, which has the packet type where this one has an address.
    expect(dissected(LinkType.LinuxCooked, cooked(4, `0800 ${ipOf(WRITE_FIRST)}`)).direction).toBe(Outbound);
    expect(dissected(LinkType.Ethernet, WRITE_FIRST).direction).toBe(Unknown);
    expect(dissected(LinkType.LinuxCooked, cooked(4, '08')).direction).toBe(Unknown);
  });

  it('reads the interface of a cooked header of version 2, and forgets it', () => {
    const into = new Dissection();
    dissect(packet(LinkType.LinuxCooked2, cooked2(0, '0806', '')), into);
    expect(into.cookedInterface).toBe(7);
    dissect(packet(LinkType.LinuxCooked, cooked(0, '0806')), into);
    expect(into.cookedInterface).toBe(0);
  });

  it('leaves a packet of another link type alone', () => {
    const into = dissected(105, WRITE_FIRST);
    expect([into.linkKnown, into.status, into.frame.ipVersion, into.frame.bthOffset]).toEqual([
      false,
      FrameStatus.NotIp,
      0,
      -1,
    ]);
    expect(icrcState(into)).toBe(IcrcState.Unknown);
  });

  it('makes no view for a packet that lies in the memory of the one before', () => {
    const chunk = new Uint8Array([...WRITE_FIRST, ...WRITE_FIRST]);
    const into = new Dissection();
    dissect({ ...packet(LinkType.Ethernet, WRITE_FIRST), bytes: chunk.subarray(0, WRITE_FIRST.length) }, into);
    const { bytes, view } = into.frame;
    dissect({ ...packet(LinkType.Ethernet, WRITE_FIRST), bytes: chunk.subarray(WRITE_FIRST.length) }, into);
    expect(into.frame.bytes).toBe(bytes);
    expect(into.frame.view).toBe(view);
    expect(into.frame.start).toBe(WRITE_FIRST.length);
    expect(icrcState(into)).toBe(IcrcState.Good);
  });

  it('never throws and never points outside of what was captured, whatever the bytes', () => {
    const linkTypes = fc.constantFrom(...Object.values(LinkType), 105);
    const heads = fc.constantFrom('', ...WRAPPINGS.map(([, , wrap]) => toHex(wrap(WRITE_FIRST).subarray(0, 60))));
    const into = new Dissection();
    fc.assert(
      fc.property(
        linkTypes,
        heads,
        fc.uint8Array({ maxLength: 80 }),
        fc.nat({ max: 200 }),
        (linkType, head, tail, missing) => {
          const bytes = new Uint8Array([...fromHex(head), ...tail]);
          dissect(packet(linkType, bytes, { originalLength: bytes.length + missing }), into);
          const { frame, packetOffset, capturedEnd, status, cut } = into;
          expect(capturedEnd - packetOffset).toBe(bytes.length);
          if (status === FrameStatus.Ok) expect(frame.payloadOffset).toBeLessThanOrEqual(capturedEnd);
          if (frame.bthOffset >= 0) expect(frame.bthOffset + 12).toBeLessThanOrEqual(capturedEnd);
          if (status === FrameStatus.Ok && !cut) expect(frame.icrcOffset + 4).toBeLessThanOrEqual(capturedEnd);
          icrcState(into);
        },
      ),
      { numRuns: 1000 },
    );
  });
});

describe('a packet that the capture has cut', () => {
  for (const [name, linkType, wrap] of WRAPPINGS) {
    it(`behind ${name} tells what was captured and nothing else, wherever the cut is`, () => {
      const into = new Dissection();
      for (const frame of [WRITE_FIRST, rxeFrame(Op.Acknowledge), V6]) {
        const bytes = wrap(frame);
        const whole = dissected(linkType, bytes);
        const nothing = facts({ status: FrameStatus.Truncated, frame: new Frame() });
        const ip = whole.frame.ipOffset - whole.packetOffset;
        for (let kept = 0; kept < bytes.length; kept++) {
          dissect(packet(linkType, bytes.subarray(0, kept), { originalLength: bytes.length }), into);
          const has = (offset: number, length: number) => kept >= ip + (offset - whole.frame.ipOffset) + length;
          const { ipEnd, ...rest } = facts(into);
          const all = facts(whole);
          expect([into.cut, icrcState(into)]).toEqual([true, IcrcState.Unknown]);
          if (has(whole.frame.payloadOffset, 0)) expect({ ipEnd, ...rest }).toEqual(all);
          else if (has(whole.frame.bthOffset, 12))
            expect({ ipEnd, ...rest }).toEqual({
              ...all,
              status: FrameStatus.Truncated,
              payloadOffset: -1,
              payloadLength: 0,
            });
          else {
            expect(rest.status).toBe(FrameStatus.Truncated);
            expect([rest.bthOffset, rest.opcode, rest.psn, rest.destQpn, rest.pkey]).toEqual([-1, 0, 0, 0, 0]);
            expect(rest.destPort).toBe(has(whole.frame.l4Offset, 8) ? 4791 : 0);
            expect(rest.sourcePort).toBe(has(whole.frame.l4Offset, 8) ? all.sourcePort : 0);
            const ipBytes = isIpv4(frame) ? 20 : 40;
            if (has(whole.frame.ipOffset, ipBytes)) expect(rest.hopLimit).toBe(all.hopLimit);
            else if (linkType === LinkType.Raw) expect(facts(into)).toEqual(nothing);
          }
        }
      }
    });
  }

  it('has zeros where nothing was captured, also behind a longer one', () => {
    const into = new Dissection();
    const cutAt = (kept: number) => {
      dissect(packet(LinkType.Ethernet, WRITE_FIRST.subarray(0, kept), { originalLength: WRITE_FIRST.length }), into);
      const { frame, capturedEnd, packetOffset } = into;
      expect(toHex(frame.bytes.subarray(packetOffset, capturedEnd))).toBe(toHex(WRITE_FIRST.subarray(0, kept)));
      expect(frame.bytes.subarray(capturedEnd, frame.end).every((byte) => byte === 0)).toBe(true);
      expect(frame.end).toBe(WRITE_FIRST.length);
    };
    for (const kept of [100, 300, 90, 120]) cutAt(kept);
  });

  it('is not cut when only a trailer is missing', () => {
    const bytes = new Uint8Array([...rxeFrame(Op.Acknowledge), 0, 0, 0]);
    const into = dissected(LinkType.Ethernet, bytes, { originalLength: bytes.length + 40 });
    expect([into.cut, icrcState(into)]).toEqual([false, IcrcState.Good]);
  });

  it('stays cut when its own length is longer than that of the wire, or wrong, or absurd', () => {
    const kept = WRITE_FIRST.subarray(0, 80);
    const of = (bytes: Uint8Array, originalLength: number) => {
      const { status, cut } = dissected(LinkType.Ethernet, bytes, { originalLength });
      return [status, cut];
    };
    expect(of(kept, WRITE_FIRST.length - 1)).toEqual([FrameStatus.Truncated, true]);
    expect(of(kept, 0xffff_ffff)).toEqual([FrameStatus.Ok, true]);
    const options = kept.slice();
    options[14] = 0x46;
    expect(of(options, WRITE_FIRST.length)).toEqual([FrameStatus.BadIpHeader, true]);
    expect(of(kept.with(24, 0), WRITE_FIRST.length)).toEqual([FrameStatus.BadIpChecksum, true]);
    expect(of(fromHex(`${'00'.repeat(12)}0806`), 60)).toEqual([FrameStatus.NotIp, true]);
  });

  it('may hold the largest IP packet there is', () => {
    const frame = make(Op.SendOnly, () => {}, {}, 64);
    const huge = new Uint8Array(65_535 + 14);
    huge.set(frame);
    const view = new DataView(huge.buffer);
    view.setUint16(16, 65_535);
    view.setUint16(38, 65_515);
    view.setUint16(24, 0);
    let sum = 0;
    for (let at = 14; at < 34; at += 2) sum += view.getUint16(at);
    view.setUint16(24, ~((sum & 0xffff) + (sum >>> 16)));
    const into = dissected(LinkType.Ethernet, huge.subarray(0, huge.length - 1), { originalLength: huge.length });
    expect([into.status, into.cut, into.frame.payloadLength]).toEqual([FrameStatus.Ok, true, 65_515 - 8 - 12 - 4]);
  });
});

describe('icrcState', () => {
  it('tells a wrong ICRC, and the wrong one of a FLUSH by rdma_rxe', () => {
    const flush = make(Op.Flush);
    const { frame } = parse(flush);
    const bad = flush.slice();
    bad[bad.length - 1] = (bad.at(-1) ?? 0) ^ 1;
    expect(icrcState(dissected(LinkType.Ethernet, bad))).toBe(IcrcState.Bad);
    const rxe = flush.slice();
    const right = frame.view.getUint32(frame.icrcOffset, true);
    new DataView(rxe.buffer).setUint32(
      frame.icrcOffset,
      rxeFlushIcrc(right, flush, frame.bthOffset, frame.icrcOffset),
      true,
    );
    expect(icrcState(dissected(LinkType.Ethernet, rxe))).toBe(IcrcState.RxeFlush);
    expect(icrcState(dissected(LinkType.Ethernet, flush))).toBe(IcrcState.Good);
  });
});

describeWith('tshark', 'tshark', () => {
  it('sees the same behind every link header, of packets whole and cut', async () => {
    const directory = mkdtempSync(join(tmpdir(), 'roce-dissection-'));
    try {
      const writer = new PcapngWriter();
      const ours: number[][] = [];
      for (const [name, linkType, wrap] of WRAPPINGS) {
        const snapLength = 90;
        const index = writer.addInterface({ name, linkType, snapLength });
        for (const frame of FRAMES) {
          const bytes = wrap(frame);
          writer.packet(index, bytes, 0, bytes.length, 0, 0);
          const into = dissected(linkType, bytes.subarray(0, snapLength), { originalLength: bytes.length });
          ours.push([into.frame.opcode, into.frame.psn]);
        }
      }
      const path = join(directory, 'file.pcapng');
      writeFileSync(path, writer.take());
      const rows = await tsharkRows(path, ['infiniband.bth.opcode', 'infiniband.bth.psn']);
      expect(rows.map((row) => [...row.values()].map(([value]) => Number(value)))).toEqual(ours);
    } finally {
      rmSync(directory, { recursive: true });
    }
  });
});
