/**
 * One run of our host against a hostile target, in the simulated world: the same seed does the same. Owns what the
 * target does, and what must hold: each call of the host ends, with success or an error that is documented; memory
 * beside what was asked for, and memory that is only sent, keeps its bytes; another controller goes on; nothing is left.
 */
import { Prng } from '../../../../src/ground/prng.ts';
import { attachDevice, RoceError, World, WrOpcode } from '../../../../src/index.ts';
import {
  connectNvme,
  discoverNvme,
  type NvmeConnectOptions,
  type NvmeController,
  type NvmeNamespace,
} from '../../../../src/ulp/nvme/index.ts';
import { type Arrived, ScriptedTarget, type TargetQueue, type Verdict } from '../host/scripted-target.ts';
import { HOST, NQN, timersOf } from '../host/support.ts';
import { pick } from './capsules.ts';

/** What came of a run. */
export interface HostReport {
  readonly seed: number;
  readonly findings: readonly string[];
  /** Commands that the hostile target got. */
  commands: number;
  /** Hostile acts. */
  acts: number;
  /** Connections that were made, and attempts that failed. */
  connected: number;
  failed: number;
  /** Calls that succeeded, and that were rejected. */
  done: number;
  rejected: number;
  /** Writes and reads on the other target. */
  others: number;
}

const BYTES = 16 * 1024;
const CANARY = 0x5d;

/** Runs until the target has got so many commands. */
export async function fuzzHost(seed: number, commands: number): Promise<HostReport> {
  const run = new HostRun(seed);
  const unhandled = (error: unknown): void => void run.findings.push(`unhandled: ${String(error)}`);
  process.on('unhandledRejection', unhandled);
  try {
    await run.run(commands);
  } catch (error) {
    run.findings.push(error instanceof Error ? (error.stack ?? error.message) : String(error));
  } finally {
    await new Promise((resolve) => setImmediate(resolve));
    process.off('unhandledRejection', unhandled);
  }
  return { seed, findings: run.findings, ...run.counts };
}

class HostRun {
  readonly findings: string[] = [];
  readonly counts = { commands: 0, acts: 0, connected: 0, failed: 0, done: 0, rejected: 0, others: 0 };
  readonly #random: Prng;
  readonly #world: World;
  readonly #host;
  readonly #hostile: ScriptedTarget;
  readonly #options: NvmeConnectOptions;
  /** How often it misbehaves, of a command. */
  #malice = 0;

  constructor(seed: number) {
    this.#random = new Prng(seed);
    this.#world = new World({ seed });
    const attach = (id: number) =>
      attachDevice(this.#world, `device ${id}`, { addresses: [`10.0.0.${id}/24`], mtu: 4200 });
    this.#host = attach(1);
    this.#hostile = new ScriptedTarget(attach(2), {
      script: (arrived) => this.#script(arrived),
      mangle: (bytes) => this.#mangle(bytes),
    });
    void new ScriptedTarget(attach(3));
    this.#options = {
      address: '10.0.0.2',
      subnqn: NQN,
      ...HOST,
      timers: timersOf(this.#world),
      queueSize: 8,
      commandTimeoutMs: 2000,
      keepAliveMs: 1000,
      reconnectDelayMs: 100,
      reconnectTries: 3,
    };
  }

  async run(commands: number): Promise<void> {
    const before = this.#tables();
    const other = await this.#world.run(connectNvme(this.#host, { ...this.#options, address: '10.0.0.3' }));
    const disk = await this.#world.run(other.namespace(1));
    while (this.counts.commands < commands && this.findings.length === 0) {
      this.#malice = pick(this.#random, [0.02, 0.1, 0.3]);
      if (this.#random.chance(0.15)) await this.#discover();
      else await this.#session();
      await this.#useOther(disk);
    }
    if (other.reconnects !== 0) this.findings.push('the other controller lost its connection');
    await this.#world.run(other.close());
    await this.#world.run(this.#world.sleep(300e9));
    if (this.#host.qpCount !== 0) this.findings.push(`${this.#host.qpCount} queue pairs are left`);
    if (this.#tables() !== before) this.findings.push(`left behind: ${this.#tables()} instead of ${before}`);
  }

  #tables(): string {
    return JSON.stringify({ ...this.#host.tables(), neighbours: 0 });
  }

  async #discover(): Promise<void> {
    const found = await this.#call(discoverNvme(this.#host, this.#options), 'discoverNvme');
    if (found !== undefined && found.entries.length > 4096) this.findings.push(`${found.entries.length} entries`);
  }

  async #session(): Promise<void> {
    const options = { ...this.#options, queues: 1 + this.#random.below(3) };
    const controller = await this.#call(connectNvme(this.#host, options), 'connectNvme');
    this.counts[controller === undefined ? 'failed' : 'connected']++;
    if (controller === undefined) return;
    for (let i = this.#random.below(6); i >= 0; i--) await this.#use(controller);
    if (controller.events.length > 64) this.findings.push(`${controller.events.length} events are kept`);
    await this.#call(controller.close(), 'close');
  }

  async #use(controller: NvmeController): Promise<void> {
    if (this.#random.chance(0.2)) {
      await this.#call(controller.namespaces(), 'namespaces');
      await this.#call(controller.logPage(2, 512), 'logPage');
    }
    const disk = await this.#call(controller.namespace(1), 'namespace');
    if (disk === undefined || disk.blocks < 64 || disk.blockBytes > 4096) return;
    const transfers = Array.from({ length: 1 + this.#random.below(12) }, () => this.#transfer(disk));
    await this.#settle(Promise.all(transfers.map(({ ended }) => ended)), 'a transfer');
    const after = transfers.map(({ data }) => data.slice());
    // What the target does later must not reach the caller's memory either.
    await this.#world.run(this.#world.sleep(1 + this.#random.below(5_000_000)));
    for (const [i, { look, data }] of transfers.entries()) {
      look();
      if (Buffer.compare(data, after[i] ?? data) !== 0)
        this.findings.push('memory changed after its command had ended');
    }
  }

  /** A read or a write in the middle of memory that nobody else may touch. */
  #transfer(disk: NvmeNamespace) {
    const random = this.#random;
    const memory = new Uint8Array(3 * BYTES).fill(CANARY);
    const length = disk.blockBytes * (1 + random.below(Math.floor(BYTES / disk.blockBytes)));
    const data = memory.subarray(BYTES, BYTES + length);
    const lba = random.below(8);
    const kind = random.below(4);
    const call = kind < 2 ? disk.read(lba, data) : kind === 2 ? disk.write(lba, data) : disk.compare(lba, data);
    const look = (): void => {
      if (kind >= 2 && data.some((byte) => byte !== CANARY)) this.findings.push('memory that is only sent was written');
      const beside = [memory.subarray(0, BYTES), memory.subarray(BYTES + length)];
      if (beside.some((part) => part.some((byte) => byte !== CANARY)))
        this.findings.push('memory beside that of the command was written');
    };
    return { data, look, ended: this.#outcome<unknown>(call, 'a transfer') };
  }

  async #useOther(disk: NvmeNamespace): Promise<void> {
    const block = Uint8Array.from({ length: 512 }, () => this.#random.below(256));
    const back = new Uint8Array(512);
    await this.#world.run(disk.write(3, block));
    await this.#world.run(disk.read(3, back));
    if (Buffer.compare(block, back) !== 0) this.findings.push('the other target read something else');
    this.counts.others++;
  }

  /** Undefined where it rejects, which it may only with an error that is documented. */
  #outcome<T>(promise: Promise<T>, what: string): Promise<T | undefined> {
    return promise.then(
      (value) => {
        this.counts.done++;
        return value;
      },
      (error: unknown) => {
        this.counts.rejected++;
        if (!(error instanceof RoceError)) this.findings.push(`${what} rejects with ${String(error)}`);
        return undefined;
      },
    );
  }

  #call<T>(promise: Promise<T>, what: string): Promise<T | undefined> {
    return this.#settle(this.#outcome(promise, what), what);
  }

  /** It ends in time. */
  async #settle<T>(outcome: Promise<T>, what: string): Promise<T | undefined> {
    const late = Symbol('late');
    const end = await this.#world.run(Promise.race([outcome, this.#world.sleep(PATIENCE_NS).then(() => late)]));
    if (typeof end !== 'symbol') return end as T;
    this.findings.push(`${what} does not end`);
    return undefined;
  }

  #script({ command, queue }: Arrived): Verdict {
    const random = this.#random;
    this.counts.commands++;
    if (!random.chance(this.#malice)) return 'serve';
    this.counts.acts++;
    const { cid, sgl } = command;
    const { address, key } = sgl;
    const acts: readonly (() => Verdict)[] = [
      () => 'drop',
      () => pick(random, [1, 2, 0x40_02, 0x1_80, 0x2_81, 0x3_03, random.below(0x80_00)]),
      () => answered(queue, pick(random, [cid ^ 1, cid ^ 0x04_00, random.below(0x1_00_00)]), 'serve'),
      () => answered(queue, cid, pick(random, ['drop', 'serve'])),
      () => answered(queue, cid, 'drop', { length: random.below(16) }),
      () => answered(queue, cid, 'drop', { invalidate: pick(random, [key, key ^ 1, random.u32()]) >>> 0 }),
      () => answered(queue, cid, 'drop', { dw0: random.u32(), dw1: random.u32() }),
      () => posted(queue, { opcode: WrOpcode.RdmaWriteWithImm, immData: random.u32() }),
      () => posted(queue, { opcode: WrOpcode.SendWithImm, immData: 1, inline: new Uint8Array(random.below(60)) }),
      () => posted(queue, { opcode: WrOpcode.Send, inline: new Uint8Array(pick(random, [0, 15, 16, 17, 64])) }),
      () => written(queue, { address: address + BigInt(random.below(8192) - 4096), key }, 1 + random.below(9000)),
      () => written(queue, { address, key: pick(random, [key ^ 1, random.u32()]) >>> 0 }, 64),
      () => {
        // The answer first, the data later.
        answered(queue, cid, 'drop');
        return written(queue, { address, key }, Math.max(1, sgl.length));
      },
      () => {
        this.#hostile.kill(random.chance(0.5));
        return 'drop';
      },
      () => {
        if (this.#hostile.events.length > 0) this.#hostile.event(random.u32());
        return 'serve';
      },
    ];
    return pick(random, acts)();
  }

  /** Data of Identify and of log pages. */
  #mangle(bytes: Uint8Array): Uint8Array {
    const random = this.#random;
    if (!random.chance(this.#malice)) return bytes;
    this.counts.acts++;
    const other = bytes.slice();
    const change = random.below(5);
    if (change === 0) other.fill(pick(random, [0, 255]));
    else if (change === 1) for (let i = 0; i < other.length; i++) other[i] = random.below(256);
    else
      for (let i = 1 + random.below(16); i > 0; i--)
        other[random.below(Math.min(other.length, pick(random, [32, 600, 4096])))] = pick(random, [
          0,
          1,
          255,
          random.below(256),
        ]);
    return other;
  }
}

function answered(queue: TargetQueue, cid: number, verdict: Verdict, options: object = {}): Verdict {
  attempt(() => queue.answer(cid & 0xff_ff, 0, options));
  return verdict;
}

function posted(queue: TargetQueue, request: Omit<Parameters<TargetQueue['qp']['postSend']>[0], 'wrId'>): Verdict {
  attempt(() => queue.qp.postSend({ wrId: -1, inline: new Uint8Array(0), remoteAddr: 0n, rkey: 0, ...request }));
  return 'serve';
}

function written(queue: TargetQueue, to: { address: bigint; key: number }, length: number): Verdict {
  attempt(() => queue.put({ ...to, address: BigInt.asUintN(64, to.address) }, new Uint8Array(length).fill(0xee)));
  return 'drop';
}

/** The target's own queue may be dead by then. */
function attempt(act: () => void): void {
  try {
    act();
  } catch (error) {
    if (!(error instanceof RoceError)) throw error;
  }
}

/** Virtual time that a call has: three attempts to connect, of some commands with 2 s each. */
const PATIENCE_NS = 300e9;
