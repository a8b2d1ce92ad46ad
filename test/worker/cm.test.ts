/**
 * Goal: the connection manager's newer calls behave the same wherever the stack runs, or say that they are not there. Method: one
 * conversation with a device in this thread and with one in a worker.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { IpAddress, QpState } from '../../src/index.ts';
import { type Cable, connectSides, freshPort, makeSide, OURS, openCable, PLACEMENTS, rejection } from './support.ts';

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
});

describe('in a worker', () => {
  it('there are no datagram services and no alternate paths, and that is said', async () => {
    const cable = await openCable('worker');
    const { ours, ourEnd } = await connectSides(cable);
    const { cm } = cable.ours.device;
    const code = 'ERR_ROCE_UNSUPPORTED';
    expect(() => cm.listenUd(1)).toThrow(expect.objectContaining({ code }));
    await expect(cm.resolveUd({ address: '10.0.0.2', port: 1, pd: ours.pd })).rejects.toMatchObject({ code });
    const av = { destination: IpAddress.parse('10.0.0.2') };
    await expect(ourEnd.loadAlternatePath(av)).rejects.toMatchObject({ code });
    await cable.close();
  });
});
