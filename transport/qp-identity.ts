/** What a queue pair is made with, and keeps for life. Owns the records. */
import type { CompletionQueue } from './completion-queue.ts';
import type { NotificationPoint } from './congestion/notification-point.ts';
import type { Pacer } from './congestion/pacer.ts';
import type { Defences } from './defences.ts';
import type { KeyTable } from './key-table.ts';
import type { ProtectionDomain } from './memory.ts';
import type { TransportPools } from './pools.ts';
import type { ReceiveSource } from './recv-queue.ts';
import type { SharedReceiveQueue } from './srq.ts';
import type { QpTrace } from './trace.ts';

/** What a queue pair is made with and keeps for life. */
export interface QpIdentity {
  /** Its number, 24 bits. */
  readonly qpn: number;
  /** Its protection domain. */
  readonly pd: ProtectionDomain;
  /** The keys that its peer may name. */
  readonly keys: KeyTable;
  /** Where sends complete. */
  readonly sendCq: CompletionQueue;
  /** Where receives complete. */
  readonly recvCq: CompletionQueue;
  /** Where receives come from; absent: from a queue of its own. */
  readonly srq?: SharedReceiveQueue;
  /** Where receives of a queue of its own wait that are not posted to it. */
  readonly receiveSource?: ReceiveSource | undefined;
  /** What it does about congestion; absent: nothing. */
  readonly congestion?: QpCongestion | undefined;
  /** What it does about packets that no honest peer sends; absent: `DEFAULT_DEFENCES`. */
  readonly defences?: Defences | undefined;
  /** Receives its decisions; absent: none does. */
  readonly trace?: QpTrace | undefined;
  /** Those of the device; absent: the queue pair has its own. */
  readonly pools?: TransportPools;
}

/** What a queue pair is given to meet congestion with. */
export interface QpCongestion {
  /** Takes note of marked packets. */
  readonly notification: NotificationPoint | undefined;
  /** The pacer of a new connection; undefined when its rate is not limited. */
  newPacer(): Pacer | undefined;
}
