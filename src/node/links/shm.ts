/**
 * A wire between two processes of one host: two rings of frames in memory that both have mapped. No kernel call for a
 * frame as long as the receiver is awake. Linux, through koffi; no privileges.
 *
 *   shm:/tmp/wire            waits for the other end (start it first)
 *   shm:/tmp/wire,connect    connects to it
 *
 * The Unix socket at that path hands over the memory (a sealed memfd, gone with the last of both processes), wakes a
 * side that sleeps with a byte, and shows when a side is gone. As with `qemu`, the listening link acts as a cable:
 * frames sent while nobody is connected are lost and counted, and the next peer may connect after one has left; a
 * connecting link ends with its connection. A peer whose ring holds nonsense ends the link.
 */
import { defined } from '../../../packets/defined.ts';
import { RoceError } from '../../../packets/errors.ts';
import { Medium } from '../../../packets/frame.ts';
import type { FrameBatch } from '../../../packets/frame-writer.ts';
import { type LinkPoller, WHOLE_PACKETS } from '../../ground/link.ts';
import type { ConnectionEnd } from './connection-end.ts';
import { receiveWithDescriptor, sendWithDescriptor } from './descriptor-message.ts';
import type { LinkKind } from './kind.ts';
import { type Libc, loadLibc } from './libc.ts';
import { type Abandonment, LifecycleLink, type LinkEvents, type LinkPort } from './lifecycle.ts';
import { Mapping } from './mapping.ts';
import { linuxRequirement, packageRequirement } from './native-package.ts';
import { DescriptorWatch } from './poller.ts';
import { createSealed, isSealed } from './sealed-memory.ts';
import { SHARED_BYTES, ShmConnection, type ShmCounters } from './shm-connection.ts';
import { connectToUnix, Listener } from './unix-listener.ts';

/** What a `ShmLink` is made of. */
export interface ShmLinkOptions {
  /** Path of the Unix socket; the kernel allows 107 bytes. */
  readonly path: string;
  /** Connect to a listening link instead of being one. */
  readonly connect?: boolean;
  /** Largest IP packet, in bytes. Default 4,200, for a path MTU of 4096. */
  readonly mtu?: number;
}

export const shmKind: LinkKind = {
  name: 'shm',
  usage: 'PATH[,connect][,mtu=N]',
  summary: 'shared memory between two processes of this host, through koffi; the fastest',
  medium: Medium.Ethernet,
  ecn: WHOLE_PACKETS,
  requirements: async () => [linuxRequirement(), await packageRequirement('koffi', 'npm install koffi')],
  open: (spec) => {
    const mtu = spec.takeMtu();
    return new ShmLink({ path: spec.target, connect: spec.takeFlag('connect'), ...defined({ mtu }) });
  },
};

/** The link of kind `shm`. */
export class ShmLink extends LifecycleLink<PluggedPort> {
  readonly name: string;
  readonly medium = Medium.Ethernet;
  /** As `Link.ecn`. */
  readonly ecn = WHOLE_PACKETS;
  readonly mtu: number;
  /** Since the link was made; they count on while it runs. */
  readonly counters: ShmCounters = { sent: 0, received: 0, unplugged: 0, oversize: 0, refused: 0, wakes: 0 };
  readonly #path: string;
  readonly #connects: boolean;

  /** Makes the link; `start` listens on the socket or connects to it. */
  constructor(options: ShmLinkOptions) {
    super();
    this.#path = options.path;
    this.#connects = options.connect ?? false;
    this.mtu = options.mtu ?? DEFAULT_MTU;
    this.name = `shm:${options.path}${this.#connects ? ',connect' : ''}`;
  }

  /** Whether there is a peer at the other end. */
  get connected(): boolean {
    return this.port?.connected ?? false;
  }

  /** Resolves when listening, or when connected. */
  protected override async open(events: LinkEvents, abandoned: Abandonment): Promise<PluggedPort> {
    const libc = await loadLibc();
    abandoned.throwIfAborted();
    const port = new ShmPort({ libc, events, counters: this.counters, mtu: this.mtu, connects: this.#connects });
    try {
      if (this.#connects) await port.connect(this.#path, abandoned);
      else port.listen(this.#path);
    } catch (cause) {
      abandoned.throwIfAborted();
      const reason = cause instanceof Error ? cause.message : String(cause);
      throw new RoceError('ERR_ROCE_LINK_UNAVAILABLE', `${this.name}: ${reason}`, { cause });
    }
    return port;
  }
}

/** What the link asks its port; the port's own type would take those of Node into the package's. */
interface PluggedPort extends LinkPort {
  readonly connected: boolean;
}

interface ShmOwner {
  readonly libc: Libc;
  readonly events: LinkEvents;
  readonly counters: ShmCounters;
  readonly mtu: number;
  readonly connects: boolean;
}

/** The socket that listens, if one does, and the one connection. */
class ShmPort implements PluggedPort {
  readonly #owner: ShmOwner;
  #listener: Listener | undefined;
  #connection: ShmConnection | undefined;
  #polled = false;

  constructor(owner: ShmOwner) {
    this.#owner = owner;
  }

  /** Of whichever connection there is. */
  readonly poller: LinkPoller = {
    begin: () => {
      this.#polled = true;
      this.#connection?.poller.begin();
    },
    poll: () => this.#connection?.poller.poll() ?? false,
    end: () => {
      this.#polled = false;
      this.#connection?.poller.end();
    },
  };

  get connected(): boolean {
    return this.#connection !== undefined;
  }

  send(batch: FrameBatch, from: number): number {
    if (this.#connection !== undefined) return this.#connection.send(batch, from);
    this.#owner.counters.unplugged += batch.count - from;
    return batch.count - from;
  }

  close(): void {
    this.#listener?.close();
    this.#connection?.close();
  }

  /** @throws Error what is wrong with the path */
  listen(path: string): void {
    const { libc, counters } = this.#owner;
    const refuse = (): void => void counters.refused++;
    this.#listener = Listener.open(libc, path, (fd) => this.#accept(fd), refuse);
  }

  /** @throws Error what is wrong with the path, or who is there */
  async connect(path: string, abandoned: Abandonment): Promise<void> {
    const { libc } = this.#owner;
    const socket = connectToUnix(libc, path);
    const memory = await firstMessage(libc, socket, abandoned);
    const mapping = isShared(libc, memory) ? Mapping.open(libc, memory, SHARED_BYTES) : undefined;
    if (memory >= 0) libc.close(memory);
    if (mapping !== undefined) {
      this.#plugIn(socket, mapping);
      return;
    }
    libc.close(socket);
    throw new Error('who listens there is no other end of a shm link, or has one already');
  }

  #accept(socket: number): void {
    const { libc, counters } = this.#owner;
    // A cable has two ends.
    const mapping = this.#connection === undefined ? this.#share(socket) : undefined;
    if (mapping !== undefined) {
      this.#plugIn(socket, mapping);
      return;
    }
    counters.refused++;
    libc.close(socket);
  }

  /** Memory that the other side has as well from now on. */
  #share(socket: number): Mapping | undefined {
    const { libc } = this.#owner;
    const memory = createSealed(libc, 'rocev2-shm', SHARED_BYTES);
    if (memory < 0) return undefined;
    const mapping = Mapping.open(libc, memory, SHARED_BYTES);
    const handedOver = mapping !== undefined && sendWithDescriptor(libc, socket, HELLO, memory);
    libc.close(memory);
    if (handedOver) return mapping;
    mapping?.close();
    return undefined;
  }

  #plugIn(socket: number, mapping: Mapping): void {
    const { libc, events, counters, mtu, connects } = this.#owner;
    const parts = { libc, socket, mapping, listens: !connects, mtu };
    this.#connection = new ShmConnection(parts, counters, {
      receive: (batch) => events.receive(batch),
      writable: () => events.writable(),
      ended: (end, error) => this.#unplug(end, error),
    });
    if (this.#polled) this.#connection.poller.begin();
  }

  #unplug(end: ConnectionEnd, error: RoceError): void {
    this.#connection = undefined;
    // A peer that wrote nonsense once will do so again.
    if (this.#owner.connects || end === 'nonsense') this.#owner.events.ended(error);
    else this.#owner.events.writable();
  }
}

/** The descriptor that the listening side hands over; -1 when it sends anything else or turns us away. */
function firstMessage(libc: Libc, socket: number, abandoned: Abandonment): Promise<number> {
  return new Promise((resolve) => {
    const end = (descriptor: number): void => {
      watch.stop();
      resolve(descriptor);
    };
    const watch = new DescriptorWatch(libc, socket, () => {
      const bytes = new Uint8Array(HELLO.length);
      const came = receiveWithDescriptor(libc, socket, bytes);
      if (came === undefined) return;
      const isHello = came.count === HELLO.length && bytes.every((byte, i) => byte === HELLO[i]);
      if (!isHello && came.descriptor >= 0) libc.close(came.descriptor);
      end(isHello ? came.descriptor : -1);
    });
    abandoned.addEventListener('abort', () => end(-1));
  });
}

function isShared(libc: Libc, memory: number): boolean {
  return memory >= 0 && isSealed(libc, memory, SHARED_BYTES);
}

/** A path MTU of 4096. */
const DEFAULT_MTU = 4200;
/** With its version: a layout that changes gets another. */
const HELLO = new TextEncoder().encode('rocev2-shm 1\n');
