/**
 * Goal: the bytes are those of rsocket.c. Method: layouts written out by hand from its structures, real private data
 * from a stock rstream, and the round trip as a property.
 */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  type ConnData,
  connDataFault,
  fits,
  messageData,
  messageOp,
  RsCtrl,
  RsOp,
  readConnData,
  readIomap,
  readSge,
  rsMessage,
  scaledValue,
  scaleOf,
  writeConnData,
  writeIomap,
  writeSge,
} from '../../../src/ulp/rsockets/protocol.ts';

const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex');

const DATA: ConnData = {
  version: 1,
  bigEndian: false,
  credits: 384,
  iomapSize: 1,
  targetSgl: { addr: 0x5642_1a2b_3c40n, key: 0x0000_0a51, length: 2 },
  dataBuf: { addr: 0x7f12_3456_7000n, key: 0x0000_0bc2, length: 524_288 },
};
const BYTES =
  '01020180' + '00000001' + '000056421a2b3c40' + '00000a5100000002' + '00007f1234567000' + '00000bc200080000';

describe('private data', () => {
  it('is forty bytes in network order', () => {
    expect(hex(writeConnData(DATA))).toBe(BYTES);
  });

  it('is read back, padding behind it or not', () => {
    expect(readConnData(Buffer.from(BYTES, 'hex'))).toEqual(DATA);
    expect(readConnData(Buffer.from(BYTES + '00'.repeat(16), 'hex'))).toEqual(DATA);
  });

  it('of a real rstream says where its memory is', () => {
    // REQ of `rstream -s 10.77.0.1` on rdma_rxe 6.12, behind the header of the IP connection manager.
    const bytes = Buffer.from(
      '0102018000000000' + '000055bee78c8000' + '0000062000000002' + '00007f85aadd5000' + '0000074d00080000',
      'hex',
    );
    const data = readConnData(bytes);
    expect(data).toEqual({
      version: 1,
      bigEndian: false,
      credits: 384,
      iomapSize: 0,
      targetSgl: { addr: 0x55be_e78c_8000n, key: 0x620, length: 2 },
      dataBuf: { addr: 0x7f85_aadd_5000n, key: 0x74d, length: 1 << 19 },
    });
    expect(data && hex(writeConnData(data))).toBe(hex(bytes));
  });

  it('of a big-endian host without iomaps is told by its flags', () => {
    const bytes = Buffer.from(`0101${BYTES.slice(4)}`, 'hex');
    expect(readConnData(bytes)).toEqual({ ...DATA, bigEndian: true, iomapSize: 0 });
  });

  it('that is too short is none', () => {
    expect(readConnData(Buffer.from(BYTES, 'hex').subarray(0, 39))).toBeUndefined();
  });

  it.each<[string, Partial<ConnData>]>([
    ['version is 2', { version: 2 }],
    ['1 entries', { targetSgl: { ...DATA.targetSgl, length: 1 } }],
    ['4294967295 entries', { targetSgl: { ...DATA.targetSgl, length: 0xffff_ffff } }],
    ['list of buffers is beyond the end', { targetSgl: { ...DATA.targetSgl, addr: 2n ** 64n - 32n } }],
    ['buffer is beyond the end', { dataBuf: { ...DATA.dataBuf, addr: 2n ** 64n - 1n } }],
  ])('is refused when its %s', (fault, change) => {
    expect(connDataFault({ ...DATA, ...change })).toContain(fault);
  });

  it('of any bytes is read without a throw, and what has no fault is written as it was', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 60 }), (bytes) => {
        const data = readConnData(bytes);
        expect(data === undefined).toBe(bytes.length < 40);
        if (connDataFault(data) === undefined && data !== undefined)
          expect(readConnData(writeConnData(data))).toEqual(data);
      }),
    );
  });

  it('without a fault passes', () => {
    expect(connDataFault(DATA)).toBeUndefined();
  });
});

describe('a message', () => {
  it('has its type in three bits and its data in the rest', () => {
    expect(rsMessage(RsOp.Data, 1024)).toBe(0x0000_0400);
    expect(rsMessage(RsOp.Sgl, 384)).toBe(0x8000_0180);
    expect(rsMessage(RsOp.IomapSgl, 3)).toBe(0xc000_0003);
    expect(rsMessage(RsOp.Ctrl, RsCtrl.Disconnect)).toBe(0xe000_0000);
    expect(rsMessage(RsOp.Ctrl, RsCtrl.Keepalive)).toBe(0xe000_0001);
    expect(rsMessage(RsOp.Ctrl, RsCtrl.Shutdown)).toBe(0xe000_0002);
    expect([messageOp(0xbfff_ffff), messageData(0xbfff_ffff)]).toEqual([5, 0x1fff_ffff]);
  });
});

describe('an entry in memory', () => {
  it('is in the order of the host that owns the memory', () => {
    const view = new DataView(new ArrayBuffer(24));
    writeSge(view, 0, DATA.dataBuf, true);
    expect(hex(new Uint8Array(view.buffer, 0, 16))).toBe('00705634127f0000c20b000000000800');
    writeIomap(view, 0, { offset: 2n, sge: DATA.dataBuf }, false);
    expect(hex(new Uint8Array(view.buffer))).toBe('000000000000000200007f123456700000000bc200080000');
  });

  it('of a real riostream names the second half of its buffer', () => {
    // Payload of its first WRITE with immediate 0x80000180 (rdma_rxe 6.12).
    const bytes = Buffer.from('00d07038c07f0000' + '4e0a000000000800', 'hex');
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    expect(readSge(view, 0, true)).toEqual({ addr: 0x7fc0_3870_d000n, key: 0xa4e, length: 1 << 19 });
  });

  it('is read as it was written', () => {
    const sge = fc.record({
      addr: fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }),
      key: fc.nat(0xffff_ffff),
      length: fc.nat(0xffff_ffff),
    });
    fc.assert(
      fc.property(fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }), sge, fc.boolean(), (offset, entry, little) => {
        const view = new DataView(new ArrayBuffer(40));
        writeIomap(view, 16, { offset, sge: entry }, little);
        writeSge(view, 0, entry, little);
        expect(readIomap(view, 16, little)).toEqual({ offset, sge: entry });
        expect(readSge(view, 0, little)).toEqual(entry);
      }),
    );
  });

  it('fits when its last byte is within 64 bits', () => {
    expect([fits(2n ** 64n - 16n, 16), fits(2n ** 64n - 16n, 17)]).toEqual([true, false]);
  });
});

describe('the size of an iomap', () => {
  it.each([
    [0, 0, 0],
    [1, 1, 1],
    [128, 128, 128],
    [129, 128, 128],
    [300, 129, 256],
    [32_512, 255, 32_512],
  ])('of %i travels as %i and means %i', (value, scale, meant) => {
    expect([scaleOf(value), scaledValue(scale)]).toEqual([scale, meant]);
  });
});
