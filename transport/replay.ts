/**
 * Replay memory: the last requests with responses that a responder executed, so that a duplicate is answered and
 * not executed again. Errors in a repetition are dropped, never NAKed (ref:rxe#7 duplicate READ and atomic;
 * ref:conformance#RSP-PSN-13, RSP-PSN-15..17, RD-07, RD-08, RD-10, ATM-05..ATM-08).
 */
import type { Frame } from '../packets/frame.ts';
import { Op, OpFlag, RETH_AT, SERVICE_MASK } from '../packets/opcode.ts';
import { rethDmaLength, rethRkey, rethVaHi, rethVaLo } from '../packets/reth.ts';
import type { Grant } from './grant.ts';
import { type ReplayInspection, wirePsn } from './inspection.ts';
import { ReplyKind, type ReplyQueue } from './reply-queue.ts';

/** One executed READ or atomic. */
export class ExecutedRequest {
  opcode = -1;
  /** Extended PSNs the request consumed. */
  firstPsn = 0;
  lastPsn = 0;
  rkey = 0;
  vaHi = 0;
  vaLo = 0;
  grant: Grant | undefined = undefined;
  offset = 0;
  length = 0;
  /** Atomic: the value before it. */
  originalHi = 0;
  originalLo = 0;
}

export class ReplayMemory {
  #entries: ExecutedRequest[] = [];
  #next = 0;
  /** FLUSHes and ATOMIC WRITEs by the low bits of their PSN; absent before the first. */
  #emptyResponses: number[] | undefined = undefined;

  reset(): void {
    this.#entries = [];
    this.#next = 0;
    this.#emptyResponses = undefined;
  }

  /** The entry to fill for a request just executed: a new one, or the oldest of `capacity`. */
  remember(opcode: number, firstPsn: number, packets: number, capacity: number): ExecutedRequest {
    let entry = this.#entries[this.#next];
    if (entry === undefined) {
      entry = new ExecutedRequest();
      this.#entries[this.#next] = entry;
    }
    this.#next = (this.#next + 1) % capacity;
    entry.opcode = opcode;
    entry.firstPsn = firstPsn;
    entry.lastPsn = firstPsn + packets - 1;
    entry.grant = undefined;
    return entry;
  }

  /** Queues the response to a repeated READ or atomic; false when it is not remembered or not the same request. */
  repeat(frame: Frame, psn: number, mtu: number, replies: ReplyQueue, msn: number): boolean {
    const entry = this.#find(psn);
    if (entry === undefined || entry.opcode !== frame.opcode) return false;
    if ((frame.flags & OpFlag.Read) !== 0) return repeatRead(entry, frame, psn, mtu, replies, msn);
    const reply = replies.answer(ReplyKind.Atomic, psn, psn, msn, true);
    reply.originalHi = entry.originalHi;
    reply.originalLo = entry.originalLo;
    return true;
  }

  /** READs and atomics remembered, in the order of their PSNs, as plain data. */
  inspect(): ReplayInspection[] {
    const byPsn = [...this.#entries].sort((a, b) => a.firstPsn - b.firstPsn);
    return byPsn.map(({ opcode, firstPsn, lastPsn, originalHi, originalLo }) => ({
      ...{ opcode, firstPsn: wirePsn(firstPsn), lastPsn: wirePsn(lastPsn) },
      original: (BigInt(originalHi >>> 0) << 32n) | BigInt(originalLo >>> 0),
    }));
  }

  /**
   * A FLUSH or ATOMIC WRITE was executed: nothing else has to be kept. A requester that does not count them may send
   * many.
   */
  rememberEmptyResponse(opcode: number, psn: number): void {
    this.#emptyResponses ??= new Array<number>(EMPTY_RESPONSE_SLOTS).fill(-1);
    this.#emptyResponses[psn & (EMPTY_RESPONSE_SLOTS - 1)] = emptyResponseMark(opcode, psn);
  }

  remembersEmptyResponse(opcode: number, psn: number): boolean {
    return this.#emptyResponses?.[psn & (EMPTY_RESPONSE_SLOTS - 1)] === emptyResponseMark(opcode, psn);
  }

  #find(psn: number): ExecutedRequest | undefined {
    for (let i = 0; i < this.#entries.length; i++) {
      const entry = this.#entries[i] as ExecutedRequest;
      if (psn >= entry.firstPsn && psn <= entry.lastPsn) return entry;
    }
    return undefined;
  }
}

/** PSNs that a requester may have outstanding: more than any known one has. */
const EMPTY_RESPONSE_SLOTS = 256;

function emptyResponseMark(opcode: number, psn: number): number {
  return psn * 2 + ((opcode & ~SERVICE_MASK) === Op.Flush ? 1 : 0);
}

/** A repeated READ may request the whole or a tail that starts at a packet boundary; the data is read anew. */
function repeatRead(
  entry: ExecutedRequest,
  frame: Frame,
  psn: number,
  mtu: number,
  replies: ReplyQueue,
  msn: number,
): boolean {
  const reth = frame.bthOffset + (RETH_AT[frame.opcode] as number);
  const skipped = (psn - entry.firstPsn) * mtu;
  const length = rethDmaLength(frame.view, reth);
  const low = entry.vaLo + skipped;
  const hi = (entry.vaHi + (low > 0xff_ff_ff_ff ? 1 : 0)) >>> 0;
  const same =
    rethRkey(frame.view, reth) === entry.rkey &&
    rethVaHi(frame.view, reth) === hi &&
    rethVaLo(frame.view, reth) === low >>> 0 &&
    length <= entry.length - skipped;
  if (!same || entry.grant?.valid === false) return false;
  const lastPsn = psn + Math.max(1, Math.ceil(length / mtu)) - 1;
  const reply = replies.answer(ReplyKind.Read, psn, lastPsn, msn, true);
  reply.grant = entry.grant;
  reply.offset = entry.offset + skipped;
  reply.length = length;
  return true;
}
