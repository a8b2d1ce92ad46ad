/**
 * One run of a hostile host against our target, in the simulated world: the same seed sends the same bytes. Owns what
 * the host does, and what must hold at the end: another host has gone on all the time, and everything is given back.
 */

import { Prng } from '../../../../src/ground/prng.ts';
import { attachDevice, type Device, World, WrOpcode } from '../../../../src/index.ts';
import { nvmeCrypto } from '../../../../src/node/nvme/crypto.ts';
import {
  CM_REJECT,
  CM_REQUEST,
  CmRejectStatus,
  CONNECT_RESULT,
  connectNvme,
  DISCOVERY_NQN,
  NvmeStatus,
  NvmeSubsystem,
  NvmeTarget,
} from '../../../../src/ulp/nvme/index.ts';
import { HOST_SECRET, OTHER_SECRET } from '../auth/support.ts';
import { timersOf } from '../host/support.ts';
import { authenticate } from './authentication.ts';
import {
  type CapsuleTerms,
  connectCapsule,
  enableCapsule,
  HOSTILE_NQN,
  honestCapsule,
  mutated,
  pick,
} from './capsules.ts';
import { CountedTimers } from './counted-timers.ts';
import { NoticingDisk } from './disk.ts';
import { HostileHost, HostileQueue } from './hostile-host.ts';
import { Judge, type Tally } from './judge.ts';

const OPEN = 'nqn.2026-11.example:open';
/** Its secret is known to the hostile host. */
const LOCKED = 'nqn.2026-11.example:locked';
/** Its secret is not. */
const VAULT = 'nqn.2026-11.example:vault';
const GOOD = 'nqn.2026-11.example:good';
const GOOD_HOST = 'nqn.2026-11.example:good-host';
const ENTRIES = 32;
const MAX_QUEUES = 3;

/** What came of a run. */
export interface FuzzReport extends Tally {
  readonly seed: number;
  readonly findings: readonly string[];
  /** Queues that were connected. */
  connections: number;
  /** Requests that were refused by the connection manager. */
  refused: number;
  /** Authentications that were tried. */
  authentications: number;
  /** Writes and reads of the other host, all right. */
  others: number;
}

/** Runs until so many capsules have been sent. */
export async function fuzzTarget(seed: number, capsules: number): Promise<FuzzReport> {
  const run = new Run(seed);
  const unhandled = (error: unknown): void => void run.judge.findings.push(`unhandled: ${String(error)}`);
  process.on('unhandledRejection', unhandled);
  try {
    await run.run(capsules);
  } catch (error) {
    run.judge.findings.push(error instanceof Error ? (error.stack ?? error.message) : String(error));
  } finally {
    await new Promise((resolve) => setImmediate(resolve));
    process.off('unhandledRejection', unhandled);
  }
  return run.report(seed);
}

class Run {
  readonly judge: Judge;
  readonly #random: Prng;
  readonly #world: World;
  readonly #host: HostileHost;
  readonly #targetDevice: Device;
  readonly #target: NvmeTarget;
  readonly #other: Device;
  readonly #disks: ReadonlyMap<string, ReadonlyMap<number, NoticingDisk>>;
  readonly #magic: Uint8Array;
  readonly #tablesBefore;
  readonly #counts = { connections: 0, refused: 0, authentications: 0, others: 0 };
  readonly #live: HostileQueue[] = [];
  readonly #timers: CountedTimers;
  #calm = true;

  constructor(seed: number) {
    this.#random = new Prng(seed);
    this.#world = new World({ seed });
    this.#timers = new CountedTimers(timersOf(this.#world));
    const attach = (id: number) =>
      attachDevice(this.#world, `device ${id}`, { addresses: [`10.0.0.${id}/24`], mtu: 4200 });
    this.#host = new HostileHost(this.#world, attach(1));
    this.#targetDevice = attach(2);
    this.#other = attach(3);
    this.#magic = Uint8Array.from({ length: 16 }, () => this.#random.below(256));
    this.#disks = this.#makeDisks();
    this.#tablesBefore = this.#targetDevice.tables();
    this.#target = this.#listen();
    this.judge = new Judge(this.#host, this.#disks, this.#magic);
  }

  async run(capsules: number): Promise<void> {
    const good = await this.#world.run(this.#connectGood());
    const disk = await this.#world.run(good.namespace(1));
    const block = new Uint8Array(4096);
    for (let i = 0; i < block.length; i += 16) block.set(this.#magic, i);
    const back = new Uint8Array(block.length);
    while (this.judge.tally.capsules < capsules && this.judge.findings.length === 0) {
      await this.#session();
      const lba = this.#random.below(8) * 8;
      await this.#world.run(disk.write(lba, block));
      await this.#world.run(disk.read(lba, back.fill(0)));
      for (const own of this.#disks.get(GOOD)?.values() ?? []) own.accept();
      if (Buffer.compare(back, block) !== 0) this.judge.findings.push('the other host read something else');
      this.#counts.others++;
    }
    if (good.reconnects !== 0) this.judge.findings.push(`the other host lost its connection ${good.reconnects} times`);
    await this.#world.run(good.close());
    await this.#end();
  }

  report(seed: number): FuzzReport {
    const { findings, tally } = this.judge;
    return { seed, findings, ...tally, ...this.#counts };
  }

  #makeDisks() {
    const noise = (content: Uint8Array): void => {
      for (let i = 0; i < content.length; i++) content[i] = this.#random.below(256);
    };
    const magic = (content: Uint8Array): void => {
      for (let i = 0; i < content.length; i += 16) content.set(this.#magic, i);
    };
    const trouble = () => {
      if (this.#calm) return undefined;
      const wait = this.#random.chance(0.5) ? this.#world.sleep(this.#random.below(2_000_000)) : undefined;
      const status = this.#random.chance(0.1) ? NvmeStatus.WriteFault : undefined;
      return { wait, status };
    };
    const open = new Map([
      [1, new NoticingDisk(64 * 1024, 512, noise)],
      [2, new NoticingDisk(128 * 1024, 4096, noise)],
      [3, new NoticingDisk(64 * 1024, 512, noise, true)],
    ]);
    for (const disk of open.values()) disk.trouble = trouble;
    return new Map([
      [OPEN, open],
      [LOCKED, new Map([[1, new NoticingDisk(64 * 1024, 512, noise)]])],
      [VAULT, new Map([[1, new NoticingDisk(64 * 1024, 512, magic)]])],
      [GOOD, new Map([[1, new NoticingDisk(64 * 1024, 512, magic)]])],
    ]);
  }

  #listen(): NvmeTarget {
    const chance = this.#random.fork('secrets');
    const random = (length: number) => Uint8Array.from({ length }, () => chance.below(256));
    const crypto = { ...nvmeCrypto, random };
    const subsystems = [
      new NvmeSubsystem({ nqn: OPEN, ana: true }),
      new NvmeSubsystem({ nqn: LOCKED, hosts: [{ nqn: HOSTILE_NQN, secret: HOST_SECRET }], crypto }),
      new NvmeSubsystem({ nqn: VAULT, hosts: [{ nqn: HOSTILE_NQN, secret: OTHER_SECRET }], crypto }),
      new NvmeSubsystem({ nqn: GOOD, allowedHosts: [GOOD_HOST] }),
    ];
    for (const subsystem of subsystems)
      for (const [nsid, backend] of this.#disks.get(subsystem.nqn) ?? [])
        subsystem.addNamespace({ nsid, backend, blockBytes: backend.blockBytes, uuid: new Uint8Array(16).fill(nsid) });
    return NvmeTarget.listen(this.#targetDevice, {
      subsystems,
      timers: this.#timers,
      maxQueues: MAX_QUEUES,
      maxEntries: ENTRIES,
      maxControllers: 12,
      dataBytes: 1 << 20,
    });
  }

  #connectGood() {
    return connectNvme(this.#other, {
      address: '10.0.0.2',
      subnqn: GOOD,
      hostnqn: GOOD_HOST,
      hostid: new Uint8Array(16).fill(7),
      timers: timersOf(this.#world),
      queueSize: 8,
      reconnectTries: 3,
    });
  }

  /** Some queues, what is done on them, and one way in which they end. */
  async #session(): Promise<void> {
    const random = this.#random;
    if (random.chance(0.04)) await this.#flood();
    if (random.chance(0.15)) await this.#oddRequest();
    const subnqn = pick(random, [OPEN, OPEN, OPEN, OPEN, OPEN, LOCKED, VAULT, DISCOVERY_NQN, GOOD]);
    const admin = await this.#open(0);
    if (admin !== undefined) await this.#begin(admin, subnqn);
    const ready = admin?.state.enabled === true && subnqn !== DISCOVERY_NQN;
    for (let qid = 1; admin !== undefined && ready && qid <= 1 + random.below(MAX_QUEUES); qid++) {
      const io = await this.#open(qid);
      if (io !== undefined) await this.#begin(io, subnqn, admin.state.cntlid);
    }
    const acts = 1 + random.below(40);
    for (let act = 0; act < acts && this.#living().length > 0 && this.judge.findings.length === 0; act++)
      await this.#act(pick(random, this.#living()));
    await this.#leave();
  }

  #living(): HostileQueue[] {
    return this.#live.filter((queue) => !queue.dead);
  }

  async #open(qid: number, privateData?: Uint8Array): Promise<HostileQueue | undefined> {
    const entries = 2 + this.#random.below(ENTRIES - 1);
    const asked = privateData ?? CM_REQUEST.encode({ qid, hrqsize: entries, hsqsize: entries - 1 });
    const queue = await this.#host.open(asked, qid);
    if (queue instanceof HostileQueue) {
      queue.state.entries = entriesOf(asked);
      this.#live.push(queue);
      this.#counts.connections++;
      return queue;
    }
    this.#counts.refused++;
    const reason = queue === undefined ? undefined : CM_REJECT.read(queue)?.sts;
    if (!Object.values<number | undefined>(CmRejectStatus).includes(reason))
      this.judge.findings.push(`a request was refused with reason ${reason}`);
    return undefined;
  }

  #terms(queue: HostileQueue): CapsuleTerms {
    const outstanding = this.judge.outstanding(queue);
    return { random: this.#random, host: this.#host, queue, subnqns: [OPEN, LOCKED, VAULT, GOOD], outstanding };
  }

  /** Connect, the proof where one is asked for, and CC.EN; sometimes something of it is wrong, missing or first. */
  async #begin(queue: HostileQueue, subnqn: string, cntlid = 0xff_ff): Promise<void> {
    const random = this.#random;
    if (random.chance(0.1)) await this.#send(queue, honestCapsule(this.#terms(queue)));
    const kato = pick(random, [5000, 5000, 15_000, 1 + random.below(100)]);
    let capsule = connectCapsule(this.#terms(queue), subnqn, cntlid, kato);
    if (random.chance(0.2)) this.#host.bytes[random.below(1024)] = random.below(256);
    if (random.chance(0.15)) capsule = mutated(this.#terms(queue), capsule, 1 + random.below(2));
    const answer = await this.#send(queue, capsule);
    if (answer?.status !== 0) return;
    const { cntlid: given, authRequired } = CONNECT_RESULT.ofNumber(answer.dw0);
    Object.assign(queue.state, { connected: true, cntlid: given, subnqn });
    if (authRequired) {
      this.#counts.authentications++;
      await authenticate(this.#terms(queue), (bytes) => this.#send(queue, bytes), {
        subNqn: subnqn,
        secret: HOST_SECRET,
      });
    }
    if (queue.qid !== 0 || random.chance(0.05)) return;
    const enabled = await this.#send(queue, enableCapsule(this.#terms(queue)));
    queue.state.enabled = enabled?.status === 0;
  }

  async #send(queue: HostileQueue, capsule: Uint8Array) {
    return queue.dead ? undefined : this.judge.alone(queue, capsule);
  }

  async #act(queue: HostileQueue): Promise<void> {
    const random = this.#random;
    const terms = this.#terms(queue);
    const next = (changes: readonly number[]): Uint8Array =>
      mutated(terms, honestCapsule(this.#terms(queue)), pick(random, changes));
    const kind = random.below(100);
    if (kind < 75) await this.#send(queue, next([0, 0, 1, 1, 1, 2, 3, 5]));
    else if (kind < 90) await this.#burst(queue, () => next([0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1]));
    else if (kind < 92) await this.#noCapsule(queue);
    else if (kind < 95)
      await authenticate(terms, (bytes) => this.#send(queue, bytes), { subNqn: LOCKED, secret: HOST_SECRET });
    else if (kind < 97) await this.#world.run(this.#world.sleep(random.below(2_000_000_000)));
    else if (queue.qid === 0) await this.#send(queue, enableCapsule(terms, pick(random, [0, 0x46_00_01, 0x46_40_01])));
  }

  /** More at a time than the queue has entries, while the disks are slow and fail. */
  async #burst(queue: HostileQueue, next: () => Uint8Array): Promise<void> {
    this.#calm = false;
    const count = 1 + this.#random.below(2 * queue.state.entries);
    for (let i = 0; i < count && !queue.dead; i++) {
      const capsule = next();
      if (queue.send(capsule)) this.judge.left(queue, capsule);
    }
    if (this.#random.chance(0.7)) await this.judge.settle(queue);
    else {
      // It goes in the middle of its commands.
      await this.#world.run(this.#world.sleep(this.#random.below(200_000)));
      if (this.#random.chance(0.5)) queue.vanish();
      await this.judge.settle(queue);
    }
    this.#calm = true;
  }

  /** What no host of NVMe sends: other operations of verbs. */
  async #noCapsule(queue: HostileQueue): Promise<void> {
    const random = this.#random;
    const { memory } = this.#host;
    const to = { remoteAddr: pick(random, [0n, memory.iova]), rkey: pick(random, [0, random.u32()]) };
    const sges = [{ mr: memory, length: pick(random, [0, 8, 8]) }];
    const opcode = pick(random, [
      WrOpcode.RdmaWrite,
      WrOpcode.RdmaWriteWithImm,
      WrOpcode.RdmaRead,
      WrOpcode.SendWithImm,
      WrOpcode.SendWithInv,
      WrOpcode.AtomicFetchAndAdd,
    ]);
    queue.post({ opcode, sges, ...to, invalidateRkey: random.u32(), immData: random.u32() });
    await this.#world.run(this.#world.sleep(random.below(10_000_000)));
    this.judge.look();
    queue.vanish();
  }

  async #oddRequest(): Promise<void> {
    const random = this.#random;
    const bytes = CM_REQUEST.encode({ qid: random.below(5), hrqsize: 32, hsqsize: 31 });
    for (let i = random.below(4); i >= 0; i--) bytes[random.below(12)] = pick(random, [0, 1, 255, random.below(256)]);
    await this.#open(0, bytes.subarray(0, random.chance(0.7) ? 32 : random.below(33)));
  }

  /** Requests for queues, and no command on any. */
  async #flood(): Promise<void> {
    for (let i = 0; i < 70; i++) await this.#open(this.#random.below(2));
    if (this.#target.queues.length > 64 + 12 * (1 + MAX_QUEUES)) this.judge.findings.push('too many queues');
    await this.#leave();
  }

  async #leave(): Promise<void> {
    const silently = this.#random.chance(0.2);
    for (const queue of this.#live.splice(0)) {
      this.judge.forget(queue);
      if (silently) queue.vanish();
      else await queue.disconnect();
    }
    // Until the target has noticed.
    await this.#world.run(this.#world.sleep(silently ? 40e9 : 100_000_000));
    const kept = this.#target.queues.length + this.#target.controllers.length;
    if (this.#timers.pending > kept)
      this.judge.findings.push(`${this.#timers.pending} timers run for ${kept} queues and controllers`);
  }

  async #end(): Promise<void> {
    const { judge } = this;
    if (this.#disks.get(VAULT)?.get(1)?.accesses !== 0)
      judge.findings.push('somebody used the disk behind the other secret');
    await this.#leave();
    // Queues of hosts that have vanished end when nothing comes back, or when no Connect has come.
    await this.#world.run(this.#world.sleep(200e9));
    // Who asked for no keep-alive is probed; who asked for one of days, and vanished, is not missed.
    const missed = this.#target.controllers.filter(({ kato }) => kato < 190_000);
    if (missed.length !== 0) judge.findings.push(`${missed.length} controllers are left`);
    for (const controller of this.#target.controllers) controller.close();
    if (this.#target.queues.length !== 0) judge.findings.push(`${this.#target.queues.length} queues are left`);
    if (this.#target.pool.waiting !== 0) judge.findings.push(`${this.#target.pool.waiting} commands wait for memory`);
    await this.#world.run(this.#target.close());
    // Throws while regions or queue pairs remain.
    this.#target.pd.dealloc();
    await this.#world.run(this.#world.sleep(300e9));
    const left = { ...this.#targetDevice.tables(), ...VARIES };
    const before = { ...this.#tablesBefore, ...VARIES };
    if (JSON.stringify(left) !== JSON.stringify(before))
      judge.findings.push(`left behind: ${JSON.stringify(left)} instead of ${JSON.stringify(before)}`);
  }
}

/** What the private data asks for; in the message zeros follow it. */
function entriesOf(privateData: Uint8Array): number {
  const whole = new Uint8Array(CM_REQUEST.byteLength);
  whole.set(privateData);
  return (CM_REQUEST.read(whole)?.hsqsize ?? 0) + 1;
}

/** Tables that know of neighbours, not of connections. */
const VARIES = { neighbours: 0 };
