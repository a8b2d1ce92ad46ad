/** qperf, as the peer of benches. Owns its server. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { type BenchSettings, scaled } from './bench.ts';
import { outputOf } from './program-output.ts';

/** Where its two ends run. */
export interface QperfPlace {
  /** Words before the command, the server's first. */
  readonly prefixes: readonly [readonly string[], readonly string[]];
  /** The server's address. */
  readonly server: string;
}

const LOOPBACK: QperfPlace = { prefixes: [[], []], server: 'localhost' };

/** A server of qperf, and measurements with it. */
export class Qperf {
  readonly #server: ChildProcess;
  readonly #port: number;
  readonly #seconds: number;
  readonly #where: QperfPlace;

  private constructor(server: ChildProcess, port: number, seconds: number, where: QperfPlace) {
    this.#server = server;
    this.#port = port;
    this.#seconds = seconds;
    this.#where = where;
  }

  static async start(settings: BenchSettings, where: QperfPlace = LOOPBACK): Promise<Qperf> {
    const port = await freePort();
    const [program = '', ...args] = [...where.prefixes[0], 'qperf', '-lp', `${port}`];
    const server = spawn(program, args, { stdio: 'ignore' });
    return new Qperf(server, port, scaled(2, settings), where);
  }

  /** Bytes a second, or nanoseconds. */
  async measure(test: 'tcp_bw' | 'tcp_lat', bytes: number): Promise<number> {
    // The client waits for its server itself, a few seconds at most.
    const { prefixes, server } = this.#where;
    const args = ['-lp', `${this.#port}`, '-ws', '10', '-uu', '-t', `${this.#seconds}`, '-m', `${bytes}`];
    const [program = '', ...words] = [...prefixes[1], 'qperf', ...args, server, test];
    const printed = await outputOf(program, words);
    const [, figure] = /= +([\d.]+) (?:bytes\/sec|ns)/.exec(printed) ?? [];
    if (figure === undefined) throw new Error(`qperf ${test} printed no figure: ${printed.trim()}`);
    return Number(figure);
  }

  async stop(): Promise<void> {
    this.#server.kill();
    if (this.#server.exitCode === null && this.#server.signalCode === null) await once(this.#server, 'exit');
  }
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  await once(server, 'close');
  return typeof address === 'object' && address !== null ? address.port : 0;
}
