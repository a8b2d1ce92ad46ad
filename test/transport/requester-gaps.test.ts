/**
 * Gaps in READ responses: what comes behind one is kept, and one repetition is under way at a time.
 * Method: the test is the responder; PSNs wrap after the second packet.
 */
import { describe, expect, it } from 'vitest';
import { QpState } from '../../transport/qp-state.ts';
import { ackTimeoutNs } from '../../transport/timers.ts';
import { WrOpcode } from '../../transport/work.ts';
import { ack, atomicAck, type Packet, pattern, readRequest, readResponses } from './support/packets.ts';
import { Peer, type PeerOptions } from './support/peer.ts';

const PMTU = 256;
const REMOTE = { remoteAddr: 0x1000n, rkey: 0x77 };
const TIMEOUT = ackTimeoutNs(14);

/** READs of so many packets each, on the wire, and the responses to them by PSN. */
function withReads(packets: readonly number[], options: PeerOptions = {}) {
  const peer = new Peer({ maxRdAtomic: 8, ...options });
  const total = packets.reduce((sum, count) => sum + count, 0);
  const mr = peer.region({ length: total * PMTU });
  const data = pattern(total * PMTU, 5);
  const responses: Packet[] = [];
  const requests: ((from?: number) => Packet)[] = [];
  for (const [wrId, count] of packets.entries()) {
    const first = responses.length;
    const length = count * PMTU;
    peer.post({ wrId, opcode: WrOpcode.RdmaRead, sges: [{ mr, offset: first * PMTU, length }], ...REMOTE });
    responses.push(
      ...readResponses({ psn: first, msn: wrId + 1, data: data.slice(first * PMTU, first * PMTU + length) }),
    );
    requests.push((from = first) => {
      const skipped = (from - first) * PMTU;
      const reth = { va: REMOTE.remoteAddr + BigInt(skipped), rkey: REMOTE.rkey, length: length - skipped };
      return readRequest({ psn: from, ackReq: true, reth });
    });
  }
  peer.expectTx(requests.map((request) => request()));
  const rx = (...psns: number[]): void => peer.rx(...psns.map((psn) => responses[psn] ?? expect.fail(`no ${psn}`)));
  const request = (read: number, from?: number): Packet => requests[read]?.(from) ?? expect.fail(`no READ ${read}`);
  const done = (...wrIds: number[]) =>
    wrIds.map((id) => `send ${id} Success RdmaRead ${(packets[id] ?? 0) * PMTU} bytes`);
  const expectData = () => expect(Buffer.compare(mr.bytes, data)).toBe(0);
  return { peer, mr, data, responses, rx, request, done, expectData };
}

describe('what comes behind a gap', () => {
  it('RD-18 is in place when the late response comes, and completes with it', () => {
    const { peer, rx, request, done, expectData } = withReads([6]);
    rx(0, 2, 3, 4, 5);
    peer.expectTx([request(0, 1)]);
    expect(peer.completions()).toEqual([]);
    rx(1);
    expect(peer.completions()).toEqual(done(0));
    expectData();
    peer.silence();
  });

  it('REQ-06 may belong to later READs, which complete in order', () => {
    const { peer, rx, request, done, expectData } = withReads([3, 2, 3]);
    rx(0, 2, 3, 4, 5, 6);
    peer.expectTx([request(0, 1), request(1), request(2)]);
    rx(1);
    expect(peer.completions()).toEqual(done(0, 1));
    rx(7);
    expect(peer.completions()).toEqual(done(2));
    expectData();
  });

  it('RD-17 acknowledges the SEND before its READ, but only when the gap has closed', () => {
    const peer = new Peer();
    const mr = peer.region({ length: 3 * PMTU });
    const read = { opcode: WrOpcode.RdmaRead, ...REMOTE };
    peer.post({ wrId: 0, ...read, sges: [{ mr, length: 2 * PMTU }] }, { wrId: 1, opcode: WrOpcode.Send });
    peer.post({ wrId: 2, ...read, sges: [{ mr, offset: 2 * PMTU, length: PMTU }] });
    peer.drain();
    const [first, second] = readResponses({ psn: 0, msn: 1, data: pattern(2 * PMTU) });
    const [third] = readResponses({ psn: 3, msn: 3, data: pattern(PMTU, 9) });
    if (first === undefined || second === undefined || third === undefined) throw new Error('three');
    peer.rx(first, third);
    expect(peer.completions()).toEqual([]);
    peer.rx(second);
    expect(peer.completions()).toEqual([
      'send 0 Success RdmaRead 512 bytes',
      'send 1 Success Send',
      'send 2 Success RdmaRead 256 bytes',
    ]);
    expect(mr.bytes.slice(2 * PMTU)).toEqual(pattern(PMTU, 9));
  });

  it('REQ-36 is placed once: a second one with other bytes changes nothing', () => {
    const { peer, rx, responses, expectData, done } = withReads([4]);
    rx(0, 2);
    peer.rx({ ...(responses[2] as Packet), payload: pattern(PMTU, 99) });
    rx(3, 1);
    expect(peer.completions()).toEqual(done(0));
    expectData();
  });

  it.each([
    ['too short', (packet: Packet) => ({ ...packet, payload: pattern(PMTU - 4, 99) })],
    ['of another kind', (packet: Packet) => atomicAck({ psn: packet.psn, msn: 1, original: 7n })],
    ['the end of the READ', (packet: Packet) => ({ ...packet, opcode: packet.opcode + 1, syndrome: 0x1f, msn: 1 })],
  ])('LEN-16 fails nothing and is left out where it is %s', (_, spoil) => {
    const { peer, mr, rx, responses, done, expectData } = withReads([4]);
    const before = mr.bytes.slice(PMTU);
    rx(0);
    peer.rx(spoil(responses[2] as Packet));
    expect(mr.bytes.slice(PMTU)).toEqual(before);
    rx(1);
    expect(peer.completions()).toEqual([]);
    rx(2, 3);
    expect(peer.completions()).toEqual(done(0));
    expectData();
  });

  it('is not placed where its atomic or SEND has no data for it', () => {
    const peer = new Peer();
    const mr = peer.region({ length: 2 * PMTU });
    peer.post({ wrId: 0, opcode: WrOpcode.RdmaRead, sges: [{ mr }], ...REMOTE }, { wrId: 1, opcode: WrOpcode.Send });
    peer.drain();
    const [first, second] = readResponses({ psn: 0, msn: 1, data: pattern(2 * PMTU) });
    if (first === undefined || second === undefined) throw new Error('two');
    peer.rx(first, { ...second, psn: 2 }, second);
    expect(peer.completions()).toEqual(['send 0 Success RdmaRead 512 bytes']);
    peer.rx(ack({ psn: 2, msn: 2 }));
    expect(peer.completions()).toEqual(['send 1 Success Send']);
  });

  it('is not placed where an atomic is due', () => {
    const peer = new Peer();
    const mr = peer.region({ length: 2 * PMTU });
    const sink = peer.region({ length: 8 });
    const before = sink.bytes.slice();
    peer.post({ wrId: 0, opcode: WrOpcode.RdmaRead, sges: [{ mr }], ...REMOTE });
    peer.post({ wrId: 1, opcode: WrOpcode.AtomicFetchAndAdd, sges: [{ mr: sink }], ...REMOTE });
    peer.drain();
    const [first, second] = readResponses({ psn: 0, msn: 1, data: pattern(2 * PMTU) });
    if (first === undefined || second === undefined) throw new Error('two');
    peer.rx(first, ...readResponses({ psn: 2, msn: 2, data: pattern(8, 99) }), second);
    expect(sink.bytes).toEqual(before);
    expect(peer.completions()).toEqual(['send 0 Success RdmaRead 512 bytes']);
    peer.rx(atomicAck({ psn: 2, msn: 2, original: 7n }));
    expect(peer.completions()).toEqual(['send 1 Success FetchAdd 8 bytes']);
  });

  it('counts once: PSNs that come much later have to be answered, too', () => {
    const { peer, mr, rx, done } = withReads([4]);
    rx(0, 2, 3, 1);
    expect(peer.completions()).toEqual(done(0));
    const many = Array.from({ length: 4 }, () => ({ mr, length: 4 * PMTU }));
    const packets = 16;
    for (let psn = 4; psn < 1026; psn += packets) {
      peer.post({ wrId: psn, opcode: WrOpcode.RdmaRead, sges: many, ...REMOTE });
      peer.drain();
      const responses = readResponses({ psn, msn: 2, data: pattern(packets * PMTU) });
      peer.rx(...responses.slice(0, -1));
      expect(peer.completions()).toEqual([]);
      peer.rx(...responses.slice(-1));
      expect(peer.completions()).toHaveLength(1);
    }
  });

  it('is left out more than 1023 PSNs ahead', () => {
    const { peer, rx, request } = withReads([1100]);
    rx(1025, 0);
    peer.expectTx([request(0, 1)]);
    peer.silence();
  });

  it('is forgotten with its connection', () => {
    const { peer, mr, rx } = withReads([4]);
    rx(0, 2, 3);
    peer.drain();
    peer.qp.modify({ state: QpState.Reset });
    peer.connect();
    peer.post({ wrId: 7, opcode: WrOpcode.RdmaRead, sges: [{ mr }], ...REMOTE });
    peer.drain();
    rx(0, 1);
    expect(peer.completions()).toEqual([]);
    // The first gap of the new connection counts at once.
    rx(3);
    expect(peer.drain()).toHaveLength(1);
  });
});

describe('a repetition under way', () => {
  it('REQ-14 is the only one: what was sent before it still comes, with gaps of its own', () => {
    const { peer, rx, request, done, expectData } = withReads([4, 6]);
    rx(0, 2);
    peer.expectTx([request(0, 1), request(1)]);
    rx(3, 4, 6, 7, 8);
    peer.silence();
    rx(1);
    expect(peer.completions()).toEqual(done(0));
    rx(9);
    peer.silence();
    // The repetition.
    rx(1, 2, 3, 4, 5);
    expect(peer.completions()).toEqual(done(1));
    expectData();
    peer.silence();
    expect(peer.counters.rcvdSeqErr).toBe(1);
  });

  it('is itself repeated as soon as it has come without what is missing', () => {
    const { peer, rx, request, done } = withReads([8]);
    rx(0, 2, 3, 4, 5);
    peer.expectTx([request(0, 1)]);
    rx(2);
    peer.silence();
    rx(3);
    peer.expectTx([request(0, 1)]);
    rx(4, 5, 6, 7);
    peer.silence();
    rx(1);
    expect(peer.completions()).toEqual(done(0));
  });

  it('shows wherever it begins, if that is behind what came before it', () => {
    const { peer, rx, request } = withReads([9]);
    rx(0, 2);
    peer.expectTx([request(0, 1)]);
    rx(3, 4, 5);
    peer.silence();
    rx(3, 4);
    peer.expectTx([request(0, 1)]);
  });

  it('shows by a single response where that is the last one', () => {
    const { peer, rx, request } = withReads([3]);
    rx(0, 2);
    peer.expectTx([request(0, 1)]);
    rx(2);
    peer.expectTx([request(0, 1)]);
  });

  it('is repeated at once a single time, and by the ACK timer from then on', () => {
    const { peer, rx, request } = withReads([3]);
    rx(0, 2);
    peer.expectTx([request(0, 1)]);
    rx(2);
    peer.expectTx([request(0, 1)]);
    rx(2, 2);
    peer.silence();
    peer.advance(TIMEOUT);
    peer.expectTx([request(0, 1)]);
  });

  it('is not told from single responses of the past', () => {
    const { peer, rx, request } = withReads([9]);
    rx(0, 2, 3, 5, 6);
    peer.expectTx([request(0, 1)]);
    rx(4, 7, 4, 6);
    peer.silence();
  });

  it('has shown when two due responses come in sequence: the next gap counts at its second response', () => {
    const { peer, rx, request } = withReads([9]);
    rx(0, 2);
    peer.expectTx([request(0, 1)]);
    rx(1, 2, 3, 5);
    peer.silence();
    rx(6);
    peer.expectTx([request(0, 4)]);
  });

  it('lies behind us when a response comes to what was requested after it', () => {
    const { peer, mr, rx, request } = withReads([3]);
    rx(0, 2);
    peer.expectTx([request(0, 1)]);
    peer.post({ wrId: 9, opcode: WrOpcode.RdmaRead, sges: [{ mr, length: PMTU }], ...REMOTE });
    peer.drain();
    peer.rx(...readResponses({ psn: 3, msn: 2, data: pattern(PMTU) }));
    expect(peer.drain().map(({ psn }) => psn)).toEqual([1, 3]);
  });

  it('REQ-12 costs a retry each time', () => {
    const { peer, rx, request } = withReads([4], { retryCnt: 1 });
    rx(0, 2);
    peer.expectTx([request(0, 1)]);
    rx(2, 3);
    expect(peer.completions()).toEqual(['send 0 RetryExcErr']);
  });

  it('REQ-21 that is lost as a whole is repeated by the ACK timer, and then any gap counts at once', () => {
    const { peer, rx, request, done } = withReads([8]);
    rx(0, 2);
    peer.expectTx([request(0, 1)]);
    rx(3, 4, 5);
    peer.silence();
    peer.advance(TIMEOUT);
    peer.expectTx([request(0, 1)]);
    rx(1, 7);
    peer.expectTx([request(0, 6)]);
    rx(6);
    expect(peer.completions()).toEqual(done(0));
    peer.advance(10 * TIMEOUT);
    peer.silence();
  });
});
