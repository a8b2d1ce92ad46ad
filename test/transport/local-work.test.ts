/**
 * LOCAL INV, BIND MW and REG MR as work requests: when they are executed, how they complete, what fails them. Goal:
 * they take no PSN, are executed once whatever the wire does, and complete in order. Method: scripts. What a bound
 * window opens is memory-windows.test.ts.
 */
import { describe, expect, it } from 'vitest';
import type { RoceError } from '../../packets/errors.ts';
import { Access, type MemoryRegion, MemoryWindow, ProtectionDomain } from '../../transport/memory.ts';
import { QpState } from '../../transport/qp-state.ts';
import { type SendWr, WrOpcode } from '../../transport/work.ts';
import { ack, nak, pattern, readOnly, readRequest, sendOnly, sendOnlyInv, writeOnly } from './support/packets.ts';
import { ALL_ACCESS, Peer } from './support/peer.ts';

const BINDABLE = ALL_ACCESS | Access.MwBind;
const window = (peer: Peer, pd = peer.pd) =>
  peer.keys.allocateWindow(pd, (domain, key) => new MemoryWindow(domain, key));
const nextKey = (key: number) => ((key & ~0xff) | ((key + 1) & 0xff)) >>> 0;

const localInv = (wrId: number, invalidateRkey: number): SendWr => ({
  wrId,
  opcode: WrOpcode.LocalInv,
  invalidateRkey,
});
const bindMw = (wrId: number, mw: MemoryWindow, mr: MemoryRegion, more: object = {}): SendWr => ({
  wrId,
  opcode: WrOpcode.BindMw,
  mw,
  rkey: nextKey(mw.rkey),
  bind: { mr, addr: mr.iova + 8n, length: 64, access: Access.RemoteRead | Access.RemoteWrite, ...more },
});
const regMr = (wrId: number, mr: MemoryRegion, memory: Uint8Array, more: object = {}): SendWr => ({
  wrId,
  opcode: WrOpcode.RegMr,
  reg: { mr, memory, iova: 0x5000n, length: memory.length, access: ALL_ACCESS, key: nextKey(mr.rkey), ...more },
});

function codeOf(call: () => void): string {
  try {
    call();
    return 'ok';
  } catch (error) {
    return (error as RoceError).code;
  }
}

describe('work that sends nothing', () => {
  it('takes no PSN, and completes at once when nothing is under way', () => {
    const peer = new Peer();
    const mr = peer.keys.allocate(peer.pd, 100);
    peer.post(regMr(1, mr, pattern(100)), { wrId: 2, opcode: WrOpcode.Send });
    peer.expectTx([sendOnly({ psn: 0, ackReq: true })]);
    expect(peer.completions()).toEqual(['send 1 Success RegMr']);
    peer.rx(ack({ psn: 0, msn: 1 }));
    expect(peer.completions()).toEqual(['send 2 Success Send']);
  });

  it('is executed when its turn comes and completes after what was posted before it', () => {
    const peer = new Peer();
    const mr = peer.region({ access: BINDABLE });
    const mw = window(peer);
    peer.post({ wrId: 1, opcode: WrOpcode.Send }, bindMw(2, mw, mr), { wrId: 3, opcode: WrOpcode.Send });
    expect(mw.grant).toBeUndefined();
    peer.expectTx([sendOnly({ psn: 0, ackReq: true }), sendOnly({ psn: 1, ackReq: true })]);
    expect(mw.grant?.valid).toBe(true);
    expect(peer.completions()).toEqual([]);
    peer.rx(ack({ psn: 0, msn: 1 }));
    expect(peer.completions()).toEqual(['send 1 Success Send', 'send 2 Success BindMw']);
  });

  it('is not executed again when requests around it are sent again', () => {
    const peer = new Peer({ timeout: 14 });
    const mr = peer.region({ access: BINDABLE });
    const mw = window(peer);
    peer.post({ wrId: 1, opcode: WrOpcode.Send }, bindMw(2, mw, mr), { wrId: 3, opcode: WrOpcode.Send });
    const both = [sendOnly({ psn: 0, ackReq: true }), sendOnly({ psn: 1, ackReq: true })];
    peer.expectTx(both);
    const { grant } = mw;
    peer.advance(70_000_000);
    peer.expectTx(both);
    peer.rx(nak(0x60, { psn: 1, msn: 1 }));
    peer.advance(70_000_000);
    peer.rx(ack({ psn: 1, msn: 2 }));
    expect(peer.completions()).toEqual(['send 1 Success Send', 'send 2 Success BindMw', 'send 3 Success Send']);
    expect(mw.grant).toBe(grant);
  });

  it('fails as it failed, however often what was posted before it is sent again meanwhile', () => {
    const peer = new Peer({ timeout: 14 });
    peer.post({ wrId: 1, opcode: WrOpcode.Send }, bindMw(2, window(peer), peer.region()));
    peer.expectTx([sendOnly({ psn: 0, ackReq: true })]);
    peer.advance(70_000_000);
    peer.expectTx([sendOnly({ psn: 0, ackReq: true })]);
    expect(peer.completions()).toEqual([]);
    peer.rx(ack({ psn: 0, msn: 1 }));
    peer.silence();
    expect(peer.completions()).toEqual(['send 1 Success Send', 'send 2 MwBindErr']);
    expect(peer.qp.state).toBe(QpState.Error);
  });

  it('waits behind a fence for READs, and LOCAL INV for everything before it', () => {
    const peer = new Peer();
    const mr = peer.region();
    const fast = peer.keys.allocate(peer.pd, 100);
    const victim = peer.region({ remoteInvalidate: true });
    const read = { wrId: 1, opcode: WrOpcode.RdmaRead, rkey: 1, remoteAddr: 0n, sges: [{ mr, length: 8 }] };
    peer.post(read, { ...regMr(2, fast, pattern(100)), fence: true }, { wrId: 3, opcode: WrOpcode.Send });
    peer.post(localInv(4, victim.rkey));
    expect(peer.drain()).toHaveLength(1);
    expect(fast.valid).toBe(false);
    peer.rx(readOnly({ psn: 0, msn: 1, payload: pattern(8) }));
    peer.expectTx([sendOnly({ psn: 1, ackReq: true })]);
    expect([fast.valid, victim.valid]).toEqual([true, true]);
    peer.rx(ack({ psn: 1, msn: 2 }));
    peer.silence();
    expect(victim.valid).toBe(false);
    expect(peer.completions().at(-1)).toBe('send 4 Success LocalInv');
  });

  it('does nothing in SQD, and is flushed in ERROR', () => {
    const peer = new Peer();
    const mr = peer.region({ access: BINDABLE });
    const mw = window(peer);
    peer.qp.modify({ state: QpState.Sqd });
    peer.post(bindMw(1, mw, mr));
    peer.silence();
    expect(mw.grant).toBeUndefined();
    peer.qp.modify({ state: QpState.Error });
    expect(peer.completions()).toEqual(['send 1 WrFlushErr']);
    expect(mw.grant).toBeUndefined();
  });

  it('completes silently when it is not signalled and succeeds', () => {
    const peer = new Peer();
    const victim = peer.region({ remoteInvalidate: true });
    peer.post({ ...localInv(1, victim.rkey), signaled: false });
    peer.silence();
    expect([peer.completions(), victim.valid, peer.qp.sendsOutstanding]).toEqual([[], false, 0]);
  });
});

describe('fast registration', () => {
  it('gives a region memory and a key, which a peer uses, and which may be taken away and given anew', () => {
    const peer = new Peer();
    const mr = peer.keys.allocate(peer.pd, 256);
    const [first, second] = [pattern(256, 1), pattern(100, 2)];
    peer.post(regMr(1, mr, first));
    peer.silence();
    const key = mr.rkey;
    peer.rx(readRequest({ psn: 0, reth: { va: 0x5000n, rkey: key, length: 256 } }));
    peer.expectTx([readOnly({ psn: 0, msn: 1, payload: first })]);
    peer.post(localInv(2, key), regMr(3, mr, second, { iova: 0n, access: Access.RemoteRead }));
    peer.silence();
    expect(mr.rkey).toBe(nextKey(key));
    peer.rx(readRequest({ psn: 1, reth: { va: 0n, rkey: mr.rkey, length: 100 } }));
    peer.expectTx([readOnly({ psn: 1, msn: 2, payload: second })]);
    peer.rx(readRequest({ psn: 2, reth: { va: 0x5000n, rkey: key, length: 8 } }));
    peer.expectTx([nak(0x62, { psn: 2, msn: 2 })]);
  });

  it('serves a request posted right behind it', () => {
    const peer = new Peer();
    const mr = peer.keys.allocate(peer.pd, 16);
    peer.post(regMr(1, mr, pattern(16, 5)), { wrId: 2, opcode: WrOpcode.Send, sges: [{ mr, length: 16 }] });
    peer.expectTx([sendOnly({ psn: 0, payload: pattern(16, 5), ackReq: true })]);
  });

  it('KEY-13 a READ under way ends with the key it began with, though the region has memory again', () => {
    const peer = new Peer();
    const mr = peer.keys.allocate(peer.pd, 40 * 256);
    peer.post(regMr(1, mr, pattern(40 * 256, 3)));
    peer.silence();
    const key = mr.rkey;
    peer.rx(readRequest({ psn: 0, reth: { va: 0x5000n, rkey: key, length: 40 * 256 } }));
    const sent = peer.burst();
    expect(sent.length).toBeLessThan(40);
    peer.keys.invalidate(key, peer.qp.config);
    peer.keys.fastRegister({ mr, bytes: new Uint8Array(8), iova: 0x5000n, access: ALL_ACCESS, key }, peer.qp.config);
    expect([mr.rkey, mr.valid]).toEqual([key, true]);
    peer.expectTx([nak(0x62, { psn: sent.length, msn: 1 })]);
  });

  it('a SEND with invalidate takes it back', () => {
    const peer = new Peer();
    const mr = peer.keys.allocate(peer.pd, 8);
    peer.post(regMr(1, mr, pattern(8)));
    peer.postRecv(2);
    peer.silence();
    peer.rx(sendOnlyInv({ psn: 0, inv: mr.rkey, ackReq: true }));
    peer.expectTx([ack({ psn: 0, msn: 1 })]);
    expect(mr.valid).toBe(false);
  });

  it.each(['already has memory', 'belongs to another domain', 'is deregistered'])(
    'fails with LocQpOpErr when the region %s',
    (kind) => {
      const peer = new Peer();
      const mr = peer.keys.allocate(kind === 'belongs to another domain' ? new ProtectionDomain(2) : peer.pd, 100);
      if (kind === 'already has memory') peer.post(regMr(0, mr, pattern(10)));
      peer.silence();
      peer.completions();
      if (kind === 'is deregistered') peer.keys.deregister(mr);
      peer.post(regMr(1, mr, pattern(20)), { wrId: 2, opcode: WrOpcode.Send });
      peer.silence();
      expect(peer.completions()).toEqual(['send 1 LocQpOpErr', 'send 2 WrFlushErr']);
      expect(peer.qp.state).toBe(QpState.Error);
    },
  );

  it.each<[string, object]>([
    ['more than the region takes', { memory: pattern(101), length: 101 }],
    ['more than the memory has', { length: 21 }],
    ['a broken number of bytes', { length: 1.5 }],
    ['remote write without local write', { access: Access.RemoteWrite }],
    ['unknown access', { access: 0x8000 }],
    ['persistence that nobody provides', { access: Access.FlushPersistent }],
    ['a negative address', { iova: -1n }],
    ['an address beyond 64 bits', { iova: 1n << 64n }],
    ['a key of another region', { key: 0x1234_5600 }],
    ['no key', { key: -1 }],
  ])('is refused when it is posted with %s', (_, more) => {
    const peer = new Peer();
    const mr = peer.keys.allocate(peer.pd, 100);
    expect(codeOf(() => peer.post(regMr(1, mr, pattern(20), more)))).toBe('ERR_ROCE_ARGUMENT');
    expect([mr.valid, peer.qp.sendsOutstanding]).toEqual([false, 0]);
  });

  it('is refused for a region that has its memory for life, with data, or without terms', () => {
    const peer = new Peer();
    const mr = peer.region();
    expect(codeOf(() => peer.post(regMr(1, mr, pattern(8))))).toBe('ERR_ROCE_ARGUMENT');
    const fast = peer.keys.allocate(peer.pd, 100);
    expect(codeOf(() => peer.post({ ...regMr(1, fast, pattern(8)), sges: [{ mr }] }))).toBe('ERR_ROCE_ARGUMENT');
    expect(codeOf(() => peer.post({ wrId: 1, opcode: WrOpcode.RegMr }))).toBe('ERR_ROCE_ARGUMENT');
    expect(codeOf(() => peer.keys.allocate(peer.pd, 0))).toBe('ERR_ROCE_ARGUMENT');
  });
});

describe('local invalidation', () => {
  it.each(['unknown', 'registered for life', 'of another domain', 'dead', 'of a region with a window'])(
    'of a key that is %s fails with LocQpOpErr and changes nothing',
    (kind) => {
      const peer = new Peer();
      const pd = kind === 'of another domain' ? new ProtectionDomain(2) : peer.pd;
      const access = BINDABLE;
      const mr = peer.region({ pd, access, remoteInvalidate: kind !== 'registered for life' });
      if (kind === 'of a region with a window') peer.post(bindMw(0, window(peer), mr));
      if (kind === 'dead') peer.post(localInv(0, mr.rkey));
      peer.silence();
      peer.completions();
      const { valid } = mr;
      peer.post(localInv(1, kind === 'unknown' ? mr.rkey ^ 0x1 : mr.rkey));
      peer.silence();
      expect(peer.completions()).toEqual(['send 1 LocQpOpErr']);
      expect(mr.valid).toBe(valid);
    },
  );

  it('needs a key', () => {
    const peer = new Peer();
    expect(codeOf(() => peer.post({ wrId: 1, opcode: WrOpcode.LocalInv }))).toBe('ERR_ROCE_ARGUMENT');
  });
});

describe('binding', () => {
  it.each<[string, (peer: Peer) => SendWr]>([
    ['no bytes', (peer) => bindMw(1, window(peer), peer.region({ access: BINDABLE }), { length: 0 })],
    ['a region without bind access', (peer) => bindMw(1, window(peer), peer.region())],
    [
      'write access to a region that is not writable',
      (peer) => bindMw(1, window(peer), peer.region({ access: Access.MwBind | Access.RemoteRead })),
    ],
    [
      'flush access that the region has not',
      (peer) => bindMw(1, window(peer), peer.region({ access: BINDABLE }), { access: Access.FlushGlobal }),
    ],
    ['a byte too many', (peer) => bindMw(1, window(peer), peer.region({ access: BINDABLE }), { length: 4089 })],
    [
      'a byte too early',
      (peer) => bindMw(1, window(peer), peer.region({ access: BINDABLE, iova: 64n }), { addr: 63n }),
    ],
    [
      'a window of another domain',
      (peer) => bindMw(1, window(peer, new ProtectionDomain(2)), peer.region({ access: BINDABLE })),
    ],
    [
      'a region of another domain',
      (peer) => bindMw(1, window(peer), peer.region({ access: BINDABLE, pd: new ProtectionDomain(2) })),
    ],
  ])('KEY-20 of %s fails with MwBindErr', (_, make) => {
    const peer = new Peer();
    const wr = make(peer);
    const key = wr.mw?.rkey;
    peer.post(wr);
    peer.silence();
    expect(peer.completions()).toEqual(['send 1 MwBindErr']);
    expect([wr.mw?.grant, wr.mw?.rkey, peer.qp.state]).toEqual([undefined, key, QpState.Error]);
  });

  it('of a window that is bound fails; after an invalidation it is bound again', () => {
    const peer = new Peer();
    const mr = peer.region({ access: BINDABLE });
    const mw = window(peer);
    peer.post(bindMw(1, mw, mr));
    peer.silence();
    const key = mw.rkey;
    peer.post(localInv(2, key));
    peer.silence();
    expect([mw.grant, mr.windows]).toEqual([undefined, 0]);
    peer.post(bindMw(3, mw, mr));
    peer.silence();
    expect([mw.rkey, mr.windows]).toEqual([nextKey(key), 1]);
    peer.post(bindMw(4, mw, mr));
    peer.silence();
    expect(peer.completions().slice(2)).toEqual(['send 3 Success BindMw', 'send 4 MwBindErr']);
    expect(mr.windows).toBe(1);
  });

  it('keeps its region from being deregistered, until the window is freed', () => {
    const peer = new Peer();
    const mr = peer.region({ access: BINDABLE });
    const mw = window(peer);
    peer.post(bindMw(1, mw, mr));
    peer.silence();
    expect(codeOf(() => peer.keys.deregister(mr))).toBe('ERR_ROCE_IN_USE');
    expect(peer.pd.users).toBe(2);
    const key = mw.rkey;
    peer.keys.deallocateWindow(mw);
    expect(codeOf(() => peer.keys.deallocateWindow(mw))).toBe('ERR_ROCE_STATE');
    peer.rx(readRequest({ psn: 0, reth: { va: mr.iova + 8n, rkey: key, length: 8 } }));
    peer.expectTx([nak(0x62, { psn: 0, msn: 0 })]);
    expect(codeOf(() => peer.keys.deregister(mr))).toBe('ok');
    expect(peer.pd.users).toBe(0);
  });

  it('KEY-14 KEY-15 a SEND with invalidate kills the window, with all of its key or not at all', () => {
    for (const flip of [0, 1]) {
      const peer = new Peer();
      const mr = peer.region({ access: BINDABLE });
      const mw = window(peer);
      peer.post(bindMw(1, mw, mr));
      peer.postRecv(2);
      peer.silence();
      peer.completions();
      peer.rx(sendOnlyInv({ psn: 0, inv: mw.rkey ^ flip, ackReq: true }));
      expect(peer.drain()).toHaveLength(1 - flip);
      expect(mw.grant === undefined).toBe(flip === 0);
      expect(peer.qp.state).toBe(flip === 0 ? QpState.Rts : QpState.Error);
    }
  });

  it('KEY-13 a window that dies while a READ through it streams ends it with 0x62', () => {
    const peer = new Peer();
    const mr = peer.region({ access: BINDABLE, length: 64 * 256 });
    const mw = window(peer);
    peer.post(bindMw(1, mw, mr, { length: 40 * 256 }));
    peer.silence();
    peer.rx(readRequest({ psn: 0, reth: { va: mr.iova + 8n, rkey: mw.rkey, length: 40 * 256 } }));
    const sent = peer.burst();
    peer.keys.deallocateWindow(mw);
    peer.expectTx([nak(0x62, { psn: sent.length, msn: 1 })]);
  });

  it('zero-based, gives its first byte the address 0', () => {
    const peer = new Peer();
    const mr = peer.region({ access: BINDABLE });
    const mw = window(peer);
    peer.post(bindMw(1, mw, mr, { access: Access.RemoteWrite | Access.ZeroBased }));
    peer.silence();
    const payload = Uint8Array.of(0xee);
    peer.rx(writeOnly({ psn: 0, reth: { va: 63n, rkey: mw.rkey, length: 1 }, payload, ackReq: true }));
    peer.expectTx([ack({ psn: 0, msn: 1 })]);
    expect(mr.bytes[8 + 63]).toBe(0xee);
    peer.rx(writeOnly({ psn: 1, reth: { va: 64n, rkey: mw.rkey, length: 1 }, payload, ackReq: true }));
    peer.expectTx([nak(0x62, { psn: 1, msn: 1 })]);
  });

  it.each<[string, object]>([
    ['local write access', { access: Access.LocalWrite }],
    ['unknown access', { access: 0x8000 }],
    ['half a byte', { length: 0.5 }],
    ['a negative address', { addr: -1n }],
    ['bytes beyond 64 bits', { addr: (1n << 64n) - 8n }],
  ])('is refused when it is posted with %s', (_, more) => {
    const peer = new Peer();
    const wr = bindMw(1, window(peer), peer.region({ access: BINDABLE }), more);
    expect(codeOf(() => peer.post(wr))).toBe('ERR_ROCE_ARGUMENT');
    const { mw: _mw, ...without } = wr;
    expect(codeOf(() => peer.post(without))).toBe('ERR_ROCE_ARGUMENT');
  });
});
