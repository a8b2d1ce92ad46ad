/**
 * Where capsules arrive: in receives of a queue's own, or in receives that the I/O queues of a target share (ibv_srq).
 *
 * Owns the memory of capsules, a task for each receive, and that each receive is posted again once: one that is lost is
 * lost for all who share it. A backend may work on a capsule whose queue is gone; it arrives there again after that.
 */
import { Access, type MemoryRegion } from '../../../../transport/memory.ts';
import type { RdmaPd, RdmaQp, RdmaSrq } from '../../../device/api.ts';
import { COMMAND_BYTES } from '../codec/index.ts';
import { Task } from './task.ts';

/** The receives of one queue. */
export interface CapsuleReceives {
  /** What they are shared by; undefined for those of a queue pair. */
  readonly srq: RdmaSrq | undefined;
  /** How many there are. */
  readonly count: number;
  /** Memory of capsules. */
  readonly capsules: MemoryRegion;
  /** From one capsule to the next, in bytes. */
  readonly capsuleBytes: number;
  /** By `wrId` of the receive. */
  readonly tasks: readonly Task[];
  /** The queue pair is there, and may receive. */
  begin(qp: RdmaQp): void;
  /** A capsule has arrived. False when the queue holds more than it has entries for. */
  arrived(task: Task): boolean;
  /** The receive may be used again. */
  post(task: Task): void;
  /** The queue is gone. These tasks were its own: `post` takes those that are shared. */
  close(): readonly Task[];
}

/** Receives for one queue pair. */
export class OwnReceives implements CapsuleReceives {
  readonly srq = undefined;
  readonly count: number;
  readonly capsules: MemoryRegion;
  readonly capsuleBytes: number;
  readonly tasks: readonly Task[];
  readonly #pd: RdmaPd;
  #qp: RdmaQp | undefined;

  /** @throws RoceError ERR_ROCE_LIMIT, ERR_ROCE_CLOSED */
  constructor(pd: RdmaPd, count: number, inCapsuleBytes: number) {
    this.#pd = pd;
    this.count = count;
    this.capsuleBytes = COMMAND_BYTES + inCapsuleBytes;
    this.capsules = pd.regMr(count * this.capsuleBytes, { access: Access.LocalWrite });
    this.tasks = makeTasks(count);
  }

  begin(qp: RdmaQp): void {
    this.#qp = qp;
    for (const task of this.tasks) this.post(task);
  }

  arrived(): boolean {
    return true;
  }

  post(task: Task): void {
    this.#qp?.postRecv(receiveOf(task, this));
  }

  close(): readonly Task[] {
    this.#qp = undefined;
    this.#pd.deregMr(this.capsules);
    return this.tasks;
  }
}

/** Receives for many queue pairs. */
export class SharedReceives {
  readonly srq: RdmaSrq;
  readonly count: number;
  readonly capsules: MemoryRegion;
  readonly capsuleBytes: number;
  readonly tasks: readonly Task[];
  readonly #pd: RdmaPd;

  /** @throws RoceError ERR_ROCE_ARGUMENT, ERR_ROCE_LIMIT, ERR_ROCE_CLOSED */
  constructor(pd: RdmaPd, count: number, inCapsuleBytes: number) {
    this.#pd = pd;
    this.count = count;
    this.capsuleBytes = COMMAND_BYTES + inCapsuleBytes;
    this.srq = pd.createSrq({ maxWr: count, maxSge: 1 });
    try {
      this.capsules = pd.regMr(count * this.capsuleBytes, { access: Access.LocalWrite });
    } catch (error) {
      this.srq.destroy();
      throw error;
    }
    this.tasks = makeTasks(count);
    for (const task of this.tasks) this.post(task);
  }

  /** The share of a queue, which holds `most` of them at a time. */
  share(most: number): CapsuleReceives {
    return new ReceiveShare(this, most);
  }

  post(task: Task): void {
    if (!this.srq.destroyed) this.srq.postRecv(receiveOf(task, this));
  }

  /** All queues are closed. */
  free(): void {
    this.srq.destroy();
    this.#pd.deregMr(this.capsules);
  }
}

/** What one queue has of receives that are shared. */
class ReceiveShare implements CapsuleReceives {
  readonly srq: RdmaSrq;
  readonly count: number;
  readonly capsules: MemoryRegion;
  readonly capsuleBytes: number;
  readonly tasks: readonly Task[];
  readonly #all: SharedReceives;
  readonly #most: number;
  /** Those that have a capsule of this queue. */
  readonly #held = new Set<Task>();

  constructor(all: SharedReceives, most: number) {
    this.#all = all;
    this.#most = most;
    this.srq = all.srq;
    this.count = all.count;
    this.capsules = all.capsules;
    this.capsuleBytes = all.capsuleBytes;
    this.tasks = all.tasks;
  }

  begin(): void {}

  arrived(task: Task): boolean {
    this.#held.add(task);
    return this.#held.size <= this.#most;
  }

  post(task: Task): void {
    this.#held.delete(task);
    this.#all.post(task);
  }

  close(): readonly Task[] {
    return [...this.#held];
  }
}

function makeTasks(count: number): Task[] {
  return Array.from({ length: count }, (_, slot) => new Task(slot));
}

function receiveOf(
  { slot }: Task,
  { capsules, capsuleBytes }: Pick<CapsuleReceives, 'capsules' | 'capsuleBytes'>,
): Parameters<RdmaSrq['postRecv']>[0] {
  return { wrId: slot, sges: [{ mr: capsules, offset: slot * capsuleBytes, length: capsuleBytes }] };
}
