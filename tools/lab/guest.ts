/**
 * A Linux guest with rdma_rxe: boot it, run commands in it, stop it. Owns the guest's life and its limits in time:
 * nothing here waits without a limit. The control channel is a virtio-serial port, never the network under test.
 */
import type { Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import ipaddr from 'ipaddr.js';
import { RoceError } from 'rocev2/packets';
import { AgentChannel, type JobExit, type OutputStream } from './agent.ts';
import type { Image } from './image.ts';
import type { GuestJob, RunResult } from './job.ts';
import { connectWire, GuestDirectory } from './place.ts';
import { type AttachedProgram, HostControlPort } from './port.ts';
import { type GuestNetwork, QemuProcess } from './qemu.ts';

export type { GuestJob, RunResult } from './job.ts';

export interface GuestOptions {
  readonly image: Image;
  /**
   * The wire, as a unix socket: qemu connects to it, or listens (`listen`) for a second guest. Without one it leads
   * nowhere.
   */
  readonly netSocket?: { readonly path: string; readonly listen?: boolean } | undefined;
  /** The wire, as a TAP interface; instead of `netSocket`. */
  readonly tap?: string | undefined;
  /** Default 52:54:00:00:00:02. */
  readonly mac?: string | undefined;
  /** Addresses with prefix length for eth0, IPv4 or IPv6: '10.77.0.2/24', 'fd77::2/64'. */
  readonly addresses?: readonly string[] | undefined;
  /**
   * MTU of eth0, 352 (1280 with an IPv6 address) to 9216, default 1500 (IB MTU 1024); 4200 gives IB MTU 4096, 352 the
   * smallest, 256.
   */
  readonly mtu?: number | undefined;
  /** A second port, for a program that speaks to the host: `attach`. Default none. */
  readonly hostControl?: boolean | undefined;
  /** Default 512. */
  readonly memoryMiB?: number | undefined;
  /** A pcap file for qemu to write the guest's frames to. */
  readonly capturePath?: string | undefined;
  /** Limit of the boot, default 120 s: an emulated processor on a busy machine is slow. */
  readonly bootTimeoutMs?: number | undefined;
  /** Ends the boot, and the guest with it. */
  readonly signal?: AbortSignal | undefined;
}

export class Guest {
  /** What `uname -r` prints. */
  readonly release: string;
  /** From the start of qemu to the answer of the agent. */
  readonly bootMs: number;
  readonly #qemu: QemuProcess;
  readonly #agent: AgentChannel;
  readonly #place: GuestDirectory;
  readonly #port: HostControlPort | undefined;

  private constructor(parts: {
    qemu: QemuProcess;
    agent: AgentChannel;
    place: GuestDirectory;
    hostControl: boolean;
    release: string;
    bootMs: number;
  }) {
    this.#qemu = parts.qemu;
    this.#agent = parts.agent;
    this.#place = parts.place;
    this.#port = parts.hostControl ? new HostControlPort(this, parts.place.hostControlPath) : undefined;
    this.release = parts.release;
    this.bootMs = parts.bootMs;
  }

  /**
   * Boots a guest; when it resolves, eth0 has its addresses and rxe0 is ACTIVE. Throws `RoceError`: `ERR_ROCE_ARGUMENT`
   * for options outside their range, `ERR_ROCE_TIMEOUT`, `ERR_ROCE_LINK_UNAVAILABLE` when qemu or the guest cannot be
   * set up.
   */
  static async boot(options: GuestOptions): Promise<Guest> {
    checkOptions(options);
    options.signal?.throwIfAborted();
    const place = await GuestDirectory.create();
    let qemu: QemuProcess | undefined;
    try {
      const network = await chooseNetwork(options, place);
      const hostControl = options.hostControl ?? false;
      const started = performance.now();
      qemu = new QemuProcess({
        image: options.image,
        controlPath: place.controlPath,
        network,
        mac: options.mac ?? '52:54:00:00:00:02',
        addresses: options.addresses ?? [],
        mtu: options.mtu ?? 1500,
        memoryMiB: options.memoryMiB ?? 512,
        hostControlPath: hostControl ? place.hostControlPath : undefined,
        capturePath: options.capturePath,
      });
      const timeoutMs = options.bootTimeoutMs ?? BOOT_TIMEOUT_MS;
      const { agent, release } = await within(timeoutMs, 'the guest did not boot', options.signal, [
        awaitAgent(place, qemu.ended),
        failWhenEnded(qemu),
      ]);
      return new Guest({ qemu, agent, place, hostControl, release, bootMs: performance.now() - started });
    } catch (error) {
      await qemu?.stop();
      await place.remove();
      throw error;
    }
  }

  /** Runs a shell command to its end. At the limit (default 60 s) it is killed and `ERR_ROCE_TIMEOUT` thrown. */
  async run(command: string, options: { timeoutMs?: number } = {}): Promise<RunResult> {
    const { code, stdout, stderr } = await this.#run(command, options.timeoutMs ?? RUN_TIMEOUT_MS);
    return { code, stdout: stdout.toString('utf8'), stderr: stderr.toString('utf8') };
  }

  /** Starts a shell command in the background. */
  spawn(command: string): GuestJob {
    const { job, exit } = this.#agent.start(command);
    const text = async (stream: OutputStream): Promise<string> => {
      return (await bounded(this.#agent.read(job, stream), 'a command was not read')).toString('utf8');
    };
    return {
      output: async () => ({ stdout: await text('out'), stderr: await text('err') }),
      wait: async (timeoutMs) => {
        const { code } = await within(timeoutMs, `the command did not end: ${command}`, undefined, [exit]);
        return { code, stdout: await text('out'), stderr: await text('err') };
      },
      kill: (signal = 'TERM') => bounded(this.#agent.kill(job, signal), 'a command was not signalled'),
    };
  }

  /** A file of the guest, whole. Throws `ERR_ROCE_ARGUMENT` when it cannot be read. */
  async readFile(path: string): Promise<Uint8Array> {
    const quoted = `'${path.replaceAll("'", "'\\''")}'`;
    const { code, stdout, stderr } = await this.#run(`cat -- ${quoted}`, RUN_TIMEOUT_MS);
    if (code !== 0)
      throw new RoceError('ERR_ROCE_ARGUMENT', `the guest cannot read ${path}: ${stderr.toString('utf8').trim()}`);
    return stdout;
  }

  /**
   * Puts a program into the guest and starts it; the socket is its port, a stream of bytes. The program finds the
   * port's path behind its arguments. One at a time: starting one ends the one before. The socket closes when the
   * program ends, and a program whose socket closes reads the port's end. Throws `ERR_ROCE_ARGUMENT` for a guest
   * without `hostControl`, `ERR_ROCE_LINK_UNAVAILABLE` when the program does not arrive whole.
   */
  attach(program: Uint8Array, args: readonly string[] = []): Promise<AttachedProgram> {
    if (this.#port === undefined) {
      return Promise.reject(new RoceError('ERR_ROCE_ARGUMENT', 'this guest was booted without a port for a program'));
    }
    return this.#port.attach(program, args);
  }

  /** Ends the guest, at once. May be called more than once. */
  async stop(): Promise<void> {
    this.#port?.close();
    this.#agent.close('the guest was stopped');
    await this.#qemu.stop();
    await this.#place.remove();
  }

  /** Settles when the guest is gone, with the reason: it was stopped, or its kernel panicked. */
  get ended(): Promise<string> {
    return this.#qemu.ended;
  }

  /** What the guest's kernel has printed; nothing, as a rule, until it panics. */
  get console(): string {
    return this.#qemu.console;
  }

  async #run(command: string, timeoutMs: number): Promise<{ code: number; stdout: Buffer; stderr: Buffer }> {
    const { job, exit } = this.#agent.start(command);
    let ended: JobExit;
    try {
      ended = await within(timeoutMs, `the command did not end: ${command}`, undefined, [exit]);
    } catch (error) {
      await bounded(this.#agent.kill(job, 'KILL'), 'a command was not killed').catch(() => undefined);
      throw error;
    }
    const read = async (stream: OutputStream, bytes: number): Promise<Buffer> => {
      return bytes === 0 ? Buffer.alloc(0) : bounded(this.#agent.read(job, stream), 'output was not read');
    };
    const stdout = await read('out', ended.stdoutBytes);
    const stderr = await read('err', ended.stderrBytes);
    await bounded(this.#agent.drop(job), 'output was not dropped');
    return { code: ended.code, stdout, stderr };
  }
}

async function chooseNetwork(options: GuestOptions, place: GuestDirectory): Promise<GuestNetwork> {
  if (options.tap !== undefined) return { kind: 'tap', name: options.tap };
  if (options.netSocket === undefined) return { kind: 'socket', socket: await connectWire(await place.sink()) };
  const { path, listen: listening = false } = options.netSocket;
  if (!listening) return { kind: 'socket', socket: await connectWire(path, options.signal) };
  await place.own(path);
  return { kind: 'listen', path };
}

async function awaitAgent(
  place: GuestDirectory,
  ended: Promise<string>,
): Promise<{ agent: AgentChannel; release: string }> {
  const socket = await new Promise<Socket>((resolve) => place.control.once('connection', resolve));
  const agent = new AgentChannel(socket, ended);
  return { agent, release: await agent.ready };
}

async function failWhenEnded(qemu: QemuProcess): Promise<never> {
  throw new RoceError('ERR_ROCE_LINK_UNAVAILABLE', `the guest did not boot: ${await qemu.ended}`);
}

/** The first of `promises` to settle, or `ERR_ROCE_TIMEOUT` after `timeoutMs`, or the signal's reason. */
async function within<T>(
  timeoutMs: number,
  what: string,
  signal: AbortSignal | undefined,
  promises: readonly Promise<T>[],
): Promise<T> {
  const timer = new AbortController();
  const stop = signal === undefined ? timer.signal : AbortSignal.any([timer.signal, signal]);
  const limit = delay(timeoutMs, undefined, { signal: stop }).then(
    () => Promise.reject(new RoceError('ERR_ROCE_TIMEOUT', `${what} (within ${timeoutMs / 1000} s)`)),
    () => Promise.reject(signal?.reason ?? new RoceError('ERR_ROCE_CLOSED', what)),
  );
  limit.catch(() => undefined);
  try {
    return await Promise.race([...promises, limit]);
  } finally {
    timer.abort();
  }
}

/** A limit for what a healthy guest answers at once. */
function bounded<T>(answer: Promise<T>, what: string): Promise<T> {
  return within(ANSWER_TIMEOUT_MS, what, undefined, [answer]);
}

function checkOptions(options: GuestOptions): void {
  const refuse = (message: string): never => {
    throw new RoceError('ERR_ROCE_ARGUMENT', message);
  };
  for (const address of options.addresses ?? []) {
    if (!ipaddr.isValidCIDR(address)) refuse(`${JSON.stringify(address)} is not an address with a prefix length`);
  }
  const mtu = options.mtu ?? 1500;
  const least = (options.addresses ?? []).some((address) => address.includes(':')) ? MTU_MIN_IPV6 : MTU_MIN;
  if (!Number.isInteger(mtu) || mtu < least || mtu > 9216) refuse(`the MTU ${mtu} is not between ${least} and 9216`);
  const memoryMiB = options.memoryMiB ?? 512;
  if (!Number.isInteger(memoryMiB) || memoryMiB < 256) refuse(`${memoryMiB} MiB of memory are not enough for a guest`);
  if (options.mac !== undefined && !/^[0-9a-f]{2}(?::[0-9a-f]{2}){5}$/i.test(options.mac)) {
    refuse(`${JSON.stringify(options.mac)} is not a MAC address`);
  }
  if (options.tap !== undefined && options.netSocket !== undefined)
    refuse('a guest has one wire: a socket or a TAP interface');
}

/** 256 bytes and what rdma_cm takes for headers (ref:rxe#1). */
const MTU_MIN = 352;
const MTU_MIN_IPV6 = 1280;
const BOOT_TIMEOUT_MS = 120_000;
const RUN_TIMEOUT_MS = 60_000;
const ANSWER_TIMEOUT_MS = 30_000;
