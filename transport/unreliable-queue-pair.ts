/**
 * What the two unreliable services share: there are no replies, so nothing is timed or retransmitted, a reserved opcode
 * draws no NAK, and a local fault of a send stops the send queue alone: SQE (ref:conformance#QPS-07, QPS-21).
 */
import type { Frame } from '../packets/frame.ts';
import { type QpInspection, wirePsn } from './inspection.ts';
import type { QpAttributes } from './qp-attributes.ts';
import { QpState } from './qp-state.ts';
import { QueuePair } from './queue-pair.ts';
import type { WcStatus } from './work.ts';

/** A queue pair whose packets leave once. */
export abstract class UnreliableQueuePair extends QueuePair {
  /** Extended PSN of the next packet. */
  protected psn = 0;

  /** A reserved opcode is dropped. */
  handleReserved(_now: number, _frame: Frame): void {
    this.counters.badService += 1;
  }

  /** Only the pacer has a deadline. */
  handleTimeout(now: number): boolean {
    this.pacer?.handleTimeout(now);
    return false;
  }

  nextDeadline(): number {
    return this.pacer?.deadline ?? Number.POSITIVE_INFINITY;
  }

  /** @internal */
  inspect(): QpInspection {
    return { sends: this.sendQueue.inspect(), receives: this.recvQueue.inspect(), nextPsn: wirePsn(this.psn) };
  }

  protected begin({ sqPsn }: QpAttributes): void {
    if (sqPsn !== undefined) this.psn = sqPsn;
  }

  protected enterError(status: WcStatus): void {
    this.moveTo(QpState.Error);
    this.flush(status);
  }

  /** To SQE: the oldest send fails with `fault`, the others are flushed. */
  protected stopSending(fault: WcStatus): void {
    this.moveTo(QpState.Sqe);
    this.flushSends(fault);
  }
}
