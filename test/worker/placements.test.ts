/**
 * Goal: an application cannot tell where the stack runs, but by what it does with time. Method: the same conversations and the
 * same mistakes with a device in this thread and with one in a worker; the expectations are written once.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  Access,
  CmRejReason,
  ConnectionRejected,
  IpAddress,
  openDevice,
  QpState,
  WcOpcode,
  WcStatus,
  WorkCompletion,
  WrOpcode,
} from '../../src/index.ts';
import { WorkerCm } from '../../src/worker/worker-cm.ts';
import {
  ALL,
  type Cable,
  connectSides,
  freshPort,
  makeSide,
  OURS,
  openCable,
  openPlaced,
  PLACEMENTS,
  refusal,
  rejection,
  success,
  THEIRS,
  until,
} from './support.ts';

describe.each(PLACEMENTS)('a device in the thread of the %s', (placement) => {
  let cable: Cable;
  beforeAll(async () => {
    cable = await openCable(placement);
  });
  afterAll(() => cable.close());

  describe('moves bytes', () => {
    it('writes and reads in both directions', async () => {
      const { ours, theirs } = await connectSides(cable);
      for (const [from, to, fill] of [
        [ours, theirs, 0x11],
        [theirs, ours, 0x22],
      ] as const) {
        from.mr.bytes.fill(fill);
        to.mr.bytes.fill(0);
        const remote = { remoteAddr: to.mr.iova, rkey: to.mr.rkey };
        from.qp.postSend({ wrId: 1, opcode: WrOpcode.RdmaWrite, sges: [{ mr: from.mr }], ...remote });
        expect(await success(from.cq)).toMatchObject({ wrId: 1, opcode: WcOpcode.RdmaWrite, qpn: from.qp.qpn });
        expect(to.mr.bytes.every((byte) => byte === fill)).toBe(true);
        to.mr.bytes.fill(fill + 1);
        from.qp.postSend({ wrId: 2, opcode: WrOpcode.RdmaRead, sges: [{ mr: from.mr, length: 5000 }], ...remote });
        expect(await success(from.cq)).toMatchObject({ wrId: 2, opcode: WcOpcode.RdmaRead, byteLen: 5000 });
        expect(from.mr.bytes.subarray(0, 5001).filter((byte) => byte === fill + 1)).toHaveLength(5000);
      }
    });

    it('sends with everything a work request can carry', async () => {
      const { ours, theirs } = await connectSides(cable);
      for (const [from, to] of [
        [ours, theirs],
        [theirs, ours],
      ] as const) {
        for (let wrId = 0; wrId < 3; wrId++)
          to.qp.postRecv({ wrId, sges: [{ mr: to.mr, offset: 100 * wrId, length: 100 }] });
        const key = to.pd.regMr(8, { access: ALL, remoteInvalidate: true });
        to.mr.bytes.fill(0);
        from.mr.bytes.set([1, 2, 3, 4, 5, 6, 7, 8]);
        const sges = [
          { mr: from.mr, offset: 4, length: 4 },
          { mr: from.mr, offset: 0, length: 2 },
        ];
        from.qp.postSend({ wrId: 10, opcode: WrOpcode.SendWithImm, sges, immData: 0xfe_dc_ba_98, solicited: true });
        from.qp.postSend({
          wrId: 11,
          opcode: WrOpcode.SendWithInv,
          inline: Uint8Array.of(9, 8),
          invalidateRkey: key.rkey,
          signaled: false,
        });
        from.qp.postSend({ wrId: 12, opcode: WrOpcode.Send, inline: new Uint8Array(0), fence: true });
        expect(await success(to.cq)).toMatchObject({
          wrId: 0,
          opcode: WcOpcode.Recv,
          byteLen: 6,
          immData: 0xfe_dc_ba_98,
          invalidatedRkey: -1,
          solicited: true,
        });
        expect([...to.mr.bytes.subarray(0, 7)]).toEqual([5, 6, 7, 8, 1, 2, 0]);
        expect(await success(to.cq)).toMatchObject({ wrId: 1, immData: -1, invalidatedRkey: key.rkey, byteLen: 2 });
        expect([...to.mr.bytes.subarray(100, 103)]).toEqual([9, 8, 0]);
        expect(key.valid).toBe(false);
        expect(await success(to.cq)).toMatchObject({ wrId: 2, byteLen: 0 });
        expect([(await success(from.cq)).wrId, (await success(from.cq)).wrId]).toEqual([10, 12]);
        to.pd.deregMr(key);
      }
    });

    it('compares, swaps and adds', async () => {
      const { ours, theirs } = await connectSides(cable);
      for (const [from, to] of [
        [ours, theirs],
        [theirs, ours],
      ] as const) {
        to.mr.view.setBigUint64(0, 2n ** 63n + 5n, true);
        const sges = [{ mr: from.mr, length: 8 }];
        const remote = { sges, remoteAddr: to.mr.iova, rkey: to.mr.rkey };
        from.qp.postSend({ wrId: 1, opcode: WrOpcode.AtomicFetchAndAdd, compareAdd: 2n ** 63n, ...remote });
        expect(await success(from.cq)).toMatchObject({ opcode: WcOpcode.FetchAdd, byteLen: 8 });
        expect(from.mr.view.getBigUint64(0, true)).toBe(2n ** 63n + 5n);
        from.qp.postSend({
          wrId: 1,
          opcode: WrOpcode.AtomicCmpAndSwp,
          compareAdd: 5n,
          swap: 2n ** 64n - 1n,
          ...remote,
        });
        await success(from.cq);
        expect([from.mr.view.getBigUint64(0, true), to.mr.view.getBigUint64(0, true)]).toEqual([5n, 2n ** 64n - 1n]);
      }
    });

    it('keeps the order of a thousand messages, polled or awaited', async () => {
      const { ours, theirs } = await connectSides(cable, makeSide(cable.ours.device, 1 << 16, 1024));
      const COUNT = 1000;
      const received: number[] = [];
      let posted = 0;
      const post = (): void => {
        if (posted === COUNT) return;
        ours.qp.postRecv({ wrId: posted, sges: [{ mr: ours.mr, offset: 8 * posted, length: 8 }] });
        posted += 1;
      };
      while (posted < 128) post();
      const wc = new WorkCompletion();
      const reading = (async () => {
        for await (const { wrId, status } of ours.cq) {
          expect(status).toBe(WcStatus.Success);
          received.push(wrId);
          post();
          for (; ours.cq.poll(wc); post()) received.push(wc.wrId);
          if (received.length === COUNT) return;
        }
      })();
      for (let i = 0; i < COUNT; i++) {
        const inline = new Uint8Array(8);
        new DataView(inline.buffer).setFloat64(0, i);
        theirs.qp.postSend({ wrId: i, opcode: WrOpcode.Send, inline });
        if (i >= 100) await success(theirs.cq);
      }
      await reading;
      const all = Array.from({ length: COUNT }, (_, i) => i);
      expect(received).toEqual(all);
      expect(all.map((i) => ours.mr.view.getFloat64(8 * i))).toEqual(all);
    });

    it('fills a send queue over and over, without completions', async () => {
      const { ours, theirs } = await connectSides(cable);
      const remote = { remoteAddr: theirs.mr.iova, rkey: theirs.mr.rkey };
      for (let i = 0; i < 1000; i++) {
        ours.mr.view.setUint32(4 * i, i);
        const sges = [{ mr: ours.mr, offset: 4 * i, length: 4 }];
        const wr = { wrId: i, opcode: WrOpcode.RdmaWrite, sges, signaled: i === 999, ...remote };
        wr.remoteAddr += BigInt(4 * i);
        // Room comes without a completion: the queue is asked until there is some.
        await until(() => refusal(() => ours.qp.postSend(wr)) === 'nothing');
      }
      expect((await success(ours.cq)).wrId).toBe(999);
      expect(Array.from({ length: 1000 }, (_, i) => theirs.mr.view.getUint32(4 * i)).every((n, i) => n === i)).toBe(
        true,
      );
    });
  });

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
        'ERR_ROCE_ARGUMENT: send opcode 99 is not one an RC queue pair supports',
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

  describe('connects', () => {
    it('with private data of both sides, and tells who asks', async () => {
      const ours = makeSide(cable.ours.device);
      const theirs = makeSide(cable.theirs.device);
      for (const [from, to, address, source] of [
        [ours, theirs, THEIRS, OURS],
        [theirs, makeSide(cable.ours.device), OURS, THEIRS],
      ] as const) {
        const caller = from === theirs ? makeSide(cable.theirs.device) : from;
        const port = freshPort();
        const listener = to.device.cm.listen(port, 4);
        const said = Uint8Array.of(1, 2, 3);
        const connecting = caller.device.cm.connect({ address, port, qp: caller.qp, privateData: said.subarray(1) });
        const { value: request } = await listener.next();
        expect(listener.port).toBe(port);
        expect(`${request.remoteAddress} ${request.localAddress}`).toBe(`${source} ${address}`);
        expect([...request.privateData.subarray(0, 3)]).toEqual([2, 3, 0]);
        expect([request.initiatorDepth, request.responderResources]).toEqual([16, 16]);
        expect(request.remotePort).toBeGreaterThan(0);
        const passive = await request.accept({ qp: to.qp, privateData: Uint8Array.of(7) });
        const active = await connecting;
        expect([...active.privateData.subarray(0, 2)]).toEqual([7, 0]);
        expect([active.qp, passive.qp]).toEqual([caller.qp, to.qp]);
        expect([caller.qp.stateName, to.qp.stateName]).toEqual(['RTS', 'RTS']);
        expect(`${active.remoteAddress} ${passive.remoteAddress}`).toBe(`${address} ${source}`);
        expect(await rejection(request.accept({ qp: to.qp }))).toBe(
          'ERR_ROCE_STATE: the request was answered or withdrawn already',
        );
        listener.close();
        await active.disconnect();
      }
    });

    it('rejects and is rejected, with a reason and private data', async () => {
      const ours = makeSide(cable.ours.device);
      const theirs = makeSide(cable.theirs.device);
      for (const [from, to, address] of [
        [ours, theirs, THEIRS],
        [theirs, ours, OURS],
      ] as const) {
        const port = freshPort();
        const listener = to.device.cm.listen(port);
        const connecting = from.device.cm.connect({ address, port, qp: from.qp });
        const caught = connecting.catch((error: unknown) => error);
        const { value: request } = await listener.next();
        request.reject(Uint8Array.of(4, 5, 6));
        const error = await caught;
        expect(error).toBeInstanceOf(ConnectionRejected);
        expect(error).toMatchObject({
          code: 'ERR_ROCE_REJECTED',
          reason: CmRejReason.ConsumerDefined,
          name: 'RoceError',
        });
        expect([...((error as ConnectionRejected).privateData ?? []).subarray(0, 4)]).toEqual([4, 5, 6, 0]);
        expect(refusal(() => request.reject())).toBe('ERR_ROCE_STATE: the request was answered or withdrawn already');
        listener.close();
        expect(from.qp.stateName).toBe('ERR');
        from.qp.modifyNow({ state: QpState.Reset });
        const nobody = await from.device.cm
          .connect({ address, port, qp: from.qp })
          .catch((refused: unknown) => refused);
        expect(nobody).toMatchObject({ reason: CmRejReason.InvalidServiceId });
        from.qp.modifyNow({ state: QpState.Reset });
      }
    });

    it('disconnects from either side: what is outstanding is flushed, both ends are told how', async () => {
      for (const weBegin of [true, false]) {
        const { ours, theirs, ourEnd, theirEnd } = await connectSides(cable);
        for (const { qp, mr } of [ours, theirs])
          for (let wrId = 0; wrId < 3; wrId++) qp.postRecv({ wrId, sges: [{ mr }] });
        const [first, second] = weBegin ? [ourEnd, theirEnd] : [theirEnd, ourEnd];
        const cause = first.disconnect();
        expect(first.qp.stateName).toBe('ERR');
        expect([await cause, await second.closed]).toEqual(['drep', 'dreq']);
        for (const { cq, qp } of [ours, theirs]) {
          expect(qp.stateName).toBe('ERR');
          for (let wrId = 0; wrId < 3; wrId++)
            expect((await cq.next()).value).toMatchObject({ wrId, status: WcStatus.WrFlushErr });
        }
        expect([await first.disconnect(), await second.disconnect()]).toEqual(['drep', 'dreq']);
      }
    });

    it('tells of flushed work and of the end of the connection in one breath', async () => {
      const { ours, ourEnd, theirEnd } = await connectSides(cable);
      ours.qp.postRecv({ wrId: 1, sges: [{ mr: ours.mr }] });
      let ended = false;
      void ourEnd.closed.then(() => {
        ended = true;
      });
      const flushed = ours.cq.next();
      void theirEnd.disconnect();
      expect((await flushed).value?.status).toBe(WcStatus.WrFlushErr);
      for (let turn = 0; turn < 8 && !ended; turn++) await null;
      expect(ended).toBe(true);
    });

    it('tells of a refused access as an event', async () => {
      const { ours, theirs } = await connectSides(cable);
      theirs.qp.postSend({ wrId: 1, opcode: WrOpcode.RdmaWrite, sges: [{ mr: theirs.mr, length: 8 }], rkey: 1 });
      expect((await theirs.cq.next()).value).toMatchObject({ status: WcStatus.RemAccessErr });
      const seen: string[] = [];
      for await (const event of ours.qp.events) {
        seen.push(event);
        if (event !== 'comm-est') break;
      }
      expect(seen.at(-1)).toBe('qp-access-err');
      expect(ours.qp.stateName).toBe('ERR');
    });
  });

  describe('completion queues', () => {
    it('overrun where they are full, keep what they hold, and say so then', async () => {
      const { device } = cable.ours;
      const pd = device.allocPd();
      const cq = device.createCq(3);
      const qp = pd.createQp({ sendCq: cq, recvCq: cq });
      qp.modifyNow({ state: QpState.Init, access: 0 });
      for (let wrId = 0; wrId < 3; wrId++) qp.postRecv({ wrId });
      qp.modifyNow({ state: QpState.Error });
      expect([cq.capacity, cq.length, cq.overrun]).toEqual([3, 3, false]);
      const wc = new WorkCompletion();
      expect([cq.poll(wc), wc.wrId]).toEqual([true, 0]);
      qp.postRecv({ wrId: 3 });
      expect([cq.length, cq.overrun]).toEqual([3, false]);
      qp.postRecv({ wrId: 4 });
      expect([cq.length, cq.overrun]).toEqual([3, true]);
      expect([(await cq.next()).value.wrId, (await cq.next()).value.wrId, (await cq.next()).value.wrId]).toEqual([
        1, 2, 3,
      ]);
      expect(await rejection(cq.next())).toBe('ERR_ROCE_LIMIT: the completion queue of 3 entries has overrun');
      expect(cq.poll(wc)).toBe(false);
      qp.destroy();
      device.destroyCq(cq);
    });

    it('serve several who wait in their order, and are done when they are destroyed', async () => {
      const { ours, theirs } = await connectSides(cable);
      const waits = [ours.cq.next(), ours.cq.next(), ours.cq.next()];
      for (const wrId of [5, 6]) ours.qp.postRecv({ wrId, sges: [{ mr: ours.mr }] });
      for (const wrId of [1, 2]) theirs.qp.postSend({ wrId, opcode: WrOpcode.Send });
      expect([(await waits[0])?.value.wrId, (await waits[1])?.value.wrId]).toEqual([5, 6]);
      ours.qp.destroy();
      cable.ours.device.destroyCq(ours.cq);
      expect(await waits[2]).toEqual({ done: true, value: undefined });
      expect((await ours.cq.next()).done).toBe(true);
    });
  });

  it('frees a queue pair: its work vanishes, its events end, it takes nothing any more', async () => {
    const { ours } = await connectSides(cable);
    const before = cable.ours.device.qpCount;
    for (let wrId = 0; wrId < 4; wrId++) ours.qp.postRecv({ wrId });
    const events = (async () => {
      for await (const event of ours.qp.events) expect(event).toBe('comm-est');
    })();
    ours.qp.destroy();
    ours.qp.destroy();
    await events;
    expect([ours.qp.destroyed, ours.cq.length, cable.ours.device.qpCount]).toEqual([true, 0, before - 1]);
    const gone = 'ERR_ROCE_CLOSED: the queue pair is destroyed';
    expect(
      [
        () => ours.qp.postSend({ wrId: 1, opcode: WrOpcode.Send }),
        () => ours.qp.postRecv({ wrId: 1 }),
        () => ours.qp.modifyNow({ state: QpState.Error }),
      ].map(refusal),
    ).toEqual([gone, gone, gone]);
    ours.pd.deregMr(ours.mr);
    cable.ours.device.destroyCq(ours.cq);
    ours.pd.dealloc();
  });

  it('counts', async () => {
    const { device } = cable.ours;
    const before = device.portCounters.rcvdPkts;
    const { theirs } = await connectSides(cable);
    expect(device.portCounters.rcvdPkts).toBeGreaterThan(before);
    expect(device.counters.receivedFrames).toBeGreaterThan(0);
    expect(device.cm.size).toBeGreaterThan(0);
    expect(device.cm.counters()).toEqual(expect.objectContaining({}));
    expect(device).toMatchObject({ name: 'rocev2_0', activeMtu: 4096, linkMtu: 4200, pathTraits: {}, vlan: undefined });
    expect(device.addresses.map((prefix) => prefix.toString())).toEqual(['10.0.0.1/24', 'fd00::1/64']);
    expect(device.mac).toHaveLength(6);
    expect(device.guid).toBeGreaterThan(0n);
    await theirs.device.resolve(IpAddress.parse(OURS));
    await device.resolve(IpAddress.parse('fd00::2'));
  });
});

describe.each(PLACEMENTS)('the end of a device in the thread of the %s', (placement) => {
  it('ends every wait, makes nothing any more, and lets everything be freed', async () => {
    const cable = await openCable(placement);
    const { device } = cable.ours;
    const { ours, theirs, ourEnd } = await connectSides(cable);
    const idle = makeSide(device);
    const listener = device.cm.listen(freshPort());
    // They do not answer this one.
    const port = freshPort();
    cable.theirs.device.cm.listen(port);
    const connecting = rejection(device.cm.connect({ address: THEIRS, port, qp: idle.qp }));
    await until(() => idle.qp.stateName === 'INIT');
    const waits = Promise.all([ours.cq.next(), listener.next(), idle.qp.events.next()]);
    const closing = cable.ours.close();
    expect(await connecting).toBe('ERR_ROCE_CLOSED: the device was closed');
    expect((await waits).map(({ done }) => done)).toEqual([true, true, true]);
    expect(await ourEnd.closed).toBe('timeout');
    expect(await ourEnd.disconnect()).toBe('timeout');
    await Promise.all([closing, cable.ours.close()]);
    expect(await cable.ours.closed).toBeUndefined();
    const closed = 'ERR_ROCE_CLOSED: the device is closed';
    expect(
      [
        () => device.allocPd(),
        () => device.createCq(1),
        () => idle.pd.regMr(8),
        () => idle.pd.createQp({ sendCq: idle.cq, recvCq: idle.cq }),
      ].map(refusal),
    ).toEqual([closed, closed, closed, closed]);
    expect(refusal(() => device.cm.listen(1))).toMatch(/^ERR_ROCE_CLOSED/);
    expect(await rejection(device.cm.connect({ address: THEIRS, port: 1, qp: idle.qp }))).toMatch(/^ERR_ROCE_CLOSED/);
    expect(refusal(() => ours.qp.postRecv({ wrId: 1 }))).toBe('ERR_ROCE_CLOSED: the queue pair is destroyed');
    for (const { qp, pd, mr, cq } of [ours, idle]) {
      qp.destroy();
      pd.deregMr(mr);
      device.destroyCq(cq);
      pd.dealloc();
    }
    expect(device.portCounters.rcvdPkts).toBeGreaterThan(0);
    expect(device.qpCount).toBe(0);
    expect(theirs.qp.stateName).toBe('RTS');
    await cable.close();
  });

  it('says why the wire has gone, and ends what waits', async () => {
    const cable = await openCable('application');
    await cable.theirs.close();
    const link = `${cable.ours.link.name},connect`;
    const far = await openPlaced(placement, { link, addresses: [`${THEIRS}/24`] });
    const waiting = far.device.createCq(1).next();
    await cable.ours.close();
    expect(await far.closed).toMatchObject({ code: 'ERR_ROCE_CLOSED', message: 'the peer closed the connection' });
    expect((await waiting).done).toBe(true);
    expect(refusal(() => far.device.allocPd())).toBe('ERR_ROCE_CLOSED: the device is closed');
    await far.close();
    await cable.close();
  });

  it.each([
    [{ link: 'nonsense:x' }, /^ERR_ROCE_ARGUMENT: link "nonsense:x": unknown kind of link/],
    [
      { link: 'qemu:/nowhere/at.all,connect' },
      /^ERR_ROCE_LINK_UNAVAILABLE: qemu:\/nowhere\/at.all,connect: connect ENOENT/,
    ],
    [{ addresses: ['10.0.0.1'] }, /^ERR_ROCE_ADDRESS: not an address with a prefix length: "10.0.0.1"/],
    [{ mac: '01:00:00:00:00:00' }, /^ERR_ROCE_ADDRESS: 01:00:00:00:00:00 is a group address/],
  ])('is not opened with %o', async (wrong, message) => {
    const options = { link: 'qemu:/nowhere/at.all', addresses: ['10.0.0.1/24'], ...wrong };
    expect(await rejection(openPlaced(placement, options))).toMatch(message);
  });
});

describe('a device in a worker', () => {
  it('takes options that are data only', async () => {
    const options = { link: 'qemu:/nowhere/at.all', addresses: ['10.0.0.1/24'], thread: 'worker' } as const;
    const faults = { observer: { in: () => {} } };
    expect(await rejection(openDevice({ ...options, faults } as never))).toMatch(
      /^ERR_ROCE_ARGUMENT: what a device in a worker is opened with must be data: /,
    );
  });

  it('refuses a request that came while its listener was being closed, as if nobody had listened', async () => {
    const cable = await openCable('worker');
    const { cm } = cable.ours.device;
    const port = freshPort();
    const listener = cm.listen(port);
    const caller = makeSide(cable.theirs.device);
    const connecting = caller.device.cm
      .connect({ address: OURS, port, qp: caller.qp })
      .catch((error: unknown) => error);
    const { value: request } = await listener.next();
    if (!(cm instanceof WorkerCm)) throw new Error('not in a worker');
    // The worker has named the listener 1 and the request 2.
    cm.requested(-1, { ...request, request: 2 });
    expect(await connecting).toMatchObject({ code: 'ERR_ROCE_REJECTED', reason: CmRejReason.InvalidServiceId });
    expect(refusal(() => request.reject())).toBe('ERR_ROCE_STATE: the request was answered or withdrawn already');
    await cable.close();
  });

  it('and one that is not keep their objects apart', async () => {
    const cable = await openCable('worker');
    const [worker, local] = [makeSide(cable.ours.device), makeSide(cable.theirs.device)];
    for (const [one, other] of [
      [worker, local],
      [local, worker],
    ] as const) {
      expect(refusal(() => one.pd.createQp({ sendCq: one.cq, recvCq: other.cq }))).toBe(
        'ERR_ROCE_ARGUMENT: a queue pair completes into queues of its own device',
      );
      const address = one === worker ? THEIRS : OURS;
      expect(await rejection(one.device.cm.connect({ address, port: 1, qp: other.qp }))).toBe(
        'ERR_ROCE_ARGUMENT: a connection is made of a queue pair of its own device',
      );
      expect(other.qp.stateName).toBe('RESET');
    }
    expect(refusal(() => cable.ours.device.destroyCq(local.cq))).toMatch(/^ERR_ROCE_ARGUMENT/);
    await cable.close();
  });
});
