/**
 * riostream of rdmacm-utils: writes straight into a buffer that the other side has mapped, both ways in turn, and
 * prints how long it took. The last byte of the buffer tells whose turn it is: such a write has no completion at its
 * target. Facts from rdma:librdmacm/examples/riostream.c.
 */
import { Command } from 'commander';
import type { IoMapping, RSocket } from 'rocev2/rsockets';
import { CountingBytes, type TransferTest } from './report.ts';
import { ENDED, SYNC_BYTES, type ToolRun } from './rstream.ts';
import { addStreamOptions, type StreamFlags, type StreamOptions, streamOptions } from './stream-flags.ts';
import { runStreamTool, type StreamContext, type StreamTest, type StreamTool } from './stream-session.ts';
import { receiveExactly } from './whole.ts';

export function riostreamOptions(command = new Command('riostream')): Command {
  return addStreamOptions(command.description(RIOSTREAM_SUMMARY), { keepalive: false });
}

export function riostreamRun(flags: StreamFlags): ToolRun {
  const options = streamOptions(flags);
  return (device, output, signal) => runRiostream(options, { device, output, signal });
}

/** Resolves with the exit code of riostream: 0 when all tests went well. Rejects as connecting and listening do. */
export function runRiostream(options: StreamOptions, context: StreamContext): Promise<number> {
  return runStreamTool(new Riostream(options), options, context);
}

class Riostream implements StreamTool {
  readonly socketOptions = { iomaps: 1 };
  readonly #options: StreamOptions;
  readonly #outgoing = new CountingBytes();
  readonly #incoming = new CountingBytes();

  constructor(options: StreamOptions) {
    this.#options = options;
  }

  announce(): void {}

  attach(socket: RSocket, { turn = nextTurn }: StreamContext): StreamTest {
    const isClient = this.#options.server !== undefined;
    let mapping: IoMapping | undefined;
    const bytes = (): Uint8Array => mapping?.region.bytes ?? new Uint8Array(0);
    return {
      prepare: async ({ size }) => {
        mapping = socket.iomap(size, 0n);
        bytes()[size - 1] = NO_TURN;
        if (isClient) await socket.send(new Uint8Array(SYNC_BYTES));
        if ((await receiveExactly(socket, SYNC_BYTES)) === undefined) return ENDED;
        if (!isClient) await socket.send(new Uint8Array(SYNC_BYTES));
        return undefined;
      },
      run: async (test) => {
        for (let round = 0; round < test.iterations; round++) {
          const marker = 2 * round;
          if (isClient && !(await this.#write(socket, bytes(), test, marker))) return UNMAPPED;
          const complaint = await this.#await(socket, bytes(), isClient ? marker + 1 : marker, turn);
          if (complaint !== undefined) return complaint;
          if (!isClient && !(await this.#write(socket, bytes(), test, marker + 1))) return UNMAPPED;
        }
        return undefined;
      },
      finish: () => {
        if (mapping !== undefined && socket.error === undefined) socket.iounmap(mapping);
        mapping = undefined;
      },
      end: () => {},
    };
  }

  /** All transfers of a turn; only the last has the marker. False where the peer has mapped too little. */
  async #write(
    socket: RSocket,
    bytes: Uint8Array,
    { size, transfers }: TransferTest,
    marker: number,
  ): Promise<boolean> {
    for (let i = 0; i < transfers; i++) {
      if (i === transfers - 1) {
        bytes[size - 1] = marker;
        if (this.#options.verify) this.#outgoing.fill(bytes.subarray(0, size - 1));
      }
      if ((await socket.iowrite(bytes, 0n)) < size) return false;
    }
    return true;
  }

  async #await(
    socket: RSocket,
    bytes: Uint8Array,
    marker: number,
    turn: () => Promise<void>,
  ): Promise<string | undefined> {
    while (bytes[bytes.length - 1] !== (marker & 0xff)) {
      if (socket.error !== undefined) throw socket.error;
      if (socket.ended) return ENDED;
      await turn();
    }
    const wrong = this.#options.verify ? this.#incoming.verify(bytes.subarray(0, -1)) : -1;
    return wrong < 0 ? undefined : `data verification failed byte ${wrong}`;
  }
}

function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

export const RIOSTREAM_SUMMARY =
  'RDMA writes into mapped buffers both ways, timed; works with riostream of rdmacm-utils';
const UNMAPPED = 'the peer has mapped too little';
/** A last byte that no turn has before the 256th. */
const NO_TURN = 0xff;
