/**
 * Goal: a wrong ICRC is explained by the mistake that was made, and by no other.
 * Method: right packets of several lengths get an ICRC by a mistake that is spelled out here bit by bit, with a CRC of
 * the test's own; or a field is rewritten behind a right ICRC. Random ICRCs must stay unexplained.
 */
import { describe, expect, it } from 'vitest';
import { IpAddress } from '../../../../../packets/address.ts';
import { Frame, Medium, parseFrame } from '../../../../../packets/frame.ts';
import { maskVariantFields } from '../../../../../packets/icrc.ts';
import { Op } from '../../../../../packets/opcode.ts';
import { damagedPart, explain } from '../../../../../pcap/analysis/detectors/icrc/explain.ts';
import { sampleOf } from '../../../../../pcap/analysis/detectors/icrc/sample.ts';
import { Prng } from '../../../../../src/ground/prng.ts';
import { type RoceSpec, roceFrame, station } from '../../../../../tools/symptoms/forge.ts';

const IP_AT = 14;
const CRC32 = 0xed_b8_83_20;
const CRC32C = 0x82_f6_3b_78;

/** Bit by bit, unlike the code under test. */
function crc(polynomial: number, bytes: Iterable<number>, state = 0xff_ff_ff_ff): number {
  for (const byte of bytes) {
    state ^= byte;
    for (let bit = 0; bit < 8; bit++) state = (state & 1) === 1 ? (state >>> 1) ^ polynomial : state >>> 1;
  }
  return ~state >>> 0;
}

const ONES = new Array<number>(8).fill(0xff);

function packets(more: Partial<RoceSpec> = {}, version: 4 | 6 = 4, sizes = [5, 64, 130, 31]): Uint8Array[] {
  return sizes.map((size, index) =>
    roceFrame({
      from: station(1, version),
      to: station(2, version),
      opcode: Op.SendOnly,
      destQpn: 0x11,
      psn: 100 + index,
      trafficClass: 106,
      ipId: 1000 + 7 * index,
      payload: Uint8Array.from({ length: size }, (_, at) => at * 3 + index),
      ...more,
    }),
  );
}

/**
 * Gives each packet the ICRC of a mistake: `of` sees the masked packet from the IP header to the ICRC, and the one as
 * sent.
 */
function withIcrc(
  frames: readonly Uint8Array[],
  of: (masked: Uint8Array, sent: Uint8Array) => number,
  bigEndian = false,
): Uint8Array[] {
  return frames.map((frame) => {
    const bytes = frame.slice();
    const sent = bytes.subarray(IP_AT, bytes.length - 4);
    const masked = sent.slice();
    maskVariantFields(new DataView(masked.buffer), 0, (sent[0] ?? 0) >> 4);
    new DataView(bytes.buffer).setUint32(bytes.length - 4, of(masked, sent), !bigEndian);
    return bytes;
  });
}

function samplesOf(frames: readonly Uint8Array[]) {
  return frames.map((bytes, index) => {
    const frame = new Frame();
    expect(parseFrame(bytes, new DataView(bytes.buffer), 0, bytes.length, Medium.Ethernet, frame)).toBe(0);
    return sampleOf(frame, index + 1);
  });
}

function clauseOf(frames: readonly Uint8Array[], known: readonly string[] = []): string | undefined {
  return explain(
    samplesOf(frames),
    known.map((text) => IpAddress.parse(text)),
  )?.clause;
}

/** Rewrites bytes behind the IP header's beginning and mends the IP header checksum; the ICRC stays that of before. */
function rewritten(frame: Uint8Array, at: number, by: readonly number[]): Uint8Array {
  const bytes = frame.slice();
  bytes.set(by, IP_AT + at);
  const view = new DataView(bytes.buffer);
  if ((bytes[IP_AT] ?? 0) >> 4 === 4) {
    view.setUint16(IP_AT + 10, 0);
    let sum = 0;
    for (let i = 0; i < 20; i += 2) sum += view.getUint16(IP_AT + i);
    while (sum > 0xff_ff) sum = (sum & 0xff_ff) + (sum >>> 16);
    view.setUint16(IP_AT + 10, ~sum & 0xff_ff);
  }
  return bytes;
}

describe('the recipe', () => {
  const cases: readonly [string, (masked: Uint8Array, sent: Uint8Array) => number, boolean?][] = [
    ['with CRC-32C (Castagnoli) instead of CRC-32', (masked) => crc(CRC32C, [...ONES, ...masked])],
    ['and stored big-endian', (masked) => crc(CRC32, [...ONES, ...masked]), true],
    [
      'with CRC-32C (Castagnoli) instead of CRC-32, and stored big-endian',
      (masked) => crc(CRC32C, [...ONES, ...masked]),
      true,
    ],
    ['without the eight bytes of ones in front', (masked) => crc(CRC32, masked)],
    ['from 0 on', (masked) => crc(CRC32, [...ONES, ...masked], 0)],
    ['without the inversion at the end', (masked) => ~crc(CRC32, [...ONES, ...masked]) >>> 0],
    [
      'with the traffic class (TOS) not masked',
      (masked, sent) => crc(CRC32, [...ONES, ...masked.with(1, sent[1] ?? 0)]),
    ],
    ['with the TTL or hop limit not masked', (masked, sent) => crc(CRC32, [...ONES, ...masked.with(8, sent[8] ?? 0)])],
    [
      'with the TTL or hop limit not masked, with the IP header checksum as 0',
      (masked, sent) =>
        crc(CRC32, [
          ...ONES,
          ...masked
            .with(8, sent[8] ?? 0)
            .with(10, 0)
            .with(11, 0),
        ]),
    ],
    [
      'with the UDP checksum not masked',
      (masked, sent) => crc(CRC32, [...ONES, ...masked.with(26, sent[26] ?? 0).with(27, sent[27] ?? 0)]),
    ],
  ];
  it.each(cases)('computed %s is named', (mistake, of, bigEndian) => {
    expect(clauseOf(withIcrc(packets(), of, bigEndian))).toBe(`fits when computed ${mistake}`);
  });

  it('that leaves out the pad is named, though packets without a pad do not show it', () => {
    const frames = packets({}, 4, [5, 6, 7, 9]);
    const wrong = withIcrc(frames, (masked) => {
      const pad = ((masked[29] ?? 0) >> 4) & 3;
      return crc(CRC32, [...ONES, ...masked.subarray(0, masked.length - pad)]);
    });
    expect(clauseOf(wrong)).toBe('fits when computed without the pad bytes');
  });

  it('that puts the ICRC in front of the pad is named', () => {
    const wrong = packets({}, 4, [5, 6, 7, 9]).map((frame) => {
      const bytes = frame.slice();
      const pad = ((bytes[IP_AT + 29] ?? 0) >> 4) & 3;
      const end = bytes.length - 4 - pad;
      const masked = bytes.slice(IP_AT, end);
      maskVariantFields(new DataView(masked.buffer), 0, 4);
      const view = new DataView(bytes.buffer);
      view.setUint32(end, crc(CRC32, [...ONES, ...masked]), true);
      bytes.fill(0, end + 4);
      return bytes;
    });
    expect(clauseOf(wrong)).toBe('fits when computed and put before the pad bytes');
  });

  it('is found on IPv6 as well', () => {
    const wrong = withIcrc(packets({}, 6), (masked, sent) => {
      const unmasked = masked.slice();
      unmasked.set(sent.subarray(0, 4));
      return crc(CRC32, [...ONES, ...unmasked]);
    });
    expect(clauseOf(wrong)).toBe('fits when computed with the traffic class (TOS) not masked');
  });

  it('is found from a single packet', () => {
    expect(clauseOf(withIcrc(packets().slice(0, 1), (masked) => crc(CRC32C, [...ONES, ...masked])))).toContain(
      'CRC-32C',
    );
  });
});

describe('a field that was changed', () => {
  const cases: readonly [string, number, readonly number[]][] = [
    ['UDP source port 49443', 20, [0xea, 0x60]],
    ['IPv4 flags and fragment offset 0x4000', 6, [0, 0]],
    ['P_Key 0xffff', 30, [0x80, 0x01]],
    ['source address 10.0.0.1', 12, [192, 168, 7, 9]],
    ['destination address 10.0.0.2', 16, [172, 16, 0, 1]],
  ];
  it.each(cases)('is found: %s', (original, at, by) => {
    const clause = clauseOf(packets().map((frame) => rewritten(frame, at, by)));
    expect(clause).toBe(`fits with ${original}: changed after the ICRC had been computed`);
  });

  it('is found where every packet has another one: identifications that the kernel counts', () => {
    const zero = packets({ ipId: 0 }).map((frame, index) => rewritten(frame, 4, [0x12, 0x34 + 5 * index]));
    expect(clauseOf(zero)).toBe('fits with IPv4 identification 0: changed after the ICRC had been computed');
    const others = packets().map((frame, index) => rewritten(frame, 4, [0x12, 0x34 + 5 * index]));
    expect(clauseOf(others)).toBe('fits with other IPv4 identification: changed after the ICRC had been computed');
  });

  it('is found where NAT changed address and port, when the capture knows the address', () => {
    const frames = packets().map((frame) => rewritten(rewritten(frame, 12, [203, 0, 113, 5]), 20, [0x80, 0x01]));
    expect(clauseOf(frames, ['10.0.0.1', '203.0.113.5'])).toBe(
      'fits with source address 10.0.0.1 and UDP source port 49443: changed after the ICRC had been computed',
    );
    expect(clauseOf(frames)).toBe('fits with other addresses or ports: changed after the ICRC had been computed');
  });

  it('is an address that the capture knows rather than one that is only possible', () => {
    const v6 = packets({}, 6).map((frame) => rewritten(frame, 8 + 15, [0x77]));
    expect(clauseOf(v6, ['fd00::5', 'fd00::1'])).toContain('source address fd00::1');
    const v4 = packets({}, 4, [40, 40, 40]).map((frame) => rewritten(frame, 16, [203, 0, 113, 5]));
    expect(clauseOf(v4, ['10.0.0.9', '10.0.0.2'])).toContain('destination address 10.0.0.2');
  });

  it('is found where both lengths lacked the ICRC', () => {
    const wrong = withIcrc(packets(), (masked) => {
      const view = new DataView(masked.buffer, masked.byteOffset);
      view.setUint16(2, view.getUint16(2) - 4);
      view.setUint16(24, view.getUint16(24) - 4);
      return crc(CRC32, [...ONES, ...masked]);
    });
    expect(clauseOf(wrong)).toBe(
      'fits with lengths of IP and UDP 4 bytes less: changed after the ICRC had been computed',
    );
  });

  it('is a traffic class that the sender covers and the network changes', () => {
    const wrong = withIcrc(packets(), (masked) => crc(CRC32, [...ONES, ...masked.with(1, 0x60)]));
    expect(clauseOf(wrong)).toContain('traffic class (TOS), which is not masked, 0x60');
  });
});

describe('what nobody can explain', () => {
  it('stays unexplained: random ICRCs', () => {
    const random = new Prng(7);
    for (let round = 0; round < 50; round++) {
      expect(clauseOf(withIcrc(packets(), () => random.below(2 ** 32)))).toBeUndefined();
    }
  });

  it('is told apart from no ICRC at all', () => {
    expect(clauseOf(withIcrc(packets(), () => 0))).toBe('is 0x00000000 in all of them: it was not computed');
  });

  it('may be a single bit, which is found wherever it is, and two bits are not', () => {
    const [frame] = packets();
    const length = (frame?.length ?? 0) * 8;
    const parts = new Set<string>();
    for (let bit = 8 * (IP_AT + 34); bit < length; bit++) {
      const bytes = (frame ?? new Uint8Array()).slice();
      bytes[bit >> 3] = (bytes[bit >> 3] ?? 0) ^ (1 << (bit & 7));
      // Pad count, version and opcode decide whether it is still a packet, and one byte is masked.
      const [sample] = samplesOf([bytes]);
      if (sample === undefined) continue;
      parts.add(damagedPart(sample) ?? `bit ${bit}`);
      const last = bytes.length - 6;
      bytes[last] = (bytes[last] ?? 0) ^ (bit >> 3 === last ? 1 << ((bit + 1) & 7) : 0x10);
      const [twice] = samplesOf([bytes]);
      expect(twice === undefined ? undefined : damagedPart(twice)).toBeUndefined();
    }
    expect(parts).toEqual(new Set(['BTH', 'extended headers or payload', 'ICRC']));
  });
});
