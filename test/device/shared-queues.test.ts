/**
 * Goal: shared receive queues and completion queues of the verbs API refuse what verbs refuse, and tell what happened
 * to them. Method: two devices on a simulated network; every refused call is followed by one that shows that nothing
 * has changed. ibv_create_srq(3), ibv_modify_srq(3), ibv_resize_cq(3), ibv_get_async_event(3), ibv_req_notify_cq(3).
 */
import { describe, expect, it } from 'vitest';
import {
  attachDevice,
  type Cq,
  type DeviceEvent,
  type Qp,
  QpState,
  QpType,
  type SendWr,
  WcStatus,
  World,
  WrOpcode,
} from '../../src/index.ts';
import { ALL, connect, makePair, makeSide, PORT } from './support.ts';

const send = (wrId: number, more: Partial<SendWr> = {}): SendWr => ({
  wrId,
  opcode: WrOpcode.Send,
  inline: Uint8Array.of(wrId),
  ...more,
});

/** Device b serves `count` connections from a, all from one shared receive queue. */
async function shared(count: number, { maxWr = 8, cqe = 64, limit = 0 } = {}) {
  const pair = makePair();
  const { world, a, b } = pair;
  const left = makeSide(a);
  const pd = b.allocPd();
  const cq = b.createCq(cqe);
  const srq = pd.createSrq({ maxWr, limit });
  const mr = pd.regMr(4096);
  const listener = b.cm.listen(PORT);
  const ours: Qp[] = [];
  const theirs: Qp[] = [];
  for (let i = 0; i < count; i++) {
    const mine = left.pd.createQp({ sendCq: left.cq, recvCq: left.cq });
    const qp = pd.createQp({ sendCq: cq, recvCq: cq, srq });
    const accepting = listener.next().then(({ value }) => value.accept({ qp }));
    await world.run(Promise.all([a.cm.connect({ address: '10.0.0.2', port: PORT, qp: mine }), accepting]));
    ours.push(mine);
    theirs.push(qp);
  }
  return { ...pair, left, pd, cq, srq, mr, ours, theirs };
}

const take = async (world: World, cq: Cq, count: number) => {
  const seen: [number, number][] = [];
  for (let i = 0; i < count; i++) {
    const { value } = await world.run(cq.next());
    seen.push([value.wrId, value.status]);
  }
  return seen;
};

describe('a shared receive queue', () => {
  it('serves several connections and tells when it runs low', async () => {
    const { world, left, cq, srq, mr, ours, theirs } = await shared(3, { limit: 3 });
    for (let i = 0; i < 4; i++) srq.postRecv({ wrId: 100 + i, sges: [{ mr, offset: i * 64, length: 64 }] });
    for (const [i, qp] of ours.entries()) qp.postSend(send(i));
    expect((await take(world, left.cq, 3)).map(([, status]) => status)).toEqual([0, 0, 0]);
    const seen = await take(world, cq, 3);
    expect(seen.map(([wrId]) => wrId).sort()).toEqual([100, 101, 102]);
    expect((await srq.events.next()).value).toBe('srq-limit-reached');
    expect([srq.length, srq.limit, theirs.length]).toEqual([1, 0, 3]);
  });

  it('is not freed while queue pairs take from it, nor is its domain', async () => {
    const { pd, srq, mr, theirs } = await shared(2);
    expect(() => srq.destroy()).toThrow(/2 queue pairs/);
    theirs[0]?.destroy();
    expect(() => srq.destroy()).toThrow(/1 queue pairs/);
    expect(srq.destroyed).toBe(false);
    theirs[1]?.destroy();
    pd.deregMr(mr);
    expect(() => pd.dealloc()).toThrow(/1 regions/);
    srq.destroy();
    srq.destroy();
    expect((await srq.events.next()).done).toBe(true);
    expect(() => srq.postRecv({ wrId: 1 })).toThrow(/destroyed/);
    expect(() => srq.modify({ limit: 1 })).toThrow(/destroyed/);
    expect(() => pd.dealloc()).not.toThrow();
  });

  it('is bounded by what the device has', () => {
    const limits = { maxSrq: 1, maxSrqWr: 10, maxSge: 3 };
    const world = new World({ seed: 1 });
    const device = attachDevice(world, 'small', { addresses: ['10.0.0.9/24'], limits });
    const pd = device.allocPd();
    for (const init of [{ maxWr: 0 }, { maxWr: 11 }, { maxWr: 1.5 }, { maxWr: 4, maxSge: 4 }, { maxWr: 4, limit: 5 }])
      expect(() => pd.createSrq(init)).toThrow(/is a whole number/);
    const srq = pd.createSrq({ maxWr: 10, maxSge: 3 });
    expect([srq.maxWr, srq.maxSge, srq.limit, srq.length, srq.pd]).toEqual([10, 3, 0, 0, pd]);
    expect(() => pd.createSrq({ maxWr: 1 })).toThrow(expect.objectContaining({ code: 'ERR_ROCE_LIMIT' }));
    expect(() => srq.modify({ maxWr: 11 })).toThrow(/1 to 10/);
    const mr = pd.regMr(8);
    expect(() => srq.postRecv({ wrId: 1, sges: [{ mr }, { mr }, { mr }, { mr }] })).toThrow(/4 SGEs/);
    expect(srq.length).toBe(0);
    srq.destroy();
    expect(pd.createSrq({ maxWr: 1 }).maxWr).toBe(1);
  });

  it('of another device is refused, and so is one that is gone', () => {
    const { a, b } = makePair();
    const srq = b.allocPd().createSrq({ maxWr: 4 });
    const pd = a.allocPd();
    const cq = a.createCq(4);
    const init = { sendCq: cq, recvCq: cq };
    expect(() => pd.createQp({ ...init, srq })).toThrow(/of its own device/);
    const gone = pd.createSrq({ maxWr: 4 });
    gone.destroy();
    expect(() => pd.createQp({ ...init, srq: gone })).toThrow(/of its own device/);
    expect([a.qpCount, cq.users]).toEqual([0, 0]);
  });

  it('QPS-19 that is dry holds its peers up until somebody posts, and loses nothing', async () => {
    const { world, left, cq, srq, mr, ours } = await shared(2);
    for (const [i, qp] of ours.entries()) qp.postSend(send(i));
    world.runFor(5_000_000);
    expect([left.cq.length, cq.length]).toEqual([0, 0]);
    for (const wrId of [1, 2]) srq.postRecv({ wrId, sges: [{ mr, offset: wrId * 64, length: 64 }] });
    expect((await take(world, left.cq, 2)).map(([, status]) => status)).toEqual([0, 0]);
    expect((await take(world, cq, 2)).map(([, status]) => status)).toEqual([0, 0]);
  });

  it('says at each queue pair that fails that it was the last', async () => {
    const { world, cq, srq, mr, ours, theirs } = await shared(2);
    srq.postRecv({ wrId: 1, sges: [{ mr }] });
    await theirs[0]?.modify({ state: QpState.Error });
    const seen = [];
    for await (const event of theirs[0]?.events ?? []) if (seen.push(event) && event === 'last-wqe-reached') break;
    expect([seen.at(-1), srq.length, cq.length]).toEqual(['last-wqe-reached', 1, 0]);
    ours[1]?.postSend(send(3));
    expect(await take(world, cq, 1)).toEqual([[1, WcStatus.Success]]);
  });
});

describe('a completion queue that overruns', () => {
  it('QPS-13 keeps what fitted, tells it, and takes its queue pairs to ERROR', async () => {
    const { world, left, cq, srq, mr, ours, theirs } = await shared(2, { cqe: 2 });
    for (let wrId = 0; wrId < 4; wrId++) srq.postRecv({ wrId, sges: [{ mr, offset: wrId * 8, length: 8 }] });
    for (const wrId of [10, 11, 12]) ours[0]?.postSend(send(wrId));
    const sent = await take(world, left.cq, 3);
    expect(sent).toEqual([
      [10, WcStatus.Success],
      [11, WcStatus.Success],
      [12, WcStatus.RetryExcErr],
    ]);
    expect((await cq.events.next()).value).toBe('cq-err');
    expect(theirs.map(({ stateName }) => stateName)).toEqual(['ERR', 'ERR']);
    for (const qp of theirs) {
      const seen: string[] = [];
      for await (const event of qp.events) if (seen.push(event) && event === 'last-wqe-reached') break;
      expect(seen.slice(-2)).toEqual(['qp-fatal', 'last-wqe-reached']);
    }
    expect(await take(world, cq, 2)).toEqual([
      [0, WcStatus.Success],
      [1, WcStatus.Success],
    ]);
    await expect(cq.next()).rejects.toMatchObject({ code: 'ERR_ROCE_LIMIT' });
    expect(await cq.reqNotify()).toBe(false);
  });

  it('takes everybody with it who completes into it, and rejects those who wait', async () => {
    const { a } = makePair();
    const cq = a.createCq(2);
    const other = a.createCq(8);
    const pd = a.allocPd();
    const qp = pd.createQp({ sendCq: other, recvCq: cq });
    const bystander = pd.createQp({ sendCq: cq, recvCq: other });
    await bystander.modify({ state: QpState.Init, access: ALL });
    const waits = [cq.next(), cq.next(), cq.next()];
    await qp.modify({ state: QpState.Init, access: ALL });
    for (const wrId of [1, 2, 3]) qp.postRecv({ wrId });
    await qp.modify({ state: QpState.Error });
    const results = await Promise.allSettled(waits);
    expect(results.map(({ status }) => status)).toEqual(['fulfilled', 'fulfilled', 'rejected']);
    expect([bystander.stateName, (await bystander.events.next()).value]).toEqual(['ERR', 'qp-fatal']);
  });

  it.each([QpType.Rc, QpType.Uc, QpType.Ud])('lets no queue pair of type %s begin, or begin anew', async (type) => {
    const { a } = makePair();
    const cq = a.createCq(1);
    const qp = a.allocPd().createQp({ type, sendCq: cq, recvCq: cq });
    const init = type === QpType.Ud ? { state: QpState.Init, qkey: 1 } : { state: QpState.Init, access: ALL };
    await qp.modify(init);
    for (const wrId of [1, 2]) qp.postRecv({ wrId });
    await qp.modify({ state: QpState.Error });
    expect(cq.overrun).toBe(true);
    await qp.modify({ state: QpState.Reset });
    await expect(qp.modify(init)).rejects.toMatchObject({ errno: 'EINVAL' });
    expect(qp.stateName).toBe('RESET');
  });
});

describe('resizing a completion queue', () => {
  it('is refused below what it holds and above what the device has, and makes room otherwise', async () => {
    const { world, a, left, right } = await connect();
    const { cq } = left;
    for (const wrId of [1, 2, 3])
      left.qp.postSend(send(wrId, { opcode: WrOpcode.RdmaWrite, remoteAddr: right.mr.iova, rkey: right.mr.rkey }));
    world.runUntil(() => cq.length === 3);
    expect(() => cq.resize(2)).toThrow(/holds 3/);
    expect(() => cq.resize(a.limits.maxCqe + 1)).toThrow(/at most/);
    expect(cq.capacity).toBe(256);
    cq.resize(3);
    expect(cq.capacity).toBe(3);
    cq.resize(1000);
    expect((await take(world, cq, 3)).map(([wrId]) => wrId)).toEqual([1, 2, 3]);
  });
});

describe('asking to be notified', () => {
  it('of solicited completions waits for one, or for a failure, and leaves it in the queue', async () => {
    const { world, left, right } = await connect();
    for (const wrId of [1, 2, 3]) right.qp.postRecv({ wrId, sges: [{ mr: right.mr, length: 8 }] });
    let solicited = false;
    let any = false;
    void right.cq.reqNotify(true).then(() => {
      solicited = true;
    });
    void right.cq.reqNotify().then(() => {
      any = true;
    });
    left.qp.postSend(send(1));
    await take(world, left.cq, 1);
    expect([any, solicited, right.cq.length]).toEqual([true, false, 1]);
    left.qp.postSend(send(2, { solicited: true }));
    await take(world, left.cq, 1);
    expect([solicited, right.cq.length]).toEqual([true, 2]);
    const failure = right.cq.reqNotify(true);
    await right.qp.modify({ state: QpState.Error });
    expect(await failure).toBe(true);
  });

  it('ends with the device', async () => {
    const { a } = makePair();
    const { cq } = makeSide(a);
    const waiting = [cq.reqNotify(), cq.reqNotify(true)];
    a.close();
    expect(await Promise.all(waiting)).toEqual([false, false]);
    expect([(await cq.events.next()).done, (await a.events.next()).done]).toEqual([true, true]);
  });
});

describe('a device that loses its wire', () => {
  it('tells it before everything ends', async () => {
    const { a } = makePair();
    const { qp } = makeSide(a);
    a.lostWire();
    const seen: DeviceEvent[] = [];
    for await (const event of a.events) seen.push(event);
    expect([seen, qp.destroyed]).toEqual([['port-err', 'device-fatal'], true]);
  });
});
