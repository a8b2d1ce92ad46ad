/**
 * Acknowledgements: when they are sent, which PSN and MSN they carry, and that they never pile up.
 * Method: scripts against one queue pair; the harness checks P_Key, QPN, FECN, BECN and pad of every frame (ACK-20,
 * LEN-14).
 */
import { describe, expect, it } from 'vitest';
import { Op } from '../../packets/opcode.ts';
import { WrOpcode } from '../../transport/work.ts';
import {
  ack,
  atomicAck,
  describePacket,
  fetchAdd,
  nak,
  type Packet,
  pattern,
  readOnly,
  readRequest,
  sendFirst,
  sendLast,
  sendMiddle,
  sendOnly,
  sendPackets,
  writeOnly,
  writeOnlyImm,
} from './support/packets.ts';
import { Peer } from './support/peer.ts';

const PMTU = 256;
const empty = { va: 0n, rkey: 0, length: 0 };

describe('acknowledgements, responder', () => {
  it('ACK-01 ACK-07 AckReq on any packet is answered; the MSN starts at 0 and counts with the last packet', () => {
    const peer = new Peer();
    peer.postRecv(1);
    const full = pattern(PMTU);
    peer.rx(sendFirst({ psn: 0, payload: full, ackReq: true }));
    peer.expectTx([ack({ psn: 0, msn: 0 })]);
    peer.rx(sendMiddle({ psn: 1, payload: full, ackReq: true }));
    peer.expectTx([ack({ psn: 1, msn: 0 })]);
    peer.rx(sendLast({ psn: 2, payload: full, ackReq: true }));
    peer.expectTx([ack({ psn: 2, msn: 1 })]);
  });

  it('ACK-02 without AckReq nothing is said', () => {
    const peer = new Peer();
    peer.rx(writeOnly({ psn: 0, reth: empty }), writeOnly({ psn: 1, reth: empty }));
    peer.expectUsable(2, 3);
  });

  it('ACK-03 acknowledgements that have not left yet become one', () => {
    const peer = new Peer();
    for (let i = 0; i < 64; i++) peer.rx(writeOnly({ psn: i, reth: empty, ackReq: true }));
    peer.expectTx([ack({ psn: 63, msn: 64 })]);
  });

  it('ACK-03 an acknowledgement lets two requests go ahead of it, and no more; a NAK or an answer goes first', () => {
    const two = [Op.SendOnly, Op.SendOnly];
    const opcodes = (stimulus: Packet): number[] => {
      const peer = new Peer();
      const { iova: va, rkey } = peer.region();
      peer.postRecv(1);
      peer.post(...[1, 2, 3].map((wrId) => ({ wrId, opcode: WrOpcode.Send })));
      peer.rx(stimulus.reth === undefined ? stimulus : { ...stimulus, reth: { va, rkey, length: 4 } });
      return peer.drain().map(({ opcode }) => opcode);
    };
    expect(opcodes(sendOnly({ psn: 0, ackReq: true }))).toEqual([...two, Op.Acknowledge, Op.SendOnly]);
    expect(opcodes(sendOnly({ psn: 1, ackReq: true }))).toEqual([Op.Acknowledge, ...two, Op.SendOnly]);
    expect(opcodes(readRequest({ psn: 0, reth: empty }))).toEqual([Op.ReadResponseOnly, ...two, Op.SendOnly]);
  });

  it('ACK-04 every NAK travels in opcode ACKNOWLEDGE', () => {
    const stimuli: [number, Packet][] = [
      [0x60, writeOnly({ psn: 1, reth: empty })],
      [0x61, sendMiddle({ psn: 0, payload: pattern(PMTU) })],
      [0x62, readRequest({ psn: 0, reth: { va: 0n, rkey: 1, length: 1 } })],
      [0x2c, sendOnly({ psn: 0 })],
    ];
    for (const [syndrome, packet] of stimuli) {
      const peer = new Peer();
      peer.rx(packet);
      expect(peer.drain()).toMatchObject([{ opcode: Op.Acknowledge, syndrome, psn: 0 }]);
    }
  });

  it('ACK-06 the MSN follows completed messages', () => {
    const peer = new Peer();
    peer.postRecv(1);
    peer.postRecv(2);
    peer.rx(...sendPackets({ psn: 0, data: pattern(3 * PMTU) }));
    peer.expectTx([ack({ psn: 2, msn: 1 })]);
    peer.rx(...sendPackets({ psn: 3, data: pattern(3 * PMTU) }));
    peer.expectTx([ack({ psn: 5, msn: 2 })]);
  });

  it('ACK-08 the MSN of a NAK does not count the refused request', () => {
    const peer = new Peer();
    peer.rx(writeOnly({ psn: 0, reth: empty }), writeOnly({ psn: 1, reth: empty }));
    peer.rx(sendMiddle({ psn: 2, payload: pattern(PMTU) }));
    peer.expectTx([nak(0x61, { psn: 2, msn: 2 })]);
  });

  it('ACK-15 what is acknowledged can be read', () => {
    const peer = new Peer();
    const mr = peer.region();
    const reth = { va: mr.iova, rkey: mr.rkey, length: 8 };
    peer.rx(writeOnly({ psn: 0, reth, payload: pattern(8, 77), ackReq: true }), readRequest({ psn: 1, reth }));
    peer.expectTx([ack({ psn: 0, msn: 1 }), readOnly({ psn: 1, msn: 2, payload: pattern(8, 77) })]);
  });

  it('ACK-18 after a refusal earlier answers still leave, then the NAK, then nothing', () => {
    const peer = new Peer();
    const mr = peer.region();
    mr.view.setBigUint64(0, 3n, true);
    peer.rx(fetchAdd({ psn: 0, va: mr.iova, rkey: mr.rkey, add: 1n }));
    peer.rx(readRequest({ psn: 1, reth: { va: mr.iova, rkey: mr.rkey, length: 8 } }));
    peer.rx(writeOnly({ psn: 2, reth: empty, ackReq: true }), sendMiddle({ psn: 3, payload: pattern(PMTU) }));
    peer.rx(writeOnly({ psn: 3, reth: empty, ackReq: true }), readRequest({ psn: 1, reth: empty }));
    peer.expectTx([
      atomicAck({ psn: 0, msn: 1, original: 3n }),
      readOnly({ psn: 1, msn: 2, payload: mr.bytes.slice(0, 8) }),
      ack({ psn: 2, msn: 3 }),
      nak(0x61, { psn: 3, msn: 3 }),
    ]);
    peer.silence();
  });

  it('ACK-19 receive completions come in the order sent, with immediate data, length and the solicited bit', () => {
    const peer = new Peer();
    const mr = peer.region();
    for (let i = 1; i <= 4; i++) peer.postRecv(i);
    peer.rx(sendOnly({ psn: 0, payload: pattern(5), solicited: true }));
    peer.rx(
      writeOnlyImm({ psn: 1, payload: pattern(6), imm: 0xffff_ffff, reth: { va: mr.iova, rkey: mr.rkey, length: 6 } }),
    );
    peer.rx({ opcode: Op.SendOnlyImm, psn: 2, payload: pattern(7), imm: 0 });
    peer.rx(sendFirst({ psn: 3, payload: pattern(PMTU) }));
    peer.rx({ opcode: Op.SendLastImm, psn: 4, payload: pattern(2), imm: 0x1234, solicited: true });
    expect(peer.completions()).toEqual([
      'recv 1 Success Recv 5 bytes solicited',
      'recv 2 Success RecvRdmaWithImm 6 bytes imm 0xffffffff',
      'recv 3 Success Recv 7 bytes imm 0x0',
      'recv 4 Success Recv 258 bytes imm 0x1234 solicited',
    ]);
  });

  it('ACK-19 a WRITE of several packets with immediate reports the bytes of the whole message', () => {
    const peer = new Peer();
    const mr = peer.region();
    peer.postRecv(1);
    const reth = { va: mr.iova, rkey: mr.rkey, length: 2 * PMTU + 5 };
    peer.rx({ opcode: Op.WriteFirst, psn: 0, payload: pattern(PMTU), reth });
    peer.rx({ opcode: Op.WriteMiddle, psn: 1, payload: pattern(PMTU) });
    peer.rx({ opcode: Op.WriteLastImm, psn: 2, payload: pattern(5), imm: 9, ackReq: true });
    peer.expectTx([ack({ psn: 2, msn: 1 })]);
    expect(peer.completions()).toEqual(['recv 1 Success RecvRdmaWithImm 517 bytes imm 0x9']);
  });

  it('QPS-12 the first request in RTR reports that communication is established, once', () => {
    const peer = new Peer({ state: 2 });
    peer.rx(writeOnly({ psn: 0, reth: empty, ackReq: true }), writeOnly({ psn: 1, reth: empty, ackReq: true }));
    peer.expectTx([ack({ psn: 1, msn: 2 })]);
    expect(peer.events()).toEqual(['comm-est']);
  });
});

describe('replies are bounded however much is asked before any leaves', () => {
  it('refusals for want of a receive become one', () => {
    const peer = new Peer();
    for (let i = 0; i < 5000; i++) peer.rx(sendOnly({ psn: 0, ackReq: true }));
    expect(peer.drain().map(describePacket)).toEqual(['RNR NAK timer 12 psn+0 msn 0']);
  });

  it('NAKs and acknowledgements in turn are dropped beyond a limit, and the connection lives on', () => {
    const peer = new Peer();
    let psn = 0;
    for (let i = 0; i < 5000; i++) {
      peer.rx(writeOnly({ psn: psn + 2, reth: empty }), writeOnly({ psn, reth: empty, ackReq: true }));
      if (peer.counters.droppedRequest === 0) psn += 1;
    }
    const replies = peer.drain();
    expect(replies.length).toBeLessThanOrEqual(2048);
    peer.expectUsable(psn, psn + 1);
  });
});
