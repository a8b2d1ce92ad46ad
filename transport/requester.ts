/**
 * Requester: turns posted requests into packets, in order, from a cursor that the queue pair can set back (go-back-N).
 * It sees no packet of the peer and owns no timer; request-writer.ts has the packets. ref:wire#8, ref:conformance
 * REQ-25.
 */

import type { FrameWriter } from '../packets/frame-writer.ts';
import { Attempt } from './attempt.ts';
import { CreditLimit } from './credits.ts';
import { type RequesterInspection, wirePsn } from './inspection.ts';
import { executeLocalWork } from './local-work.ts';
import type { QpConfig } from './qp-config.ts';
import { writeAtomic, writeData, writeFlush, writeReadRequest } from './request-writer.ts';
import type { SendEntry } from './send-entry.ts';
import type { SendQueue } from './send-queue.ts';
import { WcStatus, WrOpcode } from './work.ts';

/**
 * A READ waits until it and all that is unacknowledged before it fit half the PSN space; else the peer would take a
 * repetition of the oldest for the future (ref:wire#8). Other requests are kept far below this by `maxUnacked`.
 */
const MAX_PSN_SPAN = 2 ** 23;

/** A flow is slow when the packets between two ACKs it requests take more than this part of the ACK timeout. */
const SLOW_MARGIN = 4;

export class Requester {
  /** Queue position of the request the next packet belongs to. */
  position = 0;
  /** Extended PSN of the next packet. */
  psn = 0;
  /** First extended PSN never sent. */
  sentPsn = 0;
  /** Requests started that expect a response and have not completed. */
  outstanding = 0;
  /** The peer's credits, where it gives any. Made when it does: hardly any connection uses them. */
  credits: CreditLimit | undefined = undefined;
  /** Messages started, ever. */
  #ssn = 0;
  /** The newest packet requests an ACK or a response. */
  drawsReply = false;
  /** After `Attempt.Fault`: the status of the request at `position`. */
  fault: WcStatus = WcStatus.Success;
  /** Bytes of the current request that earlier packets carry. */
  #offset = 0;
  #sinceAckReq = 0;
  /** The flow is so slow that every packet has to request its ACK, if that is to come in time. */
  #slow = false;
  /** FLUSHes leave with the ICRC that rdma_rxe demands. */
  #rxeFlush = false;
  /** A FLUSH of this connection was answered, with either ICRC. */
  #flushAnswered = false;
  /** Position of a request with a local fault that waits for all before it to complete; -1 for none. */
  #faultyPosition = -1;

  reset(startingPsn: number, queue: SendQueue): void {
    this.position = queue.head;
    this.psn = startingPsn;
    this.sentPsn = startingPsn;
    this.outstanding = 0;
    this.#offset = 0;
    this.#sinceAckReq = 0;
    this.#faultyPosition = -1;
  }

  /** A connection begins. */
  begin(startingPsn: number, queue: SendQueue, { flowControl, profile }: QpConfig): void {
    this.reset(startingPsn, queue);
    this.#ssn = 0;
    this.#rxeFlush = profile.flushIcrc.value === 'rxe';
    this.#flushAnswered = false;
    this.credits = flowControl ? (this.credits ?? new CreditLimit()) : undefined;
    this.credits?.reset(flowControl);
  }

  /** The rate has changed. Measured by the longest packets, so that a short one between them changes nothing. */
  setRate(rateBps: number, { mtu, ackInterval, ackTimeoutNs }: QpConfig): void {
    this.#slow = SLOW_MARGIN * 1e9 * 8 * mtu * ackInterval > rateBps * ackTimeoutNs;
  }

  /** A request that expects a response has completed. */
  answered(entry: SendEntry): void {
    this.outstanding -= 1;
    if (entry.opcode === WrOpcode.Flush) this.#flushAnswered = true;
  }

  /**
   * Called when the cursor has been set back. A FLUSH that stays without a response may have an ICRC that its receiver
   * does not accept (packets/rxe-flush-icrc.ts): it is repeated with the other one. Where one was answered before, it
   * was more likely lost, and only the second repetition changes.
   */
  retryFlush(queue: SendQueue, { profile, retryCnt }: QpConfig, retriesLeft: number): void {
    if (profile.flushIcrc.value !== 'in-turn') return;
    if (this.position === queue.tail || queue.at(this.position).opcode !== WrOpcode.Flush) return;
    if (!this.#flushAnswered || retriesLeft < retryCnt - 1) this.#rxeFlush = !this.#rxeFlush;
  }

  /** Whether `transmit` would send a packet or report a fault now. */
  ready(queue: SendQueue, config: QpConfig, una: number, mayStart: boolean): boolean {
    if (this.position === queue.tail || this.psn - una >= config.maxUnacked) return false;
    if (this.position === this.#faultyPosition) return queue.head === this.position;
    const entry = queue.at(this.position);
    if (this.credits !== undefined && !this.#hasCredit(this.credits, entry, una, config.mtu)) return false;
    if (entry.started) return true;
    // rxe:rxe_req.c#rxe_wqe_is_fenced: earlier requests may have to be sent again, from the memory whose key is to be
    // invalidated.
    if (entry.opcode === WrOpcode.LocalInv && queue.head !== this.position) return false;
    return mayStart && this.#mayStart(entry, config, una);
  }

  /** Sends at most one packet. `una` is the oldest unacknowledged PSN. */
  transmit(queue: SendQueue, config: QpConfig, una: number, mayStart: boolean, writer: FrameWriter): Attempt {
    if (!this.ready(queue, config, una, mayStart)) return Attempt.Nothing;
    if (this.position === this.#faultyPosition) return Attempt.Fault;
    const entry = queue.at(this.position);
    if (entry.local) return this.#executeLocal(entry, queue, config);
    this.drawsReply = true;
    const fault = localFault(entry, config);
    if (fault !== WcStatus.Success) return this.#stop(fault, queue);
    if (!entry.started) this.#start(entry, config);
    if (entry.opcode === WrOpcode.RdmaRead) this.#sendRead(entry, config, writer);
    else if (entry.isAtomic) this.#sendAtomic(entry, config, writer);
    else if (entry.opcode === WrOpcode.Flush) this.#sendFlush(entry, config, writer);
    else if (!this.#sendData(entry, config, writer, una)) return this.#stop(WcStatus.LocProtErr, queue);
    if (this.psn > entry.lastPsn) {
      this.position += 1;
      this.#offset = 0;
    }
    if (this.psn > this.sentPsn) this.sentPsn = this.psn;
    return Attempt.Sent;
  }

  /** Moves the cursor to extended PSN `psn`, which was sent before or is the next to send. */
  seek(queue: SendQueue, psn: number, mtu: number): void {
    let position = queue.head;
    while (position < queue.tail) {
      const entry = queue.at(position);
      if (!entry.started || psn <= entry.lastPsn) break;
      position += 1;
    }
    this.position = position;
    this.psn = psn;
    this.#offset = 0;
    if (position === queue.tail) return;
    const entry = queue.at(position);
    if (entry.started) this.#offset = (psn - entry.firstPsn) * mtu;
    this.#sinceAckReq = 0;
  }

  /** Its part of what a queue pair shows. */
  inspect(): Pick<RequesterInspection, 'nextPsn' | 'sentPsn' | 'outstanding'> {
    return { nextPsn: wirePsn(this.psn), sentPsn: wirePsn(this.sentPsn), outstanding: this.outstanding };
  }

  #mayStart(entry: SendEntry, config: QpConfig, una: number): boolean {
    if (this.psn + packetsOf(entry, config.mtu) - una > MAX_PSN_SPAN && entry.expectsResponse) return false;
    if (this.outstanding === 0) return true;
    if (entry.fence) return false;
    return !entry.expectsResponse || this.outstanding < config.maxRdAtomic;
  }

  /**
   * Within the limit everything may be sent. Beyond it, one message may probe with one packet whether there is a
   * receive after all: the first of a SEND, the last of a WRITE with immediate. It goes on when that was acknowledged.
   * Retransmission is not limited. So whatever the credits are, and even if they are lost, the connection never stalls.
   */
  #hasCredit(credits: CreditLimit, entry: SendEntry, una: number, mtu: number): boolean {
    if (!credits.limited || !entry.consumesReceive || this.psn < this.sentPsn) return true;
    const ssn = entry.started ? entry.ssn : this.#ssn + 1;
    const beyond = ssn - credits.lsn;
    if (beyond <= 0 || una === this.sentPsn) return true;
    if (entry.opcode === WrOpcode.RdmaWriteWithImm) return beyond === 1 || entry.length - this.#offset > mtu;
    return entry.started ? una > entry.firstPsn : beyond === 1;
  }

  /**
   * A local request takes no PSN. It is executed once: one that was executed is passed over when the cursor was set
   * back before it.
   */
  #executeLocal(entry: SendEntry, queue: SendQueue, config: QpConfig): Attempt {
    if (!entry.started) {
      const fault = executeLocalWork(entry, config);
      if (fault !== WcStatus.Success) return this.#stop(fault, queue);
      entry.firstPsn = this.psn;
      entry.lastPsn = this.psn - 1;
    }
    this.position += 1;
    return Attempt.Executed;
  }

  /**
   * Completions keep the order of posting: the fault is reported when everything before it has completed, which may
   * have to be retransmitted.
   */
  #stop(fault: WcStatus, queue: SendQueue): Attempt {
    this.fault = fault;
    this.#faultyPosition = this.position;
    return queue.head === this.position ? Attempt.Fault : Attempt.Nothing;
  }

  #start(entry: SendEntry, config: QpConfig): void {
    entry.firstPsn = this.psn;
    entry.lastPsn = this.psn + packetsOf(entry, config.mtu) - 1;
    this.#offset = 0;
    if (entry.expectsResponse) this.outstanding += 1;
    entry.ssn = ++this.#ssn;
    if (this.credits !== undefined && !entry.consumesReceive) this.credits.sentWithoutReceive();
  }

  /** False when the memory of the message is not there any more. */
  #sendData(entry: SendEntry, config: QpConfig, writer: FrameWriter, una: number): boolean {
    this.#sinceAckReq += 1;
    const last = entry.length - this.#offset <= config.mtu;
    const windowCloses = this.psn + 1 - una >= config.maxUnacked;
    const requestsAck = last || windowCloses || this.#slow || this.#probesReceive(entry);
    const ackReq = requestsAck || this.#sinceAckReq >= config.ackInterval ? 1 : 0;
    this.drawsReply = ackReq === 1;
    if (ackReq === 1) this.#sinceAckReq = 0;
    const sent = writeData(writer, config, entry, this.#offset, this.psn, ackReq);
    if (sent < 0) return false;
    this.#offset += sent;
    this.psn += 1;
    return true;
  }

  /** Whether this packet probes for a receive beyond the credits. */
  #probesReceive(entry: SendEntry): boolean {
    const { credits } = this;
    if (credits === undefined || this.#offset > 0) return false;
    return credits.limited && entry.consumesReceive && entry.ssn > credits.lsn;
  }

  /** A READ that is resumed requests only its missing tail (ref:wire#8, ref:conformance#RD-08, REQ-25). */
  #sendRead(entry: SendEntry, config: QpConfig, writer: FrameWriter): void {
    writeReadRequest(writer, config, entry, this.#offset, this.psn);
    this.psn = entry.lastPsn + 1;
  }

  #sendAtomic(entry: SendEntry, config: QpConfig, writer: FrameWriter): void {
    writeAtomic(writer, config, entry, this.psn);
    this.psn += 1;
  }

  #sendFlush(entry: SendEntry, config: QpConfig, writer: FrameWriter): void {
    writeFlush(writer, config, entry, this.psn, this.#rxeFlush);
    this.psn += 1;
  }
}

/** PSNs a request takes: one a packet, for a READ one a response packet. */
function packetsOf(entry: SendEntry, mtu: number): number {
  return entry.isAtomic ? 1 : Math.max(1, Math.ceil(entry.length / mtu));
}

/**
 * Local errors that stop a request before a packet of it leaves; checked again for every packet, as keys may be
 * invalidated.
 */
function localFault(entry: SendEntry, config: QpConfig): WcStatus {
  if (entry.expectsResponse && config.maxRdAtomic === 0) return WcStatus.LocQpOpErr;
  if (entry.inlineLength >= 0 || entry.segments.accessible(config.pd, entry.returnsData)) return WcStatus.Success;
  return WcStatus.LocProtErr;
}
