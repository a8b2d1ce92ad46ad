/** A peer on a link of ours, either role. Owns the device. */
import { type Device, type OpenDevice, openDevice } from 'rocev2';
import { defined, Medium } from 'rocev2/packets';
import { isExchange, runExchange } from './exchange.ts';
import { kernelDrops } from './kernel-drops.ts';
import type {
  Amount,
  BenchPeer,
  DiskTask,
  ExchangeTask,
  Figures,
  MeasuredTask,
  PeerCounters,
  RoceConfig,
} from './protocol.ts';
import { BenchDisk } from './roce-disk.ts';
import { RoceSession } from './roce-session.ts';
import { Soak } from './roce-soak.ts';
import { runTask } from './roce-tasks.ts';

export class RocePeer implements BenchPeer {
  readonly #config: RoceConfig;
  readonly #opened: OpenDevice;
  readonly #session: RoceSession;
  readonly #soak: Soak;
  readonly #disk: BenchDisk | undefined;

  private constructor(config: RoceConfig, opened: OpenDevice) {
    this.#config = config;
    this.#opened = opened;
    this.#session = new RoceSession(opened.device);
    this.#soak = new Soak(this.#session);
    this.#disk = config.disk === undefined ? undefined : new BenchDisk(opened.device, config.disk);
  }

  /** @throws RoceError when there is no such link here */
  static async open(config: RoceConfig): Promise<RocePeer> {
    const { link, address, mtu, poll, role } = config;
    const opened = await openDevice({
      link,
      ...(address === undefined ? {} : { addresses: [address] }),
      ...defined({ mtu, poll }),
    });
    const peer = new RocePeer(config, opened);
    if (role === 'server') peer.#serve();
    return peer;
  }

  async connect(): Promise<void> {
    await this.#session.connect(this.#config.peer);
    await this.#disk?.connect(this.#config.peer);
  }

  measure(task: MeasuredTask, amount: Amount): Promise<Figures> {
    return runTask(this.#session, task, amount);
  }

  async measureDisk(task: DiskTask | ExchangeTask, amount: Amount): Promise<Figures> {
    if (isExchange(task)) return runExchange(this.#session, task, amount);
    if (this.#disk === undefined) throw new Error('this peer has no disk');
    return this.#disk.measure(task, amount);
  }

  soak(seconds: number): Promise<void> {
    return this.#soak.run(seconds);
  }

  counters(): PeerCounters {
    const { link, device } = this.#opened;
    return { ...deviceCounters(device), ...linkCounters(link), ...kernelDrops(), ...this.#soak.counters() };
  }

  async close(): Promise<void> {
    await this.#disk?.close();
    await this.#session.disconnect();
    await this.#opened.close();
  }

  /** A bug of the bench or of the stack ends the process, and with it the measurement. */
  #serve(): void {
    this.#disk?.serve();
    this.#session.serve().catch((error: unknown) => {
      process.stderr.write(`${error instanceof Error ? error.stack : String(error)}\n`);
      process.exit(1);
    });
  }
}

/** What went over the wire and what had to be said twice. */
export function deviceCounters({ portCounters, counters, activeMtu, medium }: Device): PeerCounters {
  return {
    ...portCounters,
    badIcrc: counters.badIcrc,
    badQpn: counters.badQpn,
    pathMtu: activeMtu,
    ethernet: medium === Medium.Ethernet ? 1 : 0,
  };
}

/** A link's own numbers, whatever they are, as `link.name`. */
function linkCounters(link: object): PeerCounters {
  const numbers: Record<string, number> = {};
  const counters: unknown = 'counters' in link ? link.counters : {};
  if (typeof counters !== 'object' || counters === null) return numbers;
  for (const [name, value] of Object.entries(counters)) {
    if (typeof value === 'number') numbers[`link.${name}`] = value;
  }
  return numbers;
}
