// Goal: our host and our target understand each other, on a clean and a lossy wire, and after a loss of the connection.
import { describe, expect, it } from 'vitest';
import { connectNvme, discoverNvme, type NvmeController } from '../../../../src/ulp/nvme/host/index.ts';
import { MemoryBackend, NvmeSubsystem, NvmeTarget, type TargetOptions } from '../../../../src/ulp/nvme/target/index.ts';
import { makePair, type PairOptions } from '../../../device/support.ts';
import { HOST, NQN, pattern, timersOf } from './support.ts';

const BLOCK = 512;
const BYTES = 1 << 20;

function makeRig(wire: PairOptions = {}, served: Partial<TargetOptions> = {}) {
  const pair = makePair(wire);
  const timers = timersOf(pair.world);
  const subsystem = new NvmeSubsystem({ nqn: NQN });
  const uuid = new Uint8Array(16).fill(9);
  subsystem.addNamespace({ backend: new MemoryBackend(BYTES), blockBytes: BLOCK, uuid });
  const listen = (): NvmeTarget => NvmeTarget.listen(pair.b, { subsystems: [subsystem], timers, ...served });
  const options = { address: '10.0.0.2', subnqn: NQN, ...HOST, timers, queues: 2, reconnectDelayMs: 100 };
  const connect = (): Promise<NvmeController> => pair.world.run(connectNvme(pair.a, options));
  return { ...pair, target: listen(), listen, options, connect };
}

describe('our host and our target', () => {
  it.each<[string, PairOptions, Partial<TargetOptions>]>([
    ['a clean wire', {}, {}],
    ['a wire that loses 1 %', { faults: { loss: 0.01 }, seed: 21 }, {}],
    ['a clean wire, with fewer receives than commands', {}, { srq: 16 }],
    ['a wire that loses 1 %, with fewer receives than commands', { faults: { loss: 0.01 }, seed: 22 }, { srq: 16 }],
  ])('write and read on %s', async (_, wire, served) => {
    const rig = makeRig(wire, served);
    const controller = await rig.connect();
    expect(controller.queues).toBe(2);
    const disk = await rig.world.run(controller.namespace(1));
    expect([disk.blockBytes, disk.bytes]).toEqual([BLOCK, BYTES]);
    const data = pattern(300 * BLOCK, 3);
    await rig.world.run(disk.write(5, data));
    await rig.world.run(disk.flush());
    const back = new Uint8Array(data.length);
    await rig.world.run(disk.read(5, back));
    expect(Buffer.compare(back, data)).toBe(0);
    expect(await rig.world.run(disk.compare(5, data.subarray(0, BLOCK)))).toBe(true);
    expect(await rig.world.run(disk.compare(6, data.subarray(0, BLOCK)))).toBe(false);
    await rig.world.run(disk.writeZeroes(5, 2));
    await rig.world.run(disk.read(5, back));
    expect(back.findIndex((byte) => byte !== 0)).toBeGreaterThanOrEqual(2 * BLOCK);
    // More commands at a time than there are receives.
    const small = Array.from({ length: 100 }, (_, lba) => disk.write(lba, pattern(BLOCK, lba)));
    await rig.world.run(Promise.all(small));
    await rig.world.run(disk.read(0, back.subarray(0, 100 * BLOCK)));
    for (let lba = 0; lba < 100; lba++)
      expect(Buffer.compare(back.subarray(lba * BLOCK, (lba + 1) * BLOCK), pattern(BLOCK, lba))).toBe(0);
    expect(controller.reconnects).toBe(0);
    expect(rig.target.sharedReceives).toBe(served.srq);
    await rig.world.run(controller.close());
    expect(rig.a.qpCount).toBe(0);
  });

  it('find each other again when the target was restarted', async () => {
    const rig = makeRig();
    const controller = await rig.connect();
    const disk = await rig.world.run(controller.namespace(1));
    const data = pattern(200 * BLOCK, 8);
    const write = disk.write(0, data);
    await rig.world.run(rig.target.close());
    rig.listen();
    await rig.world.run(write);
    const back = new Uint8Array(data.length);
    await rig.world.run(disk.read(0, back));
    expect(Buffer.compare(back, data)).toBe(0);
    expect(controller.reconnects).toBe(1);
    await rig.world.run(controller.close());
  });

  it('discover', async () => {
    const rig = makeRig();
    const { entries } = await rig.world.run(discoverNvme(rig.a, rig.options));
    expect(entries.map(({ subnqn, trsvcid }) => [subnqn, trsvcid])).toContainEqual([NQN, '4420']);
  });
});
