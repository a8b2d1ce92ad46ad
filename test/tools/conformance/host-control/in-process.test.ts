/**
 * Goal: host control of a device of our own do what host control do, leave nothing behind, and wait for no real time.
 * Method: the compliance suite on two devices of a simulated world; then what only somebody sees who has the device
 * itself.
 */
import { describe, expect, it } from 'vitest';
import { attachDevice, World } from '../../../../src/index.ts';
import { IN_PROCESS_FEATURES, inProcessHostControl } from '../../../../tools/conformance/host-control/in-process.ts';
import { RcQueuePair } from '../../../../transport/rc-queue-pair.ts';
import { describeHostControl } from './compliance.ts';
import { Bench } from './subject.ts';
import { localSubject, makeWorld } from './worlds.ts';

describeHostControl(
  'host control of a device of our own',
  { features: IN_PROCESS_FEATURES, conforms: true },
  async () => localSubject(),
);

describe('host control of a device of our own, seen from the device', () => {
  it('leave nothing behind, however often they begin anew', async () => {
    const world = new World({ seed: 3 });
    // With a thousandth left behind there would soon be no room.
    const limits = { maxQp: 2, maxMr: 2, maxSrq: 1, maxMcastGrp: 1 };
    const device = attachDevice(world, 'dut', { addresses: ['10.0.0.1/24'], limits });
    const hostControl = inProcessHostControl(device);
    for (let round = 0; round < 1000; round++) {
      await world.run(
        Promise.all([
          hostControl.call('pd.alloc', { pd: 1 }),
          hostControl.call('cq.create', { cq: 1, entries: 16 }),
          hostControl.call('mr.reg', { mr: 1, pd: 1, length: 64, access: ['local-write'] }),
          hostControl.call('mw.alloc', { mw: 1, pd: 1 }),
          hostControl.call('mw.alloc', { mw: 2, pd: 1 }),
          hostControl.call('srq.create', { srq: 1, pd: 1, maxWr: 4 }),
          hostControl.call('qp.create', { qp: 1, ...QP, type: 'rc', srq: 1 }),
          hostControl.call('qp.create', { qp: 2, ...QP, type: 'ud' }),
          hostControl.call('qp.modify', { qp: 2, state: 'INIT', port: 1, pkeyIndex: 0, qkey: 1 }),
          hostControl.call('mcast.attach', { qp: 2, group: '239.0.0.1' }),
          hostControl.call('ah.create', { ah: 1, pd: 1, destination: '239.0.0.1', sgidIndex: 0 }),
        ]),
      );
      await hostControl.call('reset', {});
    }
    expect(device.qpCount).toBe(0);
    expect(device.multicast.size).toBe(0);
  });

  it('leave no conversation of the connection manager behind once its peers have had their time', async () => {
    const { world, a, b } = makeWorld();
    const left = inProcessHostControl(a);
    const right = inProcessHostControl(b);
    for (let round = 0; round < 20; round++) {
      await right.call('cm.listen', { listener: 1, port: 7 });
      for (const connection of [1, 2]) await left.call('cm.connect', { connection, address: '10.0.0.2', port: 7 });
      // Some rounds end in the middle of it.
      await world.run(world.sleep(round * 1_000));
      await left.call('reset', {});
      await right.call('reset', {});
      await world.run(world.sleep(1e6));
    }
    expect([a.qpCount, b.qpCount]).toEqual([0, 0]);
    await world.run(world.sleep(300e9));
    expect([a.cm.size, b.cm.size]).toEqual([0, 0]);
  });

  it('begin at the message that was asked for', async () => {
    const { world, a, b } = makeWorld();
    const bench = new Bench(localSubject({ world, a, b }));
    const left = await bench.side('left');
    const right = await bench.side('right');
    await bench.call(right, 'qp.destroy', { qp: right.name });
    const make = { pd: right.name, sendCq: right.name, recvCq: right.name, maxSendWr: 4, maxRecvWr: 4, maxSge: 1 };
    const { qpn } = await bench.call(right, 'qp.create', { qp: right.name, type: 'rc', ...make, msn: 0xff_ff_ff });
    await bench.bring(left, { ...right, qpn }, 'rc');
    await bench.bring(right, left, 'rc');
    const core = [...b.queuePairs][0]?.core;
    const counted = () => (core instanceof RcQueuePair ? core.inspect().responder?.msn : undefined);
    for (const msn of [0xff_ff_ff, 0, 1]) {
      await bench.call(right, 'qp.recv', { qp: right.name, wrId: 1, pieces: [] });
      await bench.call(left, 'qp.send', { qp: left.name, wrId: 1, opcode: 'send', pieces: [] });
      await bench.completions(left);
      expect(counted()).toBe(msn);
    }
  });

  it('are of no more use once closed, and what was on its way then is not kept', async () => {
    const { world, a } = makeWorld();
    const hostControl = inProcessHostControl(a);
    await hostControl.call('pd.alloc', { pd: 1 });
    const making = hostControl.call('ah.create', { ah: 1, pd: 1, destination: '10.0.0.2', sgidIndex: 0 });
    const later = expect(hostControl.call('pd.alloc', { pd: 2 })).rejects.toMatchObject({ kind: 'gone' });
    await hostControl.close();
    await expect(hostControl.call('events', {})).rejects.toMatchObject({ kind: 'gone' });
    await world.run(making);
    await later;
    await hostControl.close();
  });

  it('tell that nobody answers for an address once the device has given up asking', async () => {
    const { world, a } = makeWorld();
    const hostControl = inProcessHostControl(a);
    await hostControl.call('pd.alloc', { pd: 1 });
    const making = hostControl.call('ah.create', { ah: 1, pd: 1, destination: '10.0.0.77', sgidIndex: 0 });
    await expect(world.run(making)).rejects.toMatchObject({ kind: 'refused', errno: 'EHOSTUNREACH' });
  });

  it('answer a datagram service with a queue pair of their own', async () => {
    const { world, a, b } = makeWorld();
    const hostControl = inProcessHostControl(b);
    await hostControl.call('cm.listen', { listener: 1, port: 9, udp: true, receives: 2, regionBytes: 128 });
    const pd = a.allocPd();
    const found = await world.run(a.cm.resolveUd({ address: '10.0.0.2', port: 9, pd }));
    expect(new DataView(found.privateData.buffer, found.privateData.byteOffset).getUint32(12)).toBe(128);
    expect([...b.queuePairs].map(({ qpn }) => qpn)).toContain(found.remoteQpn);
    await hostControl.call('cm.close', { listener: 1 });
    expect(b.qpCount).toBe(0);
    await hostControl.call('cm.listen', { listener: 1, port: 9, udp: true, reject: 'aa' });
    await expect(world.run(a.cm.resolveUd({ address: '10.0.0.2', port: 9, pd }))).rejects.toMatchObject({
      code: 'ERR_ROCE_REJECTED',
    });
    const { events } = await hostControl.call('cm.events', {});
    expect(events.map(({ event }) => event)).toEqual(['connect-request', 'connect-request']);
  });

  it('refuse who still waits for an answer when they stop to listen', async () => {
    const { world, a, b } = makeWorld();
    const hostControl = inProcessHostControl(b);
    await hostControl.call('cm.listen', { listener: 1, port: 9, mute: true });
    const cq = a.createCq(8);
    const qp = a.allocPd().createQp({ sendCq: cq, recvCq: cq });
    const attempt = expect(a.cm.connect({ address: '10.0.0.2', port: 9, qp })).rejects.toMatchObject({ reason: 28 });
    // Long enough for the request to come again more than once.
    await world.run(world.sleep(20e9));
    expect((await hostControl.call('cm.events', {})).events.map(({ event }) => event)).toEqual(['connect-request']);
    await hostControl.call('reset', {});
    await world.run(attempt);
    await world.run(world.sleep(300e9));
    expect(b.cm.size).toBe(0);
  });

  it('take no request that had come when they stopped to listen', async () => {
    const { world, a, b } = makeWorld();
    const hostControl = inProcessHostControl(b);
    for (const udp of [false, true]) {
      await hostControl.call('cm.listen', { listener: 1, port: 9, udp });
      const pd = a.allocPd();
      const cq = a.createCq(8);
      const peer = { address: '10.0.0.2', port: 9 };
      const attempt = udp
        ? a.cm.resolveUd({ ...peer, pd })
        : a.cm.connect({ ...peer, qp: pd.createQp({ sendCq: cq, recvCq: cq }) });
      const refused = expect(attempt).rejects.toMatchObject({ code: 'ERR_ROCE_REJECTED' });
      const before = b.counters.receivedFrames;
      for (let turn = 0; turn < 10; turn++) await null;
      // Without a turn of the promise queue between the last step and the reset: nobody has seen the request.
      while (b.counters.receivedFrames === before) world.step();
      await hostControl.call('reset', {});
      await world.run(refused);
      expect(b.qpCount).toBe(0);
      expect(await hostControl.call('cm.events', {})).toEqual({ events: [] });
    }
  });

  it('refuse what no end of a connection has', async () => {
    const hostControl = inProcessHostControl(makeWorld().b);
    for (const means of [{ receives: -1 }, { receiveBytes: 0.5 }, { regionBytes: 1e12 }, { reject: '00'.repeat(149) }])
      await expect(hostControl.call('cm.listen', { listener: 1, port: 9, ...means })).rejects.toMatchObject({
        kind: 'refused',
        errno: 'EINVAL',
      });
  });

  it('refuse a request of the connection manager for which there is no queue pair left', async () => {
    const world = new World({ seed: 5 });
    const a = attachDevice(world, 'a', { addresses: ['10.0.0.1/24'] });
    const b = attachDevice(world, 'b', { addresses: ['10.0.0.2/24'], limits: { maxQp: 0 } });
    const hostControl = inProcessHostControl(b);
    await hostControl.call('cm.listen', { listener: 1, port: 9 });
    const cq = a.createCq(8);
    const qp = a.allocPd().createQp({ sendCq: cq, recvCq: cq });
    const attempt = a.cm.connect({ address: '10.0.0.2', port: 9, qp });
    await expect(world.run(attempt)).rejects.toMatchObject({ code: 'ERR_ROCE_REJECTED', reason: 3 });
  });
});

const QP = { pd: 1, sendCq: 1, recvCq: 1, maxSendWr: 4, maxRecvWr: 4, maxSge: 1 } as const;
