/**
 * Goal: an application cannot tell where the stack runs when it moves bytes, but by what it does with time. Method: the
 * same conversations with a device in this thread and with one in a worker; the expectations are written once.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { IpAddress, QpState, WcOpcode, WcStatus, WorkCompletion, WrOpcode } from '../../../src/index.ts';
import {
  ALL,
  type Cable,
  connectSides,
  makeSide,
  OURS,
  openCable,
  PLACEMENTS,
  refusal,
  rejection,
  success,
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
