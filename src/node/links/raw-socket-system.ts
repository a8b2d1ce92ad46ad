/**
 * The package raw-socket and its sockets: loading it, opening a socket on an interface, holding it, and what its errors
 * mean. Owns the set of live sockets. An unreferenced one stops receiving at the next garbage collection
 * (ref:platform#2). The package is not context aware and puts every socket into the event loop of the main thread: seen
 * to load in a worker thread without complaint when it is the first to do so, and to call back on the wrong thread
 * then. So workers are refused before loading.
 */
import { isMainThread } from 'node:worker_threads';
import { RoceError } from '../../../packets/errors.ts';
import { NET_RAW_REMEDY } from './native-package.ts';
import type { RawSocket, RawSocketModule } from './raw-socket-module.ts';

/** Every socket that is not closed. */
const live = new Set<RawSocket>();

/** @throws RoceError ERR_ROCE_LINK_UNAVAILABLE naming what to install, or where to run */
export async function loadRawSocket(link: string): Promise<RawSocketModule> {
  if (process.platform !== 'linux') throw unavailable(`${link}: this link needs Linux`);
  if (!isMainThread)
    throw unavailable(`${link}: the package raw-socket works in the main thread only, and this is a worker thread`);
  try {
    const loaded: { readonly default: RawSocketModule } = await import('raw-socket');
    return loaded.default;
  } catch (cause) {
    const reason = textOf(cause).split('\n')[0] ?? '';
    throw unavailable(`${link}: the package raw-socket cannot be loaded; ${RAW_SOCKET_REMEDY} (${reason})`, cause);
  }
}

export interface RawSocketOptions {
  /** As in the IP header; IPPROTO_RAW sends what it is given, header included, and receives nothing. */
  readonly protocol: number;
  readonly version: 4 | 6;
  readonly device: string;
}

/** A socket that is bound to `device` and held until `closeRaw`. @throws RoceError ERR_ROCE_LINK_UNAVAILABLE */
export function openRaw(raw: RawSocketModule, link: string, options: RawSocketOptions): RawSocket {
  const { IPv4, IPv6 } = raw.AddressFamily;
  const addressFamily = options.version === 4 ? IPv4 : IPv6;
  let socket: RawSocket | undefined;
  try {
    // The package's own receive buffer, which is never used.
    socket = raw.createSocket({ protocol: options.protocol, addressFamily, bufferSize: 1 });
    const name = Buffer.from(`${options.device}\0`);
    socket.setOption(SOL_SOCKET, SO_BINDTODEVICE, name, name.length);
  } catch (cause) {
    socket?.close();
    const reason = textOf(cause);
    const remedy = reason === EPERM_TEXT ? `; it needs the privilege CAP_NET_RAW: ${NET_RAW_REMEDY}` : '';
    throw unavailable(`${link}: ${reason}${remedy}`, cause);
  }
  live.add(socket);
  return socket;
}

/**
 * May be called once; afterwards no call may be made on the socket: the package would open a new one, bound to nothing.
 */
export function closeRaw(socket: RawSocket): void {
  if (live.delete(socket)) socket.close();
}

/** Room for bursts, beyond net.core.rmem_max where this process may. */
export function enlargeReceiveBuffer(socket: RawSocket, bytes: number): void {
  try {
    socket.setOption(SOL_SOCKET, SO_RCVBUFFORCE, bytes);
  } catch {
    // Without CAP_NET_ADMIN the kernel gives what its limit allows.
    socket.setOption(SOL_SOCKET, SO_RCVBUF, bytes);
  }
}

/**
 * Whether the interface is still there. A socket keeps the number of its interface, which names nothing when it has
 * been removed.
 */
export function interfaceIsThere(socket: RawSocket): boolean {
  try {
    socket.getOption(SOL_SOCKET, SO_BINDTODEVICE, deviceName, deviceName.length);
    return true;
  } catch {
    return false;
  }
}

/** SK_MEMINFO_RMEM_ALLOC and SK_MEMINFO_DROPS of linux/sock_diag.h. */
export class SocketMemory {
  readonly #socket: RawSocket;
  readonly #words = Buffer.alloc(4 * MEMINFO_WORDS);

  constructor(socket: RawSocket) {
    this.#socket = socket;
  }

  /** Whether packets wait; avoids the exception that a read from an empty socket throws. */
  get waiting(): boolean {
    this.#socket.getOption(SOL_SOCKET, SO_MEMINFO, this.#words, this.#words.length);
    return this.#words.readUInt32LE(0) > 0;
  }

  /** Packets that the kernel dropped because the receive buffer was full. */
  get drops(): number {
    this.#socket.getOption(SOL_SOCKET, SO_MEMINFO, this.#words, this.#words.length);
    return this.#words.readUInt32LE(4 * MEMINFO_DROPS);
  }
}

export function textOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

export function unavailable(message: string, cause?: unknown): RoceError {
  return new RoceError('ERR_ROCE_LINK_UNAVAILABLE', message, { cause });
}

export const RAW_SOCKET_REMEDY = 'npm install raw-socket, which needs a C++ compiler, make and Python';

export const IPPROTO_UDP = 17;
export const IPPROTO_RAW = 255;

/** The text of strerror(3), which is all that the package gives of an error. */
export const EPERM_TEXT = 'Operation not permitted';
export const EAGAIN_TEXT = 'Resource temporarily unavailable';
export const ENOBUFS_TEXT = 'No buffer space available';
export const EMSGSIZE_TEXT = 'Message too long';

const SOL_SOCKET = 1;
const SO_RCVBUF = 8;
const SO_BINDTODEVICE = 25;
const SO_RCVBUFFORCE = 33;
const SO_MEMINFO = 55;
const MEMINFO_WORDS = 9;
const MEMINFO_DROPS = 8;

/** IFNAMSIZ. */
const deviceName = Buffer.alloc(16);
