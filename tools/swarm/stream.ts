/** A TCP connection between the two honest hosts: blocks go out and come back. Owns its program and its verdict. */
import { RoceError, type World } from 'rocev2';
import type { TcpListener, TcpSocket } from 'rocev2/host';
import { addressOf } from './addresses.ts';
import type { Party } from './flow.ts';

export const STREAM_PORT = 7472;
const BLOCK_BYTES = 700;
/** Between two blocks, so that the connection lasts while the attack goes on. */
const PAUSE_NS = 100_000;

export class Stream {
  readonly problems: string[] = [];
  done = false;
  readonly #world: World;
  readonly #listener: TcpListener;
  /** Ends of connections that are on their way. */
  readonly #ending: Promise<void>[] = [];
  #accepted = 0;

  /** `b` listens from now on. */
  constructor(world: World, b: Party) {
    const { tcp } = b.device;
    if (tcp === undefined) throw new Error('hosts of the simulated network have a TCP');
    this.#world = world;
    this.#listener = tcp.listen(STREAM_PORT);
    void this.#serve();
  }

  /** Sends so many blocks from `a` and compares what comes back. */
  async run(a: Party, ipVersion: 4 | 6, blocks: number): Promise<void> {
    try {
      const socket = await a.device.tcp?.connect(addressOf(2, ipVersion), STREAM_PORT);
      for (let i = 0; i < blocks && socket !== undefined; i++) {
        const sent = Uint8Array.from({ length: BLOCK_BYTES }, (_, at) => (at + i) & 0xff);
        await socket.write(sent);
        const back = await socket.read(BLOCK_BYTES);
        if (Buffer.compare(sent, back) !== 0) this.problems.push(`TCP: block ${i} is not what was sent`);
        await this.#world.sleep(PAUSE_NS);
      }
      if (socket !== undefined) this.#ending.push(socket.close());
      this.done = true;
    } catch (error) {
      if (!(error instanceof RoceError)) throw error;
      this.problems.push(`TCP: ${error.message}`);
      this.done = true;
    }
  }

  /** After the attack: resolves when both ends have closed. The honest caller was the only one that was there. */
  async close(): Promise<void> {
    this.#listener.close();
    await Promise.all(this.#ending);
    if (this.#accepted > 1) this.problems.push(`TCP: ${this.#accepted} connections of one caller`);
  }

  async #serve(): Promise<void> {
    for await (const socket of this.#listener) {
      this.#accepted += 1;
      this.#ending.push(echo(socket));
    }
  }
}

async function echo(socket: TcpSocket): Promise<void> {
  try {
    for (;;) await socket.write(await socket.read(BLOCK_BYTES));
  } catch (error) {
    // The stream has ended.
    if (!(error instanceof RoceError)) throw error;
    await socket.close();
  }
}
