/** Goal: what a failed fdatasync leaves unknown is never called durable. Method: fdatasync of one file is made to fail. */
import { mkdtempSync, rmSync } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { FileBackend } from '../../../src/node/nvme/file-backend.ts';
import { NvmeStatus } from '../../../src/ulp/nvme/index.ts';

let folder: string;
let path: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'rocev2-durability-'));
  path = join(folder, 'disk');
});
afterEach(() => {
  vi.restoreAllMocks();
  rmSync(folder, { recursive: true });
});

/** The next fdatasync of any file of this process fails. */
async function failNextDatasync(code: string): Promise<void> {
  const any = await open(path, 'r');
  const prototype: FileHandle = Object.getPrototypeOf(any);
  await any.close();
  vi.spyOn(prototype, 'datasync').mockRejectedValueOnce(Object.assign(new Error(code), { code }));
}

it('fails every flush and write with FUA after an fdatasync that failed, until the file is opened again', async () => {
  const disk = await FileBackend.open(path, { bytes: 8192 });
  await failNextDatasync('EIO');
  expect(await disk.write(0, new Uint8Array(512).fill(1), false)).toBe(NvmeStatus.Success);
  expect(await disk.flush()).toBe(NvmeStatus.WriteFault);
  expect(await disk.flush()).toBe(NvmeStatus.WriteFault);
  expect(await disk.write(0, new Uint8Array(512), true)).toBe(NvmeStatus.WriteFault);
  expect(await disk.zero(0, 512, true)).toBe(NvmeStatus.WriteFault);
  await disk.close();
  const again = await FileBackend.open(path);
  expect(await again.flush()).toBe(NvmeStatus.Success);
  await again.close();
});

it('keeps the error of a write with FUA for the flush after it', async () => {
  const disk = await FileBackend.open(path, { bytes: 8192 });
  await failNextDatasync('ENOSPC');
  expect(await disk.write(0, new Uint8Array(512), true)).toBe(NvmeStatus.CapacityExceeded);
  expect(await disk.flush()).toBe(NvmeStatus.CapacityExceeded);
  await disk.close();
});
