/**
 * A disk in the memory of a peer process, over NVMe on the device of its session, either role: what reads of it cost
 * beside bare verbs on the same link. Owns the target or the connection, and the loops.
 */
import type { Device } from 'rocev2';
import {
  connectNvme,
  MemoryBackend,
  type NvmeController,
  type NvmeNamespace,
  NvmeSubsystem,
  NvmeTarget,
} from 'rocev2/nvme';
import { systemTimers } from '../../nvme/serve.ts';
import {
  type Amount,
  DISK_BLOCK_BYTES,
  DISK_READ_BYTES,
  type DiskConfig,
  type DiskTask,
  type Figures,
  LARGE_OUTSTANDING,
  SMALL_OUTSTANDING,
} from './protocol.ts';
import { Interval, Samples } from './samples.ts';

/** As much as the region of the bare WRITEs: more than caches hold. */
const DISK_BYTES = 16 << 20;
const NQN = 'nqn.2026-11.org.rocev2:bench';

export class BenchDisk {
  readonly #device: Device;
  readonly #config: DiskConfig;
  #target: NvmeTarget | undefined;
  #controller: NvmeController | undefined;
  #disk: NvmeNamespace | undefined;

  constructor(device: Device, config: DiskConfig) {
    this.#device = device;
    this.#config = config;
  }

  serve(): void {
    const subsystem = new NvmeSubsystem({ nqn: NQN });
    const backend = new MemoryBackend(DISK_BYTES);
    subsystem.addNamespace({ backend, blockBytes: DISK_BLOCK_BYTES, uuid: new Uint8Array(16).fill(1) });
    this.#target = NvmeTarget.listen(this.#device, { subsystems: [subsystem], timers: systemTimers });
  }

  async connect(address: string): Promise<void> {
    this.#controller = await connectNvme(this.#device, {
      address,
      subnqn: NQN,
      hostnqn: `${NQN}-host`,
      hostid: new Uint8Array(16).fill(2),
      timers: systemTimers,
      queues: this.#config.queues,
      queueSize: this.#config.entries,
    });
    this.#disk = await this.#controller.namespace(1);
  }

  async measure(task: DiskTask, amount: Amount): Promise<Figures> {
    switch (task) {
      case 'diskGoodput':
        return { goodput: (await this.#reads(amount, DISK_READ_BYTES, LARGE_OUTSTANDING)) * DISK_READ_BYTES };
      case 'diskRate':
        return { rate: await this.#reads(amount, DISK_BLOCK_BYTES, SMALL_OUTSTANDING) };
      case 'diskRoundTrip':
        return this.#oneByOne(amount);
    }
  }

  async close(): Promise<void> {
    await this.#controller?.close();
    await this.#target?.close();
  }

  /** Reads a second, of `bytes` each at random, `outstanding` at a time. */
  async #reads({ seconds, least }: Amount, bytes: number, outstanding: number): Promise<number> {
    const disk = this.#connected();
    const clock = new Interval(seconds);
    let begun = 0;
    const reader = async (): Promise<void> => {
      const into = new Uint8Array(bytes);
      while (clock.running || begun < least) {
        begun += 1;
        await disk.read(placeOf(disk, bytes), into);
        clock.tick(1);
      }
    };
    await Promise.all(Array.from({ length: outstanding }, reader));
    return clock.rate;
  }

  async #oneByOne({ seconds, least }: Amount): Promise<Figures> {
    const disk = this.#connected();
    const samples = new Samples();
    const into = new Uint8Array(DISK_BLOCK_BYTES);
    const until = performance.now() + seconds * 1000;
    while (samples.count < least || performance.now() < until) {
      const began = performance.now();
      await disk.read(placeOf(disk, DISK_BLOCK_BYTES), into);
      samples.add(performance.now() - began);
    }
    return samples.figures();
  }

  #connected(): NvmeNamespace {
    if (this.#disk === undefined) throw new Error('the disk is not connected');
    return this.#disk;
  }
}

/** A block at random, from which so many bytes can be read. */
function placeOf({ blocks }: NvmeNamespace, bytes: number): number {
  return Math.floor(Math.random() * (blocks - bytes / DISK_BLOCK_BYTES + 1));
}
