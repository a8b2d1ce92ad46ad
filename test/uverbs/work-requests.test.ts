/**
 * Goal: an entry of a send queue is read as the client has put it there, whatever was read before it. Method: entries
 * laid out as the provider lays them out, all of them before one reader.
 */
import { describe, expect, it } from 'vitest';
import { Prng } from '../../src/ground/prng.ts';
import { WR_ATOMIC, WR_RDMA, WR_UD } from '../../src/uverbs/abi/rxe.ts';
import { Fields } from '../../src/uverbs/fields.ts';
import { NOWHERE } from '../../src/uverbs/process-region.ts';
import { SendReader } from '../../src/uverbs/work-requests.ts';
import { KeyTable } from '../../transport/key-table.ts';
import { Access, ProtectionDomain } from '../../transport/memory.ts';
import { type SendWr, WrOpcode } from '../../transport/work.ts';
import { fill, type SendSpec, sendWqe } from './support/program.ts';

const region = new KeyTable(new Prng(1), 16).register(new ProtectionDomain(1), new Uint8Array(4096), {
  access: Access.LocalWrite,
  iova: 0x1000n,
});
const objects = {
  region: (lkey: number) => (lkey === region.lkey ? region : undefined),
  window: () => undefined,
  handle: () => undefined,
  used: () => undefined,
};
const sges = [{ addr: 0x1010, length: 64, lkey: region.lkey }];
const wr = fill(WR_RDMA, { remote_addr: 0x8000_0001_0002n, rkey: 0x77 });
const target = { remoteAddr: 0x8000_0001_0002n, rkey: 0x77 };
const imm = 0x0102_0304;
const Flag = { Fence: 1, Signaled: 2, Solicited: 4 };

/** An entry, and what it has to become beside `sges`. */
const ENTRIES: readonly (readonly [SendSpec, Partial<SendWr>])[] = [
  [{ opcode: WrOpcode.RdmaWrite, sges, wr }, target],
  [
    { opcode: WrOpcode.RdmaRead, sges, wr, flags: Flag.Fence },
    { ...target, fence: true, signaled: false },
  ],
  [
    { opcode: WrOpcode.Send, sges, flags: Flag.Solicited },
    { solicited: true, signaled: false, fence: false },
  ],
  [
    { opcode: WrOpcode.RdmaWriteWithImm, sges, wr, imm },
    { ...target, immData: imm },
  ],
  [{ opcode: WrOpcode.SendWithImm, sges, imm }, { immData: imm }],
  [{ opcode: WrOpcode.SendWithInv, sges, invalidate: 0x55aa }, { invalidateRkey: 0x55aa }],
];

function reader(bounds = {}): (spec: SendSpec) => SendWr {
  const reads = new SendReader(
    { maxSge: 2, maxInline: 64, datagrams: undefined, allSignaled: false, ...bounds },
    objects,
  );
  let position = 40;
  return (spec) => reads.read(new Fields(sendWqe(spec)), position++);
}

describe('an entry of a send queue', () => {
  it('is what the client has put there, after any other', () => {
    const read = reader();
    for (const [before] of ENTRIES)
      for (const [spec, expected] of ENTRIES) {
        read(before);
        const request = read(spec);
        expect(request).toMatchObject({ opcode: spec.opcode, sges: [{ mr: region, offset: 16, length: 64 }] });
        expect(request).toMatchObject(expected);
        expect(request.inline).toBeUndefined();
      }
  });

  it.each([
    ['COMPARE SWAP', WrOpcode.AtomicCmpAndSwp],
    ['FETCH ADD', WrOpcode.AtomicFetchAndAdd],
  ])('of %s has its operands, and eight bytes of its segments', (_, opcode) => {
    const read = reader();
    read({ opcode: WrOpcode.RdmaWrite, sges, wr });
    const atomic = fill(WR_ATOMIC, { remote_addr: 0x8000, rkey: 0x77, compare_add: 5, swap: 6 });
    expect(read({ opcode, sges, wr: atomic })).toMatchObject({
      ...{ opcode, remoteAddr: 0x8000n, rkey: 0x77, compareAdd: 5n, swap: 6n },
      sges: [{ mr: region, offset: 16, length: 8 }],
    });
  });

  it('has as many segments as the queue pair was made for, and none of no bytes', () => {
    const two = [...sges, { addr: 0x1100, length: 32, lkey: region.lkey }];
    expect(reader({ maxSge: 2 })({ opcode: WrOpcode.RdmaWrite, sges: two, wr }).sges).toEqual([
      { mr: region, offset: 16, length: 64 },
      { mr: region, offset: 256, length: 32 },
    ]);
    const empty = { addr: 0, length: 0, lkey: 0 };
    expect(reader({ maxSge: 2 })({ opcode: WrOpcode.Send, sges: [empty, ...sges] }).sges).toHaveLength(1);
  });

  it('of datagrams has its destination', () => {
    const ah = {} as never;
    const handles = { ...objects, handle: (number: number) => (number === 9 ? ah : undefined) };
    const bounds = { maxSge: 2, maxInline: 64, datagrams: new ProtectionDomain(1), allSignaled: false };
    const read = (values: Parameters<typeof fill>[1], opcode: WrOpcode = WrOpcode.SendWithImm): SendWr =>
      new SendReader(bounds, handles).read(new Fields(sendWqe({ opcode, sges, imm, wr: fill(WR_UD, values) })), 3);
    const to = { remote_qpn: 0x1234, remote_qkey: 0x8765, ah_num: 9 };
    const destination = { ah, remoteQpn: 0x1234, remoteQkey: 0x8765 };
    expect(read(to)).toMatchObject({ ...destination, opcode: WrOpcode.SendWithImm, wrId: 3, immData: imm });
    expect(read(to, WrOpcode.Send)).toMatchObject({ ...destination, sges: [{ mr: region, offset: 16, length: 64 }] });
    for (const failing of [read({ ...to, ah_num: 8 }), read({ ...to, remote_qpn: 0 }), read(to, WrOpcode.RdmaWrite)])
      expect(failing).toMatchObject({ opcode: WrOpcode.Send, sges: [{ mr: NOWHERE, length: 1 }], wrId: 3 });
  });

  it('has its position for an id, whatever the client calls it', () => {
    const read = reader();
    expect([1, 2].map((wrId) => read({ wrId, opcode: WrOpcode.Send }).wrId)).toEqual([40, 41]);
  });

  it('completes always where the queue pair was made so', () => {
    expect(reader({ allSignaled: true })({ opcode: WrOpcode.Send, flags: 0 }).signaled).toBe(true);
  });

  it('is in memory that is nowhere with a key or an address that is not of the region', () => {
    const read = reader();
    for (const wrong of [{ lkey: region.lkey + 1 }, { addr: 0x1fff }, { addr: 0xfff }])
      expect(read({ opcode: WrOpcode.RdmaWrite, wr, sges: [{ ...sges[0], ...wrong } as never] }).sges).toMatchObject([
        { mr: NOWHERE, length: 64 },
      ]);
  });

  it('has its bytes in itself, after one that has them in memory', () => {
    const read = reader();
    read({ opcode: WrOpcode.RdmaWrite, sges, wr });
    const inline = Uint8Array.of(7, 8);
    const request = read({ opcode: WrOpcode.RdmaWrite, inline, wr });
    expect([request.sges, request.inline, request.remoteAddr]).toEqual([undefined, inline, target.remoteAddr]);
  });

  it('fails in its turn with more segments than the queue pair was made for, and with an opcode that there is not', () => {
    const read = reader({ maxSge: 1 });
    const wrong = [{ opcode: WrOpcode.RdmaWrite, sges: [...sges, ...sges], wr }, { opcode: 77 }];
    for (const spec of wrong)
      expect(read({ ...spec, flags: Flag.Signaled | Flag.Fence })).toEqual({
        ...{ wrId: expect.any(Number), opcode: WrOpcode.LocalInv, invalidateRkey: 0 },
        ...{ signaled: true, fence: true, solicited: false },
      });
  });
});
