/**
 * Goal: what verbs forbid is refused at once and in the same words wherever the stack runs. Method: the same
 * conversations with a device in this thread and with one in a worker; the expectations are written once.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Access, IpAddress, QpState, WrOpcode } from '../../../src/index.ts';
import {
  ALL,
  type Cable,
  connectSides,
  freshPort,
  makeSide,
  openCable,
  PLACEMENTS,
  refusal,
  rejection,
  success,
  THEIRS,
} from './support.ts';

describe.each(PLACEMENTS)('a device in the thread of the %s', (placement) => {
  let cable: Cable;
  beforeAll(async () => {
    cable = await openCable(placement);
  });
  afterAll(() => cable.close());

  describe('refuses at once, in the same words', () => {
    it('what a queue pair does not take', async () => {
      const { ours, theirs } = await connectSides(cable);
      const { qp, mr } = ours;
      const { Send, RdmaWrite, RdmaRead, AtomicFetchAndAdd } = WrOpcode;
      const inline = new Uint8Array(65);
      const five = Array.from({ length: 5 }, () => ({ mr }));
      expect(
        [
          () => qp.postSend({ wrId: 1, opcode: 99 as never }),
          () => qp.postSend({ wrId: 1, opcode: Send, inline }),
          () => qp.postSend({ wrId: 1, opcode: Send, inline: new Uint8Array(1), sges: [{ mr }] }),
          () => qp.postSend({ wrId: 1, opcode: RdmaRead, inline: new Uint8Array(1) }),
          () => qp.postSend({ wrId: 1, opcode: Send, sges: five }),
          () => qp.postSend({ wrId: 1, opcode: Send, sges: [{ mr, offset: -1 }] }),
          () => qp.postSend({ wrId: 1, opcode: AtomicFetchAndAdd, sges: [{ mr, length: 4 }] }),
          () => qp.postSend({ wrId: 1, opcode: RdmaWrite, remoteAddr: -1n }),
          () => qp.postSend({ wrId: 1, opcode: RdmaWrite, rkey: 2 ** 32 }),
          () => qp.postRecv({ wrId: 1, sges: five }),
          () => qp.modifyNow({ state: QpState.Init }),
          () => qp.modifyNow({ state: QpState.Sqd, retryCnt: 9 }),
        ].map(refusal),
      ).toEqual([
        'ERR_ROCE_ARGUMENT: there is no send opcode 99',
        'ERR_ROCE_ARGUMENT: 65 bytes of inline data, at most 64 are allowed',
        'ERR_ROCE_ARGUMENT: a work request has inline data or SGEs, not both',
        'ERR_ROCE_ARGUMENT: inline data is for SEND and WRITE; READ and atomics need SGEs',
        'ERR_ROCE_ARGUMENT: 5 SGEs, at most 4 are allowed',
        'ERR_ROCE_ARGUMENT: offset and length of an SGE are whole numbers of bytes, 0 or more',
        'ERR_ROCE_ARGUMENT: an atomic answers with 8 bytes; its SGEs hold 4',
        'ERR_ROCE_ARGUMENT: remoteAddr, compareAdd and swap are unsigned 64-bit values',
        'ERR_ROCE_ARGUMENT: rkey, immData and invalidateRkey are unsigned 32-bit values',
        'ERR_ROCE_ARGUMENT: 5 SGEs, at most 4 are allowed',
        'ERR_ROCE_STATE: a queue pair cannot move from RTS to INIT',
        'ERR_ROCE_ARGUMENT: retryCnt cannot change from RTS to SQD',
      ]);
      // And is none the worse for it.
      theirs.qp.postRecv({ wrId: 1, sges: [{ mr: theirs.mr }] });
      qp.postSend({ wrId: 2, opcode: Send, inline: Uint8Array.of(1) });
      expect([(await success(ours.cq)).wrId, (await success(theirs.cq)).wrId]).toEqual([2, 1]);
    });

    it('posts in a state that takes none, and posts without room', async () => {
      const { device } = cable.ours;
      const pd = device.allocPd();
      const cq = device.createCq(16);
      const qp = pd.createQp({ sendCq: cq, recvCq: cq, maxSendWr: 3, maxRecvWr: 2 });
      const send = () => qp.postSend({ wrId: 1, opcode: WrOpcode.Send });
      expect([send, () => qp.postRecv({ wrId: 1 })].map(refusal)).toEqual([
        'ERR_ROCE_STATE: cannot post a send in state RESET',
        'ERR_ROCE_STATE: cannot post a receive in state RESET',
      ]);
      qp.modifyNow({ state: QpState.Init, access: ALL });
      expect([qp.state, qp.stateName]).toEqual([QpState.Init, 'INIT']);
      qp.postRecv({ wrId: 1 });
      qp.postRecv({ wrId: 2 });
      expect([() => qp.postRecv({ wrId: 3 }), send].map(refusal)).toEqual([
        'ERR_ROCE_QUEUE_FULL: all 2 receive work requests are outstanding',
        'ERR_ROCE_STATE: cannot post a send in state INIT',
      ]);
      qp.modifyNow({ state: QpState.Error });
      expect(cq.length).toBe(2);
      send();
      expect(cq.length).toBe(3);
      qp.modifyNow({ state: QpState.Reset });
      qp.modifyNow({ state: QpState.Init, access: ALL });
      expect([1, 2, 3].map((wrId) => refusal(() => qp.postRecv({ wrId })))).toEqual([
        'nothing',
        'nothing',
        'ERR_ROCE_QUEUE_FULL: all 2 receive work requests are outstanding',
      ]);
      qp.destroy();
    });

    it('a send queue that drains takes as many as it holds', async () => {
      const { device } = cable.ours;
      const pd = device.allocPd();
      const cq = device.createCq(16);
      const side = { device, pd, cq, qp: pd.createQp({ sendCq: cq, recvCq: cq, maxSendWr: 3 }), mr: pd.regMr(8) };
      const { ours } = await connectSides(cable, side);
      ours.qp.modifyNow({ state: QpState.Sqd });
      const write = () => ours.qp.postSend({ wrId: 1, opcode: WrOpcode.RdmaWrite });
      expect([write, write, write, write].map(refusal)).toEqual([
        'nothing',
        'nothing',
        'nothing',
        'ERR_ROCE_QUEUE_FULL: all 3 send work requests are outstanding',
      ]);
      ours.qp.modifyNow({ state: QpState.Rts });
      for (let i = 0; i < 3; i++) await success(cq);
      expect((await ours.qp.events.next()).value).toBe('sq-drained');
    });

    it('what a device does not make or free', async () => {
      const { device } = cable.ours;
      const { pd, cq, qp, mr } = makeSide(device);
      const { cm } = device;
      const port = freshPort();
      const listener = cm.listen(port);
      expect(
        [
          () => device.createCq(0),
          () => device.createCq(2 ** 23),
          () => pd.regMr(8, { access: Access.RemoteWrite }),
          () => pd.regMr(8, { access: 64 }),
          () => pd.regMr(8, { iova: 2n ** 64n - 4n }),
          () => pd.createQp({ sendCq: cq, recvCq: cq, maxSge: 33 }),
          () => device.destroyCq(cq),
          () => pd.dealloc(),
          () => cm.listen(port),
        ].map(refusal),
      ).toEqual([
        'ERR_ROCE_ARGUMENT: a completion queue has room for at least one entry',
        'ERR_ROCE_ARGUMENT: a completion queue has at most 4194304 entries',
        'ERR_ROCE_ARGUMENT: remote write and remote atomic access need local write access',
        'ERR_ROCE_ARGUMENT: unknown access flags 0x40',
        'ERR_ROCE_ARGUMENT: the region must lie within the 64-bit address space',
        'ERR_ROCE_ARGUMENT: maxSge is a whole number from 0 to 32',
        'ERR_ROCE_IN_USE: 2 queue pairs still complete into this queue',
        `ERR_ROCE_IN_USE: 2 regions or queue pairs still use this protection domain`,
        `ERR_ROCE_IN_USE: port ${port} is listened on already`,
      ]);
      listener.close();
      cm.listen(port).close();
      pd.deregMr(mr);
      expect(refusal(() => pd.deregMr(mr))).toBe('ERR_ROCE_STATE: the region is not registered');
      expect(mr.valid).toBe(false);
      qp.destroy();
    });

    it('what promises cannot keep', async () => {
      const { device } = cable.ours;
      const { qp } = makeSide(device);
      const nobody = IpAddress.parse('10.0.0.77');
      const { cm } = device;
      expect(await rejection(cm.connect({ address: 'nonsense', port: 1, qp }))).toBe(
        'ERR_ROCE_ADDRESS: not an IPv4 or IPv6 address: "nonsense"',
      );
      expect(await rejection(cm.connect({ address: THEIRS, port: 1, qp, mtu: 8192 }))).toBe(
        'ERR_ROCE_ARGUMENT: path MTU 8192 exceeds the 4096 bytes this link carries',
      );
      expect(refusal(() => qp.modifyNow({ state: QpState.Init, access: 0 }))).toBe('nothing');
      expect(refusal(() => qp.modifyNow({ state: QpState.Rtr, av: { destination: nobody } }))).toBe(
        'ERR_ROCE_ADDRESS: the link address of 10.0.0.77 is not known',
      );
      expect(await rejection(qp.modify({ state: QpState.Rtr }))).toBe(
        'ERR_ROCE_ARGUMENT: INIT to RTR needs path, destQpn, rqPsn, mtu, maxDestRdAtomic, minRnrTimer',
      );
    });
  });
});
