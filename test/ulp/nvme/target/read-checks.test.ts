/**
 * Goal: a read meets the same checks, once, whichever way its bytes go: lent by the disk or copied into memory of the
 * target. What is refused has touched no disk, taken no memory, sent no data and counted nothing.
 */
import { describe, expect, it } from 'vitest';
import {
  AnaState,
  type NvmeCommand,
  NvmeStatus,
  NvmOpcode,
  PropertyOffset,
  STATUS_DNR,
  setBlocks,
} from '../../../../src/ulp/nvme/codec/index.ts';
import type { MemoryBackend } from '../../../../src/ulp/nvme/index.ts';
import { CC_ENABLED, type ConnectedHost, connectHost, DISK_BYTES, pattern, type ScriptedQueue } from './support.ts';

const BLOCK = 512;
/** Enough for a disk in memory to lend it. */
const BYTES = 128 << 10;

function reading(io: ScriptedQueue, bytes = BYTES, at = 0): NvmeCommand {
  const command = io.command(NvmOpcode.Read);
  setBlocks(command, NvmOpcode.Read, 1, at / BLOCK, bytes / BLOCK);
  return io.withData(command, bytes);
}

/** How often the disk was asked for bytes, either way. */
function countTouches(disk: MemoryBackend): () => number {
  let count = 0;
  const [read, lend] = [disk.read.bind(disk), disk.lend?.bind(disk)];
  Object.assign(disk, {
    read: (...args: Parameters<typeof read>) => {
      count++;
      return read(...args);
    },
    lend:
      lend &&
      ((...args: Parameters<typeof lend>) => {
        count++;
        return lend(...args);
      }),
  });
  return () => count;
}

const WAYS: readonly (readonly [string, (disk: MemoryBackend) => unknown])[] = [
  ['that is lent', (disk) => disk],
  ['that is copied', (disk) => Object.assign(disk, { lend: undefined })],
];

type Change = (host: ConnectedHost, command: NvmeCommand) => unknown;
const REFUSED: readonly (readonly [string, number, Change])[] = [
  ['a namespace that there is not', NvmeStatus.InvalidNamespace | STATUS_DNR, (_, command) => (command.nsid = 2)],
  [
    'blocks behind the end',
    NvmeStatus.LbaOutOfRange | STATUS_DNR,
    (_, command) => (command.cdw10 = (DISK_BYTES - BYTES) / BLOCK + 1),
  ],
  [
    'protection information',
    NvmeStatus.InvalidProtectionInformation | STATUS_DNR,
    (_, command) => (command.cdw12 |= 1 << 29),
  ],
  [
    'a namespace out of reach by this port',
    NvmeStatus.AnaInaccessible,
    ({ subsystem }) => subsystem.setAnaState(1, AnaState.Inaccessible),
  ],
  [
    'a controller that has failed',
    NvmeStatus.CommandSequenceError | STATUS_DNR,
    ({ admin }) => admin.setProperty(PropertyOffset.Cc, CC_ENABLED | (1 << 4)),
  ],
];

describe.each(WAYS)('a read %s', (_, prepare) => {
  it.each(REFUSED)('is refused for %s', async (_what, status, change) => {
    const host = await connectHost();
    const { io, disk, target } = host;
    prepare(disk);
    const touches = countTouches(disk);
    const command = reading(io);
    await change(host, command);
    expect((await io.send(command)).status).toBe(status);
    expect([touches(), target.queues[1]?.counters.bytesToHost]).toEqual([0, 0]);
    expect(target.controllers[0]?.io).toMatchObject({ reads: 0, bytesRead: 0 });
    expect(target.pool.disks.size).toBe(0);
    expect(target.controllers[0]?.errors[0]).toMatchObject({ sqid: 1, status });
  });

  it('is what the disk has, and is counted once', async () => {
    const { io, disk, target } = await connectHost();
    disk.content.set(pattern(DISK_BYTES, 5));
    prepare(disk);
    expect((await io.send(reading(io, BYTES, BLOCK))).status).toBe(0);
    expect(io.memory.bytes.slice(0, BYTES)).toEqual(pattern(DISK_BYTES, 5).subarray(BLOCK, BLOCK + BYTES));
    expect(target.controllers[0]?.io).toMatchObject({ reads: 1, bytesRead: BYTES });
  });
});

describe('a read that waits for memory', () => {
  /** The only memory of the target is in a response that the host does not acknowledge, and a read waits for it. */
  async function waiting() {
    const host = await connectHost({ dataBytes: 1 << 20 });
    const { io, disk, target, world } = host;
    Object.assign(disk, { lend: undefined });
    const lose = (all: boolean): void => world.network.port('device 2')?.setFaults({ loss: all ? 1 : 0 }, 'send');
    lose(true);
    io.post(reading(io, DISK_BYTES));
    io.post(reading(io));
    await world.run(world.sleep(1000));
    await world.run(world.sleep(1e6));
    expect(target.pool.waiting).toBe(1);
    return { ...host, heal: () => lose(false) };
  }

  it('meets the checks when it has it', async () => {
    const { io, subsystem, target, heal } = await waiting();
    subsystem.setAnaState(1, AnaState.Inaccessible);
    heal();
    expect((await io.answer())?.status).toBe(0);
    expect((await io.answer())?.status).toBe(NvmeStatus.AnaInaccessible);
    expect(target.controllers[0]?.io.reads).toBe(1);
  });

  it('is refused when the namespace has other blocks by then than its descriptor was for', async () => {
    const { io, subsystem, disk, target, heal } = await waiting();
    subsystem.removeNamespace(1);
    subsystem.addNamespace({ nsid: 1, backend: disk, blockBytes: 4096, uuid: new Uint8Array(16).fill(7) });
    heal();
    expect((await io.answer())?.status).toBe(0);
    expect((await io.answer())?.status).toBe(NvmeStatus.InvalidSglDataLength | STATUS_DNR);
    expect(target.controllers[0]?.io.reads).toBe(1);
  });

  it('is counted once, and gives it back', async () => {
    const { io, target, heal } = await waiting();
    heal();
    expect([(await io.answer())?.status, (await io.answer())?.status]).toEqual([0, 0]);
    expect(target.controllers[0]?.io).toMatchObject({ reads: 2, bytesRead: DISK_BYTES + BYTES });
    expect((await io.send(reading(io, DISK_BYTES))).status).toBe(0);
  });

  it('holds up none that is refused', async () => {
    const { io, target, world } = await waiting();
    io.post(reading(io, BYTES, DISK_BYTES));
    await world.run(world.sleep(1e6));
    expect([target.pool.waiting, target.queues[1]?.counters.errors]).toEqual([1, 1]);
  });
});
