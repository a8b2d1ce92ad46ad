/** I/O commands of a scripted host: where bytes go, and what refuses them. */
import { expect, it } from 'vitest';
import {
  AnaState,
  encodeDsmRanges,
  NvmeStatus,
  NvmOpcode,
  SglType,
  STATUS_DNR,
  setBlocks,
  setDeallocation,
} from '../../../../src/ulp/nvme/codec/index.ts';
import { FaultyBackend, MemoryBackend, readOnlyBackend } from '../../../../src/ulp/nvme/index.ts';
import { type ConnectedHost, connectHost, DISK_BYTES, gate, pattern, type ScriptedQueue } from './support.ts';

const BLOCK = 512;
const DISK_BLOCKS = DISK_BYTES / BLOCK;

/** A command of blocks, with its data in the host's memory. */
function blocks(io: ScriptedQueue, opcode: number, lba: number, count: number, nsid = 1) {
  const command = io.command(opcode);
  setBlocks(command, opcode, nsid, lba, count);
  return io.withData(command, count * BLOCK);
}

function refusal(status: number): number {
  return status | STATUS_DNR;
}

it('reads and writes what is in the host memory, with nothing beside it', async () => {
  const { io, disk } = await connectHost();
  io.memory.bytes.set(pattern(8 * BLOCK));
  expect((await io.send(blocks(io, NvmOpcode.Write, 3, 8))).status).toBe(0);
  expect(disk.content.subarray(3 * BLOCK, 11 * BLOCK)).toEqual(pattern(8 * BLOCK));
  expect(disk.content.subarray(0, 3 * BLOCK).every((byte) => byte === 0)).toBe(true);
  io.memory.bytes.fill(0xa5);
  expect((await io.send(blocks(io, NvmOpcode.Read, 4, 2))).status).toBe(0);
  expect(io.memory.bytes.subarray(0, 2 * BLOCK)).toEqual(pattern(8 * BLOCK).subarray(BLOCK, 3 * BLOCK));
  expect(io.memory.bytes.subarray(2 * BLOCK, 4 * BLOCK).every((byte) => byte === 0xa5)).toBe(true);
});

it('moves 1 MiB with one command', async () => {
  const { io, disk } = await connectHost();
  disk.content.set(pattern(DISK_BYTES, 9));
  expect((await io.send(blocks(io, NvmOpcode.Read, 0, DISK_BLOCKS))).status).toBe(0);
  expect(Buffer.compare(io.memory.bytes.subarray(0, DISK_BYTES), pattern(DISK_BYTES, 9))).toBe(0);
});

it('takes data that comes in the capsule', async () => {
  const { io, disk } = await connectHost();
  const command = io.command(NvmOpcode.Write);
  setBlocks(command, NvmOpcode.Write, 1, 1, 2);
  command.sgl.setInCapsule(16, 2 * BLOCK);
  const capsule = new Uint8Array(16 + 2 * BLOCK);
  capsule.set(pattern(2 * BLOCK), 16);
  expect((await io.send(command, capsule)).status).toBe(0);
  expect(disk.content.subarray(BLOCK, 3 * BLOCK)).toEqual(pattern(2 * BLOCK));
});

it('invalidates the key of the host with the response when the descriptor asks for it, and only then', async () => {
  const { io } = await connectHost();
  const { rkey } = io.memory;
  const kept = io.withData(blocks(io, NvmOpcode.Read, 0, 1), BLOCK);
  expect((await io.send(kept)).invalidated).toBe(-1);
  const ended = io.withData(blocks(io, NvmOpcode.Read, 0, 1), BLOCK, 0, true);
  expect((await io.send(ended)).invalidated).toBe(rkey);
});

it('invalidates the key with a refusal, too', async () => {
  const { io } = await connectHost();
  const { rkey } = io.memory;
  const command = io.withData(blocks(io, NvmOpcode.Read, DISK_BLOCKS, 1), BLOCK, 0, true);
  const { status, invalidated } = await io.send(command);
  expect([status, invalidated]).toEqual([refusal(NvmeStatus.LbaOutOfRange), rkey]);
});

it('moves the head of the submission queue with each command, round and round', async () => {
  const { io } = await connectHost();
  const heads: number[] = [];
  for (let i = 0; i < 33; i++) heads.push((await io.send(blocks(io, NvmOpcode.Read, 0, 1))).sqhd);
  // Connect was the first.
  expect(heads).toEqual(Array.from({ length: 33 }, (_, i) => (i + 2) % 32));
});

it.each([
  ['a block behind the end', NvmOpcode.Read, DISK_BLOCKS - 1, 2, 1, NvmeStatus.LbaOutOfRange],
  ['an LBA that no disk has', NvmOpcode.Write, 2 ** 52, 1, 1, NvmeStatus.LbaOutOfRange],
  ['a namespace that there is not', NvmOpcode.Read, 0, 1, 2, NvmeStatus.InvalidNamespace],
  ['more than MDTS', NvmOpcode.Read, 0, 4096, 1, NvmeStatus.InvalidField],
  ['zeroes behind the end', NvmOpcode.WriteZeroes, DISK_BLOCKS - 1, 2, 1, NvmeStatus.LbaOutOfRange],
] as const)('refuses %s', async (_, opcode, lba, count, nsid, status) => {
  const { io, disk } = await connectHost();
  expect((await io.send(blocks(io, opcode, lba, count, nsid))).status).toBe(refusal(status));
  expect(disk.content.every((byte) => byte === 0)).toBe(true);
  // The queue lives.
  expect((await io.send(blocks(io, NvmOpcode.Read, 0, 1))).status).toBe(0);
});

it('refuses descriptors that do not fit: length, type, and offsets outside the capsule', async () => {
  const { io } = await connectHost();
  const short = io.withData(blocks(io, NvmOpcode.Write, 0, 2), BLOCK);
  expect((await io.send(short)).status).toBe(refusal(NvmeStatus.InvalidSglDataLength));
  const segment = blocks(io, NvmOpcode.Write, 0, 1);
  segment.sgl.type = SglType.Segment;
  expect((await io.send(segment)).status).toBe(refusal(NvmeStatus.InvalidSglType));
  const outside = blocks(io, NvmOpcode.Write, 0, 1);
  outside.sgl.setInCapsule(1, BLOCK);
  expect((await io.send(outside, new Uint8Array(BLOCK))).status).toBe(refusal(NvmeStatus.InvalidSglOffset));
  const far = blocks(io, NvmOpcode.Write, 0, 1);
  far.sgl.setInCapsule(2 ** 60, BLOCK);
  expect((await io.send(far, new Uint8Array(BLOCK))).status).toBe(refusal(NvmeStatus.InvalidSglOffset));
  const readInCapsule = blocks(io, NvmOpcode.Read, 0, 1);
  readInCapsule.sgl.setInCapsule(0, BLOCK);
  expect((await io.send(readInCapsule, new Uint8Array(BLOCK))).status).toBe(refusal(NvmeStatus.InvalidSglType));
});

it.each([
  ['PRPs', 0x00, NvmeStatus.InvalidField],
  ['a fused command', 0x41, NvmeStatus.InvalidField],
])('refuses %s', async (_, flags, status) => {
  const { io } = await connectHost();
  const command = blocks(io, NvmOpcode.Read, 0, 1);
  command.flags = flags;
  expect((await io.send(command)).status).toBe(refusal(status));
});

it('refuses opcodes that nobody knows', async () => {
  const { io } = await connectHost();
  expect((await io.send(io.command(0x8f, 1))).status).toBe(refusal(NvmeStatus.InvalidOpcode));
});

it('a wrong key ends the queue and its controller lives', async () => {
  const { io, admin, target, world } = await connectHost();
  const command = blocks(io, NvmOpcode.Write, 0, 1);
  command.sgl.key ^= 0x0f_00_00;
  io.post(command);
  expect(await io.answer()).toBeUndefined();
  expect(target.controllers).toHaveLength(1);
  expect(await admin.property(0x1c)).toBe(1);
  expect(target.queues.map(({ qid }) => qid)).toEqual([0]);
  // The memory that the READ was to fill is free again: regions in use would keep the domain.
  await world.run(target.close());
  target.pd.dealloc();
});

it('takes an identifier again once its command has ended', async () => {
  const { io } = await connectHost();
  const statuses: number[] = [];
  for (let i = 0; i < 3; i++) {
    const command = blocks(io, NvmOpcode.Read, 0, 1);
    command.cid = 7;
    statuses.push((await io.send(command)).status);
  }
  expect(statuses).toEqual([0, 0, 0]);
});

it('a capsule too short for a command ends the queue', async () => {
  const { io, target } = await connectHost();
  io.post(io.command(NvmOpcode.Flush, 1), undefined, 63);
  expect(await io.answer()).toBeUndefined();
  expect(target.queues.map(({ qid }) => qid)).toEqual([0]);
});

it('refuses an identifier that is in use, and the command that has it goes on', async () => {
  const wait = gate();
  const host = await connectHost();
  const { io, subsystem } = host;
  const slow = new FaultyBackend(new MemoryBackend(4096), () => ({ wait: wait.passed }));
  subsystem.addNamespace({ backend: slow, uuid: new Uint8Array(16).fill(8) });
  const first = blocks(io, NvmOpcode.Read, 0, 1, 2);
  io.post(first);
  const second = blocks(io, NvmOpcode.Read, 0, 1, 1);
  second.cid = first.cid;
  expect((await io.send(second)).status).toBe(refusal(NvmeStatus.CommandIdConflict));
  wait.open();
  const { cid, status } = (await io.answer()) ?? {};
  expect([cid, status]).toEqual([first.cid, 0]);
});

it('compares', async () => {
  const { io, disk } = await connectHost();
  disk.content.set(pattern(BLOCK));
  io.memory.bytes.set(pattern(BLOCK));
  expect((await io.send(blocks(io, NvmOpcode.Compare, 0, 1))).status).toBe(0);
  io.memory.bytes[511] = 0xee;
  expect((await io.send(blocks(io, NvmOpcode.Compare, 0, 1))).status).toBe(NvmeStatus.CompareFailure);
});

it('compares and verifies all of a command in pieces, and finds a difference in the last byte', async () => {
  const { io, disk } = await connectHost();
  disk.content.set(pattern(DISK_BYTES, 3));
  io.memory.bytes.set(pattern(DISK_BYTES, 3));
  expect((await io.send(blocks(io, NvmOpcode.Compare, 0, DISK_BLOCKS))).status).toBe(0);
  disk.content[DISK_BYTES - 1] = (disk.content[DISK_BYTES - 1] ?? 0) ^ 1;
  expect((await io.send(blocks(io, NvmOpcode.Compare, 0, DISK_BLOCKS))).status).toBe(NvmeStatus.CompareFailure);
  const read: [number, number][] = [];
  const read1 = disk.read.bind(disk);
  disk.read = (offset, into) => {
    read.push([offset, into.length]);
    return offset > 0 ? NvmeStatus.UnrecoveredReadError : read1(offset, into);
  };
  expect((await io.send(blocks(io, NvmOpcode.Verify, 0, DISK_BLOCKS))).status).toBe(NvmeStatus.UnrecoveredReadError);
  expect(read).toEqual([
    [0, 1 << 18],
    [1 << 18, 1 << 18],
  ]);
});

it('takes a few buffers for what it reads and sends to nobody, whatever the number of commands', async () => {
  const wait = gate();
  const { io, subsystem, target, world } = await connectHost();
  const slow = new FaultyBackend(new MemoryBackend(4096), () => ({ wait: wait.passed }));
  subsystem.addNamespace({ backend: slow, uuid: new Uint8Array(16).fill(8) });
  for (let i = 0; i < 8; i++) io.post(blocks(io, NvmOpcode.Verify, 0, 1, 2));
  await world.run(world.sleep(1e8));
  expect([target.pool.scratch.made, io.answers]).toEqual([4, 0]);
  wait.open();
  for (let i = 0; i < 8; i++) expect((await io.answer())?.status).toBe(0);
  expect(target.pool.scratch.made).toBe(4);
});

it('a disk that throws, or rejects, costs its command and nothing else', async () => {
  const { io, disk } = await connectHost();
  for (const read of [
    (): number => {
      throw new Error('planted');
    },
    async (): Promise<number> => {
      throw new Error('planted');
    },
  ]) {
    Object.assign(disk, { read });
    expect((await io.send(blocks(io, NvmOpcode.Read, 0, 1))).status).toBe(NvmeStatus.InternalError);
  }
  expect((await io.send(blocks(io, NvmOpcode.Write, 0, 1))).status).toBe(0);
});

it('answers many reads of one turn with their data, each with its own', async () => {
  const { io, disk } = await connectHost();
  disk.content.set(pattern(DISK_BYTES, 5));
  const places = Array.from({ length: 8 }, (_, i) => (i * 37) % 200);
  for (const [i, lba] of places.entries())
    io.post(io.withData(blocks(io, NvmOpcode.Read, lba, 8), 8 * BLOCK, i * 8 * BLOCK));
  const cids = new Set<number>();
  for (const _ of places) {
    const answer = await io.answer();
    expect(answer?.status).toBe(0);
    cids.add(answer?.cid ?? -1);
  }
  expect(cids.size).toBe(8);
  for (const [i, lba] of places.entries())
    expect(io.memory.bytes.subarray(i * 8 * BLOCK, (i + 1) * 8 * BLOCK)).toEqual(
      disk.content.subarray(lba * BLOCK, (lba + 8) * BLOCK),
    );
});

it('writes zeroes, and deallocates all ranges or none', async () => {
  const { io, disk } = await connectHost();
  disk.content.fill(0xff);
  expect((await io.send(blocks(io, NvmOpcode.WriteZeroes, 2, 3))).status).toBe(0);
  expect(disk.content.subarray(2 * BLOCK, 5 * BLOCK).every((byte) => byte === 0)).toBe(true);
  expect([disk.content[2 * BLOCK - 1], disk.content[5 * BLOCK]]).toEqual([0xff, 0xff]);
  const trim = async (...ranges: (readonly [lba: number, blocks: number])[]): Promise<number> => {
    io.memory.bytes.set(encodeDsmRanges(ranges.map(([lba, count]) => ({ lba, blocks: count, attributes: 0 }))));
    const command = io.command(NvmOpcode.DatasetManagement);
    setDeallocation(command, 1, ranges.length);
    return (await io.send(io.withData(command, described ?? ranges.length * 16))).status;
  };
  let described: number | undefined;
  expect(await trim([10, 1], [DISK_BLOCKS - 1, 2])).toBe(refusal(NvmeStatus.LbaOutOfRange));
  expect(disk.content[10 * BLOCK]).toBe(0xff);
  expect(await trim([10, 1], [12, 2])).toBe(0);
  expect([10, 11, 12, 13, 14].map((lba) => disk.content[lba * BLOCK])).toEqual([0, 0xff, 0, 0, 0xff]);
  // Linux describes room for all ranges there can be, however many there are; what is too short is refused.
  described = 4096;
  expect(await trim([20, 1])).toBe(0);
  expect(disk.content[20 * BLOCK]).toBe(0);
  for (described of [15, 4097]) expect(await trim([21, 1])).toBe(refusal(NvmeStatus.InvalidSglDataLength));
  expect(disk.content[21 * BLOCK]).toBe(0xff);
});

it('never writes to a disk that is read-only', async () => {
  const { io, subsystem } = await connectHost();
  const disk = new MemoryBackend(pattern(4096));
  subsystem.addNamespace({ backend: readOnlyBackend(disk), uuid: new Uint8Array(16).fill(8) });
  for (const opcode of [NvmOpcode.Write, NvmOpcode.WriteZeroes])
    expect((await io.send(blocks(io, opcode, 0, 1, 2))).status).toBe(refusal(NvmeStatus.NamespaceWriteProtected));
  expect(disk.content).toEqual(pattern(4096));
  expect((await io.send(blocks(io, NvmOpcode.Read, 0, 1, 2))).status).toBe(0);
  expect((await io.send(io.command(NvmOpcode.Flush, 2))).status).toBe(0);
});

it('passes on what the disk says, torn writes included', async () => {
  const { io, subsystem } = await connectHost();
  const disk = new MemoryBackend(4096);
  const faulty = new FaultyBackend(disk, ({ kind }) =>
    kind === 'write' ? { tornAt: 100 } : { status: NvmeStatus.UnrecoveredReadError },
  );
  subsystem.addNamespace({ backend: faulty, uuid: new Uint8Array(16).fill(8) });
  io.memory.bytes.fill(0xff, 0, BLOCK);
  expect((await io.send(blocks(io, NvmOpcode.Write, 0, 1, 2))).status).toBe(NvmeStatus.WriteFault);
  expect([disk.content[99], disk.content[100]]).toEqual([0xff, 0]);
  io.memory.bytes.fill(0xa5);
  expect((await io.send(blocks(io, NvmOpcode.Read, 0, 1, 2))).status).toBe(NvmeStatus.UnrecoveredReadError);
  // A failed READ sends nothing.
  expect(io.memory.bytes[0]).toBe(0xa5);
});

it('acknowledges no write before the disk has it', async () => {
  const wait = gate();
  const { io, subsystem, world } = await connectHost();
  const disk = new MemoryBackend(4096);
  const slow = new FaultyBackend(disk, () => ({ wait: wait.passed }));
  subsystem.addNamespace({ backend: slow, uuid: new Uint8Array(16).fill(8) });
  io.post(blocks(io, NvmOpcode.Write, 0, 1, 2));
  await world.run(world.sleep(1e9));
  expect(io.answers).toBe(0);
  wait.open();
  expect((await io.answer())?.status).toBe(0);
});

it('says by which path the disks are not reached', async () => {
  const { io, subsystem } = await connectHost({}, { ana: true });
  subsystem.setAnaState(1, AnaState.Inaccessible);
  expect((await io.send(blocks(io, NvmOpcode.Read, 0, 1))).status).toBe(NvmeStatus.AnaInaccessible);
  subsystem.setAnaState(1, AnaState.NonOptimized);
  expect((await io.send(blocks(io, NvmOpcode.Read, 0, 1))).status).toBe(0);
});

it('gives all memory back when a queue is cut off in the middle of commands', async () => {
  const wait = gate();
  const host: ConnectedHost = await connectHost();
  const { io, admin, subsystem, target, world } = host;
  const slow = new FaultyBackend(new MemoryBackend(4096), () => ({ wait: wait.passed }));
  subsystem.addNamespace({ backend: slow, uuid: new Uint8Array(16).fill(8) });
  for (let i = 0; i < 8; i++) io.post(blocks(io, NvmOpcode.Read, 0, 8, 2));
  await world.run(world.sleep(1e8));
  await world.run(Promise.all([io.connection.disconnect(), admin.connection.disconnect()]));
  wait.open();
  await world.run(world.sleep(1e8));
  await world.run(target.close());
  expect(target.queues).toEqual([]);
  // Fails while regions or queue pairs remain.
  target.pd.dealloc();
});

it('flushes every namespace when it is asked to flush all, and tells of the first that failed', async () => {
  const { io, subsystem } = await connectHost();
  const flushed: number[] = [];
  const disk = (id: number, status: number) =>
    Object.assign(new MemoryBackend(DISK_BYTES), {
      flush: async () => {
        flushed.push(id);
        return status;
      },
    });
  subsystem.addNamespace({ backend: disk(2, NvmeStatus.WriteFault), uuid: new Uint8Array(16).fill(2) });
  subsystem.addNamespace({ backend: disk(3, NvmeStatus.CapacityExceeded), uuid: new Uint8Array(16).fill(3) });
  subsystem.addNamespace({ backend: disk(4, NvmeStatus.Success), uuid: new Uint8Array(16).fill(4) });
  expect((await io.send(io.command(NvmOpcode.Flush, 0xff_ff_ff_ff))).status).toBe(NvmeStatus.WriteFault);
  expect(flushed).toEqual([2, 3, 4]);
});

it('deallocates a quarter of a gigabyte in one command and leaves the rest as it is: that is a hint', async () => {
  const { io, subsystem } = await connectHost();
  const zeroed: [number, number][] = [];
  const backend = Object.assign(new MemoryBackend(0), {
    zero: async (offset: number, length: number) => {
      zeroed.push([offset, length]);
      return NvmeStatus.Success;
    },
  });
  Object.defineProperty(backend, 'bytes', { value: 2 ** 34 });
  const { nsid } = subsystem.addNamespace({ backend, uuid: new Uint8Array(16).fill(2) });
  const command = io.command(NvmOpcode.DatasetManagement, nsid);
  setDeallocation(command, nsid, 3);
  const ranges = [2 ** 18, 2 ** 20, 8].map((blocks, i) => ({ lba: i * 2 ** 21, blocks, attributes: 0 }));
  io.memory.bytes.set(encodeDsmRanges(ranges));
  expect((await io.send(io.withData(command, 48))).status).toBe(0);
  expect(zeroed).toEqual([
    [0, 2 ** 27],
    [2 ** 30, 2 ** 27],
  ]);
});
