// Goal: after a loss of the connection every command is done or has failed, reads and writes are sent again in their
// order, and a target that breaks the protocol reaches no memory that it has no right to.
import { describe, expect, it, vi } from 'vitest';
import { InvariantError } from '../../../../packets/errors.ts';
import { NamespaceIdType, NvmeStatus, NvmOpcode } from '../../../../src/ulp/nvme/codec/index.ts';
import { Dispatcher } from '../../../../src/ulp/nvme/host/dispatcher.ts';
import type { NvmeController } from '../../../../src/ulp/nvme/host/index.ts';
import { BLOCK, type ScriptedOptions, type TargetQueue, type Verdict } from './scripted-target.ts';
import { makeRig, pattern, type Rig } from './support.ts';

const { Read, Write } = NvmOpcode;

/** Until the controller has reconnected. */
async function reconnected(rig: Rig, controller: NvmeController): Promise<void> {
  while (controller.state !== 'live') await rig.world.run(rig.world.sleep(10e6));
}

describe('a host that loses its connection', () => {
  it('sends what had no answer again, in the order in which it was sent', async () => {
    let drop = true;
    const script: ScriptedOptions['script'] = ({ qid }): Verdict => (qid > 0 && drop ? 'drop' : 'serve');
    const rig = makeRig();
    const controller = await rig.connect({ queues: 2 });
    const disk = await rig.world.run(controller.namespace(1));
    rig.target.options = { script };
    const writes = Array.from({ length: 20 }, (_, i) => disk.write(i % 4, pattern(BLOCK, i)));
    await rig.world.run(rig.world.sleep(5e6));
    const before = rig.target.seen.length;
    expect(before).toBe(14);
    drop = false;
    rig.target.kill();
    await rig.world.run(Promise.all(writes));
    expect(controller.reconnects).toBe(1);
    expect(controller.replayed).toBe(14);
    expect(rig.target.seen.slice(before)).toEqual(new Array(20).fill(Write));
    await rig.world.run(controller.close());
  });

  it('finds its bytes right, whenever the connection ends', async () => {
    const rig = makeRig({}, { seed: 5 });
    const controller = await rig.connect({ queues: 2 });
    const disk = await rig.world.run(controller.namespace(1));
    for (let round = 0; round < 12; round++) {
      const data = pattern(64 * BLOCK, round);
      const write = disk.write(round, data);
      await rig.world.run(rig.world.sleep(round * 7_000));
      rig.target.kill();
      await rig.world.run(write);
      await reconnected(rig, controller);
      const back = new Uint8Array(data.length);
      await rig.world.run(disk.read(round, back));
      expect(back).toEqual(data);
    }
    expect(controller.reconnects).toBe(12);
    await rig.world.run(controller.close());
  });

  it('fails everything when the target does not come back', async () => {
    const rig = makeRig();
    const controller = await rig.connect({ reconnectTries: 3 });
    const disk = await rig.world.run(controller.namespace(1));
    rig.target.options = { refuse: () => 6, script: ({ qid }) => (qid > 0 ? 'drop' : 'serve') };
    const reads = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9].map((lba) =>
      disk.read(lba, new Uint8Array(BLOCK)).catch((e: Error) => e.message),
    );
    await rig.world.run(rig.world.sleep(1e6));
    rig.target.kill();
    for (const message of await rig.world.run(Promise.all(reads))) expect(message).toMatch(/connection is lost/);
    expect(controller.state).toBe('closed');
    await expect(disk.read(0, new Uint8Array(BLOCK))).rejects.toThrow(/lost/);
    await rig.world.run(controller.close());
    expect(rig.a.qpCount).toBe(0);
  });

  const uuid = (byte: number) => ({ type: NamespaceIdType.Uuid, id: new Uint8Array(16).fill(byte) });
  it.each<[string, ScriptedOptions, ScriptedOptions]>([
    ['NGUID', {}, { namespace: { nguid: new Uint8Array(16).fill(8) } }],
    ['UUID', { descriptors: [uuid(1)] }, { descriptors: [uuid(2)] }],
    ['no UUID any more', { descriptors: [uuid(1)] }, {}],
  ])('writes nothing on another disk that comes back under the same number: another %s', async (_, before, after) => {
    const rig = makeRig(before);
    const controller = await rig.connect();
    const disk = await rig.world.run(controller.namespace(1));
    rig.target.options = { script: ({ qid }) => (qid > 0 ? 'drop' : 'serve') };
    const write = disk.write(0, pattern(BLOCK)).catch((e: Error) => e.message);
    await rig.world.run(rig.world.sleep(1e6));
    rig.target.kill();
    rig.target.options = after;
    rig.target.seen.length = 0;
    expect(await rig.world.run(write)).toMatch(/another one than before/);
    expect(rig.target.seen).toEqual([]);
    await rig.world.run(controller.close());
  });

  it('notices a target that is gone without a word', async () => {
    const rig = makeRig();
    const controller = await rig.connect();
    const disk = await rig.world.run(controller.namespace(1));
    rig.target.kill(true);
    await rig.world.run(disk.write(1, pattern(BLOCK)));
    expect([...rig.target.disk.subarray(BLOCK, BLOCK + 3)]).toEqual([...pattern(3)]);
    expect([controller.reconnects, controller.replayed]).toEqual([1, 1]);
    await rig.world.run(controller.close());
  });

  it('gives up a command that is not answered, and sends it again', async () => {
    let dropped = 0;
    const rig = makeRig({
      script: ({ qid, command }) => (qid > 0 && command.opcode === Read && dropped++ === 0 ? 'drop' : 'serve'),
    });
    const controller = await rig.connect({ commandTimeoutMs: 2000 });
    const disk = await rig.world.run(controller.namespace(1));
    await rig.world.run(disk.read(0, new Uint8Array(BLOCK)));
    expect([controller.reconnects, controller.replayed]).toEqual([1, 1]);
    await rig.world.run(controller.close());
  });

  it('is closed while a target does not answer its Connect', async () => {
    const rig = makeRig();
    const controller = await rig.connect({ commandTimeoutMs: 1000 });
    rig.target.options = { script: () => 'drop' };
    rig.target.kill();
    await rig.world.run(rig.world.sleep(500e6));
    await rig.world.run(controller.close());
    expect([controller.state, rig.a.qpCount]).toEqual(['closed', 0]);
  });

  it('tells whoever waits of an error of its own, and leaves no rejection to nobody', async () => {
    const rig = makeRig();
    const controller = await rig.connect({ reconnectTries: 2 });
    const disk = await rig.world.run(controller.namespace(1));
    const broken = vi.spyOn(Dispatcher.prototype, 'begin').mockImplementation(() => {
      throw new InvariantError('planted');
    });
    rig.target.options = { script: ({ qid }) => (qid > 0 ? 'drop' : 'serve') };
    const read = disk.read(0, new Uint8Array(BLOCK)).catch((e: Error) => e.message);
    await rig.world.run(rig.world.sleep(1e6));
    rig.target.kill();
    rig.target.options = {};
    const message = await rig.world.run(read);
    broken.mockRestore();
    expect(message).toMatch(/planted/);
    expect(controller.state).toBe('closed');
    await rig.world.run(controller.close());
    expect(rig.a.qpCount).toBe(0);
  });

  it('ends a queue in which an error of its own happens, and goes on with another', async () => {
    const rig = makeRig();
    const controller = await rig.connect();
    const disk = await rig.world.run(controller.namespace(1));
    vi.spyOn(Dispatcher.prototype, 'slotFreed').mockImplementationOnce(() => {
      throw new InvariantError('planted');
    });
    await rig.world.run(disk.read(0, new Uint8Array(BLOCK)));
    await rig.world.run(disk.read(0, new Uint8Array(BLOCK)));
    expect(controller.reconnects).toBe(1);
    await rig.world.run(controller.close());
  });

  it('is closed while it reconnects', async () => {
    const rig = makeRig();
    const controller = await rig.connect();
    const disk = await rig.world.run(controller.namespace(1));
    rig.target.options = { refuse: () => 6 };
    rig.target.kill();
    const read = disk.read(0, new Uint8Array(BLOCK)).catch((e: Error) => e.message);
    await rig.world.run(rig.world.sleep(5_000e6));
    expect(controller.state).toBe('reconnecting');
    await rig.world.run(controller.close());
    expect(await read).toMatch(/closed/);
    expect(rig.a.qpCount).toBe(0);
  });

  it.each([
    ['lossy', { faults: { loss: 0.02 }, seed: 11 }],
    ['reordering', { faults: { reorder: 0.05 }, seed: 12 }],
  ])('does not lose it on a %s wire', async (_, wire) => {
    const rig = makeRig({}, wire);
    const controller = await rig.connect({ queues: 2 });
    const disk = await rig.world.run(controller.namespace(1));
    const all = pattern(1000 * BLOCK, 3);
    await rig.world.run(disk.write(0, all));
    const back = new Uint8Array(all.length);
    await rig.world.run(disk.read(0, back));
    expect(back).toEqual(all);
    expect(controller.reconnects).toBe(0);
    await rig.world.run(controller.close());
  });
});

describe('a target that breaks the protocol loses the connection:', () => {
  it.each<[string, (queue: TargetQueue, cid: number, key: number) => void]>([
    ['a response to no command', (queue) => queue.answer(0x3ff, 0)],
    ['a response of a command before', (queue, cid) => queue.answer(cid ^ 0x04_00, 0)],
    ['a response that is too short', (queue, cid) => queue.answer(cid, 0, { length: 12 })],
    ['a WRITE with immediate data', (queue) => queue.writeWithImmediate()],
    [
      'an invalidation of a key that is not its',
      (queue, cid, key) => queue.answer(cid, 0, { invalidate: (key ^ 1) >>> 0 }),
    ],
  ])('%s', async (_, misbehave) => {
    let bad = true;
    const rig = makeRig({
      script: ({ qid, command, queue }) => {
        if (qid === 0 || command.opcode !== Read || !bad) return 'serve';
        bad = false;
        misbehave(queue, command.cid, command.sgl.key);
        return 'drop';
      },
    });
    const controller = await rig.connect();
    const disk = await rig.world.run(controller.namespace(1));
    rig.target.disk.set(pattern(BLOCK));
    const back = new Uint8Array(BLOCK);
    const before = rig.world.now;
    await rig.world.run(disk.read(0, back));
    expect(back).toEqual(pattern(BLOCK));
    expect(controller.reconnects).toBe(1);
    // At once, not when the command has taken too long.
    expect(rig.world.now - before).toBeLessThan(1e9);
    await rig.world.run(controller.close());
  });

  it.each([
    ['data longer than the command asked for', 2 * BLOCK, false],
    ['data after the answer', BLOCK, true],
  ])('%s', async (_, length, afterwards) => {
    let bad = true;
    const rig = makeRig({
      script: ({ qid, command, queue }) => {
        if (qid === 0 || command.opcode !== Read || !bad) return 'serve';
        bad = false;
        const { address, key } = command.sgl;
        if (afterwards) queue.answer(command.cid, NvmeStatus.Success, { invalidate: key });
        queue.put({ address, key }, new Uint8Array(length).fill(0xee));
        return 'drop';
      },
    });
    const controller = await rig.connect();
    const disk = await rig.world.run(controller.namespace(1));
    const memory = new Uint8Array(3 * BLOCK).fill(0x77);
    await rig.world.run(disk.read(0, memory.subarray(BLOCK, 2 * BLOCK)));
    await rig.world.run(rig.world.sleep(1e9));
    expect(memory.includes(0xee)).toBe(false);
    expect(memory.subarray(0, BLOCK).every((byte) => byte === 0x77)).toBe(true);
    expect(memory.subarray(2 * BLOCK).every((byte) => byte === 0x77)).toBe(true);
    expect(controller.reconnects).toBe(1);
    await rig.world.run(controller.close());
  });
});
