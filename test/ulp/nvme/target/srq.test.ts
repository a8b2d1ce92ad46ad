// Goal: I/O queues of a target share their receives, and none is ever lost, however a queue ends.
// Method: scripted hosts in the simulated world; after each end all receives wait for capsules again.
import { describe, expect, it } from 'vitest';
import { attachDevice, WrOpcode } from '../../../../src/index.ts';
import { AdminOpcode, NvmeStatus, NvmOpcode, setBlocks } from '../../../../src/ulp/nvme/codec/index.ts';
import {
  FaultyBackend,
  MemoryBackend,
  NvmeSubsystem,
  NvmeTarget,
  type TargetOptions,
} from '../../../../src/ulp/nvme/index.ts';
import {
  type ConnectedHost,
  connectAdmin,
  connectHost,
  DISK_BYTES,
  gate,
  ManualTimers,
  NQN,
  pattern,
  ScriptedQueue,
  serve,
} from './support.ts';

const BLOCK = 512;
const SRQ = 16;
/** Longer than all repetitions of a transport. */
const LONG_NS = 30e9;
const PROBE_NS = 20e9;

/** A host and, as namespace 2, a disk whose reads wait until `open` is called. */
async function slowHost(options: Partial<TargetOptions> = {}) {
  const host = await connectHost({ srq: SRQ, probeMs: 0, ...options });
  const { passed, open } = gate();
  const disk = new MemoryBackend(DISK_BYTES);
  disk.content.set(pattern(DISK_BYTES, 3));
  const backend = new FaultyBackend(disk, ({ kind }) => (kind === 'read' ? { wait: passed } : undefined));
  host.subsystem.addNamespace({ nsid: 2, backend, uuid: new Uint8Array(16).fill(2) });
  return { ...host, open };
}

function read(io: ScriptedQueue, nsid: number, count = 1) {
  const command = io.command(NvmOpcode.Read);
  setBlocks(command, NvmOpcode.Read, nsid, 0, count);
  return io.withData(command, count * BLOCK);
}

function write(io: ScriptedQueue, lba: number) {
  const command = io.command(NvmOpcode.Write);
  setBlocks(command, NvmOpcode.Write, 1, lba, 1);
  command.sgl.setInCapsule(0, BLOCK);
  return command;
}

/** Posts a WRITE whose data are in its capsule, of which half is on a slow wire when this returns. */
function sendHalf({ io, target, world }: ConnectedHost): void {
  const command = io.command(NvmOpcode.Write);
  setBlocks(command, NvmOpcode.Write, 1, 0, 16);
  command.sgl.setInCapsule(0, 8192);
  world.network.port('device 1')?.setFaults({ rateBps: 1e6 });
  io.post(command, pattern(8192));
  world.runUntil(() => target.sharedReceives === SRQ - 1);
}

async function after({ world }: Pick<ConnectedHost, 'world'>, ns: number): Promise<void> {
  await world.run(world.sleep(1000));
  await world.run(world.sleep(ns));
}

describe('I/O queues that share receives', () => {
  it('take capsules of all, each with its own data', async () => {
    const served = await connectHost({ srq: SRQ });
    const { io, disk, target } = served;
    const second = await ScriptedQueue.open(served, 2);
    expect((await second.connect({ qid: 2 }, { cntlid: 1 })).status).toBe(0);
    for (let round = 0; round < 2 * SRQ; round++) {
      const queue = round % 2 === 0 ? io : second;
      expect((await queue.send(write(queue, round), pattern(BLOCK, round))).status).toBe(0);
    }
    for (let round = 0; round < 2 * SRQ; round++)
      expect(disk.content.subarray(round * BLOCK, (round + 1) * BLOCK)).toEqual(pattern(BLOCK, round));
    expect(target.sharedReceives).toBe(SRQ);
  });

  it('let a host wait that finds them all in use, and hear it on its admin queue all the time', async () => {
    const served = await slowHost();
    const { io, admin, target, open } = served;
    for (let i = 0; i < SRQ + 4; i++) {
      io.post(read(io, 2));
      await after(served, 100_000);
    }
    expect([target.sharedReceives, target.queues[1]?.outstanding]).toEqual([0, SRQ]);
    expect((await admin.send(admin.command(AdminOpcode.KeepAlive))).status).toBe(NvmeStatus.Success);
    open();
    for (let i = 0; i < SRQ + 4; i++) expect((await io.answer())?.status).toBe(NvmeStatus.Success);
    await after(served, 1e6);
    expect(target.sharedReceives).toBe(SRQ);
  });

  it('end one whose host sends more than it has entries; the others go on', async () => {
    const served = await slowHost({ srq: 64 });
    const { target, open, io } = served;
    const small = await ScriptedQueue.open(served, 2, 4);
    expect((await small.connect({ qid: 2, sqsize: 3 }, { cntlid: 1 })).status).toBe(0);
    for (let i = 0; i < 5; i++) small.post(read(small, 2));
    await after(served, 1e6);
    expect(target.queues.map(({ qid }) => qid)).toEqual([0, 1, 2]);
    small.post(read(small, 2));
    await after(served, 1e6);
    expect(target.queues.map(({ qid }) => qid)).toEqual([0, 1]);
    // The disk still works on five.
    expect(target.sharedReceives).toBe(59);
    open();
    await after(served, 1e6);
    expect(target.sharedReceives).toBe(64);
    expect((await io.send(read(io, 1))).status).toBe(0);
  });

  it.each<[string, (served: ConnectedHost) => void | Promise<void>]>([
    ['the host disconnects', async ({ io, world }) => void (await world.run(io.connection.disconnect()))],
    [
      'the host vanishes',
      ({ admin, io }) => {
        admin.qp.destroy();
        io.qp.destroy();
      },
    ],
    ['the controller ends', ({ target }) => target.controllers[0]?.close()],
  ])('come back when %s while the disk works on commands', async (_, end) => {
    const served = await slowHost();
    for (let i = 0; i < 4; i++) served.io.post(read(served.io, 2));
    await after(served, 1e6);
    expect(served.target.sharedReceives).toBe(SRQ - 4);
    await end(served);
    served.open();
    await after(served, LONG_NS);
    expect(served.target.sharedReceives).toBe(SRQ);
    expect(served.target.queues.filter(({ qid }) => qid !== 0)).toEqual([]);
  });

  it.each<[string, (served: ConnectedHost) => void]>([
    ['is closed', ({ b }) => b.close()],
    ['loses its wire', ({ b }) => b.lostWire()],
  ])('are gone when the device %s, and so is every queue', async (_, end) => {
    const served = await slowHost();
    const { io, target, world, open } = served;
    for (let i = 0; i < 4; i++) io.post(read(io, 2));
    await after(served, 1e6);
    end(served);
    open();
    await world.run(world.sleep(1e6));
    expect(target.queues).toEqual([]);
    await target.close();
  });

  it('come back when a host vanishes in the middle of a capsule, and its admin queue does not answer', async () => {
    const served = await connectHost({ srq: SRQ, inCapsuleBytes: 8192 });
    const { admin, io, target } = served;
    sendHalf(served);
    for (const queue of [io, admin]) queue.qp.destroy();
    // Twice: the first time there was a command meanwhile.
    for (const _ of [1, 2]) {
      served.timers.expire(PROBE_NS);
      await after(served, LONG_NS);
    }
    expect([target.sharedReceives, target.queues]).toEqual([SRQ, []]);
  });

  it('come back when capsules have arrived that nobody has looked at', async () => {
    const served = await connectHost({ srq: SRQ });
    const { io, target, world } = served;
    for (let i = 0; i < 6; i++) io.post(write(io, i), pattern(BLOCK));
    // No promise is taken up meanwhile.
    world.runFor(1e6);
    expect(target.sharedReceives).toBe(SRQ - 6);
    target.queues[1]?.close();
    await after(served, 1e6);
    expect(target.sharedReceives).toBe(SRQ);
  });

  it('come back when a queue ends in the middle of a capsule', async () => {
    const served = await connectHost({ srq: SRQ, inCapsuleBytes: 8192 });
    const { target } = served;
    sendHalf(served);
    target.queues[1]?.close();
    await after(served, 1e6);
    expect(target.sharedReceives).toBe(SRQ);
  });

  it.each<[string, (io: ScriptedQueue) => void]>([
    ['longer than a receive', (io) => io.post(io.command(NvmOpcode.Flush), undefined, 64 + 4096 + 512)],
    ['shorter than a command', (io) => io.post(io.command(NvmOpcode.Flush), undefined, 60)],
    [
      'a WRITE with immediate data',
      (io) =>
        io.qp.postSend({ wrId: 0, opcode: WrOpcode.RdmaWriteWithImm, sges: [], remoteAddr: 0n, rkey: 0, immData: 1 }),
    ],
  ])('come back when what arrives is %s', async (_, send) => {
    const served = await connectHost({ srq: SRQ });
    send(served.io);
    await after(served, 1e9);
    expect(served.target.queues.map(({ qid }) => qid)).toEqual([0]);
    expect(served.target.sharedReceives).toBe(SRQ);
  });

  it('are no business of a command any more whose queue ended while it waited for memory', async () => {
    const served = await slowHost({ dataBytes: 1 << 20 });
    const { io, target, open } = served;
    const other = await ScriptedQueue.open(served, 2);
    await other.connect({ qid: 2 }, { cntlid: 1 });
    other.post(read(other, 2, 1 << 11));
    await after(served, 1e6);
    io.post(read(io, 2, 1 << 11));
    await after(served, 1e6);
    expect(target.pool.waiting).toBe(1);
    target.queues[1]?.close();
    expect(target.sharedReceives).toBe(SRQ - 1);
    open();
    expect((await other.answer())?.status).toBe(0);
    expect(Buffer.compare(other.memory.bytes.subarray(0, DISK_BYTES), pattern(DISK_BYTES, 3))).toBe(0);
    for (let i = 0; i < SRQ; i++) expect((await other.send(read(other, 2, 8))).status).toBe(0);
    expect([target.pool.waiting, target.sharedReceives]).toEqual([0, SRQ]);
  });

  it('cost a second host nothing but its admin queue', async () => {
    const served = serve({ srq: SRQ });
    const { b, target, world } = served;
    await connectAdmin(served);
    const before = b.tables().memoryRegions;
    for (let qid = 1; qid <= 4; qid++) {
      const io = await ScriptedQueue.open(served, qid);
      await io.connect({ qid }, { cntlid: 1 });
    }
    // Of the pool for Connect data there may be one more.
    expect(b.tables().memoryRegions).toBeLessThanOrEqual(before + 1);
    await world.run(target.close());
    expect(b.tables().sharedReceiveQueues).toBe(0);
    target.pd.dealloc();
  });

  it('are none of a queue for which the device has no queue pair, as those of its own are none', async () => {
    const { a, world } = serve();
    for (const srq of [0, SRQ]) {
      const address = `10.0.0.${8 + Math.sign(srq)}`;
      const poor = attachDevice(world, `poor ${srq}`, {
        addresses: [`${address}/24`],
        limits: { maxQp: 1 },
        mtu: 4200,
      });
      NvmeTarget.listen(poor, { subsystems: [new NvmeSubsystem({ nqn: NQN })], timers: new ManualTimers(), srq });
      await ScriptedQueue.open({ a, world, address }, 0);
      const before = poor.tables();
      for (const qid of [0, 1]) await expect(ScriptedQueue.open({ a, world, address }, qid)).rejects.toThrow();
      const { memoryRegions, completionQueues } = before;
      expect(poor.tables()).toMatchObject({ memoryRegions, completionQueues });
    }
  });

  it('are as many as a device allows, or the target does not listen and leaves nothing behind', () => {
    const { b, world } = serve();
    const subsystems = [new NvmeSubsystem({ nqn: NQN })];
    const timers = new ManualTimers();
    for (const srq of [-1, 15, 1.5, 65_537])
      expect(() => NvmeTarget.listen(b, { subsystems, timers, srq, port: 4421 })).toThrow(/srq is a whole number/);
    const poor = attachDevice(world, 'poor', { addresses: ['10.0.0.9/24'], limits: { maxSrq: 0 } });
    expect(() => NvmeTarget.listen(poor, { subsystems, timers, srq: 64 })).toThrow(/shared receive queues/);
    expect(NvmeTarget.listen(poor, { subsystems, timers }).sharedReceives).toBeUndefined();
    const poorer = attachDevice(world, 'poorer', { addresses: ['10.0.0.8/24'], limits: { maxMr: 0 } });
    const wanted = { subsystems, timers, srq: 64 };
    expect(() => NvmeTarget.listen(poorer, wanted)).toThrow(expect.objectContaining({ code: 'ERR_ROCE_LIMIT' }));
    expect(poorer.tables()).toMatchObject({ sharedReceiveQueues: 0, listeners: 0 });
  });
});
