/**
 * Goal: marked packets draw the notifications that the annex and NICs agree on, and nothing else does (ref:dcqcn#7,
 * ref:wire#9). Method: the scripted peer sends packets with CE; every byte of what comes back is compared, and time is
 * a number.
 */
import { describe, expect, it } from 'vitest';
import { Frame, Medium, parseFrame } from '../../../packets/frame.ts';
import { FrameWriter } from '../../../packets/frame-writer.ts';
import { HeaderTemplate } from '../../../packets/header-template.ts';
import { icrcMatches } from '../../../packets/icrc.ts';
import { Op } from '../../../packets/opcode.ts';
import { DEFAULT_NOTIFICATION } from '../../../transport/congestion/congestion-options.ts';
import type { CongestionOptions } from '../../../transport/congestion/index.ts';
import { MarkedFlow, NotificationPoint } from '../../../transport/congestion/notification-point.ts';
import { PortCounters } from '../../../transport/counters.ts';
import { QpState } from '../../../transport/qp-state.ts';
import { QpType } from '../../../transport/qp-type.ts';
import { WrOpcode } from '../../../transport/work.ts';
import { XrcDomain } from '../../../transport/xrc-domain.ts';
import { ack, cnp, datagram, marked, readOnly, uc, writeOnly, xrc } from '../support/packets.ts';
import { Peer, type PeerOptions, SUBJECT_QKEY } from '../support/peer.ts';
import { buildFrame, PEER_IP, PEER_QPN, parseBytes, SUBJECT_IP } from '../support/wire.ts';

const US = 1000;
const MS = 1_000_000;

const makePeer = (options: PeerOptions = {}, congestion: CongestionOptions = {}): Peer =>
  new Peer({ congestion, ...options });
const write = (psn: number) => writeOnly({ psn, ackReq: true, reth: { va: 0n, rkey: 0, length: 0 } });
const headers = (bytes: Uint8Array) => {
  const { frame, icrc } = parseBytes(bytes);
  const { opcode, destQpn, trafficClass, becn, pkey } = frame;
  return { opcode, destQpn, trafficClass, becn, pkey, icrc };
};

describe('the notification point', () => {
  it('answers a marked request with one CNP, byte for byte', () => {
    const peer = makePeer();
    peer.rx(marked(write(0)));
    const [bytes, ...more] = peer.notifications();
    expect(more).toEqual([]);
    if (bytes === undefined) throw new Error('no notification');
    const { frame, icrc } = parseBytes(bytes);
    expect(icrc).toBe(true);
    expect(Buffer.from(bytes.subarray(28, -4)).toString('hex')).toBe(
      `8100ffff40${PEER_QPN.toString(16).padStart(6, '0')}00000000${'00'.repeat(16)}`,
    );
    expect(bytes.length).toBe(20 + 8 + 12 + 16 + 4);
    expect(frame.trafficClass).toBe(48 << 2);
    expect([...bytes.subarray(12, 20)]).toEqual([192, 0, 2, 1, 192, 0, 2, 2]);
    expect([`${SUBJECT_IP}`, `${PEER_IP}`]).toEqual(['192.0.2.1', '192.0.2.2']);
    expect(peer.counters).toMatchObject({ npCnpSent: 1, npEcnMarkedRocePackets: 1, rpCnpHandled: 0, rpCnpIgnored: 0 });
    // The packet itself is a request like any other.
    peer.expectTx([ack({ psn: 0, msn: 1 })]);
  });

  it('sends at most one per flow and interval: 20,000 a second at 50 us, however many packets are marked', () => {
    const peer = makePeer();
    const times: number[] = [];
    for (let psn = 0; psn < 5000; psn++) {
      peer.rx(marked(write(psn)));
      for (const _ of peer.notifications()) times.push(peer.now);
      peer.drain();
      peer.advance(7 * US);
    }
    const spacing = times.slice(1).map((time, i) => time - (times[i] ?? 0));
    // The first marked packet after the interval, and packets come every 7 us.
    expect(new Set(spacing)).toEqual(new Set([56 * US]));
    expect(times).toHaveLength(625);
    expect(peer.counters).toMatchObject({ npEcnMarkedRocePackets: 5000, npCnpSent: 625 });
  });

  it('counts by periods where the fluid model is to be followed: one CNP in each, at its first mark', () => {
    const peer = makePeer({}, { notification: { spacing: 'period' } });
    const times: number[] = [];
    const start = peer.now;
    for (const at of [0, 10, 49, 60, 99, 100, 149, 420, 455]) {
      peer.advance(start + at * US - peer.now);
      peer.rx(marked(write(times.length)));
      for (const _ of peer.notifications()) times.push(at);
    }
    // Periods of 50 us from the first mark on: two CNPs may be closer than that, and there is one in each that has a
    // mark.
    expect(times).toEqual([0, 60, 100, 420, 455]);
  });

  it('keeps the interval of its parameters, from the moment a CNP leaves, however long the port kept it back', () => {
    const peer = makePeer({}, { notification: { minTimeBetweenCnpsNs: 4 * US } });
    peer.rx(marked(write(0)));
    peer.advance(10 * US);
    peer.rx(marked(write(1)));
    expect(peer.notifications()).toHaveLength(1);
    peer.rx(marked(write(2)));
    expect(peer.notifications()).toHaveLength(0);
    peer.advance(4 * US - 1);
    peer.rx(marked(write(3)));
    expect(peer.notifications()).toHaveLength(0);
    peer.advance(1);
    peer.rx(marked(write(4)));
    expect(peer.notifications()).toHaveLength(1);
  });

  it.each([
    [{ becn: 0 } as const, { becn: 0, trafficClass: 192 }],
    [{ cnpDscp: 6 }, { becn: 1, trafficClass: 24 }],
  ])('takes %j from its parameters', (notification, expected) => {
    const peer = makePeer({}, { notification });
    peer.rx(marked(write(0)));
    expect(peer.notifications().map(headers)).toEqual([
      { opcode: Op.Cnp, destQpn: PEER_QPN, pkey: 0xff_ff, icrc: true, ...expected },
    ]);
  });

  it('looks at CE alone: ECT(0), ECT(1) and any DSCP are not congestion', () => {
    const peer = makePeer();
    for (const [psn, trafficClass] of [0, 1, 2, 26 << 2, (26 << 2) | 2].entries())
      peer.rx({ ...write(psn), trafficClass });
    expect(peer.notifications()).toEqual([]);
    peer.rx({ ...write(5), trafficClass: (26 << 2) | 3 });
    expect(peer.notifications()).toHaveLength(1);
  });

  it('answers for marked acknowledges and READ responses, too', () => {
    const peer = makePeer();
    const mr = peer.region({ length: 256 });
    peer.post({ wrId: 1, opcode: WrOpcode.RdmaRead, sges: [{ mr }], remoteAddr: 0n, rkey: 1 });
    peer.drain();
    peer.rx(marked(readOnly({ psn: 0, msn: 1, payload: new Uint8Array(256) })));
    expect(peer.completions()).toEqual(['send 1 Success RdmaRead 256 bytes']);
    expect(peer.notifications().map(headers)).toMatchObject([{ destQpn: PEER_QPN }]);
  });

  it('answers with the P_Key of the marked packet', () => {
    const peer = makePeer();
    peer.rx(marked({ ...write(0), pkey: 0x7f_ff }));
    expect(peer.notifications().map(headers)).toMatchObject([{ pkey: 0x7f_ff }]);
  });

  it('is silent about what the queue pair does not admit, and about notifications', () => {
    const peer = makePeer();
    peer.rx(
      marked({ ...write(0), source: '192.0.2.9' }),
      marked({ ...write(0), pkey: 0x12_34 }),
      marked(uc(write(0))),
      marked(cnp()),
    );
    expect(peer.notifications()).toEqual([]);
    expect(peer.counters).toMatchObject({ npEcnMarkedRocePackets: 0, badAddress: 1, badPkey: 1, badService: 1 });
    const early = makePeer({ state: QpState.Init });
    early.rx(marked(write(0)));
    expect(early.notifications()).toEqual([]);
  });

  it('can be switched off, and then only counts', () => {
    const peer = makePeer({}, { notification: false });
    peer.rx(marked(write(0)));
    expect(peer.notifications()).toEqual([]);
    expect(peer.counters).toMatchObject({ npEcnMarkedRocePackets: 1, npCnpSent: 0 });
    const without = new Peer();
    without.rx(marked(write(0)));
    expect(without.counters.npEcnMarkedRocePackets).toBe(1);
    without.expectTx([ack({ psn: 0, msn: 1 })]);
  });

  it('serves UC like RC', () => {
    const peer = makePeer({ type: QpType.Uc });
    peer.rx(marked(uc(write(0))));
    expect(peer.notifications().map(headers)).toMatchObject([{ opcode: Op.Cnp, destQpn: PEER_QPN }]);
  });

  it('serves both ends of XRC like RC', () => {
    const target = makePeer({ domain: new XrcDomain() });
    target.rx(marked(xrc(write(0), 5)));
    expect(target.notifications().map(headers)).toMatchObject([{ opcode: Op.Cnp, destQpn: PEER_QPN }]);
    const initiator = makePeer({ type: QpType.XrcSend });
    const mr = initiator.region({ length: 8 });
    initiator.post({ wrId: 1, opcode: WrOpcode.RdmaWrite, sges: [{ mr }], remoteAddr: 0n, rkey: 1, xrcRemoteSrqn: 5 });
    initiator.drain();
    initiator.rx(marked(xrc(ack({ psn: 0, msn: 1 }))));
    expect(initiator.notifications().map(headers)).toMatchObject([{ opcode: Op.Cnp, destQpn: PEER_QPN }]);
  });

  describe('of datagrams', () => {
    const from = (srcQpn: number, more = {}) => marked(datagram({ psn: 0, qkey: SUBJECT_QKEY, srcQpn, ...more }));

    it('takes each sender for a flow, and answers to where it is', () => {
      const peer = makePeer({ type: QpType.Ud });
      for (let i = 0; i < 8; i++) peer.postRecv(i);
      peer.rx(from(5), from(5), from(6), from(5, { source: '192.0.2.9', sourcePort: 0xc0_77 }));
      const sent = peer.notifications();
      expect(sent.map(headers).map(({ destQpn }) => destQpn)).toEqual([5, 6, 5]);
      expect(sent.map((bytes) => bytes[19])).toEqual([2, 2, 9]);
      expect(sent.map((bytes) => (bytes[20] ?? 0) * 256 + (bytes[21] ?? 0))).toEqual([0xc0_01, 0xc0_01, 0xc0_77]);
      peer.advance(50 * US);
      peer.rx(from(6));
      expect(peer.notifications().map(headers)).toMatchObject([{ destQpn: 6, icrc: true, trafficClass: 192 }]);
    });

    it('keeps the interval of each sender, and owes it no second one before the first has left', () => {
      const peer = makePeer({ type: QpType.Ud });
      peer.rx(from(5), from(5));
      peer.advance(60 * US);
      peer.rx(from(5));
      expect(peer.notifications()).toHaveLength(1);
      peer.advance(50 * US - 1);
      peer.rx(from(5));
      expect(peer.notifications()).toHaveLength(0);
      peer.advance(1);
      peer.rx(from(5));
      expect(peer.notifications()).toHaveLength(1);
    });

    it('says nothing to who sends to a group, or where marks ride on acknowledges, which datagrams do not have', () => {
      const peer = makePeer({ type: QpType.Ud });
      peer.rxBytes(buildFrame(from(5), peer.firstPsn, 0xff_ff_ff));
      expect(peer.notifications()).toEqual([]);
      expect(peer.counters.npEcnMarkedRocePackets).toBe(1);
      const rides = makePeer({ type: QpType.Ud }, { notification: { signal: 'ack' } });
      rides.rx(from(5));
      expect(rides.notifications()).toEqual([]);
      expect(rides.counters.npEcnMarkedRocePackets).toBe(1);
    });

    it('remembers 64 senders at a time', () => {
      const peer = makePeer({ type: QpType.Ud });
      const all = (count: number) => {
        for (let qpn = 2; qpn < 2 + count; qpn++) peer.rx(from(qpn));
        return peer.notifications().length;
      };
      expect([all(64), all(64)]).toEqual([64, 0]);
      peer.rx(from(99), from(3), from(2));
      expect(peer.notifications().map(headers)).toMatchObject([{ destQpn: 99 }, { destQpn: 2 }]);
    });

    it('remembers a bounded number of senders', () => {
      const peer = makePeer({ type: QpType.Ud });
      for (let qpn = 2; qpn < 2002; qpn++) peer.rx(from(qpn));
      // Longer than a batch of frames: what does not fit comes with the next one.
      let sent = 0;
      for (let batch = peer.notifications(); batch.length > 0; batch = peer.notifications()) sent += batch.length;
      expect(sent).toBe(2000);
      peer.rx(from(2001), from(2));
      expect(peer.notifications().map(headers)).toMatchObject([{ destQpn: 2 }]);
    });
  });

  it("rides on acknowledges where both ends agreed on that: BECN in a marked packet's, and in no other", () => {
    const peer = makePeer({}, { notification: { signal: 'ack' } });
    const becns = () => {
      peer.drain();
      return peer.sent.splice(0).map((bytes) => headers(bytes).becn);
    };
    peer.rx(marked(write(0)));
    expect(becns()).toEqual([1]);
    peer.rx(write(1));
    expect(becns()).toEqual([0]);
    peer.advance(MS);
    peer.rx(marked(write(2)), write(3));
    expect(becns()).toEqual([1]);
    expect(peer.notifications()).toEqual([]);
  });

  it('does not let the mark of a response ride on the acknowledge of some request', () => {
    const peer = makePeer({}, { notification: { signal: 'ack' } });
    const mr = peer.region({ length: 256 });
    peer.post({ wrId: 1, opcode: WrOpcode.RdmaRead, sges: [{ mr }], remoteAddr: 0n, rkey: 1 });
    peer.drain();
    peer.rx(marked(readOnly({ psn: 0, msn: 1, payload: new Uint8Array(256) })), write(0));
    peer.sent.length = 0;
    peer.drain();
    expect(peer.sent.map((bytes) => headers(bytes).becn)).toEqual([0]);
    expect(peer.counters.npEcnMarkedRocePackets).toBe(1);
  });

  it('begins anew with a new connection: no interval, and no mark of the old one', () => {
    const peer = makePeer();
    peer.rx(marked(write(0)));
    expect(peer.notifications()).toHaveLength(1);
    peer.qp.modify({ state: QpState.Reset });
    peer.connect();
    peer.rx(marked(write(0)));
    expect(peer.notifications()).toHaveLength(1);
    const rides = makePeer({}, { notification: { signal: 'ack' } });
    rides.rx(marked(write(0)));
    rides.qp.modify({ state: QpState.Reset });
    rides.connect();
    rides.rx(write(0));
    rides.drain();
    expect(rides.sent.map((bytes) => headers(bytes).becn)).toEqual([0]);
  });

  it('still sends what is owed when the queue pair is reset or destroyed', () => {
    for (const end of [(peer: Peer) => peer.qp.modify({ state: QpState.Reset }), (peer: Peer) => peer.qp.retire()]) {
      const peer = makePeer();
      peer.rx(marked(write(0)));
      end(peer);
      expect(peer.notifications().map(headers)).toMatchObject([{ opcode: Op.Cnp, destQpn: PEER_QPN, icrc: true }]);
      expect(peer.notifications()).toEqual([]);
    }
  });
});

describe('a notification over Ethernet', () => {
  const MAC = Uint8Array.of(2, 0, 0, 0, 0, 1);

  /** The CNP of a flow whose way back has this tag. */
  function cnpOver(vlanTci: number | undefined, cnpDscp: number) {
    const back = new HeaderTemplate({
      ...{ medium: Medium.Ethernet, sourceMac: MAC, destMac: MAC, source: SUBJECT_IP, destination: PEER_IP },
      ...{ trafficClass: 0, hopLimit: 64, flowLabel: 0, sourcePort: 50_000 },
      ...(vlanTci === undefined ? {} : { vlanTci }),
    });
    const point = new NotificationPoint({ ...DEFAULT_NOTIFICATION, cnpDscp }, new PortCounters());
    const writer = new FrameWriter(1, 128);
    point.marked(0, new MarkedFlow(), back, 0xff_ff, PEER_QPN);
    point.transmit(0, writer);
    const frame = new Frame();
    const status = parseFrame(writer.bytes, writer.view, 0, writer.lengths[0] ?? 0, Medium.Ethernet, frame);
    return { status, icrc: icrcMatches(frame), vlanTci: frame.vlanTci, dscp: frame.trafficClass >> 2 };
  }

  it('has the class of its DSCP in the tag, and the VLAN of the data', () => {
    expect(cnpOver((3 << 13) | 0x10_05, 48)).toEqual({ status: 0, icrc: true, vlanTci: (6 << 13) | 0x10_05, dscp: 48 });
    expect(cnpOver((7 << 13) | 5, 0)).toEqual({ status: 0, icrc: true, vlanTci: 5, dscp: 0 });
  });

  it('has nothing of the kind where there is no tag', () => {
    expect(cnpOver(undefined, 48)).toEqual({ status: 0, icrc: true, vlanTci: -1, dscp: 48 });
  });
});
