/**
 * Goal: keys that work requests make, lend and kill open the same wherever the stack runs, and both threads know what
 * they open; and so do the operations that need them. Method: the same conversations with a device in this thread and
 * with one in a worker.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  Access,
  FlushLevel,
  FlushType,
  type MemoryRegion,
  type RdmaMw,
  type SendWr,
  WcOpcode,
  WcStatus,
  WrOpcode,
} from '../../../src/index.ts';
import {
  ALL,
  type Cable,
  connectSides,
  type Joined,
  makeSide,
  openCable,
  PLACEMENTS,
  refusal,
  type Side,
  success,
  until,
} from './support.ts';

const BINDABLE = ALL | Access.MwBind;
const nextKey = (key: number) => ((key & ~0xff) | ((key + 1) & 0xff)) >>> 0;
const sharedBytes = (bytes: number) => new Uint8Array(new SharedArrayBuffer(bytes));

const bindMw = (wrId: number, mw: RdmaMw, mr: MemoryRegion, more: object = {}): SendWr => ({
  wrId,
  opcode: WrOpcode.BindMw,
  mw,
  rkey: nextKey(mw.rkey),
  bind: { mr, addr: mr.iova + 8n, length: 64, access: Access.RemoteRead | Access.RemoteWrite, ...more },
});
const regMr = (wrId: number, mr: MemoryRegion, more: object = {}): SendWr => ({
  wrId,
  opcode: WrOpcode.RegMr,
  reg: { mr, iova: 0x5000n, length: 64, access: ALL, key: nextKey(mr.rkey), ...more },
});
const localInv = (wrId: number, invalidateRkey: number): SendWr => ({
  wrId,
  opcode: WrOpcode.LocalInv,
  invalidateRkey,
});

describe.each(PLACEMENTS)('a device in the thread of the %s', (placement) => {
  let cable: Cable;
  let joined: Joined;
  beforeAll(async () => {
    cable = await openCable(placement);
  });
  afterAll(() => cable.close());

  /** Two sides that are connected, ours first or theirs. */
  async function* directions(): AsyncGenerator<readonly [Side, Side]> {
    for (const oursFirst of [true, false]) {
      joined = await connectSides(cable);
      yield oursFirst ? [joined.ours, joined.theirs] : [joined.theirs, joined.ours];
    }
  }

  async function status({ cq }: Side): Promise<number> {
    return (await cq.next()).value?.status ?? -1;
  }

  const write = ({ qp }: Side, rkey: number, remoteAddr: bigint, byte: number) =>
    qp.postSend({ wrId: 90, opcode: WrOpcode.RdmaWrite, inline: Uint8Array.of(byte), remoteAddr, rkey });

  it('lends a part of a region through a window, until either side ends it', async () => {
    for await (const [from, peer] of directions()) {
      const { pd, qp, cq } = from;
      const mr = pd.regMr(256, { access: BINDABLE });
      const mw = pd.allocMw();
      const first = mw.rkey;
      expect([mw.grant, mw.region, mr.windows]).toEqual([undefined, undefined, 0]);
      qp.postSend(bindMw(1, mw, mr));
      expect(await success(cq)).toMatchObject({ wrId: 1, opcode: WcOpcode.BindMw });
      expect([mw.rkey, mw.region, mr.windows]).toEqual([nextKey(first), mr, 1]);
      expect(mw.grant).toMatchObject({ key: mw.rkey, iova: mr.iova + 8n, length: 64, qpn: qp.qpn, valid: true });
      write(peer, mw.rkey, mr.iova + 8n, 0x42);
      await success(peer.cq);
      expect([mr.bytes[8], mw.grant?.bytes[0]]).toEqual([0x42, 0x42]);
      expect(refusal(() => pd.deregMr(mr))).toBe('ERR_ROCE_IN_USE: 1 memory windows are bound to the region');
      expect(mr.valid).toBe(true);
      // Zero-based, after our own end of the first loan.
      const { grant } = mw;
      qp.postSend(localInv(2, mw.rkey));
      qp.postSend({ ...bindMw(3, mw, mr, { access: Access.RemoteWrite | Access.ZeroBased }), rkey: mw.rkey + 7 });
      expect([(await success(cq)).opcode, (await success(cq)).opcode]).toEqual([WcOpcode.LocalInv, WcOpcode.BindMw]);
      expect([grant?.valid, mw.rkey & 0xff]).toEqual([false, (first + 8) & 0xff]);
      write(peer, mw.rkey, 3n, 0x43);
      await success(peer.cq);
      expect(mr.bytes[11]).toBe(0x43);
      // The peer ends the second.
      qp.postRecv({ wrId: 4 });
      peer.qp.postSend({ wrId: 5, opcode: WrOpcode.SendWithInv, invalidateRkey: mw.rkey });
      expect(await success(cq)).toMatchObject({ wrId: 4, invalidatedRkey: mw.rkey });
      expect([mw.grant, mw.region, mr.windows]).toEqual([undefined, undefined, 0]);
      await success(peer.cq);
      write(peer, mw.rkey, 3n, 0x44);
      expect([await status(peer), mr.bytes[11]]).toEqual([WcStatus.RemAccessErr, 0x43]);
      mw.dealloc();
      expect(refusal(() => mw.dealloc())).toBe('ERR_ROCE_STATE: the memory window is freed');
      pd.deregMr(mr);
    }
  });

  it('ends a loan with its queue pair, or with its window', async () => {
    for await (const [from] of directions()) {
      const { pd, qp, cq } = from;
      const mr = pd.regMr(256, { access: BINDABLE });
      const [one, two] = [pd.allocMw(), pd.allocMw()];
      qp.postSend({ ...bindMw(1, one, mr), signaled: false });
      qp.postSend(bindMw(2, two, mr));
      expect((await success(cq)).wrId).toBe(2);
      expect([mr.windows, one.region, two.region]).toEqual([2, mr, mr]);
      two.dealloc();
      expect([mr.windows, two.region]).toEqual([1, undefined]);
      qp.destroy();
      expect([mr.windows, one.grant]).toEqual([0, undefined]);
      one.dealloc();
      pd.deregMr(mr);
    }
  });

  it('gives a region its memory and keys by work requests, over and over', async () => {
    for await (const [from, peer] of directions()) {
      const { pd, qp, cq } = from;
      const mr = pd.allocMr(100);
      expect([mr.valid, mr.length, mr.fast, mr.maxBytes]).toEqual([false, 0, true, 100]);
      const [left, right] = [sharedBytes(100), sharedBytes(200)];
      const key = mr.rkey;
      qp.postSend(regMr(1, mr, { memory: left }));
      expect(await success(cq)).toMatchObject({ wrId: 1, opcode: WcOpcode.RegMr });
      expect(mr).toMatchObject({ rkey: nextKey(key), valid: true, length: 64, iova: 0x5000n, access: ALL });
      mr.bytes[1] = 7;
      expect(left[1]).toBe(7);
      write(peer, mr.rkey, 0x5002n, 9);
      await success(peer.cq);
      expect([...left.subarray(0, 4)]).toEqual([0, 7, 9, 0]);
      // It serves as local memory as well.
      peer.qp.postRecv({ wrId: 3, sges: [{ mr: peer.mr, length: 100 }] });
      qp.postSend({ wrId: 2, opcode: WrOpcode.Send, sges: [{ mr, length: 3 }] });
      expect([(await success(cq)).wrId, (await success(peer.cq)).byteLen]).toEqual([2, 3]);
      expect([...peer.mr.bytes.subarray(0, 3)]).toEqual([0, 7, 9]);
      // Killed, and at once given other memory: one look sees only the second.
      const { grant } = mr;
      qp.postSend({ ...localInv(4, mr.rkey), signaled: false });
      qp.postSend(regMr(5, mr, { memory: right.subarray(50), iova: 0n, length: 100 }));
      expect((await success(cq)).wrId).toBe(5);
      expect([grant.valid, mr.valid, mr.length, mr.iova, mr.bytes.byteOffset]).toEqual([false, true, 100, 0n, 50]);
      write(peer, mr.rkey, 99n, 5);
      await success(peer.cq);
      expect(right[149]).toBe(5);
      // Killed by the peer, then given the same memory without naming it.
      qp.postRecv({ wrId: 6 });
      peer.qp.postSend({ wrId: 6, opcode: WrOpcode.SendWithInv, invalidateRkey: mr.rkey });
      await success(cq);
      await success(peer.cq);
      expect(mr.valid).toBe(false);
      qp.postSend(regMr(7, mr, { length: 10 }));
      await success(cq);
      expect([mr.valid, mr.length, mr.bytes.buffer === right.buffer, mr.bytes.byteOffset]).toEqual([
        true,
        10,
        true,
        50,
      ]);
      pd.deregMr(mr);
      expect(refusal(() => pd.deregMr(mr))).toBe('ERR_ROCE_STATE: the region is not registered');
    }
  });

  it.each([
    [
      'a window that is bound',
      WcStatus.MwBindErr,
      (pd: Side['pd'], mr: MemoryRegion) => {
        const mw = pd.allocMw();
        return [{ ...bindMw(1, mw, mr), signaled: false }, bindMw(2, mw, mr)];
      },
    ],
    ['a region that lends nothing', WcStatus.MwBindErr, (pd: Side['pd']) => [bindMw(2, pd.allocMw(), pd.regMr(256))]],
    [
      'a region that is too short',
      WcStatus.MwBindErr,
      (pd: Side['pd'], mr: MemoryRegion) => [bindMw(2, pd.allocMw(), mr, { length: 249 })],
    ],
    [
      'a window that is freed',
      WcStatus.MwBindErr,
      (pd: Side['pd'], mr: MemoryRegion) => {
        const mw = pd.allocMw();
        mw.dealloc();
        return [bindMw(2, mw, mr)];
      },
    ],
    [
      'a region that was freed',
      WcStatus.LocQpOpErr,
      (pd: Side['pd']) => {
        const mr = pd.allocMr(64);
        pd.deregMr(mr);
        return [regMr(2, mr, { memory: sharedBytes(64) })];
      },
    ],
    [
      'a region that has memory',
      WcStatus.LocQpOpErr,
      (pd: Side['pd']) => {
        const mr = pd.allocMr(64);
        const memory = sharedBytes(64);
        return [{ ...regMr(1, mr, { memory }), signaled: false }, regMr(2, mr, { memory })];
      },
    ],
    ['a key for life', WcStatus.LocQpOpErr, (_pd: Side['pd'], mr: MemoryRegion) => [localInv(2, mr.rkey)]],
  ])('fails work on %s, and the queue pair with it', async (_what, expected, requests) => {
    for await (const [{ pd, qp, cq }] of directions()) {
      const mr = pd.regMr(256, { access: BINDABLE });
      for (const wr of requests(pd, mr)) qp.postSend(wr);
      expect((await cq.next()).value).toMatchObject({ wrId: 2, status: expected });
      expect([qp.stateName, mr.valid]).toEqual(['ERR', true]);
    }
  });

  it('refuses work that can never be done, in the same words', async () => {
    for await (const [{ pd, qp, cq, mr }, peer] of directions()) {
      const mw = pd.allocMw();
      const fast = pd.allocMr(64);
      const foreign = peer.pd.allocMr(64);
      const memory = sharedBytes(64);
      expect(
        [
          () => qp.postSend({ wrId: 1, opcode: WrOpcode.BindMw, mw }),
          () => qp.postSend(bindMw(1, mw, mr, { access: Access.LocalWrite })),
          () => qp.postSend(regMr(1, mr, { memory })),
          () => qp.postSend(regMr(1, fast, { memory, length: 65 })),
          () => qp.postSend(regMr(1, fast, { memory: memory.subarray(1) })),
          () => qp.postSend(regMr(1, fast, { memory, key: fast.rkey ^ 0x100 })),
          () => qp.postSend(regMr(1, fast, { memory, access: Access.RemoteWrite })),
          () => qp.postSend({ wrId: 1, opcode: WrOpcode.LocalInv }),
          () => qp.postSend({ wrId: 1, opcode: WrOpcode.Flush }),
          () => qp.postSend({ wrId: 1, opcode: WrOpcode.AtomicWrite, inline: new Uint8Array(7) }),
          () => pd.allocMr(0),
        ].map(refusal),
      ).toEqual([
        'ERR_ROCE_ARGUMENT: BIND MW needs `mw`, `bind` and `rkey`',
        'ERR_ROCE_ARGUMENT: a window cannot have access flags 0x1',
        'ERR_ROCE_ARGUMENT: REG MR is for regions of `allocMr`',
        'ERR_ROCE_ARGUMENT: the region takes 0 to 64 bytes',
        'ERR_ROCE_ARGUMENT: 64 bytes, and the memory has 63',
        'ERR_ROCE_ARGUMENT: a new key differs from the old one in its low 8 bits only',
        'ERR_ROCE_ARGUMENT: remote write and remote atomic access need local write access',
        'ERR_ROCE_ARGUMENT: LOCAL INV needs `invalidateRkey`',
        'ERR_ROCE_ARGUMENT: a FLUSH has `flush` and no data',
        'ERR_ROCE_ARGUMENT: an ATOMIC WRITE writes 8 bytes, not 7',
        'ERR_ROCE_ARGUMENT: a region for fast registration has room for at least one byte',
      ]);
      expect(refusal(() => pd.dealloc())).toMatch(/^ERR_ROCE_IN_USE: 4 /);
      // Another device's region is found out when its turn comes.
      qp.postSend(regMr(1, foreign, { memory }));
      expect((await cq.next()).value).toMatchObject({ wrId: 1, status: WcStatus.LocQpOpErr });
    }
  });

  it('flushes what was written, and writes eight bytes at once', async () => {
    for await (const [from, peer] of directions()) {
      const { qp, cq } = from;
      const mr = peer.pd.regMr(4096, { access: ALL | Access.FlushGlobal });
      const remote = { remoteAddr: mr.iova + 16n, rkey: mr.rkey };
      qp.postSend({ wrId: 1, opcode: WrOpcode.AtomicWrite, inline: Uint8Array.of(1, 2, 3, 4, 5, 6, 7, 8), ...remote });
      const flush = { type: FlushType.Global, level: FlushLevel.Range };
      qp.postSend({ wrId: 2, opcode: WrOpcode.Flush, flush, length: 8, ...remote });
      qp.postSend({ wrId: 3, opcode: WrOpcode.Flush, flush: { ...flush, level: FlushLevel.Mr }, ...remote });
      expect(await success(cq)).toMatchObject({ wrId: 1, opcode: WcOpcode.AtomicWrite });
      expect([...mr.bytes.subarray(16, 24)]).toEqual([1, 2, 3, 4, 5, 6, 7, 8]);
      expect(await success(cq)).toMatchObject({ wrId: 2, opcode: WcOpcode.Flush });
      expect(await success(cq)).toMatchObject({ wrId: 3, opcode: WcOpcode.Flush });
      qp.postSend({ wrId: 4, opcode: WrOpcode.Flush, flush: { ...flush, type: FlushType.Persistent }, ...remote });
      expect(await status(from)).toBe(WcStatus.RemAccessErr);
    }
  });

  it('fills its send queue with work of either kind in the order of posting', async () => {
    for await (const [{ pd, qp, cq, mr }, peer] of directions()) {
      const mw = pd.allocMw();
      const lending = pd.regMr(256, { access: BINDABLE });
      const remote = { remoteAddr: peer.mr.iova, rkey: peer.mr.rkey };
      const seen: number[] = [];
      for (let round = 0; round < 20; round++) {
        qp.postSend({ wrId: 4 * round, opcode: WrOpcode.RdmaWrite, sges: [{ mr, length: 2000 }], ...remote });
        qp.postSend(bindMw(4 * round + 1, mw, lending));
        qp.postSend({ wrId: 4 * round + 2, opcode: WrOpcode.RdmaWrite, sges: [{ mr, length: 8 }], ...remote });
        qp.postSend({ ...localInv(4 * round + 3, nextKey(mw.rkey)) });
        for (let i = 0; i < 4; i++) seen.push((await success(cq)).wrId);
      }
      expect(seen).toEqual(Array.from({ length: 80 }, (_, i) => i));
      await until(() => mw.grant === undefined);
    }
  });
});

describe('a device in a worker', () => {
  it('registers no memory of this thread by work requests, and calls nobody to make memory durable', async () => {
    const cable = await openCable('worker');
    const { ours } = await connectSides(cable);
    const fast = ours.pd.allocMr(64);
    expect(refusal(() => ours.qp.postSend(regMr(1, fast, { memory: new Uint8Array(64) })))).toMatch(
      /^ERR_ROCE_ARGUMENT: this memory belongs to the thread of the application/,
    );
    const persistent = { access: ALL | Access.FlushPersistent, persistent: () => {} };
    expect(refusal(() => makeSide(cable.ours.device).pd.regMr(8, persistent))).toBe(
      'ERR_ROCE_UNSUPPORTED: a device in a worker cannot call the application',
    );
    expect(ours.cq.length).toBe(0);
    await cable.close();
  });
});
