/**
 * udpong of rdmacm-utils over datagram rsockets: the client sends, the server counts or echoes; then the client prints
 * how long it took and how many arrived. Facts from rdma:librdmacm/examples/udpong.c. The stock tool does not start on
 * rdma_rxe (`rconnect: No such file or directory`), so this one was tested against itself only.
 */

import type { RdmaDevice } from 'rocev2';
import type { IpAddress } from 'rocev2/packets';
import { RDatagramSocket, type UdpPort } from 'rocev2/rsockets';
import type { ToolOutput } from '../output.ts';
import { columns, countFor, countText, figures, sizeText, timeCells } from './report.ts';
import { CONTROL_BYTES, MAX_PONG_BYTES, PongOp, readPong, writePong } from './udpong-protocol.ts';

export interface UdpongOptions {
  /** The server's address; absent: be the server. */
  readonly server: IpAddress | undefined;
  readonly port: number;
  /** One test of our own choice instead of the ladder. */
  readonly custom: PongTest | undefined;
  /** Ladder: at most so many datagrams a test. */
  readonly limit: number;
}

export interface PongTest {
  readonly name: string;
  /** Bytes of a datagram. */
  readonly size: number;
  readonly count: number;
  /** Whether the server sends each back. */
  readonly echo: boolean;
}

export interface UdpongContext {
  readonly device: RdmaDevice;
  readonly udp: UdpPort;
  readonly output: ToolOutput;
  readonly signal?: AbortSignal;
  /** Microseconds, for the figures; default the process's clock. */
  readonly now?: () => number;
  /** Waits so many milliseconds; default the process's clock. */
  readonly sleep?: (ms: number) => Promise<void>;
}

/**
 * Resolves with the exit code of udpong. Rejects with ERR_ROCE_ARGUMENT for sizes that do not fit a packet,
 * ERR_ROCE_CLOSED.
 */
export async function runUdpong(options: UdpongOptions, context: UdpongContext): Promise<number> {
  const { device, udp, signal } = context;
  const socket = new RDatagramSocket(device, udp, { sendQueue: QUEUE, receiveQueue: QUEUE });
  const stop = (): void => socket.close();
  if (signal?.aborted === true) stop();
  signal?.addEventListener('abort', stop);
  try {
    const { server } = options;
    if (server === undefined) return await serve(socket, context);
    return await new Client(socket, server, options, context).run();
  } finally {
    signal?.removeEventListener('abort', stop);
    socket.close();
  }
}

async function serve(socket: RDatagramSocket, { output, signal }: UdpongContext): Promise<number> {
  /** Messages of each client. */
  const counts = new Float64Array(CLIENTS);
  let nextClient = 0;
  const bytes = new Uint8Array(MAX_PONG_BYTES);
  while (signal?.aborted !== true) {
    const { length, address, port } = await socket.recvFrom(bytes);
    const message = readPong(bytes.subarray(0, length));
    if (message === undefined) continue;
    let { client, data } = message;
    const { op, sequence } = message;
    if (op === PongOp.Login) {
      output.line(`client login from ${address}`);
      client = nextClient;
      nextClient = (nextClient + 1) % CLIENTS;
    }
    if (op === PongOp.Login || op === PongOp.Start) counts[client] = 0;
    else if (op === PongOp.End) data = (counts[client] ?? 0) >>> 0;
    else counts[client] = (counts[client] ?? 0) + 1;
    if (op > PongOp.End || op === PongOp.Data) continue;
    writePong(bytes, { op, client, sequence, data });
    await socket.sendTo(bytes.subarray(0, length), address, port);
  }
  return 0;
}

class Client {
  readonly #socket: RDatagramSocket;
  readonly #server: IpAddress;
  readonly #options: UdpongOptions;
  readonly #output: ToolOutput;
  readonly #now: () => number;
  readonly #sleep: (ms: number) => Promise<void>;
  readonly #bytes = new Uint8Array(MAX_PONG_BYTES);
  readonly #answer = new Uint8Array(MAX_PONG_BYTES);
  #client = 0;
  #sequence = 0;

  constructor(socket: RDatagramSocket, server: IpAddress, options: UdpongOptions, context: UdpongContext) {
    this.#socket = socket;
    this.#server = server;
    this.#options = options;
    this.#output = context.output;
    this.#now = context.now ?? (() => performance.now() * 1000);
    this.#sleep = context.sleep ?? ((ms) => new Promise((resolve) => setTimeout(resolve, ms).unref()));
  }

  async run(): Promise<number> {
    const { custom, limit } = this.#options;
    this.#output.line(UDPONG_HEADING);
    await this.#exchange(PongOp.Login, CONTROL_BYTES, PATIENCE_MS);
    const tests = custom === undefined ? ladder(this.#socket.maxBytes(this.#server.version), limit) : [custom];
    for (const test of tests) await this.#run(test);
    return 0;
  }

  async #run(test: PongTest): Promise<void> {
    await this.#exchange(PongOp.Start, CONTROL_BYTES, PATIENCE_MS);
    const start = this.#now();
    for (let i = 0; i < test.count; i++) {
      if (test.echo) await this.#exchange(PongOp.Echo, test.size, IMPATIENCE_MS);
      else await this.#send(PongOp.Data, test.size);
    }
    const counted = await this.#exchange(PongOp.End, CONTROL_BYTES, IMPATIENCE_MS);
    this.#output.line(udpongRow(test, test.echo ? test.count * 2 : counted, this.#now() - start));
  }

  /** Sends until the answer to this very message has come; resolves with its data. */
  async #exchange(op: PongOp, size: number, patienceMs: number): Promise<number> {
    for (;;) {
      await this.#send(op, size);
      const late = this.#sleep(patienceMs);
      await Promise.race([this.#socket.whenReadable(), late]);
      while (this.#socket.readable) {
        const { length } = await this.#socket.recvFrom(this.#answer);
        const answer = readPong(this.#answer.subarray(0, length));
        if (answer === undefined || answer.sequence !== this.#sequence || answer.op !== op) continue;
        this.#sequence = (this.#sequence + 1) & 0xff;
        this.#client = answer.client;
        return answer.data;
      }
    }
  }

  #send(op: PongOp, size: number): Promise<void> {
    writePong(this.#bytes, { op, client: this.#client, sequence: this.#sequence, data: 0 });
    return this.#socket.sendTo(this.#bytes.subarray(0, size), this.#server, this.#options.port);
  }
}

/** From 64 to 1536 bytes, one way at a time and then in bulk; sizes that do not fit a packet are left out. */
function ladder(most: number, limit: number): PongTest[] {
  const sizes: number[] = [64];
  for (let size = 128; size <= 1024; size *= 2) sizes.push(size, size * 1.5);
  const fitting = sizes.filter((size) => size <= most);
  const latency = fitting.map((size) => ({
    name: `${sizeText(size)}_lat`,
    size,
    count: Math.min(limit, countFor(size) / 10),
    echo: true,
  }));
  const bandwidth = fitting.map((size) => ({
    name: `${sizeText(size)}_bw`,
    size,
    count: Math.min(limit, countFor(size)),
    echo: false,
  }));
  return [...latency, ...bandwidth];
}

export const UDPONG_HEADING = `${columns(['name', 'bytes', 'xfers', 'total'])}${figures('time', 'Gb/sec', 'usec/xfer', ' ')}`;

export function udpongRow({ name, size }: PongTest, transfers: number, usec: number): string {
  const bytes = transfers * size;
  return `${columns([name, sizeText(size), countText(transfers), sizeText(bytes)])}${timeCells(usec, bytes, usec / transfers)}`;
}

/** Client numbers are bytes. */
const CLIENTS = 256;
/**
 * What SO_SNDBUF and SO_RCVBUF of udpong come to: a mebibyte in slots of 2048 bytes, and rsocket's own limit of 384.
 */
const QUEUE = 384;
const PATIENCE_MS = 1000;
const IMPATIENCE_MS = 1;
