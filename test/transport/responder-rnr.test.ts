/**
 * Receiver not ready, responder side: who is refused for want of a receive, with which timer, and that nothing else
 * changes. Method: scripts against one queue pair without receives.
 */
import { describe, expect, it } from 'vitest';
import { Op } from '../../packets/opcode.ts';
import {
  ack,
  atomicAck,
  fetchAdd,
  pattern,
  readOnly,
  readRequest,
  rnrNak,
  sendFirst,
  sendLast,
  sendOnly,
  writeFirst,
  writeOnly,
  writeOnlyImm,
} from './support/packets.ts';
import { Peer } from './support/peer.ts';

const PMTU = 256;
const empty = { va: 0n, rkey: 0, length: 0 };

describe('receiver not ready, responder', () => {
  it.each([0, 1, 12, 31])(
    'RNR-01 RNR-04 a SEND without a receive draws an RNR NAK with timer %i and its own PSN',
    (timer) => {
      for (const packet of [sendOnly({ psn: 0 }), sendFirst({ psn: 0, payload: pattern(PMTU) })]) {
        const peer = new Peer({ minRnrTimer: timer });
        peer.rx(packet);
        peer.expectTx([rnrNak(timer, { psn: 0, msn: 0 })]);
        expect(peer.counters.sendRnrErr).toBe(1);
      }
    },
  );

  it('RNR-02 a WRITE with immediate without a receive draws an RNR NAK', () => {
    const only = new Peer();
    only.rx(writeOnlyImm({ psn: 0, imm: 1, reth: empty }));
    only.expectTx([rnrNak(12, { psn: 0, msn: 0 })]);

    const last = new Peer();
    const mr = last.region();
    const reth = { va: mr.iova, rkey: mr.rkey, length: PMTU + 4 };
    last.rx(writeFirst({ psn: 0, payload: pattern(PMTU), reth }));
    const end = { opcode: Op.WriteLastImm, psn: 1, payload: pattern(4), imm: 5, ackReq: true };
    last.rx(end);
    last.expectTx([rnrNak(12, { psn: 1, msn: 0 })]);
    last.postRecv(1);
    last.rx(end);
    last.expectTx([ack({ psn: 1, msn: 1 })]);
    expect(last.completions()).toEqual(['recv 1 Success RecvRdmaWithImm 260 bytes imm 0x5']);
    expect(mr.bytes.slice(PMTU, PMTU + 4)).toEqual(pattern(4));
  });

  it('RNR-03 WRITE, READ and ATOMIC need no receive', () => {
    const peer = new Peer();
    const mr = peer.region();
    mr.view.setBigUint64(0, 0n, true);
    peer.rx(writeOnly({ psn: 0, reth: empty, ackReq: true }), readRequest({ psn: 1, reth: empty }));
    peer.rx(fetchAdd({ psn: 2, va: mr.iova, rkey: mr.rkey, add: 1n }));
    peer.expectTx([ack({ psn: 0, msn: 1 }), readOnly({ psn: 1, msn: 2 }), atomicAck({ psn: 2, msn: 3, original: 0n })]);
  });

  it('RNR-05 a refusal changes nothing: the same PSN is accepted once a receive is there', () => {
    const peer = new Peer();
    peer.rx(sendOnly({ psn: 0, payload: pattern(3), ackReq: true }));
    peer.expectTx([rnrNak(12, { psn: 0, msn: 0 })]);
    peer.rx(sendOnly({ psn: 0, payload: pattern(3), ackReq: true }));
    peer.expectTx([rnrNak(12, { psn: 0, msn: 0 })]);
    const buffer = peer.postRecv(1);
    peer.rx(sendOnly({ psn: 0, payload: pattern(3), ackReq: true }));
    peer.expectTx([ack({ psn: 0, msn: 1 })]);
    expect(buffer.bytes.slice(0, 3)).toEqual(pattern(3));
    expect(peer.completions()).toEqual(['recv 1 Success Recv 3 bytes']);
  });

  it('RNR-06 packets pipelined behind a refused one draw nothing, until it has been accepted', () => {
    const peer = new Peer();
    const sends = [0, 1, 2].map((psn) => sendOnly({ psn, ackReq: true }));
    peer.rx(...sends);
    peer.expectTx([rnrNak(12, { psn: 0, msn: 0 })]);
    for (let i = 0; i < 3; i++) peer.postRecv(i);
    peer.rx(...sends);
    peer.expectTx([ack({ psn: 2, msn: 3 })]);
  });

  it('a receive is taken by the first packet of a SEND, and MIDDLE and LAST need none', () => {
    const peer = new Peer();
    peer.postRecv(1);
    peer.rx(sendFirst({ psn: 0, payload: pattern(PMTU) }));
    expect(peer.qp.receivesPosted).toBe(0);
    peer.rx(sendLast({ psn: 1, payload: pattern(1), ackReq: true }));
    peer.expectTx([ack({ psn: 1, msn: 1 })]);
  });

  it('min_rnr_timer may change on a running connection', () => {
    const peer = new Peer();
    peer.qp.modify({ minRnrTimer: 3 });
    peer.rx(sendOnly({ psn: 0 }));
    peer.expectTx([rnrNak(3, { psn: 0, msn: 0 })]);
  });
});
