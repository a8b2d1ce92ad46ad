/**
 * Goal: shared receive queues, XRC domains and what completion queues can do beside polling are the same wherever the
 * stack runs. Method: the same conversations with a device in this thread and with one in a worker; the expectations
 * are written once.
 */

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { defined } from '../../../packets/defined.ts';
import {
  type MemoryRegion,
  QpState,
  QpType,
  type RdmaCq,
  type RdmaPd,
  type RdmaQp,
  type RdmaSrq,
  WcStatus,
  WorkCompletion,
  WrOpcode,
} from '../../../src/index.ts';
import {
  ALL,
  type Cable,
  connectSides,
  freshPort,
  makeSide,
  OURS,
  openCable,
  PLACEMENTS,
  refusal,
  rejection,
  type Side,
  success,
  THEIRS,
  until,
} from './support.ts';

interface Shared {
  readonly pd: RdmaPd;
  readonly cq: RdmaCq;
  readonly mr: MemoryRegion;
  readonly srq: RdmaSrq;
  /** Ours, which take from the queue, and the other ends. */
  readonly ours: readonly RdmaQp[];
  readonly theirs: readonly Side[];
}

describe.each(PLACEMENTS)('a device in the thread of the %s', (placement) => {
  let cable: Cable;
  beforeAll(async () => {
    cable = await openCable(placement);
  });
  afterAll(() => cable.close());

  async function shared(count: number, init = { maxWr: 8 }): Promise<Shared> {
    const { pd, cq, mr } = makeSide(cable.ours.device);
    const srq = pd.createSrq(init);
    const port = freshPort();
    const listener = cable.ours.device.cm.listen(port);
    const ours: RdmaQp[] = [];
    const theirs: Side[] = [];
    for (let i = 0; i < count; i++) {
      const qp = pd.createQp({ sendCq: cq, recvCq: cq, srq });
      const far = makeSide(cable.theirs.device);
      const accepting = listener.next().then(({ value }) => value.accept({ qp }));
      await Promise.all([far.device.cm.connect({ address: OURS, port, qp: far.qp }), accepting]);
      ours.push(qp);
      theirs.push(far);
    }
    listener.close();
    return { pd, cq, mr, srq, ours, theirs };
  }

  const say = ({ qp }: Side, byte: number, more = {}) =>
    qp.postSend({ wrId: byte, opcode: WrOpcode.Send, inline: Uint8Array.of(byte), ...more });

  describe('a shared receive queue', () => {
    it('serves three queue pairs, each the oldest receive, and tells once when it runs low', async () => {
      const { cq, mr, srq, ours, theirs } = await shared(3);
      for (let i = 0; i < 5; i++) srq.postRecv({ wrId: 100 + i, sges: [{ mr, offset: 8 * i, length: 8 }] });
      srq.modify({ limit: 3 });
      expect([srq.maxWr, srq.maxSge, srq.limit, srq.length, srq.srqn > 0]).toEqual([8, 4, 3, 5, true]);
      const event = srq.events.next();
      for (const [i, far] of theirs.entries()) {
        say(far, i + 1);
        expect(await success(cq)).toMatchObject({ wrId: 100 + i, qpn: ours[i]?.qpn, byteLen: 1 });
        expect(mr.bytes[8 * i]).toBe(i + 1);
      }
      expect(await event).toEqual({ done: false, value: 'srq-limit-reached' });
      expect([srq.limit, srq.length]).toEqual([0, 2]);
    });

    it('keeps the order of a thousand messages of three, posted again as they come', async () => {
      const { cq, mr, srq, ours, theirs } = await shared(3, { maxWr: 64 });
      const post = (wrId: number) => srq.postRecv({ wrId, sges: [{ mr, offset: 8 * (wrId % 1000), length: 8 }] });
      for (let wrId = 0; wrId < 64; wrId++) post(wrId);
      const TOTAL = 999;
      const sending = theirs.map(async (far, which) => {
        for (let i = 0; i < TOTAL / 3; i++) {
          const inline = new Uint8Array(Float64Array.of(i).buffer);
          far.qp.postSend({ wrId: i, opcode: WrOpcode.Send, inline });
          await success(far.cq);
        }
        return which;
      });
      const counts = [0, 0, 0];
      for (let n = 0; n < TOTAL; n++) {
        const wc = await success(cq);
        const which = ours.findIndex(({ qpn }) => qpn === wc.qpn);
        const value = mr.view.getFloat64(8 * (wc.wrId % 1000), true);
        expect(value).toBe(counts[which]);
        counts[which] = value + 1;
        post(64 + n);
      }
      expect([counts, await Promise.all(sending), srq.length]).toEqual([[333, 333, 333], [0, 1, 2], 64]);
    });

    it('has the room it has, and takes nothing else', async () => {
      const { pd, cq, mr, srq, ours } = await shared(1, { maxWr: 2 });
      const [qp] = ours;
      const post = () => srq.postRecv({ wrId: 1, sges: [{ mr, length: 8 }] });
      const five = Array.from({ length: 5 }, () => ({ mr }));
      const far = makeSide(cable.theirs.device);
      expect(
        [
          post,
          post,
          post,
          () => srq.postRecv({ wrId: 1, sges: five }),
          () => srq.modify({ maxWr: 1 }),
          () => srq.modify({ limit: 3 }),
          () => srq.destroy(),
          () => qp?.postRecv({ wrId: 1 }),
          () => pd.createSrq({ maxWr: 0 }),
          () => pd.createSrq({ maxWr: 1, cq }),
          () => pd.createQp({ sendCq: cq, recvCq: cq, srq: far.pd.createSrq({ maxWr: 1 }) }),
          () => far.pd.createQp({ sendCq: far.cq, recvCq: far.cq, srq }),
          () => srq.modify({ maxWr: 3 }),
          post,
        ].map(refusal),
      ).toEqual([
        'nothing',
        'nothing',
        'ERR_ROCE_QUEUE_FULL: all 2 receive work requests are outstanding',
        'ERR_ROCE_ARGUMENT: 5 SGEs, at most 4 are allowed',
        'ERR_ROCE_ARGUMENT: 2 receives are posted; there is no room for 1 only',
        'ERR_ROCE_ARGUMENT: limit is a whole number from 0 to maxWr, which is 2',
        'ERR_ROCE_IN_USE: 1 queue pairs still take from this shared receive queue',
        'ERR_ROCE_ARGUMENT: receives of this queue pair are posted to its shared receive queue',
        `ERR_ROCE_ARGUMENT: maxWr is a whole number from 1 to ${pd.device.limits.maxSrqWr}, not 0`,
        'ERR_ROCE_ARGUMENT: an XRC shared receive queue needs an XRC domain and a completion queue',
        'ERR_ROCE_ARGUMENT: a queue pair takes receives from a shared queue of its own device',
        'ERR_ROCE_ARGUMENT: a queue pair takes receives from a shared queue of its own device',
        'nothing',
        'nothing',
      ]);
      expect([srq.maxWr, srq.length]).toEqual([3, 3]);
      qp?.modifyNow({ state: QpState.Error });
      const seen: (string | undefined)[] = [];
      while (seen.at(-1) !== 'last-wqe-reached') seen.push((await qp?.events.next())?.value);
      expect([srq.length, cq.length]).toEqual([3, 0]);
      qp?.destroy();
      srq.destroy();
      srq.destroy();
      expect([srq.destroyed, (await srq.events.next()).done]).toEqual([true, true]);
      const gone = 'ERR_ROCE_CLOSED: the shared receive queue is destroyed';
      expect([post, () => srq.modify({ limit: 0 })].map(refusal)).toEqual([gone, gone]);
      expect(refusal(() => pd.createQp({ sendCq: cq, recvCq: cq, srq }))).toMatch(/of its own device$/);
    });
  });

  describe('XRC', () => {
    it('carries requests to the shared receive queue that each names, one way and the other', async () => {
      for (const weTarget of [true, false]) {
        const [target, initiator] = weTarget ? [cable.ours, cable.theirs] : [cable.theirs, cable.ours];
        const near = makeSide(initiator.device);
        const far = makeSide(target.device);
        const xrcd = target.device.openXrcd();
        const srqs = [1, 2].map(() => far.pd.createSrq({ maxWr: 4, xrcd, cq: far.cq }));
        const to = xrcd.createQp();
        const from = near.pd.createQp({ type: QpType.XrcSend, sendCq: near.cq, recvCq: near.cq });
        expect([to.type, from.type]).toEqual([QpType.XrcRecv, QpType.XrcSend]);
        const port = freshPort();
        const listener = target.device.cm.listen(port, { portSpace: 'ib' });
        const accepting = listener.next().then(({ value }) => value.accept({ qp: to }));
        const address = weTarget ? OURS : THEIRS;
        const connecting = initiator.device.cm.connect({ address, port, portSpace: 'ib', qp: from });
        await Promise.all([connecting, accepting]);
        listener.close();
        for (const [i, srq] of srqs.entries()) {
          srq.postRecv({ wrId: 10 + i, sges: [{ mr: far.mr, offset: 8 * i, length: 8 }] });
          from.postSend({ wrId: i, opcode: WrOpcode.Send, inline: Uint8Array.of(5 + i), xrcRemoteSrqn: srq.srqn });
          expect(await success(far.cq)).toMatchObject({ wrId: 10 + i, byteLen: 1, qpn: to.qpn });
          expect((await success(near.cq)).wrId).toBe(i);
          expect([far.mr.bytes[8 * i], srq.length]).toEqual([5 + i, 0]);
        }
        const sges = [{ mr: near.mr, length: 4 }];
        const remote = { remoteAddr: far.mr.iova, rkey: far.mr.rkey, xrcRemoteSrqn: srqs[1]?.srqn ?? 0 };
        from.postSend({ wrId: 3, opcode: WrOpcode.RdmaRead, sges, ...remote });
        expect(await success(near.cq)).toMatchObject({ wrId: 3, byteLen: 4 });
        expect(near.mr.bytes[0]).toBe(5);
        const [srq] = srqs;
        expect(
          [
            () => from.postSend({ wrId: 1, opcode: WrOpcode.Send }),
            () => from.postRecv({ wrId: 1 }),
            () => to.postRecv({ wrId: 1 }),
            () => to.postSend({ wrId: 1, opcode: WrOpcode.Send }),
            () => far.pd.createQp({ sendCq: far.cq, recvCq: far.cq, ...defined({ srq }) }),
            () => xrcd.close(),
            () => to.pd.dealloc(),
          ].map(refusal),
        ).toEqual([
          'ERR_ROCE_ARGUMENT: an XRC request needs an xrcRemoteSrqn from 1 to 0xffffff',
          'ERR_ROCE_ARGUMENT: an XRC initiator receives nothing',
          'ERR_ROCE_ARGUMENT: receives for an XRC target are posted to the shared receive queues',
          'ERR_ROCE_ARGUMENT: XRC receive queue pairs do not have send opcode 2',
          'ERR_ROCE_ARGUMENT: only XRC target queue pairs take from an XRC shared receive queue',
          'ERR_ROCE_IN_USE: 2 queues and 1 queue pairs use this XRC domain',
          'ERR_ROCE_IN_USE: 1 regions or queue pairs still use this protection domain',
        ]);
        to.destroy();
        for (const one of srqs) one.destroy();
        xrcd.close();
        xrcd.close();
        const closed = 'ERR_ROCE_CLOSED: the XRC domain is closed';
        expect([() => xrcd.createQp(), () => far.pd.createSrq({ maxWr: 1, xrcd, cq: far.cq })].map(refusal)).toEqual([
          closed,
          closed,
        ]);
      }
    });

    it('goes down with the completion queue of a shared receive queue', async () => {
      const far = makeSide(cable.theirs.device);
      const { device, pd } = makeSide(cable.ours.device);
      const cq = device.createCq(1);
      const xrcd = device.openXrcd();
      const srq = pd.createSrq({ maxWr: 4, xrcd, cq });
      const to = xrcd.createQp();
      const from = far.pd.createQp({ type: QpType.XrcSend, sendCq: far.cq, recvCq: far.cq });
      const port = freshPort();
      const listener = device.cm.listen(port);
      const accepting = listener.next().then(({ value }) => value.accept({ qp: to }));
      await Promise.all([far.device.cm.connect({ address: OURS, port, qp: from, retryCount: 0 }), accepting]);
      for (const wrId of [1, 2]) srq.postRecv({ wrId });
      for (const wrId of [3, 4]) from.postSend({ wrId, opcode: WrOpcode.Send, xrcRemoteSrqn: srq.srqn });
      expect((await srq.events.next()).value).toBe('srq-err');
      expect((await cq.events.next()).value).toBe('cq-err');
      const failed = 'ERR_ROCE_STATE: the shared receive queue is in error';
      expect([() => srq.postRecv({ wrId: 5 }), () => srq.modify({ limit: 1 })].map(refusal)).toEqual([failed, failed]);
      expect((await success(cq)).wrId).toBe(1);
    });
  });

  describe('a completion queue', () => {
    it('is resized with what it holds, and not below that', async () => {
      const { ours, theirs } = await connectSides(cable, makeSide(cable.ours.device, 4096, 4));
      const { cq, qp } = ours;
      for (let wrId = 0; wrId < 12; wrId++) qp.postRecv({ wrId, sges: [{ mr: ours.mr, length: 8 }] });
      const send = async (from: number, count: number) => {
        for (let i = 0; i < count; i++) say(theirs, from + i);
        for (let i = 0; i < count; i++) await success(theirs.cq);
      };
      await send(0, 3);
      expect((await success(cq)).wrId).toBe(0);
      await send(3, 2);
      await until(() => cq.length === 4);
      const { limits } = cable.ours.device;
      expect(
        [() => cq.resize(3), () => cq.resize(0), () => cq.resize(1.5), () => cq.resize(limits.maxCqe + 1)].map(refusal),
      ).toEqual([
        'ERR_ROCE_ARGUMENT: the completion queue holds 4 entries, not 3',
        'ERR_ROCE_ARGUMENT: a completion queue has room for at least one entry',
        'ERR_ROCE_ARGUMENT: a completion queue has room for at least one entry',
        `ERR_ROCE_ARGUMENT: a completion queue has at most ${limits.maxCqe} entries`,
      ]);
      expect([cq.capacity, cq.length, cq.overrun]).toEqual([4, 4, false]);
      cq.resize(9);
      await send(5, 5);
      await until(() => cq.length === 9);
      expect([cq.capacity, cq.overrun]).toEqual([9, false]);
      for (let wrId = 1; wrId < 8; wrId++) expect((await success(cq)).wrId).toBe(wrId);
      cq.resize(2);
      const rest = [cq.next(), cq.next(), cq.next()];
      await send(10, 1);
      expect((await Promise.all(rest)).map(({ value }) => value.wrId)).toEqual([8, 9, 10]);
      expect([cq.capacity, cq.length, cq.overrun]).toEqual([2, 0, false]);
    });

    it('that overruns tells it, takes its queue pairs with it, and rejects those who wait', async () => {
      const { pd, qp: bystander, cq } = makeSide(cable.ours.device, 8, 2);
      const other = cable.ours.device.createCq(8);
      const qp = pd.createQp({ sendCq: other, recvCq: cq });
      for (const one of [qp, bystander]) one.modifyNow({ state: QpState.Init, access: ALL });
      const notified = [cq.reqNotify(), cq.reqNotify(true)];
      for (const wrId of [1, 2, 3]) qp.postRecv({ wrId });
      const waits = Promise.allSettled([cq.next(), cq.next(), cq.next()]);
      qp.modifyNow({ state: QpState.Error });
      expect((await waits).map(({ status }) => status)).toEqual(['fulfilled', 'fulfilled', 'rejected']);
      expect((await cq.events.next()).value).toBe('cq-err');
      expect([(await bystander.events.next()).value, bystander.stateName]).toEqual(['qp-fatal', 'ERR']);
      expect(await Promise.all(notified)).toEqual([true, true]);
      expect([await cq.reqNotify(), cq.overrun]).toEqual([false, true]);
      expect(await rejection(cq.next())).toBe('ERR_ROCE_LIMIT: the completion queue of 2 entries has overrun');
    });

    it('tells of the next completion, or the next solicited or failed one, and leaves it there', async () => {
      const { ours, theirs } = await connectSides(cable);
      for (let wrId = 0; wrId < 5; wrId++) ours.qp.postRecv({ wrId, sges: [{ mr: ours.mr, length: 8 }] });
      const seen: string[] = [];
      const notify = (name: string, solicitedOnly?: boolean) =>
        ours.cq.reqNotify(solicitedOnly).then((notified) => {
          seen.push(`${name} ${notified}`);
          return notified;
        });
      const any = notify('any');
      const solicited = notify('solicited', true);
      say(theirs, 1);
      expect(await any).toBe(true);
      expect([seen, ours.cq.length]).toEqual([['any true'], 1]);
      say(theirs, 2, { solicited: true });
      expect(await solicited).toBe(true);
      expect(ours.cq.length).toBe(2);
      // What is there already is no news.
      const again = notify('again');
      const failed = notify('failed', true);
      say(theirs, 3);
      await again;
      expect(seen).toEqual(['any true', 'solicited true', 'again true']);
      ours.qp.modifyNow({ state: QpState.Error });
      expect(await failed).toBe(true);
      const wc = new WorkCompletion();
      const ids: number[][] = [];
      while (ours.cq.poll(wc)) ids.push([wc.wrId, wc.status]);
      const { Success, WrFlushErr } = WcStatus;
      expect(ids).toEqual([
        [0, Success],
        [1, Success],
        [2, Success],
        [3, WrFlushErr],
        [4, WrFlushErr],
      ]);
      const never = ours.cq.reqNotify();
      ours.qp.destroy();
      cable.ours.device.destroyCq(ours.cq);
      expect([await never, await ours.cq.reqNotify(true)]).toEqual([false, false]);
    });
  });
});
