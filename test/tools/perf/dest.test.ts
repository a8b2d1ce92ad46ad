/**
 * Goal: what two sides tell of a queue pair is what perftest tells, byte for byte.
 * Method: a line of the stock program, as it was seen on the wire, is read and written again; others by chance both
 * ways.
 */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { IpAddress } from '../../../src/index.ts';
import {
  DEST_RECORD_BYTES,
  DEST_TEXT_BYTES,
  type PerfDest,
  readDestRecord,
  readDestText,
  writeDestRecord,
  writeDestText,
} from '../../../tools/perf/dest.ts';

/** ib_write_bw of perftest 4.5+0.17 in a guest at 10.77.0.2. */
const STOCK_LINE =
  '0000:0001:000011:3a581e:00000233:00005584d8864000:' + '00:00:00:00:00:00:00:00:00:00:ff:ff:0a:4d:00:02:00000000:\0';
const STOCK: PerfDest = {
  lid: 0,
  outReads: 1,
  qpn: 0x11,
  psn: 0x3a_58_1e,
  rkey: 0x2_33,
  vaddr: 0x55_84_d8_86_40_00n,
  gid: IpAddress.parse('10.77.0.2'),
  srqn: 0,
  gidIndex: 0,
};

const word = fc.nat(0xff_ff_ff_ff);
const anyDest = fc.record({
  lid: fc.nat(0xff_ff),
  outReads: fc.nat(0xff),
  qpn: fc.nat(0xff_ff_ff),
  psn: fc.nat(0xff_ff_ff),
  rkey: word,
  vaddr: fc.bigInt({ min: 0n, max: 0xff_ff_ff_ff_ff_ff_ff_ffn }),
  gid: fc.tuple(word, word, word, word).map((words) => new IpAddress(6, ...words)),
  srqn: word,
  gidIndex: fc.constant(0),
});

describe('a queue pair told over TCP', () => {
  it('is the line of the stock program', () => {
    expect(STOCK_LINE).toHaveLength(DEST_TEXT_BYTES);
    expect(readDestText(new TextEncoder().encode(STOCK_LINE))).toEqual(STOCK);
    expect(new TextDecoder().decode(writeDestText(STOCK))).toBe(STOCK_LINE);
  });

  it('is read as it was written, whatever its numbers', () => {
    fc.assert(fc.property(anyDest, (dest) => void expect(readDestText(writeDestText(dest))).toEqual(dest)));
  });

  it('is refused when it is something else', () => {
    fc.assert(
      fc.property(fc.uint8Array({ minLength: DEST_TEXT_BYTES, maxLength: DEST_TEXT_BYTES }), (bytes) => {
        expect(() => readDestText(bytes)).toThrow(/does not introduce itself/);
      }),
    );
  });
});

describe('a queue pair told over a queue pair', () => {
  it("has perftest's record: words big-endian, the address at 24, the GID at 32", () => {
    const bytes = writeDestRecord(STOCK);
    const hex = Buffer.from(bytes).toString('hex');
    expect(bytes).toHaveLength(DEST_RECORD_BYTES);
    expect(hex).toBe(
      '000000000000000100000011003a581e0000023300000000' +
        '00005584d8864000' +
        '00000000000000000000ffff0a4d0002' +
        '0000000000000000',
    );
  });

  it('is read as it was written, and refused when it is too short', () => {
    fc.assert(fc.property(anyDest, (dest) => void expect(readDestRecord(writeDestRecord(dest))).toEqual(dest)));
    expect(() => readDestRecord(new Uint8Array(55))).toThrow(/55 bytes/);
  });
});
