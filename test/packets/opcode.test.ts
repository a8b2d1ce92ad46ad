/**
 * Self-tests of the opcode table. The expectation of ref:wire#5 is typed here once more, independently of the rows in
 * the source.
 */

import { describe, expect, it } from 'vitest';
import {
  AETH_AT,
  ATOMIC_ACK_ETH_AT,
  ATOMIC_ETH_AT,
  DETH_AT,
  FETH_AT,
  HEADER_BYTES,
  type HeaderName,
  IETH_AT,
  IMM_AT,
  OPCODE_FLAGS,
  OPCODE_HEADER_BYTES,
  OPCODES,
  Op,
  OpFlag,
  opcodeInfo,
  RDETH_AT,
  RETH_AT,
  SERVICE_MASK,
  Service,
  XRCETH_AT,
} from '../../packets/opcode.ts';

const known = OPCODES.filter((info) => info.known);
const codesOf = (service: number) => known.filter((info) => info.service === service).map((info) => info.code);
const range = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, i) => from + i);

/** ref:wire#5: RC headers after the BTH. */
const RC_HEADERS: ReadonlyMap<number, string> = new Map([
  ...[0x00, 0x01, 0x02, 0x04, 0x07, 0x08, 0x0e].map((code) => [code, ''] as const),
  ...[0x03, 0x05, 0x09].map((code) => [code, 'ImmDt'] as const),
  ...[0x06, 0x0a, 0x0c, 0x1d].map((code) => [code, 'RETH'] as const),
  [0x0b, 'RETH ImmDt'],
  ...[0x0d, 0x0f, 0x10, 0x11].map((code) => [code, 'AETH'] as const),
  [0x12, 'AETH AtomicAckETH'],
  ...[0x13, 0x14].map((code) => [code, 'AtomicETH'] as const),
  ...[0x16, 0x17].map((code) => [code, 'IETH'] as const),
  [0x1c, 'FETH RETH'],
]);

const OFFSETS: Readonly<Record<Exclude<HeaderName, 'CNP'>, Int8Array>> = {
  RDETH: RDETH_AT,
  DETH: DETH_AT,
  XRCETH: XRCETH_AT,
  FETH: FETH_AT,
  RETH: RETH_AT,
  AETH: AETH_AT,
  AtomicETH: ATOMIC_ETH_AT,
  AtomicAckETH: ATOMIC_ACK_ETH_AT,
  ImmDt: IMM_AT,
  IETH: IETH_AT,
};

describe('opcode table', () => {
  it('knows exactly the opcodes of each service', () => {
    expect(codesOf(Service.Rc)).toEqual([...range(0x00, 0x14), 0x16, 0x17, 0x1c, 0x1d]);
    expect(codesOf(Service.Uc)).toEqual(range(0x20, 0x2b));
    expect(codesOf(Service.Rd)).toEqual(range(0x40, 0x55));
    expect(codesOf(Service.Ud)).toEqual([0x64, 0x65]);
    expect(codesOf(Service.Cnp)).toEqual([0x81]);
    expect(codesOf(Service.Xrc)).toEqual([...range(0xa0, 0xb4), 0xb6, 0xb7]);
    expect(known.length).toBe(25 + 12 + 22 + 2 + 1 + 23);
  });

  it('has the header composition of wire.md section 5 for RC and UC', () => {
    for (const code of codesOf(Service.Rc)) expect(opcodeInfo(code).headers.join(' ')).toBe(RC_HEADERS.get(code));
    for (const code of codesOf(Service.Uc)) {
      expect(opcodeInfo(code).headers.join(' ')).toBe(RC_HEADERS.get(code & ~SERVICE_MASK));
    }
    expect(RC_HEADERS.size).toBe(codesOf(Service.Rc).length);
  });

  it('puts the datagram and XRC headers first', () => {
    expect(opcodeInfo(0x64).headers).toEqual(['DETH']);
    expect(opcodeInfo(0x65).headers).toEqual(['DETH', 'ImmDt']);
    expect(opcodeInfo(0x4b).headers).toEqual(['RDETH', 'DETH', 'RETH', 'ImmDt']);
    expect(opcodeInfo(0x52).headers).toEqual(['RDETH', 'AETH', 'AtomicAckETH']);
    expect(opcodeInfo(0x55).headers).toEqual(['RDETH', 'DETH']);
    expect(opcodeInfo(0xa6).headers).toEqual(['XRCETH', 'RETH']);
    expect(opcodeInfo(0xb7).headers).toEqual(['XRCETH', 'IETH']);
    expect(opcodeInfo(0xad).headers).toEqual(['AETH']);
    expect(opcodeInfo(0x81).headers).toEqual(['CNP']);
  });

  it('names every known opcode, and no two alike', () => {
    expect(new Set(OPCODES.map((info) => info.name)).size).toBe(256);
    for (const info of known) expect(info.name).toMatch(/^(CNP|(RC|UC|RD|UD|XRC) [A-Z].+)$/);
    expect(
      [Op.SendFirst, Op.ReadResponseOnly, Op.UdSendOnlyImm, Op.Cnp, 0x15].map((code) => opcodeInfo(code).name),
    ).toEqual(['RC SEND First', 'RC RDMA READ response Only', 'UD SEND Only with Immediate', 'CNP', 'Unknown (0x15)']);
  });

  it('derives header bytes and offsets from the header list', () => {
    for (const { code, headers, headerBytes } of OPCODES) {
      let at = 12;
      for (const name of headers) {
        if (name !== 'CNP') expect(OFFSETS[name][code]).toBe(at);
        at += HEADER_BYTES[name];
      }
      expect(headerBytes).toBe(at - 12);
      expect(OPCODE_HEADER_BYTES[code]).toBe(headerBytes);
      const present = Object.values(OFFSETS).filter((offsets) => offsets[code] !== -1).length;
      expect(present).toBe(headers.filter((name) => name !== 'CNP').length);
    }
  });

  it('has flags exactly for known opcodes', () => {
    for (const info of OPCODES) {
      expect(info.flags !== 0).toBe(info.known);
      expect(OPCODE_FLAGS[info.code]).toBe(info.flags);
      expect(info.headers.length > 0).toBe(info.headerBytes > 0);
    }
  });

  it('makes every known opcode but the CNP a request or a response, of one operation, at one place in its message', () => {
    const kinds = [OpFlag.Request, OpFlag.Response];
    const places = [OpFlag.First, OpFlag.Middle, OpFlag.Last, OpFlag.Only];
    const { Send, Write, Read, Atomic, Ack, ReadResponse, AtomicAck, Flush, AtomicWrite, Resync } = OpFlag;
    const operations = [Send, Write, Read, Atomic, Ack, ReadResponse, AtomicAck, Flush, AtomicWrite, Resync];
    for (const { code, flags } of known) {
      const count = (bits: readonly number[]) => bits.filter((bit) => (flags & bit) !== 0).length;
      const expected = code === Op.Cnp ? 0 : 1;
      expect([count(kinds), count(places), count(operations)]).toEqual([expected, expected, expected]);
    }
  });

  it('sets Imm, Invalidate and the acknowledgement flags where their headers are', () => {
    for (const { flags, headers } of known) {
      expect((flags & OpFlag.Imm) !== 0).toBe(headers.includes('ImmDt'));
      expect((flags & OpFlag.Invalidate) !== 0).toBe(headers.includes('IETH'));
      expect((flags & OpFlag.AtomicAck) !== 0).toBe(headers.includes('AtomicAckETH'));
      expect((flags & OpFlag.Atomic) !== 0).toBe(headers.includes('AtomicETH'));
      expect((flags & OpFlag.Flush) !== 0).toBe(headers.includes('FETH'));
    }
  });

  it('says which opcodes may carry payload', () => {
    const without = codesOf(Service.Rc).filter((code) => (opcodeInfo(code).flags & OpFlag.Payload) === 0);
    expect(without).toEqual([0x0c, 0x11, 0x12, 0x13, 0x14, 0x1c]);
    expect(opcodeInfo(Op.Cnp).flags & OpFlag.Payload).toBe(0);
  });

  it('has a constant for every RC operation, with its value', () => {
    const constants = new Set<number>(Object.values(Op));
    for (const code of codesOf(Service.Rc)) expect(constants.has(code)).toBe(true);
    expect([Op.WriteOnlyImm, Op.Acknowledge, Op.Flush, Op.AtomicWrite]).toEqual([0x0b, 0x11, 0x1c, 0x1d]);
  });
});
