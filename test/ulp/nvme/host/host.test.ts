// Goal: the host does what an application asks it, says what the controller says, and leaves nothing behind.
// Method: a scripted target in the simulated world; what it has on its disk is looked at directly.
import { describe, expect, it } from 'vitest';
import { AsyncEventType, CmRejectStatus, NvmeStatus, NvmOpcode } from '../../../../src/ulp/nvme/codec/index.ts';
import { connectNvme, discoverNvme, NvmeError } from '../../../../src/ulp/nvme/host/index.ts';
import { type Arrived, BLOCK, BLOCKS } from './scripted-target.ts';
import { makeRig, pattern } from './support.ts';

const { Read, Write, Flush, Compare, WriteZeroes, DatasetManagement, Verify } = NvmOpcode;

describe('a host', () => {
  it('writes and reads blocks, in the capsule and by key', async () => {
    const rig = makeRig();
    const controller = await rig.connect();
    const disk = await rig.world.run(controller.namespace(1));
    expect([disk.blockBytes, disk.blocks, disk.bytes]).toEqual([BLOCK, BLOCKS, BLOCK * BLOCKS]);
    for (const [lba, blocks] of [
      [0, 1],
      [7, 8],
      [100, 9],
      [200, 128],
      [1000, 300],
    ] as const) {
      const data = pattern(blocks * BLOCK, lba);
      await rig.world.run(disk.write(lba, data));
      expect(rig.target.disk.subarray(lba * BLOCK, (lba + blocks) * BLOCK)).toEqual(data);
      const back = new Uint8Array(data.length);
      await rig.world.run(disk.read(lba, back));
      expect(back).toEqual(data);
    }
    // MDTS is 64 KiB: 300 blocks are three commands.
    expect(rig.target.seen.filter((opcode) => opcode === Write)).toHaveLength(4 + 3);
    await rig.world.run(controller.close());
    expect([rig.a.qpCount, rig.a.cm.size <= 4]).toEqual([0, true]);
  });

  it('has the other commands', async () => {
    const rig = makeRig();
    const controller = await rig.connect();
    const disk = await rig.world.run(controller.namespace(1));
    rig.target.disk.fill(0x55);
    await rig.world.run(disk.writeZeroes(1, 2));
    expect([...rig.target.disk.subarray(511, 514), rig.target.disk[3 * BLOCK]]).toEqual([0x55, 0, 0, 0x55]);
    expect(await rig.world.run(disk.compare(1, new Uint8Array(1024)))).toBe(true);
    expect(await rig.world.run(disk.compare(0, new Uint8Array(1024)))).toBe(false);
    await rig.world.run(
      disk.deallocate([
        { lba: 10, blocks: 1 },
        { lba: 20, blocks: 2 },
      ]),
    );
    expect([rig.target.disk[10 * BLOCK], rig.target.disk[11 * BLOCK], rig.target.disk[21 * BLOCK]]).toEqual([
      0, 0x55, 0,
    ]);
    await rig.world.run(disk.flush());
    await rig.world.run(disk.verify(0, 4));
    expect(rig.target.seen).toEqual([WriteZeroes, Compare, Compare, DatasetManagement, Flush, Verify]);
    await rig.world.run(controller.close());
  });

  it.each([true, false])('works whether the target invalidates keys (%s)', async (invalidates) => {
    const rig = makeRig({ invalidates });
    const controller = await rig.connect();
    const disk = await rig.world.run(controller.namespace(1));
    for (let round = 0; round < 40; round++) {
      const data = pattern(16 * BLOCK, round);
      await rig.world.run(disk.write(0, data));
      const back = new Uint8Array(data.length);
      await rig.world.run(disk.read(0, back));
      expect(back).toEqual(data);
    }
    expect(controller.reconnects).toBe(0);
    await rig.world.run(controller.close());
  });

  it('uses all queues that it is granted', async () => {
    const rig = makeRig({ grants: 3 });
    const controller = await rig.connect({ queues: 5 });
    expect(controller.queues).toBe(3);
    const disk = await rig.world.run(controller.namespace(1));
    rig.target.disk.set(pattern(BLOCK * BLOCKS));
    const reads = Array.from({ length: 100 }, (_, i) => new Uint8Array(BLOCK * (1 + (i % 3))));
    await rig.world.run(Promise.all(reads.map((into, i) => disk.read(i, into))));
    for (const [i, bytes] of reads.entries())
      expect(bytes).toEqual(rig.target.disk.slice(i * BLOCK, i * BLOCK + bytes.length));
    expect(controller.completed.every((count) => count > 10)).toBe(true);
    await rig.world.run(controller.close());
  });

  it('sends one command less than a queue has entries, and waits', async () => {
    const sent = new Map<number, number>();
    const rig = makeRig({
      script: ({ qid, command }) => {
        if (qid === 0 || command.opcode !== Read) return 'serve';
        sent.set(qid, (sent.get(qid) ?? 0) + 1);
        return 'drop';
      },
    });
    const controller = await rig.connect({ queues: 2 });
    const disk = await rig.world.run(controller.namespace(1));
    const reads = Array.from({ length: 100 }, (_, i) => disk.read(i, new Uint8Array(BLOCK)).catch(() => 'failed'));
    await rig.world.run(rig.world.sleep(1e6));
    expect([...sent]).toEqual([
      [1, 7],
      [2, 7],
    ]);
    await rig.world.run(controller.close());
    expect(await rig.world.run(Promise.all(reads))).toEqual(reads.map(() => 'failed'));
  });

  it('says what the controller says', async () => {
    const rig = makeRig({
      script: ({ command, qid }) => (qid > 0 && command.opcode === Write ? NvmeStatus.WriteFault | 0x40_00 : 'serve'),
    });
    const controller = await rig.connect();
    const disk = await rig.world.run(controller.namespace(1));
    const error: unknown = await rig.world.run(disk.write(0, new Uint8Array(BLOCK)).catch((e: unknown) => e));
    expect(error).toBeInstanceOf(NvmeError);
    expect(error).toMatchObject({
      statusCode: NvmeStatus.WriteFault,
      doNotRetry: true,
      message: 'Write: write fault, do not retry',
    });
    await rig.world.run(disk.read(0, new Uint8Array(BLOCK)));
    await rig.world.run(controller.close());
  });

  it('refuses what is no range of blocks, and sends nothing', async () => {
    const rig = makeRig();
    const controller = await rig.connect();
    const disk = await rig.world.run(controller.namespace(1));
    await expect(disk.read(0, new Uint8Array(100))).rejects.toThrow(/whole blocks/);
    await expect(disk.read(BLOCKS, new Uint8Array(BLOCK))).rejects.toThrow(/blocks/);
    await expect(disk.write(-1, new Uint8Array(BLOCK))).rejects.toThrow(/no range/);
    await expect(disk.deallocate([{ lba: 0, blocks: BLOCKS + 1 }])).rejects.toThrow(/blocks/);
    expect(rig.target.seen).toEqual([]);
    await rig.world.run(controller.close());
    await expect(disk.read(0, new Uint8Array(BLOCK))).rejects.toThrow(/disconnected/);
  });

  it('tells events, and what has changed', async () => {
    const rig = makeRig();
    const controller = await rig.connect();
    await rig.world.run(controller.namespace(1));
    rig.world.runFor(10_000_000);
    await rig.world.run(controller.namespaces());
    rig.target.event(0x04_00_02);
    const { value } = await rig.world.run(controller.events.next());
    expect(value).toMatchObject({ type: AsyncEventType.Notice, info: 0, logPage: 4, namespaces: [1, 7] });
    await rig.world.run(controller.namespaces());
    expect(rig.target.events).toHaveLength(1);
    await rig.world.run(controller.close());
    expect((await controller.events.next()).done).toBe(true);
  });

  it('keeps the controller alive, and gives it up when it is silent', async () => {
    let alive = 0;
    let silent = false;
    const rig = makeRig({
      script: ({ qid, command }) => {
        if (qid === 0 && command.opcode === 0x18) alive++;
        return silent && qid === 0 && command.opcode === 0x18 ? 'drop' : 'serve';
      },
    });
    const controller = await rig.connect({ keepAliveMs: 1000, commandTimeoutMs: 0, reconnectTries: 0 });
    const sleep = (ms: number): Promise<void> => rig.world.run(rig.world.sleep(ms * 1e6));
    await sleep(5000);
    expect(alive).toBeGreaterThan(8);
    expect(controller.state).toBe('live');
    silent = true;
    await sleep(3000);
    expect(controller.state).toBe('closed');
    await rig.world.run(controller.close());
  });

  it('keeps the last 64 events, however many a controller sends', async () => {
    const rig = makeRig();
    const controller = await rig.connect();
    for (let i = 0; i < 70; i++) {
      while (rig.target.events.length === 0) await rig.world.run(rig.world.sleep(1e5));
      rig.target.event(0x04_00_02 + 0x01_00_00 * i);
    }
    await rig.world.run(rig.world.sleep(10e6));
    expect([controller.events.length, controller.eventsLost]).toEqual([64, 6]);
    await rig.world.run(controller.close());
  });

  it.each([
    ['Connect', ({ command }: Arrived) => command.opcode === 0x7f],
    ['Identify', ({ command }: Arrived) => command.opcode === 0x06],
    ['properties', ({ command }: Arrived) => command.opcode === 0x7f && command.fabricsType === 4],
    ['an I/O queue', ({ qid }: Arrived) => qid > 0],
  ])('gives up a target that never answers %s', async (_, isDropped) => {
    const rig = makeRig({ script: (arrived) => (isDropped(arrived) ? 'drop' : 'serve') });
    const options = { ...rig.options, commandTimeoutMs: 2000, keepAliveMs: 0 };
    await expect(rig.world.run(connectNvme(rig.a, options))).rejects.toMatchObject({ code: 'ERR_ROCE_TIMEOUT' });
    expect(rig.a.qpCount).toBe(0);
  });

  it('gives up a discovery service that never answers', async () => {
    const rig = makeRig({ script: ({ command }) => (command.opcode === 0x02 ? 'drop' : 'serve') });
    await expect(rig.world.run(discoverNvme(rig.a, rig.options))).rejects.toMatchObject({ code: 'ERR_ROCE_TIMEOUT' });
    expect(rig.a.qpCount).toBe(0);
  });

  it('takes no namespace whose blocks are larger than a command may be', async () => {
    const rig = makeRig({ namespace: { lbaf: [{ lbads: 26 }] } });
    const controller = await rig.connect();
    await expect(rig.world.run(controller.namespace(1))).rejects.toThrow(/larger than a command/);
    await rig.world.run(controller.close());
  });

  it('discovers', async () => {
    const rig = makeRig();
    const { genctr, entries } = await rig.world.run(discoverNvme(rig.a, rig.options));
    expect([genctr, entries.map(({ subnqn }) => subnqn)]).toEqual([5n, ['nqn.a', 'nqn.b']]);
    expect(rig.a.qpCount).toBe(0);
  });
});

describe('connecting fails, and leaves nothing,', () => {
  it.each([
    [
      'where the target refuses a queue',
      { refuse: () => CmRejectStatus.NoResources },
      /refuses the queue: no resources/,
    ],
    [
      'where it refuses an I/O queue',
      { refuse: (qid: number) => (qid === 2 ? CmRejectStatus.InvalidQueueId : undefined) },
      /invalid queue identifier/,
    ],
    ['where it refuses Connect', { script: () => NvmeStatus.ConnectInvalidHost }, /Connect: connect invalid host/],
    ['where it takes no keyed SGLs', { identity: { sglsKeyed: false } }, /keyed SGLs/],
  ])('%s', async (_, scripted, message) => {
    const rig = makeRig(scripted);
    await expect(rig.world.run(connectNvme(rig.a, { ...rig.options, queues: 2 }))).rejects.toThrow(message);
    expect(rig.a.qpCount).toBe(0);
  });

  it('for options out of their ranges', async () => {
    const rig = makeRig();
    for (const wrong of [{ queues: 0 }, { queueSize: 1 }, { hostid: new Uint8Array(8) }, { maxTransferBytes: 1 << 24 }])
      await expect(rig.connect(wrong)).rejects.toThrow(/queues|queueSize|16 bytes|maxTransferBytes/);
  });
});
