/**
 * A Unix socket at which processes of this user arrive: clients of verbs, the other end of a wire in shared memory.
 * Owns its name in the file system and learns from the kernel which process is at the other end of each connection,
 * which no client can choose.
 *
 * A name that a killed server has left is taken over. So that two servers cannot both do that, each first takes a name
 * in the abstract namespace, which is free again when its process ends, however it ends.
 */
import { createHash } from 'node:crypto';
import { chmodSync, lstatSync, unlinkSync } from 'node:fs';
import { resolve } from 'node:path';
import { RoceError } from '../../../packets/errors.ts';
import {
  AF_UNIX,
  EADDRINUSE,
  ECONNREFUSED,
  type Libc,
  O_CLOEXEC,
  O_NONBLOCK,
  SO_PEERCRED,
  SOCK_STREAM,
  SOL_SOCKET,
  systemError,
} from './libc.ts';
import { DescriptorWatch } from './poller.ts';

/** Takes a connection over: its descriptor, and the process at its other end. */
export type Arrived = (fd: number, pid: number) => void;
/** Learns of a connection that is not taken, and why, in a sentence. */
export type Refused = (sentence: string) => void;

export class Listener {
  readonly #libc: Libc;
  readonly #path: string;
  readonly #lock: number;
  readonly #fd: number;
  readonly #watch: DescriptorWatch;
  readonly #credentials = new Uint32Array(3);
  readonly #size = new Uint32Array(1);
  readonly #arrived: Arrived;
  readonly #refused: Refused;

  private constructor(libc: Libc, path: string, held: Held, arrived: Arrived, refused: Refused) {
    const { lock, fd } = held;
    this.#libc = libc;
    this.#path = path;
    this.#lock = lock;
    this.#fd = fd;
    this.#arrived = arrived;
    this.#refused = refused;
    this.#watch = new DescriptorWatch(libc, fd, () => this.#accept());
  }

  /**
   * Listens at `path`, for processes of this user.
   * @throws RoceError ERR_ROCE_ADDRESS for a name that is in use or cannot be used
   */
  static open(libc: Libc, path: string, arrived: Arrived, refused: Refused): Listener {
    const absolute = resolve(path);
    const owned = `${process.getuid?.() ?? 0}:${absolute}`;
    const lock = bindTo(libc, `\0rocev2:${createHash('sha256').update(owned).digest('hex')}`, path);
    try {
      removeAbandoned(libc, absolute, path);
      const fd = bindTo(libc, absolute, path);
      chmodSync(absolute, 0o600);
      if (libc.listen(fd, BACKLOG) === 0) return new Listener(libc, absolute, { lock, fd }, arrived, refused);
      const error = systemError('ERR_ROCE_ADDRESS', libc.errno(), path);
      libc.close(fd);
      throw error;
    } catch (error) {
      libc.close(lock);
      throw error;
    }
  }

  /** Once only. */
  close(): void {
    this.#watch.stop();
    this.#libc.close(this.#fd);
    try {
      unlinkSync(this.#path);
    } catch {
      // Somebody else has removed it.
    }
    this.#libc.close(this.#lock);
  }

  #accept(): void {
    const libc = this.#libc;
    const fd = libc.accept4(this.#fd, null, null, O_NONBLOCK | O_CLOEXEC);
    if (fd < 0) return;
    this.#size[0] = this.#credentials.byteLength;
    const known = libc.getsockopt(fd, SOL_SOCKET, SO_PEERCRED, bytesOf(this.#credentials), bytesOf(this.#size)) === 0;
    const [pid = 0, uid] = this.#credentials;
    const own = process.getuid?.();
    const isOurs = uid === own || uid === 0 || own === 0;
    if (known && pid > 0 && isOurs) {
      this.#arrived(fd, pid);
      return;
    }
    libc.close(fd);
    // Of a process in a container whose processes cannot be named here the number is 0.
    if (pid === 0) this.#refused('a program came from outside of this container: the server has to run there as well');
    else this.#refused(`process ${pid} is of uid ${uid}: programs of uid ${own} are served, and those of root`);
  }
}

/** Descriptors of a listener. */
interface Held {
  readonly lock: number;
  readonly fd: number;
}

/** Removes a socket at which nobody listens. Nothing else is ever removed. */
function removeAbandoned(libc: Libc, absolute: string, path: string): void {
  const found = lstatSync(absolute, { throwIfNoEntry: false });
  if (found === undefined) return;
  if (!found.isSocket()) throw new RoceError('ERR_ROCE_ADDRESS', `${path} is there already, and no socket`);
  const fd = libc.socket(AF_UNIX, SOCK_STREAM | O_NONBLOCK | O_CLOEXEC, 0);
  const address = addressFor(absolute, path);
  const refused = fd >= 0 && libc.connect(fd, address, address.length) < 0 && libc.errno() === ECONNREFUSED;
  libc.close(fd);
  if (!refused) throw new RoceError('ERR_ROCE_ADDRESS', `${path} is in use by another program`);
  unlinkSync(absolute);
}

/**
 * A connection to who listens at `path`; the connection may still wait to be accepted.
 * @throws RoceError ERR_ROCE_ADDRESS when nobody listens there, or not for this user
 */
export function connectToUnix(libc: Libc, path: string): number {
  const address = addressFor(resolve(path), path);
  const fd = libc.socket(AF_UNIX, SOCK_STREAM | O_NONBLOCK | O_CLOEXEC, 0);
  if (fd >= 0 && libc.connect(fd, address, address.length) === 0) return fd;
  const errno = libc.errno();
  if (fd >= 0) libc.close(fd);
  throw systemError('ERR_ROCE_ADDRESS', errno, path);
}

/** A socket with that name, which `path` is said to be in errors. */
function bindTo(libc: Libc, name: string, path: string): number {
  const address = addressFor(name, path);
  const fd = libc.socket(AF_UNIX, SOCK_STREAM | O_NONBLOCK | O_CLOEXEC, 0);
  if (fd >= 0 && libc.bind(fd, address, address.length) === 0) return fd;
  const errno = libc.errno();
  if (fd >= 0) libc.close(fd);
  if (errno === EADDRINUSE) throw new RoceError('ERR_ROCE_ADDRESS', `${path} is in use by another server`);
  throw systemError('ERR_ROCE_ADDRESS', errno, path);
}

function addressFor(name: string, path: string): Uint8Array {
  const bytes = new TextEncoder().encode(name);
  if (bytes.length > MAX_NAME_BYTES)
    throw new RoceError('ERR_ROCE_ADDRESS', `${path} is longer than the ${MAX_NAME_BYTES} bytes of a socket's name`);
  const address = new Uint8Array(FAMILY_BYTES + bytes.length);
  address[0] = AF_UNIX;
  address.set(bytes, FAMILY_BYTES);
  return address;
}

function bytesOf({ buffer }: Uint32Array<ArrayBuffer>): Uint8Array {
  return new Uint8Array(buffer);
}

const BACKLOG = 128;
const FAMILY_BYTES = 2;
const MAX_NAME_BYTES = 107;
