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
  /** Bytes of a SEND placed so far. */
  #placed = 0;
  #entry = new RecvEntry();
  #held = false;

  /** Takes the oldest buffer of `queue`; false when there is none. */
  take(queue: RecvQueue): boolean {
    const taken = queue.take(this.#entry);
    if (taken === undefined) return false;
    this.#entry = taken;
    this.#held = true;
    this.#placed = 0;
    return true;
  }

  /** Whether `length` more bytes may be placed. */
  check(length: number, config: QpConfig): Verdict {
    const { segments } = this.#entry;
    if (length > segments.length - this.#placed) return Verdict.BufferTooSmall;
    return length > 0 && !segments.accessible(config.pd, true) ? Verdict.BufferFault : Verdict.Accept;
  }

  /** Places the payload of a SEND behind what is there. */
  place(frame: Frame): void {
    this.#entry.segments.scatter(this.#placed, frame.bytes, frame.payloadOffset, frame.payloadLength);
    this.#placed += frame.payloadLength;
  }

  /**
   * The last packet of a SEND, or of a WRITE with immediate that wrote `written` bytes elsewhere: completes the buffer with
   * what that packet carries.
   */
  finish(frame: Frame, written: number, config: QpConfig): void {
    const { flags } = frame;
    this.#held = false;
    const write = (flags & OpFlag.Write) !== 0;
    const opcode = write ? WcOpcode.RecvRdmaWithImm : WcOpcode.Recv;
    const byteLen = write ? written : this.#placed;
    const wc = config.recvCq.push(config.qpn, this.#entry.wrId, WcStatus.Success, opcode, byteLen);
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
    const wc = config.recvCq.push(config.qpn, this.#entry.wrId, status, WcOpcode.Recv, this.#placed);
    if (wc !== undefined) config.recvCq.pushed(wc);
  }

  /** Forgets the buffer without a completion. */
  reset(): void {
    this.#held = false;
  }
}

/** The key that a SEND with invalidate names. */
export function invalidatedKey(frame: Frame): number {
  return iethRkey(frame.view, frame.bthOffset + (IETH_AT[frame.opcode] as number));
}
