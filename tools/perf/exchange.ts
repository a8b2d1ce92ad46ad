/**
 * The exchange beside the queue pairs: the client sends a message, the server answers with as many bytes, again and
 * again.
 *
 * Owns which side sends first and how its two transports (TCP, or a queue pair of the connection manager:
 * cm-exchange.ts) carry a message. Does not interpret the messages: introductions.ts does.
 */

import type { RdmaTcp, TcpSocket } from 'rocev2/host';
import { type IpAddress, RoceError } from 'rocev2/packets';
import { type PerfDest, readDestText, writeDestText } from './dest.ts';

export interface Exchange {
  /** Our address in this exchange. */
  readonly localAddress: IpAddress;
  /** Sends ours and resolves with theirs, which is as long. Rejects with ERR_ROCE_CLOSED when the peer has gone. */
  swap(ours: Uint8Array): Promise<Uint8Array>;
  /** The same for a queue pair's numbers. */
  swapDest(ours: PerfDest): Promise<PerfDest>;
  /** Ends in good order; resolves when the peer has received everything. */
  end(): Promise<void>;
  /** Ends at once. */
  abort(): void;
}

/** Which end of the exchange we are. */
export type PerfRole = 'server' | 'client';

export class TcpExchange implements Exchange {
  readonly localAddress: IpAddress;
  readonly #socket: TcpSocket;
  readonly #role: PerfRole;

  constructor(socket: TcpSocket, role: PerfRole) {
    this.localAddress = socket.localAddress;
    this.#socket = socket;
    this.#role = role;
  }

  /** Waits for one client. */
  static async accept(tcp: RdmaTcp, port: number, signal: AbortSignal): Promise<TcpExchange> {
    const listener = tcp.listen(port);
    const stop = (): void => listener.close();
    signal.addEventListener('abort', stop);
    try {
      const { value, done } = await listener.next();
      if (done === true) throw new RoceError('ERR_ROCE_CLOSED', 'no peer connected before the end');
      return new TcpExchange(value, 'server');
    } finally {
      signal.removeEventListener('abort', stop);
      listener.close();
    }
  }

  static async connect(tcp: RdmaTcp, server: IpAddress, port: number): Promise<TcpExchange> {
    return new TcpExchange(await tcp.connect(server, port), 'client');
  }

  async swap(ours: Uint8Array): Promise<Uint8Array> {
    if (this.#role === 'client') {
      await this.#socket.write(ours);
      return this.#socket.read(ours.length);
    }
    const theirs = await this.#socket.read(ours.length);
    await this.#socket.write(ours);
    return theirs;
  }

  async swapDest(ours: PerfDest): Promise<PerfDest> {
    return { ...readDestText(await this.swap(writeDestText(ours))), gidIndex: ours.gidIndex };
  }

  /** "done" is the last message of perftest; its sender does not wait for a reply. */
  async end(): Promise<void> {
    await this.#socket.write(DONE).catch(() => undefined);
    await this.#socket.close();
  }

  abort(): void {
    this.#socket.abort();
  }
}

const DONE = new TextEncoder().encode('done\0');
