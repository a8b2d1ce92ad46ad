/**
 * Goal: a disk that is full, or becomes shorter, below a target costs its commands a status and nothing else. Method: a
 * sparse file on a small file system in memory, behind a target in the simulated world.
 */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { FileBackend } from '../../../src/node/nvme/file-backend.ts';
import { NvmeStatus, NvmOpcode, STATUS_CODE_MASK, setBlocks } from '../../../src/ulp/nvme/index.ts';
import { describeWith } from '../../support/need.ts';
import { connectHost, type ScriptedQueue } from '../../ulp/nvme/target/support.ts';

const DISK_BYTES = 4 << 20;
const BLOCK = 512;
const PIECE = 64 * 1024;

describeWith('tmpfs', 'a disk of 4 MiB on a file system of 1 MiB', () => {
  let directory = '';
  beforeAll(() => {
    directory = mkdtempSync(join(tmpdir(), 'rocev2-full-'));
    spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=1m', 'tmpfs', directory]);
  });
  afterAll(() => {
    spawnSync('umount', ['-l', directory]);
    rmSync(directory, { recursive: true, force: true });
  });

  it('refuses writes with capacity exceeded while there is no room, and takes them again', async () => {
    const backend = await FileBackend.open(join(directory, 'disk'), { bytes: DISK_BYTES });
    const { io, subsystem, target, world } = await connectHost();
    const { nsid } = subsystem.addNamespace({ backend, uuid: new Uint8Array(16).fill(2) });
    // The disk takes real time, of which the world knows nothing.
    const send = async (opcode: number, at: number): Promise<number> => {
      io.post(blocksAt(io, opcode, nsid, at));
      while (io.answers === 0) {
        world.runFor(100_000);
        await new Promise((resolve) => setImmediate(resolve));
      }
      return ((await io.answer())?.status ?? -1) & STATUS_CODE_MASK;
    };
    const filler = join(directory, 'filler');
    writeFileSync(filler, new Uint8Array(512 * 1024));
    io.memory.bytes.fill(7);
    const statuses: number[] = [];
    for (let at = 0; at < DISK_BYTES && statuses.at(-1) !== NvmeStatus.CapacityExceeded; at += PIECE)
      statuses.push(await send(NvmOpcode.Write, at));
    const full = (statuses.length - 1) * PIECE;
    expect(statuses.slice(0, -1).every((status) => status === 0)).toBe(true);
    expect([statuses.at(-1), statuses.length > 4]).toEqual([NvmeStatus.CapacityExceeded, true]);
    // What was there can be read; the controller lives.
    expect(await send(NvmOpcode.Read, 0)).toBe(0);
    rmSync(filler);
    expect(await send(NvmOpcode.Write, full)).toBe(0);
    expect(target.queues).toHaveLength(2);
    // The image becomes shorter below: the medium has failed there, and nowhere else.
    truncateSync(join(directory, 'disk'), PIECE);
    expect(await send(NvmOpcode.Read, 0)).toBe(0);
    expect(await send(NvmOpcode.Read, full)).toBe(NvmeStatus.UnrecoveredReadError);
    expect(await backend.refresh()).toBe(true);
    expect(await send(NvmOpcode.Read, full)).toBe(NvmeStatus.LbaOutOfRange);
    expect(target.queues).toHaveLength(2);
    await world.run(target.close());
    await backend.close();
  });
});

function blocksAt(io: ScriptedQueue, opcode: number, nsid: number, at: number) {
  const command = io.command(opcode);
  setBlocks(command, opcode, nsid, at / BLOCK, PIECE / BLOCK);
  return io.withData(command, PIECE);
}
