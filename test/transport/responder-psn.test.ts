/**
 * What a responder makes of the PSN of a request: expected, ahead, or a duplicate.
 * Method: one queue pair, the test is its peer; PSNs are relative and the connection starts just before the wrap.
 */
import { describe, expect, it } from 'vitest';
import {
  ack,
  atomicAck,
  compareSwap,
  fetchAdd,
  nak,
  pattern,
  readOnly,
  readRequest,
  readResponses,
  rnrNak,
  sendMiddle,
  sendOnly,
  writeFirst,
  writeLast,
  writeMiddle,
  writeOnly,
  writePackets,
} from './support/packets.ts';
import { Peer } from './support/peer.ts';

const STARTS = [0, 0x7f_ff_ff, 0x80_00_00, 0xff_ff_fe, 0xff_ff_ff];
const empty = { va: 0n, rkey: 0, length: 0 };
const PMTU = 256;

describe.each(STARTS)('responder PSN, starting at %i', (psn) => {
  it('RSP-PSN-01 SEND, WRITE and ATOMIC advance the expected PSN by one, across the wrap', () => {
    const peer = new Peer({ psn });
    const mr = peer.region();
    mr.view.setBigUint64(0, 41n, true);
    for (let i = 0; i < 4; i++) peer.postRecv(i);
    peer.rx(sendOnly({ psn: 0, ackReq: true }), writeOnly({ psn: 1, reth: empty }));
    peer.rx(fetchAdd({ psn: 2, va: mr.iova, rkey: mr.rkey, add: 1n }));
    peer.rx(sendOnly({ psn: 3, ackReq: true }));
    peer.expectTx([ack({ psn: 0, msn: 1 }), atomicAck({ psn: 2, msn: 3, original: 41n }), ack({ psn: 3, msn: 4 })]);
  });

  it('RSP-PSN-02 a READ advances the expected PSN by its number of response packets', () => {
    const peer = new Peer({ psn });
    const mr = peer.region();
    const reth = { va: mr.iova, rkey: mr.rkey, length: 3 * PMTU };
    peer.rx(readRequest({ psn: 0, reth }));
    peer.expectTx(readResponses({ psn: 0, msn: 1, data: mr.bytes.slice(0, 3 * PMTU) }));
    peer.rx(writeOnly({ psn: 4, reth: empty, ackReq: true }));
    peer.expectTx([nak(0x60, { psn: 3, msn: 1 })]);
    peer.rx(writeOnly({ psn: 3, reth: empty, ackReq: true }));
    peer.expectTx([ack({ psn: 3, msn: 2 })]);
  });

  it('RSP-PSN-04 RSP-PSN-19 a PSN ahead of the expected one draws NAK 0x60 that names the expected one', () => {
    const peer = new Peer({ psn });
    peer.rx(writeOnly({ psn: 1, reth: empty, ackReq: true }));
    peer.expectTx([nak(0x60, { psn: 0, msn: 0 })]);
    peer.expectUsable(0, 1);
  });

  it('RSP-PSN-09 up to 2^23-1 ahead is the future, everything else the past', () => {
    const peer = new Peer({ psn });
    peer.rx(writeOnly({ psn: 0, reth: empty, ackReq: true }));
    peer.expectTx([ack({ psn: 0, msn: 1 })]);
    peer.rx(writeOnly({ psn: 1 + 0x7f_ff_ff, reth: empty }));
    peer.expectTx([nak(0x60, { psn: 1, msn: 1 })]);
    for (const distance of [-1, -2, -0x7f_ff_ff, -0x80_00_00, 0x80_00_00]) {
      peer.rx(writeOnly({ psn: 1 + distance, reth: empty }));
      peer.expectTx([ack({ psn: 0, msn: 1 })]);
    }
    peer.expectUsable(1, 2);
  });

  it('RSP-PSN-10 a duplicate is acknowledged and not executed again', () => {
    const peer = new Peer({ psn });
    const mr = peer.region();
    const buffer = peer.postRecv(1);
    const spare = peer.postRecv(2);
    const reth = { va: mr.iova, rkey: mr.rkey, length: 4 };
    peer.rx(writeOnly({ psn: 0, reth, payload: pattern(4, 1), ackReq: true }));
    peer.rx(sendOnly({ psn: 1, payload: pattern(4, 2), ackReq: true }));
    peer.expectTx([ack({ psn: 1, msn: 2 })]);
    expect(peer.completions()).toEqual(['recv 1 Success Recv 4 bytes']);
    peer.rx(writeOnly({ psn: 0, reth, payload: pattern(4, 3), ackReq: true }));
    peer.expectTx([ack({ psn: 1, msn: 2 })]);
    peer.rx(sendOnly({ psn: 1, payload: pattern(4, 4), ackReq: true }));
    peer.expectTx([ack({ psn: 1, msn: 2 })]);
    expect(mr.bytes.slice(0, 4)).toEqual(pattern(4, 1));
    expect(buffer.bytes.slice(0, 4)).toEqual(pattern(4, 2));
    expect(spare.bytes.every((byte) => byte === 0)).toBe(true);
    expect(peer.completions()).toEqual([]);
    expect(peer.counters.duplicateRequest).toBe(2);
  });
});

describe('responder PSN', () => {
  it('RSP-PSN-03 a zero-length READ takes one PSN', () => {
    const peer = new Peer();
    peer.rx(readRequest({ psn: 0, reth: empty }));
    peer.expectTx([readOnly({ psn: 0, msn: 1 })]);
    peer.expectUsable(1, 2);
  });

  it('RSP-PSN-05 ACK-14 one sequence NAK until the expected PSN arrives', () => {
    const peer = new Peer();
    for (let i = 1; i <= 100; i++) peer.rx(writeOnly({ psn: i, reth: empty, ackReq: true }));
    peer.expectTx([nak(0x60, { psn: 0, msn: 0 })]);
    expect([peer.counters.outOfSeqRequest, peer.counters.droppedRequest]).toEqual([1, 99]);
  });

  it('RSP-PSN-06 the expected PSN ends the NAK state and a new gap draws a new NAK', () => {
    const peer = new Peer();
    peer.rx(writeOnly({ psn: 1, reth: empty }), writeOnly({ psn: 0, reth: empty, ackReq: true }));
    peer.rx(writeOnly({ psn: 2, reth: empty }));
    peer.expectTx([nak(0x60, { psn: 0, msn: 0 }), ack({ psn: 0, msn: 1 }), nak(0x60, { psn: 1, msn: 1 })]);
  });

  it('RSP-PSN-07 duplicates are answered while a NAK is outstanding', () => {
    const peer = new Peer();
    peer.rx(writeOnly({ psn: 0, reth: empty, ackReq: true }));
    peer.expectTx([ack({ psn: 0, msn: 1 })]);
    peer.rx(writeOnly({ psn: 2, reth: empty }));
    peer.expectTx([nak(0x60, { psn: 1, msn: 1 })]);
    peer.rx(writeOnly({ psn: 0, reth: empty }), writeOnly({ psn: 3, reth: empty }));
    peer.expectTx([ack({ psn: 0, msn: 1 })]);
  });

  it('RSP-PSN-08 packets after a gap are not executed; repeated in order they are, once', () => {
    const peer = new Peer();
    const mr = peer.region();
    const before = mr.bytes.slice();
    const [first, second] = [0n, 8n].map((at) => ({ va: mr.iova + at, rkey: mr.rkey, length: 4 }));
    if (first === undefined || second === undefined) throw new Error('two addresses');
    const late = writeOnly({ psn: 1, reth: second, payload: pattern(4, 2), ackReq: true });
    peer.rx(late);
    peer.expectTx([nak(0x60, { psn: 0, msn: 0 })]);
    expect(mr.bytes).toEqual(before);
    peer.rx(writeOnly({ psn: 0, reth: first, payload: pattern(4, 1) }), late);
    peer.expectTx([ack({ psn: 1, msn: 2 })]);
    expect(mr.bytes.slice(0, 4)).toEqual(pattern(4, 1));
    expect(mr.bytes.slice(8, 12)).toEqual(pattern(4, 2));
  });

  it('RSP-PSN-11 a re-ACK names the newest SEND, WRITE or ATOMIC and never a READ', () => {
    const peer = new Peer();
    const mr = peer.region();
    peer.rx(writeOnly({ psn: 0, reth: empty, ackReq: true }));
    peer.rx(readRequest({ psn: 1, reth: { va: mr.iova, rkey: mr.rkey, length: 8 } }));
    peer.expectTx([ack({ psn: 0, msn: 1 }), readOnly({ psn: 1, msn: 2, payload: mr.bytes.slice(0, 8) })]);
    peer.rx(writeOnly({ psn: 0, reth: empty, ackReq: true }));
    peer.expectTx([ack({ psn: 0, msn: 2 })]);
    peer.rx(fetchAdd({ psn: 2, va: mr.iova, rkey: mr.rkey, add: 0n }));
    peer.drain();
    peer.rx(writeOnly({ psn: 0, reth: empty, ackReq: true }));
    peer.expectTx([ack({ psn: 2, msn: 3 })]);
  });

  it('RSP-PSN-12 a duplicate is acknowledged again even without AckReq', () => {
    const peer = new Peer();
    peer.rx(writeOnly({ psn: 0, reth: empty }));
    peer.silence();
    peer.rx(writeOnly({ psn: 0, reth: empty }));
    peer.expectTx([ack({ psn: 0, msn: 1 })]);
  });

  it('a packet older than the first of the connection is dropped while nothing has been executed', () => {
    const peer = new Peer();
    peer.rx(writeOnly({ psn: -1, reth: empty, ackReq: true }), readRequest({ psn: -1, reth: empty }));
    peer.expectUsable(0, 1);
    expect(peer.counters.droppedRequest).toBe(2);
  });

  it('RSP-PSN-13 duplicates are served in PSN order: the earlier one pre-empts the later', () => {
    const peer = new Peer();
    const mr = peer.region({ length: 40 * PMTU });
    const a = readRequest({ psn: 0, reth: { va: mr.iova, rkey: mr.rkey, length: 40 * PMTU } });
    const b = readRequest({ psn: 40, reth: { va: mr.iova, rkey: mr.rkey, length: 2 * PMTU } });
    const answerA = readResponses({ psn: 0, msn: 1, data: mr.bytes });
    const answerB = readResponses({ psn: 40, msn: 2, data: mr.bytes.slice(0, 2 * PMTU) });
    peer.rx(a, b);
    peer.expectTx([...answerA, ...answerB]);
    peer.rx(b, a);
    const again = peer.drain();
    expect(again.map(({ psn: at }) => at)).toEqual([...answerA, ...answerB].map(({ psn: at }) => at));
  });

  it('RSP-PSN-14 a replayed READ leaves an open message as it is', () => {
    const peer = new Peer();
    const mr = peer.region();
    const read = readRequest({ psn: 0, reth: { va: mr.iova, rkey: mr.rkey, length: 3 * PMTU } });
    const [first, last] = writePackets({ psn: 3, data: pattern(300), va: mr.iova + 1024n, rkey: mr.rkey });
    if (first === undefined || last === undefined) throw new Error('two packets');
    peer.rx(read, first);
    peer.expectTx(readResponses({ psn: 0, msn: 1, data: mr.bytes.slice(0, 3 * PMTU) }));
    peer.rx(read, first, last);
    const replies = peer.drain();
    expect(replies.slice(-1)).toMatchObject([{ psn: 4, msn: 2 }]);
    expect(mr.bytes.slice(1024, 1324)).toEqual(pattern(300));
  });

  it('RSP-PSN-15 errors in a duplicate are never NAKed', () => {
    const peer = new Peer();
    const mr = peer.region();
    const bogus = { va: mr.iova, rkey: mr.rkey ^ 0x55, length: 4 };
    peer.rx(writeOnly({ psn: 0, reth: empty }), readRequest({ psn: 1, reth: { ...empty, length: 0 } }));
    peer.drain();
    peer.rx(writeOnly({ psn: 0, reth: bogus, payload: pattern(4), ackReq: true }));
    peer.expectTx([ack({ psn: 0, msn: 2 })]);
    peer.rx(writeFirst({ psn: 0, reth: bogus, payload: pattern(3) }), writeMiddle({ psn: 0 }), sendMiddle({ psn: 0 }));
    peer.expectTx([ack({ psn: 0, msn: 2 })]);
    peer.rx(readRequest({ psn: 1, reth: bogus }), readRequest({ psn: 0, reth: bogus }));
    peer.rx(
      fetchAdd({ psn: 1, va: 1n, rkey: 0, add: 0n }),
      compareSwap({ psn: 0, va: 1n, rkey: 0, compare: 0n, swap: 0n }),
    );
    peer.expectUsable(2, 3);
  });

  it('RSP-PSN-15 a duplicate READ whose key has died since is dropped', () => {
    const peer = new Peer();
    const mr = peer.region();
    const read = readRequest({ psn: 0, reth: { va: mr.iova, rkey: mr.rkey, length: 8 } });
    peer.rx(read);
    peer.expectTx([readOnly({ psn: 0, msn: 1, payload: mr.bytes.slice(0, 8) })]);
    peer.keys.deregister(mr);
    peer.rx(read);
    peer.expectUsable(1, 2);
  });

  it('RSP-PSN-15 a duplicate READ whose key dies while its answer waits is forgotten', () => {
    const peer = new Peer();
    const mr = peer.region();
    const read = readRequest({ psn: 0, reth: { va: mr.iova, rkey: mr.rkey, length: 8 } });
    peer.rx(read);
    peer.drain();
    peer.rx(read);
    peer.keys.deregister(mr);
    peer.expectUsable(1, 2);
  });

  it('RSP-PSN-16 a duplicate READ that is no longer remembered is dropped', () => {
    const peer = new Peer({ maxDestRdAtomic: 2 });
    for (let i = 0; i < 3; i++) {
      peer.rx(readRequest({ psn: i, reth: empty }));
      peer.expectTx([readOnly({ psn: i, msn: i + 1 })]);
    }
    peer.rx(readRequest({ psn: 0, reth: empty }));
    peer.silence();
    peer.rx(readRequest({ psn: 1, reth: empty }));
    peer.expectTx([readOnly({ psn: 1, msn: 3 })]);
    peer.expectUsable(3, 4);
  });

  it('RSP-PSN-17 a duplicate ATOMIC that is no longer remembered is dropped and not executed', () => {
    const peer = new Peer({ maxDestRdAtomic: 2 });
    const mr = peer.region({ length: 8 });
    mr.view.setBigUint64(0, 0n, true);
    for (let i = 0; i < 3; i++) {
      peer.rx(fetchAdd({ psn: i, va: mr.iova, rkey: mr.rkey, add: 1n }));
      peer.expectTx([atomicAck({ psn: i, msn: i + 1, original: BigInt(i) })]);
    }
    peer.rx(fetchAdd({ psn: 0, va: mr.iova, rkey: mr.rkey, add: 1n }));
    peer.expectUsable(3, 4);
    expect(mr.view.getBigUint64(0, true)).toBe(3n);
  });

  it('RSP-PSN-18 the PSN is judged before the opcode', () => {
    const peer = new Peer();
    peer.rx(writeOnly({ psn: 0, reth: empty }));
    peer.rx(sendMiddle({ psn: 5, payload: pattern(PMTU) }));
    peer.expectTx([nak(0x60, { psn: 1, msn: 1 })]);
    peer.rx(writeLast({ psn: 0, payload: pattern(4) }));
    peer.expectTx([ack({ psn: 0, msn: 1 })]);
    peer.expectUsable(1, 2);
  });

  it('RSP-PSN-20 RNR-06 after an RNR NAK later packets draw nothing', () => {
    const peer = new Peer();
    peer.rx(sendOnly({ psn: 0 }), sendOnly({ psn: 1, ackReq: true }), writeOnly({ psn: 2, reth: empty, ackReq: true }));
    peer.expectTx([rnrNak(12, { psn: 0, msn: 0 })]);
  });
});
