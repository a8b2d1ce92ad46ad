/**
 * Goal: the connection manager's newer calls behave the same wherever the stack runs, or say that they are not there.
 * Method: one conversation with a device in this thread and with one in a worker.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { CmSidrStatus, IpAddress, MigState, QpState, QpType, ServiceRefused, WrOpcode } from '../../../src/index.ts';
import { WorkerCm } from '../../../src/node/worker/worker-cm.ts';
import {
  type Cable,
  connectSides,
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
} from './support.ts';

describe.each(PLACEMENTS)('the connection manager of a device in the thread of the %s', (placement) => {
  let cable: Cable;
  beforeAll(async () => {
    cable = await openCable(placement);
  });
  afterAll(() => cable.close());

  it('listens in a port space, tells what is asked for, and can say how long the answer takes', async () => {
    const ours = makeSide(cable.ours.device);
    const theirs = makeSide(cable.theirs.device);
    const port = freshPort();
    const listener = ours.device.cm.listen(port, { portSpace: 'ib', services: ['rc'] });
    const options = { address: OURS, port, cmResponseTimeout: 14, maxCmRetries: 15 };
    const connecting = theirs.device.cm.connect({ ...options, portSpace: 'ib', qp: theirs.qp });
    const { value: request } = await listener.next();
    expect(request.service).toBe('rc');
    request.delay(20);
    expect(() => request.delay(32)).toThrow(/serviceTimeout must be/);
    await Promise.all([request.accept({ qp: ours.qp }), connecting]);
    expect([ours.qp.state, theirs.qp.state]).toEqual([QpState.Rts, QpState.Rts]);
    const elsewhere = makeSide(cable.theirs.device);
    const other = await rejection(elsewhere.device.cm.connect({ ...options, qp: elsewhere.qp }));
    expect(other).toContain('InvalidServiceId');
    listener.close();
  });

  it('refuses what cannot be without a trace', async () => {
    const { ours, ourEnd } = await connectSides(cable);
    const fresh = makeSide(cable.ours.device);
    const to = { address: '10.0.0.2', port: 1, qp: fresh.qp };
    expect(await rejection(fresh.device.cm.connect({ ...to, privateData: new Uint8Array(57) }))).toContain('56 bytes');
    expect(fresh.qp.state).toBe(QpState.Reset);
    expect(await rejection(ourEnd.disconnect(new Uint8Array(221)))).toContain('220 bytes');
    expect(ours.qp.state).toBe(QpState.Rts);
    await ourEnd.disconnect();
  });

  describe('and datagram services', () => {
    it('finds one and offers one, with private data of both sides', async () => {
      const ours = makeUd(cable.ours.device);
      const theirs = makeUd(cable.theirs.device);
      for (const [from, to, address, source] of [
        [ours, theirs, THEIRS, OURS],
        [theirs, ours, OURS, THEIRS],
      ] as const) {
        const port = freshPort();
        const listener = to.pd.device.cm.listenUd(port);
        expect(refusal(() => to.pd.device.cm.listenUd(port))).toMatch(/^ERR_ROCE_IN_USE/);
        const asking = from.pd.device.cm.resolveUd({
          ...{ address, port, pd: from.pd, localPort: 4321 },
          privateData: Uint8Array.of(1, 2, 3).subarray(1),
        });
        const { value: request } = await listener.next();
        expect(`${request.remoteAddress} ${request.localAddress} ${request.remotePort}`).toBe(
          `${source} ${address} 4321`,
        );
        expect([...request.privateData.subarray(0, 3)]).toEqual([2, 3, 0]);
        const answer = { qp: to.qp, qkey: QKEY, privateData: Uint8Array.of(9) };
        expect(
          [
            () => request.accept({ ...answer, qkey: 5 }),
            () => request.accept({ ...answer, qkey: 0x80_00_00_00 }),
            () => request.accept({ ...answer, qp: from.qp }),
            () => request.accept({ ...answer, qp: makeSide(to.pd.device).qp }),
            () => request.accept({ ...answer, privateData: new Uint8Array(137) }),
            () => request.accept(answer),
          ].map((call) => refusal(call).replace(/:.*/, '')),
        ).toEqual([
          'ERR_ROCE_ARGUMENT',
          'ERR_ROCE_ACCESS',
          'ERR_ROCE_ARGUMENT',
          'ERR_ROCE_ARGUMENT',
          'ERR_ROCE_ARGUMENT',
          'nothing',
        ]);
        const { ah, av, remoteQpn, qkey, privateData } = await asking;
        expect([remoteQpn, qkey, [...privateData.subarray(0, 2)], privateData.length]).toEqual([
          to.qp.qpn,
          QKEY,
          [9, 0],
          136,
        ]);
        expect([`${av.destination} ${av.source}`, ah.pd]).toEqual([`${address} ${source}`, from.pd]);
        expect(refusal(() => request.reject())).toMatch(/^ERR_ROCE_STATE/);
        to.qp.postRecv({ wrId: 1, sges: [{ mr: to.mr }] });
        const inline = Uint8Array.of(6);
        from.qp.postSend({ wrId: 2, opcode: WrOpcode.Send, inline, ah, remoteQpn, remoteQkey: qkey });
        expect((await success(from.cq)).wrId).toBe(2);
        expect(await success(to.cq)).toMatchObject({ wrId: 1, srcQpn: from.qp.qpn });
        ah.destroy();
        listener.close();
        expect((await listener.next()).done).toBe(true);
        const nobody = await from.pd.device.cm.resolveUd({ address, port, pd: from.pd }).catch((e: unknown) => e);
        expect(nobody).toBeInstanceOf(ServiceRefused);
        expect(nobody).toMatchObject({ code: 'ERR_ROCE_REJECTED', status: CmSidrStatus.Unsupported });
      }
    });

    it('is refused with a status and private data, and answers all with one queue pair', async () => {
      const ours = makeUd(cable.ours.device);
      const theirs = makeUd(cable.theirs.device);
      for (const [from, to, address] of [
        [ours, theirs, THEIRS],
        [theirs, ours, OURS],
      ] as const) {
        const port = freshPort();
        const { cm } = to.pd.device;
        const listener = cm.listenUd(port);
        const ask = () => from.pd.device.cm.resolveUd({ address, port, pd: from.pd });
        const asking = ask().catch((error: unknown) => error);
        const { value: request } = await listener.next();
        request.reject(CmSidrStatus.NoQp, Uint8Array.of(7, 8));
        const error = await asking;
        expect(error).toMatchObject({ status: CmSidrStatus.NoQp });
        if (!(error instanceof ServiceRefused)) throw error;
        expect([...error.privateData.subarray(0, 3)]).toEqual([7, 8, 0]);
        listener.close();
        const { pd, cq } = to;
        const qp = pd.createQp({ type: QpType.Ud, sendCq: cq, recvCq: cq });
        const standing = cm.listenUd(port, { qp, privateData: Uint8Array.of(5) });
        expect(qp.stateName).toBe('RTS');
        const found = await Promise.all([ask(), ask()]);
        expect(found.map(({ remoteQpn, qkey }) => [remoteQpn, qkey])).toEqual([
          [qp.qpn, 0x0123_4567],
          [qp.qpn, 0x0123_4567],
        ]);
        for (const { ah } of found) ah.destroy();
        qp.destroy();
        expect(await ask().catch((refused: unknown) => refused)).toMatchObject({ status: CmSidrStatus.NoQp });
        standing.close();
        expect(refusal(() => cm.listenUd(port, { qp }))).toBe('ERR_ROCE_CLOSED: the queue pair is destroyed');
        const foreign = { address, port, pd: to.pd };
        expect(await rejection(from.pd.device.cm.resolveUd(foreign))).toBe(
          'ERR_ROCE_ARGUMENT: an address handle is made in a protection domain of its own device',
        );
        const elsewhere = { address, port, pd: from.pd, source: '10.0.0.77' };
        expect(await rejection(from.pd.device.cm.resolveUd(elsewhere))).toMatch(/^ERR_ROCE_ADDRESS/);
      }
    });
  });

  it('gives a connection a second path, which it can take', async () => {
    for (const weAsk of [true, false]) {
      const { ours, theirs, ourEnd, theirEnd } = await connectSides(cable);
      const [from, to, end] = weAsk ? [ours, theirs, ourEnd] : [theirs, ours, theirEnd];
      const [source, destination] = (weAsk ? ['fd00::1', 'fd00::2'] : ['fd00::2', 'fd00::1']).map((text) =>
        IpAddress.parse(text),
      );
      if (source === undefined || destination === undefined) throw new Error('two addresses');
      const say = async () => {
        to.qp.postRecv({ wrId: 1 });
        from.qp.postSend({ wrId: 2, opcode: WrOpcode.Send });
        expect([(await success(from.cq)).wrId, (await success(to.cq)).wrId]).toEqual([2, 1]);
      };
      const foreign = { destination, source: IpAddress.parse('fd00::77') };
      expect(await rejection(end.loadAlternatePath(foreign))).toMatch(/^ERR_ROCE_ADDRESS/);
      await end.loadAlternatePath({ destination, source });
      // Both are armed by the packets of this one.
      await say();
      await from.qp.modify({ pathMigState: MigState.Migrated });
      await say();
      for (const { qp } of [from, to]) {
        const seen: string[] = [];
        while (seen.at(-1) !== 'path-mig') seen.push((await qp.events.next()).value ?? 'end');
      }
      // And back, as verbs have it: the way with the next attributes, taken at once.
      const v4 = [OURS, THEIRS].map((text) => ({ destination: IpAddress.parse(text) }));
      const [toOurs, toTheirs] = weAsk ? [to.qp, from.qp] : [from.qp, to.qp];
      for (const [qp, altAv] of [
        [toOurs, v4[0]],
        [toTheirs, v4[1]],
      ] as const)
        if (altAv !== undefined) await qp.modify({ altAv, pathMigState: MigState.Rearm });
      await say();
      from.qp.modifyNow({ pathMigState: MigState.Migrated });
      await say();
      expect(refusal(() => from.qp.modifyNow({ pathMigState: MigState.Armed }))).toBe(
        'ERR_ROCE_ARGUMENT: a path is armed by the packets of the peer; ask for rearm',
      );
      await end.disconnect();
      expect(await rejection(end.loadAlternatePath({ destination }))).toBe('ERR_ROCE_STATE: the connection has ended');
    }
  });
});

describe('in a worker', () => {
  it('a lookup that came while its service was being closed is refused, as if nobody had offered one', async () => {
    const cable = await openCable('worker');
    const { cm } = cable.ours.device;
    const { pd } = makeUd(cable.theirs.device);
    const port = freshPort();
    const listener = cm.listenUd(port);
    const asking = cable.theirs.device.cm.resolveUd({ address: OURS, port, pd }).catch((error: unknown) => error);
    const { value: request } = await listener.next();
    if (!(cm instanceof WorkerCm)) throw new Error('not in a worker');
    // The worker has named the listener 1 and the request 1.
    cm.datagrams.requested(-1, { ...request, request: 1 });
    expect(await asking).toMatchObject({ status: CmSidrStatus.Unsupported });
    await cable.close();
  });
});
