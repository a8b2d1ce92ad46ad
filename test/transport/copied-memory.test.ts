/**
 * Regions whose memory is reached by copies, as that of another process is: everything that a peer or a work request
 * does with a region works, and memory that has gone away is an error of the queue pair, never more.
 * Method: the scripted peer, with memory of which a part can go away.
 */
import { afterEach, describe, expect, it } from 'vitest';
import { Access, type MemoryRegion, MemoryWindow } from '../../transport/memory.ts';
import { QpState } from '../../transport/qp-state.ts';
import { QpType } from '../../transport/qp-type.ts';
import { FlushLevel, FlushType, WrOpcode } from '../../transport/work.ts';
import { ForeignMemory } from './support/foreign-memory.ts';
import {
  ack,
  atomicAck,
  atomicWrite,
  compareSwap,
  fetchAdd,
  nak,
  pattern,
  readRequest,
  readResponses,
  sendOnly,
  sendPackets,
  writeOnly,
  writePackets,
} from './support/packets.ts';
import { ALL_ACCESS, Peer, type PeerOptions } from './support/peer.ts';

const IOVA = 0x7f00_0000_1000n;

let memories: ForeignMemory[] = [];

function setUp(length = 4096, options: PeerOptions = {}) {
  const memory = new ForeignMemory(length);
  memories.push(memory);
  const peer = new Peer(options);
  const mr = peer.keys.register(peer.pd, memory, { access: ALL_ACCESS | Access.MwBind, iova: IOVA });
  return { peer, memory, mr };
}

afterEach(() => {
  for (const memory of memories) expect(memory.outside).toBe(0);
  memories = [];
});

function reth(mr: MemoryRegion, offset: number, length: number) {
  return { va: mr.iova + BigInt(offset), rkey: mr.rkey, length };
}

describe('memory that is reached by copies', () => {
  it('takes a WRITE of several packets and answers a READ of it', () => {
    const { peer, memory, mr } = setUp();
    const data = pattern(700, 40);
    peer.rx(...writePackets({ psn: 0, va: IOVA + 100n, rkey: mr.rkey, data }));
    expect(memory.bytes.slice(100, 800)).toEqual(data);
    peer.drain();
    peer.rx(readRequest({ psn: 3, reth: reth(mr, 100, 700) }));
    peer.expectTx(readResponses({ psn: 3, msn: 2, data }));
  });

  it('takes COMPARE SWAP, FETCH ADD and ATOMIC WRITE', () => {
    const { peer, memory, mr } = setUp();
    const view = new DataView(memory.bytes.buffer);
    view.setBigUint64(16, 5n, true);
    peer.rx(fetchAdd({ psn: 0, va: IOVA + 16n, rkey: mr.rkey, add: 7n }));
    peer.expectTx([atomicAck({ psn: 0, msn: 1, original: 5n })]);
    peer.rx(compareSwap({ psn: 1, va: IOVA + 16n, rkey: mr.rkey, compare: 12n, swap: 1n << 40n }));
    peer.expectTx([atomicAck({ psn: 1, msn: 2, original: 12n })]);
    peer.rx(compareSwap({ psn: 2, va: IOVA + 16n, rkey: mr.rkey, compare: 12n, swap: 0n }));
    peer.expectTx([atomicAck({ psn: 2, msn: 3, original: 1n << 40n })]);
    expect(view.getBigUint64(16, true)).toBe(1n << 40n);
    peer.rx(atomicWrite({ psn: 3, reth: reth(mr, 24, 8), payload: pattern(8, 77) }));
    peer.drain();
    expect(memory.bytes.slice(24, 32)).toEqual(pattern(8, 77));
  });

  it('is what a SEND is made of and received into, and where READs and atomics end', () => {
    const { peer, memory, mr } = setUp();
    peer.post({ wrId: 1, opcode: WrOpcode.Send, sges: [{ mr, offset: 8, length: 300 }] });
    const payload = memory.bytes.slice(8, 308);
    peer.expectTx(sendPackets({ psn: 0, data: payload }));
    peer.qp.postRecv({ wrId: 2, sges: [{ mr, offset: 1000, length: 50 }] });
    peer.rx(sendOnly({ psn: 0, payload: pattern(33, 5), ackReq: true }));
    expect(memory.bytes.slice(1000, 1033)).toEqual(pattern(33, 5));
    peer.drain();
    peer.post({
      wrId: 3,
      opcode: WrOpcode.RdmaRead,
      sges: [{ mr, offset: 2000, length: 20 }],
      remoteAddr: 0n,
      rkey: 1,
    });
    const add = { remoteAddr: 8n, rkey: 1, compareAdd: 1n };
    const sges = [
      { mr, offset: 3000, length: 3 },
      { mr, offset: 3010, length: 5 },
    ];
    peer.post({ wrId: 4, opcode: WrOpcode.AtomicFetchAndAdd, sges, ...add });
    peer.drain();
    peer.rx(...readResponses({ psn: 2, msn: 2, data: pattern(20, 6) }));
    peer.rx(atomicAck({ psn: 3, msn: 3, original: 0x0807_0605_0403_0201n }));
    expect(memory.bytes.slice(2000, 2020)).toEqual(pattern(20, 6));
    expect([...memory.bytes.slice(3000, 3003), ...memory.bytes.slice(3010, 3015)]).toEqual([1, 2, 3, 4, 5, 6, 7, 8]);
    expect(peer.completions()).toEqual([
      'send 1 Success Send',
      'send 3 Success RdmaRead 20 bytes',
      'send 4 Success FetchAdd 8 bytes',
      'recv 2 Success Recv 33 bytes',
    ]);
  });

  it('can be lent in part by a window, and its FLUSH is answered', () => {
    const { peer, memory, mr } = setUp(4096, { access: ALL_ACCESS | Access.FlushGlobal });
    const mw = peer.keys.allocateWindow(peer.pd, (pd, rkey) => new MemoryWindow(pd, rkey));
    const bind = { mr, addr: IOVA + 256n, length: 64, access: Access.RemoteWrite | Access.ZeroBased };
    peer.post({ wrId: 1, opcode: WrOpcode.BindMw, mw, bind, rkey: mw.rkey + 1 });
    peer.silence();
    peer.rx(writeOnly({ psn: 0, reth: { va: 60n, rkey: mw.rkey, length: 4 }, payload: pattern(4, 9), ackReq: true }));
    peer.expectTx([ack({ psn: 0, msn: 1 })]);
    expect(memory.bytes.slice(316, 320)).toEqual(pattern(4, 9));
    peer.rx(writeOnly({ psn: 1, reth: { va: 61n, rkey: mw.rkey, length: 4 }, payload: pattern(4, 9), ackReq: true }));
    peer.expectTx([nak(0x62, { psn: 1, msn: 1 })]);
  });

  it('is what a FLUSH of our own is asked for all the same', () => {
    const { peer } = setUp();
    const flush = { type: FlushType.Global, level: FlushLevel.Range };
    peer.post({ wrId: 1, opcode: WrOpcode.Flush, flush, length: 8, remoteAddr: 0n, rkey: 1 });
    expect(peer.drain()).toHaveLength(1);
  });
});

describe('memory that puts copies off while a message goes on', () => {
  const patient = () => {
    const world = setUp();
    world.memory.patient = true;
    return world;
  };
  const DATA = pattern(600, 41);

  it('has a WRITE when it is acknowledged', () => {
    const { peer, memory, mr } = patient();
    const [first, ...others] = writePackets({ psn: 0, va: IOVA + 100n, rkey: mr.rkey, data: DATA });
    if (first === undefined) throw new Error('a WRITE of 600 bytes has three packets');
    peer.rx(first);
    expect(memory.waiting).toBe(256);
    peer.rx(...others);
    expect([memory.waiting, memory.bytes.slice(100, 700)]).toEqual([0, DATA]);
    peer.expectTx([ack({ psn: 2, msn: 1 })]);
  });

  it('has a SEND when it completes, in each segment, however much room is left', () => {
    const { peer, memory, mr } = patient();
    const sges = [
      { mr, offset: 0, length: 300 },
      { mr, offset: 1000, length: 400 },
    ];
    peer.qp.postRecv({ wrId: 1, sges });
    const waited = sendPackets({ psn: 0, data: DATA }).map((packet) => {
      peer.rx(packet);
      return memory.waiting;
    });
    // The first segment is full with the second packet.
    expect(waited).toEqual([256, 212, 0]);
    expect([...memory.bytes.slice(0, 300), ...memory.bytes.slice(1000, 1300)]).toEqual([...DATA]);
    expect(peer.completions()).toEqual(['recv 1 Success Recv 600 bytes']);
  });

  it('has what a READ asked for when that completes', () => {
    const { peer, memory, mr } = patient();
    peer.post({
      ...{ wrId: 1, opcode: WrOpcode.RdmaRead, remoteAddr: 0n, rkey: 1 },
      sges: [{ mr, offset: 0, length: 600 }],
    });
    peer.drain();
    const waited = readResponses({ psn: 0, msn: 1, data: DATA }).map((packet) => {
      peer.rx(packet);
      return memory.waiting;
    });
    expect([waited, memory.bytes.slice(0, 600)]).toEqual([[256, 512, 0], DATA]);
    expect(peer.completions()).toEqual(['send 1 Success RdmaRead 600 bytes']);
  });

  it('refuses a WRITE with its last packet', () => {
    const { peer, memory, mr } = patient();
    memory.gone = [0, 1];
    peer.rx(...writePackets({ psn: 0, va: IOVA, rkey: mr.rkey, data: DATA }));
    peer.expectTx([nak(0x62, { psn: 2, msn: 0 })]);
  });
});

describe('memory that has gone away', () => {
  const gone = (memory: ForeignMemory, from: number, to: number) => {
    memory.gone = [from, to];
  };

  it.each([
    ['WRITE', (mr: MemoryRegion) => writeOnly({ psn: 0, reth: reth(mr, 60, 16), payload: pattern(16) })],
    ['FETCH ADD', (mr: MemoryRegion) => fetchAdd({ psn: 0, va: IOVA + 64n, rkey: mr.rkey, add: 1n })],
    ['ATOMIC WRITE', (mr: MemoryRegion) => atomicWrite({ psn: 0, reth: reth(mr, 64, 8), payload: pattern(8) })],
    ['READ', (mr: MemoryRegion) => readRequest({ psn: 0, reth: reth(mr, 60, 16) })],
  ])('a %s draws a remote access error, as a key that was invalidated does', (name, packet) => {
    const { peer, memory, mr } = setUp();
    gone(memory, 64, 80);
    peer.rx(packet(mr));
    // A READ was taken, and its message counted, before its memory was read.
    peer.expectTx([nak(0x62, { psn: 0, msn: name === 'READ' ? 1 : 0 })]);
    expect(peer.qp.state).toBe(QpState.Error);
    expect(peer.events()).toEqual(['qp-access-err']);
  });

  it('a READ is answered up to there', () => {
    const { peer, memory, mr } = setUp();
    gone(memory, 600, 601);
    peer.rx(readRequest({ psn: 0, reth: reth(mr, 0, 1024) }));
    const data = memory.bytes.slice(0, 1024);
    const whole = readResponses({ psn: 0, msn: 1, data });
    peer.expectTx([...whole.slice(0, 2), nak(0x62, { psn: 2, msn: 1 })]);
  });

  it('a SEND draws a remote operational error, and its receive fails by a local protection error', () => {
    const { peer, memory, mr } = setUp();
    gone(memory, 0, 4096);
    peer.qp.postRecv({ wrId: 5, sges: [{ mr, length: 64 }] });
    peer.rx(sendOnly({ psn: 0, payload: pattern(16), ackReq: true }));
    peer.expectTx([nak(0x63, { psn: 0, msn: 0 })]);
    expect(peer.completions()).toEqual(['recv 5 LocProtErr']);
  });

  it('a request fails in its turn: what was posted before is completed first, what came after is flushed', () => {
    const { peer, memory, mr } = setUp();
    gone(memory, 1000, 1001);
    const send = (wrId: number, offset: number) => ({
      ...{ wrId, opcode: WrOpcode.Send, sges: [{ mr, offset, length: 400 }] },
    });
    peer.post(send(1, 0), send(2, 700), send(3, 2000));
    // The first packet of the second message still has its bytes.
    expect(peer.drain()).toHaveLength(3);
    expect(peer.completions()).toEqual([]);
    peer.rx(ack({ psn: 2, msn: 1 }));
    peer.pump();
    expect(peer.completions()).toEqual(['send 1 Success Send', 'send 2 LocProtErr', 'send 3 WrFlushErr']);
    expect(peer.qp.state).toBe(QpState.Error);
  });

  it('the response to a READ or an atomic fails by a local protection error', () => {
    for (const opcode of [WrOpcode.RdmaRead, WrOpcode.AtomicFetchAndAdd]) {
      const { peer, memory, mr } = setUp();
      peer.post({ wrId: 1, opcode, sges: [{ mr, length: 8 }], remoteAddr: 0n, rkey: 1, compareAdd: 1n });
      peer.drain();
      gone(memory, 7, 8);
      if (opcode === WrOpcode.RdmaRead) peer.rx(...readResponses({ psn: 0, msn: 1, data: pattern(8) }));
      else peer.rx(atomicAck({ psn: 0, msn: 1, original: 1n }));
      expect(peer.completions()).toEqual(['send 1 LocProtErr']);
      expect(peer.qp.state).toBe(QpState.Error);
    }
  });

  it('unreliable services: a send stops the send queue, a datagram or message fails its receive', () => {
    for (const type of [QpType.Uc, QpType.Ud]) {
      const { peer, memory, mr } = setUp(4096, { type });
      gone(memory, 0, 10);
      if (type === QpType.Uc) {
        peer.post({ wrId: 1, opcode: WrOpcode.Send, sges: [{ mr, length: 20 }] });
        peer.silence();
        expect(peer.completions()).toEqual(['send 1 LocProtErr']);
        expect(peer.qp.state).toBe(QpState.Sqe);
        peer.qp.postRecv({ wrId: 2, sges: [{ mr, length: 20 }] });
        peer.rx({ ...sendOnly({ psn: 0, payload: pattern(16) }), opcode: 0x24, ackReq: false });
        expect(peer.completions()).toEqual(['recv 2 LocProtErr']);
        expect(peer.qp.state).toBe(QpState.Error);
      }
    }
  });
});
