/**
 * What the queues and queue pairs of one device share: entries that are not in use, and the state of what is over
 * before the next packet is handled. With thousands of queue pairs, what none of them has to itself stays in a cache.
 * The device owns them.
 */
import { RecvEntry } from './recv-entry.ts';
import { Reply } from './reply-queue.ts';
import { Pool } from './ring.ts';
import { SendEntry } from './send-entry.ts';
import { WorkCompletion } from './work.ts';
import { RemoteTarget, WriteSlot } from './write-slot.ts';

/**
 * Shared by all queues and queue pairs of a device.
 *
 * @example
 * ```ts
 * import { CompletionQueue, TransportPools } from 'rocev2/transport';
 *
 * // Entries that wait in no queue wait here, for whichever queue needs one next.
 * const pools = new TransportPools();
 * const queues = [new CompletionQueue(1_000, [], pools), new CompletionQueue(10, [], pools)];
 * console.log(queues.map(({ capacity }) => capacity).join()); // 1000,10
 * ```
 */
export class TransportPools {
  /** Of completion queues. @internal */
  readonly completions = new Pool(() => new WorkCompletion());
  /** Of receive queues. @internal */
  readonly receives = new Pool(() => new RecvEntry());
  /** Of send queues. @internal */
  readonly sends = new Pool(() => new SendEntry());
  /** Of responders. @internal */
  readonly replies = new Pool(() => new Reply());
  /** A WRITE of a single packet is over before the next packet is handled: one for all responders. @internal */
  readonly onlyWrite = new WriteSlot();
  /** What a READ, atomic, ATOMIC WRITE or FLUSH accesses, likewise. @internal */
  readonly target = new RemoteTarget();
}
