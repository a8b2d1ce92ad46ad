/**
 * Loss at the requester: acknowledgements, sequence NAKs spoken and implied, and go-back-N.
 * Method: the test acknowledges, refuses or stays silent; timeouts are in requester-timeout.test.ts.
 */
import { describe, expect, it } from 'vitest';
import { QpState } from '../../transport/qp-state.ts';
import { ackTimeoutNs } from '../../transport/timers.ts';
import { WrOpcode } from '../../transport/work.ts';
import {
  ack,
  atomicAck,
  nak,
  pattern,
  readRequest,
  readResponses,
  rnrNak,
  sendOnly,
  sendPackets,
  writePackets,
} from './support/packets.ts';
import { Peer, type PeerOptions } from './support/peer.ts';
import { done, sends, withSends } from './support/sends.ts';

const PMTU = 256;
const REMOTE = { remoteAddr: 0x1000n, rkey: 0x77 };
const TIMEOUT = ackTimeoutNs(14);

describe('acknowledgement', () => {
  it('REQ-03 a SEND completes when its last packet is acknowledged, and not before', () => {
    const peer = new Peer();
    const mr = peer.region({ length: 3 * PMTU });
    for (const wrId of [1, 2]) peer.post({ wrId, opcode: WrOpcode.Send, sges: [{ mr }] });
    peer.drain();
    peer.rx(ack({ psn: 1, msn: 0 }));
    expect(peer.completions()).toEqual([]);
    peer.rx(ack({ psn: 2, msn: 1 }));
    expect(peer.completions()).toEqual(['send 1 Success Send']);
    peer.rx(ack({ psn: 4, msn: 1 }));
    expect(peer.completions()).toEqual([]);
    expect(peer.qp.sendsOutstanding).toBe(1);
  });

  it('REQ-06 REQ-07 one acknowledge completes all that came before, in order of posting', () => {
    const peer = withSends(10);
    expect(peer.drain()).toHaveLength(10);
    peer.rx(ack({ psn: 9, msn: 10 }));
    expect(peer.completions()).toEqual(done(0, 10));
    expect(peer.qp.nextDeadline()).toBe(Number.POSITIVE_INFINITY);
  });

  it('unsignalled work completes silently, and only in success', () => {
    const peer = new Peer();
    peer.post({ wrId: 1, opcode: WrOpcode.Send, signaled: false }, { wrId: 2, opcode: WrOpcode.Send });
    peer.drain();
    peer.rx(ack({ psn: 1, msn: 2 }));
    expect(peer.completions()).toEqual(['send 2 Success Send']);
    expect(peer.qp.sendsOutstanding).toBe(0);
  });

  it('REQ-35 completion follows the PSN even when the MSN runs ahead', () => {
    const peer = withSends(3);
    peer.drain();
    peer.rx(ack({ psn: 0, msn: 5 }));
    expect(peer.completions()).toEqual(done(0, 1));
  });

  it.each([-1, -100, -0x7f_ff_ff])('REQ-08 REQ-10 an ACK of PSN %i is old and ignored', (psn) => {
    const peer = withSends(3);
    peer.drain();
    peer.rx(ack({ psn, msn: 9 }), nak(0x60, { psn, msn: 0 }), nak(0x62, { psn, msn: 0 }), rnrNak(1, { psn, msn: 0 }));
    expect(peer.counters.ignoredResponse).toBe(4);
    peer.silence();
    peer.rx(ack({ psn: 2, msn: 3 }));
    expect(peer.completions()).toEqual(done(0, 3));
  });

  it.each([0, 1, 1000, 2 ** 22, 0x7f_ff_00])('REQ-09 an ACK %i beyond what was sent is ignored', (beyond) => {
    const peer = withSends(3);
    peer.drain();
    const psn = 3 + beyond;
    peer.rx(ack({ psn, msn: 9 }), nak(0x60, { psn, msn: 0 }), nak(0x61, { psn, msn: 0 }), rnrNak(1, { psn, msn: 0 }));
    expect(peer.completions()).toEqual([]);
    peer.silence();
    peer.rx(ack({ psn: 2, msn: 3 }));
    expect(peer.completions()).toEqual(done(0, 3));
  });

  it('REQ-10 ACK-13 acknowledgements said again change nothing', () => {
    const peer = withSends(4);
    peer.drain();
    for (const psn of [0, 0, 1, 0, 1, 2, 2, 3, 3, 1]) peer.rx(ack({ psn, msn: psn + 1 }));
    expect(peer.completions()).toEqual(done(0, 4));
    peer.advance(10 * TIMEOUT);
    peer.silence();
  });

  it.each([0x40, 0x5f, 0x64, 0x65, 0x70, 0x7f, 0x80, 0x9f, 0xff])(
    'ACK-16 ACK-17 syndrome 0x%i is ignored',
    (syndrome) => {
      const peer = withSends(2);
      peer.drain();
      peer.rx(nak(syndrome, { psn: 1, msn: 0 }));
      expect(peer.completions()).toEqual([]);
      expect(peer.qp.state).toBe(QpState.Rts);
      peer.silence();
      peer.rx(ack({ psn: 1, msn: 2 }));
      expect(peer.completions()).toEqual(done(0, 2));
    },
  );

  it.each([0, 7, 30])('an ACK with credit code %i acknowledges like any other', (credits) => {
    const peer = withSends(2);
    peer.drain();
    peer.rx(nak(credits, { psn: 1, msn: 2 }));
    expect(peer.completions()).toEqual(done(0, 2));
  });

  it('REQ-37 acknowledgements from a foreign address are dropped', () => {
    const peer = withSends(1);
    peer.drain();
    peer.rx(ack({ psn: 0, msn: 1, source: '192.0.2.66' }));
    expect(peer.completions()).toEqual([]);
    expect(peer.counters.badAddress).toBe(1);
  });
});

describe('sequence NAK', () => {
  it('REQ-15 REQ-16 REQ-27 NAK 0x60 acknowledges all before it and the rest is sent again in order', () => {
    const peer = withSends(5);
    peer.expectTx(sends(0, 5));
    peer.rx(nak(0x60, { psn: 2, msn: 2 }));
    expect(peer.completions()).toEqual(done(0, 2));
    peer.expectTx(sends(2, 5));
    expect(peer.counters).toMatchObject({ rcvdSeqErr: 1, retransmittedPkts: 3 });
  });

  it('REQ-38 a NAK in the middle of a message restarts inside it with the right opcodes', () => {
    for (const write of [false, true]) {
      const peer = new Peer();
      const mr = peer.region({ length: 4 * PMTU - 3 });
      const opcode = write ? WrOpcode.RdmaWrite : WrOpcode.Send;
      peer.post({ wrId: 1, opcode, sges: [{ mr }], ...REMOTE });
      const data = mr.bytes;
      const packets = write
        ? writePackets({ psn: 0, data, va: REMOTE.remoteAddr, rkey: REMOTE.rkey })
        : sendPackets({ psn: 0, data });
      peer.expectTx(packets);
      peer.rx(nak(0x60, { psn: 1, msn: 0 }));
      peer.expectTx(packets.slice(1));
      peer.rx(nak(0x60, { psn: 3, msn: 0 }));
      peer.expectTx(packets.slice(3));
    }
  });

  it('REQ-26 what is sent again is bit-identical but for IP identification, checksum and ICRC', () => {
    const peer = new Peer();
    const mr = peer.region({ length: 2 * PMTU + 5 });
    peer.post({ wrId: 1, opcode: WrOpcode.RdmaWriteWithImm, sges: [{ mr }], ...REMOTE, immData: 4 });
    peer.drain();
    peer.advance(TIMEOUT);
    const blanked = peer.sent.map((bytes) => {
      const copy = bytes.slice(0, -4);
      copy.fill(0, 4, 6);
      copy.fill(0, 10, 12);
      return copy;
    });
    expect(blanked).toHaveLength(6);
    expect(blanked.slice(3)).toEqual(blanked.slice(0, 3));
  });

  it('an echo of the same NAK does not restart the retry', () => {
    const peer = withSends(3);
    peer.drain();
    peer.rx(nak(0x60, { psn: 1, msn: 1 }));
    peer.expectTx(sends(1, 3));
    peer.rx(nak(0x60, { psn: 1, msn: 1 }), nak(0x60, { psn: 1, msn: 1 }));
    peer.silence();
  });

  it('a NAK for a later packet during a retry is progress and is acted upon', () => {
    const peer = withSends(4);
    peer.drain();
    peer.rx(nak(0x60, { psn: 1, msn: 1 }));
    peer.drain();
    peer.rx(nak(0x60, { psn: 3, msn: 3 }));
    expect(peer.completions()).toEqual(done(0, 3));
    peer.expectTx(sends(3, 4));
  });

  it('after progress a NAK at the oldest packet is no echo any more', () => {
    const peer = withSends(4);
    peer.drain();
    peer.rx(nak(0x60, { psn: 1, msn: 1 }));
    peer.expectTx(sends(1, 4));
    peer.rx(ack({ psn: 1, msn: 2 }), nak(0x60, { psn: 2, msn: 2 }));
    peer.expectTx(sends(2, 4));
  });

  it('an ACK that overtakes the cursor of a retry moves it forward', () => {
    const peer = withSends(40);
    peer.drain();
    peer.rx(nak(0x60, { psn: 1, msn: 1 }));
    peer.burst();
    peer.rx(ack({ psn: 36, msn: 37 }));
    peer.expectTx(sends(37, 40));
  });

  it('REQ-28 nothing is sent out of order without a NAK, a timeout or an implied NAK', () => {
    const peer = withSends(100);
    const psns = peer.drain().map(({ psn }) => psn);
    for (let psn = 0; psn < 100; psn += 7) {
      peer.rx(ack({ psn, msn: psn + 1 }));
      psns.push(...peer.drain().map(({ psn: at }) => at));
    }
    expect(psns).toEqual(Array.from({ length: 100 }, (_, i) => i));
  });
});

describe('implied NAK', () => {
  function withRead(after: number, options: PeerOptions = {}) {
    const peer = new Peer(options);
    const mr = peer.region({ length: 4 * PMTU });
    peer.post({ wrId: 0, opcode: WrOpcode.RdmaRead, sges: [{ mr }], ...REMOTE });
    for (let i = 1; i <= after; i++) peer.post({ wrId: i, opcode: WrOpcode.Send });
    const read = (from = 0) =>
      readRequest({
        psn: from,
        ackReq: true,
        reth: { va: REMOTE.remoteAddr + BigInt(from * PMTU), rkey: REMOTE.rkey, length: (4 - from) * PMTU },
      });
    return { peer, mr, read };
  }

  it('REQ-11 an ACK beyond an open READ implies that its answer was lost', () => {
    const { peer, read } = withRead(1);
    peer.drain();
    peer.rx(ack({ psn: 4, msn: 2 }));
    expect(peer.completions()).toEqual([]);
    peer.expectTx([read(), sendOnly({ psn: 4, ackReq: true })]);
  });

  it('REQ-12 implied NAKs consume the retry counter', () => {
    const { peer, read } = withRead(1, { retryCnt: 1 });
    peer.drain();
    peer.rx(ack({ psn: 4, msn: 2 }));
    peer.expectTx([read(), sendOnly({ psn: 4, ackReq: true })]);
    peer.rx(ack({ psn: 4, msn: 2 }));
    peer.silence();
    peer.advance(TIMEOUT);
    expect(peer.completions()).toEqual(['send 0 RetryExcErr', 'send 1 WrFlushErr']);
  });

  it('REQ-13 a plain acknowledge inside an open READ completes nothing and repeats nothing', () => {
    const { peer } = withRead(0);
    peer.drain();
    const answer = readResponses({ psn: 0, msn: 1, data: pattern(4 * PMTU) });
    peer.rx(...answer.slice(0, 2));
    for (const psn of [1, 2, 3]) peer.rx(ack({ psn, msn: 1 }));
    peer.silence();
    expect(peer.completions()).toEqual([]);
    peer.rx(...answer.slice(2));
    expect(peer.completions()).toEqual(['send 0 Success RdmaRead 1024 bytes']);
  });

  it.each([0, 1, 2])('REQ-14 RD-18 REQ-25 a gap in a READ stream at packet %i asks again from there', (lost) => {
    const { peer, mr, read } = withRead(0);
    peer.drain();
    const data = pattern(4 * PMTU, 5);
    const answer = readResponses({ psn: 0, msn: 1, data });
    peer.rx(...answer.filter((_, i) => i !== lost));
    peer.expectTx([read(lost)]);
    peer.rx(...readResponses({ psn: lost, msn: 1, data: data.slice(lost * PMTU) }));
    expect(mr.bytes).toEqual(data);
    expect(peer.completions()).toEqual(['send 0 Success RdmaRead 1024 bytes']);
  });

  it('RD-09 a resumed READ may also be answered from MIDDLE, as rdma_rxe does', () => {
    const { peer, mr, read } = withRead(0);
    peer.drain();
    const [a, b, c, d] = readResponses({ psn: 0, msn: 1, data: pattern(4 * PMTU, 6) });
    if (a === undefined || b === undefined || c === undefined || d === undefined) throw new Error('four');
    peer.rx(a, c);
    peer.expectTx([read(1)]);
    peer.rx(b, c, d);
    expect(mr.bytes).toEqual(pattern(4 * PMTU, 6));
    expect(peer.completions()).toEqual(['send 0 Success RdmaRead 1024 bytes']);
  });

  it('REQ-17 a NAK for a later request refuses the READ before it implicitly: the READ is repeated', () => {
    for (const syndrome of [0x60, 0x62, 0x2a]) {
      const { peer, read } = withRead(1);
      peer.drain();
      peer.rx(nak(syndrome, { psn: 4, msn: 2 }));
      peer.expectTx([read(), sendOnly({ psn: 4, ackReq: true })]);
      expect(peer.qp.state).toBe(QpState.Rts);
    }
  });

  it('RD-17 the first READ response acknowledges every SEND and WRITE before it', () => {
    const peer = withSends(2);
    const mr = peer.region({ length: 8 });
    peer.post({ wrId: 2, opcode: WrOpcode.RdmaRead, sges: [{ mr }], ...REMOTE });
    peer.drain();
    peer.rx(...readResponses({ psn: 2, msn: 3, data: pattern(8) }));
    expect(peer.completions()).toEqual([...done(0, 2), 'send 2 Success RdmaRead 8 bytes']);
  });

  it('an answer to a later READ implies that the one before was lost, after acknowledging the SENDs between', () => {
    const peer = new Peer();
    const mr = peer.region({ length: 8 });
    peer.post({ wrId: 0, opcode: WrOpcode.Send });
    for (const wrId of [1, 2]) peer.post({ wrId, opcode: WrOpcode.AtomicFetchAndAdd, sges: [{ mr }], ...REMOTE });
    peer.drain();
    peer.rx(atomicAck({ psn: 2, msn: 3, original: 9n }));
    expect(peer.completions()).toEqual(['send 0 Success Send']);
    expect(peer.drain().map(({ psn }) => psn)).toEqual([1, 2]);
  });
});
