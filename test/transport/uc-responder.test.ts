/**
 * Goal: an unreliable connection takes a message whole or not at all, and says nothing. Method: the scripted peer;
 * every rule of ref:conformance#UC, with what is lost, repeated and wrong; first PSNs two before the wrap.
 */
import { describe, expect, it } from 'vitest';
import { Access } from '../../transport/memory.ts';
import { QpState } from '../../transport/qp-state.ts';
import { QpType } from '../../transport/qp-type.ts';
import {
  type Packet,
  pattern,
  readRequest,
  sendFirst,
  sendLast,
  sendMiddle,
  sendOnly,
  sendOnlyImm,
  sendPackets,
  uc,
  writeOnly,
  writeOnlyImm,
  writePackets,
} from './support/packets.ts';
import { Peer, type PeerOptions } from './support/peer.ts';

/** A peer that may only be spoken to. */
class UcPeer extends Peer {
  constructor(options: PeerOptions = {}) {
    super({ type: QpType.Uc, ...options });
  }

  /** The subject takes requests and is silent. */
  take(...packets: readonly Packet[]): string[] {
    this.rx(...packets.map(uc));
    this.silence();
    expect(this.qp.state).toBe(QpState.Rts);
    return this.completions();
  }
}

const DATA = pattern(700);

describe('responder of an unreliable connection', () => {
  it('UC-01 takes SENDs and WRITEs across the wrap and answers none', () => {
    const peer = new UcPeer();
    const mr = peer.region({ length: 1000 });
    const receive = peer.postRecv(1);
    const { iova: va, rkey } = mr;
    expect(peer.take(...sendPackets({ psn: 0, data: DATA }))).toEqual(['recv 1 Success Recv 700 bytes']);
    expect(receive.bytes.subarray(0, 700)).toEqual(DATA);
    expect(peer.take(...writePackets({ psn: 3, data: DATA, va: va + 5n, rkey }))).toEqual([]);
    expect(mr.bytes.subarray(5, 705)).toEqual(DATA);
    peer.postRecv(2);
    expect(peer.take(sendOnlyImm({ psn: 6, imm: 0x77, solicited: true }))).toEqual([
      'recv 2 Success Recv 0 bytes imm 0x77 solicited',
    ]);
  });

  it('UC-02 UC-05 a gap discards the message, and its receive serves the next', () => {
    const peer = new UcPeer();
    const receive = peer.postRecv(1);
    const [first, , last] = sendPackets({ psn: 0, data: DATA });
    if (!first || !last) throw new Error('three packets');
    expect(peer.take(first, last)).toEqual([]);
    expect([peer.counters.brokenMessage, peer.counters.droppedRequest]).toEqual([1, 1]);
    expect(peer.take(sendOnly({ psn: 3, payload: pattern(9, 2) }))).toEqual(['recv 1 Success Recv 9 bytes']);
    expect(receive.bytes.subarray(0, 9)).toEqual(pattern(9, 2));
    expect(peer.qp.receivesPosted).toBe(0);
  });

  it('UC-03 after a gap the next FIRST or ONLY starts anew, whatever its PSN', () => {
    const peer = new UcPeer();
    for (const wrId of [1, 2]) peer.postRecv(wrId);
    expect(peer.take(sendOnly({ psn: 1000 }))).toEqual(['recv 1 Success Recv 0 bytes']);
    expect(peer.take(...sendPackets({ psn: 5, data: DATA }))).toEqual(['recv 2 Success Recv 700 bytes']);
    expect(peer.counters.brokenMessage).toBe(0);
  });

  it('UC-04 MIDDLE and LAST without FIRST are dropped, of the other kind too', () => {
    const peer = new UcPeer();
    peer.postRecv(1);
    const full = pattern(256);
    expect(peer.take(sendMiddle({ psn: 0, payload: full }), sendLast({ psn: 1, payload: full }))).toEqual([]);
    const writes = writePackets({ psn: 3, data: DATA, va: 0n, rkey: 0 }).slice(1);
    expect(peer.take(sendFirst({ psn: 2, payload: full }), ...writes)).toEqual([]);
    expect([peer.counters.droppedRequest, peer.counters.brokenMessage]).toEqual([4, 1]);
    expect(peer.take(sendOnly({ psn: 5 }))).toEqual(['recv 1 Success Recv 0 bytes']);
  });

  it('a FIRST or ONLY in the middle of a message breaks it and begins its own', () => {
    const peer = new UcPeer();
    const receive = peer.postRecv(1);
    const packets = sendPackets({ psn: 1, data: DATA });
    expect(peer.take(sendFirst({ psn: 0, payload: pattern(256, 5) }), ...packets)).toEqual([
      'recv 1 Success Recv 700 bytes',
    ]);
    expect(receive.bytes.subarray(0, 700)).toEqual(DATA);
    expect(peer.counters.brokenMessage).toBe(1);
  });

  it('UC-11 what is repeated is taken again when it is a message, and breaks one when it is a part', () => {
    const peer = new UcPeer();
    for (const wrId of [1, 2, 3]) peer.postRecv(wrId);
    const only = sendOnly({ psn: 0 });
    expect(peer.take(only, only)).toHaveLength(2);
    const [first, middle, last] = sendPackets({ psn: 1, data: DATA });
    if (!first || !middle || !last) throw new Error('three packets');
    expect(peer.take(first, middle, middle, last)).toEqual([]);
    expect(peer.take(first, first, middle, last)).toEqual(['recv 3 Success Recv 700 bytes']);
  });

  it('UC-05 UC-12 a WRITE with immediate takes the receive of a message that broke off', () => {
    const peer = new UcPeer();
    for (const wrId of [1, 2]) peer.postRecv(wrId);
    const none = { va: 0n, rkey: 0, length: 0 };
    const packets = [sendFirst({ psn: 0, payload: pattern(256) }), writeOnlyImm({ psn: 5, imm: 7, reth: none })];
    expect(peer.take(...packets, sendOnly({ psn: 6 }))).toEqual([
      'recv 1 Success RecvRdmaWithImm 0 bytes imm 0x7',
      'recv 2 Success Recv 0 bytes',
    ]);
  });

  it('RNR-16 UC-12 without a receive a SEND or a WRITE with immediate is dropped, and the next message is fine', () => {
    const peer = new UcPeer();
    const mr = peer.region({ length: 8 });
    const reth = { va: mr.iova, rkey: mr.rkey, length: 4 };
    expect(peer.take(...sendPackets({ psn: 0, data: DATA }))).toEqual([]);
    expect(peer.take(writeOnlyImm({ psn: 3, imm: 1, reth, payload: pattern(4) }))).toEqual([]);
    expect(peer.counters.noReceive).toBe(2);
    peer.postRecv(1);
    expect(peer.take(writeOnlyImm({ psn: 4, imm: 2, reth, payload: pattern(4, 3) }))).toEqual([
      'recv 1 Success RecvRdmaWithImm 4 bytes imm 0x2',
    ]);
    expect(mr.bytes.subarray(0, 4)).toEqual(pattern(4, 3));
  });

  it('UC-07 UC-09 a WRITE that the key or the queue pair refuses is silent and harmless', () => {
    const peer = new UcPeer();
    const mr = peer.region({ length: 8 });
    const before = mr.bytes.slice();
    const good = { va: mr.iova, rkey: mr.rkey, length: 4 };
    const payload = pattern(4, 3);
    peer.take(writeOnly({ psn: 0, reth: { ...good, rkey: mr.rkey ^ 1 }, payload }));
    peer.take(writeOnly({ psn: 1, reth: { ...good, va: mr.iova + 5n }, payload }));
    expect(mr.bytes).toEqual(before);
    peer.take(writeOnly({ psn: 2, reth: good, payload }));
    expect(mr.bytes.subarray(0, 4)).toEqual(payload);
    const closed = new UcPeer({ access: Access.LocalWrite });
    closed.take(writeOnly({ psn: 0, reth: { va: 0n, rkey: 0, length: 0 } }));
    expect([peer.counters.accessRefused, closed.counters.accessRefused]).toEqual([2, 1]);
    expect([...peer.events(), ...closed.events()]).toEqual([]);
  });

  it('a key that dies in the middle of a WRITE ends it, and nothing after it is written', () => {
    const peer = new UcPeer();
    const mr = peer.region({ length: 1000 });
    const [first, ...rest] = writePackets({ psn: 0, data: DATA, va: mr.iova, rkey: mr.rkey });
    if (!first) throw new Error('three packets');
    peer.take(first);
    const before = mr.bytes.slice();
    peer.keys.deregister(mr);
    peer.take(...rest);
    expect(mr.bytes).toEqual(before);
    expect([peer.counters.accessRefused, peer.counters.droppedRequest]).toEqual([1, 1]);
  });

  it.each<[string, (full: Uint8Array) => Packet[]]>([
    ['a FIRST that is not full', (full) => [sendFirst({ psn: 0, payload: full.subarray(4) })]],
    ['an ONLY over the MTU', () => [sendOnly({ psn: 0, payload: pattern(260) })]],
    ['a LAST that is empty', (full) => [sendFirst({ psn: 0, payload: full }), sendLast({ psn: 1 })]],
    [
      'a WRITE shorter than it says',
      (full) => [writeOnly({ psn: 0, reth: { va: 0n, rkey: 0, length: 300 }, payload: full })],
    ],
  ])('UC-08 %s is dropped in silence', (_name, packets) => {
    const peer = new UcPeer();
    peer.postRecv(1);
    expect(peer.take(...packets(pattern(256)))).toEqual([]);
    expect(peer.counters.badLength).toBe(1);
    expect(peer.take(sendOnly({ psn: 9 }))).toEqual(['recv 1 Success Recv 0 bytes']);
  });

  it('a message larger than its receive is dropped, and the receive serves one that fits', () => {
    const peer = new UcPeer();
    peer.postRecv(1, 300);
    peer.postRecv(2, 300);
    expect(peer.take(...sendPackets({ psn: 0, data: DATA }))).toEqual([]);
    expect(peer.counters.bufferTooSmall).toBe(1);
    expect(peer.take(...sendPackets({ psn: 3, data: pattern(300) }))).toEqual(['recv 1 Success Recv 300 bytes']);
    expect(peer.take(...sendPackets({ psn: 5, data: pattern(300) }))).toEqual(['recv 2 Success Recv 300 bytes']);
  });

  it('a receive whose memory is gone fails and takes the queue pair to ERROR', () => {
    const peer = new UcPeer();
    const mr = peer.postRecv(1);
    peer.postRecv(2);
    peer.keys.deregister(mr);
    peer.rx(uc(sendOnly({ psn: 0, payload: pattern(4) })));
    peer.silence();
    expect(peer.qp.state).toBe(QpState.Error);
    expect(peer.completions()).toEqual(['recv 1 LocProtErr', 'recv 2 WrFlushErr']);
  });

  it('UC-10 PKT-07 requests of other services, and responses, are dropped', () => {
    const peer = new UcPeer();
    peer.rx(readRequest({ psn: 0, reth: { va: 0n, rkey: 0, length: 0 } }), sendOnly({ psn: 0, ackReq: true }));
    peer.silence();
    expect(peer.counters.badService).toBe(2);
    for (let opcode = 0x2c; opcode < 0x40; opcode++) peer.rx({ opcode, psn: 0 });
    peer.silence();
    expect(peer.stopped).toHaveLength(20);
  });

  it('QPS-12 the first request in RTR tells that communication is established', () => {
    const peer = new Peer({ type: QpType.Uc, state: QpState.Rtr });
    peer.rx(uc(writeOnly({ psn: 0, reth: { va: 0n, rkey: 0, length: 0 } })));
    expect(peer.events()).toEqual(['comm-est']);
  });

  it('QPS-12 a request that is not taken tells nothing of the kind, and one that finds no receive does', () => {
    const peer = new Peer({ type: QpType.Uc, state: QpState.Rtr });
    peer.rx(
      uc(sendMiddle({ psn: 0 })),
      uc(writeOnly({ psn: 1, reth: { va: 0n, rkey: 1, length: 8 }, payload: pattern(8) })),
    );
    expect([peer.events(), peer.counters.droppedRequest, peer.counters.accessRefused]).toEqual([[], 1, 1]);
    peer.rx(uc(sendOnly({ psn: 2 })));
    expect([peer.events(), peer.counters.noReceive]).toEqual([['comm-est'], 1]);
  });

  it('QPS-13 a completion without room takes the queue pair to ERROR', () => {
    const peer = new Peer({ type: QpType.Uc, cqSize: 1 });
    for (const wrId of [1, 2]) peer.postRecv(wrId);
    peer.rx(uc(sendOnly({ psn: 0 })), uc(sendOnly({ psn: 1 })));
    expect([peer.qp.state, peer.events().includes('qp-fatal')]).toEqual([QpState.Error, true]);
  });
});
