/**
 * Which request may follow which: FIRST, MIDDLE and LAST of SEND and WRITE, and what is refused in between.
 * Method: each cell of the matrix of ref:conformance#D on a fresh queue pair, all 256 opcodes.
 */
import { describe, expect, it } from 'vitest';
import { OPCODE_FLAGS, Op, OpFlag, opcodeInfo, Service } from '../../packets/opcode.ts';
import { Access } from '../../transport/memory.ts';
import { QpState } from '../../transport/qp-state.ts';
import {
  ack,
  atomicAck,
  compareSwap,
  describePacket,
  fetchAdd,
  nak,
  type Packet,
  pattern,
  readOnly,
  readRequest,
  readResponses,
  sendFirst,
  sendLast,
  sendMiddle,
  sendOnly,
  sendOnlyInv,
  writeFirst,
  writeLast,
  writeMiddle,
  writeOnly,
} from './support/packets.ts';
import { ALL_ACCESS, Peer } from './support/peer.ts';

const PMTU = 256;
const IOVA = 0x7f00_0000_0000n;
const empty = { va: 0n, rkey: 0, length: 0 };

type OpenMessage = 'none' | 'SEND' | 'WRITE';

/** A packet of `opcode` in which all but its place in the sequence is right. */
function wellFormed(opcode: number, rkey: number): Packet {
  const flags = OPCODE_FLAGS[opcode] ?? 0;
  const full = (flags & (OpFlag.First | OpFlag.Middle)) !== 0;
  const payload = (flags & OpFlag.Payload) === 0 ? undefined : pattern(full ? PMTU : 4);
  const length = full ? 2 * PMTU : 4;
  const base = { psn: 1, opcode, ackReq: true, imm: 5, inv: rkey, syndrome: 0x1f, msn: 1, original: 0n };
  const atomic = { va: IOVA, rkey, swapAdd: 0n, compare: 0n };
  const packet = { ...base, reth: { va: IOVA, rkey, length }, atomic };
  return payload === undefined ? packet : { ...packet, payload };
}

/** Opens a message of which `opcode` could be the continuation; its first packet takes PSN 0. */
function opening(open: OpenMessage, opcode: number, rkey: number): Packet {
  if (open === 'none') return writeOnly({ psn: 0, reth: empty });
  if (open === 'SEND') return sendFirst({ psn: 0, payload: pattern(PMTU) });
  const left = ((OPCODE_FLAGS[opcode] ?? 0) & OpFlag.Middle) !== 0 ? PMTU + 4 : 4;
  return writeFirst({ psn: 0, payload: pattern(PMTU), reth: { va: IOVA, rkey, length: PMTU + left } });
}

function outcome(open: OpenMessage, opcode: number): string {
  const peer = new Peer();
  const { rkey } = peer.region({ remoteInvalidate: true });
  peer.postRecv(1, 4 * PMTU);
  peer.rx(opening(open, opcode, rkey));
  peer.drain();
  peer.rx(wellFormed(opcode, rkey));
  const replies = peer.drain();
  if (replies.length === 0) {
    expect(peer.qp.state).toBe(QpState.Rts);
    return 'ignored';
  }
  const [reply] = replies;
  const line = reply === undefined ? '' : describePacket(reply);
  if (line.startsWith('NAK')) {
    expect(replies).toHaveLength(1);
    expect(peer.qp.state).toBe(QpState.Error);
    expect(line).toBe(`NAK 0x61 psn+1 msn ${open === 'none' ? 1 : 0}`);
    return '0x61';
  }
  expect(peer.qp.state).toBe(QpState.Rts);
  expect(reply?.psn).toBe(1);
  return 'taken';
}

function expected(open: OpenMessage, opcode: number): string {
  const { known, service, flags } = opcodeInfo(opcode);
  if (service !== Service.Rc) return 'ignored';
  if (!known) return '0x61';
  if ((flags & OpFlag.Response) !== 0) return 'ignored';
  if ((flags & (OpFlag.Flush | OpFlag.AtomicWrite)) !== 0) return '0x61';
  const starts = (flags & (OpFlag.First | OpFlag.Only)) !== 0;
  if (open === 'none') return starts ? 'taken' : '0x61';
  if (starts) return '0x61';
  return ((flags & OpFlag.Send) !== 0) === (open === 'SEND') ? 'taken' : '0x61';
}

describe('opcode sequence', () => {
  it.each<OpenMessage>(['none', 'SEND', 'WRITE'])(
    'OPS-01 OPS-02 OPS-03 OPS-04 OPS-05 OPS-18 with %s open every opcode meets what the matrix says',
    (open) => {
      const opcodes = Array.from({ length: 256 }, (_, opcode) => opcode);
      const name = (opcode: number) => `${opcodeInfo(opcode).name}: `;
      expect(opcodes.map((opcode) => name(opcode) + outcome(open, opcode))).toEqual(
        opcodes.map((opcode) => name(opcode) + expected(open, opcode)),
      );
    },
  );

  it('OPS-03 ACK-18 a refusal is spoken once, then there is silence', () => {
    const peer = new Peer();
    peer.postRecv(1);
    peer.rx(sendLast({ psn: 0, payload: pattern(4), ackReq: true }));
    peer.expectTx([nak(0x61, { psn: 0, msn: 0 })]);
    expect(peer.completions()).toEqual(['recv 1 WrFlushErr']);
    expect(peer.events()).toEqual(['qp-req-err']);
    peer.rx(sendLast({ psn: 0, payload: pattern(4) }), writeOnly({ psn: 0, reth: empty, ackReq: true }));
    peer.rx(writeOnly({ psn: 5, reth: empty, ackReq: true }));
    peer.silence();
    expect(peer.counters.badState).toBe(3);
  });

  it('OPS-04 a refusal inside an open SEND flushes the receive it had taken', () => {
    const peer = new Peer();
    peer.postRecv(1);
    peer.postRecv(2);
    peer.rx(sendFirst({ psn: 0, payload: pattern(PMTU) }), sendOnly({ psn: 1, ackReq: true }));
    peer.expectTx([nak(0x61, { psn: 1, msn: 0 })]);
    expect(peer.completions()).toEqual(['recv 1 WrFlushErr', 'recv 2 WrFlushErr']);
  });

  it('OPS-06 a MIDDLE too many is caught by the length', () => {
    const peer = new Peer();
    const mr = peer.region();
    const reth = { va: mr.iova, rkey: mr.rkey, length: 2 * PMTU };
    peer.rx(writeFirst({ psn: 0, reth, payload: pattern(PMTU) }), writeMiddle({ psn: 1, payload: pattern(PMTU) }));
    peer.expectTx([nak(0x61, { psn: 1, msn: 0 })]);
  });

  it('OPS-07 READ and ATOMIC leave no message open', () => {
    for (const follower of [sendMiddle({ psn: 2, payload: pattern(PMTU) }), sendOnly({ psn: 2, ackReq: true })]) {
      const peer = new Peer();
      const mr = peer.region();
      mr.view.setBigUint64(0, 7n, true);
      peer.postRecv(1);
      peer.rx(
        readRequest({ psn: 0, reth: empty }),
        fetchAdd({ psn: 1, va: mr.iova, rkey: mr.rkey, add: 1n }),
        follower,
      );
      const answers = [readOnly({ psn: 0, msn: 1 }), atomicAck({ psn: 1, msn: 2, original: 7n })];
      const last = follower.opcode === Op.SendOnly ? ack({ psn: 2, msn: 3 }) : nak(0x61, { psn: 2, msn: 2 });
      peer.expectTx([...answers, last]);
    }
  });

  it('OPS-08 OPS-09 OPS-10 what the queue pair does not allow draws 0x61 even with a good key', () => {
    const reth = (rkey: number) => ({ va: IOVA, rkey, length: 4 });
    const cases: [number, (rkey: number) => Packet][] = [
      [Access.RemoteRead, (rkey) => readRequest({ psn: 0, reth: reth(rkey) })],
      [Access.RemoteWrite, (rkey) => writeOnly({ psn: 0, reth: reth(rkey), payload: pattern(4) })],
      [Access.RemoteAtomic, (rkey) => fetchAdd({ psn: 0, va: IOVA, rkey, add: 1n })],
      [Access.RemoteAtomic, (rkey) => compareSwap({ psn: 0, va: IOVA, rkey, compare: 0n, swap: 1n })],
    ];
    for (const [right, packet] of cases) {
      const peer = new Peer({ access: ALL_ACCESS & ~right });
      const mr = peer.region();
      const before = mr.bytes.slice();
      peer.rx(packet(mr.rkey));
      peer.expectTx([nak(0x61, { psn: 0, msn: 0 })]);
      expect(mr.bytes).toEqual(before);
      expect(peer.events()).toEqual(['qp-req-err']);
    }
  });

  it('QPS-20 with max_dest_rd_atomic 0 a READ or ATOMIC draws 0x61', () => {
    for (const packet of [readRequest({ psn: 0, reth: empty }), fetchAdd({ psn: 0, va: IOVA, rkey: 0, add: 1n })]) {
      const peer = new Peer({ maxDestRdAtomic: 0 });
      peer.rx(packet);
      peer.expectTx([nak(0x61, { psn: 0, msn: 0 })]);
    }
  });

  it('QPS-20 max_dest_rd_atomic lowered on a connection whose sends rest shortens the memory of READs and breaks nothing', () => {
    const peer = new Peer({ maxDestRdAtomic: 4 });
    for (let i = 0; i < 7; i++) {
      peer.rx(readRequest({ psn: i, reth: empty }));
      peer.expectTx([readOnly({ psn: i, msn: i + 1 })]);
    }
    peer.modifyQuietly({ maxDestRdAtomic: 2 });
    for (let i = 7; i < 12; i++) {
      peer.rx(readRequest({ psn: i, reth: empty }));
      peer.expectTx([readOnly({ psn: i, msn: i + 1 })]);
    }
    peer.rx(readRequest({ psn: 10, reth: empty }), readRequest({ psn: 11, reth: empty }));
    peer.expectTx([readOnly({ psn: 10, msn: 12 }), readOnly({ psn: 11, msn: 12 })]);
  });

  it('OPS-11 ACK-21 answers to nothing draw no answer and change nothing', () => {
    const peer = new Peer();
    const answers = [
      ...readResponses({ psn: 0, msn: 1, data: pattern(700) }),
      ack({ psn: 0, msn: 1 }),
      nak(0x62, { psn: 0, msn: 0 }),
      nak(0x60, { psn: 3, msn: 0 }),
      atomicAck({ psn: 0, msn: 1, original: 3n }),
    ];
    peer.rx(...answers);
    expect(peer.counters.ignoredResponse).toBe(answers.length);
    peer.expectUsable(0, 1);
    expect(peer.completions()).toEqual([]);
  });

  it('a reserved opcode out of order is treated as any packet out of order', () => {
    const reserved = (psn: number): Packet => ({ opcode: 0x1f, psn });
    const peer = new Peer();
    peer.rx(writeOnly({ psn: 0, reth: empty }));
    peer.rx(reserved(0));
    peer.silence();
    peer.rx(reserved(3), reserved(4));
    peer.expectTx([nak(0x60, { psn: 1, msn: 1 })]);
    expect([peer.counters.outOfSeqRequest, peer.counters.droppedRequest]).toEqual([1, 2]);
    peer.expectUsable(1, 2);
  });

  it('a reserved opcode to a queue pair that does not receive is dropped and counted', () => {
    const peer = new Peer({ state: QpState.Error });
    peer.rx({ opcode: 0x15, psn: 0 });
    peer.silence();
    expect(peer.counters.badState).toBe(1);
  });

  it('KEY-15 SEND with invalidate inside its sequence kills the key after the data is placed', () => {
    const peer = new Peer();
    const window = peer.region({ remoteInvalidate: true });
    const buffer = peer.postRecv(1);
    peer.rx(sendOnlyInv({ psn: 0, payload: pattern(4), inv: window.rkey, ackReq: true }));
    peer.expectTx([ack({ psn: 0, msn: 1 })]);
    expect(buffer.bytes.slice(0, 4)).toEqual(pattern(4));
    expect(window.valid).toBe(false);
  });

  it('a SEND LAST or WRITE LAST closes the message so that anything may follow', () => {
    const peer = new Peer();
    const mr = peer.region();
    peer.postRecv(1);
    const reth = { va: mr.iova, rkey: mr.rkey, length: PMTU + 4 };
    peer.rx(sendFirst({ psn: 0, payload: pattern(PMTU) }), sendLast({ psn: 1, payload: pattern(4) }));
    peer.rx(writeFirst({ psn: 2, payload: pattern(PMTU), reth }), writeLast({ psn: 3, payload: pattern(4) }));
    peer.expectUsable(4, 3);
  });
});
