/**
 * Goal: RoCEv2 within tunnels is found, whole, cut or truncated by a mirror, and what cannot be read is named. Method:
 * frames of rdma_rxe wrapped by hand, each held against the frame alone; tunnels in tunnels; every length; any bytes;
 * tshark on the same file.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { IpAddress } from '../../../packets/address.ts';
import { type Frame, FrameStatus } from '../../../packets/frame.ts';
import { Op } from '../../../packets/opcode.ts';
import { Dissection, dissect, IcrcState, icrcState } from '../../../pcap/dissection.ts';
import { PcapngWriter } from '../../../pcap/pcapng-writer.ts';
import { concealsRoce, isUnreadable, Tunnel, tunnelName } from '../../../pcap/tunnels/index.ts';
import { type CapturedPacket, Direction, LinkType } from '../../../pcap/types.ts';
import { tsharkRows } from '../../../tools/tshark.ts';
import { make, rxeFrame } from '../../packets/made-frames.ts';
import { fromHex, toHex } from '../../packets/support.ts';
import { describeWith } from '../../support/need.ts';
import { ethernet, ipv4, ipv6, TUNNEL_WRAPPINGS, udp } from './wrappings.ts';

const OVER_IPV6 = { source: IpAddress.parse('fe80::2'), destination: IpAddress.parse('fe80::1') };
const FRAMES = [rxeFrame(Op.WriteFirst), rxeFrame(Op.Acknowledge), make(Op.WriteFirst, () => {}, OVER_IPV6, 256)];
const [FRAME = new Uint8Array(0)] = FRAMES;

function packet(
  bytes: Uint8Array,
  originalLength = bytes.length,
  linkType: number = LinkType.Ethernet,
): CapturedPacket {
  return {
    ...{ number: 1, seconds: 0, nanoseconds: 0, interfaceIndex: 0, direction: Direction.Unknown, comments: [] },
    ...{ linkType, bytes, originalLength },
  };
}

function dissected(bytes: Uint8Array, originalLength?: number, linkType?: number): Dissection {
  const into = new Dissection();
  dissect(packet(bytes, originalLength, linkType), into);
  return into;
}

/** The BTH and what is behind it, with offsets counted from the IP header. */
function facts({ opcode, psn, destQpn, payloadLength, ipVersion, ...frame }: Frame) {
  const from = frame.ipOffset;
  const offsets = [frame.bthOffset - from, frame.payloadOffset - from, frame.icrcOffset - from];
  return { opcode, psn, destQpn, payloadLength, ipVersion, offsets };
}

describe.each(TUNNEL_WRAPPINGS)('$name', ({ tunnel, id, wrap }) => {
  it('has the packet within, with its ICRC', () => {
    for (const frame of FRAMES) {
      const into = dissected(wrap(frame));
      expect([into.status, icrcState(into), into.depth, into.cut]).toEqual([FrameStatus.Ok, IcrcState.Good, 1, false]);
      expect(into.tunnels[0]).toMatchObject({ tunnel, id });
      expect(facts(into.frame)).toEqual(facts(dissected(frame).frame));
    }
  });

  it('tells of a cut packet what was captured and no more, wherever the cut is', () => {
    const into = new Dissection();
    const bytes = wrap(FRAME);
    const whole = dissected(bytes);
    const headers = whole.frame.payloadOffset - whole.packetOffset;
    for (let kept = 0; kept < bytes.length; kept++) {
      dissect(packet(bytes.subarray(0, kept), bytes.length), into);
      expect([into.cut, icrcState(into)]).toEqual([true, IcrcState.Unknown]);
      if (kept < headers) expect(into.status).not.toBe(FrameStatus.Ok);
      else expect([into.status, facts(into.frame)]).toEqual([FrameStatus.Ok, facts(whole.frame)]);
    }
  });
});

describe('tunnels', () => {
  it('within tunnels are read four deep, and no deeper', () => {
    const wraps = TUNNEL_WRAPPINGS.filter(({ name }) => ['VXLAN', 'GRE-TAP', 'Geneve', 'ERSPAN II'].includes(name));
    let bytes: Uint8Array = FRAME;
    for (const { wrap } of wraps) bytes = wrap(bytes);
    const into = dissected(bytes);
    expect([into.status, icrcState(into), into.depth]).toEqual([FrameStatus.Ok, IcrcState.Good, 4]);
    expect(into.tunnels.map((layer) => tunnelName(layer.tunnel)).reverse()).toEqual(
      wraps.map(({ name }) => name.replace('-TAP', '')),
    );
    const deeper = dissected(TUNNEL_WRAPPINGS[0]?.wrap(bytes) ?? bytes);
    expect([deeper.status, deeper.depth]).toEqual([FrameStatus.NotRoce, 4]);
  });

  it('are forgotten with the next packet', () => {
    const into = dissected(TUNNEL_WRAPPINGS[0]?.wrap(FRAME) ?? FRAME);
    expect(into.depth).toBe(1);
    dissect(packet(FRAME), into);
    expect([into.depth, into.status]).toEqual([0, FrameStatus.Ok]);
  });

  it('are none where what is inside is shorter than the header it begins with', () => {
    const short = (bytes: string) => fromHex(`0200000000b0 0200000000a0 8847 0001113f ${bytes}`);
    expect(dissected(short('ba'.repeat(13)))).toMatchObject({ depth: 0, status: FrameStatus.NotIp });
    expect(dissected(short('ba'.repeat(14)))).toMatchObject({ depth: 1, status: FrameStatus.NotIp });
  });

  it('are found behind other link headers', () => {
    const wrapped = ipv4(17, udp(4789, `08000000 00002a00 ${toHex(FRAME)}`));
    expect(dissected(fromHex(wrapped), undefined, LinkType.Raw)).toMatchObject({ status: FrameStatus.Ok, depth: 1 });
    const cooked = fromHex(`0000 0001 0006 5254000000020000 0800 ${wrapped}`);
    expect(dissected(cooked, undefined, LinkType.LinuxCooked)).toMatchObject({ status: FrameStatus.Ok, depth: 1 });
    const labelled = fromHex(`0000 0001 0006 5254000000020000 8847 0001113f ${toHex(FRAME.subarray(14))}`);
    expect(dissected(labelled, undefined, LinkType.LinuxCooked)).toMatchObject({ status: FrameStatus.Ok, depth: 1 });
    const tagged = fromHex(
      `0000 0001 0006 5254000000020000 8100 0001 8100 0002 8100 0003 0800 ${toHex(FRAME.subarray(14))}`,
    );
    expect(dissected(tagged, undefined, LinkType.LinuxCooked)).toMatchObject({ status: FrameStatus.Ok, depth: 1 });
  });

  it('have outer headers with options, without a checksum, and without a length', () => {
    const inner = udp(4789, `08000000 00002a00 ${toHex(FRAME)}`);
    expect(dissected(ethernet('0800', ipv4(17, inner, 8)))).toMatchObject({ status: FrameStatus.Ok, depth: 1 });
    const offloaded = ethernet('0800', ipv4(17, inner));
    offloaded.fill(0, 24, 26);
    expect(dissected(offloaded)).toMatchObject({ status: FrameStatus.Ok, depth: 1 });
    offloaded.fill(0, 16, 18);
    expect(dissected(offloaded)).toMatchObject({ status: FrameStatus.Ok, depth: 1 });
  });

  it('that a mirror has truncated are cut packets', () => {
    const wrap = TUNNEL_WRAPPINGS.find(({ name }) => name === 'ERSPAN II')?.wrap ?? ((frame: Uint8Array) => frame);
    const into = dissected(wrap(FRAME.subarray(0, 100)));
    expect([into.status, into.cut, icrcState(into)]).toEqual([FrameStatus.Ok, true, IcrcState.Unknown]);
    expect(facts(into.frame)).toEqual(facts(dissected(FRAME).frame));
    // And the capture has cut what the mirror sent.
    const mirrored = wrap(FRAME.subarray(0, 200));
    const twice = dissected(mirrored.subarray(0, 150), mirrored.length);
    expect([twice.status, twice.cut]).toEqual([FrameStatus.Ok, true]);
    expect(facts(twice.frame)).toEqual(facts(into.frame));
  });

  it.each(['VXLAN', 'GRE', 'ERSPAN II'])('that a mirror has truncated may have much behind them: %s', (name) => {
    const wrap = TUNNEL_WRAPPINGS.find((wrapping) => wrapping.name === name)?.wrap ?? ((frame: Uint8Array) => frame);
    const mirrored = wrap(FRAME.subarray(0, 100));
    // More than the largest IP packet.
    const padded = new Uint8Array(80_000);
    padded.set(mirrored);
    const [alone, whole, cut] = [dissected(mirrored), dissected(padded), dissected(padded, 90_000)];
    for (const into of [whole, cut]) {
      expect([into.status, into.cut, into.depth]).toEqual([FrameStatus.Ok, true, 1]);
      expect([into.capturedEnd, facts(into.frame)]).toEqual([alone.capturedEnd, facts(alone.frame)]);
    }
  });

  it('that are encrypted are named', () => {
    const esp = '00000001 00000001 0123456789abcdef';
    for (const [bytes, tunnel] of [
      [ethernet('88e5', '2c00 00000001 0123456789abcdef'), Tunnel.MacSec],
      [ethernet('0800', ipv4(50, esp)), Tunnel.Esp],
      [ethernet('86dd', ipv6(50, esp)), Tunnel.Esp],
    ] as const) {
      const into = dissected(bytes);
      expect([into.unreadable, into.depth, isUnreadable(into.unreadable)]).toEqual([tunnel, 0, true]);
    }
    expect(dissected(FRAME).unreadable).toBe(Tunnel.None);
    expect(dissected(ethernet('0806', '0001')).unreadable).toBe(Tunnel.None);
  });

  it.each([
    ['VXLAN without a VNI', ethernet('0800', ipv4(17, udp(4789, `00000000 00002a00 ${toHex(FRAME)}`)))],
    ['Geneve of a later version', ethernet('0800', ipv4(17, udp(6081, `40006558 00000900 ${toHex(FRAME)}`)))],
    ['GRE of version 1', ethernet('0800', ipv4(47, `00016558 ${toHex(FRAME)}`))],
    ['GRE of something else', ethernet('0800', ipv4(47, `0000880b ${toHex(FRAME)}`))],
    ['PPPoE discovery', ethernet('8863', `1109 0000 0004 0101 0000`)],
    ['a PPP protocol that is not IP', ethernet('8864', `1100 0003 0004 c021 0101`)],
    ['labels without an end', ethernet('8847', '0001103f'.repeat(20))],
    ['nothing behind VXLAN', ethernet('0800', ipv4(17, udp(4789, '08000000 00002a00')))],
    ['TCP', ethernet('0800', ipv4(6, toHex(FRAME)))],
  ])('are not seen in %s', (_name, bytes) => {
    expect(dissected(bytes).depth).toBe(0);
  });

  it('that are not known are seen to conceal RoCEv2', () => {
    const view = (bytes: Uint8Array) => new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
    const inUnknown = (frame: Uint8Array) => ethernet('0800', ipv4(17, udp(9999, `cafe0102 ${toHex(frame)}`)));
    for (const frame of FRAMES) {
      const bytes = inUnknown(frame);
      expect(concealsRoce(view(bytes), 14, bytes.length)).toBe(true);
      expect(dissected(bytes)).toMatchObject({ depth: 0, status: FrameStatus.NotRoce });
    }
    const spoiled = inUnknown(FRAME);
    // The checksum of the inner IP header.
    spoiled[spoiled.length - FRAME.length + 24] = (spoiled.at(-FRAME.length + 24) ?? 0) ^ 1;
    expect(concealsRoce(view(spoiled), 14, spoiled.length)).toBe(false);
    const far = ethernet('0800', ipv4(17, udp(9999, `${'00'.repeat(200)} ${toHex(FRAME)}`)));
    expect(concealsRoce(view(far), 14, far.length)).toBe(false);
    expect(concealsRoce(view(FRAME.subarray(0, 30)), 0, 30)).toBe(false);
  });

  it('never throw, and never point outside of what was captured, whatever the bytes', () => {
    const wrapped = fc
      .tuple(fc.array(fc.constantFrom(...TUNNEL_WRAPPINGS), { minLength: 1, maxLength: 5 }), fc.constantFrom(...FRAMES))
      .map(([layers, frame]) => layers.reduce<Uint8Array>((bytes, { wrap }) => wrap(bytes), frame));
    const into = new Dissection();
    fc.assert(
      fc.property(
        wrapped,
        fc.array(fc.tuple(fc.nat(), fc.nat(255)), { maxLength: 6 }),
        fc.nat(),
        (bytes, edits, end) => {
          const damaged = bytes.slice(0, 1 + (end % bytes.length));
          for (const [at, value] of edits) damaged[at % damaged.length] = value;
          dissect(packet(damaged, end % 3 === 0 ? bytes.length : damaged.length), into);
          icrcState(into);
          expect(into.depth).toBeLessThanOrEqual(4);
          expect(into.frame.bthOffset < 0 || into.frame.bthOffset + 12 <= into.capturedEnd).toBe(true);
        },
      ),
    );
  });
});

describeWith('tshark', 'tshark', () => {
  it('finds the same packets in the same tunnels', async () => {
    const directory = mkdtempSync(join(tmpdir(), 'roce-tunnels-'));
    try {
      const writer = new PcapngWriter();
      const index = writer.addInterface({ name: 'all', linkType: LinkType.Ethernet });
      const ours: (string | number)[][] = [];
      for (const { name, wrap } of TUNNEL_WRAPPINGS.filter(({ strange }) => strange === undefined)) {
        for (const frame of FRAMES) {
          const bytes = wrap(frame);
          writer.packet(index, bytes, 0, bytes.length, 0, 0);
          const { frame: inner } = dissected(bytes);
          ours.push([name, inner.opcode, inner.psn]);
        }
      }
      const path = join(directory, 'file.pcapng');
      writeFileSync(path, writer.take());
      const rows = await tsharkRows(path, ['infiniband.bth.opcode', 'infiniband.bth.psn']);
      const theirs = rows.map((row, i) => [ours[i]?.[0], ...[...row.values()].map(([value]) => Number(value))]);
      expect(theirs).toEqual(ours);
    } finally {
      rmSync(directory, { recursive: true });
    }
  });
});
