/**
 * Goal: the end of a device ends everything that was made of it, alike wherever the stack runs. Method: one device of
 * each placement, closed or robbed of its wire while everything there is waits. Connections and their queue pairs:
 * connections.test.ts.
 */
import { describe, expect, it } from 'vitest';
import { IpAddress } from '../../../src/index.ts';
import { makeSide, openCable, openPlaced, PLACEMENTS, refusal, rejection, THEIRS } from './support.ts';

describe.each(PLACEMENTS)('the end of a device in the thread of the %s', (placement) => {
  it('ends what waits for shared queues and events, and takes nothing more', async () => {
    const cable = await openCable(placement);
    const { device } = cable.ours;
    const { pd, cq, qp, mr: lifelong } = makeSide(device);
    const srq = pd.createSrq({ maxWr: 1 });
    const xrcd = device.openXrcd();
    const ah = await pd.createAh({ destination: IpAddress.parse(THEIRS) });
    const mw = pd.allocMw();
    const mr = pd.allocMr(8);
    const waits = [srq.events.next(), device.events.next(), cq.events.next(), qp.events.next()];
    const notified = cq.reqNotify();
    await cable.ours.close();
    expect((await Promise.all(waits)).map(({ done }) => done)).toEqual([true, true, true, true]);
    expect([await notified, srq.destroyed, qp.stateName]).toEqual([false, true, 'ERR']);
    const closed = 'ERR_ROCE_CLOSED: the device is closed';
    expect(
      [
        () => device.openXrcd(),
        () => pd.createSrq({ maxWr: 1 }),
        () => pd.allocMw(),
        () => pd.allocMr(8),
        () => xrcd.createQp(),
      ].map(refusal),
    ).toEqual([closed, closed, closed, closed, closed]);
    expect(await rejection(pd.createAh({ destination: IpAddress.parse(THEIRS) }))).toMatch(/^ERR_ROCE_CLOSED/);
    expect(refusal(() => device.cm.listenUd(1))).toMatch(/^ERR_ROCE_CLOSED/);
    expect(await rejection(device.cm.resolveUd({ address: THEIRS, port: 1, pd }))).toMatch(/^ERR_ROCE_CLOSED/);
    srq.destroy();
    xrcd.close();
    ah.destroy();
    mw.dealloc();
    for (const one of [mr, lifelong]) pd.deregMr(one);
    device.destroyCq(cq);
    pd.dealloc();
    await cable.close();
  });

  it('that loses its wire says so as events', async () => {
    const cable = await openCable('application');
    await cable.theirs.close();
    const link = `${cable.ours.link.name},connect`;
    const { device, close } = await openPlaced(placement, { link, addresses: [`${THEIRS}/24`] });
    await cable.ours.close();
    const { events } = device;
    expect([(await events.next()).value, (await events.next()).value]).toEqual(['port-err', 'device-fatal']);
    expect((await events.next()).done).toBe(true);
    await close();
    await cable.close();
  });
});
