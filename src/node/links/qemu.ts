/**
 * A wire to a QEMU guest: its `stream` netdev on a Unix socket, without privileges and without a kernel interface of
 * ours.
 *
 *   guest:  -netdev stream,id=n0,server=off,addr.type=unix,addr.path=/tmp/guest.sock -device virtio-net-pci,netdev=n0
 *   us:     qemu:/tmp/guest.sock            we listen (start us first)
 *           qemu:/tmp/guest.sock,connect    we connect (QEMU has server=on)
 *
 * Two rocev2 processes can share such a wire as well. A listening link acts as a cable: while no guest is connected, it
 * is unplugged, frames sent are lost and counted, and after a guest has left the next one may connect. A connecting
 * link ends with its connection. Framing: `length-framing.ts` (ref:platform#4).
 */

import { lstat, unlink } from 'node:fs/promises';
import { createServer, connect as netConnect, type Server, type Socket } from 'node:net';
import { defined } from '../../../packets/defined.ts';
import { RoceError } from '../../../packets/errors.ts';
import { Medium } from '../../../packets/frame.ts';
import type { FrameBatch } from '../../../packets/frame-writer.ts';
import { WHOLE_PACKETS } from '../../ground/link.ts';
import type { ConnectionEnd } from './connection-end.ts';
import type { LinkKind } from './kind.ts';
import { LifecycleLink, type LinkEvents, type LinkPort } from './lifecycle.ts';

import { StreamConnection } from './stream-connection.ts';

/** What a `QemuLink` is made of. */
export interface QemuLinkOptions {
  /** Path of the Unix socket; the kernel allows about 107 bytes. */
  readonly path: string;
  /** Connect to a listening QEMU instead of listening for it. */
  readonly connect?: boolean;
  /** Largest IP packet we send, in bytes: what the guest's interface is set to. Default 1,500. */
  readonly mtu?: number;
}

/** Frames of a `QemuLink`, by what became of them. */
export interface QemuCounters {
  /** Frames written to the socket. */
  sent: number;
  /** Frames that arrived and were handed on. */
  received: number;
  /** Sent while no peer was connected, and lost. */
  unplugged: number;
  /** Connections turned away because one was there. */
  refused: number;
}

const DEFAULT_MTU = 1500;

export const qemuKind: LinkKind = {
  name: 'qemu',
  usage: 'PATH[,connect][,mtu=N]',
  summary: 'Unix socket of a QEMU stream netdev',
  medium: Medium.Ethernet,
  ecn: WHOLE_PACKETS,
  requirements: () => Promise.resolve([]),
  open: (spec) => {
    const mtu = spec.takeMtu();
    return new QemuLink({
      path: spec.target,
      connect: spec.takeFlag('connect'),
      ...defined({ mtu }),
    });
  },
};

/**
 * The link of kind `qemu`: the Ethernet of one QEMU guest, over the Unix socket of its stream netdev.
 *
 * @example
 * ```ts
 * import { mkdtempSync, rmSync } from 'node:fs';
 * import { tmpdir } from 'node:os';
 * import { join } from 'node:path';
 * import { QemuLink } from 'rocev2/node';
 *
 * // In place of a guest with `-netdev stream` a second link connects.
 * const folder = mkdtempSync(join(tmpdir(), 'qemu-'));
 * const path = join(folder, 'guest.sock');
 * const host = new QemuLink({ path });
 * const guest = new QemuLink({ path, connect: true });
 * let heard = (_bytes: number): void => {};
 * const arrival = new Promise<number>((resolve) => {
 *   heard = resolve;
 * });
 * await host.start({ receive: (batch) => heard(batch.lengths[0] ?? 0), writable() {}, closed() {} });
 * await guest.start({ receive() {}, writable() {}, closed() {} });
 * const bytes = new Uint8Array(60);
 * const frame = { bytes, view: new DataView(bytes.buffer), starts: Int32Array.of(0), lengths: Int32Array.of(60) };
 * guest.send({ ...frame, count: 1 }, 0);
 * console.log(await arrival, host.connected, guest.counters.sent); // 60 true 1
 * await Promise.all([guest.close(), host.close()]);
 * rmSync(folder, { recursive: true });
 * ```
 */
export class QemuLink extends LifecycleLink<PluggedPort> {
  readonly name: string;
  readonly medium = Medium.Ethernet;
  /** As `Link.ecn`. */
  readonly ecn = WHOLE_PACKETS;
  readonly mtu: number;
  /** Since the link was made; they count on while it runs. */
  readonly counters: QemuCounters = { sent: 0, received: 0, unplugged: 0, refused: 0 };

  readonly #path: string;
  readonly #connects: boolean;

  /** Makes the link; `start` listens on the socket or connects to it. */
  constructor(options: QemuLinkOptions) {
    super();
    this.#path = options.path;
    this.#connects = options.connect ?? false;
    this.mtu = options.mtu ?? DEFAULT_MTU;
    this.name = `qemu:${options.path}${this.#connects ? ',connect' : ''}`;
  }

  /** Whether there is a peer at the other end. */
  get connected(): boolean {
    return this.port?.connected ?? false;
  }

  /** Resolves when listening, or when connected. */
  protected override async open(events: LinkEvents): Promise<PluggedPort> {
    const port = new QemuPort(events, this.counters, this.#connects);
    if (this.#connects) port.plugIn(await connectTo(this.#path));
    else await port.listen(this.#path, this.name);
    return port;
  }
}

/** What the link asks its port; without it the port's own type would take the types of Node into the package's. */
interface PluggedPort extends LinkPort {
  readonly connected: boolean;
}

/** The socket that listens, if one does, and the one connection. */
class QemuPort implements PluggedPort {
  readonly #events: LinkEvents;
  readonly #counters: QemuCounters;
  readonly #connects: boolean;
  #server: Server | undefined;
  #connection: StreamConnection | undefined;

  constructor(events: LinkEvents, counters: QemuCounters, connects: boolean) {
    this.#events = events;
    this.#counters = counters;
    this.#connects = connects;
  }

  get connected(): boolean {
    return this.#connection !== undefined;
  }

  send(batch: FrameBatch, from: number): number {
    const connection = this.#connection;
    if (connection === undefined) {
      this.#counters.unplugged += batch.count - from;
      return batch.count - from;
    }
    const count = connection.send(batch, from);
    this.#counters.sent += count;
    return count;
  }

  async close(): Promise<void> {
    const server = this.#server;
    const stopped = server === undefined ? undefined : new Promise<void>((resolve) => server.close(() => resolve()));
    await this.#connection?.close();
    await stopped;
  }

  async listen(path: string, name: string): Promise<void> {
    await removeStaleSocket(path);
    const server = createServer((socket) => this.#accept(socket));
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject);
      server.listen(path, () => {
        server.off('error', reject);
        resolve();
      });
    });
    this.#server = server;
    server.on('error', (cause) =>
      this.#events.ended(new RoceError('ERR_ROCE_CLOSED', `${name}: ${cause.message}`, { cause })),
    );
  }

  plugIn(socket: Socket): void {
    this.#connection = new StreamConnection(socket, {
      receive: (batch) => {
        this.#counters.received += batch.count;
        this.#events.receive(batch);
      },
      writable: () => this.#events.writable(),
      ended: (end, error) => this.#unplug(end, error),
    });
  }

  #accept(socket: Socket): void {
    if (this.#connection === undefined) {
      this.plugIn(socket);
      return;
    }
    // A cable has two ends.
    this.#counters.refused++;
    socket.on('error', () => {});
    socket.destroy();
  }

  #unplug(end: ConnectionEnd, error: RoceError): void {
    this.#connection = undefined;
    // A peer that violates the framing once will do so again: end the link with an error instead of waiting for it to
    // reconnect.
    if (this.#connects || end === 'nonsense') this.#events.ended(error);
    else this.#events.writable();
  }
}

function connectTo(path: string): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = netConnect(path);
    socket.once('error', reject);
    socket.once('connect', () => {
      socket.off('error', reject);
      resolve(socket);
    });
  });
}

/** Removes what a process that died has left at `path`; throws when it is in use, or is not a socket. */
async function removeStaleSocket(path: string): Promise<void> {
  let isSocket: boolean;
  try {
    isSocket = (await lstat(path)).isSocket();
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return;
    throw error;
  }
  if (!isSocket) throw new Error('the path exists and is not a socket; not removed');
  let listener: Socket;
  try {
    listener = await connectTo(path);
  } catch (error) {
    // Refused: no listener. Missing: its owner removed it just now.
    if (!hasCode(error, 'ECONNREFUSED') && !hasCode(error, 'ENOENT')) throw error;
    await unlink(path).catch((failure: unknown) => {
      if (!hasCode(failure, 'ENOENT')) throw failure;
    });
    return;
  }
  listener.destroy();
  throw new Error('another process listens on this socket');
}

function hasCode(error: unknown, code: string): boolean {
  return error instanceof Error && 'code' in error && error.code === code;
}
