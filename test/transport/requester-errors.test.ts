/**
 * How requests fail: refused by the peer, answered wrongly, or stopped by a local fault; and what is left after that.
 * Method: a few requests in a row, one of them made to fail; the whole list of completions is compared.
 */
import { describe, expect, it } from 'vitest';
import { Access, ProtectionDomain } from '../../transport/memory.ts';
import { QpState } from '../../transport/qp-state.ts';
import { ackTimeoutNs } from '../../transport/timers.ts';
import { WrOpcode } from '../../transport/work.ts';
import { ack, atomicAck, nak, pattern, readOnly, readRequest, sendOnly } from './support/packets.ts';
import { ALL_ACCESS, Peer } from './support/peer.ts';

const REMOTE = { remoteAddr: 0x1000n, rkey: 0x77 };

function withSends(count: number) {
  const peer = new Peer();
  for (let i = 0; i < count; i++) peer.post({ wrId: i, opcode: WrOpcode.Send });
  peer.drain();
  return peer;
}

describe('refusal by the peer', () => {
  it.each([
    [0x61, 'RemInvReqErr', 'reqRemoteInvalidRequest'],
    [0x62, 'RemAccessErr', 'reqRemoteAccessErrors'],
    [0x63, 'RemOpErr', 'reqRemoteOperationErrors'],
  ] as const)(
    'REQ-18 REQ-19 REQ-24 NAK 0x%i fails the named request with %s at once and flushes the rest in order',
    (syndrome, status, counter) => {
      const peer = withSends(5);
      peer.rx(nak(syndrome, { psn: 2, msn: 2 }));
      const { reqRemoteInvalidRequest, reqRemoteAccessErrors, reqRemoteOperationErrors } = peer.counters;
      const counted = { reqRemoteInvalidRequest, reqRemoteAccessErrors, reqRemoteOperationErrors };
      expect(Object.entries(counted).filter(([, times]) => times > 0)).toEqual([[counter, 1]]);
      expect(peer.completions()).toEqual([
        'send 0 Success Send',
        'send 1 Success Send',
        `send 2 ${status}`,
        'send 3 WrFlushErr',
        'send 4 WrFlushErr',
      ]);
      expect(peer.qp.state).toBe(QpState.Error);
      peer.advance(10 * ackTimeoutNs(14));
      peer.silence();
    },
  );

  it('REQ-33 an error completes unsignalled work too', () => {
    const peer = new Peer();
    for (const wrId of [1, 2, 3]) peer.post({ wrId, opcode: WrOpcode.Send, signaled: false });
    peer.drain();
    peer.rx(nak(0x61, { psn: 1, msn: 1 }));
    expect(peer.completions()).toEqual(['send 2 RemInvReqErr', 'send 3 WrFlushErr']);
  });

  it('REQ-34 QPS-02 after ERROR nothing is sent, new work is flushed, receives too', () => {
    const peer = withSends(1);
    peer.postRecv(10);
    peer.rx(nak(0x62, { psn: 0, msn: 0 }));
    peer.post({ wrId: 5, opcode: WrOpcode.Send });
    peer.qp.postRecv({ wrId: 11 });
    expect(peer.completions()).toEqual([
      'send 0 RemAccessErr',
      'send 5 WrFlushErr',
      'recv 10 WrFlushErr',
      'recv 11 WrFlushErr',
    ]);
    peer.silence();
    expect(peer.qp.pending).toBe(false);
    expect(peer.qp.nextDeadline()).toBe(Number.POSITIVE_INFINITY);
  });

  it('QPS-08 a queue pair in ERROR drops requests and answers without a word', () => {
    const peer = withSends(1);
    peer.rx(nak(0x62, { psn: 0, msn: 0 }));
    peer.completions();
    peer.rx(readRequest({ psn: 0, reth: { va: 0n, rkey: 0, length: 0 } }), ack({ psn: 0, msn: 1 }));
    peer.silence();
    expect(peer.completions()).toEqual([]);
    expect(peer.counters.badState).toBe(2);
  });

  it('REQ-31 a SEND answered by a READ response or an atomic answer fails as a bad response', () => {
    for (const answer of [
      readOnly({ psn: 0, msn: 1, payload: pattern(4) }),
      atomicAck({ psn: 0, msn: 1, original: 0n }),
    ]) {
      const peer = withSends(2);
      peer.rx(answer);
      expect(peer.completions()).toEqual(['send 0 BadRespErr', 'send 1 WrFlushErr']);
      expect(peer.qp.state).toBe(QpState.Error);
    }
  });

  it('REQ-31 the same while a READ waits behind the SEND', () => {
    const peer = withSends(1);
    const mr = peer.region({ length: 8 });
    peer.post({ wrId: 1, opcode: WrOpcode.RdmaRead, sges: [{ mr }], ...REMOTE });
    peer.drain();
    peer.rx(readOnly({ psn: 0, msn: 1, payload: pattern(8) }));
    expect(peer.completions()).toEqual(['send 0 BadRespErr', 'send 1 WrFlushErr']);
  });
});

describe('local faults', () => {
  const faults: [string, (peer: Peer) => { mr: ReturnType<Peer['region']>; offset?: number; length?: number }][] = [
    ['of another domain', (peer) => ({ mr: peer.region({ pd: new ProtectionDomain(2) }), length: 8 })],
    ['outside its region', (peer) => ({ mr: peer.region({ length: 16 }), offset: 12, length: 8 })],
    [
      'deregistered',
      (peer) => {
        const mr = peer.region();
        peer.keys.deregister(mr);
        return { mr, length: 8 };
      },
    ],
  ];

  it.each(faults)('QPS-17 memory %s fails the request with a protection error and sends nothing of it', (_, sge) => {
    for (const opcode of [WrOpcode.Send, WrOpcode.RdmaWrite, WrOpcode.RdmaRead, WrOpcode.AtomicFetchAndAdd]) {
      const peer = new Peer();
      peer.post({ wrId: 1, opcode, sges: [sge(peer)], ...REMOTE }, { wrId: 2, opcode: WrOpcode.Send });
      peer.silence();
      expect(peer.completions()).toEqual(['send 1 LocProtErr', 'send 2 WrFlushErr']);
      expect(peer.qp.state).toBe(QpState.Error);
    }
  });

  it('QPS-17 a READ or atomic into memory without local write access fails with a protection error', () => {
    for (const opcode of [WrOpcode.RdmaRead, WrOpcode.AtomicCmpAndSwp]) {
      const peer = new Peer();
      const mr = peer.region({ length: 8, access: Access.RemoteRead });
      peer.post({ wrId: 1, opcode, sges: [{ mr }], ...REMOTE });
      peer.silence();
      expect(peer.completions()).toEqual(['send 1 LocProtErr']);
    }
  });

  it('a SEND from memory without local write access is fine', () => {
    const peer = new Peer();
    const mr = peer.region({ length: 8, access: 0 });
    peer.post({ wrId: 1, opcode: WrOpcode.Send, sges: [{ mr }] });
    peer.expectTx([sendOnly({ psn: 0, payload: mr.bytes, ackReq: true })]);
  });

  it('a local fault shows after everything before it has completed, and nothing behind it is sent', () => {
    const peer = new Peer();
    const foreign = peer.region({ pd: new ProtectionDomain(2) });
    peer.post({ wrId: 1, opcode: WrOpcode.Send });
    peer.post({ wrId: 2, opcode: WrOpcode.Send, sges: [{ mr: foreign }] }, { wrId: 3, opcode: WrOpcode.Send });
    peer.expectTx([sendOnly({ psn: 0, ackReq: true })]);
    expect(peer.completions()).toEqual([]);
    expect(peer.qp.pending).toBe(false);
    peer.rx(ack({ psn: 0, msn: 1 }));
    expect(peer.qp.pending).toBe(true);
    peer.silence();
    expect(peer.completions()).toEqual(['send 1 Success Send', 'send 2 LocProtErr', 'send 3 WrFlushErr']);
  });

  it('memory that dies in the middle of a message fails it with a protection error', () => {
    const peer = new Peer();
    const mr = peer.region({ length: 200 * 256 });
    peer.post({ wrId: 1, opcode: WrOpcode.Send, sges: [{ mr }] });
    expect(peer.drain()).toHaveLength(128);
    peer.keys.deregister(mr);
    peer.rx(ack({ psn: 127, msn: 0 }));
    peer.silence();
    expect(peer.completions()).toEqual(['send 1 LocProtErr']);
  });

  it('memory that dies before a repetition fails the message in its turn', () => {
    const peer = new Peer();
    const mr = peer.region({ length: 8 });
    peer.post({ wrId: 1, opcode: WrOpcode.Send }, { wrId: 2, opcode: WrOpcode.Send, sges: [{ mr }] });
    peer.drain();
    peer.keys.deregister(mr);
    peer.advance(ackTimeoutNs(14));
    peer.expectTx([sendOnly({ psn: 0, ackReq: true })]);
    expect(peer.completions()).toEqual([]);
    peer.rx(ack({ psn: 0, msn: 1 }));
    peer.silence();
    expect(peer.completions()).toEqual(['send 1 Success Send', 'send 2 LocProtErr']);
  });

  it('memory that died before a repetition does not matter when the message turns out to have arrived', () => {
    const peer = new Peer();
    const mr = peer.region({ length: 8 });
    peer.post({ wrId: 1, opcode: WrOpcode.Send }, { wrId: 2, opcode: WrOpcode.Send, sges: [{ mr }] });
    peer.post({ wrId: 3, opcode: WrOpcode.Send });
    peer.drain();
    peer.keys.deregister(mr);
    peer.advance(ackTimeoutNs(14));
    peer.drain();
    peer.rx(ack({ psn: 1, msn: 2 }));
    peer.expectTx([sendOnly({ psn: 2, ackReq: true })]);
    peer.rx(ack({ psn: 2, msn: 3 }));
    expect(peer.completions()).toEqual(['send 1 Success Send', 'send 2 Success Send', 'send 3 Success Send']);
  });

  it('QPS-20 with max_rd_atomic 0 a READ or atomic fails locally', () => {
    for (const opcode of [WrOpcode.RdmaRead, WrOpcode.AtomicFetchAndAdd]) {
      const peer = new Peer({ maxRdAtomic: 0 });
      const mr = peer.region({ length: 8, access: ALL_ACCESS });
      peer.post({ wrId: 1, opcode, sges: [{ mr }], ...REMOTE });
      peer.silence();
      expect(peer.completions()).toEqual(['send 1 LocQpOpErr']);
    }
  });

  it('a refusal by our own responder flushes what the requester has under way', () => {
    const peer = withSends(2);
    peer.postRecv(9);
    peer.rx(readRequest({ psn: 0, reth: { va: 0n, rkey: 1, length: 8 } }));
    peer.expectTx([nak(0x62, { psn: 0, msn: 0 })]);
    expect(peer.completions()).toEqual(['send 0 WrFlushErr', 'send 1 WrFlushErr', 'recv 9 WrFlushErr']);
  });
});
