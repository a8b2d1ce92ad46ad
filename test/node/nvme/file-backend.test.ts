/** A disk in a file: its size, what stays sparse, and what happens when the file changes below. */
import { mkdtempSync, readFileSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { FileBackend } from '../../../src/node/nvme/file-backend.ts';
import { NvmeStatus } from '../../../src/ulp/nvme/index.ts';

let directory = '';
beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), 'rocev2-disk-'));
});
afterAll(() => rmSync(directory, { recursive: true, force: true }));

it('makes a sparse file, and keeps it sparse when nothing is zeroed that is not zero already', async () => {
  const path = join(directory, 'sparse');
  const disk = await FileBackend.open(path, { bytes: 8 << 20 });
  expect(disk.bytes).toBe(8 << 20);
  expect(await disk.zero(0, 8 << 20, true)).toBe(0);
  expect(statSync(path).blocks).toBe(0);
  expect(await disk.write(4096, new Uint8Array(4096).fill(7), true)).toBe(0);
  expect(await disk.zero(4096 + 512, 512, false)).toBe(0);
  const read = new Uint8Array(2048);
  expect(await disk.read(4096, read)).toBe(0);
  expect([read[511], read[512], read[1023], read[1024]]).toEqual([7, 0, 0, 7]);
  expect(readFileSync(path)[4096]).toBe(7);
  await disk.close();
});

it('takes the size of the file, never makes it shorter, and refuses one that is empty or not there', async () => {
  const path = join(directory, 'whole');
  writeFileSync(path, new Uint8Array(8192));
  const whole = await FileBackend.open(path);
  expect(whole.bytes).toBe(8192);
  await whole.close();
  const part = await FileBackend.open(path, { bytes: 4096 });
  expect(part.bytes).toBe(4096);
  await part.close();
  expect(statSync(path).size).toBe(8192);
  writeFileSync(join(directory, 'empty'), '');
  await expect(FileBackend.open(join(directory, 'empty'))).rejects.toThrow('too few for a disk');
  await expect(FileBackend.open(join(directory, 'missing'))).rejects.toThrow('cannot be opened');
});

it('says that the medium has failed when the file became shorter', async () => {
  const path = join(directory, 'shrinks');
  const disk = await FileBackend.open(path, { bytes: 8192 });
  truncateSync(path, 5000);
  expect(await disk.read(4096, new Uint8Array(4096))).toBe(NvmeStatus.UnrecoveredReadError);
  expect(await disk.read(0, new Uint8Array(4096))).toBe(0);
  expect(await disk.refresh()).toBe(true);
  expect(disk.bytes).toBe(5000);
  await disk.close();
});

it('grows with its file, unless it was given a size', async () => {
  const path = join(directory, 'grows');
  writeFileSync(path, new Uint8Array(8192));
  const [whole, part] = [await FileBackend.open(path), await FileBackend.open(path, { bytes: 4096 })];
  truncateSync(path, 16_384);
  expect([await whole.refresh(), whole.bytes]).toEqual([true, 16_384]);
  expect([await part.refresh(), part.bytes]).toEqual([false, 4096]);
  truncateSync(path, 2048);
  expect([await part.refresh(), part.bytes]).toEqual([true, 2048]);
  await Promise.all([whole.close(), part.close()]);
});

it('never writes to a file that is read-only', async () => {
  const path = join(directory, 'read-only');
  writeFileSync(path, new Uint8Array(4096).fill(3));
  const disk = await FileBackend.open(path, { readOnly: true });
  expect(disk.readOnly).toBe(true);
  expect(await disk.write(0, new Uint8Array(512), false)).toBe(NvmeStatus.WriteFault);
  expect(await disk.flush()).toBe(0);
  await disk.close();
  expect(readFileSync(path)[0]).toBe(3);
});
