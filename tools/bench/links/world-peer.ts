/**
 * Both ends in one process, on the simulated network: what the stack costs without any wire. Owns the world and gives
 * the event loop its turn while it runs.
 */
import { setImmediate as eventLoop } from 'node:timers/promises';
import { attachDevice, World } from 'rocev2';
import { installBulkCrc32 } from 'rocev2/crc32';
import { Medium } from 'rocev2/packets';
import {
  type Amount,
  type BenchPeer,
  type Figures,
  type MeasuredTask,
  PATH_MTU,
  type PeerCounters,
} from './protocol.ts';
import { deviceCounters } from './roce-peer.ts';
import { RoceSession } from './roce-session.ts';
import { Soak } from './roce-soak.ts';
import { runTask } from './roce-tasks.ts';

const SERVER = '10.0.0.2';
/** Room for a packet of the path MTU and its headers. */
const LINK_MTU = PATH_MTU + 104;
const STEPS_A_TURN = 256;
/** Promises between a completion and the application's answer to it, with a margin. */
const PROMISES_A_STEP = 4;

export class WorldPeer implements BenchPeer {
  readonly #world = new World({ seed: 1, medium: Medium.Ip });
  readonly #client = this.#session('client', '10.0.0.1/24');
  readonly #server = this.#session('server', `${SERVER}/24`);
  readonly #soak = new Soak(this.#client);

  static open(): Promise<WorldPeer> {
    installBulkCrc32();
    return Promise.resolve(new WorldPeer());
  }

  connect(): Promise<void> {
    void this.#server.serve();
    return this.#during(this.#client.connect(SERVER));
  }

  measure(task: MeasuredTask, amount: Amount): Promise<Figures> {
    return this.#during(runTask(this.#client, task, amount));
  }

  soak(seconds: number): Promise<void> {
    return this.#during(this.#soak.run(seconds));
  }

  counters(): PeerCounters {
    const [ours, theirs] = [deviceCounters(this.#client.device), deviceCounters(this.#server.device)];
    const sums = Object.entries(ours).map(([name, count]) => [name, count + (theirs[name] ?? 0)] as const);
    return { ...Object.fromEntries(sums), ...this.#soak.counters() };
  }

  close(): Promise<void> {
    return this.#during(this.#client.disconnect());
  }

  /** Lets the world go on until `work` is done. */
  async #during<T>(work: Promise<T>): Promise<T> {
    let settled = false;
    const settle = (): void => {
      settled = true;
    };
    work.then(settle, settle);
    while (!settled) {
      for (let step = 0; step < STEPS_A_TURN && !settled; step++) {
        for (let turn = 0; turn < PROMISES_A_STEP; turn++) await null;
        if (!this.#world.step()) break;
      }
      await eventLoop();
    }
    return work;
  }

  #session(name: string, address: string): RoceSession {
    return new RoceSession(attachDevice(this.#world, name, { addresses: [address], mtu: LINK_MTU }));
  }
}
