/**
 * A bare TCP stream of Node between two processes. goodput: writes of 64 KiB, counted where they arrive; roundTrip: 64
 * bytes and their echo, without Nagle's delay. Each measurement has a connection of its own, whose first byte says what
 * it is for.
 */
import { connect, createServer, type Server, type Socket } from 'node:net';
import {
  type Amount,
  type BenchPeer,
  type Figures,
  type MeasuredTask,
  type PeerCounters,
  SMALL_BYTES,
  type TcpConfig,
} from './protocol.ts';
import { Samples } from './samples.ts';

const Kind = { Stream: 1, Echo: 2 } as const;

const PORT = 7473;
const WRITE_BYTES = 0x1_00_00;

export class TcpPeer implements BenchPeer {
  readonly #config: TcpConfig;
  readonly #server: Server | undefined;

  private constructor(config: TcpConfig, server?: Server) {
    this.#config = config;
    this.#server = server;
  }

  static async open(config: TcpConfig): Promise<TcpPeer> {
    if (config.role === 'client') return new TcpPeer(config);
    const server = createServer({ allowHalfOpen: true, noDelay: true }, serve);
    await new Promise<void>((resolve) => server.listen(PORT, config.address, resolve));
    return new TcpPeer(config, server);
  }

  async connect(): Promise<void> {
    (await this.#dial()).destroy();
  }

  async measure(task: MeasuredTask, amount: Amount): Promise<Figures> {
    if (task === 'goodput') return stream(await this.#dial(), amount);
    if (task === 'roundTrip') return roundTrip(await this.#dial(), amount);
    throw new Error(`a TCP stream has no ${task}`);
  }

  soak(): Promise<void> {
    throw new Error('a TCP stream is not soaked');
  }

  counters(): PeerCounters {
    return {};
  }

  async close(): Promise<void> {
    const server = this.#server;
    if (server !== undefined) await new Promise<void>((resolve) => server.close(() => resolve()));
  }

  #dial(): Promise<Socket> {
    const { peer, address } = this.#config;
    const socket = connect({ host: peer, port: PORT, localAddress: address, noDelay: true });
    return new Promise((resolve, reject) => {
      socket.once('error', reject);
      socket.once('connect', () => resolve(socket));
    });
  }
}

/** Counts or echoes; at the end of a stream it says how many bytes there were, and in how many milliseconds. */
function serve(socket: Socket): void {
  let kind = 0;
  let count = 0;
  let first = 0;
  let last = 0;
  socket.on('error', () => socket.destroy());
  socket.on('data', (chunk) => {
    if (kind === 0) kind = chunk[0] ?? 0;
    if (kind === Kind.Echo) {
      socket.write(chunk);
      return;
    }
    last = performance.now();
    // What came with the first chunk came before anything was measured.
    if (first === 0) first = last;
    else count += chunk.length;
  });
  socket.on('end', () => socket.end(kind === Kind.Stream ? JSON.stringify([count, last - first]) : ''));
}

async function stream(socket: Socket, { seconds, least }: Amount): Promise<Figures> {
  const data = new Uint8Array(WRITE_BYTES).fill(Kind.Stream);
  const until = performance.now() + seconds * 1000;
  const report = new Promise<string>((resolve, reject) => {
    let text = '';
    socket.on('data', (chunk) => {
      text += chunk.toString();
    });
    socket.once('end', () => resolve(text));
    socket.once('error', reject);
  });
  for (let written = 0; written < least || performance.now() < until; written++) {
    if (!socket.write(data)) await new Promise<void>((resolve) => socket.once('drain', resolve));
  }
  socket.end();
  const [count = 0, elapsedMs = 0] = JSON.parse(await report) as number[];
  return { goodput: (count * 1000) / elapsedMs };
}

function roundTrip(socket: Socket, { seconds, least }: Amount): Promise<Figures> {
  const data = new Uint8Array(SMALL_BYTES).fill(Kind.Echo);
  const samples = new Samples();
  const until = performance.now() + seconds * 1000;
  return new Promise((resolve, reject) => {
    let began = performance.now();
    let missing = SMALL_BYTES;
    socket.once('error', reject);
    socket.on('data', (chunk) => {
      missing -= chunk.length;
      if (missing > 0) return;
      const now = performance.now();
      samples.add(now - began);
      if (samples.count >= least && now >= until) {
        socket.destroy();
        resolve(samples.figures());
        return;
      }
      missing = SMALL_BYTES;
      began = performance.now();
      socket.write(data);
    });
    socket.write(data);
  });
}
