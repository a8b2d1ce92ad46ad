/** Numbers of errno on Linux, and which of them a refused call of our verbs is. */
import { type Errno as ErrnoName, RoceError } from '../../packets/errors.ts';

/** Numbers of <asm-generic/errno.h>: those that the kernel's verbs answer with. */
export const Errno = {
  EPERM: 1,
  ENOENT: 2,
  EIO: 5,
  EBADF: 9,
  EAGAIN: 11,
  ENOMEM: 12,
  EACCES: 13,
  EFAULT: 14,
  EBUSY: 16,
  ENODEV: 19,
  EINVAL: 22,
  ENOSPC: 28,
  ENOSYS: 38,
  EPROTONOSUPPORT: 93,
  EOPNOTSUPP: 95,
  EADDRINUSE: 98,
  EADDRNOTAVAIL: 99,
  ENETUNREACH: 101,
  ECONNREFUSED: 111,
  ETIMEDOUT: 110,
  EHOSTUNREACH: 113,
} as const satisfies Readonly<Record<string, number>> & Readonly<Record<ErrnoName, number>>;
export type Errno = (typeof Errno)[keyof typeof Errno];

/** A command that is refused: `run` turns it into a result. Thrown inside this room only. */
export class Refusal extends Error {
  readonly errno: number;

  constructor(errno: number) {
    super(`errno ${errno}`);
    this.errno = errno;
  }
}

/**
 * The number for an error of a call of ours; anything but a refusal or a caller's mistake is our own, and thrown on.
 */
export function errnoOf(error: unknown): number {
  if (error instanceof Refusal) return error.errno;
  if (error instanceof RoceError) return Errno[error.errno];
  throw error;
}

/** Its name, for people. */
export function nameOfErrno(errno: number): string {
  return NAMES.get(errno) ?? `errno ${errno}`;
}

const NAMES = new Map<number, string>(Object.entries(Errno).map(([name, errno]) => [errno, name]));
