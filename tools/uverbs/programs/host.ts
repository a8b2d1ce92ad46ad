/**
 * A host that a program of the table runs on: one of ours, which is a network namespace with a device on its interface,
 * or a guest with rdma_rxe (`guest-host.ts`). Owns programs under the shim in a namespace.
 */
import { spawn } from 'node:child_process';
import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { setTimeout as later } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import type { Device } from 'rocev2';
import type { ServedUverbs } from 'rocev2/node';
import type { Netns } from '../../netns.ts';

/** Where a program runs. */
export interface ProgramHost {
  /** For TCP and for the device, without prefix length. */
  readonly ipv4: string;
  readonly ipv6: string;
  /** What `{dir}` and `{own}` are there. */
  readonly directory: string;
  readonly own: string;
  start(line: string): StartedProgram;
}

export interface StartedProgram {
  readonly ended: Promise<EndedProgram>;
  /** Resolves when it listens, for TCP or for rdma_cm, or has had the time to, or has ended. */
  listening(): Promise<void>;
  /** Ends it, and what it has started. */
  end(): Promise<void>;
}

export interface EndedProgram {
  readonly code: number;
  /** On standard output and standard error. */
  readonly printed: string;
}

/** A host with a device of ours. */
export interface OwnHost extends ProgramHost {
  /** Of the device. */
  readonly portCounters: Device['portCounters'];
}

/** A namespace whose device is served. Its programs have an /etc/hosts of their own. */
export function ownHost(
  netns: Netns,
  shim: string,
  { served, device }: { readonly served: ServedUverbs; readonly device: Device },
  directory: string,
  until?: AbortSignal,
): OwnHost {
  const [ipv4, ipv6] = [netns.ipv4, netns.ipv6].map((address) => address.split('/')[0] ?? '');
  const hosts = join(directory, `hosts-of-${netns.name}`);
  // A server that binds to localhost tells its clients that address: here it is one that they reach.
  writeFileSync(hosts, `${ipv4} localhost\n`);
  const settings = ['env', `LD_PRELOAD=${shim}`, `ROCE_UVERBS=${served.path}`];
  // "ip netns exec" has made a mount namespace of its own for the program, so nobody else sees this file.
  const enter = [...netns.prefix, 'sh', '-c', `mount --bind ${hosts} /etc/hosts && exec "$@"`, 'sh', ...settings];
  const start = (line: string): StartedProgram => {
    const listensBefore = served.sizes.listens;
    const [command = '', ...words] = [...enter, 'sh', '-c', `exec ${line}`];
    const child = spawn(command, words, { detached: true, stdio: ['ignore', 'pipe', 'pipe'] });
    let printed = '';
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding('utf8').on('data', (text: string) => {
        printed += text;
      });
    let over = false;
    const kill = (): void => signalGroup(child.pid ?? 0, over);
    until?.addEventListener('abort', kill);
    if (until?.aborted === true) kill();
    const ended = new Promise<EndedProgram>((resolve, reject) => {
      child.once('error', reject);
      child.once('close', (code) => {
        over = true;
        until?.removeEventListener('abort', kill);
        resolve({ code: code ?? ENDED_BY_SIGNAL, printed });
      });
    });
    const listening = async (): Promise<void> => {
      for (let waitedMs = 0; waitedMs < PATIENCE_MS && !over; waitedMs += STEP_MS) {
        if (served.sizes.listens > listensBefore || listensForTcp(netns, child.pid ?? 0)) return;
        await later(STEP_MS);
      }
    };
    const end = async (): Promise<void> => {
      kill();
      await ended;
    };
    return { ended, listening, end };
  };
  const { portCounters } = device;
  return { ipv4: ipv4 ?? '', ipv6: ipv6 ?? '', directory, own: OWN, start, portCounters };
}

/** Whether anybody listens for TCP in a namespace, once a process is in there. */
function listensForTcp({ name: namespace }: Netns, pid: number): boolean {
  return ['tcp', 'tcp6'].some((name) => {
    try {
      if (statSync(`/proc/${pid}/ns/net`).ino !== statSync(`/run/netns/${namespace}`).ino) return false;
      const [, ...sockets] = readFileSync(`/proc/${pid}/net/${name}`, 'utf8').split('\n');
      return sockets.some((line) => line.trim().split(/\s+/)[3] === LISTEN);
    } catch {
      // It has ended.
      return false;
    }
  });
}

function signalGroup(pid: number, over: boolean): void {
  try {
    if (!over) process.kill(-pid, 'SIGKILL');
  } catch {
    // The last of them has ended.
  }
}

/** How long a program may take to listen. */
export const PATIENCE_MS = 5000;
const STEP_MS = 30;
const LISTEN = '0A';
const ENDED_BY_SIGNAL = 128;
/** What `{own}` is. */
export const OWN = dirname(fileURLToPath(import.meta.url));
