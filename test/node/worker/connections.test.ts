/**
 * Goal: connections begin and end alike wherever the stack runs, and so do devices. Method: the same conversations
 * with a device in this thread and with one in a worker; the expectations are written once.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { CmRejReason, ConnectionRejected, openDevice, QpState, WcStatus, WrOpcode } from '../../../src/index.ts';
import { WorkerCm } from '../../../src/node/worker/worker-cm.ts';
import {
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
  THEIRS,
  until,
} from './support.ts';

describe.each(PLACEMENTS)('a device in the thread of the %s', (placement) => {
  let cable: Cable;
  beforeAll(async () => {
    cable = await openCable(placement);
  });
  afterAll(() => cable.close());

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
});

describe.each(PLACEMENTS)('the end of a device in the thread of the %s', (placement) => {
  it('ends every wait, makes nothing any more, and lets everything be freed', async () => {
    const cable = await openCable(placement);
    const { device } = cable.ours;
    const { ours, theirs, ourEnd, theirEnd } = await connectSides(cable);
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
    // They were told nothing (that would be 'dreq'): their own device has closed when it lost its wire.
    expect(await theirEnd.closed).toBe('timeout');
    expect(theirs.qp.destroyed).toBe(true);
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
