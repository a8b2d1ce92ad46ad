/**
 * Goal: a queue pair in SQD finishes what is under way, says once that it has if it is to, and takes new attributes
 * meanwhile. Method: scripted peers; what SQD refuses is followed by what it must still do. ref:conformance#QPS-06;
 * ibv_modify_qp(3).
 */
import { describe, expect, it } from 'vitest';
import { RoceError } from '../../packets/errors.ts';
import { QpState } from '../../transport/qp-state.ts';
import { WrOpcode } from '../../transport/work.ts';
import { ack, readRequest, readResponses, rnrNak, sendOnly } from './support/packets.ts';
import { Peer } from './support/peer.ts';
import { sends, withSends } from './support/sends.ts';

function codeOf(call: () => void): string {
  try {
    call();
    return 'ok';
  } catch (error) {
    if (error instanceof RoceError) return error.code;
    throw error;
  }
}

describe('a drained send queue', () => {
  it('is not told where nobody wants to know', () => {
    const peer = withSends(2);
    peer.drain();
    peer.qp.modify({ state: QpState.Sqd, enSqdAsyncNotify: false });
    peer.rx(ack({ psn: 1, msn: 2 }));
    expect(peer.completions()).toHaveLength(2);
    expect(peer.events()).toEqual([]);
    peer.qp.modify({ state: QpState.Rts });
    peer.qp.modify({ state: QpState.Sqd, enSqdAsyncNotify: true });
    expect(peer.events()).toEqual(['sq-drained']);
  });

  it.each([
    ['in SQD', QpState.Sqd, { enSqdAsyncNotify: true }],
    ['on the way back to RTS', QpState.Sqd, { state: QpState.Rts, enSqdAsyncNotify: true }],
    ['in RTS', QpState.Rts, { enSqdAsyncNotify: true }],
  ])('is not asked for %s', (_, state, attributes) => {
    const peer = new Peer({ state });
    expect(codeOf(() => peer.qp.modify(attributes))).toBe('ERR_ROCE_ARGUMENT');
    expect(peer.qp.state).toBe(state);
  });

  it('QPS-06 waits for a READ to its last byte', () => {
    const peer = new Peer();
    const mr = peer.region({ length: 600 });
    const data = mr.bytes.slice();
    peer.post({ wrId: 1, opcode: WrOpcode.RdmaRead, sges: [{ mr }], remoteAddr: 0n, rkey: 1 });
    peer.expectTx([readRequest({ psn: 0, reth: { va: 0n, rkey: 1, length: 600 }, ackReq: true })]);
    peer.qp.modify({ state: QpState.Sqd });
    const [first, middle, last] = readResponses({ psn: 0, msn: 1, data });
    for (const response of [first, middle]) if (response !== undefined) peer.rx(response);
    expect(peer.events()).toEqual([]);
    if (last !== undefined) peer.rx(last);
    expect(peer.events()).toEqual(['sq-drained']);
    expect(peer.completions()).toEqual(['send 1 Success RdmaRead 600 bytes']);
  });

  it('QPS-06 waits for a peer that is not ready, and for retries', () => {
    const peer = withSends(1);
    peer.drain();
    peer.qp.modify({ state: QpState.Sqd });
    peer.rx(rnrNak(1, { psn: 0, msn: 0 }));
    peer.advance(10_000);
    peer.expectTx(sends(0, 1));
    peer.advance(70_000_000);
    peer.expectTx(sends(0, 1));
    expect(peer.events()).toEqual([]);
    peer.rx(ack({ psn: 0, msn: 1 }));
    expect(peer.events()).toEqual(['sq-drained']);
  });

  it('QPS-06 holds back what is posted, which goes on in RTS', () => {
    const peer = withSends(1);
    peer.drain();
    peer.qp.modify({ state: QpState.Sqd });
    peer.post({ wrId: 1, opcode: WrOpcode.Send });
    peer.rx(ack({ psn: 0, msn: 1 }));
    peer.silence();
    expect(peer.qp.sendsOutstanding).toBe(1);
    peer.qp.modify({ state: QpState.Rts });
    peer.expectTx(sends(1, 2));
  });

  it('that fails while it drains goes to ERROR, and is not drained', () => {
    const peer = withSends(2, { retryCnt: 0 });
    peer.drain();
    peer.qp.modify({ state: QpState.Sqd });
    peer.advance(70_000_000);
    expect(peer.completions()).toEqual(['send 0 RetryExcErr', 'send 1 WrFlushErr']);
    expect([peer.qp.state, peer.events()]).toEqual([QpState.Error, []]);
  });
});

describe('attributes given in SQD', () => {
  it('count from then on', () => {
    const peer = new Peer({ retryCnt: 3, minRnrTimer: 12 });
    peer.qp.modify({ state: QpState.Sqd });
    peer.qp.modify({ timeout: 10, retryCnt: 1, rnrRetry: 0, maxRdAtomic: 1, minRnrTimer: 5, maxDestRdAtomic: 2 });
    peer.qp.modify({ state: QpState.Rts });
    peer.rx(sendOnly({ psn: 0, ackReq: true }));
    peer.expectTx([rnrNak(5, { psn: 0, msn: 0 })]);
    peer.post({ wrId: 1, opcode: WrOpcode.Send });
    peer.expectTx(sends(0, 1));
    // 4.096 us * 2^10 is 4.2 ms: one retry, then the end.
    peer.advance(4_300_000);
    peer.expectTx(sends(0, 1));
    peer.advance(4_300_000);
    expect(peer.completions()).toEqual(['send 1 RetryExcErr']);
  });

  it.each(['destQpn', 'rqPsn', 'sqPsn', 'mtu'] as const)('never include %s, and nothing changes', (name) => {
    const peer = new Peer();
    peer.qp.modify({ state: QpState.Sqd });
    const before = { ...peer.qp.config };
    expect(codeOf(() => peer.qp.modify({ [name]: 256, timeout: 1 }))).toBe('ERR_ROCE_ARGUMENT');
    expect({ ...peer.qp.config }).toEqual(before);
    peer.qp.modify({ state: QpState.Rts });
    peer.expectUsable(0, 1);
  });
});
