/**
 * Memory without a name that two processes share, and that neither can make shorter: what reads beyond the end of a
 * file is killed. Owns nothing: descriptors and mappings are the caller's.
 */
import { fstatSync, ftruncateSync } from 'node:fs';
import type { Libc } from './libc.ts';

/** A descriptor of `bytes` zeros, which may become more and never less; negative when the kernel has no room. */
export function createSealed(libc: Libc, name: string, bytes: number): number {
  const fd = libc.memfdCreate(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (fd < 0) return fd;
  ftruncateSync(fd, bytes);
  if (libc.fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_SEAL) === 0) return fd;
  libc.close(fd);
  return -1;
}

/** Whether a descriptor that came from another process is such memory, of at least `bytes` bytes. */
export function isSealed(libc: Libc, fd: number, bytes: number): boolean {
  const seals = libc.fcntl(fd, F_GET_SEALS, 0);
  return seals >= 0 && (seals & F_SEAL_SHRINK) !== 0 && fstatSync(fd).size >= bytes;
}

const MFD_CLOEXEC = 0x1;
const MFD_ALLOW_SEALING = 0x2;
const F_ADD_SEALS = 1033;
const F_GET_SEALS = 1034;
const F_SEAL_SEAL = 0x1;
const F_SEAL_SHRINK = 0x2;
