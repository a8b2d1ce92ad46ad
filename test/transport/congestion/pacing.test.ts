/**
 * Goal: a queue pair keeps to the rate of its controller, slows down when the network asks, and only then; data waits
 * and acknowledges do not. Method: the scripted peer in virtual time, first with a fixed rate, where every departure
 * can be calculated by hand, then with DCQCN. A packet of 256 bytes of a WRITE in the middle is 300 bytes from the IP
 * header to the ICRC.
 */
import { describe, expect, it } from 'vitest';
import { RoceError } from '../../../packets/errors.ts';
import { FrameStatus } from '../../../packets/frame.ts';
import { Op } from '../../../packets/opcode.ts';
import { AddressHandle } from '../../../transport/address-handle.ts';
import { CONGESTION_TRAFFIC_CLASS, Congestion, type CongestionOptions } from '../../../transport/congestion/index.ts';
import type { Pacer } from '../../../transport/congestion/pacer.ts';
import { PortCounters } from '../../../transport/counters.ts';
import { QpState } from '../../../transport/qp-state.ts';
import { QpType } from '../../../transport/qp-type.ts';
import { WrOpcode } from '../../../transport/work.ts';
import { ack, cnp, fetchAdd, readRequest, writeOnly } from '../support/packets.ts';
import { Peer, type PeerOptions, SUBJECT_QKEY } from '../support/peer.ts';
import { buildFrame, forge, PEER_QPN, parseBytes } from '../support/wire.ts';

const US = 1000;
const MS = 1_000_000;
/** 300 bytes at 240 Mb/s take 10 us. */
const FIXED: CongestionOptions = { reaction: { kind: 'fixed-rate', rateBps: 240e6 }, maxBurstBytes: 0 };
const PAPER: CongestionOptions = {
  reaction: { kind: 'dcqcn', profile: 'paper', parameters: { minRateBps: 1e6 } },
  lineRateBps: 480e6,
  maxBurstBytes: 0,
};
const MIDDLE_BYTES = 300;
/** As a device hands it over. */
const FORGED = parseBytes(buildFrame(cnp(), 0)).frame;

const makePeer = (congestion: CongestionOptions = FIXED, options: PeerOptions = {}): Peer =>
  new Peer({ congestion, psn: 0x10, timeout: 0, ...options });

/** When each packet leaves, counted from now, if the subject is served at every deadline; and its bytes. */
function departures(peer: Peer, durationNs: number): { at: number; bytes: number; opcode: number }[] {
  const start = peer.now;
  const list: { at: number; bytes: number; opcode: number }[] = [];
  for (;;) {
    peer.sent.length = 0;
    peer.pump();
    for (const bytes of peer.sent) list.push({ at: peer.now - start, bytes: bytes.length, opcode: bytes[28] ?? 0 });
    const next = peer.qp.nextDeadline();
    if (next > start + durationNs) return list;
    peer.now = next;
    peer.qp.handleTimeout(next);
  }
}

function postWrite(peer: Peer, length: number): void {
  const mr = peer.region({ length });
  peer.post({ wrId: 1, opcode: WrOpcode.RdmaWrite, sges: [{ mr }], remoteAddr: 0n, rkey: 1 });
}

describe('a paced queue pair', () => {
  it('sends a packet when the one before has had its time', () => {
    const peer = makePeer();
    postWrite(peer, 5 * 256);
    const sent = departures(peer, MS);
    expect(sent.map(({ bytes }) => bytes)).toEqual([316, 300, 300, 300, 300]);
    // The first one carries a RETH of 16 bytes: 316 bytes, 10,533.3 ns, and fractions are not lost.
    expect(sent.map(({ at }) => at)).toEqual([0, 10_534, 20_534, 30_534, 40_534]);
    expect(peer.qp.nextDeadline()).toBe(Infinity);
  });

  it('may catch up by as much as it is allowed when it comes late', () => {
    const peer = makePeer({ ...FIXED, maxBurstBytes: 3 * MIDDLE_BYTES });
    postWrite(peer, 30 * 256);
    peer.pump();
    // All that starts within the burst.
    expect(peer.sent.map((bytes) => bytes.length)).toEqual([316, 300, 300]);
    peer.advance(10 * US);
    peer.sent.length = 0;
    // Nobody comes for a millisecond: 100 packets late, and four may leave.
    peer.now += MS;
    peer.qp.handleTimeout(peer.now);
    peer.pump();
    expect(peer.sent).toHaveLength(4);
  });

  it('holds back READ responses and atomics, and no acknowledge', () => {
    const peer = makePeer();
    const mr = peer.region({ length: 1024 });
    const va = mr.iova;
    peer.rx(readRequest({ psn: 0, ackReq: true, reth: { va, rkey: mr.rkey, length: 3 * 256 } }));
    const read = departures(peer, MS);
    expect(read.map(({ opcode }) => opcode)).toEqual([
      Op.ReadResponseFirst,
      Op.ReadResponseMiddle,
      Op.ReadResponseLast,
    ]);
    // First and last have an AETH: 304 bytes.
    expect(read.map(({ at }) => at)).toEqual([0, 10_134, 20_134]);
    peer.rx(fetchAdd({ psn: 3, va, rkey: mr.rkey, add: 1n }), fetchAdd({ psn: 4, va, rkey: mr.rkey, add: 1n }));
    const atomics = departures(peer, MS);
    expect(atomics.map(({ opcode }) => opcode)).toEqual([Op.AtomicAcknowledge, Op.AtomicAcknowledge]);
    // The last of the READ was 304 bytes just now; 56 bytes take 1,866.7 ns.
    expect(atomics.map(({ at }) => at)).toEqual([10_134, 12_001]);
    postWrite(peer, 1000);
    peer.drain();
    expect(peer.qp.pending).toBe(false);
    peer.rx(writeOnly({ psn: 5, ackReq: true, reth: { va, rkey: mr.rkey, length: 0 } }));
    expect(peer.qp.pending).toBe(true);
    peer.expectTx([ack({ psn: 5, msn: 4 })]);
  });

  it.each([
    ['UC', QpType.Uc, {}],
    ['UD', QpType.Ud, { mtu: 256 }],
  ])('may be of type %s', (_name, type, options) => {
    const peer = makePeer(FIXED, { type, ...options });
    const mr = peer.region({ length: 256 });
    if (type === QpType.Ud) {
      const path = new Peer().qp.config.path;
      if (path === undefined) throw new Error('a connected queue pair has a path');
      const ah = new AddressHandle(peer.pd, path);
      for (let wrId = 0; wrId < 3; wrId++)
        peer.post({ wrId, opcode: WrOpcode.Send, sges: [{ mr }], ah, remoteQpn: PEER_QPN, remoteQkey: SUBJECT_QKEY });
    } else for (let wrId = 0; wrId < 3; wrId++) peer.post({ wrId, opcode: WrOpcode.Send, sges: [{ mr }] });
    const sent = departures(peer, MS);
    expect(sent).toHaveLength(3);
    const gap = ((sent[0]?.bytes ?? 0) * 8e9) / 240e6;
    expect(sent.map(({ at }) => at)).toEqual([0, Math.ceil(gap), Math.ceil(2 * gap)]);
  });

  it('asks for every acknowledge when it is so slow that the peer would seem silent', () => {
    const peer = makePeer(
      { reaction: { kind: 'fixed-rate', rateBps: 1e6 }, maxBurstBytes: 0 },
      // 4.096 us * 2^10 = 4.2 ms; a packet takes 2.4 ms, and 32 of them 77.
      { timeout: 10 },
    );
    postWrite(peer, 100 * 256);
    let acknowledged = 0;
    for (let i = 0; i < 100; i++) {
      for (const { psn, ackReq } of peer.drain()) {
        if (ackReq !== true) continue;
        peer.rx(ack({ psn, msn: psn === 99 ? 1 : 0 }));
        acknowledged += 1;
      }
      peer.now = Math.min(peer.qp.nextDeadline(), peer.now + 3 * MS);
      peer.qp.handleTimeout(peer.now);
    }
    expect(peer.counters).toMatchObject({ localAckTimeoutErr: 0, retransmittedPkts: 0 });
    expect(acknowledged).toBeGreaterThan(90);
  });

  it('starts anew with a new connection', () => {
    const peer = makePeer(PAPER);
    peer.rx(cnp());
    expect(peer.qp.pacer?.controller.rateBps(peer.now)).toBe(240e6);
    peer.qp.modify({ state: QpState.Reset });
    expect(peer.qp.pacer).toBeUndefined();
    peer.connect();
    expect(peer.qp.pacer?.controller.rateBps(peer.now)).toBe(Infinity);
  });
});

describe('a congestion notification', () => {
  it('halves the rate of a flow that has never had one, and says so in the spacing of its packets', () => {
    const peer = makePeer(PAPER);
    postWrite(peer, 3 * 256);
    expect(departures(peer, MS).map(({ at }) => at)).toEqual([0, 0, 0]);
    peer.rx(cnp());
    postWrite(peer, 4 * 256);
    // 240 Mb/s: 316 bytes take 10,533 ns, 300 take 10,000.
    expect(departures(peer, 35 * US).map(({ at }) => at)).toEqual([0, 10_534, 20_534, 30_534]);
    expect(peer.counters).toMatchObject({ rpCnpHandled: 1, rpCnpIgnored: 0 });
  });

  it.each([
    ['from another address than the peer', { source: '192.0.2.9' }],
    ['of another partition', { pkey: 0x12_34 }],
  ])('%s is counted and changes nothing', (_why, lie) => {
    const peer = makePeer(PAPER);
    peer.rx(cnp(lie));
    expect(peer.qp.pacer?.controller.rateBps(peer.now)).toBe(Infinity);
    expect(peer.counters).toMatchObject({ rpCnpHandled: 0, rpCnpIgnored: 1 });
  });

  it.each([
    ['without BECN', buildFrame(cnp({ becn: 0 }), 0)],
    ['with FECN', forge(buildFrame(cnp(), 0), (view, bth) => view.setUint8(bth + 4, 0xc0))],
    ['that is itself marked', buildFrame(cnp({ trafficClass: (48 << 2) | 3 }), 0)],
    ['with a PSN, AckReq and a solicited event', buildFrame(cnp({ psn: 7, ackReq: true, solicited: true }), 0)],
    [
      'with something reserved in it',
      forge(buildFrame(cnp(), 0), (view, bth) => view.setUint32(bth + 20, 0xffff_ffff)),
    ],
    ['that is longer than it has to be', buildFrame(cnp({ payload: Uint8Array.of(1, 2, 3) }), 0)],
  ])('%s is one all the same, and draws no answer', (_what, bytes) => {
    const peer = makePeer(PAPER);
    peer.rxBytes(bytes);
    expect(peer.qp.pacer?.controller.rateBps(peer.now)).toBe(240e6);
    expect(peer.counters).toMatchObject({ rpCnpHandled: 1, npEcnMarkedRocePackets: 0 });
    expect(peer.notifications()).toEqual([]);
    peer.silence();
  });

  it('that ends before its reserved bytes do is none', () => {
    const peer = makePeer(PAPER);
    const bytes = buildFrame(ack({ psn: 0, msn: 0 }), 0);
    peer.rxBytes(forge(bytes, (view, bth) => view.setUint8(bth, Op.Cnp)));
    expect(peer.stopped).toEqual([`status ${FrameStatus.BadHeaderLength}`]);
    expect(peer.counters).toMatchObject({ rpCnpHandled: 0, rpCnpIgnored: 0 });
  });

  it('is ignored by who reacts to none, and by who has no connection', () => {
    for (const peer of [
      new Peer(),
      makePeer({}),
      makePeer({ reaction: { kind: 'none' } }),
      makePeer(PAPER, { state: QpState.Init }),
    ]) {
      peer.rx(cnp());
      expect(peer.counters).toMatchObject({ rpCnpHandled: 0, rpCnpIgnored: 1 });
      peer.silence();
    }
  });

  it.each(['paper', 'mlx'] as const)('SEC-13 however many count, a flow of profile %s keeps its minimum', (profile) => {
    const peer = makePeer({ ...PAPER, reaction: { kind: 'dcqcn', profile } });
    const minimum = profile === 'paper' ? 10e6 : 1e6;
    let lowest = Infinity;
    for (let i = 0; i < 100_000; i++) {
      peer.qp.pacer?.controller.notified(peer.now);
      peer.now += 500;
      lowest = Math.min(lowest, peer.qp.pacer?.controller.rateBps(peer.now) ?? 0);
    }
    expect(lowest).toBeGreaterThanOrEqual(minimum);
    expect(lowest).toBeLessThan(1.1 * minimum);
    postWrite(peer, 256);
    expect(departures(peer, MS)).toHaveLength(1);
  });

  it('SEC-13 for a flow that sends nothing counts once, and none of a flood after it', () => {
    const peer = makePeer(PAPER);
    for (let i = 0; i < 100_000; i++) {
      peer.qp.handleCnp(peer.now, FORGED);
      peer.now += 500;
    }
    expect(peer.counters).toMatchObject({ rpCnpHandled: 1, rpCnpExcess: 99_999, rpCnpIgnored: 0 });
    expect(peer.qp.pacer?.controller.rateBps(peer.now)).toBe(Infinity);
  });

  it('that rides on an ACK counts where both ends agreed on that, and only there', () => {
    for (const [signal, becn, handled] of [
      ['ack', 1, 1],
      ['ack', 0, 0],
      ['cnp', 1, 0],
    ] as const) {
      const peer = makePeer({ ...PAPER, notification: { signal } });
      postWrite(peer, 10);
      peer.drain();
      peer.rx({ ...ack({ psn: 0, msn: 1 }), becn });
      expect(peer.counters.rpCnpHandled).toBe(handled);
      expect(peer.completions()).toEqual(['send 1 Success RdmaWrite']);
    }
  });
});

describe('a pacer', () => {
  const INTERVAL = 4 * US;
  const newPacer = () => new Congestion(PAPER, new PortCounters()).newPacer();

  it.each<[frame: string, leave: (pacer: Pacer, now: number) => void]>([
    ['data', (pacer, now) => pacer.sent(now, 1000)],
    ['an ACK', (pacer) => pacer.sentUnpaced()],
  ])('takes a notification for each frame of %s that leaves, and no more (SEC-13)', (_, leave) => {
    const pacer = newPacer();
    if (pacer === undefined) throw new Error('DCQCN has a pacer');
    let now = 0;
    for (; now < 10 * MS; now += 50 * US) {
      leave(pacer, now);
      expect(pacer.takesNotification(now, INTERVAL)).toBe(true);
    }
    // One may have been on its way before the pacer was there.
    const beyond = [1, 2, 3, 4].map((n) => pacer.takesNotification(now + n * 50 * US, INTERVAL));
    expect(beyond).toEqual([true, false, false, false]);
  });
});

describe('the options', () => {
  it.each([
    [{ lineRateBps: 0 }, 'lineRateBps'],
    [{ maxBurstBytes: -1 }, 'maxBurstBytes'],
    [{ notification: { minTimeBetweenCnpsNs: -1 } }, 'minTimeBetweenCnpsNs'],
    [{ notification: { cnpDscp: 64 } }, 'cnpDscp'],
    [{ notification: { spacing: 'now and then' as never } }, 'spacing'],
    [{ notification: { spacing: 'period', minTimeBetweenCnpsNs: 0 } as const }, 'minTimeBetweenCnpsNs'],
    [{ notification: { becn: 2 as never } }, 'becn'],
    [{ notification: { signal: 'smoke' as never } }, 'smoke'],
    [{ reaction: { kind: 'fixed-rate', rateBps: 0 } as const }, 'rateBps'],
    [{ reaction: { kind: 'prayer' } as never }, 'prayer'],
  ])('%j are refused by name', (options, name) => {
    expect(() => new Congestion(options, new PortCounters())).toThrow(RoceError);
    expect(() => new Congestion(options, new PortCounters())).toThrow(name);
  });

  it('are a port of 10 Gb/s and 65,536 bytes to catch up with where nothing else is said', () => {
    const pacer = new Congestion({ reaction: { kind: 'fixed-rate', rateBps: 8e9 } }, new PortCounters()).newPacer();
    // A byte a nanosecond, after a second of silence.
    pacer?.sent(1e9, 65_536);
    expect(pacer?.allows(1e9)).toBe(true);
    pacer?.sent(1e9, 1);
    expect([pacer?.allows(1e9), pacer?.deadline]).toEqual([false, 1e9 + 1]);

    const dcqcn = new Congestion({ reaction: { kind: 'dcqcn', profile: 'paper' } }, new PortCounters()).newPacer();
    dcqcn?.controller.notified(0);
    expect(dcqcn?.controller.rateBps(0)).toBe(5e9);
  });

  it('mark packets as ECN-capable on the DSCP that NICs use for RoCE', () => {
    expect([CONGESTION_TRAFFIC_CLASS >> 2, CONGESTION_TRAFFIC_CLASS & 3]).toEqual([26, 2]);
  });
});
