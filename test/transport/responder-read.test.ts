/**
 * RDMA READ at the responder: how an answer is cut into packets, and what a repeated or resumed READ is given.
 * Method: scripts against one queue pair; every list of packets is the whole list.
 */
import { describe, expect, it } from 'vitest';
import { ackTimeoutNs } from '../../transport/timers.ts';
import { ack, nak, pattern, readOnly, readRequest, readResponses, sendOnly, writeOnly } from './support/packets.ts';
import { Peer } from './support/peer.ts';

const PMTU = 256;
const empty = { va: 0n, rkey: 0, length: 0 };

function withRegion(length: number, options: { maxDestRdAtomic?: number } = {}) {
  const peer = new Peer(options);
  const mr = peer.region({ length });
  const read = (psn: number, packet: number, packets: number) =>
    readRequest({
      psn,
      reth: { va: mr.iova + BigInt(packet * PMTU), rkey: mr.rkey, length: packets * PMTU },
    });
  const answer = (psn: number, msn: number, packet: number, packets: number) =>
    readResponses({ psn, msn, data: mr.bytes.slice(packet * PMTU, (packet + packets) * PMTU) });
  return { peer, mr, read, answer };
}

describe('RDMA READ, responder', () => {
  it.each([0, 1, 255, 256, 257, 511, 512, 513, 768, 1279, 1280])(
    'RD-01 RD-02 RD-03 RD-04 RD-05 a READ of %i bytes is cut into FIRST, MIDDLE, LAST or ONLY at consecutive PSNs',
    (length) => {
      const peer = new Peer();
      const mr = peer.region();
      peer.rx(readRequest({ psn: 0, reth: { va: mr.iova + 3n, rkey: mr.rkey, length } }));
      peer.expectTx(readResponses({ psn: 0, msn: 1, data: mr.bytes.slice(3, 3 + length) }));
    },
  );

  it.each([true, false])('RD-06 AckReq %s makes no difference to a READ', (ackReq) => {
    const { peer, mr, answer } = withRegion(1024);
    peer.rx(readRequest({ psn: 0, ackReq, reth: { va: mr.iova, rkey: mr.rkey, length: 2 * PMTU } }));
    peer.expectTx(answer(0, 1, 0, 2));
  });

  it('RD-07 RD-16 a repeated READ is read anew from memory and does not raise the MSN', () => {
    const { peer, mr, read, answer } = withRegion(2 * PMTU);
    peer.rx(read(0, 0, 2));
    peer.expectTx(answer(0, 1, 0, 2));
    for (let i = 0; i < 10; i++) {
      mr.bytes.set(pattern(2 * PMTU, 20 + i));
      peer.rx(read(0, 0, 2));
      peer.expectTx(answer(0, 1, 0, 2));
    }
    peer.expectUsable(2, 2);
    expect(peer.counters.duplicateRequest).toBe(10);
  });

  it.each([1, 2, 3, 4])(
    'RD-08 RD-09 a READ of 5 resumed at packet %i is answered with its tail from FIRST or ONLY',
    (k) => {
      const { peer, read, answer } = withRegion(5 * PMTU);
      peer.rx(read(0, 0, 5));
      peer.expectTx(answer(0, 1, 0, 5));
      peer.rx(read(k, k, 5 - k));
      peer.expectTx(answer(k, 1, k, 5 - k));
    },
  );

  it('RD-08 a resumed READ may cross a 4 GiB boundary of the address', () => {
    const peer = new Peer();
    const mr = peer.region({ length: 1024, iova: 0x1_0000_0000n - 300n });
    const reth = { va: mr.iova, rkey: mr.rkey, length: 1024 };
    peer.rx(readRequest({ psn: 0, reth }));
    peer.expectTx(readResponses({ psn: 0, msn: 1, data: mr.bytes }));
    peer.rx(readRequest({ psn: 2, reth: { ...reth, va: mr.iova + 512n, length: 512 } }));
    peer.expectTx(readResponses({ psn: 2, msn: 1, data: mr.bytes.slice(512) }));
  });

  it('RD-10 a repetition that asks for something else is dropped', () => {
    const { peer, mr, read } = withRegion(8 * PMTU);
    peer.rx(read(0, 1, 4));
    peer.drain();
    const { iova, rkey } = mr;
    const at = (packet: number) => iova + BigInt(packet * PMTU);
    for (const [psn, reth] of [
      [0, { va: at(0), rkey, length: 4 * PMTU }],
      [0, { va: at(1), rkey, length: 5 * PMTU }],
      [0, { va: at(1), rkey, length: 4 * PMTU + 1 }],
      [0, { va: at(1), rkey: rkey ^ 1, length: 4 * PMTU }],
      [0, { va: at(1) + (1n << 32n), rkey, length: 4 * PMTU }],
      [1, { va: at(1), rkey, length: 3 * PMTU }],
      [1, { va: at(2), rkey, length: 4 * PMTU }],
      [1, { va: at(2) + 1n, rkey, length: 8 }],
    ] as const) {
      peer.rx(readRequest({ psn, reth }));
      peer.silence();
    }
    expect(peer.counters.droppedRequest).toBe(8);
    peer.expectUsable(4, 2);
  });

  it('RD-11 one READ more than max_dest_rd_atomic in progress draws 0x61 after the answers of the others', () => {
    const { peer, read, answer } = withRegion(4 * PMTU, { maxDestRdAtomic: 2 });
    peer.rx(read(0, 0, 1), read(1, 1, 1), read(2, 2, 1));
    peer.expectTx([...answer(0, 1, 0, 1), ...answer(1, 2, 1, 1), nak(0x61, { psn: 2, msn: 2 })]);
  });

  it('RD-11 an answer that is given again does not count against max_dest_rd_atomic', () => {
    const { peer, read, answer } = withRegion(4 * PMTU, { maxDestRdAtomic: 1 });
    peer.rx(read(0, 0, 2));
    peer.expectTx(answer(0, 1, 0, 2));
    // The requester gave up waiting just before the answer came, then goes on with its next READ.
    peer.rx(read(0, 0, 2), read(2, 2, 2));
    peer.expectTx([...answer(0, 1, 0, 2), ...answer(2, 2, 2, 2)]);
  });

  it('RSP-PSN-13 a resumed READ takes the place of the answer that is still being sent', () => {
    const { peer, read, answer } = withRegion(100 * PMTU);
    peer.rx(read(0, 0, 100));
    peer.rx(writeOnly({ psn: 100, reth: empty, ackReq: true }));
    const sent = peer.burst().length;
    expect(sent).toBeGreaterThan(10);
    peer.rx(read(10, 10, 90));
    peer.expectTx([...answer(10, 2, 10, 90), ack({ psn: 100, msn: 2 })]);
  });

  it('RSP-PSN-13 a READ repeated while a later one is being answered comes first, and the later one starts over', () => {
    const { peer, read, answer } = withRegion(100 * PMTU);
    peer.rx(read(0, 0, 2));
    peer.expectTx(answer(0, 1, 0, 2));
    peer.rx(read(2, 2, 90));
    peer.burst();
    peer.rx(read(0, 0, 2));
    peer.expectTx([...answer(0, 2, 0, 2), ...answer(2, 2, 2, 90)]);
  });

  it('repetitions faster than the answers are bounded', () => {
    const { peer, read } = withRegion(64 * PMTU, { maxDestRdAtomic: 2 });
    peer.rx(read(0, 0, 64));
    peer.drain();
    // One packet each, from the last to the first, so that none covers another.
    for (let k = 63; k >= 0; k--) peer.rx(read(k, k, 1));
    expect(peer.counters.droppedRequest).toBe(60);
    expect(peer.drain()).toHaveLength(4);
    peer.expectUsable(64, 2);
  });

  it('RSP-PSN-13 repetitions that overtook each other are answered once, from the earliest', () => {
    const { peer, read, answer } = withRegion(64 * PMTU, { maxDestRdAtomic: 2 });
    peer.rx(read(0, 0, 64));
    peer.drain();
    for (let k = 63; k >= 0; k--) peer.rx(read(k, k, 64 - k));
    peer.expectTx(answer(0, 1, 0, 64));
    expect(peer.counters.droppedRequest).toBe(0);
  });

  it('RD-12 RD-13 ACK-05 answers leave in the order of the requests', () => {
    const { peer, mr, read, answer } = withRegion(4 * PMTU);
    peer.postRecv(1);
    const before = answer(0, 1, 0, 3);
    peer.rx(read(0, 0, 3), sendOnly({ psn: 3, ackReq: true }), read(4, 3, 1));
    peer.rx(
      writeOnly({ psn: 5, ackReq: true, payload: pattern(4, 7), reth: { va: mr.iova, rkey: mr.rkey, length: 4 } }),
    );
    const replies = peer.drain();
    expect(replies.map(({ psn }) => psn)).toEqual([0, 1, 2, 3, 4, 5]);
    expect(replies.slice(1, 3)).toMatchObject(before.slice(1).map(({ payload }) => ({ payload })));
    expect(replies[3]).toMatchObject({ syndrome: 0x1f, msn: 2 });
  });

  it('RD-15 the MSN counts a READ once, when it starts', () => {
    const { peer, read } = withRegion(4 * PMTU);
    peer.rx(writeOnly({ psn: 0, reth: empty }), read(1, 0, 3));
    expect(peer.drain().map(({ msn }) => msn)).toEqual([2, undefined, 2]);
  });

  it('RD-04 a zero-length READ repeated is answered again', () => {
    const peer = new Peer();
    peer.rx(readRequest({ psn: 0, reth: empty }), readRequest({ psn: 0, reth: empty }));
    peer.expectTx([readOnly({ psn: 0, msn: 1 })]);
    peer.rx(readRequest({ psn: 0, reth: empty }));
    peer.expectTx([readOnly({ psn: 0, msn: 1 })]);
  });

  it('a responder has no timers of its own', () => {
    const { peer, read } = withRegion(4 * PMTU);
    peer.rx(read(0, 0, 3), sendOnly({ psn: 3 }));
    peer.drain();
    expect(peer.qp.nextDeadline()).toBe(Number.POSITIVE_INFINITY);
    peer.advance(ackTimeoutNs(31));
    peer.silence();
  });
});
