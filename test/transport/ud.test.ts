/**
 * Goal: what a UD queue pair sends and takes, and that everything else vanishes with a counter and costs nothing.
 * Method: the scripted peer, first PSNs two before the wrap; ref:conformance#UD rows.
 */
import { describe, expect, it } from 'vitest';
import { GRH_BYTES } from '../../packets/grh.ts';
import { AddressHandle } from '../../transport/address-handle.ts';
import { QpState } from '../../transport/qp-state.ts';
import { QpType } from '../../transport/qp-type.ts';
import { type SendWr, WrOpcode } from '../../transport/work.ts';
import { datagram, type Packet, pattern, sendOnly } from './support/packets.ts';
import { Peer, type PeerOptions, SUBJECT_QKEY } from './support/peer.ts';
import { PEER_IP, PEER_QPN, pathTemplate, SUBJECT_IP, SUBJECT_QPN } from './support/wire.ts';

class UdPeer extends Peer {
  readonly ah: AddressHandle;

  constructor(options: PeerOptions = {}) {
    super({ type: QpType.Ud, ...options });
    const path = { template: pathTemplate(SUBJECT_IP, PEER_IP), local: SUBJECT_IP, remote: PEER_IP };
    this.ah = new AddressHandle(this.pd, path);
  }

  send(wr: Partial<SendWr>): void {
    this.post({ wrId: 1, opcode: WrOpcode.Send, ah: this.ah, remoteQpn: PEER_QPN, ...wr });
  }

  /** The subject takes datagrams and is silent. */
  take(...packets: readonly Packet[]): string[] {
    this.rx(...packets);
    this.silence();
    return this.completions();
  }
}

/** To the subject, from queue pair 77. */
const incoming = (psn: number, payload?: Uint8Array, fields: Partial<Packet> = {}): Packet => ({
  ...datagram({ psn, qkey: SUBJECT_QKEY, srcQpn: 77, ...(payload && { payload }) }),
  ...fields,
});

describe('a UD queue pair that sends', () => {
  it('sends one packet a message, across the wrap of PSNs, without asking for an ACK, and is done', () => {
    const peer = new UdPeer();
    const mr = peer.region({ length: 256 });
    const from = { qkey: 0x42, srcQpn: SUBJECT_QPN };
    peer.send({ wrId: 1, sges: [{ mr, length: 5 }], remoteQkey: 0x42, solicited: true });
    peer.send({ wrId: 2, opcode: WrOpcode.SendWithImm, immData: 0x99, remoteQkey: 0x42, sges: [{ mr }] });
    peer.send({ wrId: 3, inline: pattern(3), remoteQkey: 0x42, signaled: false });
    peer.expectTx([
      datagram({ ...from, psn: 0, payload: mr.bytes.slice(0, 5), solicited: true }),
      datagram({ ...from, psn: 1, payload: mr.bytes.slice(), imm: 0x99 }),
      datagram({ ...from, psn: 2, payload: pattern(3) }),
    ]);
    expect(peer.completions()).toEqual(['send 1 Success Send', 'send 2 Success Send']);
    expect([peer.qp.pending, peer.qp.nextDeadline()]).toEqual([false, Infinity]);
  });

  it.each([
    [undefined, SUBJECT_QKEY],
    [0x8000_0000, SUBJECT_QKEY],
    [0xffff_ffff, SUBJECT_QKEY],
    [0x7fff_ffff, 0x7fff_ffff],
    [0, 0],
  ])('UD-02 remoteQkey %i puts %i on the wire', (remoteQkey, qkey) => {
    const peer = new UdPeer();
    peer.send(remoteQkey === undefined ? {} : { remoteQkey });
    peer.expectTx([datagram({ psn: 0, qkey, srcQpn: SUBJECT_QPN })]);
  });

  it('LEN-18 sends nothing of a message above the MTU, counts it, and completes it', () => {
    const peer = new UdPeer();
    const mr = peer.region({ length: 257 });
    peer.send({ wrId: 1, sges: [{ mr }] });
    peer.send({ wrId: 2 });
    peer.expectTx([datagram({ psn: 0, qkey: SUBJECT_QKEY, srcQpn: SUBJECT_QPN })]);
    expect(peer.completions()).toEqual(['send 1 Success Send', 'send 2 Success Send']);
    expect(peer.counters.oversizedSend).toBe(1);
  });

  it('refuses what is no datagram before anything is queued', () => {
    const peer = new UdPeer();
    const mr = peer.region({ length: 8 });
    for (const wr of [
      { opcode: WrOpcode.RdmaWrite },
      { opcode: WrOpcode.RdmaRead },
      { opcode: WrOpcode.SendWithInv },
      { ah: undefined },
      { remoteQpn: undefined },
      { remoteQpn: 0 },
      { remoteQpn: 0x100_0000 },
      { remoteQkey: -1 },
      { remoteQkey: 2 ** 32 },
    ])
      expect(() => peer.send({ sges: [{ mr }], ...wr } as Partial<SendWr>)).toThrow(
        expect.objectContaining({ code: 'ERR_ROCE_ARGUMENT' }),
      );
    const foreign = new AddressHandle(new Peer().pd, peer.ah.path);
    expect(() => peer.send({ ah: foreign })).toThrow(expect.objectContaining({ code: 'ERR_ROCE_ACCESS' }));
    expect(peer.qp.sendsOutstanding).toBe(0);
    peer.silence();
  });

  it('QPS-07 QPS-21 falls into SQE at a local fault; receives live on, and a modify brings it back', () => {
    const peer = new UdPeer();
    const mr = peer.region();
    peer.postRecv(9);
    peer.send({ wrId: 1, sges: [{ mr, length: 4 }] });
    peer.send({ wrId: 2 });
    peer.keys.deregister(mr);
    peer.silence();
    expect(peer.completions()).toEqual(['send 1 LocProtErr', 'send 2 WrFlushErr']);
    expect(peer.qp.state).toBe(QpState.Sqe);
    expect(peer.take(incoming(0))).toEqual(['recv 9 Success Recv 40 bytes from 77']);
    peer.send({ wrId: 3 });
    expect(peer.completions()).toEqual(['send 3 WrFlushErr']);
    peer.qp.modify({ state: QpState.Rts, qkey: 5 });
    peer.send({ wrId: 4 });
    peer.expectTx([datagram({ psn: 0, qkey: 5, srcQpn: SUBJECT_QPN })]);
  });

  it('QPS-06 is drained at once in SQD, and sends what was posted there in RTS', () => {
    const peer = new UdPeer();
    peer.qp.modify({ state: QpState.Sqd });
    expect(peer.events()).toEqual(['sq-drained']);
    peer.send({});
    peer.silence();
    peer.qp.modify({ state: QpState.Rts });
    expect(peer.drain()).toHaveLength(1);
  });
});

describe('a UD queue pair that receives', () => {
  it('UD-03 UD-04 UD-06 UD-08 takes a datagram of any PSN behind the IP header, and says who sent it', () => {
    const peer = new UdPeer();
    const buffers = [1, 2, 3].map((wrId) => peer.postRecv(wrId, 300));
    const last = incoming(0, pattern(256), { solicited: true, srcQpn: 0xff_ff_fe, opcode: 0x65, imm: 3 });
    expect(peer.take(incoming(5, pattern(7)), incoming(5), last)).toEqual([
      'recv 1 Success Recv 47 bytes from 77',
      'recv 2 Success Recv 40 bytes from 77',
      'recv 3 Success Recv 296 bytes imm 0x3 from 16777214 solicited',
    ]);
    const [first] = buffers;
    if (first === undefined) throw new Error('three buffers');
    expect(first.bytes.subarray(0, 20)).toEqual(new Uint8Array(20));
    expect([first.bytes[20], first.view.getUint32(32), first.view.getUint32(36)]).toEqual([
      0x45,
      PEER_IP.w3,
      SUBJECT_IP.w3,
    ]);
    expect(first.bytes.subarray(GRH_BYTES, GRH_BYTES + 7)).toEqual(pattern(7));
  });

  it.each<[string, Packet, keyof Peer['counters']]>([
    ['UD-01 another Q_Key', incoming(0, pattern(4), { qkey: SUBJECT_QKEY ^ 1 }), 'qkeyViolation'],
    ['UD-01 the well-known bit in the Q_Key', incoming(0, pattern(4), { qkey: 0x8000_0000 }), 'qkeyViolation'],
    ['PKQ-03 another P_Key', incoming(0, pattern(4), { pkey: 0x8001 }), 'badPkey'],
    ['UD-10 a SEND of RC', sendOnly({ psn: 0, payload: pattern(4) }), 'badService'],
    ['UD-10 a SEND of UC', { opcode: 0x24, psn: 0, payload: pattern(4) }, 'badService'],
    ['a payload that does not fill words', incoming(0, pattern(5), { pad: 0 }), 'badLength'],
    ['UD-05 more than the receive holds', incoming(0, pattern(257)), 'bufferTooSmall'],
  ])('UD-14 SEC-18 %s vanishes, is counted, and costs no receive', (_what, packet, counter) => {
    const peer = new UdPeer();
    peer.postRecv(1, GRH_BYTES + 256);
    expect(peer.take(packet)).toEqual([]);
    expect(peer.counters[counter]).toBe(1);
    expect(peer.qp.state).toBe(QpState.Rts);
    expect(peer.take(incoming(0, pattern(256)))).toEqual(['recv 1 Success Recv 296 bytes from 77']);
    expect(peer.events()).toEqual([]);
  });

  it('RNR-17 without a receive a datagram is gone', () => {
    const peer = new UdPeer();
    expect(peer.take(incoming(0))).toEqual([]);
    expect(peer.counters.noReceive).toBe(1);
    peer.postRecv(1);
    expect(peer.take(incoming(0))).toEqual(['recv 1 Success Recv 40 bytes from 77']);
  });

  it('a receive of fewer than 40 bytes takes nothing, and is flushed first', () => {
    const peer = new UdPeer();
    peer.postRecv(1, 39);
    peer.postRecv(2);
    expect(peer.take(incoming(0), incoming(1))).toEqual([]);
    expect(peer.counters.bufferTooSmall).toBe(2);
    peer.qp.modify({ state: QpState.Error });
    expect(peer.completions()).toEqual(['recv 1 WrFlushErr', 'recv 2 WrFlushErr']);
  });

  it('UD-07 the other opcodes of the service are silence', () => {
    const peer = new UdPeer();
    peer.postRecv(1);
    for (let opcode = 0x60; opcode < 0x80; opcode++)
      if (opcode !== 0x64 && opcode !== 0x65) peer.rx({ opcode, psn: 0 });
    peer.silence();
    expect([peer.stopped.length, peer.qp.receivesPosted]).toEqual([30, 1]);
  });

  it('takes a datagram from anywhere, and in RTR', () => {
    const peer = new UdPeer({ state: QpState.Rtr });
    peer.postRecv(1);
    expect(peer.take(incoming(0, undefined, { source: '198.51.100.9', sourcePort: 9 }))).toHaveLength(1);
    expect(peer.events()).toEqual([]);
  });

  it.each([QpState.Init, QpState.Error])('drops everything in state %i', (state) => {
    const peer = new UdPeer({ state });
    expect(peer.take(incoming(0))).toEqual([]);
    expect(peer.counters.badState).toBe(1);
  });

  it('a receive whose memory is gone fails and takes the queue pair to ERROR', () => {
    const peer = new UdPeer();
    peer.keys.deregister(peer.postRecv(1));
    expect(peer.take(incoming(0))).toEqual(['recv 1 LocProtErr']);
    expect(peer.qp.state).toBe(QpState.Error);
  });

  it('QPS-13 a completion without room takes the queue pair to ERROR', () => {
    const peer = new UdPeer({ cqSize: 1 });
    for (const wrId of [1, 2]) peer.postRecv(wrId);
    peer.rx(incoming(0), incoming(1));
    expect([peer.qp.state, peer.events().includes('qp-fatal')]).toEqual([QpState.Error, true]);
  });

  it('UD-12 an application does not get a Q_Key of management', () => {
    const peer = new UdPeer();
    for (const qkey of [0x8001_0000, 0x8000_0000])
      expect(() => peer.qp.modify({ qkey })).toThrow(expect.objectContaining({ code: 'ERR_ROCE_ACCESS' }));
    expect(peer.qp.config.qkey).toBe(SUBJECT_QKEY);
  });
});
