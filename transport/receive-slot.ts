/**
 * The receive a responder has taken for the message in progress: which buffer, how much of it is filled, and how it completes.
 * At most one is held at a time; where it was taken from (a receive queue, later a shared one) does not matter here.
 */
import type { Frame } from '../packets/frame.ts';
import { iethRkey } from '../packets/ieth.ts';
import { immDt } from '../packets/imm-dt.ts';
import { IETH_AT, IMM_AT, OpFlag } from '../packets/opcode.ts';
import type { QpConfig } from './qp-config.ts';
import { RecvEntry, type RecvQueue } from './recv-queue.ts';
import { Verdict } from './verdict.ts';
import { WcOpcode, WcStatus } from './work.ts';

export class ReceiveSlot {
  /** Bytes of the message so far: placed in the buffer by SEND, elsewhere by WRITE with immediate. */
  received = 0;
  #entry = new RecvEntry();
  #held = false;

  /** Takes the oldest buffer of `queue`; false when there is none. */
  take(queue: RecvQueue): boolean {
    const taken = queue.take(this.#entry);
    if (taken === undefined) return false;
    this.#entry = taken;
    this.#held = true;
    return true;
  }

  /** Whether `length` more bytes may be placed. */
  check(length: number, config: QpConfig): Verdict {
    const { segments } = this.#entry;
    if (length > segments.length - this.received) return Verdict.BufferTooSmall;
    return length > 0 && !segments.accessible(config.pd, true) ? Verdict.BufferFault : Verdict.Accept;
  }

  /** Places the payload of a SEND behind what is there. */
  place(frame: Frame): void {
    this.#entry.segments.scatter(this.received, frame.bytes, frame.payloadOffset, frame.payloadLength);
    this.received += frame.payloadLength;
  }

  /** The last packet of the message: completes the buffer if one is held, with what that packet carries. */
  finish(frame: Frame, config: QpConfig): void {
    if (!this.#held) return;
    const { flags } = frame;
    this.#held = false;
    const opcode = (flags & OpFlag.Write) !== 0 ? WcOpcode.RecvRdmaWithImm : WcOpcode.Recv;
    const wc = config.recvCq.push(config.qpn, this.#entry.wrId, WcStatus.Success, opcode, this.received);
    if (wc === undefined) return;
    wc.solicited = frame.solicited !== 0;
    if ((flags & OpFlag.Imm) !== 0) wc.immData = immDt(frame.view, frame.bthOffset + (IMM_AT[frame.opcode] as number));
    if ((flags & OpFlag.Invalidate) !== 0) wc.invalidatedRkey = invalidatedKey(frame);
    config.recvCq.pushed(wc);
  }

  /** The message will not be finished: the buffer, if one is held, completes with `status`. */
  abandon(status: WcStatus, config: QpConfig): void {
    if (!this.#held) return;
    this.#held = false;
    const wc = config.recvCq.push(config.qpn, this.#entry.wrId, status, WcOpcode.Recv, this.received);
    if (wc !== undefined) config.recvCq.pushed(wc);
  }

  /** Forgets the buffer without a completion. */
  reset(): void {
    this.#held = false;
    this.received = 0;
  }
}

/** The key that a SEND with invalidate names. */
export function invalidatedKey(frame: Frame): number {
  return iethRkey(frame.view, frame.bthOffset + (IETH_AT[frame.opcode] as number));
}
