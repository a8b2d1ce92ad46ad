/**
 * TCP for the tools whose stock counterparts meet over it before their queue pairs speak: the device's own on Ethernet
 * links, where the host is ours, and the kernel's on links that share the kernel's addresses.
 */
import { createConnection, createServer, type Server, type Socket } from 'node:net';
import { Device, type RdmaDevice } from 'rocev2';
import type { RdmaTcp, TcpListener, TcpListenOptions, TcpSocket } from 'rocev2/host';
import { type IpAddress, Medium, RoceError } from 'rocev2/packets';
import { kernelAddress } from './kernel-address.ts';

/**
 * The TCP that uses the addresses of `device`.
 * Throws ERR_ROCE_STATE for a device in a worker on an Ethernet link: its TCP is in the other thread.
 */
export function tcpOf(device: RdmaDevice): RdmaTcp {
  if (device.medium === Medium.Ip) return kernelTcp;
  const tcp = device instanceof Device ? device.tcp : undefined;
  if (tcp === undefined)
    throw new RoceError('ERR_ROCE_STATE', 'meeting over TCP needs the stack in this thread: leave out --worker');
  return tcp;
}

/** The kernel's TCP; `listen` fails by what its listener says. */
export const kernelTcp: RdmaTcp = {
  listen: (port, options = {}) => new KernelListener(port, options),
  connect: (address, port, source) =>
    new Promise((resolve, reject) => {
      const from = source === undefined ? {} : { localAddress: String(source) };
      const socket = createConnection({ host: String(address), port, noDelay: true, ...from });
      const fail = (error: Error): void => reject(roceErrorOf(error, `${address} port ${port}`));
      socket.once('error', fail);
      socket.once('connect', () => {
        socket.off('error', fail);
        resolve(new KernelSocket(socket));
      });
    }),
};

interface Waiter<T> {
  readonly resolve: (value: T) => void;
  readonly reject: (error: RoceError) => void;
}

class KernelListener implements TcpListener {
  readonly port: number;
  readonly #server: Server;
  readonly #backlog: number;
  readonly #ready: KernelSocket[] = [];
  readonly #waiting: Waiter<IteratorResult<TcpSocket>>[] = [];
  #end: RoceError | 'closed' | undefined;

  constructor(port: number, { address, backlog = DEFAULT_BACKLOG }: TcpListenOptions) {
    this.port = port;
    this.#backlog = backlog;
    this.#server = createServer({ noDelay: true }, (socket) => this.#take(new KernelSocket(socket)));
    this.#server.on('error', (error) => this.#finish(roceErrorOf(error, `TCP port ${port}`)));
    const where = address === undefined ? {} : { host: String(address) };
    this.#server.listen({ port, ...where, backlog });
  }

  next(): Promise<IteratorResult<TcpSocket>> {
    const value = this.#ready.shift();
    if (value !== undefined) return Promise.resolve({ done: false, value });
    if (this.#end === 'closed') return Promise.resolve({ done: true, value: undefined });
    if (this.#end !== undefined) return Promise.reject(this.#end);
    return new Promise((resolve, reject) => this.#waiting.push({ resolve, reject }));
  }

  close(): void {
    this.#server.close();
    for (const socket of this.#ready.splice(0)) socket.abort();
    this.#finish('closed');
  }

  [Symbol.asyncIterator](): AsyncIterator<TcpSocket> {
    return { next: () => this.next() };
  }

  #take(socket: KernelSocket): void {
    const waiter = this.#waiting.shift();
    if (waiter !== undefined) waiter.resolve({ done: false, value: socket });
    else if (this.#ready.length < this.#backlog) this.#ready.push(socket);
    else socket.abort();
  }

  #finish(end: RoceError | 'closed'): void {
    this.#end ??= end;
    for (const { resolve, reject } of this.#waiting.splice(0)) {
      if (end === 'closed') resolve({ done: true, value: undefined });
      else reject(end);
    }
  }
}

class KernelSocket implements TcpSocket {
  readonly localAddress: IpAddress;
  readonly localPort: number;
  readonly remoteAddress: IpAddress;
  readonly remotePort: number;
  readonly #socket: Socket;
  #reading: (Waiter<Uint8Array> & { readonly length: number }) | undefined;
  #error: RoceError | undefined;

  constructor(socket: Socket) {
    this.#socket = socket;
    this.localAddress = kernelAddress(socket.localAddress ?? '::');
    this.localPort = socket.localPort ?? 0;
    this.remoteAddress = kernelAddress(socket.remoteAddress ?? '::');
    this.remotePort = socket.remotePort ?? 0;
    const peer = `${this.remoteAddress} port ${this.remotePort}`;
    socket.on('readable', () => this.#settle());
    socket.on('error', (error) => this.#fail(roceErrorOf(error, peer)));
    const ended = new RoceError('ERR_ROCE_CLOSED', `${peer} has closed the connection`);
    socket.on('end', () => this.#fail(ended));
    socket.on('close', () => this.#fail(ended));
  }

  read(length: number): Promise<Uint8Array> {
    if (this.#reading !== undefined) return Promise.reject(new RoceError('ERR_ROCE_STATE', 'another read waits'));
    return new Promise((resolve, reject) => {
      this.#reading = { length, resolve, reject };
      this.#settle();
    });
  }

  write(bytes: Uint8Array): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#socket.write(bytes, (error) => {
        if (error === null || error === undefined) resolve();
        else reject(this.#error ?? roceErrorOf(error, String(this.remoteAddress)));
      });
    });
  }

  close(): Promise<void> {
    if (this.#socket.closed) return Promise.resolve();
    return new Promise((resolve) => {
      this.#socket.once('close', () => resolve());
      // What still comes is of no use; and unless it is read, the end does not come either.
      this.#socket.end(() => this.#socket.destroy());
    });
  }

  abort(): void {
    this.#socket.resetAndDestroy();
  }

  #settle(): void {
    const reading = this.#reading;
    if (reading === undefined) return;
    const bytes = reading.length === 0 ? new Uint8Array(0) : (this.#socket.read(reading.length) as Uint8Array | null);
    // After the end of the stream the rest comes, however short.
    if (bytes !== null && bytes.length === reading.length) {
      this.#reading = undefined;
      reading.resolve(bytes);
    } else if (this.#error !== undefined || bytes !== null) {
      this.#reading = undefined;
      reading.reject(
        this.#error ?? new RoceError('ERR_ROCE_CLOSED', `${this.remoteAddress} has closed the connection`),
      );
    }
  }

  #fail(error: RoceError): void {
    this.#error ??= error;
    this.#settle();
  }
}

function roceErrorOf(error: Error & { readonly code?: string }, who: string): RoceError {
  const options = { cause: error };
  if (error.code === 'ECONNREFUSED')
    return new RoceError('ERR_ROCE_REJECTED', `${who} refuses the connection`, options);
  if (error.code === 'EADDRINUSE') return new RoceError('ERR_ROCE_IN_USE', `the address is in use: ${who}`, options);
  if (error.code === 'ETIMEDOUT') return new RoceError('ERR_ROCE_TIMEOUT', `${who} does not answer`, options);
  if (error.code === 'ECONNRESET' || error.code === 'EPIPE')
    return new RoceError('ERR_ROCE_CLOSED', `${who} has reset the connection`, options);
  return new RoceError('ERR_ROCE_ADDRESS', `${who}: ${error.message}`, options);
}

/** As that of the stack of ours (src/device/host/tcp). */
const DEFAULT_BACKLOG = 16;
