/**
 * READ and atomic answers at the requester: where the bytes go, when the request completes, and what is refused.
 * Method: the test answers, well and badly; the sink lies between guard bytes.
 */
import { describe, expect, it } from 'vitest';
import { Op } from '../../packets/opcode.ts';
import { QpState } from '../../transport/qp-state.ts';
import { WrOpcode } from '../../transport/work.ts';
import {
  ack,
  atomicAck,
  nak,
  type Packet,
  pattern,
  readFirst,
  readLast,
  readMiddle,
  readOnly,
  readResponses,
} from './support/packets.ts';
import { Peer } from './support/peer.ts';

const PMTU = 256;
const REMOTE = { remoteAddr: 0x1000n, rkey: 0x77 };
const GUARD = 64;

/** A READ of `length` bytes into the middle of a region, already on the wire. */
function withRead(length: number) {
  const peer = new Peer();
  const mr = peer.region({ length: length + 2 * GUARD });
  const guards = () => [...mr.bytes.slice(0, GUARD), ...mr.bytes.slice(GUARD + length)];
  const before = guards();
  peer.post({ wrId: 1, opcode: WrOpcode.RdmaRead, sges: [{ mr, offset: GUARD, length }], ...REMOTE });
  peer.drain();
  const expectGuards = () => expect(guards()).toEqual(before);
  return { peer, mr, sink: () => mr.bytes.slice(GUARD, GUARD + length), expectGuards };
}

describe('READ answers', () => {
  it.each([0, 1, 255, 256, 257, 512, 1283, 65_536])(
    'a READ of %i bytes lands byte for byte and nowhere else',
    (length) => {
      const { peer, sink, expectGuards } = withRead(length);
      const data = pattern(length, 3);
      peer.rx(...readResponses({ psn: 0, msn: 1, data }));
      const bytes = length > 0 ? ` ${length} bytes` : '';
      expect(peer.completions()).toEqual([`send 1 Success RdmaRead${bytes}`]);
      expect(sink()).toEqual(data);
      expectGuards();
    },
  );

  it('LEN-19 the data may be scattered over many pieces of any size', () => {
    const peer = new Peer();
    const mr = peer.region({ length: 2048 });
    mr.bytes.fill(0);
    const sges = [
      { mr, offset: 1, length: 3 },
      { mr, offset: 10, length: 0 },
      { mr, offset: 100, length: 700 },
      { mr, offset: 1000, length: 9 },
    ];
    peer.post({ wrId: 1, opcode: WrOpcode.RdmaRead, sges, ...REMOTE });
    peer.drain();
    const data = pattern(712, 4);
    peer.rx(...readResponses({ psn: 0, msn: 1, data }));
    expect(mr.bytes.slice(1, 4)).toEqual(data.slice(0, 3));
    expect(mr.bytes.slice(100, 800)).toEqual(data.slice(3, 703));
    expect(mr.bytes.slice(1000, 1009)).toEqual(data.slice(703));
    expect(mr.bytes.reduce((sum, byte) => sum + (byte === 0 ? 0 : 1), 0)).toBeLessThanOrEqual(712);
  });

  it('REQ-04 a READ completes only with all of its data', () => {
    const peer = new Peer();
    const mr = peer.region({ length: 6 * PMTU });
    for (const wrId of [1, 2]) {
      peer.post({ wrId, opcode: WrOpcode.RdmaRead, sges: [{ mr, length: 3 * PMTU }], ...REMOTE });
    }
    peer.drain();
    const [a, b, c] = readResponses({ psn: 0, msn: 1, data: pattern(3 * PMTU) });
    if (a === undefined || b === undefined || c === undefined) throw new Error('three');
    peer.rx(a, b);
    expect(peer.completions()).toEqual([]);
    peer.rx(c);
    expect(peer.completions()).toEqual(['send 1 Success RdmaRead 768 bytes']);
    expect(peer.qp.sendsOutstanding).toBe(1);
  });

  it('REQ-36 responses said twice change nothing', () => {
    const { peer, sink } = withRead(3 * PMTU);
    const data = pattern(3 * PMTU, 5);
    for (const packet of readResponses({ psn: 0, msn: 1, data })) {
      peer.rx(packet);
      const other = pattern(packet.payload?.length ?? 0, 77);
      peer.rx({ ...packet, payload: other });
    }
    expect(sink()).toEqual(data);
    expect(peer.completions()).toEqual(['send 1 Success RdmaRead 768 bytes']);
    expect(peer.counters.ignoredResponse).toBe(3);
    peer.silence();
  });

  const bad: [string, string, Packet[]][] = [
    ['LEN-16 a short FIRST', 'LocLenErr', [readFirst({ psn: 0, msn: 1, payload: pattern(PMTU - 4) })]],
    ['LEN-16 a long FIRST', 'LocLenErr', [readFirst({ psn: 0, msn: 1, payload: pattern(PMTU + 4) })]],
    ['LEN-16 an empty FIRST', 'LocLenErr', [readFirst({ psn: 0, msn: 1 })]],
    [
      'LEN-16 a short MIDDLE',
      'LocLenErr',
      [readFirst({ psn: 0, msn: 1, payload: pattern(PMTU) }), readMiddle({ psn: 1, payload: pattern(8) })],
    ],
    ['REQ-31 ONLY instead of FIRST', 'BadRespErr', [readOnly({ psn: 0, msn: 1, payload: pattern(PMTU) })]],
    ['REQ-31 LAST instead of FIRST', 'BadRespErr', [readLast({ psn: 0, msn: 1, payload: pattern(PMTU) })]],
    ['REQ-31 an atomic answer', 'BadRespErr', [atomicAck({ psn: 0, msn: 1, original: 0n })]],
    ['a response that says NAK', 'BadRespErr', [readFirst({ psn: 0, msn: 1, payload: pattern(PMTU), syndrome: 0x60 })]],
    ['a response that says RNR', 'BadRespErr', [readFirst({ psn: 0, msn: 1, payload: pattern(PMTU), syndrome: 0x25 })]],
    ['a reserved syndrome', 'BadRespErr', [readFirst({ psn: 0, msn: 1, payload: pattern(PMTU), syndrome: 0x40 })]],
  ];

  it.each(bad)('%s fails with %s and moves the queue pair to ERROR', (_, status, packets) => {
    const { peer, expectGuards } = withRead(3 * PMTU);
    peer.post({ wrId: 2, opcode: WrOpcode.Send });
    peer.drain();
    peer.rx(...packets);
    expect(peer.completions()).toEqual([`send 1 ${status}`, 'send 2 WrFlushErr']);
    expect(peer.qp.state).toBe(QpState.Error);
    expectGuards();
    peer.silence();
  });

  const badEnd: [string, string, Packet][] = [
    ['LEN-16 an empty LAST', 'LocLenErr', readLast({ psn: 2, msn: 1 })],
    ['LEN-17 a LAST that is too long', 'LocLenErr', readLast({ psn: 2, msn: 1, payload: pattern(11) })],
    ['LEN-17 a LAST of a whole MTU', 'LocLenErr', readLast({ psn: 2, msn: 1, payload: pattern(PMTU) })],
    ['LEN-16 a LAST that is too short', 'LocLenErr', readLast({ psn: 2, msn: 1, payload: pattern(9) })],
    ['a MIDDLE where the end is due', 'BadRespErr', readMiddle({ psn: 2, payload: pattern(PMTU) })],
    ['a FIRST where the end is due', 'BadRespErr', readFirst({ psn: 2, msn: 1, payload: pattern(PMTU) })],
  ];

  it.each(badEnd)('%s fails with %s and writes nothing beyond the sink', (_, status, packet) => {
    const { peer, sink, expectGuards } = withRead(2 * PMTU + 10);
    const data = pattern(2 * PMTU + 10, 9);
    peer.rx(...readResponses({ psn: 0, msn: 1, data }).slice(0, 2), packet);
    expect(peer.completions()).toEqual([`send 1 ${status}`]);
    expect(sink().slice(0, 2 * PMTU)).toEqual(data.slice(0, 2 * PMTU));
    expectGuards();
  });

  it('LEN-17 SEC-12 a response after the READ has completed is ignored', () => {
    const { peer, sink, expectGuards } = withRead(PMTU);
    const data = pattern(PMTU, 9);
    peer.rx(...readResponses({ psn: 0, msn: 1, data }));
    peer.rx(
      readOnly({ psn: 0, msn: 1, payload: pattern(PMTU, 66) }),
      readLast({ psn: 1, msn: 1, payload: pattern(4) }),
    );
    expect(peer.completions()).toEqual(['send 1 Success RdmaRead 256 bytes']);
    expect(sink()).toEqual(data);
    expectGuards();
    expect(peer.qp.state).toBe(QpState.Rts);
  });

  it('REQ-32 RD-14 a NAK in the middle of an answer ends the READ with its error', () => {
    const { peer } = withRead(4 * PMTU);
    peer.rx(...readResponses({ psn: 0, msn: 1, data: pattern(4 * PMTU) }).slice(0, 2));
    peer.rx(nak(0x62, { psn: 2, msn: 1 }));
    expect(peer.completions()).toEqual(['send 1 RemAccessErr']);
    peer.advance(1e12);
    peer.silence();
  });

  it.each(['deregistered', 'read-only'])(
    'QPS-17 a sink that is %s when the answer comes fails with a protection error',
    (kind) => {
      const peer = new Peer();
      const mr = peer.region({ length: PMTU });
      peer.post({ wrId: 1, opcode: WrOpcode.RdmaRead, sges: [{ mr }], ...REMOTE });
      peer.drain();
      if (kind === 'deregistered') peer.keys.deregister(mr);
      else mr.grant.valid = false;
      const before = mr.bytes.slice();
      peer.rx(...readResponses({ psn: 0, msn: 1, data: pattern(PMTU, 50) }));
      expect(peer.completions()).toEqual(['send 1 LocProtErr']);
      expect(mr.bytes).toEqual(before);
    },
  );
});

describe('atomic answers', () => {
  it.each([WrOpcode.AtomicFetchAndAdd, WrOpcode.AtomicCmpAndSwp])(
    'REQ-05 ATM-14 an atomic (%i) completes with its own answer, stored in host order',
    (opcode) => {
      const peer = new Peer();
      const mr = peer.region({ length: 24 });
      const guards = [...mr.bytes.slice(0, 8), ...mr.bytes.slice(16)];
      const atomic = { opcode, sges: [{ mr, offset: 8, length: 8 }], ...REMOTE };
      peer.post({ wrId: 1, ...atomic }, { wrId: 2, ...atomic });
      peer.drain();
      peer.rx(atomicAck({ psn: 0, msn: 1, original: 0x0102_0304_0506_0708n }));
      const name = opcode === WrOpcode.AtomicFetchAndAdd ? 'FetchAdd' : 'CompSwap';
      expect(peer.completions()).toEqual([`send 1 Success ${name} 8 bytes`]);
      expect([...mr.bytes.slice(8, 16)]).toEqual([8, 7, 6, 5, 4, 3, 2, 1]);
      expect([...mr.bytes.slice(0, 8), ...mr.bytes.slice(16)]).toEqual(guards);
      expect(peer.qp.sendsOutstanding).toBe(1);
    },
  );

  it('the result may be scattered over two pieces', () => {
    const peer = new Peer();
    const mr = peer.region({ length: 64 });
    const sges = [
      { mr, offset: 1, length: 3 },
      { mr, offset: 40, length: 5 },
    ];
    peer.post({ wrId: 1, opcode: WrOpcode.AtomicFetchAndAdd, sges, ...REMOTE });
    peer.drain();
    peer.rx(atomicAck({ psn: 0, msn: 1, original: 0x0102_0304_0506_0708n }));
    expect([...mr.bytes.slice(1, 4), ...mr.bytes.slice(40, 45)]).toEqual([8, 7, 6, 5, 4, 3, 2, 1]);
  });

  const bad: [string, string, Packet][] = [
    ['REQ-31 a READ response', 'BadRespErr', readOnly({ psn: 0, msn: 1, payload: pattern(8) })],
    ['an answer that says NAK', 'BadRespErr', { ...atomicAck({ psn: 0, msn: 1, original: 1n }), syndrome: 0x61 }],
    ['NAK 0x61', 'RemInvReqErr', nak(0x61, { psn: 0, msn: 0 })],
  ];

  it.each(bad)('%s fails an atomic with %s', (_, status, packet) => {
    const peer = new Peer();
    const mr = peer.region({ length: 8 });
    const before = mr.bytes.slice();
    peer.post({ wrId: 1, opcode: WrOpcode.AtomicFetchAndAdd, sges: [{ mr }], ...REMOTE });
    peer.drain();
    peer.rx(packet);
    expect(peer.completions()).toEqual([`send 1 ${status}`]);
    expect(mr.bytes).toEqual(before);
  });

  it('a plain acknowledge at the PSN of an atomic completes nothing', () => {
    const peer = new Peer();
    const mr = peer.region({ length: 8 });
    peer.post({ wrId: 1, opcode: WrOpcode.AtomicFetchAndAdd, sges: [{ mr }], ...REMOTE });
    peer.drain();
    peer.rx(ack({ psn: 0, msn: 1 }));
    expect(peer.completions()).toEqual([]);
    peer.rx(atomicAck({ psn: 0, msn: 1, original: 2n }));
    expect(peer.completions()).toEqual(['send 1 Success FetchAdd 8 bytes']);
  });

  it('QPS-18 a sink that died fails the atomic, which may have been executed at the peer', () => {
    const peer = new Peer();
    const mr = peer.region({ length: 8 });
    peer.post({ wrId: 1, opcode: WrOpcode.AtomicFetchAndAdd, sges: [{ mr }], ...REMOTE });
    peer.drain();
    peer.keys.deregister(mr);
    peer.rx(atomicAck({ psn: 0, msn: 1, original: 2n }));
    expect(peer.completions()).toEqual(['send 1 LocProtErr']);
  });

  it('SEC-12 answers of the wrong kind at other PSNs than the expected one are ignored', () => {
    const peer = new Peer();
    peer.post({ wrId: 1, opcode: WrOpcode.Send }, { wrId: 2, opcode: WrOpcode.Send });
    peer.drain();
    peer.rx({ ...readOnly({ psn: 1, msn: 1, payload: pattern(4) }), opcode: Op.ReadResponseMiddle });
    expect(peer.qp.state).toBe(QpState.Rts);
    peer.rx(ack({ psn: 1, msn: 2 }));
    expect(peer.completions()).toEqual(['send 1 Success Send', 'send 2 Success Send']);
  });
});
