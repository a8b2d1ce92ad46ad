/**
 * Goal: the words before a pingpong are those of the published programs, byte for byte.
 * Method: lines as ibv_rc_pingpong and ibv_xsrq_pingpong print them with `-g`, written and read; then lines that are
 * none.
 */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { IpAddress } from '../../../src/index.ts';
import {
  DEST_BYTES,
  DONE,
  END,
  gidName,
  readDest,
  readXsrqDest,
  writeDest,
  writeXsrqDest,
  XSRQ_DEST_BYTES,
} from '../../../tools/pingpong/protocol.ts';

const text = (bytes: Uint8Array): string => new TextDecoder().decode(bytes);
const bytes = (line: string): Uint8Array => new TextEncoder().encode(line);
const gid = IpAddress.parse('10.77.0.2');

describe('a pingpong address', () => {
  it('is text of 52 bytes, a zero byte at its end', () => {
    const line = writeDest({ lid: 0, qpn: 0x11, psn: 0xabcdef, gid });
    expect(text(line)).toBe('0000:000011:abcdef:00000000000000000000ffff0a4d0002\0');
    expect(line.length).toBe(DEST_BYTES);
    expect(DEST_BYTES).toBe(52);
  });

  it('of xsrq_pingpong has two queue pairs and a shared receive queue', () => {
    const line = writeXsrqDest({ lid: 0, recvQpn: 0x11, sendQpn: 0x12, psn: 3, srqn: 4, gid: undefined });
    expect(text(line)).toBe(`0000:000011:000012:000003:000004:${'0'.repeat(32)}\0`);
    expect(line.length).toBe(XSRQ_DEST_BYTES);
    expect(XSRQ_DEST_BYTES).toBe(66);
  });

  it('is read as it was written', () => {
    const number = fc.nat(0xff_ff_ff);
    const address = fc.option(fc.constantFrom('10.0.0.1', 'fd77::1', 'fe80::5054:ff:fe12:3456').map(IpAddress.parse));
    fc.assert(
      fc.property(number, number, number, number, address, (qpn, sendQpn, psn, srqn, to) => {
        const dest = { lid: 0, qpn, psn, gid: to ?? undefined };
        expect(readDest(writeDest(dest))).toEqual(dest);
        const xsrq = { lid: 0, recvQpn: qpn, sendQpn, psn, srqn, gid: to ?? undefined };
        expect(readXsrqDest(writeXsrqDest(xsrq))).toEqual(xsrq);
      }),
    );
  });

  it.each([
    ['nothing', ''],
    ['another word', 'GET / HTTP/1.1\r\n'],
    ['a number too few', `0000:000011:${'0'.repeat(32)}\0`],
    ['a number that is none', `0000:00001g:000001:${'0'.repeat(32)}\0`],
    ['a GID that is too short', '0000:000011:000001:00ff\0'],
    ['no zero byte at its end', `0000:000011:000001:${'0'.repeat(32)}`],
  ])('is not %s', (_, line) => {
    expect(() => readDest(bytes(line))).toThrow(expect.objectContaining({ code: 'ERR_ROCE_ARGUMENT' }));
  });

  it('is printed as inet_ntop prints a GID', () => {
    expect(gidName(gid)).toBe('::ffff:10.77.0.2');
    expect(gidName(IpAddress.parse('fd77::1'))).toBe('fd77::1');
    expect(gidName(undefined)).toBe('::');
  });
});

it('the last words have their zero bytes', () => {
  expect([...DONE]).toEqual([...bytes('done\0')]);
  expect([...END]).toEqual([...bytes('END\0')]);
});
