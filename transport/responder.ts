/**
 * Responder: executes the peer's requests and queues the replies. A request passes the checks in the order of
 * rxe:rxe_resp.c (ref:rxe#7): PSN, opcode sequence, permission, resources, length, key; then it is executed.
 * Each check is one small function that returns a verdict; `verdict.ts` has the consequences.
 */
import { Syndrome } from '../packets/aeth.ts';
import { atomicRkey, atomicVaHi, atomicVaLo } from '../packets/atomic-eth.ts';
import type { Frame } from '../packets/frame.ts';
import type { FrameWriter } from '../packets/frame-writer.ts';
import { ATOMIC_ETH_AT, OpFlag, RETH_AT } from '../packets/opcode.ts';
import { PSN_MASK } from '../packets/psn.ts';
import { rethDmaLength, rethRkey, rethVaHi, rethVaLo } from '../packets/reth.ts';
import { executeAtomic, executeAtomicWrite } from './atomic.ts';
import { Attempt } from './attempt.ts';
import type { PortCounters } from './counters.ts';
import { checkFlush, executeFlush } from './flush.ts';
import { type ResponderInspection, wirePsn } from './inspection.ts';
import { Access } from './memory.ts';
import type { TransportPools } from './pools.ts';
import { PsnGuard, reachOfRead } from './psn-guard.ts';
import type { QpConfig } from './qp-config.ts';
import { ReadBudget } from './read-budget.ts';
import { invalidatedKey, ReceiveSlot } from './receive-slot.ts';
import type { RecvQueue } from './recv-queue.ts';
import { ReplayMemory } from './replay.ts';
import { type Reply, ReplyKind, ReplyQueue } from './reply-queue.ts';
import { ReplyStep, writeReply } from './reply-writer.ts';
import { continues, isPermitted, lengthFits, OpenMessage } from './request-checks.ts';
import { RequestOutcome } from './request-outcome.ts';
import { extendPsn, MAX_MESSAGE_BYTES } from './send-queue.ts';
import { consequenceOf, Verdict } from './verdict.ts';
import type { WcStatus } from './work.ts';
import { type RemoteTarget, WriteSlot } from './write-slot.ts';

/** Answered by a READ RESPONSE ONLY without data; needs no responder resources. */
const DRAWS_EMPTY_RESPONSE = OpFlag.Flush | OpFlag.AtomicWrite;
/** All that is answered by more than an ACK. */
const DRAWS_RESPONSE = OpFlag.Read | OpFlag.Atomic | DRAWS_EMPTY_RESPONSE;

/** While so many replies wait, requests are dropped as if they were lost: no conforming peer can cause so many. */
const MAX_REPLIES = 1024;

export class Responder {
  /** Next extended PSN to execute. */
  expected = 0;
  /** Completed request messages, 24 bits on the wire. */
  msn = 0;
  readonly replies: ReplyQueue;
  /** After `RequestOutcome.Refused`: why. */
  verdict: Verdict = Verdict.Accept;
  readonly #replay = new ReplayMemory();
  readonly #counters: PortCounters;
  /** Made with the first PSN outside of the window, or a READ that widens it. */
  #guard: PsnGuard | undefined = undefined;
  /** Made with the first READ response of several packets. */
  #readBudget: ReadBudget | undefined = undefined;
  /** A NAK for the expected PSN was sent: no reply until that PSN arrives (ref:conformance#RSP-PSN-05, RNR-06). */
  #nakked = false;
  /** Newest executed SEND, WRITE or atomic packet; -1 before the first (ref:conformance#RSP-PSN-11). */
  #newestAck = -1;
  /** The open multi-packet message. */
  #open: OpenMessage = OpenMessage.None;
  readonly #slot = new ReceiveSlot();
  /** The WRITE of several packets in progress. */
  readonly #write = new WriteSlot();
  /** The WRITE of a single packet; shared with the other responders of the device. */
  readonly #onlyWrite: WriteSlot;
  /** What the READ or atomic that is being handled accesses; shared likewise. */
  readonly #target: RemoteTarget;

  /** `counters` count the PSNs that no honest peer sends, and READ responses that were left out. */
  constructor({ replies, onlyWrite, target }: TransportPools, counters: PortCounters) {
    this.replies = new ReplyQueue(replies);
    this.#counters = counters;
    this.#onlyWrite = onlyWrite;
    this.#target = target;
  }

  /** Begins at this PSN, with so many messages counted. */
  reset(startingPsn: number, msn = 0): void {
    this.expected = startingPsn;
    this.msn = msn;
    this.replies.clear();
    this.#replay.reset();
    this.#guard = undefined;
    this.#readBudget = undefined;
    this.#nakked = false;
    this.#newestAck = -1;
    this.#closeMessage();
    this.#slot.reset();
  }

  /**
   * Takes one request of this queue pair's service. `queue` is where receives come from; undefined where an XRC request
   * names none of the domain.
   */
  handle(now: number, frame: Frame, queue: RecvQueue | undefined, config: QpConfig): RequestOutcome {
    if (this.replies.length >= MAX_REPLIES) return RequestOutcome.Dropped;
    const psn = extendPsn(frame.psn, this.expected);
    if (psn > this.expected) return this.#refuseSequence(now, this.#isOutside(now, psn, config));
    if (psn < this.expected) {
      if (this.#isOutside(now, psn, config) && this.#guard?.takeAnswer(now) === false) return RequestOutcome.Duplicate;
      return this.#duplicate(frame, psn, config);
    }
    this.#nakked = false;
    const verdict = this.#judge(frame, queue, config);
    if (verdict !== Verdict.Accept) return this.#refuse(verdict, config);
    this.peerLives(config);
    return this.#execute(frame, config);
  }

  /** A reserved opcode of our service: refused at the expected PSN, else treated as any packet out of order. */
  handleReserved(now: number, frame: Frame, config: QpConfig): RequestOutcome {
    const psn = extendPsn(frame.psn, this.expected);
    if (psn > this.expected) return this.#refuseSequence(now, this.#isOutside(now, psn, config));
    return psn < this.expected ? RequestOutcome.Dropped : this.#refuse(Verdict.Reserved, config);
  }

  /**
   * Writes one packet of a reply. Fault: a key was invalidated, or memory went away, while its READ was being answered;
   * a NAK takes the place of the missing response (ref:conformance#KEY-13) and `verdict` says why.
   */
  transmit(config: QpConfig, writer: FrameWriter): Attempt {
    for (let reply = this.replies.first; reply !== undefined; reply = this.replies.first) {
      if (!reply.revoked && this.#writeReply(reply, config, writer)) return Attempt.Sent;
      if (!reply.repeated) {
        const psn = reply.psn + reply.sent / config.mtu;
        this.replies.clear();
        this.#refuseAt(psn, Verdict.KeyRefused, config);
        return Attempt.Fault;
      }
      this.replies.shift();
    }
    return Attempt.Nothing;
  }

  /** Something came that only the peer, or who knows its PSNs, can have sent: READ responses may leave. */
  peerLives({ defences }: QpConfig): void {
    this.#readBudget?.refill(defences.maxReadResponseBytes);
  }

  /** Whether a message in progress has taken a receive. */
  get holdsReceive(): boolean {
    return this.#slot.held;
  }

  /** Repeats the last ACK, for the credits in it (ref:conformance#ACK-13). */
  repeatAcknowledge(): void {
    if (this.#newestAck >= 0 && this.replies.length === 0)
      this.replies.acknowledge(this.#newestAck, Syndrome.Ack, this.msn);
  }

  /** Gives up the message in progress, on the way to ERROR: its receive completes with `status`, or not at all. */
  abandon(status: WcStatus | undefined, config: QpConfig): void {
    if (status === undefined) this.#slot.reset();
    else this.#slot.abandon(status, config);
    this.#closeMessage();
  }

  /** Its part of a queue pair's inspection. */
  inspect(): ResponderInspection {
    return {
      ...{ expectedPsn: wirePsn(this.expected), msn: this.msn & PSN_MASK, nakked: this.#nakked },
      ...{ replies: this.replies.inspect(), replays: this.#replay.inspect() },
    };
  }

  #isOutside(now: number, psn: number, { defences }: QpConfig): boolean {
    const away = Math.abs(psn - this.expected);
    if (away <= defences.psnWindow) return false;
    this.#guard ??= new PsnGuard(this.#counters);
    return this.#guard.isOutside(now, away);
  }

  /** False when the memory it is of is not there any more. */
  #writeReply(reply: Reply, config: QpConfig, writer: FrameWriter): boolean {
    // The next packet of a READ response of several is about to leave.
    if (reply.kind === ReplyKind.Read && reply.length - reply.sent > config.mtu) {
      this.#readBudget ??= new ReadBudget(this.#counters, config.defences.maxReadResponseBytes);
      this.#readBudget.spend(reply, config.mtu);
    }
    const step = writeReply(reply, this.replies, config, writer);
    if (step === ReplyStep.Last) this.replies.shift();
    return step !== ReplyStep.Fault;
  }

  /**
   * One NAK for each gap. One that a PSN outside of the window is not granted leaves the next real gap its own
   * (ref:hostile#SEC-01).
   */
  #refuseSequence(now: number, outside: boolean): RequestOutcome {
    if (this.#nakked || (outside && this.#guard?.takeAnswer(now) === false)) return RequestOutcome.Dropped;
    this.#nakked = true;
    this.replies.refuse(this.expected, Syndrome.NakSequence, this.msn);
    return RequestOutcome.OutOfSequence;
  }

  #refuse(verdict: Verdict, config: QpConfig): RequestOutcome {
    if (verdict === Verdict.NotReady) {
      this.#nakked = true;
      this.replies.refuse(this.expected, Syndrome.RnrNak | config.minRnrTimer, this.msn);
      return RequestOutcome.NotReady;
    }
    this.#refuseAt(this.expected, verdict, config);
    return RequestOutcome.Refused;
  }

  #refuseAt(psn: number, verdict: Verdict, config: QpConfig): void {
    const { syndrome, status } = consequenceOf(verdict);
    this.verdict = verdict;
    if (syndrome >= 0) this.replies.refuse(psn, syndrome, this.msn);
    this.abandon(status, config);
  }

  #duplicate(frame: Frame, psn: number, config: QpConfig): RequestOutcome {
    if ((frame.flags & DRAWS_EMPTY_RESPONSE) !== 0) return this.#repeatEmptyResponse(frame, psn);
    if ((frame.flags & (OpFlag.Read | OpFlag.Atomic)) !== 0) {
      // Twice the limit: a peer that repeats faster than we reply has not lost something.
      if (this.replies.repeats >= config.maxDestRdAtomic * 2) return RequestOutcome.Dropped;
      if (!this.#replay.repeat(frame, psn, config.mtu, this.replies, this.msn)) return RequestOutcome.Dropped;
      this.peerLives(config);
      return RequestOutcome.Duplicate;
    }
    if (this.#newestAck < 0) return RequestOutcome.Dropped;
    this.replies.acknowledge(this.#newestAck, Syndrome.Ack, this.msn);
    return RequestOutcome.Duplicate;
  }

  /** A repeated FLUSH or ATOMIC WRITE is answered, and not executed again (ref:conformance#MPE-07, MPE-12). */
  #repeatEmptyResponse(frame: Frame, psn: number): RequestOutcome {
    if (!this.#replay.remembersEmptyResponse(frame.opcode, psn)) return RequestOutcome.Dropped;
    this.replies.answer(ReplyKind.Empty, psn, psn, this.msn, true);
    return RequestOutcome.Duplicate;
  }

  // The checks, in order.

  #judge(frame: Frame, queue: RecvQueue | undefined, config: QpConfig): Verdict {
    const { flags } = frame;
    if (!continues(this.#open, flags)) return Verdict.BadSequence;
    if (!isPermitted(flags, config)) return Verdict.NotPermitted;
    if (queue === undefined) return Verdict.UnknownSrq;
    if ((flags & DRAWS_RESPONSE) !== 0) return this.#judgeResponseRequest(frame, config);
    return (flags & OpFlag.Write) !== 0
      ? this.#judgeWrite(frame, queue, config)
      : this.#judgeSend(frame, queue, config);
  }

  #judgeSend(frame: Frame, queue: RecvQueue, config: QpConfig): Verdict {
    if ((frame.flags & (OpFlag.First | OpFlag.Only)) !== 0 && !this.#slot.take(queue)) return Verdict.NotReady;
    return lengthFits(frame, config.mtu) ? this.#checkSend(frame, config) : Verdict.BadLength;
  }

  /**
   * The receive of a WRITE with immediate is taken last, so that a refused WRITE consumes none (ref:conformance
   * KEY-03).
   */
  #judgeWrite(frame: Frame, queue: RecvQueue, config: QpConfig): Verdict {
    if (!lengthFits(frame, config.mtu)) return Verdict.BadLength;
    const verdict = this.#writeOf(frame.flags).check(frame, config);
    if (verdict !== Verdict.Accept || (frame.flags & OpFlag.Imm) === 0) return verdict;
    return this.#slot.take(queue) ? Verdict.Accept : Verdict.NotReady;
  }

  #judgeResponseRequest(frame: Frame, config: QpConfig): Verdict {
    if ((frame.flags & OpFlag.Flush) !== 0) return checkFlush(frame, this.#target, config);
    if ((frame.flags & OpFlag.AtomicWrite) !== 0) return this.#checkAtomicWrite(frame, config);
    if (this.replies.answers >= config.maxDestRdAtomic) return Verdict.TooManyReads;
    if (frame.payloadLength !== 0 || frame.padCount !== 0) return Verdict.BadLength;
    return (frame.flags & OpFlag.Read) !== 0 ? this.#checkRead(frame, config) : this.#checkAtomic(frame, config);
  }

  #checkSend(frame: Frame, config: QpConfig): Verdict {
    const verdict = this.#slot.check(frame.payloadLength);
    if (verdict !== Verdict.Accept || (frame.flags & OpFlag.Invalidate) === 0) return verdict;
    return config.keys.mayInvalidate(invalidatedKey(frame), config) ? Verdict.Accept : Verdict.BadInvalidate;
  }

  #checkRead(frame: Frame, config: QpConfig): Verdict {
    const reth = frame.bthOffset + (RETH_AT[frame.opcode] as number);
    const length = rethDmaLength(frame.view, reth);
    if (length > MAX_MESSAGE_BYTES) return Verdict.BadLength;
    return this.#target.openReth(frame.view, reth, length, Access.RemoteRead, config);
  }

  #checkAtomic(frame: Frame, config: QpConfig): Verdict {
    const at = frame.bthOffset + (ATOMIC_ETH_AT[frame.opcode] as number);
    const hi = atomicVaHi(frame.view, at);
    const lo = atomicVaLo(frame.view, at);
    if ((lo & 7) !== 0) return Verdict.BadLength;
    return this.#target.open(atomicRkey(frame.view, at), hi, lo, 8, Access.RemoteAtomic, config);
  }

  /** ref:conformance#MPE-09 to MPE-11: eight bytes, and at a multiple of eight. */
  #checkAtomicWrite(frame: Frame, config: QpConfig): Verdict {
    const { view, payloadLength, padCount } = frame;
    const reth = frame.bthOffset + (RETH_AT[frame.opcode] as number);
    if (payloadLength !== 8 || padCount !== 0 || rethDmaLength(view, reth) !== 8) return Verdict.BadLength;
    if ((rethVaLo(view, reth) & 7) !== 0) return Verdict.BadLength;
    return this.#target.openReth(view, reth, 8, Access.RemoteWrite, config);
  }

  // Execution: memory may turn out to be gone, then the request is refused; a completion may find no room, then no
  // reply is queued.

  #execute(frame: Frame, config: QpConfig): RequestOutcome {
    const { flags } = frame;
    if ((flags & DRAWS_RESPONSE) === 0) return this.#executeData(frame, config);
    if ((flags & OpFlag.Read) !== 0) return this.#executeRead(frame, config);
    return (flags & OpFlag.Atomic) !== 0 ? this.#executeAtomic(frame, config) : this.#executeOther(frame, config);
  }

  #executeData(frame: Frame, config: QpConfig): RequestOutcome {
    const { flags } = frame;
    const write = (flags & OpFlag.Write) !== 0;
    if (!(write ? this.#writeOf(flags) : this.#slot).place(frame))
      return this.#refuse(write ? Verdict.KeyRefused : Verdict.BufferFault, config);
    this.#newestAck = this.expected;
    this.expected += 1;
    if ((flags & (OpFlag.Last | OpFlag.Only)) === 0) this.#open = write ? OpenMessage.Write : OpenMessage.Send;
    else if (!this.#finish(frame, config)) return RequestOutcome.Overrun;
    if (frame.ackReq !== 0) this.replies.acknowledge(this.#newestAck, Syndrome.Ack, this.msn);
    return RequestOutcome.Executed;
  }

  #executeRead(frame: Frame, config: QpConfig): RequestOutcome {
    const reth = frame.bthOffset + (RETH_AT[frame.opcode] as number);
    const length = rethDmaLength(frame.view, reth);
    const packets = Math.max(1, Math.ceil(length / config.mtu));
    this.#countMessage();
    const reach = reachOfRead(packets);
    if (reach > config.defences.psnWindow) {
      this.#guard ??= new PsnGuard(this.#counters);
      this.#guard.widen(reach);
    }
    const kept = this.#replay.remember(frame.opcode, this.expected, packets, config.maxDestRdAtomic);
    kept.rkey = rethRkey(frame.view, reth);
    kept.vaHi = rethVaHi(frame.view, reth);
    kept.vaLo = rethVaLo(frame.view, reth);
    kept.grant = this.#target.grant;
    kept.offset = this.#target.offset;
    kept.length = length;
    const reply = this.replies.answer(ReplyKind.Read, this.expected, kept.lastPsn, this.msn, false);
    reply.grant = this.#target.grant;
    reply.offset = this.#target.offset;
    reply.length = length;
    this.expected += packets;
    return RequestOutcome.Executed;
  }

  #executeAtomic(frame: Frame, config: QpConfig): RequestOutcome {
    const kept = this.#replay.remember(frame.opcode, this.expected, 1, config.maxDestRdAtomic);
    if (!executeAtomic(frame, this.#target, kept)) return this.#refuse(Verdict.KeyRefused, config);
    this.#countMessage();
    const reply = this.replies.answer(ReplyKind.Atomic, this.expected, this.expected, this.msn, false);
    reply.originalHi = kept.originalHi;
    reply.originalLo = kept.originalLo;
    this.#newestAck = this.expected;
    this.expected += 1;
    return RequestOutcome.Executed;
  }

  /** FLUSH and ATOMIC WRITE. */
  #executeOther(frame: Frame, config: QpConfig): RequestOutcome {
    if ((frame.flags & OpFlag.Flush) !== 0) executeFlush(frame, this.#target);
    else if (!executeAtomicWrite(frame, this.#target)) return this.#refuse(Verdict.KeyRefused, config);
    this.#countMessage();
    this.#replay.rememberEmptyResponse(frame.opcode, this.expected);
    this.replies.answer(ReplyKind.Empty, this.expected, this.expected, this.msn, false);
    this.#newestAck = this.expected;
    this.expected += 1;
    return RequestOutcome.Executed;
  }

  /** The last packet of a SEND or WRITE has been placed. */
  #finish(frame: Frame, config: QpConfig): boolean {
    this.#countMessage();
    // Whether the completion finds room does not matter (ref:conformance#KEY-14).
    if ((frame.flags & OpFlag.Invalidate) !== 0) config.keys.invalidate(invalidatedKey(frame), config);
    // A plain WRITE involves no receive; with thousands of queue pairs, not looking saves a cache miss.
    const receives = (frame.flags & (OpFlag.Send | OpFlag.Imm)) !== 0;
    const fitted = !receives || this.#slot.finish(frame, this.#writeOf(frame.flags).length, config);
    if (this.#open === OpenMessage.None) this.#onlyWrite.close();
    else this.#closeMessage();
    return fitted;
  }

  #writeOf(flags: number): WriteSlot {
    return (flags & OpFlag.Only) !== 0 ? this.#onlyWrite : this.#write;
  }

  #closeMessage(): void {
    this.#open = OpenMessage.None;
    this.#write.close();
  }

  #countMessage(): void {
    this.msn = (this.msn + 1) & PSN_MASK;
  }
}
