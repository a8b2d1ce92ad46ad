/**
 * FLUSH and ATOMIC WRITE, both roles. Goal: each is executed once and answered by an empty READ response; what a queue
 * pair, a region or the request itself does not allow is refused in the way ref:conformance#MPE says. Method: scripts,
 * PSNs across the wrap.
 */
import { describe, expect, it } from 'vitest';
import type { RoceError } from '../../packets/errors.ts';
import { isRxeFlush } from '../../packets/rxe-flush-icrc.ts';
import { Access, type MemoryRegion } from '../../transport/memory.ts';
import { QpState } from '../../transport/qp-state.ts';
import { FlushLevel, FlushType, type SendWr, WrOpcode } from '../../transport/work.ts';
import {
  ack,
  atomicWrite,
  flush,
  nak,
  type Packet,
  pattern,
  readOnly,
  readRequest,
  readResponses,
  sendOnly,
  writeOnly,
} from './support/packets.ts';
import { ALL_ACCESS, Peer, type PeerOptions } from './support/peer.ts';
import { parseBytes } from './support/wire.ts';

const FLUSHES = Access.FlushGlobal | Access.FlushPersistent;
const ACCESS = ALL_ACCESS | FLUSHES;

/** A subject with a region that can be flushed, and what was made durable there. */
function flushable(options: PeerOptions = {}, access = ACCESS) {
  const peer = new Peer({ access: ACCESS, ...options });
  const durable: [number, number][] = [];
  const persistent = (offset: number, length: number) => durable.push([offset, length]);
  const mr = peer.region({ access, persistent });
  return { peer, mr, durable, reth: { va: mr.iova, rkey: mr.rkey, length: 64 } };
}

function expectRefused(peer: Peer, packet: Packet, syndrome: number): void {
  peer.rx(packet);
  peer.expectTx([nak(syndrome, { psn: 0, msn: 0 })]);
  expect(peer.qp.state).toBe(QpState.Error);
}

describe('a responder asked to FLUSH', () => {
  it('MPE-02 MPE-14 answers with an empty READ response, which takes one PSN and one MSN', () => {
    const { peer, reth, durable } = flushable();
    peer.rx(flush({ psn: 0, reth }), flush({ psn: 1, reth, placement: FlushType.Persistent }));
    peer.expectTx([readOnly({ psn: 0, msn: 1 }), readOnly({ psn: 1, msn: 2 })]);
    expect(durable).toEqual([[0, 64]]);
    peer.expectUsable(2, 3);
  });

  it('MPE-08 has placed what was written before it, and answers in order', () => {
    const peer = new Peer({ access: ACCESS });
    let found: number | undefined;
    const mr = peer.region({ access: ACCESS, persistent: (at) => (found = mr.bytes[at]) });
    const write = (psn: number, value: number) =>
      writeOnly({ psn, reth: { va: mr.iova, rkey: mr.rkey, length: 1 }, payload: Uint8Array.of(value), ackReq: true });
    const reth = { va: mr.iova, rkey: mr.rkey, length: 1 };
    peer.rx(write(0, 0xa1), flush({ psn: 1, reth, placement: 3 }), write(2, 0xb2));
    peer.expectTx([ack({ psn: 0, msn: 1 }), readOnly({ psn: 1, msn: 2 }), ack({ psn: 2, msn: 3 })]);
    expect(found).toBe(0xa1);
  });

  it('MPE-05 of a whole region looks at neither address nor length', () => {
    const { peer, mr, durable } = flushable();
    const reth = { va: 0n, rkey: mr.rkey, length: 0xff_ff_ff_ff };
    peer.rx(flush({ psn: 0, reth, placement: FlushType.Persistent, selectivity: FlushLevel.Mr }));
    peer.expectTx([readOnly({ psn: 0, msn: 1 })]);
    expect(durable).toEqual([[0, 4096]]);
  });

  it('MPE-07 answers a repetition without flushing again, in the order of PSNs', () => {
    const { peer, reth, durable } = flushable();
    peer.rx(flush({ psn: 0, reth, placement: FlushType.Persistent }), sendOnly({ psn: 2 }));
    peer.expectTx([readOnly({ psn: 0, msn: 1 }), nak(0x60, { psn: 1, msn: 1 })]);
    peer.rx(flush({ psn: 0, reth, placement: FlushType.Persistent }), flush({ psn: 1, reth }));
    peer.expectTx([readOnly({ psn: 0, msn: 1 }), readOnly({ psn: 1, msn: 2 })]);
    expect(durable).toEqual([[0, 64]]);
    expect(peer.counters.duplicateRequest).toBe(1);
  });

  it('answers a repetition after the key has died: it was executed', () => {
    const { peer, reth, mr } = flushable();
    peer.rx(flush({ psn: 0, reth }));
    peer.expectTx([readOnly({ psn: 0, msn: 1 })]);
    peer.keys.deregister(mr);
    peer.rx(flush({ psn: 0, reth }));
    peer.expectTx([readOnly({ psn: 0, msn: 1 })]);
  });

  it('says nothing to a repetition of what was another request, or none', () => {
    const { peer, reth } = flushable();
    peer.rx(
      writeOnly({ psn: 0, reth: { ...reth, length: 0 } }),
      atomicWrite({ psn: 1, reth: { ...reth, length: 8 }, payload: pattern(8) }),
    );
    peer.expectTx([readOnly({ psn: 1, msn: 2 })]);
    for (const psn of [-1, 0, 1]) peer.rx(flush({ psn, reth }));
    peer.silence();
    expect(peer.counters.droppedRequest).toBe(3);
  });

  it('is not limited by the resources for READs', () => {
    const { peer, reth } = flushable({ maxDestRdAtomic: 1 });
    const psns = Array.from({ length: 20 }, (_, psn) => psn);
    peer.rx(...psns.map((psn) => flush({ psn, reth })));
    peer.expectTx(psns.map((psn) => readOnly({ psn, msn: psn + 1 })));
    peer.rx(...psns.map((psn) => flush({ psn, reth })));
    expect(peer.drain()).toHaveLength(20);
  });

  it('MPE-01 refuses one with payload', () => {
    const { peer, reth } = flushable();
    expectRefused(peer, flush({ psn: 0, reth, payload: pattern(4) }), 0x61);
  });

  it.each([
    ['no placement type', 0, 0],
    ['an unknown placement type', 4, 0],
    ['an unknown placement type among known ones', 7, 0],
    ['an unknown selectivity level', 1, 2],
    ['an unknown selectivity level', 1, 3],
  ])('MPE-16 refuses one with %s', (_, placement, selectivity) => {
    const { peer, reth } = flushable();
    expectRefused(peer, flush({ psn: 0, reth, placement, selectivity }), 0x61);
  });

  it.each([
    [ALL_ACCESS, 1],
    [ALL_ACCESS | Access.FlushGlobal, 2],
    [ALL_ACCESS | Access.FlushGlobal, 3],
    [ALL_ACCESS | Access.FlushPersistent, 1],
  ])('is refused as invalid by a queue pair with rights %i for placement type %i', (access, placement) => {
    const { peer, reth, durable } = flushable({ access });
    expectRefused(peer, flush({ psn: 0, reth, placement }), 0x61);
    expect(durable).toEqual([]);
  });

  it.each([
    [ALL_ACCESS, 1],
    [ALL_ACCESS | Access.FlushGlobal, 2],
    [ALL_ACCESS | Access.FlushGlobal, 3],
    [ALL_ACCESS | Access.FlushPersistent, 1],
  ])('MPE-04 is refused by a region with rights %i for placement type %i', (access, placement) => {
    for (const selectivity of [FlushLevel.Range, FlushLevel.Mr]) {
      const { peer, reth, durable } = flushable({}, access);
      expectRefused(peer, flush({ psn: 0, reth, placement, selectivity }), 0x62);
      expect(durable).toEqual([]);
    }
  });

  it('MPE-03 looks at the key even for no bytes', () => {
    const { peer, reth } = flushable();
    expectRefused(peer, flush({ psn: 0, reth: { ...reth, rkey: reth.rkey ^ 0x100, length: 0 } }), 0x62);
    const other = flushable();
    other.peer.rx(flush({ psn: 0, reth: { ...other.reth, length: 0 } }));
    other.peer.expectTx([readOnly({ psn: 0, msn: 1 })]);
  });

  it.each([
    [-1n, 8],
    [4096n, 1],
    [4090n, 7],
    [0n, 4097],
  ])('MPE-06 of a range refuses bytes outside: %s + %i', (offset, length) => {
    const { peer, mr } = flushable();
    expectRefused(peer, flush({ psn: 0, reth: { va: mr.iova + offset, rkey: mr.rkey, length } }), 0x62);
  });

  it('LEN-06 of a range of more than 2^31 bytes is invalid, whatever the key opens', () => {
    const { peer, reth } = flushable();
    expectRefused(peer, flush({ psn: 0, reth: { ...reth, length: 2 ** 31 + 1 } }), 0x61);
  });

  it('SEC-15 owes so many answers at most, and what comes beyond is as if the network had lost it', () => {
    const { peer, reth } = flushable();
    peer.rx(...Array.from({ length: 1100 }, (_, psn) => flush({ psn, reth })));
    expect([peer.drain().length, peer.counters.droppedRequest]).toEqual([1024, 76]);
    peer.rx(flush({ psn: 1024, reth }));
    peer.expectTx([readOnly({ psn: 1024, msn: 1025 })]);
  });
});

describe('a responder asked for an ATOMIC WRITE', () => {
  const at = (mr: MemoryRegion, offset: number, length = 8) => ({
    va: mr.iova + BigInt(offset),
    rkey: mr.rkey,
    length,
  });

  it('MPE-02 MPE-14 stores the eight bytes as they come, and answers with an empty READ response', () => {
    const peer = new Peer();
    const mr = peer.region();
    const before = mr.bytes.slice();
    const payload = pattern(8, 77);
    peer.rx(atomicWrite({ psn: 0, reth: at(mr, 16), payload }));
    peer.expectTx([readOnly({ psn: 0, msn: 1 })]);
    before.set(payload, 16);
    expect(mr.bytes).toEqual(before);
    peer.expectUsable(1, 2);
  });

  it('MPE-12 answers a repetition without storing again, whatever it carries', () => {
    const peer = new Peer();
    const mr = peer.region();
    peer.rx(atomicWrite({ psn: 0, reth: at(mr, 0), payload: pattern(8, 1) }));
    peer.rx(atomicWrite({ psn: 1, reth: at(mr, 0), payload: pattern(8, 2) }));
    peer.expectTx([readOnly({ psn: 0, msn: 1 }), readOnly({ psn: 1, msn: 2 })]);
    peer.rx(atomicWrite({ psn: 0, reth: at(mr, 0), payload: pattern(8, 1) }));
    peer.expectTx([readOnly({ psn: 0, msn: 2 })]);
    expect(mr.bytes.slice(0, 8)).toEqual(pattern(8, 2));
  });

  it('keeps its place among READ responses that are still to be sent', () => {
    const peer = new Peer();
    const mr = peer.region();
    const reth = { va: mr.iova, rkey: mr.rkey, length: 512 };
    peer.rx(readRequest({ psn: 0, reth }), atomicWrite({ psn: 2, reth: at(mr, 1024), payload: pattern(8) }));
    peer.rx(readRequest({ psn: 3, reth }));
    peer.expectTx([
      ...readResponses({ psn: 0, msn: 1, data: mr.bytes.slice(0, 512) }),
      readOnly({ psn: 2, msn: 2 }),
      ...readResponses({ psn: 3, msn: 3, data: mr.bytes.slice(0, 512) }),
    ]);
  });

  it.each([
    ['no bytes', 0, 0],
    ['four bytes', 4, 4],
    ['seven bytes', 7, 7],
    ['nine bytes', 9, 9],
    ['sixteen bytes', 16, 16],
    ['a DMA length of none', 8, 0],
    ['a DMA length of 16', 8, 16],
    ['less than it says', 4, 8],
  ])('MPE-09 refuses %s and touches nothing', (_, bytes, length) => {
    const peer = new Peer();
    const mr = peer.region();
    const before = mr.bytes.slice();
    expectRefused(peer, atomicWrite({ psn: 0, reth: at(mr, 0, length), payload: pattern(bytes) }), 0x61);
    expect(mr.bytes).toEqual(before);
  });

  it('LEN-07 refuses a pad that eight bytes do not need', () => {
    const peer = new Peer();
    const mr = peer.region();
    expectRefused(peer, { ...atomicWrite({ psn: 0, reth: at(mr, 0), payload: pattern(8) }), pad: 3 }, 0x61);
  });

  it.each([1, 2, 3, 4, 5, 6, 7])('MPE-10 refuses an address %i beyond a multiple of eight', (offset) => {
    const peer = new Peer();
    const mr = peer.region();
    expectRefused(peer, atomicWrite({ psn: 0, reth: at(mr, offset), payload: pattern(8) }), 0x61);
  });

  it('MPE-11 needs remote write access, of the queue pair and of the region', () => {
    const access = ALL_ACCESS & ~Access.RemoteWrite;
    const first = new Peer({ access });
    const mr = first.region();
    expectRefused(first, atomicWrite({ psn: 0, reth: at(mr, 0), payload: pattern(8) }), 0x61);
    const second = new Peer();
    const other = second.region({ access });
    expectRefused(second, atomicWrite({ psn: 0, reth: at(other, 0), payload: pattern(8) }), 0x62);
  });

  it('MPE-13 is refused where there are no resources for READs', () => {
    const peer = new Peer({ maxDestRdAtomic: 0 });
    const mr = peer.region();
    expectRefused(peer, atomicWrite({ psn: 0, reth: at(mr, 0), payload: pattern(8) }), 0x61);
  });
});

describe('a requester', () => {
  const VA = 0x1234_0000n;
  const RKEY = 0xabcd01;
  const reth = (length: number) => ({ va: VA, rkey: RKEY, length });
  const target = { remoteAddr: VA, rkey: RKEY };
  const aFlush = (wrId: number, more: Partial<SendWr> = {}): SendWr => ({
    wrId,
    opcode: WrOpcode.Flush,
    ...target,
    flush: { type: FlushType.Global, level: FlushLevel.Range },
    length: 100,
    ...more,
  });
  const aWrite = (wrId: number, more: Partial<SendWr> = {}): SendWr => ({
    wrId,
    opcode: WrOpcode.AtomicWrite,
    ...target,
    inline: pattern(8),
    ...more,
  });

  it('sends what was asked, and completes with the empty READ responses', () => {
    const peer = new Peer();
    const mr = peer.region();
    peer.post(aFlush(1), aFlush(2, { flush: { type: 3, level: FlushLevel.Mr } }), aWrite(3));
    const { inline: _inline, ...plain } = aWrite(4);
    peer.post({ ...plain, sges: [{ mr, offset: 1, length: 8 }] });
    peer.expectTx([
      flush({ psn: 0, reth: reth(100), ackReq: true }),
      flush({ psn: 1, reth: reth(100), placement: 3, selectivity: 1, ackReq: true }),
      atomicWrite({ psn: 2, reth: reth(8), payload: pattern(8), ackReq: true }),
      atomicWrite({ psn: 3, reth: reth(8), payload: mr.bytes.slice(1, 9), ackReq: true }),
    ]);
    peer.rx(...[0, 1, 2, 3].map((psn) => readOnly({ psn, msn: psn + 1 })));
    expect(peer.completions()).toEqual([
      'send 1 Success Flush',
      'send 2 Success Flush',
      'send 3 Success AtomicWrite',
      'send 4 Success AtomicWrite',
    ]);
  });

  it('does not take an ACK for an answer', () => {
    const peer = new Peer();
    peer.post(aFlush(1));
    peer.drain();
    peer.rx(ack({ psn: 0, msn: 1 }));
    expect(peer.completions()).toEqual([]);
    peer.rx(readOnly({ psn: 0, msn: 1 }));
    expect(peer.completions()).toEqual(['send 1 Success Flush']);
  });

  it('takes an answer with data for a length error, and a longer READ response for a bad one', () => {
    for (const [packet, expected] of [
      [readOnly({ psn: 0, msn: 1, payload: pattern(4) }), 'send 1 LocLenErr'],
      [{ ...readOnly({ psn: 0, msn: 1, payload: pattern(256) }), opcode: 0x0d }, 'send 1 BadRespErr'],
      [nak(0x61, { psn: 0, msn: 0 }), 'send 1 RemInvReqErr'],
      [nak(0x62, { psn: 0, msn: 0 }), 'send 1 RemAccessErr'],
    ] as const) {
      const peer = new Peer();
      peer.post(aWrite(1));
      peer.drain();
      peer.rx(packet);
      expect(peer.completions()).toEqual([expected]);
    }
  });

  it('has as many outstanding as READs, and counts both together', () => {
    const peer = new Peer({ maxRdAtomic: 2 });
    const mr = peer.region();
    const read = { wrId: 1, opcode: WrOpcode.RdmaRead, ...target, sges: [{ mr, length: 8 }] };
    peer.post(read, aFlush(2), aWrite(3), aFlush(4));
    expect(peer.drain()).toHaveLength(2);
    peer.rx(readOnly({ psn: 0, msn: 1, payload: pattern(8) }));
    peer.expectTx([atomicWrite({ psn: 2, reth: reth(8), payload: pattern(8), ackReq: true })]);
    peer.rx(readOnly({ psn: 1, msn: 2 }), readOnly({ psn: 2, msn: 3 }));
    peer.expectTx([flush({ psn: 3, reth: reth(100), ackReq: true })]);
  });

  it('fails them where it may have nothing outstanding', () => {
    const peer = new Peer({ maxRdAtomic: 0 });
    peer.post(aFlush(1));
    peer.silence();
    expect(peer.completions()).toEqual(['send 1 LocQpOpErr']);
  });

  it('asks again for what was not answered, and for nothing that was', () => {
    const peer = new Peer({ timeout: 14 });
    peer.post(aFlush(1), aWrite(2), aFlush(3));
    peer.drain();
    peer.rx(readOnly({ psn: 0, msn: 1 }));
    peer.advance(70_000_000);
    peer.expectTx([
      atomicWrite({ psn: 1, reth: reth(8), payload: pattern(8), ackReq: true }),
      flush({ psn: 2, reth: reth(100), ackReq: true }),
    ]);
    peer.rx(readOnly({ psn: 1, msn: 2 }), readOnly({ psn: 2, msn: 3 }));
    expect(peer.completions()).toEqual(['send 1 Success Flush', 'send 2 Success AtomicWrite', 'send 3 Success Flush']);
  });

  it('repeats a FLUSH with the ICRC that rdma_rxe demands, and stays with what was answered', () => {
    const peer = new Peer({ timeout: 14, retryCnt: 5 });
    const forms = () => peer.sent.splice(0).map((bytes) => isRxeFlush(parseBytes(bytes).frame));
    peer.post(aFlush(1));
    peer.pump();
    for (let i = 0; i < 3; i++) peer.advance(70_000_000);
    expect(forms()).toEqual([false, true, false, true]);
    peer.rx(readOnly({ psn: 0, msn: 1 }));
    peer.post(aFlush(2));
    peer.pump();
    for (let i = 0; i < 3; i++) peer.advance(70_000_000);
    expect(forms()).toEqual([true, true, false, true]);
    peer.rx(readOnly({ psn: 1, msn: 2 }));
    expect(peer.completions()).toEqual(['send 1 Success Flush', 'send 2 Success Flush']);
  });

  it('lets a fenced request wait for them', () => {
    const peer = new Peer();
    peer.post(aFlush(1), { wrId: 2, opcode: WrOpcode.Send, fence: true });
    expect(peer.drain()).toHaveLength(1);
    peer.rx(readOnly({ psn: 0, msn: 1 }));
    peer.expectTx([sendOnly({ psn: 1, ackReq: true })]);
  });

  it.each<[string, SendWr]>([
    ['a FLUSH that says not what', { wrId: 1, opcode: WrOpcode.Flush }],
    ['a FLUSH for nothing', aFlush(1, { flush: { type: 0, level: 0 } })],
    ['a FLUSH for what does not exist', aFlush(1, { flush: { type: 4, level: 0 } })],
    ['a FLUSH at an unknown level', aFlush(1, { flush: { type: 1, level: 2 as FlushLevel } })],
    ['a FLUSH of half a byte', aFlush(1, { length: 0.5 })],
    ['a FLUSH of too many bytes', aFlush(1, { length: 2 ** 31 + 1 })],
    ['a FLUSH with inline data', aFlush(1, { inline: pattern(4) })],
    ['an ATOMIC WRITE of seven bytes', aWrite(1, { inline: pattern(7) })],
    ['an ATOMIC WRITE of nothing', { wrId: 1, opcode: WrOpcode.AtomicWrite, ...target }],
  ])('refuses %s when it is posted', (_, wr) => {
    const peer = new Peer();
    let code: unknown;
    try {
      peer.post(wr);
    } catch (error) {
      code = (error as RoceError).code;
    }
    expect(code).toBe('ERR_ROCE_ARGUMENT');
    peer.silence();
  });

  it('posts an ATOMIC WRITE inline where the queue pair has no room for inline data', () => {
    const peer = new Peer({ capabilities: { maxInlineData: 0 } });
    peer.post(aWrite(1));
    expect(peer.drain()).toHaveLength(1);
  });
});
