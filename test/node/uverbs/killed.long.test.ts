/**
 * Goal: whatever a program is doing when it is killed, nothing of it is left: neither on the device, nor among the
 * descriptors and mappings of the server, nor in a file system; and its peers are told. Method: a program that brings
 * itself to a state (killed.py) and says so; the device's tables show that it is there; SIGKILL; then tables, /proc and
 * directories have to be what they were. Seven seconds of one processor, and twenty of waiting.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, readlinkSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, afterEach, beforeAll, beforeEach, expect, it, vi } from 'vitest';
import {
  type Connection,
  ConnectionRejected,
  type Device,
  type DeviceTables,
  type Listener,
  type OpenDevice,
  openDevice,
  type Qp,
} from '../../../src/index.ts';
import { type ServedUverbs, serveUverbs } from '../../../src/node/uverbs/serve.ts';
import { createUverbsServer } from '../../../src/uverbs/index.ts';
import { PYTHON } from '../../../tools/interop/pyverbs/suite.ts';
import { buildShim } from '../../../tools/uverbs/build.ts';
import type { ShimPlace } from '../../../tools/uverbs/child.ts';
import { describeWith } from '../../support/need.ts';
import { ended } from './clients.ts';

const PROGRAM = fileURLToPath(new URL('./killed.py', import.meta.url));
const PEER_PORT = 7471;
const BUSY_PORT = 7472;
const PROGRAMS_PORT = 7473;
const TIMEOUT_MS = 60_000;
/** Each 0.5 s. */
const BRIEF = { cmResponseTimeout: 17, maxCmRetries: 2 };

/** Its link-local address follows from it, which makes GID 0 usable. */
const MAC = '02:00:00:00:00:01';

type Held = Partial<Omit<DeviceTables, 'neighbours'>>;

/** States, and what the device holds for a program in each, beside what it held before. */
const STATES: readonly (readonly [string, Held])[] = [
  ['context', {}],
  ['pd', {}],
  ['mr', { memoryRegions: 1, keys: 1 }],
  ['completion_queue', { completionQueues: 1 }],
  ['waits_for_completion', { completionQueues: 1 }],
  ['waits_for_async_event', {}],
  ['polls', { completionQueues: 1 }],
  ['many_threads_run_commands', {}],
  ['reset', { queuePairs: 1, completionQueues: 1, memoryRegions: 1 }],
  ['init', { queuePairs: 1 }],
  ['rtr', { queuePairs: 1, nextHops: 1 }],
  ['rts', { queuePairs: 1, nextHops: 1 }],
  ['sqd', { queuePairs: 1 }],
  ['error', { queuePairs: 1 }],
  ['sends', { queuePairs: 1, timers: 1 }],
  ['reads', { queuePairs: 1, timers: 1 }],
  ['receives', { queuePairs: 1 }],
  ['shared_receives', { queuePairs: 1, sharedReceiveQueues: 1 }],
  ['address_handle', { nextHops: 1 }],
  ['address_handle_waits', { resolutions: 1 }],
  ['window_bound', { memoryWindows: 1, keys: 2 }],
  ['multicast', { queuePairs: 1, groups: 1 }],
  ['half_frame', { queuePairs: 1 }],
  ['everything', { queuePairs: 20, listeners: 1 }],
  ['cm_created', {}],
  ['cm_resolving', { resolutions: 1 }],
  ['cm_route', { queuePairs: 1 }],
  ['cm_listens', { listeners: 1 }],
];

describeWith('pyverbs', 'nothing is left of a program that is killed', () => {
  const directory = mkdtempSync(join(tmpdir(), 'roce-killed-'));
  const opened: OpenDevice[] = [];
  const programs: Program[] = [];
  let device: Device;
  let served: ServedUverbs;
  let shim: string;
  let peer: Peer;
  let before: Remains;

  beforeAll(async () => {
    const wire = join(directory, 'wire');
    opened.push(await openDevice({ link: `qemu:${wire}`, addresses: ['10.0.0.1/24'], mac: MAC }));
    opened.push(await openDevice({ link: `qemu:${wire},connect`, addresses: ['10.0.0.2/24'] }));
    const [ours, theirs] = opened.map((one) => one.device);
    if (ours === undefined || theirs === undefined) throw new Error('both were opened');
    device = ours;
    peer = new Peer(theirs);
    served = await serveUverbs({ server: createUverbsServer(device), path: join(directory, 'socket') });
    shim = await buildShim();
    // What is made once and stays: a first client, the neighbour.
    await (await start('rts')).kill();
    await vi.waitUntil(() => served.sizes.files === 0, { timeout: TIMEOUT_MS });
  });
  beforeEach(() => {
    before = remains();
  });
  // Those of a test that has failed.
  afterEach(() => Promise.all(programs.splice(0).map((program) => program.kill())));
  afterAll(async () => {
    peer.close();
    served.close();
    for (const { close } of opened) await close();
    rmSync(directory, { recursive: true });
  });

  async function start(state: string): Promise<Program> {
    const program = new Program(state, { shim, socket: served.path });
    programs.push(program);
    await program.ready();
    return program;
  }

  function remains(): Remains {
    const { neighbours: _, ...tables } = device.tables();
    const { connections, files } = served.sizes;
    return { ...tables, programs: connections, files, ...ofThisProcess(), beside: readdirSync(directory).sort() };
  }

  async function nothingLeft(): Promise<void> {
    await expect.poll(remains).toEqual(before);
    expect(device.counters.internalErrors).toBe(0);
  }

  /** Until the tables have at least so much more. */
  async function holds(held: Held): Promise<void> {
    const most = (): Record<string, number> => {
      const now = device.tables();
      const names = Object.keys(held) as (keyof Held)[];
      return Object.fromEntries(names.map((name) => [name, Math.min(now[name] - before[name], held[name] ?? 0)]));
    };
    await expect.poll(most).toEqual(held);
    expect(served.sizes.files).toBeGreaterThan(0);
  }

  it.each(STATES)('%s', { timeout: TIMEOUT_MS }, async (state, held) => {
    const program = await start(state);
    await holds(held);
    await program.kill();
    await nothingLeft();
  });

  it('sends, stopped before', { timeout: TIMEOUT_MS }, async () => {
    const program = await start('sends');
    process.kill(program.pid, 'SIGSTOP');
    await expect.poll(() => stateOf(program.pid)).toBe('T');
    await holds({ queuePairs: 1, timers: 1 });
    await program.kill();
    await nothingLeft();
  });

  it('a parent, once its child is killed as well', { timeout: TIMEOUT_MS }, async () => {
    const program = await start('child_lives');
    await holds({ queuePairs: 1 });
    const { connections } = served.sizes;
    await program.kill();
    // The files are the child's, too, and those of rdma_cm as well, which librdmacm opens by itself.
    await expect.poll(() => served.sizes.connections).toBeLessThan(connections);
    await holds({ queuePairs: 1 });
    process.kill(Number(/^\d+/.exec(program.text)?.[0]), 'SIGKILL');
    await nothingLeft();
  });

  it('cm_connecting: the request is withdrawn', { timeout: TIMEOUT_MS }, async () => {
    const program = await start('cm_connecting');
    await holds({ queuePairs: 1, connections: 1 });
    await expect.poll(() => peer.connections).toBe(1);
    await program.kill();
    await nothingLeft();
    await expect.poll(() => peer.connections).toBe(0);
  });

  it.each(['cm_active', 'cm_disconnected'])('%s: the peer is told', { timeout: TIMEOUT_MS }, async (state) => {
    const program = await start(state);
    await holds({ queuePairs: 1, connections: 1 });
    await program.kill();
    await expect.poll(() => peer.ends.splice(0)).toEqual(['dreq']);
    await nothingLeft();
  });

  it.each(['cm_listens', 'cm_request_read'])(
    '%s, asked: the peer is refused',
    { timeout: TIMEOUT_MS },
    async (state) => {
      const program = await start(state);
      const { connecting, free } = peer.connect();
      const refused = expect(connecting).rejects.toThrow(ConnectionRejected);
      await holds({ listeners: 1, connections: 1 });
      if (state === 'cm_request_read') await program.ready();
      await program.kill();
      await refused;
      free();
      await nothingLeft();
    },
  );

  it('cm_passive: the peer is told', { timeout: TIMEOUT_MS }, async () => {
    const program = await start('cm_passive');
    const { connecting, free } = peer.connect();
    const connection = await connecting;
    await program.ready();
    await program.kill();
    expect(await connection.closed).toBe('dreq');
    expect(connection.qp.stateName).toBe('ERR');
    free();
    await nothingLeft();
  });
});

/** A killed.py in some state. */
class Program {
  readonly pid: number;
  /** What it has said. */
  text = '';
  readonly #exit: Promise<number | string | null>;
  readonly #child: ChildProcess;
  #heard = 0;
  #wake: () => void = () => undefined;

  constructor(state: string, { shim, socket }: ShimPlace) {
    const env = { ...process.env, LD_PRELOAD: shim, ROCE_UVERBS: socket };
    const child = spawn(PYTHON, [PROGRAM, state], { env, stdio: ['ignore', 'pipe', 'inherit'] });
    this.#child = child;
    this.pid = child.pid ?? 0;
    this.#exit = ended(child);
    child.stdout.on('data', (chunk: Buffer) => {
      this.text += chunk.toString();
      this.#wake();
    });
    child.once('exit', () => this.#wake());
  }

  /** Until it has said once more that it is ready. */
  async ready(): Promise<void> {
    this.#heard += 1;
    while (this.text.split('ready').length <= this.#heard) {
      if (this.#child.exitCode !== null) throw new Error(`it has ended with ${this.#child.exitCode}: ${this.text}`);
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }

  /** Ends it, if it has not ended. */
  async kill(): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    noteShared(this.pid);
    process.kill(this.pid, 'SIGKILL');
    expect(await this.#exit).toBe('SIGKILL');
  }
}

type Remains = Readonly<Omit<DeviceTables, 'neighbours'>> & {
  readonly programs: number;
  readonly files: number;
  readonly descriptors: number;
  readonly rings: number;
  readonly beside: readonly string[];
  readonly shm: readonly string[];
};

/** The other device. It accepts what comes at one port, and leaves what comes at another alone. */
class Peer {
  /** Why connections have ended. */
  readonly ends: string[] = [];
  readonly #device: Device;
  readonly #listener: Listener;
  readonly #idle: Listener;

  constructor(device: Device) {
    this.#device = device;
    this.#listener = device.cm.listen(PEER_PORT);
    this.#idle = device.cm.listen(BUSY_PORT);
    void this.#accept();
  }

  get connections(): number {
    return this.#device.tables().connections;
  }

  /** Connects to a program, which remembers a refusal for as long as this may repeat its request. */
  connect(): { connecting: Promise<Connection>; free: () => void } {
    const { qp, free } = this.#makeQp();
    return { connecting: this.#device.cm.connect({ address: '10.0.0.1', port: PROGRAMS_PORT, qp, ...BRIEF }), free };
  }

  close(): void {
    this.#listener.close();
    this.#idle.close();
  }

  async #accept(): Promise<void> {
    for await (const request of this.#listener) {
      const { qp, free } = this.#makeQp();
      const { closed } = await request.accept({ qp });
      void closed.then((cause) => {
        this.ends.push(cause);
        free();
      });
    }
  }

  #makeQp(): { qp: Qp; free: () => void } {
    const [pd, cq] = [this.#device.allocPd(), this.#device.createCq(16)];
    const qp = pd.createQp({ sendCq: cq, recvCq: cq });
    const free = (): void => {
      qp.destroy();
      this.#device.destroyCq(cq);
      pd.dealloc();
    };
    return { qp, free };
  }
}

/** One letter: S asleep, T stopped. */
function stateOf(pid: number): string | undefined {
  return /\) (\w)/.exec(readFileSync(`/proc/${pid}/stat`, 'utf8'))?.[1];
}

/** Files in /dev/shm that programs had open or mapped, or this process. Those of others there are no matter. */
const SHARED = new Set<string>();

function noteShared(pid: number): void {
  const maps = readFileSync(`/proc/${pid}/maps`, 'utf8');
  for (const [path] of maps.matchAll(/\/dev\/shm\/\S+/g)) SHARED.add(path);
  for (const fd of readdirSync(`/proc/${pid}/fd`)) {
    const [path] = /^\/dev\/shm\/\S+/.exec(linkOf(`/proc/${pid}/fd/${fd}`)) ?? [];
    if (path !== undefined) SHARED.add(path);
  }
}

function linkOf(path: string): string {
  try {
    return readlinkSync(path);
  } catch {
    // Closed in the meantime.
    return '';
  }
}

function ofThisProcess() {
  noteShared(process.pid);
  const rings = readFileSync('/proc/self/maps', 'utf8').match(/memfd:rocev2-uverbs/g)?.length ?? 0;
  return { descriptors: readdirSync('/proc/self/fd').length, rings, shm: [...SHARED].filter(existsSync) };
}
