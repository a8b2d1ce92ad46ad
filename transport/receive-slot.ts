/**
 * The receive a responder has taken for the message in progress: which buffer, how much of it is filled, and how it
 * completes. At most one is held at a time. The queue it was taken from, the queue pair's own or a shared one, has the
 * protection domain of its memory and, with XRC, the completion queue.
 */
import { dethSourceQpn } from '../packets/deth.ts';
import type { Frame } from '../packets/frame.ts';
import { GRH_BYTES, GRH_IPV4_AT } from '../packets/grh.ts';
import { iethRkey } from '../packets/ieth.ts';
import { immDt } from '../packets/imm-dt.ts';
import { IPV4_BYTES } from '../packets/ipv4.ts';
import { DETH_AT, IETH_AT, IMM_AT, OpFlag } from '../packets/opcode.ts';
import type { QpConfig } from './qp-config.ts';
import { RecvEntry } from './recv-entry.ts';
import type { RecvQueue } from './recv-queue.ts';
import { Verdict } from './verdict.ts';
import { WcOpcode, WcStatus } from './work.ts';

const ZEROS = new Uint8Array(GRH_IPV4_AT);

export class ReceiveSlot {
  /** Bytes of a SEND placed so far. */
  #placed = 0;
  #entry = new RecvEntry();
  #held = false;
  /** That it was taken from. */
  #queue: RecvQueue | undefined = undefined;

  /** Whether a message has taken a receive and not finished. */
  get held(): boolean {
    return this.#held;
  }

  /** Takes the oldest buffer of `queue`; false when there is none. */
  take(queue: RecvQueue): boolean {
    const taken = queue.take(this.#entry);
    if (taken === undefined) return false;
    this.#entry = taken;
    this.#held = true;
    this.#placed = 0;
    this.#queue = queue;
    return true;
  }

  /** Whether `length` more bytes may be placed. */
  check(length: number): Verdict {
    const { segments } = this.#entry;
    if (length > segments.length - this.#placed) return Verdict.BufferTooSmall;
    if (length === 0) return Verdict.Accept;
    return this.#queue !== undefined && segments.accessible(this.#queue.pd, true)
      ? Verdict.Accept
      : Verdict.BufferFault;
  }

  /**
   * Places what a datagram's buffer begins with: 40 bytes that hold the IPv6 header, or zeros and the IPv4 header
   * (ref:conformance#UD-03, rxe:rxe_resp.c#execute). False when memory is not there any more.
   */
  placeNetworkHeader(frame: Frame): boolean {
    const { segments } = this.#entry;
    this.#placed = GRH_BYTES;
    if (frame.ipVersion === 6) return segments.scatter(0, frame.bytes, frame.ipOffset, GRH_BYTES);
    return (
      segments.scatter(0, ZEROS, 0, GRH_IPV4_AT) &&
      segments.scatter(GRH_IPV4_AT, frame.bytes, frame.ipOffset, IPV4_BYTES)
    );
  }

  /** Places the payload of a SEND behind what is there; false when memory is not there any more. */
  place(frame: Frame): boolean {
    const { payloadLength, flags } = frame;
    const { segments } = this.#entry;
    const more = (flags & (OpFlag.First | OpFlag.Middle)) !== 0;
    if (!segments.scatter(this.#placed, frame.bytes, frame.payloadOffset, payloadLength, more)) return false;
    this.#placed += payloadLength;
    return true;
  }

  /**
   * The last packet of a SEND, or of a WRITE with immediate that wrote `written` bytes elsewhere: completes the buffer
   * with what that packet carries. False when the completion found no room.
   */
  finish(frame: Frame, written: number, config: QpConfig): boolean {
    const { flags } = frame;
    this.#held = false;
    const write = (flags & OpFlag.Write) !== 0;
    const opcode = write ? WcOpcode.RecvRdmaWithImm : WcOpcode.Recv;
    const byteLen = write ? written : this.#placed;
    const cq = this.#queue?.cq ?? config.recvCq;
    const wc = cq.push(config.qpn, this.#entry.wrId, WcStatus.Success, opcode, byteLen);
    if (wc === undefined) return false;
    wc.solicited = frame.solicited !== 0;
    if ((flags & OpFlag.Imm) !== 0) wc.immData = immDt(frame.view, frame.bthOffset + (IMM_AT[frame.opcode] as number));
    if ((flags & OpFlag.Invalidate) !== 0) wc.invalidatedRkey = invalidatedKey(frame);
    const deth = DETH_AT[frame.opcode] as number;
    if (deth >= 0) {
      wc.srcQpn = dethSourceQpn(frame.view, frame.bthOffset + deth);
      wc.grh = true;
      wc.ipVersion = frame.ipVersion;
    }
    cq.pushed(wc);
    return true;
  }

  /** The message will not be finished: the buffer, if one is held, completes with `status`. */
  abandon(status: WcStatus, config: QpConfig): void {
    if (!this.#held) return;
    this.#held = false;
    const cq = this.#queue?.cq ?? config.recvCq;
    const wc = cq.push(config.qpn, this.#entry.wrId, status, WcOpcode.Recv, this.#placed);
    if (wc !== undefined) cq.pushed(wc);
  }

  /** The message in progress is broken and leaves no trace: the next one gets its buffer (ref:conformance#UC-05). */
  rewind(): void {
    this.#placed = 0;
  }

  /** Forgets the buffer without a completion. */
  reset(): void {
    if (this.#held) this.#queue?.forget(this.#entry);
    this.#held = false;
  }
}

/** The key that a SEND with invalidate names. */
export function invalidatedKey(frame: Frame): number {
  return iethRkey(frame.view, frame.bthOffset + (IETH_AT[frame.opcode] as number));
}
