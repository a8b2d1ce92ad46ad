// Goal: every declared structure is sound (no field outside, none over another), and what is written is read again.
// Method: the tables themselves, and values made by fast-check for each kind of field.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import * as codec from '../../../../src/ulp/nvme/codec/index.ts';
import {
  ascii,
  bits,
  bytes,
  type Field,
  flag,
  list,
  Structure,
  structure,
  u8,
  u16,
  u64,
  u128,
  utf8,
} from '../../../../src/ulp/nvme/codec/index.ts';

type AnyStructure = Structure<Readonly<Record<string, Field<unknown>>>>;

const TABLES: readonly (readonly [string, AnyStructure])[] = Object.entries(codec).flatMap(([name, value]) =>
  value instanceof Structure ? [[name, value as AnyStructure] as const] : [],
);

describe('the declared structures', () => {
  it('are all that the specification has for this', () => {
    expect(TABLES.length).toBeGreaterThan(30);
  });

  it.each(TABLES)('%s: fields lie inside, and none over another', (_, { byteLength, fields }) => {
    const places = Object.entries(fields).sort(([, a], [, b]) => a.bit - b.bit);
    let end = 0;
    for (const [name, { bit, bits: width }] of places) {
      expect(bit, name).toBeGreaterThanOrEqual(end);
      end = bit + width;
    }
    expect(end).toBeLessThanOrEqual(byteLength * 8);
  });

  it.each(TABLES)('%s: reads from any bytes, and not from too few', (_, table) => {
    fc.assert(
      fc.property(fc.uint8Array({ minLength: table.byteLength, maxLength: table.byteLength }), (data) => {
        const values = table.read(data);
        expect(Object.keys(values ?? {})).toEqual(Object.keys(table.fields));
        expect(table.read(data.subarray(1))).toBeUndefined();
        expect(table.read(data, 1)).toBeUndefined();
        expect(table.read(data, -1)).toBeUndefined();
      }),
      { numRuns: 20 },
    );
  });

  it.each(TABLES)('%s: what was read and is written again is the same for every field', (_, table) => {
    fc.assert(
      fc.property(fc.uint8Array({ minLength: table.byteLength, maxLength: table.byteLength }), (raw) => {
        const data = printable(table, raw);
        const values = table.read(data);
        if (values === undefined) throw new Error('it fits');
        const again = new Uint8Array(table.byteLength).fill(0xa5);
        table.write(values, again);
        expect(table.read(again)).toEqual(values);
      }),
      { numRuns: 20 },
    );
  });
});

/** The same bytes with text where the structure has text: what is not text is not written as it was read. */
function printable(table: AnyStructure, raw: Uint8Array): Uint8Array {
  const data = raw.slice();
  const isText = ({ empty }: Field<unknown>): boolean => empty === '';
  for (const field of Object.values(table.fields)) {
    const texts = isText(field) || field.empty === codec.FIRMWARE_LOG.fields.revisions.empty;
    if (!texts) continue;
    for (let at = field.bit / 8; at < (field.bit + field.bits) / 8; at++) data[at] = 0x41 + ((data[at] ?? 0) % 26);
  }
  return data;
}

describe('a field', () => {
  const ALL = structure('all kinds', 96, {
    low: bits(0, 3),
    on: flag(3),
    across: bits(4, 17),
    byte: u8(3),
    word: u16(4),
    long: bits(6 * 8, 32),
    big: u64(16),
    huge: u128(24),
    raw: bytes(40, 4),
    text: ascii(44, 8),
    name: utf8(52, 8),
    several: list(60, 4, 2, u16),
  });
  const VALUES = {
    low: 5,
    on: true,
    across: 0x1_23_45,
    byte: 0xfe,
    word: 0x12_34,
    long: 0xff_ee_dd_cc,
    big: 0x0102_0304_0506_0708n,
    huge: (1n << 127n) + 5n,
    raw: Uint8Array.of(1, 2, 3, 4),
    text: 'SN 17',
    name: 'nqn.é',
    several: [1, 2, 0xff_ff, 4],
  };

  it('is little-endian, bit 0 the lowest of the first byte', () => {
    const data = ALL.encode(VALUES);
    expect([...data.subarray(0, 10)]).toEqual([0x5d, 0x34, 0x12, 0xfe, 0x34, 0x12, 0xcc, 0xdd, 0xee, 0xff]);
    expect([...data.subarray(16, 24)]).toEqual([8, 7, 6, 5, 4, 3, 2, 1]);
    expect([...data.subarray(24, 40)]).toEqual([5, ...new Array(14).fill(0), 0x80]);
    expect(new TextDecoder().decode(data.subarray(44, 52))).toBe('SN 17   ');
    expect(ALL.read(data)).toEqual(VALUES);
  });

  it('that is not given is 0, whatever was there', () => {
    const data = new Uint8Array(96).fill(0xa5);
    ALL.write({ byte: 7 }, data);
    expect(data.findIndex((byte) => byte !== 0)).toBe(3);
    expect([...data].filter((byte) => byte !== 0)).toEqual([7]);
  });

  it.each([
    ['a number too large', { low: 8 }],
    ['a negative number', { word: -1 }],
    ['a fraction', { byte: 1.5 }],
    ['a bigint too large', { big: 1n << 64n }],
    ['a negative bigint', { huge: -1n }],
    ['text too long', { text: 'nine char' }],
    ['a name too long', { name: 'nqn.2014-08' }],
    ['text that is not ASCII', { text: 'é' }],
    ['bytes too many', { raw: new Uint8Array(5) }],
    ['a list too long', { several: [1, 2, 3, 4, 5] }],
  ])('refuses %s, with its name', (_, values) => {
    const [name = ''] = Object.keys(values);
    expect(() => ALL.encode(values)).toThrow(new RegExp(`^all kinds, ${name}: `));
  });

  it('is read from bytes of a peer that make no sense as text', () => {
    const data = new Uint8Array(96).fill(0xff);
    expect(ALL.read(data)).toMatchObject({ text: '????????' });
    data.set([0x41, 0x80, 0x42, 0, 0x43], 44);
    expect(ALL.read(data)?.text).toBe('A?B');
    expect(typeof ALL.read(data)?.name).toBe('string');
  });

  it('of a number of four or eight bytes needs no bytes', () => {
    expect(codec.CC.toNumber({ en: true, iosqes: 6, iocqes: 4 })).toBe(0x46_00_01);
    expect(codec.CC.ofNumber(0x46_40_01)).toMatchObject({ en: true, shn: 1, iosqes: 6, iocqes: 4, css: 0 });
    expect(codec.CSTS.ofNumber(0x09)).toMatchObject({ rdy: true, cfs: false, shst: codec.ShutdownStatus.Complete });
    expect(codec.VS.toNumber({ mjr: 2, mnr: 1, ter: 3 })).toBe(0x2_01_03);
    const cap = { mqes: 127, cqr: true, to: 15, css: 1, mpsmax: 4 };
    expect(codec.CAP.toBigint(cap)).toBe((4n << 52n) | (1n << 37n) | (15n << 24n) | (1n << 16n) | 127n);
    expect(codec.CAP.ofNumber(codec.CAP.toBigint(cap))).toMatchObject(cap);
  });
});
