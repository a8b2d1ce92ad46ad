/**
 * Goal: the map of a frame leaves no bit out and counts none twice, its values are those of the declared headers and of
 * the codecs, and names are those of `frameFields`. Method: real rdma_rxe frames, every opcode over random bytes,
 * frames cut anywhere, and any bytes.
 */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { writeAeth } from '../../packets/aeth.ts';
import { CmAttribute, type CmKind, type CmMad, parseCmMad } from '../../packets/cm/index.ts';
import { readBits, showBits } from '../../packets/field-map/bits.ts';
import { CM_MESSAGES, IP_CM_HEADER, MAD_HEADER } from '../../packets/field-map/mad-fields.ts';
import { HEADER_WORDS } from '../../packets/field-map/words.ts';
import { type MappedField, type MappedHeader, mapFrame } from '../../packets/field-map.ts';
import { FrameStatus, Medium } from '../../packets/frame.ts';
import { frameFields } from '../../packets/frame-fields.ts';
import { decodeLayout, type HeaderLayout, LAYOUTS, type LayoutName } from '../../packets/layouts.ts';
import { MAD_BYTES, MAD_HEADER_BYTES } from '../../packets/mad.ts';
import { OPCODES, Op } from '../../packets/opcode.ts';
import { PFC_FRAME_BYTES, writePfc } from '../../packets/pfc.ts';
import { RXE_FRAMES } from '../vectors/rxe-frames.ts';
import { make, parse, rxeFrame } from './made-frames.ts';

const NAMES = Object.keys(LAYOUTS) as LayoutName[];

function mapOf(bytes: Uint8Array, medium: Medium = Medium.Ethernet, captured?: number) {
  const { frame, status } = parse(bytes, medium);
  return mapFrame(frame, status, captured);
}

function fieldsOf(headers: readonly MappedHeader[]): MappedField[] {
  return headers.flatMap((header) => header.fields);
}

/** All bits from the first to the last, each once, in order; headers around their fields. */
function expectTiles(headers: readonly MappedHeader[], bytes: number): void {
  let bit = 0;
  for (const { name, byteOffset, byteLength, fields } of headers) {
    expect([name, 8 * byteOffset]).toEqual([name, bit]);
    for (const field of fields) {
      expect([field.name, field.bitOffset]).toEqual([field.name, bit]);
      expect(field.bits).toBeGreaterThan(0);
      bit += field.bits;
    }
    expect([name, 8 * (byteOffset + byteLength)]).toEqual([name, bit]);
  }
  expect(bit).toBe(8 * bytes);
}

/** What declared headers say, by `decodeLayout`, against the fields of the map, in order. */
function expectDecoded(headers: readonly MappedHeader[], bytes: Uint8Array): void {
  for (const header of headers) {
    const layout: HeaderLayout | undefined = NAMES.includes(header.name as LayoutName)
      ? LAYOUTS[header.name as LayoutName]
      : undefined;
    if (layout === undefined) continue;
    const values = decodeLayout(layout, bytes, header.byteOffset) ?? {};
    expect(header.fields.map(({ value }) => value)).toEqual(layout.fields.map(({ name }) => values[name]));
    expect(header.fields.map(({ bits }) => bits)).toEqual(layout.fields.map(({ bits }) => bits));
  }
}

describe('mapFrame', () => {
  it('has words for exactly the fields that are declared', () => {
    for (const name of NAMES) {
      expect([name, Object.keys(HEADER_WORDS[name])]).toEqual([name, LAYOUTS[name].fields.map((field) => field.name)]);
    }
  });

  it.each(RXE_FRAMES.map(({ opcode }) => opcode))('maps what rxe sends, opcode %i', (opcode) => {
    const bytes = rxeFrame(opcode);
    const headers = mapOf(bytes);
    expectTiles(headers, bytes.length);
    expectDecoded(headers, bytes);
    expect(headers.map(({ name }) => name).slice(0, 4)).toEqual(['Ethernet', 'IPv4', 'UDP', 'BTH']);
    expect(headers.at(-1)).toMatchObject({ name: 'ICRC', byteLength: 4 });
    expect(headers.at(-1)?.fields[0]?.meaning).toMatch(/right\.$/);
  });

  it('has the names and values of frameFields for all numbers that are fields of their own', () => {
    for (const { opcode } of RXE_FRAMES) {
      const bytes = rxeFrame(opcode);
      const { frame, status, icrcOk } = parse(bytes);
      const expected = frameFields(frame, status, icrcOk);
      const own = new Map(fieldsOf(mapFrame(frame, status)).map((field) => [field.name, field.value]));
      const shared = [...own].filter(([name, value]) => typeof value === 'number' && name in expected);
      expect(shared.length).toBeGreaterThan(20);
      for (const [name, value] of shared) {
        // The header length is a number of words on the wire.
        expect([name, value]).toEqual([name, name === 'ip.hdr_len' ? Number(expected[name]) / 4 : expected[name]]);
      }
    }
  });

  it('tiles every opcode over any bytes, whole and cut anywhere', () => {
    const opcodes = fc.constantFrom(...OPCODES.map(({ code }) => code));
    fc.assert(
      fc.property(opcodes, fc.uint8Array({ minLength: 0, maxLength: 300 }), fc.nat(400), (opcode, extra, cut) => {
        const bytes = make(opcode, (view, at) => {
          for (let index = 0; index < extra.length && at + index < view.byteLength; index++) {
            view.setUint8(at + index, extra[index] ?? 0);
          }
        });
        const headers = mapOf(bytes);
        expectTiles(headers, bytes.length);
        expectDecoded(headers, bytes);
        expectTiles(mapOf(bytes, Medium.Ethernet, cut), Math.min(cut, bytes.length));
        expectTiles(mapOf(bytes.slice(0, cut)), Math.min(cut, bytes.length));
      }),
    );
  });

  it('tiles any bytes on both media, with bits flipped in frames as well', () => {
    const flipped = fc
      .tuple(fc.constantFrom(...RXE_FRAMES), fc.array(fc.nat(8 * 120), { maxLength: 6 }))
      .map(([{ opcode }, bits]) => {
        const bytes = rxeFrame(opcode).slice();
        for (const bit of bits) {
          const at = bit >> 3;
          if (at < bytes.length) bytes[at] = (bytes[at] ?? 0) ^ (1 << (bit & 7));
        }
        return bytes;
      });
    fc.assert(
      fc.property(fc.oneof(fc.uint8Array({ maxLength: 120 }), flipped), fc.boolean(), (bytes, ip) => {
        const headers = mapOf(bytes, ip ? Medium.Ip : Medium.Ethernet);
        expectTiles(headers, bytes.length);
        expectDecoded(headers, bytes);
      }),
    );
  });

  it('says what a syndrome means, and that an ICRC is wrong and what it should be', () => {
    const nak = make(Op.Acknowledge, (view, at) => writeAeth(view, at, 0x60, 3));
    const find = (bytes: Uint8Array, name: string) => fieldsOf(mapOf(bytes)).find((field) => field.name === name);
    expect(find(nak, 'infiniband.aeth.syndrome')).toMatchObject({ value: 0x60, shown: '0x60', bits: 8 });
    expect(find(nak, 'infiniband.aeth.syndrome')?.meaning).toMatch(/^NAK PSN sequence error\. /);
    const right = Array.from(nak.slice(-4), (byte) => byte.toString(16).padStart(2, '0')).join(' ');
    nak[nak.length - 1] = (nak.at(-1) ?? 0) ^ 1;
    expect(find(nak, 'infiniband.invariant.crc')?.meaning).toBe(
      `Wrong: it should be ${right}. A receiver drops the packet in silence.`,
    );
    // A cut packet is not judged.
    const judged = fieldsOf(mapOf(nak, Medium.Ethernet, nak.length - 1)).at(-1);
    expect(judged?.meaning).toMatch(/not computed/);
  });

  it('maps tags, pauses and ARP', () => {
    const pause = new Uint8Array(PFC_FRAME_BYTES);
    writePfc(new DataView(pause.buffer), 0, Uint8Array.of(2, 0, 0, 0, 0, 1), 0b1000, [0, 0, 0, 0xffff]);
    const headers = mapOf(pause);
    expectTiles(headers, pause.length);
    expect(headers.map(({ name }) => name)).toEqual(['Ethernet', 'PFC', 'Data']);
    expect(headers[1]?.fields[2]?.meaning).toBe('Priorities meant: 3.');
    expect(headers[1]?.fields[6]?.meaning).toBe('Priority 3 waits 65535 times 512 bit times.');
    const frame = rxeFrame(Op.SendOnly);
    const tagged = Uint8Array.of(
      ...frame.slice(0, 12),
      0x88,
      0xa8,
      0x60,
      0x07,
      0x81,
      0x00,
      0x00,
      0x05,
      ...frame.slice(12),
    );
    const tags = mapOf(tagged);
    expectTiles(tags, tagged.length);
    expect(tags.map(({ name }) => name).slice(0, 5)).toEqual(['Ethernet', 'VLAN', 'VLAN', 'IPv4', 'UDP']);
    expect(tags[1]?.fields.map(({ value }) => value)).toEqual([3, 0, 7, 0x8100]);
  });
});

describe('the rows of management datagrams', () => {
  const KINDS = Object.keys(CmAttribute) as CmKind[];

  it.each(KINDS)('%s fills its 232 bytes', (kind) => {
    expect(bits(CM_MESSAGES[kind])).toBe(8 * (MAD_BYTES - MAD_HEADER_BYTES));
  });

  it('has headers of 24 and 36 bytes', () => {
    expect([bits(MAD_HEADER), bits(IP_CM_HEADER)]).toEqual([8 * 24, 8 * 36]);
  });

  it('reads every number as the codec of its message does', () => {
    fc.assert(
      fc.property(
        fc.constantFrom(...KINDS),
        fc.uint8Array({ minLength: MAD_BYTES, maxLength: MAD_BYTES }),
        (kind, bytes) => {
          bytes.set([1, 7, 2, 3], 0);
          new DataView(bytes.buffer).setUint16(16, CmAttribute[kind]);
          const mad = parseCmMad(new DataView(bytes.buffer), 0, MAD_BYTES) as CmMad;
          const read = new Map<string, number | bigint>();
          let at = 0;
          for (const [width, name, shape] of CM_MESSAGES[kind]) {
            const value = readBits(bytes, MAD_HEADER_BYTES, at, width, shape);
            if (!(value instanceof Uint8Array) && !name.includes('reserved')) read.set(name, value);
            at += width;
          }
          const { primaryPath, alternatePath, ...body } = { primaryPath: {}, alternatePath: {}, ...mad.message.body };
          const known = [body, primaryPath, alternatePath].flatMap((part) => Object.entries(part));
          const numbers = known.filter(
            ([name, value]) => !SPLIT.has(name) && (typeof value === 'number' || typeof value === 'bigint'),
          );
          // Both descriptions were written apart: as many values, and the same ones.
          const values = [...read]
            .filter(([name]) => !/vendorid_|_spare$|vendorid$/.test(name))
            .map(([, value]) => `${value}`);
          expect(values.sort()).toEqual(numbers.map(([, value]) => `${value}`).sort());
        },
      ),
    );
  });
});

describe('readBits', () => {
  it('reads any width from any bit', () => {
    fc.assert(
      fc.property(
        fc.uint8Array({ minLength: 12, maxLength: 12 }),
        fc.nat(31),
        fc.integer({ min: 1, max: 64 }),
        (bytes, from, width) => {
          const text = Array.from(bytes, (byte) => byte.toString(2).padStart(8, '0')).join('');
          const expected = BigInt(`0b${text.slice(from, from + width)}`);
          expect(readBits(bytes, 0, from, width, 'decimal')).toBe(width <= 32 ? Number(expected) : expected);
        },
      ),
    );
  });

  it('shows values as people write them', () => {
    expect(showBits(18, 24, 'hex')).toBe('0x000012');
    expect(showBits(Uint8Array.of(10, 0, 0, 1), 32, 'ipv4')).toBe('10.0.0.1');
    expect(showBits(new Uint8Array(20), 160, 'bytes')).toBe(`${'00 '.repeat(16)}... 20 bytes`);
    expect(FrameStatus.Ok).toBe(0);
  });
});

function bits(rows: readonly (readonly [number, ...unknown[]])[]): number {
  return rows.reduce((sum, [width]) => sum + width, 0);
}

/** In the codecs one number, on the wire pieces; and what a REQ has beyond numbers of the wire. */
const SPLIT: ReadonlySet<string> = new Set(['vendorId', 'sapSupported']);
