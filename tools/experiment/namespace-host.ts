/**
 * A host that is a network namespace of this machine: its one interface, `eth0`, is a TAP whose other end is our port,
 * so that every frame its kernel sends is a frame on the wire, checksums and all. Needs root. Owns the namespace and
 * all that runs in it.
 */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { constants, release } from 'node:os';
import { fileURLToPath } from 'node:url';
import { TapLink } from 'rocev2/node';
import { RoceError } from 'rocev2/packets';
import type { RunResult } from '../lab/guest.ts';
import { addQuietNetns, ip, netnsAvailable } from '../netns.ts';
import { EXIT_NOT_FOUND, type ExperimentHost, type RunningCommand } from './host.ts';
import { CablePort } from './port.ts';
import type { NamespaceSpec } from './types.ts';

/**
 * Makes a namespace. Rejects with ERR_ROCE_LINK_UNAVAILABLE where it may not, or where TAP interfaces are not to be
 * had.
 */
export async function openNamespace(
  spec: NamespaceSpec & { readonly mac: string; readonly mtu: number },
): Promise<ExperimentHost> {
  const { ok, reason } = netnsAvailable();
  if (!ok) throw new RoceError('ERR_ROCE_LINK_UNAVAILABLE', reason);
  const id = randomBytes(4).toString('hex');
  const name = `rocev2-${id}`;
  const tap = `rx${id}`;
  const port = await CablePort.open(new TapLink({ name: tap, mtu: spec.mtu }));
  try {
    leftovers.add(name);
    addQuietNetns(name);
    ip('link', 'set', tap, 'netns', name);
    ip('-n', name, 'link', 'set', tap, 'name', DEVICE, 'address', spec.mac);
    ip('-n', name, 'link', 'set', DEVICE, 'mtu', String(spec.mtu), 'up');
    for (const address of spec.addresses) {
      ip('-n', name, 'address', 'add', address, 'dev', DEVICE, ...(address.includes(':') ? ['nodad'] : []));
    }
  } catch (error) {
    await port.close();
    removeNamespace(name);
    throw error;
  }
  return new NamespaceHost(name, port);
}

class NamespaceHost implements ExperimentHost {
  readonly port: CablePort;
  readonly description: string;
  readonly #name: string;
  readonly #children = new Set<ChildProcess>();

  constructor(name: string, port: CablePort) {
    this.#name = name;
    this.port = port;
    this.description = `a network namespace of this machine, Linux ${release()}`;
  }

  start(command: string): RunningCommand {
    const words = ['netns', 'exec', this.#name, 'sh', '-c', `${ROCE_FUNCTION}\n${command}`];
    // A group of its own, so that all that the shell starts ends with it.
    const child = spawn('ip', words, { stdio: ['ignore', 'pipe', 'pipe'], detached: true });
    this.#children.add(child);
    running.add(child);
    const output = { stdout: '', stderr: '' };
    for (const stream of ['stdout', 'stderr'] as const) {
      child[stream].setEncoding('utf8').on('data', (text: string) => {
        output[stream] += text;
      });
    }
    const ended = new Promise<RunResult>((resolve) => {
      const end = (code: number): void => {
        this.#children.delete(child);
        running.delete(child);
        resolve({ code, ...output });
      };
      child.once('error', () => end(EXIT_NOT_FOUND));
      child.once('close', (code, signal) => end(code ?? SIGNALLED + constants.signals[signal ?? 'SIGKILL']));
    });
    return {
      ended,
      output: async () => ({ ...output }),
      interrupt: async () => signalGroup(child, 'SIGINT'),
      kill: async () => signalGroup(child, 'SIGKILL'),
    };
  }

  async listening(port: number): Promise<void> {
    throw new RoceError('ERR_ROCE_STATE', `a namespace does not show listeners on port ${port}`);
  }

  rates(): readonly [] {
    return [];
  }

  counters(): Readonly<Record<string, number>> {
    return {};
  }

  async stop(): Promise<void> {
    for (const child of this.#children) signalGroup(child, 'SIGKILL');
    await this.port.close();
    removeNamespace(this.#name);
  }
}

function signalGroup(child: ChildProcess, signal: 'SIGINT' | 'SIGKILL'): void {
  if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return;
  try {
    process.kill(-child.pid, signal);
  } catch (error) {
    // It has ended in this very moment.
    if (!(error instanceof Error && 'code' in error && error.code === 'ESRCH')) throw error;
  }
}

function removeNamespace(name: string): void {
  spawnSync('ip', ['netns', 'del', name], { stdio: 'ignore' });
  leftovers.delete(name);
}

/** `roce` in the commands of a namespace: this very program, from the sources or compiled. */
function roceFunction(): string {
  const isSource = import.meta.url.endsWith('.ts');
  const program = fileURLToPath(new URL(isSource ? '../roce.ts' : '../roce.js', import.meta.url));
  const words = [process.execPath, ...(isSource ? ['--import', import.meta.resolve('tsx')] : []), program];
  return `roce() { ${words.map((word) => `'${word.replaceAll("'", "'\\''")}'`).join(' ')} "$@"; }`;
}

/** Namespaces and processes that are still there; a node that exits in the middle leaves none behind. */
const leftovers = new Set<string>();
const running = new Set<ChildProcess>();
process.on('exit', () => {
  for (const child of running) signalGroup(child, 'SIGKILL');
  for (const name of leftovers) removeNamespace(name);
});

const DEVICE = 'eth0';
/** Of a command that a signal has ended, as the shell has it, less the signal's number. */
const SIGNALLED = 128;
const ROCE_FUNCTION = roceFunction();
