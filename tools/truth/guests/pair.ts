/**
 * Two guests with rdma_rxe and a wire between them, whose faults are others for each run.
 *
 * Owns the guests' lives, and what both ends of the wire saw of a run.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Bump, type BumpObserver } from 'rocev2';
import type { FaultAction, WireRule } from 'rocev2/faults';
import { QemuLink } from 'rocev2/node';
import { Guest } from '../../lab/guest.ts';
import { buildImage } from '../../lab/image.ts';
import type { KernelLabel } from '../../lab/recipe.ts';
import { LastingLink } from './lasting-link.ts';

/** A frame at one end of the wire. */
export interface WireFrame {
  /** Monotonic. */
  readonly timeNs: number;
  readonly bytes: Uint8Array;
  /** The host that sent it or gets it: 0 is a, the client. */
  readonly side: 0 | 1;
  readonly direction: 'out' | 'in';
  /** The same when it is sent and when it arrives. */
  readonly serial: number;
  /** What the bump did to it on its way. */
  readonly did: readonly FaultAction[];
}

/** What a run needs: faults, and a command of each guest. */
export interface PairRun {
  readonly rules?: readonly WireRule[];
  readonly seed?: number;
  readonly server: string;
  /** A condition of the shell of the server's guest, true when the client may start. */
  readonly ready: string;
  readonly client: string;
  /** Whether the server's command never ends by itself; default no. */
  readonly endless?: boolean;
  /** Default a minute and a half. */
  readonly timeoutMs?: number;
}

export const CLIENT_ADDRESS = '10.77.0.2';
export const SERVER_ADDRESS = '10.77.0.1';

export class GuestPair {
  readonly #wires: readonly [LastingLink, LastingLink];
  readonly #directory: string;
  readonly #guests: Partial<Record<0 | 1, Guest>> = {};

  private constructor(directory: string) {
    this.#directory = directory;
    const link = (name: string): LastingLink => new LastingLink(new QemuLink({ path: join(directory, name) }));
    this.#wires = [link('a'), link('b')];
  }

  /** Boots both. Rejects as `Guest.boot` and `buildImage` do. */
  static async boot(kernel: KernelLabel): Promise<GuestPair> {
    const image = await buildImage(kernel);
    const pair = new GuestPair(mkdtempSync(join(tmpdir(), 'rocev2-pair-')));
    try {
      await Promise.all(pair.#wires.map((wire) => wire.start()));
      const boot = async (index: 0 | 1, name: string, address: string): Promise<void> => {
        pair.#guests[index] = await Guest.boot({
          image,
          netSocket: { path: join(pair.#directory, name) },
          mac: `52:54:00:00:00:0${address.at(-1)}`,
          addresses: [`${address}/24`],
        });
      };
      const boots = await Promise.allSettled([boot(0, 'a', CLIENT_ADDRESS), boot(1, 'b', SERVER_ADDRESS)]);
      for (const each of boots) if (each.status === 'rejected') throw each.reason;
      return pair;
    } catch (error) {
      await pair.close();
      throw error;
    }
  }

  /** What `uname -r` prints. */
  get release(): string {
    return this.#client.release;
  }

  get #client(): Guest {
    return guestAt(this.#guests, 0);
  }

  get #server(): Guest {
    return guestAt(this.#guests, 1);
  }

  /** Runs a command in one guest that says nothing to the other; what it prints. @throws Error when it fails */
  command(side: 0 | 1, command: string, timeoutMs = 60_000): Promise<string> {
    return succeed(guestAt(this.#guests, side), command, timeoutMs);
  }

  /**
   * Plays one run: the server's command, then the client's, which must succeed. All frames of both ends, in order.
   * @throws Error with what the guest printed
   */
  async run({
    rules = [],
    seed = 1,
    server,
    ready,
    client,
    endless = false,
    timeoutMs = 90_000,
  }: PairRun): Promise<WireFrame[]> {
    const observer = new Observer();
    const [a, b] = [this.#wires[0].lend(), this.#wires[1].lend()];
    const bump = new Bump({ a, b, rules, seed, observer });
    await bump.start();
    const job = this.#server.spawn(server);
    try {
      await succeed(this.#server, `for i in $(seq 200); do ${ready} && exit 0; usleep 50000; done; exit 1`, 60_000);
      await succeed(this.#client, client, timeoutMs);
      if (!endless) {
        const { code, stderr } = await job.wait(timeoutMs);
        if (code !== 0) throw new Error(`${server}: ${stderr}`);
      }
    } finally {
      await job.kill('KILL');
      await bump.close();
    }
    return observer.frames;
  }

  async close(): Promise<void> {
    await Promise.all(Object.values(this.#guests).map((guest) => guest.stop()));
    await Promise.all(this.#wires.map((wire) => wire.close()));
    rmSync(this.#directory, { recursive: true, force: true });
  }
}

/** Keeps every frame at both ends, and what was done to it. */
class Observer implements BumpObserver {
  readonly frames: WireFrame[] = [];
  readonly #did = new Map<number, readonly FaultAction[]>();

  entered: BumpObserver['entered'] = (timeNs, { direction, engine }, serial, bytes, start, end) => {
    const { dropped, rules } = engine.verdict;
    // What the bump has no room for is dropped by no rule.
    const did: FaultAction[] = dropped ? ['drop'] : rules.map(({ action }) => action);
    const key = 2 * serial + direction;
    if (did.length > 0) this.#did.set(key, did);
    const side = direction === 0 ? 0 : 1;
    this.frames.push({ timeNs, bytes: bytes.slice(start, end), side, direction: 'out', serial: key, did });
  };

  left: BumpObserver['left'] = (timeNs, { direction }, serial, bytes, start, end) => {
    const key = 2 * serial + direction;
    const did = this.#did.get(key) ?? NOTHING;
    const side = direction === 0 ? 1 : 0;
    this.frames.push({ timeNs, bytes: bytes.slice(start, end), side, direction: 'in', serial: key, did });
  };
}

async function succeed(guest: Guest, command: string, timeoutMs: number): Promise<string> {
  const { code, stdout, stderr } = await guest.run(command, { timeoutMs });
  if (code !== 0) throw new Error(`${command}: ${stderr || stdout || `exit code ${code}`}`);
  return stdout;
}

function guestAt(guests: Partial<Record<0 | 1, Guest>>, side: 0 | 1): Guest {
  const guest = guests[side];
  if (guest === undefined) throw new Error('the guests have not booted');
  return guest;
}

const NOTHING: readonly FaultAction[] = [];
