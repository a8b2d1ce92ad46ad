/**
 * Goal: what a rule changes in a frame is changed, with checksums and ICRC as it says, and nothing else is. Method:
 * made frames through a path, and a parser behind it.
 */
import { describe, expect, it } from 'vitest';
import { ipv4ChecksumMatches } from '../../packets/checksum.ts';
import type { Frame } from '../../packets/frame.ts';
import { Op } from '../../packets/opcode.ts';
import type { WireRule } from '../../src/faults/rule.ts';
import { frame as otherFrame, tagOf } from '../sim/support.ts';
import { any, Wire, write } from './made-wire.ts';
import { A_TO_B, acknowledge, packet, parse } from './support.ts';

describe('what is done to the bytes', () => {
  it('a corrupted packet fails its ICRC, and passes it when that is repaired', () => {
    const rules = (fixIcrc: boolean): WireRule[] => [{ on: { opcode: 'write' }, do: 'corrupt', bit: 12 * 8, fixIcrc }];
    for (const fixIcrc of [false, true]) {
      const wire = new Wire({ rules: rules(fixIcrc) });
      wire.enter(0, write(1));
      const seen = parse(wire.out.frames[0] ?? new Uint8Array(0));
      expect([seen.icrcOk, seen.frame.bytes[seen.frame.payloadOffset]]).toEqual([fixIcrc, 0x80]);
    }
  });

  it('a bit is counted from the first of the BTH, the most significant of each byte first', () => {
    const sent = write(1);
    for (const bit of [0, 1, 2, 3, 4, 5, 6, 7, 16, 31, 8 * 12, 8 * 12 + 13]) {
      const wire = new Wire({ rules: [{ on: {}, do: 'corrupt', bit }] });
      wire.enter(0, sent);
      const changes = [...(wire.out.frames[0] ?? [])].flatMap((byte, at) => {
        const change = byte ^ (sent[at] ?? 0);
        return change === 0 ? [] : [[at - 42, change]];
      });
      expect(changes, `bit ${bit}`).toEqual([[bit >> 3, 0x80 >> (bit & 7)]]);
    }
  });

  it('a bit drawn by seed is one that the ICRC covers, and neither in the opcode nor in the pad count', () => {
    const wire = new Wire({ rules: [{ on: {}, do: 'corrupt' }] });
    for (let psn = 0; psn < 300; psn++) wire.enter(0, write(psn), acknowledge(A_TO_B, 9, psn));
    for (const bytes of wire.out.frames) {
      const { frame, status, icrcOk } = parse(bytes);
      expect([status, icrcOk]).toEqual([0, false]);
      expect([Op.WriteMiddle, Op.Acknowledge]).toContain(frame.opcode);
    }
  });

  it('a bit beyond the frame is impossible, and the frame passes', () => {
    const wire = new Wire({ rules: [{ on: {}, do: 'corrupt', bit: 100_000 }] });
    wire.enter(0, write(1));
    expect(parse(wire.out.frames[0] ?? new Uint8Array(0)).icrcOk).toBe(true);
    expect(wire.engine.rules[0]).toMatchObject({ matches: 1, applied: 0, impossible: 1 });
    expect(wire.path.counters.corrupted).toBe(0);
  });

  it('a frame that is not RoCE is damaged behind its Ethernet header', () => {
    const wire = new Wire({ rules: [any({ do: 'corrupt', bit: 0 }, 1)] });
    wire.enter(0, otherFrame(1, 2, 5));
    expect(tagOf(wire.out.frames[0] ?? new Uint8Array(0))).toBe(0x80_00_00_05);
  });

  it('a mark is for ECN-capable packets, and the header checksum stays right', () => {
    const wire = new Wire({ rules: [{ on: {}, do: 'mark-ce' }] });
    wire.enter(0, write(1, 1), write(2, 0));
    const [marked, plain] = wire.out.frames.map((bytes) => parse(bytes));
    expect([marked?.frame.trafficClass, plain?.frame.trafficClass]).toEqual([3, 0]);
    expect([marked?.icrcOk, plain?.icrcOk]).toEqual([true, true]);
    expect(wire.engine.rules[0]).toMatchObject({ applied: 1, impossible: 1 });
  });

  const REWRITES = [
    ['ip.ecn', 3],
    ['ip.dscp', 46],
    ['ip.ttl', 1],
    ['bth.opcode', Op.WriteLast],
    ['bth.solicited', 1],
    ['bth.migReq', 1],
    ['bth.padCount', 3],
    ['bth.pkey', 0x1234],
    ['bth.fecn', 1],
    ['bth.becn', 1],
    ['bth.destQpn', 0xab_cd_ef],
    ['bth.ackReq', 1],
    ['bth.psn', 0xff_ff_ff],
  ] as const;

  it.each([4, 6] as const)('a rewritten field is there, and every checksum is right, over IPv%i', (ipVersion) => {
    for (const [name, value] of REWRITES) {
      const wire = new Wire({ rules: [{ on: {}, do: 'rewrite', set: { [name]: value } }] });
      wire.enter(0, packet({ direction: A_TO_B, opcode: Op.WriteMiddle, qpn: 2, psn: 3, payloadBytes: 32, ipVersion }));
      const { frame, status, icrcOk } = parse(wire.out.frames[0] ?? new Uint8Array(0));
      expect([name, status, icrcOk]).toEqual([name, 0, true]);
      const [header, field] = name.split('.');
      const read = new Map(Object.entries({ ...frame, ...ipFields(frame) }));
      expect([header, read.get(field ?? '')]).toEqual([header, value]);
      if (ipVersion === 4) expect(ipv4ChecksumMatches(frame.view, frame.ipOffset)).toBe(true);
    }
  });

  it('fields of extended headers are rewritten where they are, and impossible where not', () => {
    const set = { 'aeth.syndrome': 0x63, 'aeth.msn': 7 };
    const wire = new Wire({ rules: [{ on: {}, do: 'rewrite', set }] });
    wire.enter(0, acknowledge(A_TO_B, 1, 2), write(3));
    const { frame, icrcOk } = parse(wire.out.frames[0] ?? new Uint8Array(0));
    expect([frame.view.getUint32(frame.bthOffset + 12), icrcOk]).toEqual([0x63_00_00_07, true]);
    expect(wire.engine.rules[0]).toMatchObject({ applied: 1, impossible: 1 });
  });

  it.each<[name: string, opcode: number, value: number, at: number, bytes: string]>([
    // Offsets from the IP header; the BTH is at 28, and what follows it at 40.
    ['ip.id', Op.SendOnly, 0xab_cd, 4, 'abcd'],
    ['udp.sourcePort', Op.SendOnly, 0xc0_01, 20, 'c001'],
    ['bth.transportVersion', Op.SendOnly, 15, 29, '0f'],
    ['deth.qkey', Op.UdSendOnly, 0x80_01_00_02, 40, '80010002'],
    ['deth.sourceQpn', Op.UdSendOnly, 0x12_34_56, 44, '00123456'],
    ['immdt.value', Op.SendOnlyImm, 0xff_ee_dd_cc, 40, 'ffeeddcc'],
    ['ieth.rkey', Op.SendOnlyInvalidate, 0x01_02_03_04, 40, '01020304'],
  ])('%s is those bytes of the packet, and no others but checksums change', (name, opcode, value, at, bytes) => {
    const sent = packet({ direction: A_TO_B, opcode, qpn: 2, psn: 3, payloadBytes: 32 });
    const wire = new Wire({ rules: [{ on: {}, do: 'rewrite', set: { [name]: value } }] });
    wire.enter(0, sent);
    const hexOf = (frame: Uint8Array) => Buffer.from(frame.subarray(14)).toString('hex');
    const [before, after] = [hexOf(sent), hexOf(wire.out.frames[0] ?? new Uint8Array(0))];
    const length = bytes.length / 2;
    expect(after.slice(2 * at, 2 * (at + length))).toBe(bytes);
    // Of the IPv4 header in bytes 10 and 11, the ICRC in the last four.
    const rest = (hex: string) =>
      (hex.slice(0, 2 * at) + '.'.repeat(2 * length) + hex.slice(2 * (at + length), -8)).slice(24);
    expect(rest(after)).toBe(rest(before));
  });

  it('an address of 64 bits and an offset to the PSN are rewritten too, and the ICRC stays wrong on demand', () => {
    const set = { 'reth.va': 0x1_2345_6789_abcd, 'reth.rkey': 0xffff_ffff, 'reth.length': 9, 'bth.psnOffset': -4 };
    const wire = new Wire({ rules: [{ on: {}, do: 'rewrite', set, fixIcrc: false }] });
    wire.enter(0, packet({ direction: A_TO_B, opcode: Op.ReadRequest, qpn: 1, psn: 2 }));
    const { frame, icrcOk } = parse(wire.out.frames[0] ?? new Uint8Array(0));
    const reth = frame.bthOffset + 12;
    expect([frame.view.getBigUint64(reth), frame.view.getUint32(reth + 8)]).toEqual([0x1_2345_6789_abcdn, 0xffff_ffff]);
    expect([frame.psn, frame.view.getUint32(reth + 12), icrcOk]).toEqual([0xff_ff_fe, 9, false]);
  });

  it('a UDP checksum that is there is made right', () => {
    const bytes = packet({ direction: A_TO_B, opcode: Op.WriteMiddle, qpn: 2, psn: 3, payloadBytes: 32, ipVersion: 6 });
    new DataView(bytes.buffer).setUint16(14 + 40 + 6, 0x1234);
    const wire = new Wire({ rules: [{ on: {}, do: 'rewrite', set: { 'bth.psn': 9 } }] });
    wire.enter(0, bytes);
    const out = wire.out.frames[0] ?? new Uint8Array(0);
    // Pseudo-header and all of UDP sum to ones; by hand, not with the code under test.
    let sum = 17 + (out.length - 54);
    for (let at = 14 + 8; at < out.length; at += 2) sum += ((out[at] ?? 0) << 8) | (out[at + 1] ?? 0);
    while (sum > 0xffff) sum = (sum & 0xffff) + (sum >>> 16);
    expect(sum).toBe(0xffff);
  });

  it('several rules act on one frame together, and a drop wins over all', () => {
    const wire = new Wire({
      rules: [
        { name: 'one', on: { nth: 1 }, do: 'duplicate' },
        { name: 'two', on: { nth: 1 }, do: 'rewrite', set: { 'bth.psn': 77 } },
        { name: 'three', on: { opcode: 'write', nth: 2 }, do: 'corrupt' },
        { name: 'four', on: { opcode: 'write', nth: 2 }, do: 'drop' },
      ],
    });
    wire.enter(0, write(1));
    expect(wire.engine.verdict.describe()).toBe('duplicated (1 more) by "one", rewritten (bth.psn = 77) by "two"');
    wire.enter(0, write(2));
    expect(wire.engine.verdict.describe()).toBe('dropped by "four"');
    expect(wire.out.frames.map((bytes) => parse(bytes).frame.psn)).toEqual([77, 77]);
    expect(wire.engine.rules.map(({ applied }) => applied)).toEqual([1, 1, 0, 1]);
  });
});

function ipFields({ trafficClass, hopLimit }: Frame) {
  return { ecn: trafficClass & 3, dscp: trafficClass >>> 2, ttl: hopLimit };
}
