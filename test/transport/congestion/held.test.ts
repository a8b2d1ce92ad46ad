/**
 * Goal: what a queue pair does while its data waits for its rate: it is called again, once, whatever happens meanwhile;
 * what is no data does not wait; nobody starves, and no timer runs for what has not left. Method: the scripted peer in
 * virtual time at 240 Mb/s, where a packet of 300 bytes takes 10 us.
 */
import { describe, expect, it } from 'vitest';
import { Op } from '../../../packets/opcode.ts';
import type { CongestionOptions, RateController } from '../../../transport/congestion/index.ts';
import { Pacer } from '../../../transport/congestion/pacer.ts';
import { QpState } from '../../../transport/qp-state.ts';
import { QpType } from '../../../transport/qp-type.ts';
import { WrOpcode } from '../../../transport/work.ts';
import { ack, fetchAdd, readRequest, rnrNak, sendOnly, writeOnly, xrc } from '../support/packets.ts';
import { Peer, type PeerOptions } from '../support/peer.ts';

const US = 1000;
const MS = 1_000_000;
const FIXED: CongestionOptions = { reaction: { kind: 'fixed-rate', rateBps: 240e6 }, maxBurstBytes: 0 };

const makePeer = (options: PeerOptions = {}, congestion: CongestionOptions = FIXED): Peer =>
  new Peer({ congestion, psn: 0x10, timeout: 0, ...options });

function postWrite(peer: Peer, length: number, wrId = 1): void {
  const mr = peer.region({ length });
  peer.post({ wrId, opcode: WrOpcode.RdmaWrite, sges: [{ mr }], remoteAddr: 0n, rkey: 1 });
}

/** Opcodes of what leaves now, one call of `transmit` for as long as there is something. */
const opcodes = (peer: Peer): number[] => peer.drain().map(({ opcode }) => opcode);

/** Opcodes of what leaves at each deadline, until there is none or so many have left. */
function opcodesInTime(peer: Peer, atMost: number): number[] {
  const list = opcodes(peer);
  while (list.length < atMost && peer.qp.nextDeadline() < Infinity) {
    peer.now = Math.max(peer.now, peer.qp.nextDeadline());
    peer.qp.handleTimeout(peer.now);
    list.push(...opcodes(peer));
  }
  return list;
}

/** A controller of a rate that a test sets. */
class Dial implements RateController {
  allowed = 240e6;
  readonly currentRateBps = 0;
  readonly targetRateBps = 0;
  readonly alpha = 0;
  rateBps(): number {
    return this.allowed;
  }
  /** What it was told, each time: when, and how many bytes. */
  readonly told: (readonly [number, number])[] = [];
  sent(now: number, bytes: number): void {
    this.told.push([now, bytes]);
  }
  notified(): void {}
}

describe('a pacer', () => {
  it('lets a frame go at its time and not a nanosecond before, and has a deadline while one waits', () => {
    const pacer = new Pacer(new Dial(), 0);
    expect([pacer.allows(1000), pacer.deadline]).toEqual([true, Infinity]);
    pacer.sent(1000, 301);
    // 301 bytes take 10,033.3 ns.
    expect(pacer.deadline).toBe(Infinity);
    expect([pacer.allows(11_033), pacer.deadline]).toEqual([false, 11_034]);
    pacer.handleTimeout(11_033);
    expect(pacer.waiting).toBe(true);
    pacer.handleTimeout(11_034);
    expect([pacer.waiting, pacer.deadline, pacer.allows(11_034)]).toEqual([false, Infinity, true]);
  });

  it('tells its controller of every frame before it asks for the rate, limited or not', () => {
    const dial = new Dial();
    const pacer = new Pacer(dial, 0);
    pacer.sent(5, 300);
    dial.allowed = Infinity;
    pacer.sent(7, 60);
    expect(dial.told).toEqual([
      [5, 300],
      [7, 60],
    ]);
  });

  it('waits no more once it was allowed, though nobody told it that its time had come', () => {
    const pacer = new Pacer(new Dial(), 0);
    pacer.sent(0, 300);
    expect(pacer.allows(5000)).toBe(false);
    expect([pacer.allows(10_000), pacer.waiting, pacer.deadline]).toEqual([true, false, Infinity]);
  });

  it('counts who had no limit as on time when one comes: no burst is saved up', () => {
    const dial = new Dial();
    dial.allowed = Infinity;
    const pacer = new Pacer(dial, 3000);
    expect(pacer.rateBps).toBe(Infinity);
    pacer.sent(1_000_000, 300);
    dial.allowed = 240e6;
    pacer.sent(1_000_000, 300);
    expect(pacer.rateBps).toBe(240e6);
    expect(pacer.allows(1_000_000)).toBe(false);
    expect(pacer.deadline).toBe(1_010_000);
  });

  it('saves up the bytes that it may and no more, whatever the rate has become', () => {
    const dial = new Dial();
    const pacer = new Pacer(dial, 600);
    pacer.sent(0, 300);
    dial.allowed = 480e6;
    const now = 10 * MS;
    let left = 0;
    for (; pacer.allows(now); left++) pacer.sent(now, 300);
    // Two that are late and the one whose time it is.
    expect(left).toBe(3);
    expect(pacer.deadline).toBe(now + 5000);
  });
});

describe('a queue pair whose data waits', () => {
  it('acknowledges meanwhile, keeps its deadline, and has none when all has left', () => {
    const peer = makePeer();
    const { iova: va, rkey } = peer.region();
    postWrite(peer, 2 * 256);
    expect(opcodes(peer)).toEqual([Op.WriteFirst]);
    const deadline = peer.qp.nextDeadline();
    expect(deadline).toBe(peer.now + 10_534);
    for (let psn = 0; psn < 3; psn++) {
      peer.now += US;
      peer.rx(writeOnly({ psn, ackReq: true, reth: { va, rkey, length: 0 } }));
      expect(peer.qp.pending).toBe(true);
      expect(opcodes(peer)).toEqual([Op.Acknowledge]);
      expect([peer.qp.pending, peer.qp.nextDeadline()]).toEqual([false, deadline]);
    }
    peer.now = deadline;
    peer.qp.handleTimeout(deadline);
    expect(peer.qp.pending).toBe(true);
    expect(opcodes(peer)).toEqual([Op.WriteLast]);
    expect([peer.qp.pending, peer.qp.nextDeadline()]).toEqual([false, Infinity]);
  });

  it('waits for the later of RNR wait and rate', () => {
    const peer = makePeer();
    const mr = peer.region({ length: 256 });
    peer.post({ wrId: 1, opcode: WrOpcode.Send, sges: [{ mr }] }, { wrId: 2, opcode: WrOpcode.Send, sges: [{ mr }] });
    const start = peer.now;
    expect(opcodes(peer)).toEqual([Op.SendOnly]);
    // Code 1: 10 us, which end after 300 bytes had their time.
    peer.now += 5 * US;
    peer.rx(rnrNak(1, { psn: 0, msn: 0 }));
    expect(opcodes(peer)).toEqual([]);
    peer.now = start + 10 * US;
    peer.qp.handleTimeout(peer.now);
    expect(opcodes(peer)).toEqual([]);
    expect(peer.qp.nextDeadline()).toBe(start + 15 * US);
    peer.now = start + 15 * US;
    peer.qp.handleTimeout(peer.now);
    expect(opcodes(peer)).toEqual([Op.SendOnly]);
    // Now the wait ends before the time of the next packet has come.
    peer.rx(rnrNak(1, { psn: 0, msn: 0 }));
    const slow = makePeer({}, { ...FIXED, reaction: { kind: 'fixed-rate', rateBps: 24e6 } });
    const { now } = slow;
    slow.post({ wrId: 1, opcode: WrOpcode.Send, sges: [{ mr: slow.region({ length: 256 }) }] });
    slow.drain();
    slow.rx(rnrNak(1, { psn: 0, msn: 0 }));
    const left = opcodesInTime(slow, 1);
    expect(left).toEqual([Op.SendOnly]);
    expect(slow.now).toBe(now + 100 * US);
  });

  it('is retried when an ACK is late, and no retry is spent before the packet has left again', () => {
    // A packet takes 100 ms, a timeout 4.2 ms.
    const slow: CongestionOptions = { reaction: { kind: 'fixed-rate', rateBps: 24e3 }, maxBurstBytes: 0 };
    const peer = makePeer({ timeout: 10, retryCnt: 1 }, slow);
    postWrite(peer, 256);
    expect(opcodes(peer)).toEqual([Op.WriteOnly]);
    const start = peer.now;
    peer.advance(90 * MS);
    expect(peer.counters).toMatchObject({ localAckTimeoutErr: 1, retransmittedPkts: 0 });
    peer.silence();
    peer.advance(20 * MS);
    expect(peer.counters).toMatchObject({ localAckTimeoutErr: 2, retransmittedPkts: 1 });
    expect(peer.now - start).toBe(110 * MS);
    expect(peer.completions()).toEqual(['send 1 RetryExcErr']);
  });

  // A timeout is 4.2 ms. A packet of 256 bytes takes 10 ms and one of a byte 2; or 0.3 ms, and 32 of them 9.6.
  it.each([240e3, 8e6])('asks at %d b/s for every acknowledge, from the first packet on', (rateBps) => {
    const slow: CongestionOptions = { reaction: { kind: 'fixed-rate', rateBps }, maxBurstBytes: 0 };
    const peer = makePeer({ timeout: 10, retryCnt: 0 }, slow);
    for (let wrId = 0; wrId < 5; wrId++) postWrite(peer, 257, wrId);
    for (let psn = 0; psn < 10; psn++) {
      const [packet, ...more] = peer.drain();
      expect([packet?.psn, packet?.ackReq, more]).toEqual([psn, true, []]);
      peer.rx(ack({ psn, msn: 0 }));
      if (psn < 9) peer.advance(peer.qp.nextDeadline() - peer.now);
    }
    expect(peer.counters.localAckTimeoutErr).toBe(0);
  });

  it('asks by turns with its answers when the peer has one READ after the other', () => {
    const peer = makePeer();
    const { iova: va, rkey } = peer.region();
    const readAll = (psn: number) => peer.rx(readRequest({ psn, reth: { va, rkey, length: 4 * 256 } }));
    readAll(0);
    readAll(4);
    postWrite(peer, 3 * 256);
    expect(opcodesInTime(peer, 11)).toEqual([
      Op.ReadResponseFirst,
      Op.WriteFirst,
      Op.ReadResponseMiddle,
      Op.WriteMiddle,
      Op.ReadResponseMiddle,
      Op.WriteLast,
      Op.ReadResponseLast,
      Op.ReadResponseFirst,
      Op.ReadResponseMiddle,
      Op.ReadResponseMiddle,
      Op.ReadResponseLast,
    ]);
  });

  it('asks by turns also where nothing holds it back', () => {
    const peer = new Peer({ psn: 0x10, timeout: 0 });
    const { iova: va, rkey } = peer.region();
    peer.rx(readRequest({ psn: 0, reth: { va, rkey, length: 3 * 256 } }));
    postWrite(peer, 2 * 256);
    expect(opcodes(peer)).toEqual([
      Op.ReadResponseFirst,
      Op.WriteFirst,
      Op.ReadResponseMiddle,
      Op.WriteLast,
      Op.ReadResponseLast,
    ]);
  });

  it('still answers what it has executed when it goes to ERROR: atomics at its rate, acknowledges behind them in order', () => {
    const peer = makePeer();
    const { iova: va, rkey } = peer.region();
    peer.rx(
      fetchAdd({ psn: 0, va, rkey, add: 1n }),
      fetchAdd({ psn: 1, va, rkey, add: 1n }),
      writeOnly({ psn: 2, ackReq: true, reth: { va, rkey, length: 0 } }),
    );
    expect(opcodes(peer)).toEqual([Op.AtomicAcknowledge]);
    peer.qp.modify({ state: QpState.Error });
    expect([peer.qp.pending, peer.qp.nextDeadline()]).toEqual([false, peer.now + 1867]);
    expect(opcodesInTime(peer, 2)).toEqual([Op.AtomicAcknowledge, Op.Acknowledge]);
    expect([peer.qp.pending, peer.qp.nextDeadline()]).toEqual([false, Infinity]);
  });

  it('has its last word at once when it is destroyed: nobody would come back to it', () => {
    const peer = makePeer();
    const { iova: va, rkey } = peer.region();
    peer.rx(fetchAdd({ psn: 0, va, rkey, add: 1n }), fetchAdd({ psn: 1, va, rkey, add: 1n }));
    expect(opcodes(peer)).toEqual([Op.AtomicAcknowledge]);
    peer.qp.retire();
    expect(peer.qp.pending).toBe(true);
    expect(opcodes(peer)).toEqual([Op.AtomicAcknowledge]);
    expect(peer.qp.nextDeadline()).toBe(Infinity);
  });

  it('forgets that it waited when it is reset, and keeps its rate when its attributes change', () => {
    const peer = makePeer();
    postWrite(peer, 2 * 256);
    peer.drain();
    expect(peer.qp.nextDeadline()).toBeLessThan(Infinity);
    const { pacer } = peer.qp;
    peer.qp.modify({ minRnrTimer: 3 });
    expect(peer.qp.pacer).toBe(pacer);
    peer.qp.modify({ state: QpState.Reset });
    expect([peer.qp.pending, peer.qp.nextDeadline()]).toEqual([false, Infinity]);
    peer.connect();
    postWrite(peer, 256, 2);
    expect(opcodes(peer)).toEqual([Op.WriteOnly]);
  });

  it('finishes what it has begun in SQD, at its rate, and begins nothing', () => {
    for (const type of [QpType.Rc, QpType.Uc, QpType.XrcSend]) {
      const peer = makePeer({ type });
      const mr = peer.region({ length: 512 });
      const to = type === QpType.XrcSend ? { xrcRemoteSrqn: 5 } : {};
      for (const wrId of [1, 2]) peer.post({ wrId, opcode: WrOpcode.Send, sges: [{ mr }], ...to });
      expect(opcodes(peer)).toHaveLength(1);
      peer.qp.modify({ state: QpState.Sqd });
      // At 240 Mb/s a byte takes 33.3 ns.
      expect(peer.qp.nextDeadline()).toBe(peer.now + Math.ceil((1e5 / 3e3) * (peer.sent[0]?.length ?? 0)));
      expect(opcodesInTime(peer, 2)).toHaveLength(1);
      if (type === QpType.Rc) peer.rx(ack({ psn: 1, msn: 1 }));
      if (type === QpType.XrcSend) peer.rx(xrc(ack({ psn: 1, msn: 1 })));
      expect(peer.events()).toEqual(['sq-drained']);
      peer.qp.modify({ state: QpState.Rts });
      expect(opcodesInTime(peer, 2)).toHaveLength(2);
    }
  });

  it('has each packet count for its own length, also of those that leave together', () => {
    const peer = makePeer({}, { ...FIXED, maxBurstBytes: 900 });
    postWrite(peer, 4 * 256);
    expect(opcodes(peer)).toHaveLength(3);
    // 316, 300 and 300 bytes: 16 more than it may be early.
    expect(peer.qp.nextDeadline()).toBe(peer.now + 534);
  });

  it('acknowledges before it asks, though it is its turn', () => {
    const peer = new Peer({ psn: 0x10, timeout: 0 });
    const { iova: va, rkey } = peer.region();
    const read = (psn: number) => readRequest({ psn, reth: { va, rkey, length: 8 } });
    peer.rx(read(0));
    expect(opcodes(peer)).toEqual([Op.ReadResponseOnly]);
    peer.rx(writeOnly({ psn: 1, ackReq: true, reth: { va, rkey, length: 0 } }), read(2));
    postWrite(peer, 8);
    expect(opcodes(peer)).toEqual([Op.Acknowledge, Op.WriteOnly, Op.ReadResponseOnly]);
  });

  it('takes messages meanwhile', () => {
    const peer = makePeer();
    peer.postRecv(7);
    postWrite(peer, 2 * 256);
    peer.drain();
    peer.rx(sendOnly({ psn: 0, payload: Uint8Array.of(1, 2, 3, 4), ackReq: true }));
    expect(peer.completions()).toEqual(['recv 7 Success Recv 4 bytes']);
    expect(opcodes(peer)).toEqual([Op.Acknowledge]);
  });
});
