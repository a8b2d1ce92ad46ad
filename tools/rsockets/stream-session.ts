/**
 * How rstream and riostream get their connections, in both roles, and run through their tests: one connection for a
 * test of one's own choice, two for the ladder, the first tuned for latency and the second for bandwidth.
 */

import type { RdmaDevice } from 'rocev2';
import { invariant } from 'rocev2/packets';
import { RListener, RSocket, type RSocketOptions } from 'rocev2/rsockets';
import type { ToolOutput } from '../output.ts';
import { bandwidthTest, ladderSizes, latencyTest, STREAM_HEADING, streamRow, type TransferTest } from './report.ts';
import type { StreamOptions } from './stream-flags.ts';

/** What a run has beside its options. */
export interface StreamContext {
  readonly device: RdmaDevice;
  readonly output: ToolOutput;
  /** Ends the run: what is connected is cut off. */
  readonly signal?: AbortSignal;
  /** Microseconds, for the figures; default the process's clock. */
  readonly now?: () => number;
  /** Yields to other work, for a loop that polls a byte in memory; default a turn of the event loop. */
  readonly turn?: () => Promise<void>;
}

/** One test on a connection: everything but the clock. Resolves with a complaint, or undefined when all is well. */
export interface StreamTest {
  /** Before the clock runs. */
  prepare(test: TransferTest): Promise<string | undefined>;
  run(test: TransferTest): Promise<string | undefined>;
  /** After it. */
  finish(): void;
  /** After the last test of the connection. */
  end(): void;
}

export interface StreamTool {
  /** Sizes beside those of the command line. */
  readonly socketOptions: RSocketOptions;
  attach(socket: RSocket, context: StreamContext): StreamTest;
  /** Printed each time options of a socket are set. */
  announce(output: ToolOutput): void;
}

/** Resolves with the exit code. Rejects as connecting and listening do. */
export async function runStreamTool(tool: StreamTool, options: StreamOptions, context: StreamContext): Promise<number> {
  const { device, output, signal } = context;
  const { server, port, bind, buffers, custom, allSizes, limit, inline } = options;
  const where = bind === undefined ? {} : { address: bind };
  const listener = server === undefined ? RListener.listen(device, { port, ...where }) : undefined;
  const stop = (): void => void listener?.close();
  if (signal?.aborted === true) stop();
  signal?.addEventListener('abort', stop);
  output.line(STREAM_HEADING);
  const connect = async (sizes: RSocketOptions): Promise<RSocket> => {
    const socketOptions = { ...buffers, ...tool.socketOptions, ...sizes };
    tool.announce(output);
    if (server !== undefined) {
      const from = bind === undefined ? {} : { source: bind };
      return RSocket.connect(device, { address: server, port, ...from, ...socketOptions });
    }
    invariant(listener !== undefined, 'a server has a listener');
    const socket = await listener.accept(socketOptions);
    // Set on the listener first and on what it took, as rstream does, and printed both times.
    tool.announce(output);
    return socket;
  };
  try {
    if (custom !== undefined) return await runTests(tool, await connect({}), [{ name: 'custom', ...custom }], context);
    const sizes = ladderSizes(allSizes);
    const latency = sizes.map((size) => latencyTest(size, limit));
    const bandwidth = sizes.map((size) => bandwidthTest(size, limit));
    const code = await runTests(tool, await connect({ inline }), latency, context);
    return (await runTests(tool, await connect({ inline: 0 }), bandwidth, context)) || code;
  } finally {
    signal?.removeEventListener('abort', stop);
    await listener?.close();
  }
}

/** Runs tests on a connection and closes it. */
async function runTests(
  tool: StreamTool,
  socket: RSocket,
  tests: readonly TransferTest[],
  context: StreamContext,
): Promise<number> {
  const { output, signal, now = () => performance.now() * 1000 } = context;
  const stop = (): void => void socket.destroy();
  if (signal?.aborted === true) stop();
  signal?.addEventListener('abort', stop);
  const running = tool.attach(socket, context);
  let code = 0;
  try {
    for (const test of tests) {
      let complaint = await running.prepare(test);
      const start = now();
      complaint ??= await running.run(test);
      if (complaint === undefined) output.line(streamRow(test, now() - start));
      else {
        output.line(complaint);
        code = EXIT_FAILED;
      }
      running.finish();
    }
    await socket.close();
  } finally {
    running.end();
    signal?.removeEventListener('abort', stop);
    await socket.destroy();
  }
  return code;
}

const EXIT_FAILED = 255;
