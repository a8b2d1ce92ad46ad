/**
 * Goal: a shared receive queue gives each buffer to one message of one queue pair, says once when it runs low, and
 * outlives the queue pairs that take from it. Method: scripted peers whose subjects take from the same queue.
 * ref:conformance#RNR-07, QPS-19, ACK-10; ibv_modify_srq(3).
 */
import { describe, expect, it } from 'vitest';
import { RoceError } from '../../packets/errors.ts';
import { KeyTable } from '../../transport/key-table.ts';
import { Access, ProtectionDomain } from '../../transport/memory.ts';
import { QpState } from '../../transport/qp-state.ts';
import { QpType } from '../../transport/qp-type.ts';
import { SharedReceiveQueue } from '../../transport/srq.ts';
import {
  ack,
  datagram,
  nak,
  pattern,
  rnrNak,
  sendFirst,
  sendMiddle,
  sendOnly,
  uc,
  writeOnly,
} from './support/packets.ts';
import { Peer, SUBJECT_QKEY, seededRandom } from './support/peer.ts';

const MOST = 100;

/** A queue with `posted` receives of 1024 bytes, numbered from 0. */
function makeSrq(posted = 0, maxWr = 8) {
  const pd = new ProtectionDomain(9);
  const keys = new KeyTable(seededRandom(7), 1000);
  const notified: SharedReceiveQueue[] = [];
  const srq = new SharedReceiveQueue({ srqn: 0x77, pd, maxWr, maxSge: 2 }, notified);
  const post = (wrId: number, of = pd) => {
    const mr = keys.register(of, new Uint8Array(1024), { access: Access.LocalWrite, iova: 0n });
    srq.post({ wrId, sges: [{ mr }] });
    return mr;
  };
  const buffers = Array.from({ length: posted }, (_, wrId) => post(wrId));
  return { srq, post, buffers, notified };
}

function codeOf(call: () => void): string {
  try {
    call();
    return 'ok';
  } catch (error) {
    if (error instanceof RoceError) return error.code;
    throw error;
  }
}

const send = (psn: number, payload = pattern(4, psn)) => sendOnly({ psn, payload, ackReq: true });

describe('queue pairs that share receives', () => {
  it('take the oldest each, whoever comes first', () => {
    const { srq, buffers } = makeSrq(3);
    const a = new Peer({ srq });
    const b = new Peer({ srq });
    b.rx(send(0, pattern(4, 30)));
    a.rx(send(0, pattern(4, 31)));
    b.rx(send(1, pattern(4, 32)));
    expect(b.completions()).toEqual(['recv 0 Success Recv 4 bytes', 'recv 2 Success Recv 4 bytes']);
    expect(a.completions()).toEqual(['recv 1 Success Recv 4 bytes']);
    expect(buffers.map(({ bytes }) => bytes.slice(0, 4))).toEqual([pattern(4, 30), pattern(4, 31), pattern(4, 32)]);
    expect(srq.length).toBe(0);
  });

  it('each keep the buffer of a message in progress to themselves', () => {
    const { srq, buffers } = makeSrq(2);
    const a = new Peer({ srq });
    const b = new Peer({ srq });
    a.rx(sendFirst({ psn: 0, payload: pattern(256, 1) }));
    b.rx(sendFirst({ psn: 0, payload: pattern(256, 2) }));
    a.rx(sendMiddle({ psn: 1, payload: pattern(256, 3) }));
    b.rx(sendMiddle({ psn: 1, payload: pattern(256, 4) }));
    const halves = buffers.map(({ bytes }) => [bytes.slice(0, 256), bytes.slice(256, 512)]);
    expect(halves).toEqual([
      [pattern(256, 1), pattern(256, 3)],
      [pattern(256, 2), pattern(256, 4)],
    ]);
  });

  it('RNR-07 all draw RNR NAK when it is dry, and go on when somebody posts', () => {
    const { srq, post } = makeSrq(1);
    const a = new Peer({ srq });
    const b = new Peer({ srq });
    a.rx(send(0));
    a.expectTx([ack({ psn: 0, msn: 1 })]);
    b.rx(send(0));
    b.expectTx([rnrNak(12, { psn: 0, msn: 0 })]);
    post(1);
    b.rx(send(0));
    b.expectTx([ack({ psn: 0, msn: 1 })]);
  });

  it('may not post receives of their own', () => {
    const { srq } = makeSrq();
    const peer = new Peer({ srq });
    expect(codeOf(() => peer.qp.postRecv({ wrId: 1 }))).toBe('ERR_ROCE_ARGUMENT');
    expect([srq.length, peer.qp.receivesPosted]).toEqual([0, 0]);
  });

  it('are refused what lies in another domain than that of the queue', () => {
    const { srq, post } = makeSrq();
    const peer = new Peer({ srq });
    post(5, peer.pd);
    peer.rx(send(0));
    peer.expectTx([nak(0x63, { psn: 0, msn: 0 })]);
    expect(peer.completions()).toEqual(['recv 5 LocProtErr']);
  });
});

describe('queue pairs of unreliable services', () => {
  it('RNR-16 UC takes receives from there, and drops what finds none', () => {
    const { srq } = makeSrq(1);
    const peer = new Peer({ type: QpType.Uc, srq });
    peer.rx(uc(send(0)), uc(send(1)));
    peer.silence();
    expect(peer.completions()).toEqual(['recv 0 Success Recv 4 bytes']);
    expect(peer.counters.noReceive).toBe(1);
  });

  it('UC-06 UC loses the receive of a broken message, which nobody else can have', () => {
    const { srq } = makeSrq(2);
    const peer = new Peer({ type: QpType.Uc, srq });
    peer.rx(uc(sendFirst({ psn: 0, payload: pattern(256) })), uc(send(5)));
    expect(peer.completions()).toEqual(['recv 0 RemInvReqErr', 'recv 1 Success Recv 4 bytes']);
  });

  it('LEN-10 a receive that is too small for the message of a UC or UD queue pair completes with that', () => {
    const { srq } = makeSrq(2);
    const connected = new Peer({ type: QpType.Uc, srq, mtu: 2048 });
    connected.rx(uc(send(0, pattern(1025))));
    const datagrams = new Peer({ type: QpType.Ud, srq });
    datagrams.rx(datagram({ psn: 0, qkey: SUBJECT_QKEY, srcQpn: 9, payload: pattern(1000) }));
    expect([...connected.completions(), ...datagrams.completions()]).toEqual(['recv 0 LocLenErr', 'recv 1 LocLenErr']);
    expect([connected.qp.state, datagrams.qp.state, srq.length]).toEqual([QpState.Rts, QpState.Rts, 0]);
  });

  it('RNR-17 UD does the same, with the header before the data', () => {
    const { srq, buffers } = makeSrq(1);
    const peer = new Peer({ type: QpType.Ud, srq });
    const packet = datagram({ psn: 0, qkey: SUBJECT_QKEY, srcQpn: 9, payload: pattern(4) });
    peer.rx(packet, packet);
    peer.silence();
    expect(peer.completions()).toEqual(['recv 0 Success Recv 44 bytes from 9']);
    expect(buffers[0]?.bytes.slice(40, 44)).toEqual(pattern(4));
    expect(peer.counters.noReceive).toBe(1);
    expect(codeOf(() => peer.qp.postRecv({ wrId: 1 }))).toBe('ERR_ROCE_ARGUMENT');
  });

  it('all tell the limit, and their last receive', () => {
    const { srq, notified } = makeSrq(2);
    srq.modify({ limit: 2 }, MOST);
    const unreliable = new Peer({ type: QpType.Uc, srq });
    unreliable.rx(uc(send(0)));
    expect(notified.map((each) => each.pollEvent())).toEqual(['srq-limit-reached']);
    for (const type of [QpType.Uc, QpType.Ud]) {
      const peer = new Peer({ type, srq });
      peer.qp.modify({ state: QpState.Error });
      expect(peer.events()).toEqual(['last-wqe-reached']);
    }
    expect(srq.length).toBe(1);
  });
});

describe('a queue pair in ERROR', () => {
  it('flushes the receive it holds, leaves the rest to the others, and says that this was its last', () => {
    const { srq } = makeSrq(3);
    const a = new Peer({ srq });
    const b = new Peer({ srq });
    a.rx(sendFirst({ psn: 0, payload: pattern(256) }));
    a.qp.modify({ state: QpState.Error });
    expect(a.completions()).toEqual(['recv 0 WrFlushErr']);
    expect(a.events()).toEqual(['last-wqe-reached']);
    b.rx(send(0));
    expect(b.completions()).toEqual(['recv 1 Success Recv 4 bytes']);
    expect(srq.length).toBe(1);
  });

  it('says so once, whatever is posted afterwards, and again after another life', () => {
    const { srq } = makeSrq();
    const peer = new Peer({ srq });
    peer.rx(writeOnly({ psn: 0, reth: { va: 0n, rkey: 0xbad, length: 4 }, payload: pattern(4) }));
    peer.qp.postSend({ wrId: 1, opcode: 2 });
    expect(peer.events()).toEqual(['qp-access-err', 'last-wqe-reached']);
    peer.qp.modify({ state: QpState.Reset });
    peer.connect();
    peer.qp.modify({ state: QpState.Error });
    expect(peer.events()).toEqual(['last-wqe-reached']);
  });

  it('that goes back to RESET takes nothing from the queue either', () => {
    const { srq } = makeSrq(2);
    const peer = new Peer({ srq });
    peer.rx(sendFirst({ psn: 0, payload: pattern(256) }));
    peer.qp.modify({ state: QpState.Reset });
    expect(srq.length).toBe(1);
    expect(peer.completions()).toEqual([]);
  });

  it('without a shared queue has no such event', () => {
    const peer = new Peer();
    peer.qp.modify({ state: QpState.Error });
    expect(peer.events()).toEqual([]);
  });
});

describe('the limit', () => {
  it('QPS-19 is told once below it, and again when it was set again', () => {
    const { srq, post, notified } = makeSrq(4);
    const peer = new Peer({ srq });
    srq.modify({ limit: 3 }, MOST);
    const told = () => {
      const events = notified.splice(0).map((each) => each.pollEvent());
      return events;
    };
    peer.rx(send(0));
    expect([srq.length, srq.limit, told()]).toEqual([3, 3, []]);
    peer.rx(send(1));
    expect([srq.length, srq.limit, told()]).toEqual([2, 0, ['srq-limit-reached']]);
    peer.rx(send(2));
    expect(told()).toEqual([]);
    for (const wrId of [10, 11, 12]) post(wrId);
    srq.modify({ limit: 4 }, MOST);
    expect(told()).toEqual([]);
    peer.rx(send(3));
    expect(told()).toEqual(['srq-limit-reached']);
  });

  it('of 0 is never told', () => {
    const { srq, notified } = makeSrq(1);
    srq.modify({ limit: 1 }, MOST);
    srq.modify({ limit: 0 }, MOST);
    new Peer({ srq }).rx(send(0));
    expect(notified).toEqual([]);
  });
});

describe('resizing', () => {
  it.each([
    ['less than what is posted', { maxWr: 3 }],
    ['nothing', { maxWr: 0 }],
    ['a fraction', { maxWr: 4.5 }],
    ['more than the device has', { maxWr: MOST + 1 }],
    ['less than the limit', { maxWr: 4, limit: 5 }],
    ['a limit above the room', { limit: 9 }],
    ['a negative limit', { limit: -1 }],
  ])('to %s is refused, and nothing changes', (_, attributes) => {
    const { srq } = makeSrq(4);
    srq.modify({ limit: 2 }, MOST);
    expect(codeOf(() => srq.modify(attributes, MOST))).toBe('ERR_ROCE_ARGUMENT');
    expect([srq.maxWr, srq.limit, srq.length]).toEqual([8, 2, 4]);
  });

  it('keeps what is posted, in order, and makes or takes room', () => {
    const { srq, post } = makeSrq(4);
    srq.modify({ maxWr: 4 }, MOST);
    expect(codeOf(() => post(4))).toBe('ERR_ROCE_QUEUE_FULL');
    srq.modify({ maxWr: MOST }, MOST);
    for (let wrId = 4; wrId < MOST; wrId++) post(wrId);
    expect(codeOf(() => post(MOST))).toBe('ERR_ROCE_QUEUE_FULL');
    const peer = new Peer({ srq });
    for (let psn = 0; psn < MOST; psn++) peer.rx(send(psn));
    expect(peer.completions()).toEqual(Array.from({ length: MOST }, (__, i) => `recv ${i} Success Recv 4 bytes`));
  });
});

describe('a shared receive queue in error', () => {
  it('tells it once, gives nothing and takes nothing', () => {
    const { srq, post, notified } = makeSrq(2);
    srq.fail();
    srq.fail();
    expect(notified.map((each) => each.pollEvent())).toEqual(['srq-err']);
    expect(codeOf(() => post(2))).toBe('ERR_ROCE_STATE');
    expect(codeOf(() => srq.modify({ limit: 1 }, MOST))).toBe('ERR_ROCE_STATE');
    const peer = new Peer({ srq });
    peer.rx(send(0));
    peer.expectTx([rnrNak(12, { psn: 0, msn: 0 })]);
  });
});
