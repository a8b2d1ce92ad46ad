/**
 * Goal: what an unreliable connection sends, and when its work completes. Method: the scripted peer, with first PSNs
 * two before the wrap; exact packets, exact completions.
 */
import { describe, expect, it } from 'vitest';
import { RoceError } from '../../packets/errors.ts';
import { QpState } from '../../transport/qp-state.ts';
import { QpType } from '../../transport/qp-type.ts';
import { WrOpcode } from '../../transport/work.ts';
import {
  ack,
  nak,
  pattern,
  sendLastImm,
  sendOnly,
  sendPackets,
  uc,
  writeLastImm,
  writePackets,
} from './support/packets.ts';
import { Peer } from './support/peer.ts';

const makePeer = (options = {}): Peer => new Peer({ type: QpType.Uc, ...options });

describe('requester of an unreliable connection', () => {
  it('sends each message once, across the wrap of PSNs, and completes it when its last packet has left', () => {
    const peer = makePeer();
    const mr = peer.region({ length: 1000 });
    const data = mr.bytes.slice();
    peer.post(
      { wrId: 1, opcode: WrOpcode.Send, sges: [{ mr, length: 700 }] },
      { wrId: 2, opcode: WrOpcode.RdmaWrite, sges: [{ mr, length: 513 }], remoteAddr: 0x1000n, rkey: 7 },
      { wrId: 3, opcode: WrOpcode.Send, signaled: false },
    );
    peer.expectTx(
      [
        ...sendPackets({ psn: 0, data: data.subarray(0, 700) }),
        ...writePackets({ psn: 3, data: data.subarray(0, 513), va: 0x1000n, rkey: 7 }),
        sendOnly({ psn: 6 }),
      ].map(uc),
    );
    expect(peer.completions()).toEqual(['send 1 Success Send', 'send 2 Success RdmaWrite']);
    expect(peer.qp.nextDeadline()).toBe(Infinity);
    expect(peer.qp.pending).toBe(false);
  });

  it('carries immediate data and the solicited bit on the last packet', () => {
    const peer = makePeer();
    const mr = peer.region({ length: 300 });
    const [first, last] = sendPackets({ psn: 0, data: mr.bytes });
    const [writeFirst, writeLast] = writePackets({ psn: 2, data: mr.bytes, va: 8n, rkey: 9 });
    if (!first || !last || !writeFirst || !writeLast) throw new Error('two packets each');
    peer.post(
      { wrId: 1, opcode: WrOpcode.SendWithImm, sges: [{ mr }], immData: 0x55, solicited: true },
      { wrId: 2, opcode: WrOpcode.RdmaWriteWithImm, sges: [{ mr }], immData: 0x66, remoteAddr: 8n, rkey: 9 },
    );
    const { payload } = last;
    peer.expectTx(
      [
        first,
        sendLastImm({ psn: 1, imm: 0x55, solicited: true, ...(payload && { payload }) }),
        writeFirst,
        writeLastImm({ psn: 3, imm: 0x66, ...(writeLast.payload && { payload: writeLast.payload }) }),
      ].map(uc),
    );
  });

  it('takes turns: 32 packets, then others', () => {
    const peer = makePeer();
    const mr = peer.region({ length: 256 * 40 });
    peer.post({ wrId: 1, opcode: WrOpcode.Send, sges: [{ mr }] });
    expect(peer.burst()).toHaveLength(32);
    expect(peer.completions()).toEqual([]);
    expect(peer.burst()).toHaveLength(8);
    expect(peer.completions()).toEqual(['send 1 Success Send']);
  });

  it.each([WrOpcode.RdmaRead, WrOpcode.AtomicCmpAndSwp, WrOpcode.AtomicFetchAndAdd, WrOpcode.SendWithInv])(
    'does not take send opcode %i',
    (opcode) => {
      const peer = makePeer();
      const mr = peer.region({ length: 8 });
      expect(() => peer.post({ wrId: 1, opcode, sges: [{ mr }] })).toThrow(RoceError);
      peer.silence();
      expect(peer.qp.sendsOutstanding).toBe(0);
    },
  );

  it('is deaf to acknowledges', () => {
    const peer = makePeer();
    peer.post({ wrId: 1, opcode: WrOpcode.Send });
    peer.expectTx([uc(sendOnly({ psn: 0 }))]);
    peer.rx(ack({ psn: 0, msn: 1 }), nak(0x62, { psn: 0, msn: 0 }));
    expect(peer.qp.state).toBe(QpState.Rts);
    expect(peer.counters.badService).toBe(2);
  });

  it('QPS-07 QPS-21 falls into SQE at a local fault: sends are flushed, receives live on, and RTS is one modify away', () => {
    const peer = makePeer();
    const mr = peer.region({ length: 600 });
    const receive = peer.postRecv(9);
    peer.post({ wrId: 1, opcode: WrOpcode.Send });
    peer.post({ wrId: 2, opcode: WrOpcode.Send, sges: [{ mr }] }, { wrId: 3, opcode: WrOpcode.Send, signaled: false });
    peer.keys.deregister(mr);
    peer.expectTx([uc(sendOnly({ psn: 0 }))]);
    expect(peer.completions()).toEqual(['send 1 Success Send', 'send 2 LocProtErr', 'send 3 WrFlushErr']);
    expect(peer.qp.state).toBe(QpState.Sqe);
    peer.post({ wrId: 4, opcode: WrOpcode.Send });
    expect(peer.completions()).toEqual(['send 4 WrFlushErr']);
    peer.rx(uc(sendOnly({ psn: 5, payload: pattern(4) })));
    expect(peer.completions()).toEqual(['recv 9 Success Recv 4 bytes']);
    expect(receive.bytes.subarray(0, 4)).toEqual(pattern(4));
    peer.qp.modify({ state: QpState.Rts });
    peer.post({ wrId: 5, opcode: WrOpcode.Send });
    peer.expectTx([uc(sendOnly({ psn: 1 }))]);
  });

  it('gives up in the middle of a message whose memory goes, and begins the next one at its start', () => {
    const peer = makePeer();
    const gone = peer.region({ length: 256 * 40 });
    const next = peer.region({ length: 300, seed: 3 });
    peer.post({ wrId: 1, opcode: WrOpcode.Send, sges: [{ mr: gone }] });
    expect(peer.burst()).toHaveLength(32);
    peer.keys.deregister(gone);
    peer.silence();
    expect(peer.completions()).toEqual(['send 1 LocProtErr']);
    peer.qp.modify({ state: QpState.Rts });
    peer.post({ wrId: 2, opcode: WrOpcode.Send, sges: [{ mr: next }] });
    peer.expectTx(sendPackets({ psn: 32, data: next.bytes }).map(uc));
  });

  it('QPS-06 in SQD finishes the message under way, starts none, and tells once that it is drained', () => {
    const peer = makePeer();
    const mr = peer.region({ length: 256 * 40 });
    peer.post({ wrId: 1, opcode: WrOpcode.Send, sges: [{ mr }] }, { wrId: 2, opcode: WrOpcode.Send });
    expect(peer.burst()).toHaveLength(32);
    peer.qp.modify({ state: QpState.Sqd });
    expect(peer.events()).toEqual([]);
    expect(peer.drain()).toHaveLength(8);
    expect(peer.completions()).toEqual(['send 1 Success Send']);
    expect(peer.events()).toEqual(['sq-drained']);
    peer.qp.modify({ state: QpState.Rts });
    peer.expectTx([uc(sendOnly({ psn: 40 }))]);
  });

  it('QPS-11 ERROR flushes all, RESET forgets all, and the queue pair works again', () => {
    const peer = makePeer();
    const mr = peer.region({ length: 256 * 40 });
    peer.post({ wrId: 1, opcode: WrOpcode.Send, sges: [{ mr }] });
    peer.postRecv(2);
    peer.burst();
    peer.qp.modify({ state: QpState.Error });
    expect(peer.completions()).toEqual(['send 1 WrFlushErr', 'recv 2 WrFlushErr']);
    peer.silence();
    peer.qp.modify({ state: QpState.Reset });
    peer.connect({ type: QpType.Uc });
    peer.post({ wrId: 3, opcode: WrOpcode.Send });
    peer.expectTx([uc(sendOnly({ psn: 0 }))]);
  });
});
