/**
 * Remote keys: what a WRITE, READ, ATOMIC or invalidating SEND may reach, and what a violation leads to.
 * Method: one violation per fresh queue pair; memory is compared byte for byte before and after.
 */
import { describe, expect, it } from 'vitest';
import { Access, type MemoryRegion, ProtectionDomain } from '../../transport/memory.ts';
import { QpState } from '../../transport/qp-state.ts';
import {
  ack,
  fetchAdd,
  nak,
  type Packet,
  pattern,
  readOnly,
  readRequest,
  readResponses,
  sendOnly,
  sendOnlyInv,
  sendPackets,
  writeOnly,
  writeOnlyImm,
  writePackets,
} from './support/packets.ts';
import { ALL_ACCESS, Peer } from './support/peer.ts';

const PMTU = 256;

/** Refused with NAK 0x62 at PSN 0, queue pair in ERROR, memory of the region as before. */
function expectAccessNak(peer: Peer, mr: MemoryRegion, packet: Packet): void {
  const before = mr.bytes.slice();
  peer.rx(packet);
  peer.expectTx([nak(0x62, { psn: 0, msn: 0 })]);
  expect(peer.qp.state).toBe(QpState.Error);
  expect(peer.events()).toEqual(['qp-access-err']);
  expect(mr.bytes).toEqual(before);
}

function threeWays(va: bigint, rkey: number, length = 8): Packet[] {
  return [
    writeOnly({ psn: 0, reth: { va, rkey, length }, payload: pattern(length) }),
    readRequest({ psn: 0, reth: { va, rkey, length } }),
    fetchAdd({ psn: 0, va: va & ~7n, rkey, add: 1n }),
  ];
}

describe('remote keys', () => {
  it.each([0, 1, 2])('KEY-01 KEY-02 a garbage key draws 0x62, ERROR and an access event (%i)', (way) => {
    const peer = new Peer();
    const mr = peer.region();
    const packet = threeWays(mr.iova, mr.rkey ^ 0x0100)[way];
    if (packet !== undefined) expectAccessNak(peer, mr, packet);
  });

  it('KEY-02 KEY-03 a WRITE with immediate and a bad key takes no receive; the receive is flushed with the rest', () => {
    const peer = new Peer();
    const mr = peer.region();
    peer.postRecv(1);
    const reth = { va: mr.iova, rkey: 1, length: 4 };
    expectAccessNak(peer, mr, writeOnlyImm({ psn: 0, reth, imm: 7, payload: pattern(4) }));
    expect(peer.completions()).toEqual(['recv 1 WrFlushErr']);
  });

  it.each([0, 0xff_ff_ff_ff])('KEY-04 the key of a zero-length READ or WRITE is not looked at: %i', (rkey) => {
    const peer = new Peer();
    peer.postRecv(1);
    const reth = { va: 0xdead_beef_1235n, rkey, length: 0 };
    peer.rx(writeOnly({ psn: 0, reth, ackReq: true }));
    peer.rx(writeOnlyImm({ psn: 1, reth, imm: 0xabcd, ackReq: true }));
    peer.rx(readRequest({ psn: 2, reth }));
    peer.expectTx([ack({ psn: 1, msn: 2 }), readOnly({ psn: 2, msn: 3 })]);
    expect(peer.completions()).toEqual(['recv 1 Success RecvRdmaWithImm 0 bytes imm 0xabcd']);
  });

  it.each([
    ['one byte before', -1n, 8],
    ['one byte over the end', 4096n - 7n, 8],
    ['just behind', 4096n, 1],
    ['far below', -0x7f00_0000_0000n, 8],
    ['far above', 0x100_0000_0000n, 8],
    ['4 GiB above', 0x1_0000_0000n, 8],
    ['everything and a byte', 0n, 4097],
    ['everything but a byte too early', -1n, 4096],
  ])('KEY-05 bytes outside the region draw 0x62: %s', (_, offset, length) => {
    const write = new Peer();
    const mr = write.region();
    const reth = { va: mr.iova + offset, rkey: mr.rkey, length };
    const payload = pattern(Math.min(length, PMTU));
    const packet = writeOnly({ psn: 0, reth, payload });
    expectAccessNak(write, mr, length > PMTU ? { ...packet, opcode: 0x06 } : packet);
    const read = new Peer();
    const other = read.region();
    expectAccessNak(read, other, readRequest({ psn: 0, reth: { ...reth, rkey: other.rkey } }));
  });

  it('KEY-05 the first and the last byte of a region are in reach', () => {
    const peer = new Peer();
    const mr = peer.region();
    const at = (va: bigint, length: number) => ({ va, rkey: mr.rkey, length });
    peer.rx(writeOnly({ psn: 0, reth: at(mr.iova, 1), payload: Uint8Array.of(0xaa) }));
    peer.rx(writeOnly({ psn: 1, reth: at(mr.iova + 4095n, 1), payload: Uint8Array.of(0xbb), ackReq: true }));
    peer.rx(readRequest({ psn: 2, reth: at(mr.iova, 4096) }));
    peer.expectTx([ack({ psn: 1, msn: 2 }), ...readResponses({ psn: 2, msn: 3, data: mr.bytes.slice() })]);
    expect([mr.bytes[0], mr.bytes[4095]]).toEqual([0xaa, 0xbb]);
  });

  it.each([
    [0xffff_ffff_ffff_fff8n, 8],
    [0xffff_ffff_ffff_fff8n, 16],
    [0xffff_ffff_ffff_ffffn, 1],
    [0xffff_ffff_ffff_ffffn, 2 ** 31],
    [0x8000_0000_0000_0000n, 2 ** 31],
  ])('KEY-06 CVE-2016-8636 CVE-2026-98365 an address that wraps draws 0x62: %s + %i', (va, length) => {
    for (const iova of [0n, 4096n, 0x7f00_0000_0000n]) {
      const write = new Peer();
      const mr = write.region({ iova });
      const reth = { va, rkey: mr.rkey, length };
      const full = length > PMTU;
      const payload = pattern(full ? PMTU : length);
      expectAccessNak(write, mr, { opcode: full ? 0x06 : 0x0a, psn: 0, reth, payload });
      const read = new Peer();
      const other = read.region({ iova });
      expectAccessNak(read, other, readRequest({ psn: 0, reth: { ...reth, rkey: other.rkey } }));
    }
    const atomic = new Peer();
    const mr = atomic.region({ iova: 0n });
    expectAccessNak(atomic, mr, fetchAdd({ psn: 0, va: va & ~7n, rkey: mr.rkey, add: 1n }));
  });

  it('KEY-06 a region that ends at 2^64 is served up to its last byte and not beyond', () => {
    const iova = 2n ** 64n - 4096n;
    const peer = new Peer();
    const mr = peer.region({ iova });
    peer.rx(readRequest({ psn: 0, reth: { va: 2n ** 64n - 8n, rkey: mr.rkey, length: 8 } }));
    peer.expectTx([readOnly({ psn: 0, msn: 1, payload: mr.bytes.slice(4088) })]);
    const beyond = new Peer();
    const other = beyond.region({ iova });
    expectAccessNak(beyond, other, readRequest({ psn: 0, reth: { va: 2n ** 64n - 8n, rkey: other.rkey, length: 9 } }));
  });

  it.each([
    [Access.LocalWrite | Access.RemoteRead | Access.RemoteAtomic, 0],
    [Access.LocalWrite | Access.RemoteWrite | Access.RemoteAtomic, 1],
    [Access.LocalWrite | Access.RemoteWrite | Access.RemoteRead, 2],
    [0, 1],
  ])('KEY-07 a region with rights %i refuses way %i', (access, way) => {
    const peer = new Peer();
    const mr = peer.region({ access });
    const packet = threeWays(mr.iova, mr.rkey)[way];
    if (packet !== undefined) expectAccessNak(peer, mr, packet);
  });

  it.each([0, 1, 2])('KEY-08 a region of another protection domain is out of reach (%i)', (way) => {
    const peer = new Peer();
    const mr = peer.region({ pd: new ProtectionDomain(2) });
    const packet = threeWays(mr.iova, mr.rkey)[way];
    if (packet !== undefined) expectAccessNak(peer, mr, packet);
  });

  it.each([0, 1, 2])('KEY-09 a deregistered key opens nothing (%i)', (way) => {
    const peer = new Peer();
    const mr = peer.region();
    peer.keys.deregister(mr);
    const packet = threeWays(mr.iova, mr.rkey)[way];
    if (packet !== undefined) expectAccessNak(peer, mr, packet);
  });

  it('KEY-12 the whole DMA length is checked with FIRST', () => {
    const peer = new Peer();
    const mr = peer.region({ length: 3 * PMTU - 1 });
    const [first] = writePackets({ psn: 0, data: pattern(3 * PMTU, 5), va: mr.iova, rkey: mr.rkey });
    if (first !== undefined) expectAccessNak(peer, mr, first);
  });

  it.each<[string, (peer: Peer, mr: MemoryRegion) => void]>([
    ['dies', (peer, mr) => peer.keys.deregister(mr)],
    ['is given another domain', (peer, mr) => peer.keys.reregister(mr, new ProtectionDomain(2), mr.access)],
    ['loses its rights', (peer, mr) => peer.keys.reregister(mr, peer.pd, 0)],
  ])('KEY-09 a key that %s in the middle of a WRITE ends it', (_, end) => {
    const peer = new Peer();
    const mr = peer.region();
    const [first, middle] = writePackets({ psn: 0, data: pattern(3 * PMTU, 5), va: mr.iova, rkey: mr.rkey });
    if (first === undefined || middle === undefined) throw new Error('three packets');
    peer.rx(first);
    end(peer, mr);
    const before = mr.bytes.slice();
    peer.rx(middle);
    peer.expectTx([nak(0x62, { psn: 1, msn: 0 })]);
    expect(mr.bytes).toEqual(before);
  });

  it('KEY-13 RD-14 KEY-18 a key that dies while its READ streams ends it with 0x62 in place of the next response', () => {
    const peer = new Peer();
    const mr = peer.region({ length: 40 * PMTU });
    peer.rx(readRequest({ psn: 0, reth: { va: mr.iova, rkey: mr.rkey, length: 40 * PMTU } }));
    peer.rx(writeOnly({ psn: 40, reth: { va: 0n, rkey: 0, length: 0 }, ackReq: true }));
    const sent = peer.burst();
    expect(sent.length).toBeGreaterThan(1);
    expect(sent.length).toBeLessThan(40);
    peer.keys.deregister(mr);
    peer.expectTx([nak(0x62, { psn: sent.length, msn: 2 })]);
    expect(peer.qp.state).toBe(QpState.Error);
    expect(peer.events()).toEqual(['qp-access-err']);
    peer.rx(writeOnly({ psn: 41, reth: { va: 0n, rkey: 0, length: 0 }, ackReq: true }));
    peer.silence();
  });

  it('KEY-02 tells of one error once, though the key of a READ still being answered dies after it', () => {
    const peer = new Peer();
    const mr = peer.region({ length: 40 * PMTU });
    peer.rx(readRequest({ psn: 0, reth: { va: mr.iova, rkey: mr.rkey, length: 40 * PMTU } }));
    peer.rx(writeOnly({ psn: 40, reth: { va: 0n, rkey: mr.rkey ^ 1, length: 4 }, payload: pattern(4) }));
    const sent = peer.burst();
    expect(sent.length).toBeLessThan(40);
    peer.keys.deregister(mr);
    peer.expectTx([nak(0x62, { psn: sent.length, msn: 1 })]);
    expect(peer.events()).toEqual(['qp-access-err']);
  });

  it('KEY-14 SEND with invalidate kills the key once its data is placed', () => {
    const peer = new Peer();
    const mr = peer.region({ remoteInvalidate: true });
    const buffer = peer.postRecv(1);
    const inv = mr.rkey;
    peer.rx(sendOnlyInv({ psn: 0, inv, payload: pattern(4), ackReq: true }));
    peer.expectTx([ack({ psn: 0, msn: 1 })]);
    expect(buffer.bytes.slice(0, 4)).toEqual(pattern(4));
    expect(peer.completions()).toEqual([`recv 1 Success Recv 4 bytes inv 0x${inv.toString(16)}`]);
    peer.rx(readRequest({ psn: 1, reth: { va: mr.iova, rkey: inv, length: 8 } }));
    peer.expectTx([nak(0x62, { psn: 1, msn: 1 })]);
  });

  it('KEY-14 the key dies even when the completion queue overflows', () => {
    const peer = new Peer({ cqSize: 1 });
    const mr = peer.region({ remoteInvalidate: true });
    for (let i = 0; i < 3; i++) peer.postRecv(i);
    peer.rx(sendOnly({ psn: 0 }), sendOnlyInv({ psn: 1, inv: mr.rkey }));
    expect(peer.recvCq.overrun).toBe(true);
    expect(mr.valid).toBe(false);
  });

  it.each(['wrong', 'foreign', 'not invalidatable'])(
    'KEY-15 a SEND that must not invalidate its %s key sends no NAK; the receive fails and the queue pair is in ERROR',
    (kind) => {
      const peer = new Peer();
      const pd = kind === 'foreign' ? new ProtectionDomain(2) : peer.pd;
      const mr = peer.region({ pd, remoteInvalidate: kind !== 'not invalidatable' });
      const inv = kind === 'wrong' ? mr.rkey ^ 0x300 : mr.rkey;
      peer.postRecv(1);
      peer.postRecv(2);
      peer.rx(sendOnlyInv({ psn: 0, inv, payload: pattern(4), ackReq: true }));
      peer.silence();
      expect(peer.completions()).toEqual(['recv 1 RemInvReqErr', 'recv 2 WrFlushErr']);
      expect(peer.qp.state).toBe(QpState.Error);
      expect(mr.valid).toBe(true);
    },
  );

  it.each(['read-only', 'deregistered', 'of another domain', 'with an SGE outside'])(
    'KEY-16 a receive whose memory is %s draws 0x63',
    (kind) => {
      const peer = new Peer();
      const pd = kind === 'of another domain' ? new ProtectionDomain(2) : peer.pd;
      const mr = peer.region({ length: 64, access: kind === 'read-only' ? Access.RemoteRead : ALL_ACCESS, pd });
      const before = mr.bytes.slice();
      const sge = kind === 'with an SGE outside' ? { mr, offset: 60, length: 8 } : { mr };
      peer.qp.postRecv({ wrId: 1, sges: [sge] });
      if (kind === 'deregistered') peer.keys.deregister(mr);
      peer.rx(sendOnly({ psn: 0, payload: pattern(8), ackReq: true }));
      peer.expectTx([nak(0x63, { psn: 0, msn: 0 })]);
      expect(peer.completions()).toEqual(['recv 1 LocProtErr']);
      expect(mr.bytes).toEqual(before);
    },
  );

  it('KEY-17 ATM-04 alignment is judged before the key', () => {
    const peer = new Peer();
    peer.rx(fetchAdd({ psn: 0, va: 0x1001n, rkey: 0x1234, add: 1n }));
    peer.expectTx([nak(0x61, { psn: 0, msn: 0 })]);
  });

  it('KEY-18 ACK-08 a NAK carries the PSN of the refused packet and counts only what was completed', () => {
    const peer = new Peer();
    peer.postRecv(1);
    const bad = { va: 0n, rkey: 5, length: 700 };
    peer.rx(...sendPackets({ psn: 0, data: pattern(600) }));
    peer.rx(writeOnly({ psn: 3, reth: { ...bad, length: 0 } }), readRequest({ psn: 4, reth: bad }));
    peer.expectTx([ack({ psn: 2, msn: 1 }), nak(0x62, { psn: 4, msn: 2 })]);
  });

  it('RNR-18 a WRITE with immediate that lacks both key and receive is refused for its key', () => {
    const peer = new Peer();
    peer.rx(writeOnlyImm({ psn: 0, imm: 1, reth: { va: 0n, rkey: 9, length: 4 }, payload: pattern(4) }));
    peer.expectTx([nak(0x62, { psn: 0, msn: 0 })]);
  });
});
