/**
 * TCP connections as applications see them: promises to read, to write and to close, and a listener to wait at.
 *
 * Owns the pending promises. Never touches a segment: `TcpStack` drives the connections and calls `settle`.
 */
import type { IpAddress } from '../../../../packets/address.ts';
import { RoceError } from '../../../../packets/errors.ts';
import { AsyncQueue } from '../../../ground/async-queue.ts';
import type { TcpConnection } from './connection.ts';

/** A stream of bytes in both directions. */
export interface TcpSocket {
  /** Address of our end. */
  readonly localAddress: IpAddress;
  /** Port of our end, 1 to 65,535. */
  readonly localPort: number;
  /** Address of the peer. */
  readonly remoteAddress: IpAddress;
  /** Port of the peer, 1 to 65,535. */
  readonly remotePort: number;
  /**
   * The next `length` bytes, 0 to 65,535, exactly, waited for; one read at a time. Rejects with ERR_ROCE_CLOSED when
   * the peer ends or resets the stream before, ERR_ROCE_TIMEOUT when it stopped answering, ERR_ROCE_STATE while another
   * read waits or after `close`.
   */
  read(length: number): Promise<Uint8Array>;
  /** Sends bytes, which are copied; resolves when there is room for more. Rejects as `read` does. */
  write(bytes: Uint8Array): Promise<void>;
  /**
   * Sends what is written and the end of the stream; resolves when all of it is acknowledged, or when the connection
   * has ended.
   */
  close(): Promise<void>;
  /** Ends the connection at once (RST). */
  abort(): void;
}

/** Waits for connections on a port: `for await (const socket of listener)`. */
export interface TcpListener extends AsyncIterable<TcpSocket> {
  /** Where it listens, 1 to 65,535. */
  readonly port: number;
  /** The next connection whose handshake is done; `done` once the listener is closed. Never rejects. */
  next(): Promise<IteratorResult<TcpSocket>>;
  /** Takes no more connections; those not taken yet are reset. */
  close(): void;
}

/** Both ends of a connection. */
export interface TcpEnds {
  readonly localAddress: IpAddress;
  readonly localPort: number;
  readonly remoteAddress: IpAddress;
  readonly remotePort: number;
}

interface Waiter<T> {
  readonly resolve: (value: T) => void;
  readonly reject: (error: RoceError) => void;
}

export class StackSocket implements TcpSocket {
  readonly localAddress: IpAddress;
  readonly localPort: number;
  readonly remoteAddress: IpAddress;
  readonly remotePort: number;
  readonly connection: TcpConnection;
  /** The listener that waits for the handshake of a passive open. */
  listener: StackListener | undefined;
  /** The connection may have something to send. */
  readonly #touched: (socket: StackSocket) => void;
  #reading: (Waiter<Uint8Array> & { readonly length: number }) | undefined;
  #writing: Waiter<void>[] = [];
  #closing: (() => void)[] = [];
  #connecting: Waiter<TcpSocket> | undefined;
  #closed = false;

  constructor(ends: TcpEnds, connection: TcpConnection, touched: (socket: StackSocket) => void) {
    this.localAddress = ends.localAddress;
    this.localPort = ends.localPort;
    this.remoteAddress = ends.remoteAddress;
    this.remotePort = ends.remotePort;
    this.connection = connection;
    this.#touched = touched;
  }

  /** Resolves when the handshake is done. */
  untilConnected(): Promise<TcpSocket> {
    return new Promise((resolve, reject) => {
      this.#connecting = { resolve, reject };
    });
  }

  read(length: number): Promise<Uint8Array> {
    if (this.#closed) return Promise.reject(new RoceError('ERR_ROCE_STATE', 'the socket is closed'));
    if (this.#reading !== undefined) return Promise.reject(new RoceError('ERR_ROCE_STATE', 'another read waits'));
    if (!(length >= 0 && length <= MAX_READ_BYTES)) {
      return Promise.reject(new RoceError('ERR_ROCE_ARGUMENT', `a read takes up to ${MAX_READ_BYTES} bytes`));
    }
    return new Promise((resolve, reject) => {
      this.#reading = { length, resolve, reject };
      this.settle();
    });
  }

  write(bytes: Uint8Array): Promise<void> {
    if (this.#closed) return Promise.reject(new RoceError('ERR_ROCE_STATE', 'the socket is closed'));
    if (this.connection.end !== undefined) return Promise.reject(this.#endError());
    this.connection.write(bytes);
    this.#touched(this);
    return new Promise((resolve, reject) => {
      this.#writing.push({ resolve, reject });
      this.settle();
    });
  }

  close(): Promise<void> {
    if (!this.#closed) {
      this.#closed = true;
      this.connection.finish();
      this.#reading?.reject(new RoceError('ERR_ROCE_CLOSED', 'the socket was closed'));
      this.#reading = undefined;
      this.#touched(this);
    }
    return new Promise((resolve) => {
      this.#closing.push(resolve);
      this.settle();
    });
  }

  abort(): void {
    this.connection.abort();
    this.#touched(this);
    this.settle();
  }

  /** Settles the pending promises. */
  settle(): void {
    const { connection } = this;
    const over = connection.end !== undefined;
    if (connection.connected && !over) this.#settleConnected();
    this.#settleRead(over);
    if (over) {
      this.#connecting?.reject(this.#endError());
      this.#connecting = undefined;
      this.listener?.forget(this);
    }
    if (over || connection.unacknowledged <= MAX_UNACKNOWLEDGED_BYTES) {
      for (const { resolve, reject } of this.#writing.splice(0)) {
        if (over && connection.end !== 'finished') reject(this.#endError());
        else resolve();
      }
    }
    if (over || connection.finAcked) for (const resolve of this.#closing.splice(0)) resolve();
  }

  #settleConnected(): void {
    this.#connecting?.resolve(this);
    this.#connecting = undefined;
    const { listener } = this;
    this.listener = undefined;
    listener?.push(this);
  }

  #settleRead(over: boolean): void {
    const reading = this.#reading;
    if (reading === undefined) return;
    const { connection } = this;
    if (reading.length <= connection.readable) {
      this.#reading = undefined;
      reading.resolve(connection.read(reading.length));
      this.#touched(this);
    } else if (over || connection.finReceived) {
      this.#reading = undefined;
      reading.reject(this.#endError());
    }
  }

  #endError(): RoceError {
    const peer = `${this.remoteAddress} port ${this.remotePort}`;
    const { end } = this.connection;
    if (end === 'timeout') return new RoceError('ERR_ROCE_TIMEOUT', `${peer} does not answer`);
    if (end === 'refused') return new RoceError('ERR_ROCE_REJECTED', `${peer} refuses the connection`);
    if (end === 'reset') return new RoceError('ERR_ROCE_CLOSED', `${peer} has reset the connection`);
    if (end === 'aborted') return new RoceError('ERR_ROCE_CLOSED', 'the connection was given up');
    return new RoceError('ERR_ROCE_CLOSED', `${peer} has closed the connection`);
  }
}

export class StackListener implements TcpListener {
  readonly port: number;
  /** Only connections to this address; absent: to any of ours. */
  readonly address: IpAddress | undefined;
  readonly #ready = new AsyncQueue<TcpSocket>();
  readonly #waiting = new Set<StackSocket>();
  readonly #backlog: number;
  readonly #closed: (listener: StackListener) => void;
  /** Connections not taken yet. */
  #unclaimed: StackSocket[] = [];
  #open = true;

  constructor(port: number, address: IpAddress | undefined, backlog: number, closed: (l: StackListener) => void) {
    this.port = port;
    this.address = address;
    this.#backlog = backlog;
    this.#closed = closed;
  }

  /** Whether as many connections wait to be taken as the backlog allows. */
  get full(): boolean {
    return this.#unclaimed.length >= this.#backlog;
  }

  /** Handshakes under way. */
  get halfOpen(): number {
    return this.#waiting.size;
  }

  /** A handshake has begun. */
  begin(socket: StackSocket): void {
    this.#waiting.add(socket);
    socket.listener = this;
  }

  /** The handshake is done. */
  push(socket: StackSocket): void {
    this.#waiting.delete(socket);
    this.#unclaimed.push(socket);
    this.#ready.push(socket);
  }

  /** The handshake failed. */
  forget(socket: StackSocket): void {
    this.#waiting.delete(socket);
  }

  async next(): Promise<IteratorResult<TcpSocket>> {
    const result = await this.#ready.next();
    if (result.done !== true) this.#unclaimed = this.#unclaimed.filter((socket) => socket !== result.value);
    return result;
  }

  close(): void {
    if (!this.#open) return;
    this.#open = false;
    this.#ready.close();
    this.#closed(this);
    for (const socket of [...this.#waiting, ...this.#unclaimed]) socket.abort();
  }

  [Symbol.asyncIterator](): AsyncIterator<TcpSocket> {
    return { next: () => this.next() };
  }
}

const MAX_READ_BYTES = 0xff_ff;
/** With more than this, `write` waits. */
const MAX_UNACKNOWLEDGED_BYTES = 64 * 1024;
