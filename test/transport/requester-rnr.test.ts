/**
 * Receiver not ready, requester side: how long it waits, how often it tries again, and what else may happen meanwhile.
 * Method: the test sends RNR NAKs; virtual time is exact.
 */
import { describe, expect, it } from 'vitest';
import { RNR_TIMER_NS } from '../../packets/rnr-timer.ts';
import { QpState } from '../../transport/qp-state.ts';
import { ackTimeoutNs } from '../../transport/timers.ts';
import { WrOpcode } from '../../transport/work.ts';
import { ack, nak, type Packet, pattern, readRequest, readResponses, rnrNak, sendOnly } from './support/packets.ts';
import { Peer, type PeerOptions } from './support/peer.ts';

function withSends(count: number, options: PeerOptions = {}) {
  const peer = new Peer(options);
  for (let i = 0; i < count; i++) peer.post({ wrId: i, opcode: WrOpcode.Send });
  return peer;
}

const sends = (from: number, to: number): Packet[] =>
  Array.from({ length: to - from }, (_, i) => sendOnly({ psn: from + i, ackReq: true }));

const waitOf = (timer: number): number => RNR_TIMER_NS[timer] ?? 0;

describe('receiver not ready, requester', () => {
  it.each(Array.from({ length: 32 }, (_, timer) => timer))(
    'RNR-08 RNR-11 timer code %i is waited for in full, though the ACK timeout is shorter',
    (timer) => {
      const peer = withSends(1, { timeout: 1 });
      peer.drain();
      peer.rx(rnrNak(timer, { psn: 0, msn: 0 }));
      peer.advance(waitOf(timer) - 1);
      peer.silence();
      peer.advance(1);
      peer.expectTx(sends(0, 1));
    },
  );

  it.each([0, 1, 3, 6])('RNR-09 rnr_retry %i gives so many repetitions, then its own status', (rnrRetry) => {
    const peer = withSends(2, { rnrRetry });
    peer.expectTx(sends(0, 2));
    for (let i = 0; i < rnrRetry; i++) {
      peer.rx(rnrNak(5, { psn: 0, msn: 0 }));
      peer.advance(waitOf(5));
      peer.expectTx(sends(0, 2));
    }
    expect(peer.completions()).toEqual([]);
    peer.rx(rnrNak(5, { psn: 0, msn: 0 }));
    expect(peer.completions()).toEqual(['send 0 RnrRetryExcErr', 'send 1 WrFlushErr']);
    expect(peer.qp.state).toBe(QpState.Error);
    expect(peer.counters).toMatchObject({ retryRnrExceededErr: 1, rcvdRnrErr: rnrRetry });
    peer.advance(10 * waitOf(0));
    peer.silence();
  });

  it('RNR-10 rnr_retry 7 tries for ever', () => {
    const peer = withSends(1, { rnrRetry: 7 });
    peer.drain();
    for (let i = 0; i < 100; i++) {
      peer.rx(rnrNak(1, { psn: 0, msn: 0 }));
      peer.advance(waitOf(1));
      peer.expectTx(sends(0, 1));
    }
    peer.rx(ack({ psn: 0, msn: 1 }));
    expect(peer.completions()).toEqual(['send 0 Success Send']);
  });

  it('RNR-12 progress refills the RNR counter', () => {
    const peer = withSends(3, { rnrRetry: 2 });
    peer.drain();
    for (let psn = 0; psn < 3; psn++) {
      for (let i = 0; i < 2; i++) {
        peer.rx(rnrNak(1, { psn, msn: psn }));
        peer.advance(waitOf(1));
        peer.expectTx(sends(psn, 3));
      }
      peer.rx(ack({ psn, msn: psn + 1 }));
    }
    expect(peer.completions()).toHaveLength(3);
  });

  it('RNR-12 an RNR NAK that brings progress takes its retry from a full counter', () => {
    const peer = withSends(3, { rnrRetry: 1 });
    peer.drain();
    for (let psn = 0; psn < 3; psn++) {
      peer.rx(rnrNak(1, { psn, msn: psn }));
      peer.advance(waitOf(1));
      peer.expectTx(sends(psn, 3));
    }
    expect(peer.qp.state).toBe(QpState.Rts);
  });

  it('RNR-13 RNR and transport retries are counted apart', () => {
    const peer = withSends(1, { rnrRetry: 2, retryCnt: 2 });
    peer.drain();
    for (let i = 0; i < 2; i++) {
      peer.rx(rnrNak(1, { psn: 0, msn: 0 }));
      peer.advance(waitOf(1));
      peer.advance(ackTimeoutNs(14));
      peer.expectTx([...sends(0, 1), ...sends(0, 1)]);
    }
    expect(peer.qp.state).toBe(QpState.Rts);
    peer.rx(ack({ psn: 0, msn: 1 }));
    expect(peer.completions()).toEqual(['send 0 Success Send']);
  });

  it('RNR-14 an RNR NAK acknowledges everything before it', () => {
    const peer = withSends(3);
    peer.drain();
    peer.rx(rnrNak(4, { psn: 1, msn: 1 }));
    expect(peer.completions()).toEqual(['send 0 Success Send']);
    peer.advance(waitOf(4));
    peer.expectTx(sends(1, 3));
  });

  it('RNR-15 a further RNR NAK during the wait is ignored and costs nothing', () => {
    const peer = withSends(1, { rnrRetry: 1 });
    peer.drain();
    peer.rx(rnrNak(8, { psn: 0, msn: 0 }));
    peer.advance(waitOf(8) / 2);
    peer.rx(rnrNak(8, { psn: 0, msn: 0 }), rnrNak(31, { psn: 0, msn: 0 }));
    expect(peer.qp.state).toBe(QpState.Rts);
    peer.advance(waitOf(8) / 2);
    peer.expectTx(sends(0, 1));
  });

  it.each([0, 3])(
    'the NAK 0x60 that rdma_rxe adds to an RNR NAK neither ends the wait nor costs a retry (retry_cnt %i)',
    (retryCnt) => {
      const peer = withSends(2, { retryCnt, rnrRetry: 7 });
      peer.drain();
      for (let i = 0; i < 20; i++) {
        peer.rx(rnrNak(8, { psn: 0, msn: 0 }), nak(0x60, { psn: 0, msn: 0 }));
        expect(peer.qp.state).toBe(QpState.Rts);
        peer.advance(waitOf(8) - 1);
        peer.silence();
        peer.advance(1);
        peer.expectTx(sends(0, 2));
      }
    },
  );

  it('an ACK of the refused packet during the wait ends it', () => {
    const peer = withSends(2);
    peer.drain();
    peer.rx(rnrNak(0, { psn: 0, msn: 0 }), ack({ psn: 0, msn: 1 }));
    expect(peer.completions()).toEqual(['send 0 Success Send']);
    peer.expectTx(sends(1, 2));
  });

  it('work posted during the wait waits too', () => {
    const peer = withSends(1);
    peer.drain();
    peer.rx(rnrNak(8, { psn: 0, msn: 0 }));
    peer.post({ wrId: 1, opcode: WrOpcode.Send });
    peer.silence();
    peer.advance(waitOf(8));
    peer.expectTx(sends(0, 2));
  });

  it('a READ may be refused as not ready and is asked for again', () => {
    const peer = new Peer();
    const mr = peer.region({ length: 8 });
    peer.post({ wrId: 1, opcode: WrOpcode.RdmaRead, sges: [{ mr }], remoteAddr: 16n, rkey: 5 });
    const read = readRequest({ psn: 0, ackReq: true, reth: { va: 16n, rkey: 5, length: 8 } });
    peer.expectTx([read]);
    peer.rx(rnrNak(3, { psn: 0, msn: 0 }));
    peer.advance(waitOf(3));
    peer.expectTx([read]);
    peer.rx(...readResponses({ psn: 0, msn: 1, data: pattern(8, 4) }));
    expect(mr.bytes).toEqual(pattern(8, 4));
  });
});
