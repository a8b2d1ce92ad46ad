/**
 * A host made of verbs: memory that its target may use, and queues on which anything can be sent. Owns what came back:
 * the answers, and whether a queue is dead. Every packet of it has a right ICRC.
 */
import {
  Access,
  type Connection,
  type Device,
  type MemoryRegion,
  type Qp,
  QpState,
  type World,
  WrOpcode,
} from '../../../../src/index.ts';
import { COMPLETION_BYTES, NvmeCompletion, readCompletion } from '../../../../src/ulp/nvme/index.ts';

export const MEMORY_BYTES = 256 * 1024;
/** The address of its first byte, whatever its key. */
export const MEMORY_IOVA = 0x7f_00_00_00n;
const CAPSULE_BYTES = 16 * 1024;
const CAPSULES = 64;
const RECEIVES = 128;

/** A response as it came: what of it is wrong is the judge's business. */
export interface RawAnswer extends NvmeCompletion {
  readonly bytes: number;
  /** -1 for none. */
  readonly invalidated: number;
}

export class HostileHost {
  readonly world: World;
  readonly device: Device;
  readonly bytes = new Uint8Array(MEMORY_BYTES);
  readonly #pd;
  #memory: MemoryRegion;

  constructor(world: World, device: Device) {
    this.world = world;
    this.device = device;
    this.#pd = device.allocPd();
    this.#memory = this.#register();
  }

  /** What a target may read and write. */
  get memory(): MemoryRegion {
    return this.#memory;
  }

  /** A new key for the memory: the old one was invalidated, and names nothing any more. */
  renew(): void {
    this.#pd.deregMr(this.#memory);
    this.#memory = this.#register();
  }

  /** Undefined where the target refuses; `refused` has its private data then. */
  async open(privateData: Uint8Array, qid: number): Promise<HostileQueue | Uint8Array | undefined> {
    const cq = this.device.createCq(4096);
    const qp = this.#pd.createQp({ sendCq: cq, recvCq: cq, maxSendWr: 1024, maxRecvWr: RECEIVES });
    const area = this.#pd.regMr(CAPSULES * CAPSULE_BYTES + RECEIVES * COMPLETION_BYTES);
    qp.modifyNow({ state: QpState.Init, access: Access.LocalWrite | Access.RemoteRead | Access.RemoteWrite });
    const queue = new HostileQueue(this.world, { qid, qp, area, free: () => this.#free(qp, cq, area) });
    try {
      const asked = { address: '10.0.0.2', port: 4420, qp, privateData, cmResponseTimeout: 14, maxCmRetries: 3 };
      const connection = await this.world.run(this.device.cm.connect(asked));
      queue.connection = connection;
      void queue.read(cq);
      void connection.closed.then(() => queue.died());
      return queue;
    } catch (error) {
      this.#free(qp, cq, area);
      return error instanceof Error && 'privateData' in error && error.privateData instanceof Uint8Array
        ? error.privateData
        : undefined;
    }
  }

  #register(): MemoryRegion {
    const access = Access.LocalWrite | Access.RemoteRead | Access.RemoteWrite;
    return this.#pd.regMr(this.bytes, { access, iova: MEMORY_IOVA, remoteInvalidate: true });
  }

  #free(qp: Qp, cq: ReturnType<Device['createCq']>, area: MemoryRegion): void {
    qp.destroy();
    this.device.destroyCq(cq);
    this.#pd.deregMr(area);
  }
}

interface QueueParts {
  readonly qid: number;
  readonly qp: Qp;
  readonly area: MemoryRegion;
  readonly free: () => void;
}

export class HostileQueue {
  readonly qid: number;
  readonly qp: Qp;
  readonly answers: RawAnswer[] = [];
  /** What an honest host would know of it. */
  readonly state = { connected: false, enabled: false, entries: 0, cntlid: 0, subnqn: '' };
  connection: Connection | undefined;
  dead = false;
  readonly #world: World;
  readonly #parts: QueueParts;
  #posted = 0;
  #gone = false;

  constructor(world: World, parts: QueueParts) {
    this.#world = world;
    this.#parts = parts;
    this.qid = parts.qid;
    this.qp = parts.qp;
    for (let slot = 0; slot < RECEIVES; slot++) this.#receive(slot);
  }

  /** Takes what comes until the queue pair is dead. */
  async read(
    cq: AsyncIterable<{ status: number; opcode: number; wrId: number; byteLen: number; invalidatedRkey: number }>,
  ) {
    for await (const { status, opcode, wrId, byteLen, invalidatedRkey } of cq) {
      if (this.#gone) return;
      if (status !== 0) this.dead = true;
      else if (opcode >= 128) {
        const answer = new NvmeCompletion();
        readCompletion(this.#parts.area.view, answerAt(wrId), COMPLETION_BYTES, answer);
        this.answers.push(Object.assign(answer, { bytes: byteLen, invalidated: invalidatedRkey }));
        if (!this.dead) this.#receive(wrId);
      }
    }
  }

  died(): void {
    this.dead = true;
  }

  /** Sends bytes as a capsule. False: the queue pair takes nothing any more. */
  send(capsule: Uint8Array): boolean {
    const offset = (this.#posted++ % CAPSULES) * CAPSULE_BYTES;
    const { area } = this.#parts;
    area.bytes.set(capsule, offset);
    return this.post({ opcode: WrOpcode.Send, sges: [{ mr: area, offset, length: capsule.length }] });
  }

  /** Posts any request. */
  post(request: Omit<Parameters<Qp['postSend']>[0], 'wrId'>): boolean {
    try {
      this.qp.postSend({ wrId: 0, ...request });
      return true;
    } catch {
      return false;
    }
  }

  /** Lets time pass until `done`, or for `limitNs`: in steps that become longer. */
  async until(done: () => boolean, limitNs: number): Promise<boolean> {
    const end = this.#world.now + limitNs;
    for (let step = 20_000; !done(); step *= 2) {
      if (this.#world.now >= end) return false;
      await this.#world.run(this.#world.sleep(Math.min(step, 1e9)));
    }
    return true;
  }

  /** Without a word: the target finds out by itself. */
  vanish(): void {
    if (this.#gone) return;
    this.#gone = true;
    this.dead = true;
    this.#parts.free();
  }

  /** In good order. */
  async disconnect(): Promise<void> {
    if (!this.dead) await this.#world.run(Promise.resolve(this.connection?.disconnect()));
    this.vanish();
  }

  #receive(slot: number): void {
    try {
      const { area } = this.#parts;
      this.qp.postRecv({ wrId: slot, sges: [{ mr: area, offset: answerAt(slot), length: COMPLETION_BYTES }] });
    } catch {
      this.dead = true;
    }
  }
}

function answerAt(slot: number): number {
  return CAPSULES * CAPSULE_BYTES + slot * COMPLETION_BYTES;
}
