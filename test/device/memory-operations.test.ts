/**
 * Memory windows, fast registration, FLUSH and ATOMIC WRITE through the verbs of two connected devices. Goal: what an
 * application writes with them works end to end, and misuse has the code that verbs document. Method: the simulated
 * world; details are test/transport's.
 */
import { describe, expect, it } from 'vitest';
import { Access, type Cq, FlushLevel, FlushType, type Qp, RoceError, type SendWr, WrOpcode } from '../../src/index.ts';
import { ALL, connect, makeSide } from './support.ts';

const refusal = (call: () => void): string => {
  try {
    call();
    return 'ok';
  } catch (error) {
    return error instanceof RoceError ? `${error.code} ${error.errno}` : String(error);
  }
};

/** Posts, and the status of the completion. */
async function done(world: { run<T>(p: Promise<T>): Promise<T> }, qp: Qp, cq: Cq, wr: SendWr): Promise<number> {
  qp.postSend(wr);
  const { value } = await world.run(cq.next());
  return value.status;
}

describe('memory operations of two devices', () => {
  it('lend a window of a region, take it back, and lend another', async () => {
    const { world, left, right } = await connect();
    const mr = right.pd.regMr(4096, { access: ALL | Access.MwBind });
    const mw = right.pd.allocMw();
    const bind = { mr, addr: mr.iova + 64n, length: 64, access: Access.RemoteWrite };
    const bindWr: SendWr = { wrId: 1, opcode: WrOpcode.BindMw, mw, rkey: (mw.rkey ^ 0x55) >>> 0, bind };
    expect(await done(world, right.qp, right.cq, bindWr)).toBe(0);
    const write: SendWr = {
      wrId: 2,
      opcode: WrOpcode.RdmaWrite,
      remoteAddr: mr.iova + 64n,
      rkey: mw.rkey,
      inline: Uint8Array.of(1, 2, 3),
    };
    expect(await done(world, left.qp, left.cq, write)).toBe(0);
    expect([...mr.bytes.subarray(64, 67)]).toEqual([1, 2, 3]);
    expect(refusal(() => right.pd.deregMr(mr))).toBe('ERR_ROCE_IN_USE EBUSY');
    const inv: SendWr = { wrId: 3, opcode: WrOpcode.LocalInv, invalidateRkey: mw.rkey };
    expect(await done(world, right.qp, right.cq, inv)).toBe(0);
    expect(await done(world, left.qp, left.cq, write)).toBe(10);
    mw.dealloc();
    expect(refusal(() => mw.dealloc())).toBe('ERR_ROCE_STATE EINVAL');
    right.pd.deregMr(mr);
  });

  it('a destroyed queue pair leaves its windows unbound', async () => {
    const { world, right } = await connect();
    const mr = right.pd.regMr(4096, { access: ALL | Access.MwBind });
    const mw = right.pd.allocMw();
    const bind = { mr, addr: mr.iova, length: 8, access: Access.RemoteRead };
    await done(world, right.qp, right.cq, { wrId: 1, opcode: WrOpcode.BindMw, mw, rkey: 1, bind });
    expect([mr.windows, mw.grant?.valid]).toEqual([1, true]);
    right.qp.destroy();
    expect([mr.windows, mw.grant]).toEqual([0, undefined]);
    right.pd.deregMr(mr);
  });

  it('register memory by a work request, for a peer that takes it away again', async () => {
    const { world, left, right } = await connect();
    const mr = right.pd.allocMr(100);
    const memory = Uint8Array.from({ length: 100 }, (_, i) => i);
    const reg = { mr, memory, iova: 0n, length: 100, access: Access.RemoteRead, key: (mr.rkey ^ 1) >>> 0 };
    expect(await done(world, right.qp, right.cq, { wrId: 1, opcode: WrOpcode.RegMr, reg })).toBe(0);
    const read: SendWr = {
      wrId: 2,
      opcode: WrOpcode.RdmaRead,
      remoteAddr: 10n,
      rkey: mr.rkey,
      sges: [{ mr: left.mr, length: 4 }],
    };
    expect(await done(world, left.qp, left.cq, read)).toBe(0);
    expect([...left.mr.bytes.subarray(0, 4)]).toEqual([10, 11, 12, 13]);
    right.qp.postRecv({ wrId: 3 });
    const send: SendWr = { wrId: 4, opcode: WrOpcode.SendWithInv, invalidateRkey: mr.rkey };
    expect(await done(world, left.qp, left.cq, send)).toBe(0);
    expect(mr.valid).toBe(false);
    right.pd.deregMr(mr);
    expect(refusal(() => right.pd.allocMr(0))).toBe('ERR_ROCE_ARGUMENT EINVAL');
  });

  it('FLUSH what was written, and write a word at once, over a connection of the connection manager', async () => {
    const { world, left, right } = await connect();
    const durable: number[][] = [];
    const mr = right.pd.regMr(64, {
      access: ALL | Access.FlushPersistent,
      persistent: (at, length) => durable.push([at, length, mr.bytes[at] ?? -1]),
    });
    const target = { remoteAddr: mr.iova + 8n, rkey: mr.rkey };
    const word = Uint8Array.of(8, 7, 6, 5, 4, 3, 2, 1);
    left.qp.postSend({ wrId: 1, opcode: WrOpcode.AtomicWrite, inline: word, signaled: false, ...target });
    const flush = { type: FlushType.Persistent, level: FlushLevel.Range };
    expect(await done(world, left.qp, left.cq, { wrId: 2, opcode: WrOpcode.Flush, flush, length: 8, ...target })).toBe(
      0,
    );
    expect(durable).toEqual([[8, 8, 8]]);
    expect([...mr.bytes.subarray(8, 16)]).toEqual([...word]);
  });

  it('refuse what a region or a domain cannot be asked for', () => {
    return connect().then(({ b, right }) => {
      expect(refusal(() => right.pd.regMr(8, { access: Access.FlushPersistent }))).toBe('ERR_ROCE_ARGUMENT EINVAL');
      expect(refusal(() => right.pd.regMr(8, { access: Access.ZeroBased }))).toBe('ERR_ROCE_ARGUMENT EINVAL');
      const side = makeSide(b);
      side.qp.destroy();
      side.pd.deregMr(side.mr);
      const mw = side.pd.allocMw();
      expect(refusal(() => side.pd.dealloc())).toBe('ERR_ROCE_IN_USE EBUSY');
      mw.dealloc();
      expect(refusal(() => side.pd.dealloc())).toBe('ok');
    });
  });
});
