/**
 * Goal: end-to-end credits are given and heeded between those who agreed on them, and never hold anything up for ever.
 * Method: scripted peers; the tester gives credits to a requester of ours, or reads those that a responder of ours
 * gives. ref:conformance#ACK-10 to ACK-13, RNR-05.
 */
import { describe, expect, it } from 'vitest';
import { creditCode } from '../../transport/credits.ts';
import { ProtectionDomain } from '../../transport/memory.ts';
import { SharedReceiveQueue } from '../../transport/srq.ts';
import { WrOpcode } from '../../transport/work.ts';
import {
  ack,
  nak,
  type Packet,
  pattern,
  readOnly,
  readRequest,
  rnrNak,
  sendFirst,
  sendLast,
  sendMiddle,
  sendOnly,
  writeFirst,
  writeLastImm,
  writeOnly,
  writeOnlyImm,
} from './support/packets.ts';
import { Peer, type PeerOptions } from './support/peer.ts';
import { sends } from './support/sends.ts';

/** An ACK that says that there are `receives`. */
const credits = (receives: number, at: { psn: number; msn: number }): Packet => nak(creditCode(receives), at);

const withCredits = (options: PeerOptions = {}) => new Peer({ flowControl: true, rnrRetry: 7, ...options });

describe('a responder that gives credits', () => {
  it('ACK-11 says in each acknowledge how many receives are left when it leaves', () => {
    const peer = withCredits();
    for (let wrId = 0; wrId < 7; wrId++) peer.postRecv(wrId);
    peer.rx(sendOnly({ psn: 0, ackReq: true }));
    peer.expectTx([credits(6, { psn: 0, msn: 1 })]);
    peer.rx(sendOnly({ psn: 1, ackReq: true }));
    peer.expectTx([credits(5, { psn: 1, msn: 2 })]);
    peer.rx(sendOnly({ psn: 2, ackReq: true }));
    for (let wrId = 0; wrId < 90; wrId++) peer.postRecv(wrId);
    peer.expectTx([credits(94, { psn: 2, msn: 3 })]);
  });

  it('counts the receive of a message in progress, which the MSN does not count yet', () => {
    const peer = withCredits();
    peer.postRecv(1);
    peer.rx(sendFirst({ psn: 0, payload: pattern(256), ackReq: true }));
    peer.expectTx([credits(1, { psn: 0, msn: 0 })]);
    peer.rx(sendLast({ psn: 1, payload: pattern(1), ackReq: true }));
    peer.expectTx([credits(0, { psn: 1, msn: 1 })]);
  });

  it('says so in the answers of READs as well, and in no NAK', () => {
    const peer = withCredits();
    const mr = peer.region();
    peer.postRecv(1);
    const read = readRequest({ psn: 0, reth: { va: mr.iova, rkey: mr.rkey, length: 4 }, ackReq: true });
    peer.rx(read);
    peer.expectTx([readOnly({ psn: 0, msn: 1, payload: mr.bytes.slice(0, 4), syndrome: creditCode(1) })]);
    peer.rx(sendOnly({ psn: 2 }));
    peer.expectTx([nak(0x60, { psn: 1, msn: 1 })]);
  });

  it('ACK-13 tells of receives that come after it had none, once', () => {
    const peer = withCredits();
    peer.postRecv(1);
    peer.rx(sendOnly({ psn: 0, ackReq: true }));
    peer.expectTx([credits(0, { psn: 0, msn: 1 })]);
    peer.postRecv(2);
    peer.expectTx([credits(1, { psn: 0, msn: 1 })]);
    peer.postRecv(3);
    peer.silence();
  });

  it('ACK-10 gives none where receives are shared', () => {
    const srq = new SharedReceiveQueue({ srqn: 1, pd: new ProtectionDomain(2), maxWr: 4, maxSge: 1 }, []);
    srq.post({ wrId: 1 });
    const peer = withCredits({ srq });
    peer.rx(sendOnly({ psn: 0, ackReq: true }));
    peer.expectTx([ack({ psn: 0, msn: 1 })]);
  });

  it('ACK-10 gives none where nobody agreed on it', () => {
    const peer = new Peer();
    peer.postRecv(1);
    peer.rx(sendOnly({ psn: 0, ackReq: true }));
    peer.expectTx([ack({ psn: 0, msn: 1 })]);
    peer.postRecv(2);
    peer.silence();
  });
});

describe('a requester that is given credits', () => {
  const withSends = (count: number, options: PeerOptions = {}) => {
    const peer = withCredits(options);
    for (let i = 0; i < count; i++) peer.post({ wrId: i, opcode: WrOpcode.Send });
    return peer;
  };

  it('ACK-12 sends to the limit and one packet beyond', () => {
    const peer = withSends(10);
    peer.expectTx(sends(0, 1));
    peer.rx(credits(2, { psn: 0, msn: 1 }));
    peer.expectTx(sends(1, 4));
    peer.rx(credits(0, { psn: 1, msn: 2 }));
    peer.silence();
    peer.rx(credits(1, { psn: 2, msn: 3 }));
    peer.expectTx(sends(4, 5));
    peer.rx(credits(100, { psn: 2, msn: 3 }));
    peer.expectTx(sends(5, 10));
  });

  it('takes credits from an ACK that it has seen before, and from old ones', () => {
    const peer = withSends(6);
    peer.drain();
    peer.rx(credits(0, { psn: 0, msn: 1 }));
    peer.expectTx(sends(1, 2));
    peer.rx(credits(2, { psn: 0, msn: 1 }));
    peer.expectTx(sends(2, 4));
    peer.rx(credits(1, { psn: 0, msn: 1 }));
    peer.silence();
    expect(peer.completions()).toEqual(['send 0 Success Send']);
  });

  it('knows no limit once the peer says that it gives none', () => {
    const peer = withSends(10);
    peer.expectTx(sends(0, 1));
    peer.rx(ack({ psn: 0, msn: 1 }));
    peer.expectTx(sends(1, 10));
  });

  it('sends one packet of a longer message beyond the limit, and the rest when that has found a receive', () => {
    const peer = withCredits();
    const mr = peer.region();
    peer.post({ wrId: 1, opcode: WrOpcode.Send, sges: [{ mr, length: 600 }] });
    peer.expectTx([sendFirst({ psn: 0, payload: mr.bytes.slice(0, 256), ackReq: true })]);
    peer.rx(credits(0, { psn: 0, msn: 0 }));
    peer.expectTx([
      sendMiddle({ psn: 1, payload: mr.bytes.slice(256, 512) }),
      sendLast({ psn: 2, payload: mr.bytes.slice(512, 600), ackReq: true }),
    ]);
  });

  it('waits and tries again when that packet finds none, and counts no other way', () => {
    const peer = withSends(3);
    peer.expectTx(sends(0, 1));
    peer.rx(rnrNak(1, { psn: 0, msn: 0 }));
    peer.silence();
    peer.advance(10_000);
    peer.expectTx(sends(0, 1));
    peer.rx(credits(1, { psn: 0, msn: 1 }));
    peer.expectTx(sends(1, 3));
  });

  it('WRITEs and READs take no receive: they go, and what comes after them may go as far as before', () => {
    const peer = withCredits();
    const mr = peer.region({ length: 64 });
    const remote = { remoteAddr: 0n, rkey: 1 };
    const reth = { va: 0n, rkey: 1, length: 4 };
    peer.rx(credits(1, { psn: -1, msn: 0 }));
    peer.post(
      { wrId: 1, opcode: WrOpcode.RdmaWrite, sges: [{ mr, length: 4 }], ...remote },
      { wrId: 2, opcode: WrOpcode.RdmaRead, sges: [{ mr, length: 4 }], ...remote },
      ...[3, 4, 5].map((wrId) => ({ wrId, opcode: WrOpcode.Send })),
    );
    peer.expectTx([
      writeOnly({ psn: 0, reth, payload: mr.bytes.slice(0, 4), ackReq: true }),
      readRequest({ psn: 1, reth, ackReq: true }),
      ...sends(2, 4),
    ]);
    peer.rx(ack({ psn: 0, msn: 1 }));
    peer.expectTx(sends(4, 5));
  });

  it('a WRITE with immediate takes its receive with its last packet', () => {
    const peer = withCredits();
    const mr = peer.region({ length: 600 });
    const wr = { opcode: WrOpcode.RdmaWriteWithImm, remoteAddr: 0n, rkey: 1, immData: 5 };
    peer.post({ ...wr, wrId: 1, sges: [{ mr, length: 4 }] }, { ...wr, wrId: 2, sges: [{ mr, length: 300 }] });
    const one = { va: 0n, rkey: 1, length: 4 };
    const two = { va: 0n, rkey: 1, length: 300 };
    peer.expectTx([
      writeOnlyImm({ psn: 0, reth: one, payload: mr.bytes.slice(0, 4), imm: 5, ackReq: true }),
      writeFirst({ psn: 1, reth: two, payload: mr.bytes.slice(0, 256), ackReq: true }),
    ]);
    peer.rx(credits(0, { psn: 0, msn: 1 }));
    peer.expectTx([writeLastImm({ psn: 2, payload: mr.bytes.slice(256, 300), imm: 5, ackReq: true })]);
  });

  it('goes on, one message at a time, when the peer counts messages wrongly', () => {
    const peer = withSends(4);
    for (let psn = 0; psn < 4; psn++) {
      peer.expectTx(sends(psn, psn + 1));
      peer.rx(credits(0, { psn, msn: 0 }));
    }
    expect(peer.completions()).toHaveLength(4);
  });

  it('repeats what it has sent whatever credits say', () => {
    const peer = withSends(4);
    peer.drain();
    peer.rx(credits(1, { psn: 0, msn: 1 }));
    peer.expectTx(sends(1, 3));
    peer.rx(nak(0x60, { psn: 1, msn: 1 }));
    peer.expectTx(sends(1, 3));
  });

  it('begins every connection anew', () => {
    const peer = withSends(1);
    peer.rx(credits(50, { psn: 0, msn: 1 }));
    peer.drain();
    peer.qp.modify({ state: 0 });
    peer.connect({ flowControl: true });
    for (let i = 0; i < 4; i++) peer.post({ wrId: i, opcode: WrOpcode.Send });
    peer.expectTx(sends(0, 1));
    peer.qp.modify({ state: 0 });
    peer.connect();
    for (let i = 0; i < 4; i++) peer.post({ wrId: i, opcode: WrOpcode.Send });
    peer.expectTx(sends(0, 4));
  });
});
