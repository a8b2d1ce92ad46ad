/** Goal: a peer of the link bench that is paused takes no processor time, and ends with the bench all the same. */
import { readdirSync, readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { PeerProcess } from '../../tools/bench/links/peer-process.ts';

/** States of the processes that this one has started, `T` for one that is stopped. */
function states(): string[] {
  const children = readdirSync('/proc/self/task').flatMap((task) =>
    readFileSync(`/proc/self/task/${task}/children`, 'utf8').split(' ').filter(Boolean),
  );
  return children.map((pid) => /\) (\S)/.exec(readFileSync(`/proc/${pid}/stat`, 'utf8'))?.[1] ?? '');
}

it('a paused peer is stopped until it is resumed, and closes when it is paused', async () => {
  const listeners = process.listenerCount('SIGTERM');
  const peer = new PeerProcess('a peer', [], ['--import', 'tsx']);
  try {
    await peer.open({ kind: 'world' });
    expect(states()).not.toContain('T');
    peer.pause();
    await expect.poll(states).toContain('T');
    // It is ended with the bench, which it could not see end.
    expect(process.listenerCount('SIGTERM')).toBe(listeners + 1);
    peer.resume();
    expect(process.listenerCount('SIGTERM')).toBe(listeners);
    expect(await peer.counters()).toHaveProperty('cpuMs');
    peer.pause();
  } finally {
    await peer.close();
  }
  expect(states()).not.toContain('T');
  expect(process.listenerCount('SIGTERM')).toBe(listeners);
});
