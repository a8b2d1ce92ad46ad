/** Work inside a network namespace. */
import { closeSync, openSync } from 'node:fs';
import type { Netns } from './netns.ts';

const CLONE_NEWNET = 0x40_00_00_00;

/**
 * Awaits `action` with the main thread of this process in the namespace: sockets it opens belong there for good,
 * whoever uses them later. Nothing else may open sockets meanwhile.
 */
export async function within<T>(netns: Netns, action: () => Promise<T>): Promise<T> {
  const { default: koffi } = await import('koffi');
  const setns = koffi.load(null).func('int setns(int fd, int type)');
  const home = openSync('/proc/thread-self/ns/net', 'r');
  const there = openSync(`/run/netns/${netns.name}`, 'r');
  const move = (fd: number): void => {
    if (setns(fd, CLONE_NEWNET) !== 0) throw new Error(`setns into ${netns.name} failed`);
  };
  try {
    move(there);
    return await action();
  } finally {
    move(home);
    closeSync(home);
    closeSync(there);
  }
}
