/**
 * The media of two peers, made for them and removed after. Owns namespaces, interfaces and directories; depends on no
 * link. Every contestant has a place of its own, made like that of any other on the same medium.
 */
import { spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { addQuietNetns, ip, makeNetnsPair } from '../../netns.ts';

export type BenchMedium = 'loopback' | 'veth' | 'TAPs on a bridge' | 'unix socket' | 'shared memory' | 'one process';

export interface BenchPlace {
  /** Words before the command of a peer, server's first. */
  readonly prefixes: readonly [readonly string[], readonly string[]];
  /** Replaces `%` in a link's specification, and the addresses of a contestant: see `contestants.ts`. */
  readonly directory: string;
  remove(): void;
}

/** Room for a path MTU of 4096 and all headers. */
const WIRE_MTU = 9000;

/** @throws Error in iproute2's words where no namespace can be made */
export function makePlace(medium: BenchMedium): BenchPlace {
  switch (medium) {
    case 'loopback':
      return loopback();
    case 'veth': {
      const { a, b, remove } = makeNetnsPair({ mtu: WIRE_MTU });
      return { prefixes: [a.prefix, b.prefix], directory: '', remove };
    }
    case 'TAPs on a bridge':
      return taps();
    case 'unix socket':
    case 'shared memory': {
      const directory = mkdtempSync(join(tmpdir(), 'roce-bench-'));
      return { prefixes: [[], []], directory, remove: () => rmSync(directory, { recursive: true, force: true }) };
    }
    case 'one process':
      return { prefixes: [[], []], directory: '', remove: () => {} };
  }
}

/** One namespace whose loopback interface has two addresses, fd98::1 and fd98::2. */
function loopback(): BenchPlace {
  return inNetns((name) => {
    for (const address of ['fd98::1/128', 'fd98::2/128']) ip('-n', name, 'address', 'add', address, 'dev', 'lo');
  });
}

/** One namespace with a bridge between tap0 and tap1, which only the two peers use. */
function taps(): BenchPlace {
  return inNetns((name) => {
    ip('-n', name, 'link', 'add', 'br0', 'type', 'bridge');
    ip('-n', name, 'link', 'set', 'br0', 'mtu', String(WIRE_MTU), 'up');
    for (const tap of ['tap0', 'tap1']) {
      ip('-n', name, 'tuntap', 'add', 'dev', tap, 'mode', 'tap');
      ip('-n', name, 'link', 'set', tap, 'mtu', String(WIRE_MTU), 'master', 'br0', 'up');
    }
  });
}

function inNetns(furnish: (name: string) => void): BenchPlace {
  const name = `rocev2-${randomBytes(4).toString('hex')}`;
  const remove = (): void => {
    spawnSync('ip', ['netns', 'del', name], { stdio: 'ignore' });
  };
  try {
    addQuietNetns(name);
    furnish(name);
  } catch (error) {
    remove();
    throw error;
  }
  const prefix = ['ip', 'netns', 'exec', name];
  return { prefixes: [prefix, prefix], directory: '', remove };
}
