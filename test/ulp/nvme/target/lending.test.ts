/**
 * Goal: a disk in memory sends what is read from where it is, and nobody can tell: each block that a host gets is the
 * old one or the new one, whatever is written or lost meanwhile, and nothing stays lent.
 */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { attachDevice, World } from '../../../../src/index.ts';
import { AnaState, NvmeStatus, NvmOpcode, STATUS_DNR, setBlocks } from '../../../../src/ulp/nvme/codec/index.ts';
import { MemoryBackend, type NvmeLoan, readOnlyBackend } from '../../../../src/ulp/nvme/index.ts';
import { LentDisks } from '../../../../src/ulp/nvme/target/data-memory.ts';
import { type ConnectedHost, connectHost, DISK_BYTES, pattern, ScriptedQueue } from './support.ts';

const KIB = 1024;
const BLOCK = 512;
const PIECE = 64 * KIB;

function bytesOf({ memory, offset }: NvmeLoan, length: number): Uint8Array {
  return memory.subarray(offset, offset + length);
}

function lent(disk: MemoryBackend, offset: number, length: number): NvmeLoan {
  const loan = disk.lend(offset, length);
  if (loan === undefined) throw new Error('nothing was lent');
  return loan;
}

function read(disk: MemoryBackend, offset: number, length: number): Uint8Array {
  const into = new Uint8Array(length);
  expect(disk.read(offset, into)).toBe(NvmeStatus.Success);
  return into;
}

describe('a disk in memory', () => {
  it('lends its own bytes, and none of a small read, which is copied sooner', () => {
    const disk = new MemoryBackend(pattern(4 * PIECE));
    expect(lent(disk, 512, PIECE).memory).toBe(disk.content);
    expect(disk.lend(0, PIECE - 512)).toBeUndefined();
    expect(disk.lend(3 * PIECE + 512, PIECE)).toBeUndefined();
  });

  it('keeps what is lent as it was, while all others read what was written since', () => {
    const disk = new MemoryBackend(pattern(4 * PIECE));
    const loan = lent(disk, PIECE, 2 * PIECE);
    disk.write(PIECE - 512, pattern(1024, 99));
    disk.zero(3 * PIECE - 512, 1024);
    expect(bytesOf(loan, 2 * PIECE)).toEqual(pattern(4 * PIECE).subarray(PIECE, 3 * PIECE));
    expect(read(disk, PIECE - 512, 1024)).toEqual(pattern(1024, 99));
    expect(read(disk, 3 * PIECE - 512, 1024)).toEqual(new Uint8Array(1024));
    loan.end();
    expect(disk.content.subarray(PIECE - 512, PIECE + 512)).toEqual(pattern(1024, 99));
    expect(disk.content.subarray(PIECE + 512, 3 * PIECE - 512)).toEqual(
      pattern(4 * PIECE).subarray(PIECE + 512, 3 * PIECE - 512),
    );
  });

  it('lends no piece again that was written while it was lent, so that its loans come to an end', () => {
    const disk = new MemoryBackend(4 * PIECE);
    const [first, second] = [lent(disk, 0, 2 * PIECE), lent(disk, PIECE, 2 * PIECE)];
    disk.write(PIECE, pattern(512));
    expect([disk.lend(PIECE, PIECE), disk.lend(0, 2 * PIECE)]).toEqual([undefined, undefined]);
    expect(disk.lend(2 * PIECE, PIECE)).toBeDefined();
    first.end();
    expect(bytesOf(second, 512)).toEqual(new Uint8Array(512));
    expect(disk.lend(PIECE, PIECE)).toBeUndefined();
    second.end();
    expect(bytesOf(lent(disk, PIECE, PIECE), 512)).toEqual(pattern(512));
  });

  it('lends 32 MiB at a time and no more', () => {
    const disk = new MemoryBackend(1 << 20);
    const loans = Array.from({ length: 32 }, () => lent(disk, 0, 1 << 20));
    expect(disk.lend(0, PIECE)).toBeUndefined();
    loans[0]?.end();
    expect(disk.lend(0, 1 << 20)).toBeDefined();
    expect(disk.lend(0, PIECE)).toBeUndefined();
  });

  it('takes what was written to lent bytes along when it is made larger or smaller', () => {
    const disk = new MemoryBackend(pattern(4 * PIECE));
    const loan = lent(disk, 0, PIECE);
    disk.write(0, pattern(512, 99));
    disk.resize(2 * PIECE);
    expect(read(disk, 0, 512)).toEqual(pattern(512, 99));
    disk.write(0, pattern(512, 33));
    loan.end();
    expect(read(disk, 0, 512)).toEqual(pattern(512, 33));
    expect(bytesOf(lent(disk, 0, PIECE), 512)).toEqual(pattern(512, 33));
  });

  it('reads as a plain array does, whatever is lent meanwhile, and lends what it read as then', () => {
    const bytes = 4 * PIECE;
    const range = fc
      .tuple(fc.nat(bytes / BLOCK - 1), fc.integer({ min: 1, max: bytes / BLOCK }))
      .map(([at, count]) => ({ at: at * BLOCK, length: Math.min(count * BLOCK, bytes - at * BLOCK) }));
    const step = fc.record({
      what: fc.constantFrom('write', 'zero', 'lend', 'lend', 'end', 'read'),
      range,
      fill: fc.nat(255),
    });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 25 }), (steps) => {
        const disk = new MemoryBackend(pattern(bytes));
        const model = pattern(bytes);
        const loans: { readonly loan: NvmeLoan; readonly was: Uint8Array }[] = [];
        for (const {
          what,
          range: { at, length },
          fill,
        } of steps) {
          if (what === 'write') disk.write(at, model.fill(fill, at, at + length).slice(at, at + length));
          else if (what === 'zero') disk.zero(at, model.fill(0, at, at + length).length && length);
          else if (what === 'lend') {
            const loan = disk.lend(at, length);
            if (loan !== undefined) loans.push({ loan, was: model.slice(at, at + length) });
          } else if (what === 'end') loans.splice(fill % (loans.length + 1), 1)[0]?.loan.end();
          else expect(Buffer.compare(read(disk, at, length), model.subarray(at, at + length))).toBe(0);
          for (const { loan, was } of loans) expect(Buffer.compare(bytesOf(loan, was.length), was)).toBe(0);
        }
        for (const { loan } of loans) loan.end();
        expect(Buffer.compare(disk.content, model)).toBe(0);
      }),
      { numRuns: 50 },
    );
  });
});

describe('disks that are registered', () => {
  it('are it once, and as long as something of them is lent', () => {
    const pd = attachDevice(new World({ seed: 1 }), 'a', { addresses: ['10.0.0.1/24'] }).allocPd();
    const disks = new LentDisks(pd);
    const disk = new MemoryBackend(4 * PIECE);
    const [first, second] = [0, PIECE].map((at) => disks.take(lent(disk, at, PIECE)));
    expect([first?.region === second?.region, first?.offset, second?.offset, disks.size]).toEqual([true, 0, PIECE, 1]);
    // Nobody else may do anything with it.
    expect(first?.region.access).toBe(0);
    first?.giveBack();
    expect([disks.size, second?.region.valid]).toEqual([1, true]);
    second?.giveBack();
    expect([disks.size, second?.region.valid]).toEqual([0, false]);
    pd.dealloc();
  });

  it('are none where the device registers no more: the loan has ended', () => {
    const world = new World({ seed: 1 });
    const pd = attachDevice(world, 'a', { addresses: ['10.0.0.1/24'], limits: { maxMr: 1 } }).allocPd();
    pd.regMr(4096);
    let ended = 0;
    const loan = { memory: new Uint8Array(PIECE), offset: 0, end: () => void ended++ };
    expect([new LentDisks(pd).take(loan), ended]).toEqual([undefined, 1]);
  });
});

function blocks(io: ScriptedQueue, opcode: number, at: number, bytes: number, offset = 0) {
  const command = io.command(opcode);
  setBlocks(command, opcode, 1, at / BLOCK, bytes / BLOCK);
  return io.withData(command, bytes, offset);
}

/** How often the disk has been asked to copy what is read. */
function countReads(disk: MemoryBackend): () => number {
  let count = 0;
  const original = disk.read.bind(disk);
  Object.assign(disk, {
    read: (offset: number, into: Uint8Array) => {
      count++;
      return original(offset, into);
    },
  });
  return () => count;
}

/** What was posted is on its way, and has been answered where that is possible; no repetition has come. */
async function settle({ world }: ConnectedHost): Promise<void> {
  await world.run(world.sleep(1000));
  await world.run(world.sleep(1e6));
}

/** The wire from the target to the host loses everything, or nothing any more. */
function lose({ world }: ConnectedHost, all: boolean): void {
  world.network.port('device 2')?.setFaults({ loss: all ? 1 : 0 }, 'send');
}

describe('a target', () => {
  it('sends a large read from the disk, and counts it as any other', async () => {
    const host = await connectHost();
    const { io, disk, target } = host;
    disk.content.set(pattern(DISK_BYTES, 5));
    const copied = countReads(disk);
    expect((await io.send(blocks(io, NvmOpcode.Read, BLOCK, 128 * KIB))).status).toBe(0);
    expect(io.memory.bytes.slice(0, 128 * KIB)).toEqual(pattern(DISK_BYTES, 5).subarray(BLOCK, BLOCK + 128 * KIB));
    expect(copied()).toBe(0);
    expect(target.controllers[0]?.io).toMatchObject({ reads: 1, bytesRead: 128 * KIB });
    expect(target.queues[1]?.counters.bytesToHost).toBe(128 * KIB);
    // Little is copied.
    expect((await io.send(blocks(io, NvmOpcode.Read, 0, 4096))).status).toBe(0);
    expect(copied()).toBe(1);
  });

  it('repeats what it has sent, not what was written since, and has what was written', async () => {
    const host = await connectHost();
    const { io, disk, target } = host;
    const other = await ScriptedQueue.open(host, 2);
    await other.connect({ qid: 2 }, { cntlid: 1 });
    disk.content.set(pattern(DISK_BYTES, 5));
    lose(host, true);
    io.post(blocks(io, NvmOpcode.Read, 0, 128 * KIB));
    await settle(host);
    expect(target.queues[1]?.counters.bytesToHost).toBe(128 * KIB);
    const write = other.command(NvmOpcode.Write);
    setBlocks(write, NvmOpcode.Write, 1, 16, 8);
    write.sgl.setInCapsule(0, 4096);
    other.post(write, pattern(4096, 77));
    await settle(host);
    expect(read(disk, 8192, 4096)).toEqual(pattern(4096, 77));
    lose(host, false);
    expect((await io.answer())?.status).toBe(0);
    expect((await other.answer())?.status).toBe(0);
    const got = io.memory.bytes.subarray(0, 128 * KIB);
    expect(Buffer.compare(got, pattern(DISK_BYTES, 5).subarray(0, 128 * KIB))).toBe(0);
    expect((await io.send(blocks(io, NvmOpcode.Read, 0, 128 * KIB))).status).toBe(0);
    expect(got.slice(8192, 8192 + 4096)).toEqual(pattern(4096, 77));
  });

  it('has nothing lent when queues are cut off, and none registered', async () => {
    const host = await connectHost();
    const { io, admin, b, disk, target, world } = host;
    const before = b.tables().memoryRegions;
    lose(host, true);
    for (let i = 0; i < 4; i++) io.post(blocks(io, NvmOpcode.Read, 0, 128 * KIB));
    await settle(host);
    expect(b.tables().memoryRegions).toBe(before + 1);
    disk.write(0, pattern(512));
    expect(disk.content[1]).toBe(0);
    lose(host, false);
    io.abandon();
    admin.abandon();
    await world.run(target.close());
    expect(disk.content.subarray(0, 512)).toEqual(pattern(512));
    target.pd.dealloc();
  });

  it('refuses what it would refuse without lending', async () => {
    const { io, subsystem } = await connectHost();
    const beyond = blocks(io, NvmOpcode.Read, DISK_BYTES - BLOCK, 128 * KIB);
    expect((await io.send(beyond)).status).toBe(NvmeStatus.LbaOutOfRange | STATUS_DNR);
    subsystem.setAnaState(1, AnaState.Inaccessible);
    expect((await io.send(blocks(io, NvmOpcode.Read, 0, 128 * KIB))).status).toBe(NvmeStatus.AnaInaccessible);
  });

  it('sends a read-only disk from where it is, and asks one that cannot lend', async () => {
    const disk = new MemoryBackend(pattern(DISK_BYTES));
    const copied = countReads(disk);
    for (const [lends, copies] of [
      [readOnlyBackend(disk), 0],
      [readOnlyBackend({ ...plain(disk), readOnly: true }), 1],
    ] as const) {
      const { io, subsystem } = await connectHost();
      subsystem.addNamespace({ nsid: 2, backend: lends, uuid: new Uint8Array(16).fill(8) });
      const command = blocks(io, NvmOpcode.Read, 0, 128 * KIB);
      command.nsid = 2;
      expect([(await io.send(command)).status, copied()]).toEqual([0, copies]);
    }
  });

  it('costs a disk that throws when it is asked to lend its command, and nothing else', async () => {
    const { io, disk } = await connectHost();
    Object.assign(disk, {
      lend: () => {
        throw new Error('broken');
      },
    });
    expect((await io.send(blocks(io, NvmOpcode.Read, 0, 128 * KIB))).status).toBe(NvmeStatus.InternalError);
    expect((await io.send(blocks(io, NvmOpcode.Write, 0, 4096))).status).toBe(0);
  });
});

/** The disk without `lend`. */
function plain(disk: MemoryBackend) {
  return {
    bytes: disk.bytes,
    read: (offset: number, into: Uint8Array) => disk.read(offset, into),
    write: (offset: number, from: Uint8Array) => disk.write(offset, from),
    flush: () => disk.flush(),
    zero: (offset: number, length: number) => disk.zero(offset, length),
  };
}
