/** Goal: the objects of the API refuse what verbs refuse, change nothing then, and let an application wait. */
import { describe, expect, it } from 'vitest';
import { IpAddress, QpState, WcStatus, WrOpcode } from '../../src/index.ts';
import { ALL, connect, makePair, makeSide } from './support.ts';

describe('protection domains and completion queues', () => {
  it('are not freed while something uses them', () => {
    const { a } = makePair();
    const { pd, cq, qp, mr } = makeSide(a);
    expect(() => pd.dealloc()).toThrow(/2 regions or queue pairs/);
    expect(() => a.destroyCq(cq)).toThrow(/still complete/);
    qp.destroy();
    pd.deregMr(mr);
    expect(() => pd.dealloc()).not.toThrow();
    expect(() => a.destroyCq(cq)).not.toThrow();
    expect(() => pd.deregMr(mr)).toThrow(/not registered/);
  });

  it('bound what a queue pair may ask for', () => {
    const { a } = makePair();
    const pd = a.allocPd();
    const cq = a.createCq(1);
    expect(() => pd.createQp({ sendCq: cq, recvCq: cq, maxSge: 33 })).toThrow(/maxSge/);
    expect(() => pd.createQp({ sendCq: cq, recvCq: cq, maxSendWr: -1 })).toThrow(/maxSendWr/);
    expect(() => a.createCq(0)).toThrow(/at least one/);
    expect(a.qpCount).toBe(0);
  });
});

describe('a queue pair', () => {
  it('resolves the address of its peer before it moves to RTR', async () => {
    const { world, a } = makePair();
    const { qp } = makeSide(a);
    await qp.modify({ state: QpState.Init, access: ALL });
    const rtr = { state: QpState.Rtr, destQpn: 5, rqPsn: 0, mtu: 1024, maxDestRdAtomic: 1, minRnrTimer: 1 } as const;
    const good = { ...rtr, av: { destination: IpAddress.parse('10.0.0.2') } };
    expect(() => qp.modifyNow(good)).toThrow(/link address of 10.0.0.2 is not known/);
    await world.run(qp.modify(good));
    expect(qp.stateName).toBe('RTR');
  });

  it('stays where it was when nobody has the address of its peer', async () => {
    const { world, a } = makePair();
    const { qp } = makeSide(a);
    await qp.modify({ state: QpState.Init, access: ALL });
    const av = { destination: IpAddress.parse('10.0.0.77') };
    const attributes = {
      state: QpState.Rtr,
      av,
      destQpn: 5,
      rqPsn: 0,
      mtu: 1024,
      maxDestRdAtomic: 1,
      minRnrTimer: 1,
    } as const;
    expect(await world.run(qp.modify(attributes).catch((error) => error))).toMatchObject({ code: 'ERR_ROCE_ADDRESS' });
    expect(qp.stateName).toBe('INIT');
  });

  it('takes no path MTU that its link does not carry', async () => {
    const { world, a } = makePair({ mtu: 1500 });
    const { qp } = makeSide(a);
    await qp.modify({ state: QpState.Init, access: ALL });
    const av = { destination: IpAddress.parse('10.0.0.2') };
    const attributes = {
      state: QpState.Rtr,
      av,
      destQpn: 5,
      rqPsn: 0,
      mtu: 2048,
      maxDestRdAtomic: 1,
      minRnrTimer: 1,
    } as const;
    expect(await world.run(qp.modify(attributes).catch((error) => error))).toMatchObject({ code: 'ERR_ROCE_ARGUMENT' });
  });

  it('takes no work once it is destroyed, and its peer ends with status 12', async () => {
    const { world, left, right } = await connect();
    right.qp.destroy();
    expect(() => right.qp.postRecv({ wrId: 1 })).toThrow(/destroyed/);
    left.qp.postSend({ wrId: 2, opcode: WrOpcode.Send, inline: Uint8Array.of(1) });
    const { value } = await world.run(left.cq.next());
    expect([value.wrId, value.status]).toEqual([2, WcStatus.RetryExcErr]);
  });
});

describe('waiting for completions', () => {
  it('gives every completion once, in order, to whoever waits first', async () => {
    const { world, left, right } = await connect();
    const first = left.cq.next();
    const second = left.cq.next();
    for (const wrId of [1, 2, 3]) {
      left.qp.postSend({
        wrId,
        opcode: WrOpcode.RdmaWrite,
        inline: Uint8Array.of(wrId),
        remoteAddr: right.mr.iova,
        rkey: right.mr.rkey,
      });
    }
    const seen = await world.run(Promise.all([first, second, left.cq.next()]));
    expect(seen.map(({ value }) => value.wrId)).toEqual([1, 2, 3]);
  });

  it('says when completions are missing', async () => {
    const { a } = makePair();
    const small = a.createCq(2);
    const qp = a.allocPd().createQp({ sendCq: small, recvCq: small });
    await qp.modify({ state: QpState.Init, access: ALL });
    for (const wrId of [1, 2, 3]) qp.postRecv({ wrId });
    await qp.modify({ state: QpState.Error });
    const seen = [await small.next(), await small.next()];
    expect(seen.map(({ value }) => value.wrId)).toEqual([1, 2]);
    await expect(small.next()).rejects.toMatchObject({ code: 'ERR_ROCE_LIMIT' });
  });

  it('ends when the device closes', async () => {
    const { a } = makePair();
    const { cq } = makeSide(a);
    const seen: number[] = [];
    const reading = (async () => {
      for await (const wc of cq) seen.push(wc.wrId);
    })();
    a.close();
    await reading;
    expect(seen).toEqual([]);
    expect(() => a.allocPd()).toThrow(/closed/);
  });
});
