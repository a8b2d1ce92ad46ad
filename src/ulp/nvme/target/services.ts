/** What a queue needs of its target. Owns these types. */
import type { RdmaDevice, RdmaPd } from '../../../device/api.ts';
import type { DataPool } from './data-pool.ts';
import type { CapsuleReceives } from './receives.ts';
import type { Outcome, Task } from './task.ts';

/** What a queue needs of the target; `Queue` is what the target sees of it. */
export interface QueueServices<Queue> {
  readonly device: RdmaDevice;
  readonly pd: RdmaPd;
  /** Where capsules of a new queue arrive. @throws RoceError ERR_ROCE_LIMIT, ERR_ROCE_CLOSED */
  receivesOf(qid: number, entries: number): CapsuleReceives;
  readonly pool: DataPool;
  /** Data in a capsule at most, in bytes. */
  readonly inCapsuleBytes: number;
  /** Bytes of data that the command moves, 0 for none. Less than 0: a status as its complement, and no data moves. */
  dataLength(queue: Queue, task: Task): number;
  /** Whether a command whose data goes to the host is executed without memory for it, and finds that itself. */
  findsRoom(queue: Queue, task: Task): boolean;
  /**
   * Does what the command says, at once where it can. Undefined: it is held, and `queue.complete` ends it. NEEDS_ROOM,
   * of a command that finds its room: there is none now.
   */
  execute(queue: Queue, task: Task): Execution;
  /** Nanoseconds; 0 where nobody wants to know. */
  now(): number;
  /** A response leaves. */
  answered(queue: Queue, arrivedAt: number): void;
  /** An error of ours has ended the queue. */
  failed(queue: Queue, error: unknown): void;
  /** The queue is gone. `unanswered`: its host no longer acknowledges what is sent. */
  closed(queue: Queue, unanswered: boolean): void;
}

/** What a command ends with, now or later; undefined for one that is held. */
export type Execution = Outcome | undefined | Promise<Outcome | undefined>;
