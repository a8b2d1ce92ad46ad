// Goal: a list of fields becomes exact JSON values and readable lines. Method: examples at the edges.

import { describe, expect, it } from 'vitest';
import { FieldList, hexNumber } from '../../packets/field-list.ts';

function list(): FieldList {
  const fields = new FieldList();
  fields.begin('infiniband.bth');
  fields.decimal('infiniband.bth.psn', 7);
  fields.hex('infiniband.bth.p_key', 0xff, 4);
  fields.begin('infiniband.atomiceth');
  fields.hex('infiniband.reth.va', 2n ** 64n - 1n, 16);
  fields.decimal('infiniband.atomiceth.cmpdt', 2n ** 53n - 1n);
  fields.decimal('infiniband.atomiceth.swapdt', 2n ** 53n);
  fields.begin('infiniband');
  fields.bytes('infiniband.a', Uint8Array.of(1, 0, 0xab, 0, 0));
  fields.bytes('infiniband.b', Uint8Array.of(0, 0));
  fields.bytes('infiniband.c', Uint8Array.of(0, 1));
  fields.bytes('infiniband.d', new Uint8Array(0));
  return fields;
}

describe('a field list', () => {
  it('becomes a record of plain numbers, digits above 2^53 - 1, and text', () => {
    expect(list().toRecord()).toEqual({
      'infiniband.bth.psn': 7,
      'infiniband.bth.p_key': 255,
      'infiniband.reth.va': '18446744073709551615',
      'infiniband.atomiceth.cmpdt': 9007199254740991,
      'infiniband.atomiceth.swapdt': '9007199254740992',
      'infiniband.a': '01:00:ab:00:00',
      'infiniband.b': '00:00',
      'infiniband.c': '00:01',
      'infiniband.d': '',
    });
  });

  it('becomes one line a section, names without what they share with it, zeros at the end counted', () => {
    expect(list().toLines('  ', 120)).toEqual([
      '  infiniband.bth: psn 7, p_key 0x00ff',
      '  infiniband.atomiceth: reth.va 0xffffffffffffffff, cmpdt 9007199254740991, swapdt 9007199254740992',
      '  infiniband: a 01:00:ab + 2 zeros, b 2 zeros, c 00:01, d empty',
    ]);
  });

  it('wraps lines, never inside an item', () => {
    expect(list().toLines('  ', 40).slice(1, 4)).toEqual([
      '  infiniband.atomiceth: reth.va 0xffffffffffffffff,',
      '    cmpdt 9007199254740991,',
      '    swapdt 9007199254740992',
    ]);
  });

  it('pads hex to its digits and never cuts', () => {
    expect([hexNumber(0x12, 6), hexNumber(0x123456789n, 8)]).toEqual(['0x000012', '0x123456789']);
  });
});
