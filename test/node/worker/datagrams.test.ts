/**
 * Goal: services without a connection, and without acknowledges, work alike wherever the stack runs: datagrams, address
 * handles, groups, UC. Method: the same conversations with a device in this thread and with one in a worker; the
 * expectations are written once.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  IpAddress,
  type MemoryRegion,
  QpState,
  QpType,
  type RdmaAh,
  type RdmaDevice,
  WcOpcode,
  WcStatus,
  WrOpcode,
} from '../../../src/index.ts';
import {
  ALL,
  type Cable,
  freshPort,
  makeSide,
  makeUd,
  OURS,
  openCable,
  PLACEMENTS,
  QKEY,
  refusal,
  rejection,
  success,
  THEIRS,
  type UdSide,
  until,
} from './support.ts';

const GRH = 40;
const to = (address: string) => ({ destination: IpAddress.parse(address) });
const receive = ({ qp, mr }: UdSide, wrId = 1) => qp.postRecv({ wrId, sges: [{ mr, length: 256 }] });
const data = (mr: MemoryRegion, length: number) => [...mr.bytes.subarray(GRH, GRH + length)];

describe.each(PLACEMENTS)('a device in the thread of the %s', (placement) => {
  let cable: Cable;
  let ours: UdSide;
  let theirs: UdSide;
  beforeAll(async () => {
    cable = await openCable(placement);
  });
  afterAll(() => cable.close());

  /** Both ways. */
  const directions = () => {
    ours = makeUd(cable.ours.device);
    theirs = makeUd(cable.theirs.device);
    return [
      [ours, theirs, THEIRS],
      [theirs, ours, OURS],
    ] as const;
  };

  it.each([
    ['IPv4', { [OURS]: OURS, [THEIRS]: THEIRS }],
    ['IPv6', { [OURS]: 'fd00::1', [THEIRS]: 'fd00::2' }],
  ])('sends datagrams over %s, which are answered from their own first 40 bytes', async (_version, names) => {
    for (const [from, into, address] of directions()) {
      receive(into, 7);
      receive(from, 8);
      const ah = await from.pd.createAh({ ...to(names[address]), hopLimit: 9, trafficClass: 4 });
      expect([`${ah.av.destination}`, ah.av.hopLimit, ah.pd]).toEqual([names[address], 9, from.pd]);
      from.mr.bytes.set([1, 2, 3], 500);
      const sges = [{ mr: from.mr, offset: 500, length: 3 }];
      const remote = { ah, remoteQpn: into.qp.qpn, remoteQkey: QKEY };
      from.qp.postSend({
        wrId: 1,
        opcode: WrOpcode.SendWithImm,
        sges,
        immData: 0xdead_beef,
        solicited: true,
        ...remote,
      });
      expect(await success(from.cq)).toMatchObject({
        wrId: 1,
        opcode: WcOpcode.Send,
        grh: false,
        ipVersion: 0,
        srcQpn: 0,
      });
      const wc = await success(into.cq);
      expect(wc).toMatchObject({ wrId: 7, byteLen: GRH + 3, immData: 0xdead_beef, solicited: true });
      expect(wc).toMatchObject({ grh: true, srcQpn: from.qp.qpn, qpn: into.qp.qpn });
      expect(data(into.mr, 4)).toEqual([1, 2, 3, 0]);
      const back = await into.pd.createAhFromWc(wc, into.mr.bytes.subarray(0, GRH));
      expect([`${back.av.source}`, back.av.hopLimit, back.av.trafficClass]).toEqual([names[address], 9, 4]);
      // Its own Q_Key is what a sender names by default.
      into.qp.postSend({ wrId: 2, opcode: WrOpcode.Send, inline: Uint8Array.of(9), ah: back, remoteQpn: wc.srcQpn });
      expect(await success(into.cq)).toMatchObject({ wrId: 2 });
      expect(await success(from.cq)).toMatchObject({ wrId: 8, byteLen: GRH + 1, srcQpn: into.qp.qpn });
      expect(data(from.mr, 1)).toEqual([9]);
      for (const one of [ah, back]) one.destroy();
    }
  });

  it('counts a datagram with another Q_Key, and completes one that is too long for the port', async () => {
    for (const [from, into, address] of directions()) {
      receive(into);
      const ah = await from.pd.createAh(to(address));
      const send = { opcode: WrOpcode.Send, ah, remoteQpn: into.qp.qpn } as const;
      const before = into.pd.device.portCounters.qkeyViolation;
      from.qp.postSend({ wrId: 1, inline: Uint8Array.of(1), remoteQkey: QKEY + 1, ...send });
      from.qp.postSend({ wrId: 2, sges: [{ mr: from.mr, length: 5000 }], ...send });
      from.qp.postSend({ wrId: 3, inline: Uint8Array.of(3), signaled: false, ...send });
      expect([(await success(from.cq)).wrId, (await success(from.cq)).wrId]).toEqual([1, 2]);
      expect(await success(into.cq)).toMatchObject({ wrId: 1, byteLen: GRH + 1 });
      expect(data(into.mr, 1)).toEqual([3]);
      expect(into.pd.device.portCounters.qkeyViolation).toBe(before + 1);
    }
  });

  it('stops sending after a fault of its own, says so, and goes on when it is told to', async () => {
    for (const [from, into, address] of directions()) {
      receive(into);
      const ah = await from.pd.createAh(to(address));
      const send = { opcode: WrOpcode.Send, ah, remoteQpn: into.qp.qpn } as const;
      const gone = from.pd.regMr(8);
      from.pd.deregMr(gone);
      from.qp.postSend({ wrId: 1, sges: [{ mr: gone, length: 8 }], ...send });
      expect((await from.cq.next()).value).toMatchObject({ wrId: 1, status: WcStatus.LocProtErr });
      expect(from.qp.stateName).toBe('SQE');
      const before = from.cq.length;
      from.qp.postSend({ wrId: 2, ...send });
      expect(from.cq.length).toBe(before + 1);
      expect((await from.cq.next()).value).toMatchObject({ wrId: 2, status: WcStatus.WrFlushErr });
      from.qp.modifyNow({ state: QpState.Rts });
      from.qp.postSend({ wrId: 3, inline: Uint8Array.of(5), ...send });
      expect([(await success(from.cq)).wrId, (await success(into.cq)).wrId]).toEqual([3, 1]);
    }
  });

  it('refuses datagrams that go nowhere, in the same words', async () => {
    for (const [from, into, address] of directions()) {
      const other = makeUd(from.pd.device);
      const [ah, foreign, far] = await Promise.all([
        from.pd.createAh(to(address)),
        other.pd.createAh(to(address)),
        into.pd.createAh(to(address === OURS ? THEIRS : OURS)),
      ]);
      const send = (more: { ah?: RdmaAh; remoteQpn?: number; remoteQkey?: number; opcode?: WrOpcode }) => () =>
        from.qp.postSend({ wrId: 1, opcode: WrOpcode.Send, remoteQpn: 5, ah, ...more });
      const gone = await from.pd.createAh(to(address));
      gone.destroy();
      gone.destroy();
      expect(
        [
          send({ ah: gone }),
          send({ ah: foreign }),
          send({ ah: far }),
          send({ remoteQpn: 0 }),
          send({ remoteQkey: -1 }),
          send({ opcode: WrOpcode.RdmaWrite }),
          () => from.qp.postSend({ wrId: 1, opcode: WrOpcode.Send, remoteQpn: 5 }),
          () => makeSide(from.pd.device).pd.createQp({ sendCq: from.cq, recvCq: from.cq, type: QpType.XrcRecv }),
          () => from.qp.modifyNow({ state: QpState.Init, qkey: 0x80_00_00_00 }),
        ].map(refusal),
      ).toEqual([
        'ERR_ROCE_ARGUMENT: a datagram needs an address handle that lives',
        'ERR_ROCE_ACCESS: the address handle belongs to another protection domain than the queue pair',
        'ERR_ROCE_ACCESS: the address handle belongs to another protection domain than the queue pair',
        'ERR_ROCE_ARGUMENT: a datagram needs a remoteQpn from 1 to 0xffffff',
        'ERR_ROCE_ARGUMENT: remoteQkey is an unsigned 32-bit value',
        'ERR_ROCE_ARGUMENT: UD queue pairs do not have send opcode 0',
        'ERR_ROCE_ARGUMENT: a datagram needs an address handle that lives',
        'ERR_ROCE_ARGUMENT: a protection domain makes no queue pair of type 10',
        'ERR_ROCE_STATE: a queue pair cannot move from RTS to INIT',
      ]);
      expect(await rejection(from.pd.createAhFromWc({ grh: true }, new Uint8Array(39)))).toBe(
        'ERR_ROCE_ARGUMENT: the first 40 bytes received do not hold the header of a datagram',
      );
      expect(await rejection(from.pd.createAhFromWc({ grh: false }, new Uint8Array(40)))).toMatch(/^ERR_ROCE_ARGUMENT/);
      const strange = { ...to(address), source: IpAddress.parse('10.0.0.77') };
      expect(await rejection(from.pd.createAh(strange))).toBe(
        'ERR_ROCE_ADDRESS: 10.0.0.77 is not an address of this device',
      );
      // The domain counts what lives.
      const users = 'ERR_ROCE_IN_USE: 3 regions or queue pairs still use this protection domain';
      expect(refusal(() => from.pd.dealloc())).toBe(users);
      for (const one of [ah, far]) one.destroy();
      expect(refusal(() => from.pd.dealloc())).toBe(users.replace('3', '2'));
    }
  });

  it('sends to a group, and hears it, until it is detached', async () => {
    for (const group of ['239.1.2.3', 'ff3e::7'].map((text) => IpAddress.parse(text))) {
      for (const [from, into] of directions()) {
        for (const wrId of [1, 2]) receive(into, wrId);
        await into.qp.attachMcast(group);
        const ah = await from.pd.createAh({ destination: group });
        const send = { opcode: WrOpcode.Send, ah, remoteQpn: 0xff_ff_ff } as const;
        from.qp.postSend({ wrId: 1, inline: Uint8Array.of(4, 5), ...send });
        expect(await success(into.cq)).toMatchObject({ wrId: 1, byteLen: GRH + 2, srcQpn: from.qp.qpn });
        expect(data(into.mr, 2)).toEqual([4, 5]);
        await success(from.cq);
        into.qp.detachMcast(group);
        expect(refusal(() => into.qp.detachMcast(group))).toBe(
          `ERR_ROCE_ARGUMENT: the queue pair is not attached to ${group}`,
        );
        const { device } = into.pd;
        const before = device.counters.otherGroup;
        from.qp.postSend({ wrId: 2, inline: Uint8Array.of(6), ...send });
        await until(() => device.counters.otherGroup > before);
        await success(from.cq);
        expect(into.cq.length).toBe(0);
      }
    }
  });

  it('attaches nothing else to a group', async () => {
    directions();
    const group = IpAddress.parse('239.1.2.3');
    expect(await rejection(makeSide(cable.ours.device).qp.attachMcast(group))).toBe(
      'ERR_ROCE_ARGUMENT: only UD queue pairs are attached to multicast groups',
    );
    expect(await rejection(ours.qp.attachMcast(IpAddress.parse(THEIRS)))).toBe(
      'ERR_ROCE_ARGUMENT: 10.0.0.2 is not a multicast group',
    );
    ours.qp.destroy();
    const gone = 'ERR_ROCE_CLOSED: the queue pair is destroyed';
    expect(await rejection(ours.qp.attachMcast(group))).toBe(gone);
    expect(refusal(() => ours.qp.detachMcast(group))).toBe(gone);
    expect([ours.qp.stateName, ours.qp.type]).toEqual(['ERR', QpType.Ud]);
  });

  it('connects unreliable queue pairs by hand and by the connection manager', async () => {
    const { pd, cq, mr } = makeSide(cable.ours.device);
    const far = makeSide(cable.theirs.device);
    const uc = (device: RdmaDevice) => {
      const side = device === cable.ours.device ? { pd, cq } : far;
      return side.pd.createQp({ type: QpType.Uc, sendCq: side.cq, recvCq: side.cq });
    };
    const [left, right] = [uc(cable.ours.device), uc(cable.theirs.device)];
    for (const [qp, peer, address] of [
      [left, right, THEIRS],
      [right, left, OURS],
    ] as const) {
      qp.modifyNow({ state: QpState.Init, access: ALL });
      await qp.modify({ state: QpState.Rtr, av: to(address), destQpn: peer.qpn, rqPsn: 5, mtu: 1024 });
      qp.modifyNow({ state: QpState.Rts, sqPsn: 5 });
    }
    const port = freshPort();
    const listener = cable.theirs.device.cm.listen(port, { services: ['uc'] });
    const [asking, asked] = [uc(cable.ours.device), uc(cable.theirs.device)];
    const accepting = listener.next().then(({ value }) => value.accept({ qp: asked }));
    await Promise.all([cable.ours.device.cm.connect({ address: THEIRS, port, qp: asking }), accepting]);
    listener.close();
    for (const [from, into] of [
      [left, right],
      [asking, asked],
    ] as const) {
      expect([from.type, into.type, from.stateName]).toEqual([QpType.Uc, QpType.Uc, 'RTS']);
      into.postRecv({ wrId: 1 });
      mr.bytes.fill(0x77, 0, 3000);
      const remote = { remoteAddr: far.mr.iova, rkey: far.mr.rkey, sges: [{ mr, length: 3000 }] };
      far.mr.bytes.fill(0);
      from.postSend({ wrId: 2, opcode: WrOpcode.RdmaWriteWithImm, immData: 1, ...remote });
      expect(await success(cq)).toMatchObject({ wrId: 2, opcode: WcOpcode.RdmaWrite });
      expect(await success(far.cq)).toMatchObject({ wrId: 1, opcode: WcOpcode.RecvRdmaWithImm, byteLen: 3000 });
      expect(far.mr.bytes.lastIndexOf(0x77)).toBe(2999);
      expect(refusal(() => from.postSend({ wrId: 3, opcode: WrOpcode.RdmaRead, ...remote }))).toBe(
        'ERR_ROCE_ARGUMENT: UC queue pairs do not have send opcode 4',
      );
    }
  });
});
