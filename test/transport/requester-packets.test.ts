/**
 * What a requester puts on the wire: packets of each operation, their PSNs, AckReq, order, limits.
 * Method: post work, compare the whole list of packets.
 */
import { describe, expect, it } from 'vitest';
import { Access } from '../../transport/memory.ts';
import { type SendWr, WrOpcode } from '../../transport/work.ts';
import {
  ack,
  atomicAck,
  compareSwap,
  cut,
  describePacket,
  fetchAdd,
  type Packet,
  pattern,
  readOnly,
  readRequest,
  readResponses,
  sendFirst,
  sendLast,
  sendMiddle,
  sendOnly,
  sendPackets,
  writePackets,
} from './support/packets.ts';
import { Peer } from './support/peer.ts';

const PMTU = 256;
const REMOTE = { remoteAddr: 0x1234_5678_9abc_def0n, rkey: 0xcafe_0001 };
const reth = (length: number) => ({ va: REMOTE.remoteAddr, rkey: REMOTE.rkey, length });

function withData(length: number) {
  const peer = new Peer();
  const mr = peer.region({ length });
  return { peer, mr, sges: [{ mr }] };
}

describe('packets of a requester', () => {
  it.each([0, 1, 3, 4, 5, 255, 256, 257, 511, 512, 513, 1283])(
    'OPS-14 LEN-13 REQ-02 a SEND of %i bytes is cut at PMTU, and its last packet asks for an ACK',
    (length) => {
      const { peer, mr, sges } = withData(length);
      peer.post({ wrId: 1, opcode: WrOpcode.Send, sges });
      peer.expectTx(sendPackets({ psn: 0, data: mr.bytes }));
    },
  );

  it.each([0, 1, 255, 256, 257, 512, 1283])(
    'OPS-14 OPS-16 a WRITE of %i bytes has its RETH in FIRST or ONLY alone',
    (length) => {
      const { peer, mr, sges } = withData(length);
      peer.post({ wrId: 1, opcode: WrOpcode.RdmaWrite, sges, ...REMOTE });
      peer.expectTx(writePackets({ psn: 0, data: mr.bytes, va: REMOTE.remoteAddr, rkey: REMOTE.rkey }));
    },
  );

  it.each([100, 3 * PMTU])('OPS-15 immediate and invalidate travel in ONLY or LAST alone (%i bytes)', (length) => {
    const kinds: [WrOpcode, Partial<Packet>, number, number][] = [
      [WrOpcode.SendWithImm, { imm: 0xdead_beef }, 0x05, 0x03],
      [WrOpcode.SendWithInv, { inv: 0x8765_4321 }, 0x17, 0x16],
      [WrOpcode.RdmaWriteWithImm, { imm: 0xdead_beef }, 0x0b, 0x09],
    ];
    for (const [opcode, extra, only, last] of kinds) {
      const { peer, mr, sges } = withData(length);
      peer.post({ wrId: 1, opcode, sges, ...REMOTE, immData: 0xdead_beef, invalidateRkey: 0x8765_4321 });
      const write = opcode === WrOpcode.RdmaWriteWithImm;
      const plain = write
        ? writePackets({ psn: 0, data: mr.bytes, va: REMOTE.remoteAddr, rkey: REMOTE.rkey })
        : sendPackets({ psn: 0, data: mr.bytes });
      const end = plain.length - 1;
      peer.expectTx(
        plain.map((packet, i) => (i === end ? { ...packet, ...extra, opcode: i === 0 ? only : last } : packet)),
      );
    }
  });

  it('REQ-01 the next PSN is one more, or more by the number of READ responses', () => {
    const { peer, sges } = withData(3 * PMTU);
    peer.post({ wrId: 1, opcode: WrOpcode.Send });
    peer.post({ wrId: 2, opcode: WrOpcode.RdmaRead, sges, ...REMOTE });
    peer.post({ wrId: 3, opcode: WrOpcode.Send });
    peer.expectTx([
      sendOnly({ psn: 0, ackReq: true }),
      readRequest({ psn: 1, ackReq: true, reth: reth(3 * PMTU) }),
      sendOnly({ psn: 4, ackReq: true }),
    ]);
  });

  it('atomics carry their operands: FETCH ADD its addend in the swap field', () => {
    const { peer, sges } = withData(8);
    const target = { va: REMOTE.remoteAddr, rkey: REMOTE.rkey };
    peer.post({ wrId: 1, opcode: WrOpcode.AtomicFetchAndAdd, sges, ...REMOTE, compareAdd: 2n ** 64n - 1n });
    peer.post({ wrId: 2, opcode: WrOpcode.AtomicCmpAndSwp, sges, ...REMOTE, compareAdd: 7n, swap: 0x1_0000_0002n });
    peer.expectTx([
      fetchAdd({ psn: 0, ackReq: true, ...target, add: 2n ** 64n - 1n }),
      compareSwap({ psn: 1, ackReq: true, ...target, compare: 7n, swap: 0x1_0000_0002n }),
    ]);
  });

  it('OPS-12 OPS-13 OPS-17 requests leave whole and in the order of posting', () => {
    const { peer, mr, sges } = withData(3 * PMTU);
    const data = mr.bytes;
    const target = { va: REMOTE.remoteAddr, rkey: REMOTE.rkey };
    peer.post({ wrId: 1, opcode: WrOpcode.Send, sges });
    peer.post({ wrId: 2, opcode: WrOpcode.RdmaRead, sges, ...REMOTE });
    peer.post({ wrId: 3, opcode: WrOpcode.RdmaWrite, sges, ...REMOTE });
    peer.post({ wrId: 4, opcode: WrOpcode.AtomicFetchAndAdd, sges: [{ mr, length: 8 }], ...REMOTE });
    peer.post({ wrId: 5, opcode: WrOpcode.Send });
    peer.expectTx([
      ...sendPackets({ psn: 0, data }),
      readRequest({ psn: 3, ackReq: true, reth: reth(3 * PMTU) }),
      ...writePackets({ psn: 6, data, ...target }),
      fetchAdd({ psn: 9, ackReq: true, ...target, add: 0n }),
      sendOnly({ psn: 10, ackReq: true }),
    ]);
  });

  it('LEN-19 a message may be gathered from many pieces of any size', () => {
    const peer = new Peer();
    const mr = peer.region({ length: 2048 });
    const sges = [
      { mr, offset: 3, length: 5 },
      { mr, offset: 100, length: 0 },
      { mr, offset: 500, length: 600 },
      { mr, offset: 2047 },
    ];
    const data = Uint8Array.from([...mr.bytes.slice(3, 8), ...mr.bytes.slice(500, 1100), ...mr.bytes.slice(2047)]);
    peer.post({ wrId: 1, opcode: WrOpcode.Send, sges });
    peer.expectTx(sendPackets({ psn: 0, data }));
  });

  it('inline data is taken when posted and may be changed at once', () => {
    const peer = new Peer();
    const inline = pattern(20);
    peer.post({ wrId: 1, opcode: WrOpcode.Send, inline });
    inline.fill(0);
    peer.expectTx(sendPackets({ psn: 0, data: pattern(20) }));
  });

  it('the solicited bit is set in the last packet alone', () => {
    const { peer, mr, sges } = withData(3 * PMTU);
    peer.post({ wrId: 1, opcode: WrOpcode.Send, sges, solicited: true });
    const [a, b, c] = cut(mr.bytes, PMTU).map((payload, psn) => ({ psn, payload }));
    if (a === undefined || b === undefined || c === undefined) throw new Error('three pieces');
    peer.expectTx([sendFirst(a), sendMiddle(b), sendLast({ ...c, ackReq: true, solicited: true })]);
  });

  it('REQ-02 a long message asks for an ACK now and then, and when its window closes', () => {
    const { peer, sges } = withData(300 * PMTU);
    peer.post({ wrId: 1, opcode: WrOpcode.RdmaWrite, sges, ...REMOTE });
    const sent = peer.drain();
    const asking = sent.filter(({ ackReq }) => ackReq === true).map(({ psn }) => psn);
    expect(sent).toHaveLength(128);
    expect(asking).toEqual([31, 63, 95, 127]);
    peer.rx(ack({ psn: 99, msn: 0 }));
    expect(peer.drain().map(({ psn }) => psn)).toEqual(Array.from({ length: 100 }, (_, i) => 128 + i));
  });

  it('REQ-02 the last packet before a closed window asks, wherever the window closes', () => {
    const { peer, sges } = withData(300 * PMTU);
    peer.post({ wrId: 1, opcode: WrOpcode.Send }, { wrId: 2, opcode: WrOpcode.RdmaWrite, sges, ...REMOTE });
    const asking = peer.drain().filter(({ ackReq }) => ackReq === true);
    expect(asking.map(({ psn }) => psn)).toEqual([0, 32, 64, 96, 127]);
  });

  it('REQ-29 at most max_rd_atomic READs and atomics are unanswered, and what follows waits its turn', () => {
    for (const limit of [1, 2, 4]) {
      const peer = new Peer({ maxRdAtomic: limit });
      const mr = peer.region({ length: 8 });
      for (let i = 0; i < 6; i++) peer.post({ wrId: i, opcode: WrOpcode.RdmaRead, sges: [{ mr }], ...REMOTE });
      peer.post({ wrId: 6, opcode: WrOpcode.Send });
      expect(peer.drain().map(({ psn }) => psn)).toEqual(Array.from({ length: limit }, (_, i) => i));
      peer.rx(readOnly({ psn: 0, msn: 1, payload: pattern(8) }));
      expect(peer.drain().map(({ psn }) => psn)).toEqual([limit]);
      const later: number[] = [];
      for (let i = 1; i < 6; i++) {
        peer.rx(readOnly({ psn: i, msn: 1, payload: pattern(8) }));
        later.push(...peer.drain().map(({ psn }) => psn));
      }
      expect(later).toEqual(Array.from({ length: 6 - limit }, (_, i) => limit + 1 + i));
    }
  });

  it('REQ-30 a fenced request waits for every READ and atomic before it', () => {
    const peer = new Peer();
    const mr = peer.region({ length: 2 * PMTU });
    peer.post({ wrId: 1, opcode: WrOpcode.RdmaRead, sges: [{ mr }], ...REMOTE });
    peer.post({ wrId: 2, opcode: WrOpcode.AtomicFetchAndAdd, sges: [{ mr, length: 8 }], ...REMOTE });
    peer.post({ wrId: 3, opcode: WrOpcode.Send, fence: true });
    expect(peer.drain().map(({ psn }) => psn)).toEqual([0, 2]);
    peer.rx(...readResponses({ psn: 0, msn: 1, data: pattern(2 * PMTU) }));
    peer.silence();
    peer.rx(atomicAck({ psn: 2, msn: 2, original: 1n }));
    peer.expectTx([sendOnly({ psn: 3, ackReq: true })]);
  });

  it('REQ-30 a fence does not wait for SENDs and WRITEs', () => {
    const peer = new Peer();
    peer.post({ wrId: 1, opcode: WrOpcode.Send }, { wrId: 2, opcode: WrOpcode.Send, fence: true });
    peer.expectTx([sendOnly({ psn: 0, ackReq: true }), sendOnly({ psn: 1, ackReq: true })]);
  });

  it('REQ-25 a READ never spans more PSNs than a peer can tell from duplicates, counted from the oldest unacknowledged', () => {
    const peer = new Peer({ capabilities: { maxSge: 64 } });
    const mr = peer.keys.register(peer.pd, new Uint8Array(2 ** 26), { access: Access.LocalWrite, iova: 0n });
    const sges = Array.from({ length: 32 }, () => ({ mr }));
    peer.post({ wrId: 1, opcode: WrOpcode.Send });
    peer.post({ wrId: 2, opcode: WrOpcode.RdmaRead, sges, ...REMOTE });
    peer.expectTx([sendOnly({ psn: 0, ackReq: true })]);
    peer.rx(ack({ psn: 0, msn: 1 }));
    peer.expectTx([readRequest({ psn: 1, ackReq: true, reth: reth(2 ** 31) })]);
  });

  it('MigReq is 1 unless the owner says otherwise; the harness checks it and the P_Key in every frame', () => {
    const peer = withData(4).peer;
    peer.post({ wrId: 1, opcode: WrOpcode.Send });
    peer.expectTx([sendOnly({ psn: 0, ackReq: true })]);
    peer.modifyQuietly({ migReq: 0, pkey: 0x8001 });
    peer.post({ wrId: 2, opcode: WrOpcode.Send });
    peer.expectTx([sendOnly({ psn: 1, ackReq: true })]);
  });

  it('packets read alike when they are alike', () => {
    const wr: SendWr = { wrId: 1, opcode: WrOpcode.Send };
    const [a, b] = [new Peer({ psn: 5 }), new Peer({ psn: 0xff_ff_ff })].map((peer) => {
      peer.post(wr);
      return peer.drain().map(describePacket);
    });
    expect(a).toEqual(['SEND Only psn+0 AckReq']);
    expect(b).toEqual(a);
  });
});
