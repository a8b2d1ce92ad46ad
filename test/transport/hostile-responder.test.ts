/**
 * Attacks on a responder (ref:hostile#2) and regression vectors of fixed bugs elsewhere (ref:hostile#4.1).
 * Method: the attacker knows address, QPN and the ICRC recipe. Full sweeps set the PSN of one parsed frame instead of
 * building 2^24 of them; everything else goes through the parser.
 */
import { describe, expect, it } from 'vitest';
import { PSN_MASK } from '../../packets/psn.ts';
import { makeDefences } from '../../transport/defences.ts';
import { QpState } from '../../transport/qp-state.ts';
import { WrOpcode } from '../../transport/work.ts';
import {
  ack,
  describePacket,
  fetchAdd,
  nak,
  type Packet,
  pattern,
  readRequest,
  sendOnly,
  writeOnly,
  writePackets,
} from './support/packets.ts';
import { Peer } from './support/peer.ts';
import { buildFrame, parseBytes } from './support/wire.ts';

const SPACE = 0x1_00_00_00;
const empty = { va: 0n, rkey: 0, length: 0 };

describe('guessing the PSN', () => {
  it('SEC-01 of all 2^24 PSNs exactly one is executed, and the others change nothing but counters', () => {
    const peer = new Peer();
    const mr = peer.region();
    const reth = { va: mr.iova, rkey: mr.rkey, length: 4 };
    peer.rx(writeOnly({ psn: 0, reth, payload: pattern(4, 1), ackReq: true }));
    peer.expectTx([ack({ psn: 0, msn: 1 })]);
    const { frame } = parseBytes(buildFrame(writeOnly({ psn: 1, reth, payload: pattern(4, 2) }), peer.firstPsn));
    const expected = frame.psn;
    // Downwards, so that the one that fits comes last and does not make its successor fit too.
    for (let i = 1; i < SPACE; i++) {
      frame.psn = (expected - i) & PSN_MASK;
      peer.qp.handleFrame(peer.now, frame);
    }
    expect(mr.bytes.slice(0, 4)).toEqual(pattern(4, 1));
    const { duplicateRequest, outOfSeqRequest, droppedRequest, psnOutsideWindow, psnAlarm } = peer.counters;
    expect([duplicateRequest, outOfSeqRequest, droppedRequest]).toEqual([2 ** 23, 1, 2 ** 23 - 2]);
    expect([psnOutsideWindow, psnAlarm]).toEqual([SPACE - 1 - 2 * 65_536, 1]);
    expect(peer.drain().map(describePacket)).toEqual(['ACK psn+0 msn 1', 'NAK 0x60 psn+1 msn 1']);
    frame.psn = expected;
    peer.qp.handleFrame(peer.now, frame);
    expect(mr.bytes.slice(0, 4)).toEqual(pattern(4, 2));
    peer.expectUsable(2, 3);
  });

  it('SEC-01 4096 PSNs outside of the window within a second are an alarm, and fewer are none', () => {
    const peer = new Peer();
    const { frame } = parseBytes(buildFrame(writeOnly({ psn: 70_000, reth: empty }), peer.firstPsn));
    for (let i = 1; i < 4 * 4096; i++) {
      peer.qp.handleFrame(peer.now, frame);
      peer.now += 250_000;
    }
    expect(peer.counters).toMatchObject({ psnOutsideWindow: 4 * 4096 - 1, psnAlarm: 0 });
    for (let i = 0; i < 2 * 4096; i++) peer.qp.handleFrame(peer.now, frame);
    expect(peer.counters.psnAlarm).toBe(1);
  });

  it('SEC-01 PSNs far away draw eight answers, and one more every 10 ms; the next gap has its NAK all the same', () => {
    const peer = new Peer();
    const far = writeOnly({ psn: 70_000, reth: empty });
    const naks = (times: number, first: number) => {
      let count = 0;
      for (let i = 0; i < times; i++) {
        peer.rx({ ...far, psn: 70_000 + first + i });
        count += peer.drain().length;
        // Ends the gap, if there was one.
        peer.rx(writeOnly({ psn: first + i, reth: empty }));
      }
      return count;
    };
    expect(naks(20, 0)).toBe(8);
    peer.now += 10_000_000;
    expect(naks(20, 20)).toBe(1);
    peer.rx(far, writeOnly({ psn: 41, reth: empty }));
    peer.expectTx([nak(0x60, { psn: 40, msn: 40 })]);
  });

  it('SEC-01 a READ that was executed widens the window to four times its own packets', () => {
    const peer = new Peer({ defences: makeDefences({ psnWindow: 10 }) });
    const mr = peer.region();
    peer.rx(readRequest({ psn: 0, reth: { va: mr.iova, rkey: mr.rkey, length: 4096 } }));
    peer.drain();
    for (const [ahead, outside] of [
      [64, 0],
      [65, 1],
    ] as const) {
      peer.rx(writeOnly({ psn: 16 + ahead, reth: empty }));
      expect(peer.counters.psnOutsideWindow).toBe(outside);
    }
  });

  it('SEC-02 one injected packet replaces the victim’s: that one is acknowledged as a duplicate and not executed', () => {
    const victim = new Peer();
    const target = new Peer();
    const mr = target.region();
    const source = victim.region({ length: 4, seed: 50 });
    const reth = { va: mr.iova, rkey: mr.rkey, length: 4 };
    target.rx(writeOnly({ psn: 0, reth, payload: pattern(4, 66), ackReq: true }));
    target.drain();
    const remote = { remoteAddr: mr.iova, rkey: mr.rkey };
    victim.post({ wrId: 1, opcode: WrOpcode.RdmaWrite, sges: [{ mr: source }], ...remote });
    target.rx(...victim.drain());
    victim.rx(...target.drain());
    expect(victim.completions()).toEqual(['send 1 Success RdmaWrite']);
    expect(mr.bytes.slice(0, 4)).toEqual(pattern(4, 66));
    // A duplicate that was never sent twice: what the two sides' counters say of it.
    expect([target.counters.duplicateRequest, victim.counters.retransmittedPkts]).toEqual([1, 0]);
  });

  it.each([2, 3, 17, 64])(
    'SEC-03 after %i injected packets the victim fails with status 12, and the responder lives on',
    (k) => {
      const victim = new Peer({ retryCnt: 3 });
      const target = new Peer();
      for (let psn = 0; psn < k; psn++) target.rx(writeOnly({ psn, reth: empty, ackReq: true }));
      target.drain();
      victim.post({ wrId: 1, opcode: WrOpcode.RdmaWrite });
      let tries = 0;
      while (victim.qp.state === QpState.Rts) {
        const requests = victim.drain();
        tries += requests.length;
        target.rx(...requests);
        victim.rx(...target.drain());
        victim.advance(victim.qp.nextDeadline() - victim.now);
      }
      expect(tries).toBe(4);
      expect(victim.completions()).toEqual(['send 1 RetryExcErr']);
      target.expectUsable(k, k + 1);
    },
  );
});

describe('guessing keys and addresses', () => {
  const guesses: [string, (key: number) => number][] = [
    ['the next index', (key) => (key + 0x100) >>> 0],
    ['the index before', (key) => (key - 0x100) >>> 0],
    ['the next variant', (key) => ((key & ~0xff) | ((key + 1) & 0xff)) >>> 0],
    ['the variant before', (key) => ((key & ~0xff) | ((key - 1) & 0xff)) >>> 0],
    ['zero', () => 0],
    ['all ones', () => 0xff_ff_ff_ff],
  ];

  it.each(guesses)('SEC-06 SEC-07 %s draws 0x62 and memory stays as it was', (_, guess) => {
    for (const make of [
      (rkey: number, va: bigint) => writeOnly({ psn: 0, reth: { va, rkey, length: 8 }, payload: pattern(8) }),
      (rkey: number, va: bigint) => readRequest({ psn: 0, reth: { va, rkey, length: 8 } }),
      (rkey: number, va: bigint) => fetchAdd({ psn: 0, va, rkey, add: 1n }),
    ]) {
      const peer = new Peer();
      const mr = peer.region();
      const before = mr.bytes.slice();
      peer.rx(make(guess(mr.rkey), mr.iova));
      peer.expectTx([nak(0x62, { psn: 0, msn: 0 })]);
      expect(peer.qp.state).toBe(QpState.Error);
      expect(mr.bytes).toEqual(before);
    }
  });

  it('SEC-06 the key of freed memory does not open what is registered next', () => {
    const peer = new Peer();
    const freed = peer.region();
    peer.keys.deregister(freed);
    const next = peer.region();
    const before = next.bytes.slice();
    peer.rx(writeOnly({ psn: 0, reth: { va: next.iova, rkey: freed.rkey, length: 8 }, payload: pattern(8) }));
    peer.expectTx([nak(0x62, { psn: 0, msn: 0 })]);
    expect(next.bytes).toEqual(before);
  });

  it.each([
    ['base - 1', -1n, 8, 0x62],
    ['base + len - n + 1', 4089n, 8, 0x62],
    ['wraps 2^64', 0xffff_ffff_ffff_fff8n - 0x7f00_0000_0000n, 16, 0x62],
    ['2^31 bytes', 0n, 2 ** 31, 0x62],
    ['2^31 + 1 bytes', 0n, 2 ** 31 + 1, 0x61],
    ['2^32 - 1 bytes', 0n, 2 ** 32 - 1, 0x61],
  ])('SEC-08 a READ of %s draws the right refusal', (_, offset, length, syndrome) => {
    const peer = new Peer();
    const mr = peer.region();
    peer.rx(readRequest({ psn: 0, reth: { va: BigInt.asUintN(64, mr.iova + offset), rkey: mr.rkey, length } }));
    peer.expectTx([nak(syndrome, { psn: 0, msn: 0 })]);
  });
});

describe('wrong sequence and wrong length', () => {
  it.each([0x15, 0x18, 0x19, 0x1a, 0x1b, 0x1c, 0x1d, 0x1e, 0x1f])(
    'SEC-09 reserved or unsupported opcode 0x%i draws 0x61 exactly once, ERROR and a flush',
    (opcode) => {
      const peer = new Peer();
      peer.postRecv(1);
      const packet: Packet = { opcode, psn: 0, ackReq: true, payload: pattern(opcode === 0x1d ? 8 : 0), reth: empty };
      peer.rx(packet, packet);
      peer.expectTx([nak(0x61, { psn: 0, msn: 0 })]);
      peer.rx(packet);
      peer.silence();
      expect(peer.qp.state).toBe(QpState.Error);
      expect(peer.completions()).toEqual(['recv 1 WrFlushErr']);
    },
  );

  it('SEC-10 a message whose packets bring more than its DMA length writes nothing beyond it', () => {
    for (let packets = 2; packets <= 5; packets++) {
      for (const shortBy of [1, 4, 255, 256, 257]) {
        const peer = new Peer();
        const mr = peer.region();
        const data = pattern(packets * 256, 70);
        const length = data.length - shortBy;
        const stream = writePackets({ psn: 0, data, va: mr.iova, rkey: mr.rkey });
        const [first] = stream;
        if (first === undefined) throw new Error('a first packet');
        const before = mr.bytes.slice();
        peer.rx({ ...first, reth: { va: mr.iova, rkey: mr.rkey, length } }, ...stream.slice(1));
        const replies = peer.drain();
        expect(replies.map(({ syndrome }) => syndrome)).toEqual([0x61]);
        expect(mr.bytes.slice(length)).toEqual(before.slice(length));
      }
    }
  });
});

describe('wrong sender', () => {
  it('SEC-16 another source address or P_Key is dropped, each with its own counter and no answer', () => {
    const peer = new Peer();
    const packet = writeOnly({ psn: 0, reth: empty, ackReq: true });
    peer.rx({ ...packet, source: '192.0.2.3' });
    peer.rx({ ...packet, pkey: 0xfffe }, { ...packet, pkey: 0 });
    peer.silence();
    expect([peer.counters.badAddress, peer.counters.badPkey]).toEqual([1, 2]);
    peer.expectUsable(0, 1);
  });

  it('SEC-16 a limited member of our full-member partition is admitted, two limited members are not', () => {
    const limited = { ...writeOnly({ psn: 0, reth: empty, ackReq: true }), pkey: 0x7fff };
    const full = new Peer();
    full.rx(limited);
    full.expectTx([ack({ psn: 0, msn: 1 })]);
    const peer = new Peer();
    peer.modifyQuietly({ pkey: 0x7fff });
    peer.rx(limited);
    peer.silence();
    expect(peer.counters.badPkey).toBe(1);
  });

  it('SEC-16 SEC-17 another UDP source port is no other sender: a second queue pair of the same host passes for the first', () => {
    const peer = new Peer();
    peer.rx(writeOnly({ psn: 0, reth: empty, ackReq: true, sourcePort: 0xffff }));
    peer.expectTx([ack({ psn: 0, msn: 1 })]);
  });

  it('SEC-17 where the source port has to stay, another one is dropped once the peer has shown its own', () => {
    const peer = new Peer({ defences: makeDefences({ strictUdpSport: true }) });
    const write = (psn: number, sourcePort: number) => writeOnly({ psn, reth: empty, ackReq: true, sourcePort });
    // A guess that is not executed shows nothing.
    peer.rx(write(5, 0xffff), write(0, 0xc0_05));
    peer.expectTx([nak(0x60, { psn: 0, msn: 0 }), ack({ psn: 0, msn: 1 })]);
    peer.rx(write(1, 0xffff));
    peer.silence();
    expect(peer.counters.badSourcePort).toBe(1);
    peer.rx(write(1, 0xc0_05));
    peer.expectTx([ack({ psn: 1, msn: 2 })]);
    peer.qp.modify({ state: QpState.Reset });
    peer.connect();
    peer.rx(write(0, 0xffff));
    peer.expectTx([ack({ psn: 0, msn: 1 })]);
  });

  it('SEC-17 an acknowledgement shows the port of the peer, too', () => {
    const peer = new Peer({ defences: makeDefences({ strictUdpSport: true }) });
    for (const wrId of [1, 2]) peer.post({ wrId, opcode: WrOpcode.Send });
    peer.drain();
    peer.rx({ ...ack({ psn: 0, msn: 1 }), sourcePort: 0xc0_05 }, { ...ack({ psn: 1, msn: 2 }), sourcePort: 0xffff });
    expect([peer.completions(), peer.counters.badSourcePort]).toEqual([['send 1 Success Send'], 1]);
  });

  it.each([0x24, 0x2a, 0x64, 0x81, 0xa4, 0xe4])('SEC-16 an opcode of another service (0x%i) is dropped', (opcode) => {
    const peer = new Peer();
    peer.rx({ opcode, psn: 0, ackReq: true, payload: pattern(16) });
    expect(peer.counters.badService + peer.counters.rpCnpIgnored + peer.stopped.length).toBe(1);
    peer.expectUsable(0, 1);
  });
});

describe('regression vectors of fixed bugs', () => {
  it('CVE-2024-38544 a received frame is not looked at again once it was handed over', () => {
    const peer = new Peer();
    const mr = peer.region();
    const buffer = peer.postRecv(1);
    const reth = { va: mr.iova, rkey: mr.rkey, length: 300 };
    const read = readRequest({ psn: 1, reth });
    const packets = [sendOnly({ psn: 0, payload: pattern(100), ackReq: true }), read, read];
    const frames = packets.map((packet) => buildFrame(packet, peer.firstPsn));
    for (const bytes of frames) {
      peer.rxBytes(bytes);
      bytes.fill(0xdd);
    }
    const replies = peer.drain();
    expect(replies.map(({ psn }) => psn)).toEqual([0, 1, 2]);
    expect(replies[1]?.payload).toEqual(mr.bytes.slice(0, 256));
    expect(buffer.bytes.slice(0, 100)).toEqual(pattern(100));
  });

  it('1114c87 ATOMIC WRITE without its 8 bytes stores nothing', () => {
    const peer = new Peer();
    const mr = peer.region();
    const before = mr.bytes.slice();
    peer.rx({ opcode: 0x1d, psn: 0, reth: { va: mr.iova, rkey: mr.rkey, length: 0 } });
    peer.expectTx([nak(0x61, { psn: 0, msn: 0 })]);
    expect(mr.bytes).toEqual(before);
  });

  it('CVE-2026-93107 moving to ERROR before any packet of a conversation flushes once and leaves only acknowledges of what was executed', () => {
    const script = (peer: Peer): (() => void)[] => {
      const mr = peer.region();
      const reth = { va: mr.iova, rkey: mr.rkey, length: 600 };
      return [
        () => peer.rx({ opcode: 0, psn: 0, payload: pattern(256) }),
        () => peer.rx({ opcode: 2, psn: 1, payload: pattern(9), ackReq: true }),
        () => peer.rx(readRequest({ psn: 2, reth })),
        () => peer.rx(...writePackets({ psn: 5, data: pattern(600), va: mr.iova, rkey: mr.rkey })),
        () => peer.rx(ack({ psn: 0, msn: 1 })),
        () => peer.rx(nak(0x60, { psn: 1, msn: 1 })),
        () => peer.rx(fetchAdd({ psn: 8, va: mr.iova, rkey: mr.rkey, add: 1n })),
        () => peer.rx(nak(0x22, { psn: 1, msn: 1 })),
      ];
    };
    for (let stop = 0; stop <= 8; stop++) {
      const peer = new Peer();
      peer.postRecv(1);
      peer.postRecv(2);
      for (const wrId of [1, 2, 3]) peer.post({ wrId, opcode: WrOpcode.Send });
      peer.drain();
      const steps = script(peer);
      for (const step of steps.slice(0, stop)) step();
      peer.qp.modify({ state: QpState.Error });
      const owed = peer.drain();
      expect(owed.every(({ opcode }) => opcode === 0x11 || opcode === 0x12)).toBe(true);
      const sentBefore = peer.sent.length;
      for (const step of steps.slice(stop)) step();
      peer.advance(1e12);
      peer.pump();
      const done = peer.completions();
      expect(done.filter((line) => line.startsWith('send'))).toHaveLength(3);
      expect(done.filter((line) => line.startsWith('recv'))).toHaveLength(2);
      expect(peer.sent.length).toBe(sentBefore);
    }
  });
});
