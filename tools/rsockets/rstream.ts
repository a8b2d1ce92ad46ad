/**
 * rstream of rdmacm-utils: moves data both ways over an rsocket and prints how long it took, client or server.
 * Facts from rdma:librdmacm/examples/rstream.c.
 */
import { Command } from 'commander';
import type { RdmaDevice } from 'rocev2';
import type { RSocket } from 'rocev2/rsockets';
import type { ToolOutput } from '../output.ts';
import { CountingBytes, type TransferTest } from './report.ts';
import { addStreamOptions, type StreamFlags, type StreamOptions, streamOptions } from './stream-flags.ts';
import { runStreamTool, type StreamContext, type StreamTest, type StreamTool } from './stream-session.ts';
import { fillFrom } from './whole.ts';

/** A run of a tool on a device; resolves with its exit code. */
export type ToolRun = (device: RdmaDevice, output: ToolOutput, signal: AbortSignal) => Promise<number>;

/** The command without the options of a link. */
export function rstreamOptions(command = new Command('rstream')): Command {
  return addStreamOptions(command.description(RSTREAM_SUMMARY), { keepalive: true });
}

export function rstreamRun(flags: StreamFlags): ToolRun {
  const options = streamOptions(flags);
  return (device, output, signal) => runRstream(options, { device, output, signal });
}

/** Resolves with the exit code of rstream: 0 when all tests went well. Rejects as connecting and listening do. */
export function runRstream(options: StreamOptions, context: StreamContext): Promise<number> {
  return runStreamTool(new Rstream(options), options, context);
}

class Rstream implements StreamTool {
  readonly socketOptions = {};
  readonly #options: StreamOptions;
  /** They count over all connections of the run. */
  readonly #outgoing = new CountingBytes();
  readonly #incoming = new CountingBytes();

  constructor(options: StreamOptions) {
    this.#options = options;
  }

  announce(output: ToolOutput): void {
    const { keepalive } = this.#options;
    if (keepalive === 0) return;
    output.line('Keepalive: ON');
    output.line(`  time: ${keepalive}`);
  }

  attach(socket: RSocket): StreamTest {
    const { keepalive, server } = this.#options;
    const isClient = server !== undefined;
    const timer = keepalive === 0 ? undefined : setInterval(() => socket.keepalive(), keepalive * 1000).unref();
    let buffer = new Uint8Array(SYNC_BYTES);
    const transfer = async (outgoing: boolean, size: number): Promise<string | undefined> => {
      const bytes = buffer.subarray(0, size);
      return outgoing ? this.#send(socket, bytes) : this.#receive(socket, bytes);
    };
    return {
      prepare: async ({ size }) => {
        if (size > buffer.length) buffer = new Uint8Array(size);
        return (await transfer(isClient, SYNC_BYTES)) ?? (await transfer(!isClient, SYNC_BYTES));
      },
      run: async ({ size, transfers, iterations }: TransferTest) => {
        for (let round = 0; round < iterations; round++) {
          for (let i = 0; i < 2 * transfers; i++) {
            const complaint = await transfer(i < transfers === isClient, size);
            if (complaint !== undefined) return complaint;
          }
        }
        return undefined;
      },
      finish: () => {},
      end: () => clearInterval(timer),
    };
  }

  async #send(socket: RSocket, bytes: Uint8Array): Promise<undefined> {
    if (this.#options.verify) this.#outgoing.fill(bytes);
    await socket.send(bytes);
  }

  async #receive(socket: RSocket, bytes: Uint8Array): Promise<string | undefined> {
    if (!(await fillFrom(socket, bytes))) return ENDED;
    const wrong = this.#options.verify ? this.#incoming.verify(bytes) : -1;
    return wrong < 0 ? undefined : `data verification failed byte ${wrong}`;
  }
}

export const RSTREAM_SUMMARY = 'streams over RDMA both ways, timed; works with rstream of rdmacm-utils';
/** The message of a test when the peer leaves in its middle. */
export const ENDED = 'the peer has ended the stream';
/** What both send before the clock runs. */
export const SYNC_BYTES = 16;
