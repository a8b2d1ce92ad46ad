// Goal: fields have tshark's names and exact values. Method: made frames for what rxe never sent; real traffic is
// compared with tshark in test/interop/captures.test.ts.

import { describe, expect, it } from 'vitest';
import { writeAeth } from '../../packets/aeth.ts';
import { writeAtomicEth } from '../../packets/atomic-eth.ts';
import { frameFields } from '../../packets/frame-fields.ts';
import { Op } from '../../packets/opcode.ts';
import { make, parse } from './made-frames.ts';

function fieldsOf(bytes: Uint8Array) {
  const { frame, status, icrcOk } = parse(bytes);
  return frameFields(frame, status, icrcOk);
}

describe('frameFields', () => {
  it('gives plain numbers, and digits where a number would not be exact', () => {
    const fields = fieldsOf(
      make(Op.FetchAdd, (view, at) => writeAtomicEth(view, at, 0x1fffff, 0xffffffff, 3, 0x200000, 1, 0, 0)),
    );
    expect(fields).toMatchObject({
      'infiniband.bth.opcode': 0x14,
      'infiniband.bth.psn': 1234,
      'infiniband.reth.va': Number.MAX_SAFE_INTEGER,
      'infiniband.atomiceth.swapdt': '9007199254740993',
      'infiniband.atomiceth.cmpdt': 0,
      'ip.src': '10.77.0.2',
      'roce.icrc.status': 'good',
      'roce.frame.status': 'Ok',
    });
  });

  it('splits a syndrome as tshark does', () => {
    const syndromeOf = (syndrome: number) =>
      fieldsOf(make(Op.Acknowledge, (view, at) => writeAeth(view, at, syndrome, 3)));
    expect(syndromeOf(0x2c)).toMatchObject({
      'infiniband.aeth.syndrome.opcode': 1,
      'infiniband.aeth.syndrome.timer': 12,
    });
    expect(syndromeOf(0x61)).toMatchObject({
      'infiniband.aeth.syndrome.opcode': 3,
      'infiniband.aeth.syndrome.error_code': 1,
    });
    expect(syndromeOf(0x41)).toMatchObject({ 'infiniband.aeth.syndrome.reserved_value': 1 });
    expect(syndromeOf(0x9f)).toMatchObject({
      'infiniband.aeth.syndrome.reserved': 1,
      'infiniband.aeth.syndrome.credit_count': 31,
    });
  });

  it('says a wrong ICRC, and nothing of it where there is none', () => {
    const bytes = make(Op.SendOnly);
    bytes[bytes.length - 1] = (bytes.at(-1) ?? 0) ^ 0xff;
    expect(fieldsOf(bytes)['roce.icrc.status']).toBe('bad');
    const malformed = fieldsOf(make(0x1f));
    expect(malformed).toMatchObject({ 'roce.frame.status': 'UnknownOpcode', 'infiniband.bth.opcode': 0x1f });
    expect(malformed).not.toHaveProperty('roce.icrc.status');
  });

  it('has the tag of a VLAN', () => {
    const fields = fieldsOf(make(Op.SendOnly, undefined, { vlanTci: 0x6064 }));
    expect(fields).toMatchObject({ 'eth.type': 0x8100, 'vlan.priority': 3, 'vlan.id': 100, 'vlan.etype': 0x0800 });
  });
});
