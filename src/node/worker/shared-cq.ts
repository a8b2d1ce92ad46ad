/**
 * A completion queue whose entries lie in shared memory, on the worker's side. The device adds completions as to any
 * other and settles it at the end of every turn; the application sees the new entries then.
 */
import type { CompletionQueue } from '../../../transport/completion-queue.ts';
import type { TransportPools } from '../../../transport/pools.ts';
import { type WcStatus, WorkCompletion } from '../../../transport/work.ts';
import { Cq } from '../../device/verbs/index.ts';
import { CompletionWriter, completionRingMemory } from './completion-ring.ts';

export interface SharedCqWatcher {
  /** A completion of this queue pair is about to be shown. */
  completed(qpn: number): void;
  /** Some report keys that the peer has invalidated. */
  invalidated(keys: readonly number[]): void;
  /** The application waits for this queue, and it has completions. */
  wanted(): void;
}

export class SharedCq extends Cq {
  memory: SharedArrayBuffer;
  readonly #writer: CompletionWriter;
  readonly #notified: CompletionQueue[];
  readonly #watcher: SharedCqWatcher;
  readonly #entry = new WorkCompletion();
  /** Numbers of the queue pairs that have completed since the last `settle`. */
  readonly #fresh: number[] = [];
  #listed = false;
  /** Keys that peers have invalidated since then. */
  readonly #invalidated: number[] = [];

  /** @throws RoceError ERR_ROCE_ARGUMENT for an invalid capacity */
  constructor(
    capacity: number,
    notified: CompletionQueue[],
    most: number,
    watcher: SharedCqWatcher,
    pools?: TransportPools,
  ) {
    super(capacity, notified, most, pools);
    this.memory = completionRingMemory(capacity);
    this.#writer = new CompletionWriter(capacity, this.memory);
    this.#notified = notified;
    this.#watcher = watcher;
  }

  override get length(): number {
    return this.#writer.length;
  }

  /** Moves the entries to `memory`; the application switches to it when the answer comes. */
  override resize(capacity: number): void {
    super.resize(capacity);
    this.memory = completionRingMemory(capacity);
    this.#writer.moveTo(capacity, this.memory);
  }

  override push(
    qpn: number,
    wrId: number,
    status: WcStatus,
    opcode: number,
    byteLen: number,
  ): WorkCompletion | undefined {
    if (this.overrun || this.#writer.full) {
      this.overrun = true;
      this.#list();
      return undefined;
    }
    const wc = this.#entry;
    wc.begin(qpn, wrId, status, opcode, byteLen);
    return wc;
  }

  override pushed(wc: WorkCompletion): void {
    this.#writer.write(wc);
    if (wc.invalidatedRkey >= 0) this.#invalidated.push(wc.invalidatedRkey);
    if (!this.#fresh.includes(wc.qpn)) this.#fresh.push(wc.qpn);
    this.#list();
  }

  /** Publishes new entries to the application. */
  override settle(): void {
    this.#listed = false;
    for (const qpn of this.#fresh) this.#watcher.completed(qpn);
    this.#fresh.length = 0;
    if (this.#invalidated.length > 0) this.#watcher.invalidated(this.#invalidated.splice(0));
    if (this.#writer.publish(this.overrun)) this.#watcher.wanted();
  }

  #list(): void {
    if (this.#listed) return;
    this.#listed = true;
    this.#notified.push(this);
  }
}
