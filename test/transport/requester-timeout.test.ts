/**
 * Silence at the requester: the transport timer, the retry counter, and what is sent again.
 * Method: the test stays silent or answers in part; virtual time moves to the deadlines exactly.
 */
import { describe, expect, it } from 'vitest';
import { QpState } from '../../transport/qp-state.ts';
import { RcQueuePair } from '../../transport/rc-queue-pair.ts';
import { ackTimeoutNs } from '../../transport/timers.ts';
import { WrOpcode } from '../../transport/work.ts';
import { ack, nak, pattern, readFirst, readLast, readMiddle, readRequest, rnrNak } from './support/packets.ts';
import { Peer } from './support/peer.ts';
import { done, sends, withSends } from './support/sends.ts';

const PMTU = 256;
const REMOTE = { remoteAddr: 0x1000n, rkey: 0x77 };
const TIMEOUT = ackTimeoutNs(14);

describe('timeout and retry counter', () => {
  it.each([0, 1, 2, 7])('REQ-20 REQ-21 retry_cnt %i gives so many repetitions, then status 12', (retryCnt) => {
    const peer = withSends(2, { retryCnt });
    peer.expectTx(sends(0, 2));
    for (let i = 0; i < retryCnt; i++) {
      peer.advance(TIMEOUT - 1);
      peer.silence();
      peer.advance(1);
      peer.expectTx(sends(0, 2));
    }
    expect(peer.completions()).toEqual([]);
    peer.advance(TIMEOUT);
    expect(peer.completions()).toEqual(['send 0 RetryExcErr', 'send 1 WrFlushErr']);
    expect(peer.qp.state).toBe(QpState.Error);
    expect(peer.counters).toMatchObject({ retryExceededErr: 1, localAckTimeoutErr: retryCnt + 1 });
    peer.advance(100 * TIMEOUT);
    peer.silence();
  });

  it('REQ-22 timeout 0 waits for ever', () => {
    const peer = withSends(1, { timeout: 0 });
    peer.drain();
    expect(peer.qp.nextDeadline()).toBe(Number.POSITIVE_INFINITY);
    peer.advance(ackTimeoutNs(31));
    peer.silence();
    peer.rx(ack({ psn: 0, msn: 1 }));
    expect(peer.completions()).toEqual(done(0, 1));
  });

  it.each([1, 8, 14, 31])('REQ-22 timeout %i repeats after exactly 4.096 us times its power of two', (timeout) => {
    const peer = withSends(1, { timeout });
    peer.drain();
    peer.advance(4096 * 2 ** timeout - 1);
    peer.silence();
    peer.advance(1);
    peer.expectTx(sends(0, 1));
  });

  it('the timer starts again with each acknowledge and stops with the last', () => {
    const peer = withSends(2);
    peer.drain();
    peer.advance(TIMEOUT - 10);
    peer.rx(ack({ psn: 0, msn: 1 }));
    peer.advance(TIMEOUT - 1);
    peer.silence();
    peer.rx(ack({ psn: 1, msn: 2 }));
    peer.advance(10 * TIMEOUT);
    peer.silence();
  });

  it('REQ-23 progress refills the retry counter', () => {
    const peer = withSends(5, { retryCnt: 2 });
    peer.drain();
    for (let psn = 0; psn < 5; psn++) {
      peer.advance(TIMEOUT);
      peer.advance(TIMEOUT);
      peer.expectTx([...sends(psn, 5), ...sends(psn, 5)]);
      peer.rx(ack({ psn, msn: psn + 1 }));
    }
    expect(peer.completions()).toEqual(done(0, 5));
  });

  it('REQ-23 a NAK that brings progress takes its retry from a full counter', () => {
    const peer = withSends(4, { retryCnt: 1 });
    peer.drain();
    for (let psn = 1; psn < 4; psn++) {
      peer.rx(nak(0x60, { psn, msn: psn }));
      peer.expectTx(sends(psn, 4));
    }
    expect(peer.qp.state).toBe(QpState.Rts);
  });

  it('retry_cnt 0 fails at the first sequence NAK, after completing what it acknowledges', () => {
    const peer = withSends(3, { retryCnt: 0 });
    peer.drain();
    peer.rx(nak(0x60, { psn: 1, msn: 1 }));
    expect(peer.completions()).toEqual([...done(0, 1), 'send 1 RetryExcErr', 'send 2 WrFlushErr']);
  });

  it('REQ-15 a NAK of what went out again after a timeout is no echo: its loss costs no other timeout', () => {
    const peer = withSends(3, { retryCnt: 3 });
    peer.drain();
    peer.rx(nak(0x60, { psn: 0, msn: 0 }));
    peer.expectTx(sends(0, 3));
    peer.advance(TIMEOUT);
    peer.expectTx(sends(0, 3));
    peer.rx(nak(0x60, { psn: 0, msn: 0 }));
    peer.expectTx(sends(0, 3));
    // That was the third retry; an echo of it costs none.
    peer.rx(nak(0x60, { psn: 0, msn: 0 }));
    peer.silence();
    peer.rx(ack({ psn: 2, msn: 3 }));
    expect(peer.completions()).toEqual(done(0, 3));
  });

  it('a timeout in the middle of a READ asks for its missing tail', () => {
    const peer = new Peer();
    const mr = peer.region({ length: 4 * PMTU });
    peer.post({ wrId: 1, opcode: WrOpcode.RdmaRead, sges: [{ mr }], ...REMOTE });
    peer.drain();
    const data = pattern(4 * PMTU, 8);
    peer.rx(readFirst({ psn: 0, msn: 1, payload: data.slice(0, PMTU) }));
    peer.rx(readMiddle({ psn: 1, payload: data.slice(PMTU, 2 * PMTU) }));
    peer.advance(TIMEOUT);
    peer.expectTx([
      readRequest({ psn: 2, ackReq: true, reth: { va: REMOTE.remoteAddr + 512n, rkey: REMOTE.rkey, length: 512 } }),
    ]);
    peer.rx(readFirst({ psn: 2, msn: 1, payload: data.slice(512, 768) }));
    peer.rx(readLast({ psn: 3, msn: 1, payload: data.slice(768) }));
    expect(peer.completions()).toEqual(['send 1 Success RdmaRead 1024 bytes']);
    expect(mr.bytes).toEqual(data);
  });

  it('a READ that crosses a 4 GiB boundary of the address is resumed on the other side', () => {
    const peer = new Peer();
    const mr = peer.region({ length: 4 * PMTU });
    const remoteAddr = 0xffff_ff00n;
    peer.post({ wrId: 1, opcode: WrOpcode.RdmaRead, sges: [{ mr }], remoteAddr, rkey: 1 });
    peer.drain();
    peer.rx(readFirst({ psn: 0, msn: 1, payload: pattern(PMTU) }));
    peer.advance(TIMEOUT);
    expect(peer.drain()).toMatchObject([{ psn: 1, reth: { va: 0x1_0000_0000n, length: 3 * PMTU } }]);
  });
});

function held({ qp }: Peer, sinceNs: number, untilNs: number): void {
  if (!(qp instanceof RcQueuePair)) throw new TypeError('a queue pair without ACK timer');
  qp.held(sinceNs, untilNs);
}

describe('packets that a full link held back', () => {
  it('start the timer when they leave', () => {
    const peer = withSends(2);
    peer.drain();
    const sentAt = peer.now;
    held(peer, sentAt, sentAt + 5 * TIMEOUT);
    expect(peer.qp.nextDeadline()).toBe(sentAt + 6 * TIMEOUT);
    peer.advance(6 * TIMEOUT - 1);
    peer.silence();
    peer.advance(1);
    peer.expectTx(sends(0, 2));
  });

  it('leave the timer of an earlier request, one that is off, and an RNR wait as they are', () => {
    const earlier = withSends(1);
    earlier.drain();
    const deadline = earlier.qp.nextDeadline();
    held(earlier, earlier.now + 1, earlier.now + TIMEOUT);
    expect(earlier.qp.nextDeadline()).toBe(deadline);

    const idle = new Peer();
    held(idle, idle.now, idle.now + TIMEOUT);
    expect(idle.qp.nextDeadline()).toBe(Number.POSITIVE_INFINITY);

    const refused = withSends(1, { timeout: 1 });
    refused.drain();
    refused.rx(rnrNak(14, { psn: 0, msn: 0 }));
    const waitEnds = refused.qp.nextDeadline();
    held(refused, refused.now, refused.now + TIMEOUT);
    expect(refused.qp.nextDeadline()).toBe(waitEnds);
  });
});
