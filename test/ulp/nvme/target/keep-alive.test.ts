/** How a controller ends whose host is silent, has vanished or disconnects, with keep-alive and without; a scripted host. */
import { describe, expect, it } from 'vitest';
import { Op } from '../../../../packets/opcode.ts';
import {
  AdminOpcode,
  IDENTIFY,
  IdentifyCns,
  NvmOpcode,
  PropertyOffset,
  setBlocks,
} from '../../../../src/ulp/nvme/codec/index.ts';
import { MemoryBackend } from '../../../../src/ulp/nvme/index.ts';
import { connectAdmin, connectHost, DISK_BYTES, gate, type Served, serve } from './support.ts';

const CSTS_READY = 1;
const KATO_MS = 5000;
const GRACE_MS = 1000;

describe('the keep-alive timer', () => {
  it('ends a controller whose host is silent, and its queues', async () => {
    const served = serve();
    await connectAdmin(served, { kato: KATO_MS });
    expect(served.timers.expire((KATO_MS + GRACE_MS) * 1e6)).toBe(1);
    expect(served.target.controllers).toEqual([]);
    expect(served.target.queues).toEqual([]);
    expect(served.subsystem.watchers.size).toBe(0);
  });

  it('takes any command for a sign of life', async () => {
    const served = serve();
    const admin = await connectAdmin(served, { kato: KATO_MS });
    for (let i = 0; i < 3; i++) {
      await admin.send(admin.command(AdminOpcode.KeepAlive));
      served.timers.expire((KATO_MS + GRACE_MS) * 1e6);
    }
    expect(served.target.controllers).toHaveLength(1);
  });
});

describe('a host without keep-alive', () => {
  const PROBE_NS = 20e9;
  /** Longer than all repetitions of a transport. */
  const later = ({ world }: Served): Promise<void> => world.run(world.sleep(30e9));

  it('that is silent, and there, keeps its controller: its queue pair acknowledges a WRITE of nothing', async () => {
    const served = serve();
    const admin = await connectAdmin(served);
    admin.memory.bytes.fill(0x55);
    const acknowledged: number[] = [];
    for (let i = 0; i < 3; i++) {
      const before = served.b.counters.receivedFrames;
      expect(served.timers.expire(PROBE_NS)).toBe(1);
      await later(served);
      acknowledged.push(served.b.counters.receivedFrames - before);
    }
    // Each time: with the ACK comes an answer of ARP.
    expect(acknowledged).toEqual([2, 2, 2]);
    expect(await admin.property(PropertyOffset.Csts)).toBe(CSTS_READY);
    expect(admin.memory.bytes.subarray(0, 4096).every((byte) => byte === 0x55)).toBe(true);
  });

  it('that has vanished is missed at the probe, and nothing of it is left', async () => {
    const served = await connectHost();
    served.admin.qp.destroy();
    served.io.qp.destroy();
    // Twice: the first time there was a command meanwhile.
    served.timers.expire(PROBE_NS);
    await later(served);
    expect(served.target.controllers).toHaveLength(1);
    served.timers.expire(PROBE_NS);
    await later(served);
    expect([served.target.controllers, served.target.queues]).toEqual([[], []]);
    expect(served.timers.expire(PROBE_NS)).toBe(0);
    expect(served.subsystem.watchers.size).toBe(0);
  });

  it('is probed while answers fill the send queue, and not again before it has acknowledged that', async () => {
    const served = serve();
    const { target, world } = served;
    const admin = await connectAdmin(served);
    const [queue] = target.queues;
    await world.run(world.sleep(1e6));
    const isAck = ({ opcode }: { opcode: number }) => opcode === Op.Acknowledge;
    const lost = world.network.addRule({ port: 'device 1', match: isAck, action: 'drop' });
    // Each answer is two requests, and the send queue has two for each entry, and two.
    for (let answers = 0; answers < (queue?.entries ?? 0) + 1; answers++) {
      const identify = admin.command(AdminOpcode.Identify);
      identify.setArguments(IDENTIFY, { cns: IdentifyCns.Controller });
      admin.post(admin.withData(identify, 4096));
      await world.run(world.sleep(20_000));
    }
    expect(queue?.outstanding).toBe(0);
    for (const _ of [1, 2]) queue?.probe();
    world.network.removeRule(lost);
    await world.run(world.sleep(30e9));
    expect(target.queues).toEqual([queue]);
    expect((await admin.send(admin.command(AdminOpcode.KeepAlive))).status).toBe(0);
  });

  it('is not probed where the target is told so, as by Linux: silence alone is then no reason to end', async () => {
    const served = serve({ probeMs: 0 });
    const admin = await connectAdmin(served);
    admin.qp.destroy();
    expect([served.timers.expire(PROBE_NS), served.timers.expire(0)]).toEqual([0, 0]);
    await later(served);
    expect(served.target.controllers).toHaveLength(1);
  });

  it('that does not acknowledge what an I/O queue sends has no controller any more', async () => {
    const served = await connectHost({ probeMs: 0 });
    const { admin, io, target, subsystem } = served;
    const { passed, open } = gate();
    const slow = Object.assign(new MemoryBackend(DISK_BYTES), { read: () => passed.then(() => 0) });
    subsystem.addNamespace({ nsid: 2, backend: slow, uuid: new Uint8Array(16) });
    const read = io.command(NvmOpcode.Read);
    setBlocks(read, NvmOpcode.Read, 2, 0, 1);
    io.post(io.withData(read, 512));
    await served.world.run(served.world.sleep(1e9));
    // It is gone before the data comes.
    admin.qp.destroy();
    io.qp.destroy();
    open();
    await served.world.run(served.world.sleep(1e6));
    await later(served);
    expect([target.controllers, target.queues]).toEqual([[], []]);
  });

  it('that disconnects an I/O queue keeps its controller', async () => {
    const { io, target, world } = await connectHost();
    await world.run(io.connection.disconnect());
    await world.run(world.sleep(1e9));
    expect(target.queues.map(({ qid }) => qid)).toEqual([0]);
    expect(target.controllers).toHaveLength(1);
  });
});

it('a host that disconnects its admin queue has no controller any more', async () => {
  const { admin, target, world } = await connectHost();
  await world.run(admin.connection.disconnect());
  await world.run(world.sleep(1e8));
  expect([target.controllers, target.queues]).toEqual([[], []]);
});
