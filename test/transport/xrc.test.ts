/**
 * Goal: XRC carries what RC carries, each request to the shared receive queue it names, with that queue's keys and
 * completions. Method: a scripted initiator before a target of ours, a scripted target before an initiator of ours. No
 * rdma_rxe has XRC.
 */
import { describe, expect, it } from 'vitest';
import { RoceError } from '../../packets/errors.ts';
import { Service } from '../../packets/opcode.ts';
import { CompletionQueue } from '../../transport/completion-queue.ts';
import { ProtectionDomain as Domain, type ProtectionDomain } from '../../transport/memory.ts';
import { QpState } from '../../transport/qp-state.ts';
import { QpType } from '../../transport/qp-type.ts';
import { SharedReceiveQueue } from '../../transport/srq.ts';
import { WorkCompletion, WrOpcode } from '../../transport/work.ts';
import { XrcDomain } from '../../transport/xrc-domain.ts';
import {
  ack,
  atomicAck,
  fetchAdd,
  nak,
  pattern,
  readOnly,
  readRequest,
  readResponses,
  rnrNak,
  sendFirst,
  sendLast,
  sendOnly,
  sendOnlyImm,
  writeOnly,
  writeOnlyImm,
  xrc,
} from './support/packets.ts';
import { ALL_ACCESS, describeCompletion, Peer } from './support/peer.ts';

function codeOf(call: () => void): string {
  try {
    call();
    return 'ok';
  } catch (error) {
    if (error instanceof RoceError) return error.code;
    throw error;
  }
}

const SRQ_A = 0x00a00a;
const SRQ_B = 0x00b00b;

/** A target with two shared receive queues, each with a domain of keys and a completion queue of its own. */
function makeTarget() {
  const domain = new XrcDomain();
  const peer = new Peer({ type: QpType.XrcRecv, domain });
  const add = (srqn: number) => {
    const pd = new Domain(srqn);
    const cq = new CompletionQueue(8, []);
    const srq = new SharedReceiveQueue({ srqn, pd, maxWr: 8, maxSge: 2, xrc: { domain, cq } }, []);
    domain.add(srq);
    const post = (wrId: number, length = 1024) => {
      const mr = peer.region({ length, pd, access: 1 });
      mr.bytes.fill(0);
      srq.post({ wrId, sges: [{ mr }] });
      return mr;
    };
    const completions = () => {
      const lines: string[] = [];
      const wc = new WorkCompletion();
      while (cq.poll(wc)) lines.push(`qp 0x${wc.qpn.toString(16)} ${describeCompletion(wc)}`);
      return lines;
    };
    return { srq, pd, post, completions };
  };
  return { peer, domain, a: add(SRQ_A), b: add(SRQ_B) };
}

const region = (peer: Peer, pd: ProtectionDomain, length = 64) => peer.region({ pd, length, access: ALL_ACCESS });

describe('an XRC target', () => {
  it('gives each SEND to the queue it names, and completes it there with its own number', () => {
    const { peer, a, b } = makeTarget();
    const [toA, toB] = [a.post(1), b.post(2)];
    peer.rx(xrc(sendOnly({ psn: 0, payload: pattern(5, 1), ackReq: true }), SRQ_B));
    peer.rx(xrc(sendOnlyImm({ psn: 1, payload: pattern(6, 2), imm: 7, ackReq: true }), SRQ_A));
    peer.expectTx([xrc(ack({ psn: 1, msn: 2 }))]);
    expect(b.completions()).toEqual(['qp 0x11 2 Success Recv 5 bytes']);
    expect(a.completions()).toEqual(['qp 0x11 1 Success Recv 6 bytes imm 0x7']);
    expect([toA.bytes.slice(0, 6), toB.bytes.slice(0, 5)]).toEqual([pattern(6, 2), pattern(5, 1)]);
    expect(peer.completions()).toEqual([]);
  });

  it('keeps the receive of a message that it has begun', () => {
    const { peer, a } = makeTarget();
    const mr = a.post(1);
    peer.rx(
      xrc(sendFirst({ psn: 0, payload: pattern(256) }), SRQ_A),
      xrc(sendLast({ psn: 1, payload: pattern(9, 4) }), SRQ_A),
    );
    expect(a.completions()).toEqual(['qp 0x11 1 Success Recv 265 bytes']);
    expect(mr.bytes.slice(256, 265)).toEqual(pattern(9, 4));
  });

  it('RNR-07 says that a queue is dry, which is no matter of another queue', () => {
    const { peer, a, b } = makeTarget();
    a.post(1);
    peer.rx(xrc(sendOnly({ psn: 0, ackReq: true }), SRQ_B));
    peer.expectTx([xrc(rnrNak(12, { psn: 0, msn: 0 }))]);
    peer.rx(xrc(sendOnly({ psn: 0, ackReq: true }), SRQ_A));
    peer.expectTx([xrc(ack({ psn: 0, msn: 1 }))]);
    expect([a.srq.length, b.srq.length]).toEqual([0, 0]);
  });

  it('opens memory with the keys of the domain of the queue that a request names', () => {
    const { peer, a, b } = makeTarget();
    const mr = region(peer, a.pd);
    const reth = { va: mr.iova, rkey: mr.rkey, length: 16 };
    peer.rx(xrc(writeOnly({ psn: 0, reth, payload: pattern(16, 5) }), SRQ_A));
    expect(mr.bytes.slice(0, 16)).toEqual(pattern(16, 5));
    peer.rx(xrc(readRequest({ psn: 1, reth, ackReq: true }), SRQ_A));
    peer.expectTx([xrc(readOnly({ psn: 1, msn: 2, payload: pattern(16, 5) }))]);
    peer.rx(xrc(fetchAdd({ psn: 2, va: mr.iova, rkey: mr.rkey, add: 1n, ackReq: true }), SRQ_A));
    const original = new DataView(pattern(16, 5).buffer).getBigUint64(0, true);
    peer.expectTx([xrc(atomicAck({ psn: 2, msn: 3, original }))]);
    peer.rx(xrc(readRequest({ psn: 3, reth, ackReq: true }), b.srq.srqn));
    peer.expectTx([xrc(nak(0x62, { psn: 3, msn: 3 }))]);
    expect([peer.qp.state, peer.events()]).toEqual([QpState.Error, ['qp-access-err']]);
  });

  it('takes the receive of a WRITE with immediate from there, too', () => {
    const { peer, b } = makeTarget();
    b.post(4);
    const mr = region(peer, b.pd);
    const reth = { va: mr.iova, rkey: mr.rkey, length: 8 };
    peer.rx(xrc(writeOnlyImm({ psn: 0, reth, payload: pattern(8), imm: 9, ackReq: true }), SRQ_B));
    peer.expectTx([xrc(ack({ psn: 0, msn: 1 }))]);
    expect(b.completions()).toEqual(['qp 0x11 4 Success RecvRdmaWithImm 8 bytes imm 0x9']);
  });

  it('answers a repeated READ, and a repeated atomic without executing it', () => {
    const { peer, a } = makeTarget();
    const mr = region(peer, a.pd, 1024);
    const reth = { va: mr.iova, rkey: mr.rkey, length: 600 };
    const data = mr.bytes.slice(0, 600);
    const read = xrc(readRequest({ psn: 0, reth, ackReq: true }), SRQ_A);
    peer.rx(read);
    peer.expectTx(readResponses({ psn: 0, msn: 1, data }).map((each) => xrc(each)));
    const tail = { va: mr.iova + 512n, rkey: mr.rkey, length: 88 };
    peer.rx(xrc(readRequest({ psn: 2, reth: tail, ackReq: true }), SRQ_A));
    peer.expectTx([xrc(readOnly({ psn: 2, msn: 1, payload: data.slice(512) }))]);
    const add = xrc(fetchAdd({ psn: 3, va: mr.iova, rkey: mr.rkey, add: 5n, ackReq: true }), SRQ_A);
    const original = mr.view.getBigUint64(0, true);
    peer.rx(add, add);
    peer.expectTx([xrc(atomicAck({ psn: 3, msn: 2, original }))]);
    expect(mr.view.getBigUint64(0, true)).toBe(BigInt.asUintN(64, original + 5n));
  });

  it('refuses a queue that is not in its domain, and goes to ERROR', () => {
    const { peer, a } = makeTarget();
    a.post(1);
    peer.rx(xrc(sendOnly({ psn: 0, payload: pattern(4), ackReq: true }), 0x123456));
    peer.expectTx([xrc(nak(0x62, { psn: 0, msn: 0 }))]);
    expect([peer.qp.state, peer.events(), a.srq.length]).toEqual([QpState.Error, ['qp-access-err'], 1]);
  });

  it('finds no queue that has left its domain', () => {
    const { peer, domain, a } = makeTarget();
    a.post(1);
    domain.remove(a.srq);
    peer.rx(xrc(sendOnly({ psn: 0, ackReq: true }), SRQ_A));
    peer.expectTx([xrc(nak(0x62, { psn: 0, msn: 0 }))]);
  });

  it('flushes the receive it holds, to where it came from', () => {
    const { peer, a } = makeTarget();
    a.post(1);
    a.post(2);
    peer.rx(xrc(sendFirst({ psn: 0, payload: pattern(256) }), SRQ_A));
    peer.qp.modify({ state: QpState.Error });
    expect(a.completions()).toEqual(['qp 0x11 1 WrFlushErr']);
    expect(a.srq.length).toBe(1);
  });

  it('takes no packet of another service, no answer, and no work of its own', () => {
    const { peer, a } = makeTarget();
    a.post(1);
    peer.rx(sendOnly({ psn: 0, ackReq: true }), xrc(ack({ psn: 0, msn: 1 })));
    peer.silence();
    expect([peer.counters.badService, a.srq.length]).toEqual([2, 1]);
    const send = { wrId: 1, opcode: WrOpcode.Send, xrcRemoteSrqn: SRQ_A };
    expect(codeOf(() => peer.qp.postSend(send))).toBe('ERR_ROCE_ARGUMENT');
    expect(codeOf(() => peer.qp.postRecv({ wrId: 1 }))).toBe('ERR_ROCE_ARGUMENT');
  });
});

describe('an XRC initiator', () => {
  const initiator = () => new Peer({ type: QpType.XrcSend });

  it('names the queue in every packet of every request', () => {
    const peer = initiator();
    const mr = peer.region();
    const remote = { remoteAddr: 0x1000n, rkey: 7, xrcRemoteSrqn: SRQ_B };
    const payload = mr.bytes;
    peer.post(
      { wrId: 1, opcode: WrOpcode.Send, sges: [{ mr, length: 300 }], xrcRemoteSrqn: SRQ_A },
      { wrId: 2, opcode: WrOpcode.RdmaRead, sges: [{ mr, length: 8 }], ...remote },
      { wrId: 3, opcode: WrOpcode.AtomicFetchAndAdd, sges: [{ mr, length: 8 }], compareAdd: 3n, ...remote },
    );
    peer.expectTx([
      xrc(sendFirst({ psn: 0, payload: payload.slice(0, 256) }), SRQ_A),
      xrc(sendLast({ psn: 1, payload: payload.slice(256, 300), ackReq: true }), SRQ_A),
      xrc(readRequest({ psn: 2, reth: { va: 0x1000n, rkey: 7, length: 8 }, ackReq: true }), SRQ_B),
      xrc(fetchAdd({ psn: 3, va: 0x1000n, rkey: 7, add: 3n, ackReq: true }), SRQ_B),
    ]);
    peer.rx(
      xrc(ack({ psn: 1, msn: 1 })),
      xrc(readOnly({ psn: 2, msn: 2, payload: pattern(8, 3) })),
      xrc(atomicAck({ psn: 3, msn: 3, original: 5n })),
    );
    expect(peer.completions()).toEqual([
      'send 1 Success Send',
      'send 2 Success RdmaRead 8 bytes',
      'send 3 Success FetchAdd 8 bytes',
    ]);
  });

  it('goes back, waits and gives up as RC does', () => {
    const peer = initiator();
    const send = (wrId: number) => ({ wrId, opcode: WrOpcode.Send, xrcRemoteSrqn: SRQ_A });
    peer.post(send(1), send(2));
    const packets = [0, 1].map((psn) => xrc(sendOnly({ psn, ackReq: true }), SRQ_A));
    peer.expectTx(packets);
    peer.rx(xrc(nak(0x60, { psn: 0, msn: 0 })));
    peer.expectTx(packets);
    peer.rx(xrc(rnrNak(1, { psn: 0, msn: 0 })));
    peer.silence();
    peer.advance(10_000);
    peer.expectTx(packets);
    peer.rx(xrc(nak(0x62, { psn: 1, msn: 1 })));
    expect(peer.completions()).toEqual(['send 1 Success Send', 'send 2 RemAccessErr']);
  });

  it.each([
    ['no queue', {}],
    ['queue 0', { xrcRemoteSrqn: 0 }],
    ['a number of 25 bits', { xrcRemoteSrqn: 1 << 24 }],
    ['half a queue', { xrcRemoteSrqn: 1.5 }],
    ['an operation XRC does not have', { xrcRemoteSrqn: 1, opcode: WrOpcode.Flush }],
  ])('posts nothing for %s', (_, more) => {
    const peer = initiator();
    expect(codeOf(() => peer.qp.postSend({ wrId: 1, opcode: WrOpcode.Send, ...more }))).toBe('ERR_ROCE_ARGUMENT');
    expect(peer.qp.sendsOutstanding).toBe(0);
    peer.silence();
  });

  it('takes no request and no receive', () => {
    const peer = initiator();
    expect(codeOf(() => peer.qp.postRecv({ wrId: 1 }))).toBe('ERR_ROCE_ARGUMENT');
    peer.rx(xrc(sendOnly({ psn: 0, ackReq: true }), SRQ_A), { opcode: Service.Xrc | 0x1f, psn: 0 });
    peer.silence();
    expect(peer.qp.state).toBe(QpState.Rts);
    expect(peer.counters.badService).toBe(1);
  });
});
