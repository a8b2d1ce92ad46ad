/**
 * UcResponder: takes the requests of an unreliable connection. It sends no replies: what it cannot take is dropped,
 * counted, and leaves no completion, so a message arrives whole or not at all. The bytes of a WRITE that broke off stay
 * where they are.
 *
 * A message is a FIRST or ONLY, whatever its PSN, and what follows it without a gap. Anything else breaks the message
 * in progress, whose receive serves the next one (ref:conformance#UC-01..UC-05, C.1 class D1); with a shared receive
 * queue it completes in error instead (UC-06, class E). A FIRST that breaks a message begins one:
 * rxe:rxe_resp.c#do_class_d1e_error would drop it too. The checks and their order are those of RC.
 */
import type { Frame } from '../packets/frame.ts';
import { OpFlag } from '../packets/opcode.ts';
import { PSN_MASK } from '../packets/psn.ts';
import type { PortCounters } from './counters.ts';
import type { QpConfig } from './qp-config.ts';
import { ReceiveSlot } from './receive-slot.ts';
import type { RecvQueue } from './recv-queue.ts';
import { continues, isPermitted, lengthFits, OpenMessage } from './request-checks.ts';
import { Verdict } from './verdict.ts';
import { WcStatus } from './work.ts';
import { WriteSlot } from './write-slot.ts';

/** What follows from a request. */
export const UcOutcome = {
  /** Taken, or lost because no receive is posted. */ Done: 0,
  /** The receive posted is none: to ERROR. */ Fault: 1,
  /** A completion found no room. */ Overrun: 2,
  /** It was none that an honest peer sends: out of its message, not permitted, of a wrong length. */ Dropped: 3,
} as const;
export type UcOutcome = (typeof UcOutcome)[keyof typeof UcOutcome];

export class UcResponder {
  /** PSN that continues the message in progress. */
  #expected = 0;
  #open: OpenMessage = OpenMessage.None;
  readonly #slot = new ReceiveSlot();
  readonly #write = new WriteSlot();

  /** Forgets everything. UC takes any PSN to begin with, so no starting PSN is needed. */
  reset(): void {
    this.#open = OpenMessage.None;
    this.#write.close();
    this.#slot.reset();
  }

  /** Takes one request of this service. */
  handle(frame: Frame, queue: RecvQueue, config: QpConfig, counters: PortCounters): UcOutcome {
    const { flags, psn } = frame;
    const starts = (flags & (OpFlag.First | OpFlag.Only)) !== 0;
    const follows = !starts && psn === this.#expected && continues(this.#open, flags);
    if (!follows && this.#open !== OpenMessage.None) {
      counters.brokenMessage += 1;
      this.#giveUp(queue, config, WcStatus.RemInvReqErr);
    }
    if (!starts && !follows) {
      counters.droppedRequest += 1;
      return UcOutcome.Dropped;
    }
    const verdict = this.#judge(frame, queue, config);
    if (verdict !== Verdict.Accept) return this.#refuse(verdict, queue, config, counters);
    const write = (flags & OpFlag.Write) !== 0;
    const placed = write ? this.#write.place(frame) : this.#slot.place(frame);
    if (!placed) return this.#refuse(write ? Verdict.KeyRefused : Verdict.BufferFault, queue, config, counters);
    this.#expected = (psn + 1) & PSN_MASK;
    return this.#finish(frame, config) ? UcOutcome.Done : UcOutcome.Overrun;
  }

  /** Gives up the message in progress: its receive, or the one that waits for the next, completes with `status`. */
  abandon(status: WcStatus, config: QpConfig): void {
    this.#slot.abandon(status, config);
    this.#write.close();
    this.#open = OpenMessage.None;
  }

  #judge(frame: Frame, queue: RecvQueue, config: QpConfig): Verdict {
    const { flags, payloadLength } = frame;
    if (!isPermitted(flags, config)) return Verdict.NotPermitted;
    const send = (flags & OpFlag.Send) !== 0;
    if (send && !this.#slot.held && !this.#slot.take(queue)) return Verdict.NotReady;
    if (!lengthFits(frame, config.mtu)) return Verdict.BadLength;
    if (send) return this.#slot.check(payloadLength);
    const verdict = this.#write.check(frame, config);
    if (verdict !== Verdict.Accept || (flags & OpFlag.Imm) === 0) return verdict;
    return this.#slot.held || this.#slot.take(queue) ? Verdict.Accept : Verdict.NotReady;
  }

  #refuse(verdict: Verdict, queue: RecvQueue, config: QpConfig, counters: PortCounters): UcOutcome {
    if (verdict === Verdict.BufferFault) {
      this.abandon(WcStatus.LocProtErr, config);
      return UcOutcome.Fault;
    }
    if (verdict === Verdict.NotReady) counters.noReceive += 1;
    else if (verdict === Verdict.BadLength) counters.badLength += 1;
    else if (verdict === Verdict.BufferTooSmall) counters.bufferTooSmall += 1;
    else counters.accessRefused += 1;
    this.#giveUp(queue, config, verdict === Verdict.BufferTooSmall ? WcStatus.LocLenErr : WcStatus.RemInvReqErr);
    return verdict === Verdict.NotReady ? UcOutcome.Done : UcOutcome.Dropped;
  }

  #giveUp(queue: RecvQueue, config: QpConfig, sharedStatus: WcStatus): void {
    if (queue.shared) this.#slot.abandon(sharedStatus, config);
    else this.#slot.rewind();
    this.#write.close();
    this.#open = OpenMessage.None;
  }

  /** Its payload is placed. False when the completion found no room. */
  #finish(frame: Frame, config: QpConfig): boolean {
    const { flags } = frame;
    if ((flags & (OpFlag.Last | OpFlag.Only)) === 0) {
      this.#open = (flags & OpFlag.Write) !== 0 ? OpenMessage.Write : OpenMessage.Send;
      return true;
    }
    this.#open = OpenMessage.None;
    const fits = (flags & (OpFlag.Send | OpFlag.Imm)) === 0 || this.#slot.finish(frame, this.#write.length, config);
    this.#write.close();
    return fits;
  }
}
