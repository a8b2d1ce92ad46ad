/**
 * QueuePair: one reliable connection, sans I/O. Inputs are `postSend`, `postRecv`, `modify`, `handleFrame` and
 * `handleTimeout`; outputs are polled with `transmit`, `nextDeadline`, `pollEvent` and through the completion queues.
 * It passes values between requester, completer and responder, none of which sees the others, and owns the way to ERROR.
 */
import { RoceError } from '../packets/errors.ts';
import { type Frame, frameDestinationIs, frameSourceIs } from '../packets/frame.ts';
import type { FrameWriter } from '../packets/frame-writer.ts';
import { OpFlag, SERVICE_MASK, Service } from '../packets/opcode.ts';
import { Attempt } from './attempt.ts';
import { Completer, completedBytes, Outcome } from './completer.ts';
import type { PortCounters } from './counters.ts';
import { checkAttributes, type QpAttributes } from './qp-attributes.ts';
import { QpConfig, type QpIdentity } from './qp-config.ts';
import { QP_STATE_NAMES, QpState, rightsOf } from './qp-state.ts';
import { RecvEntry, RecvQueue } from './recv-queue.ts';
import { Requester } from './requester.ts';
import { Reception, Responder } from './responder.ts';
import { completionOpcode, type SendEntry, SendQueue } from './send-queue.ts';
import { ackTimeoutNs } from './timers.ts';
import { Verdict } from './verdict.ts';
import { type RecvWr, type SendWr, WcOpcode, WcStatus } from './work.ts';

export interface QpCapabilities {
  readonly maxSendWr: number;
  readonly maxRecvWr: number;
  readonly maxSge: number;
  readonly maxInlineData: number;
}

/** Asynchronous events of a queue pair, names after ibv_event_type. */
export type QpEvent = 'comm-est' | 'sq-drained' | 'qp-req-err' | 'qp-access-err';

/** What `pollEvent` tells the device: also that the peer has sent its first request, which is as good as the RTU of its CM. */
export type QpSignal = QpEvent | 'first-request';

/** Packets one call of `transmit` may write before other queue pairs get their turn. */
const BURST = 32;

export class QueuePair {
  readonly qpn: number;
  readonly config: QpConfig;
  /** True while the device has this queue pair in its list of those with something to send. */
  listed = false;
  /** Deadline under which the device has this queue pair in its timer heap; Infinity when it has not. */
  heapDeadline = Number.POSITIVE_INFINITY;
  readonly #counters: PortCounters;
  readonly #sendQueue: SendQueue;
  readonly #recvQueue: RecvQueue;
  readonly #requester = new Requester();
  readonly #completer = new Completer();
  readonly #responder = new Responder();
  readonly #replies = this.#responder.replies;
  /** Absent until the first event: most queue pairs never have one. */
  #events: QpSignal[] | undefined = undefined;
  #state: QpState = QpState.Reset;
  #established = false;

  constructor(identity: QpIdentity, capabilities: QpCapabilities, counters: PortCounters) {
    this.qpn = identity.qpn;
    this.config = new QpConfig(identity);
    this.#counters = counters;
    this.#sendQueue = new SendQueue(capabilities.maxSendWr, capabilities);
    this.#recvQueue = new RecvQueue(capabilities.maxRecvWr, capabilities.maxSge);
  }

  get state(): QpState {
    return this.#state;
  }

  /** Send work requests posted and not completed. */
  get sendsOutstanding(): number {
    return this.#sendQueue.length;
  }

  /** Receive work requests posted and not yet taken by a message. */
  get receivesPosted(): number {
    return this.#recvQueue.length;
  }

  // What the application asks for.

  /** Changes attributes and state. Throws ERR_ROCE_STATE or ERR_ROCE_ARGUMENT and changes nothing when the call is not allowed. */
  modify(attributes: QpAttributes): void {
    checkAttributes(this.#state, attributes);
    this.#take(attributes);
    const next = attributes.state ?? this.#state;
    if (attributes.rqPsn !== undefined) this.#responder.reset(attributes.rqPsn);
    if (attributes.sqPsn !== undefined) {
      this.#requester.reset(attributes.sqPsn, this.#sendQueue);
      this.#completer.reset(attributes.sqPsn, this.config);
    }
    if (next === this.#state) return;
    const was = this.#state;
    this.#state = next;
    if (next === QpState.Reset) this.#reset();
    if (next === QpState.Error) this.#enterError(WcStatus.WrFlushErr);
    if (next === QpState.Sqd && was === QpState.Rts) this.#noteDrained();
  }

  /** Posts a send work request; its data must stay untouched until it completes. */
  postSend(wr: SendWr): void {
    const rights = rightsOf(this.#state);
    if (!rights.postSend)
      throw new RoceError('ERR_ROCE_STATE', `cannot post a send in state ${QP_STATE_NAMES[this.#state]}`);
    this.#sendQueue.post(wr);
    if (rights.flush) this.#flush(WcStatus.WrFlushErr);
  }

  postRecv(wr: RecvWr): void {
    const rights = rightsOf(this.#state);
    if (!rights.postRecv)
      throw new RoceError('ERR_ROCE_STATE', `cannot post a receive in state ${QP_STATE_NAMES[this.#state]}`);
    this.#recvQueue.post(wr);
    if (rights.flush) this.#flush(WcStatus.WrFlushErr);
  }

  // What the wire brings.

  /** Takes a packet that parsed well and whose ICRC is right. */
  handleFrame(now: number, frame: Frame): void {
    if (!this.#admits(frame)) return;
    if ((frame.flags & OpFlag.Response) !== 0) this.#handleResponse(now, frame);
    else this.#handleRequest(frame);
  }

  /** Takes a packet of this service whose opcode is reserved. */
  handleReserved(frame: Frame): void {
    if (this.#admits(frame) && this.#mayRespond()) this.#received(this.#responder.handleReserved(frame, this.config));
  }

  /** Does what is due; true when that was because the peer has not acknowledged in time. */
  handleTimeout(now: number): boolean {
    if (now < this.nextDeadline()) return false;
    const silence = !this.#completer.rnrWaiting;
    if (silence) this.#counters.localAckTimeoutErr += 1;
    this.#apply(now, this.#completer.timeout());
    return silence;
  }

  // What leaves.

  /** Writes packets that may leave now, replies first, until nothing may, the burst is spent or the writer is full. */
  transmit(now: number, writer: FrameWriter): void {
    let budget = BURST;
    // Somebody waits for a request, as a rule, and nobody for a mere acknowledge: one goes ahead of it, where both fit. Where a single
    // packet does, the acknowledge goes: requests would keep it back for ever, and the peer would run out of retries.
    if (writer.room > 1 && this.#replies.isAcknowledge && this.#transmitRequest(now, writer)) budget--;
    for (; budget > 0 && !writer.full; budget--) {
      if (!this.#transmitReply(writer) && !this.#transmitRequest(now, writer)) return;
    }
  }

  /** Whether `transmit` has something to write. */
  get pending(): boolean {
    return this.#replies.length > 0 || this.#mayRequest();
  }

  /** When `handleTimeout` is due, in nanoseconds; Infinity when never. */
  nextDeadline(): number {
    // Nothing posted, nothing to time; a queue pair that only answers does not even look at its completer.
    return this.#sendQueue.length === 0 ? Number.POSITIVE_INFINITY : this.#completer.deadline;
  }

  pollEvent(): QpSignal | undefined {
    return this.#events?.shift();
  }

  #admits(frame: Frame): boolean {
    const { config } = this;
    const counters = this.#counters;
    if (config.path === undefined || this.#state < QpState.Rtr) counters.badState += 1;
    else if ((frame.opcode & SERVICE_MASK) !== Service.Rc) counters.badService += 1;
    else if (!pkeysMatch(frame.pkey, config.pkey)) counters.badPkey += 1;
    else if (!frameSourceIs(frame, config.path.remote) || !frameDestinationIs(frame, config.path.local))
      counters.badAddress += 1;
    else return true;
    return false;
  }

  #handleRequest(frame: Frame): void {
    if (!this.#mayRespond()) return;
    if (!this.#established) {
      this.#established = true;
      this.#note('first-request');
      if (this.#state === QpState.Rtr) this.#note('comm-est');
    }
    this.#received(this.#responder.handle(frame, this.#recvQueue, this.config));
  }

  #mayRespond(): boolean {
    const { respond } = rightsOf(this.#state);
    if (!respond) this.#counters.badState += 1;
    return respond;
  }

  #received(reception: Reception): void {
    switch (reception) {
      case Reception.Duplicate:
        this.#counters.duplicateRequest += 1;
        break;
      case Reception.OutOfSequence:
        this.#counters.outOfSeqRequest += 1;
        break;
      case Reception.Dropped:
        this.#counters.droppedRequest += 1;
        break;
      case Reception.NotReady:
        this.#counters.sendRnrErr += 1;
        break;
      case Reception.Refused:
        this.#refused();
        break;
      default:
    }
  }

  /** The NAK is owed; the queue pair goes to ERROR (ref:conformance KEY-01, KEY-02). */
  #refused(): void {
    this.#counters.refusedRequest += 1;
    this.#note(this.#responder.verdict === Verdict.KeyRefused ? 'qp-access-err' : 'qp-req-err');
    this.#state = QpState.Error;
    this.#flush(WcStatus.WrFlushErr);
  }

  #handleResponse(now: number, frame: Frame): void {
    if (!rightsOf(this.#state).request) {
      this.#counters.badState += 1;
      return;
    }
    const outcome = this.#completer.handle(frame, this.#sendQueue, this.#requester.sentPsn, this.config);
    if (outcome === Outcome.Ignore) this.#counters.ignoredResponse += 1;
    else if (outcome === Outcome.Retry) this.#counters.rcvdSeqErr += 1;
    this.#apply(now, outcome);
  }

  #apply(now: number, outcome: Outcome): void {
    const completer = this.#completer;
    const requester = this.#requester;
    if (outcome === Outcome.Ignore) return;
    if (completer.ackedTo > completer.una) this.#advance(now);
    if (outcome === Outcome.Retry) {
      completer.wentBack();
      requester.seek(this.#sendQueue, completer.resumePsn, this.config.mtu);
    } else if (outcome === Outcome.Rnr) {
      this.#counters.rcvdRnrErr += 1;
      completer.beginRnrWait(now);
      requester.seek(this.#sendQueue, completer.resumePsn, this.config.mtu);
    } else if (outcome === Outcome.Fatal) {
      if (completer.status === WcStatus.RetryExcErr) this.#counters.retryExceededErr += 1;
      if (completer.status === WcStatus.RnrRetryExcErr) this.#counters.retryRnrExceededErr += 1;
      this.#enterError(completer.status);
    }
  }

  /** Everything before `ackedTo` is acknowledged: complete it, in order. */
  #advance(now: number): void {
    const una = this.#completer.ackedTo;
    const queue = this.#sendQueue;
    while (queue.length > 0) {
      const entry = queue.at(queue.head);
      if (!entry.started || entry.lastPsn >= una) break;
      if (entry.wantsAnswer) this.#requester.outstanding -= 1;
      if (entry.signaled) this.#completeSend(entry, WcStatus.Success);
      entry.segments.release();
      queue.shift();
    }
    this.#completer.advance(now, una, una < this.#requester.sentPsn, this.config);
    if (this.#requester.psn < una) this.#requester.seek(queue, una, this.config.mtu);
    if (this.#state === QpState.Sqd) this.#noteDrained();
  }

  #note(event: QpSignal): void {
    this.#events ??= [];
    this.#events.push(event);
  }

  #noteDrained(): void {
    const started = this.#sendQueue.length > 0 && this.#sendQueue.at(this.#sendQueue.head).started;
    if (!started) this.#note('sq-drained');
  }

  #transmitReply(writer: FrameWriter): boolean {
    const attempt = this.#responder.transmit(this.config, writer);
    if (attempt === Attempt.Fault) this.#refused();
    return attempt !== Attempt.Nothing;
  }

  #mayRequest(): boolean {
    if (this.#sendQueue.length === 0) return false;
    const rights = rightsOf(this.#state);
    if (!rights.request || this.#completer.rnrWaiting) return false;
    return this.#requester.ready(this.#sendQueue, this.config, this.#completer.una, rights.start);
  }

  #transmitRequest(now: number, writer: FrameWriter): boolean {
    if (!this.#mayRequest()) return false;
    const requester = this.#requester;
    const again = requester.psn < requester.sentPsn;
    const { start } = rightsOf(this.#state);
    switch (requester.transmit(this.#sendQueue, this.config, this.#completer.una, start, writer)) {
      case Attempt.Sent:
        if (again) this.#counters.retransmittedPkts += 1;
        this.#completer.sent(now, this.config);
        return true;
      case Attempt.Fault:
        this.#enterError(requester.fault);
        return false;
      default:
        return false;
    }
  }

  /**
   * To ERROR without a NAK: the oldest send fails with `status`, all else is flushed. Acknowledges of what was executed are
   * still sent, as hardware has sent them before anybody could see the completion; READs are not answered any more.
   */
  #enterError(status: WcStatus): void {
    this.#state = QpState.Error;
    this.#replies.cutAtRead();
    this.#flush(status);
  }

  #flush(firstStatus: WcStatus): void {
    const queue = this.#sendQueue;
    let status = firstStatus;
    this.#completer.stopTimers();
    this.#responder.abandon(WcStatus.WrFlushErr, this.config);
    while (queue.length > 0) {
      const entry = queue.at(queue.head);
      this.#completeSend(entry, status);
      entry.segments.release();
      queue.shift();
      status = WcStatus.WrFlushErr;
    }
    this.#requester.reset(this.#requester.sentPsn, queue);
    this.#flushReceives();
  }

  #flushReceives(): void {
    const { recvCq } = this.config;
    let spent = new RecvEntry();
    for (let taken = this.#recvQueue.take(spent); taken !== undefined; taken = this.#recvQueue.take(spent)) {
      const wc = recvCq.push(this.qpn, taken.wrId, WcStatus.WrFlushErr, WcOpcode.Recv, 0);
      if (wc !== undefined) recvCq.pushed(wc);
      spent = taken;
    }
  }

  /** An error always completes, also of unsignalled work (ref:conformance REQ-33). */
  #completeSend(entry: SendEntry, status: WcStatus): void {
    const { sendCq } = this.config;
    const byteLen = status === WcStatus.Success ? completedBytes(entry) : 0;
    const wc = sendCq.push(this.qpn, entry.wrId, status, completionOpcode(entry.opcode), byteLen);
    if (wc !== undefined) sendCq.pushed(wc);
  }

  #reset(): void {
    this.#sendQueue.clear();
    this.#recvQueue.clear();
    this.#requester.reset(0, this.#sendQueue);
    this.#responder.reset(0);
    this.#completer.reset(0, this.config);
    this.#events = undefined;
    this.#established = false;
    this.config.path = undefined;
  }

  #take(attributes: QpAttributes): void {
    const { config } = this;
    const { access, pkey, migReq, path, destQpn, mtu, maxDestRdAtomic, minRnrTimer, maxRdAtomic } = attributes;
    if (access !== undefined) config.access = access;
    if (pkey !== undefined) config.pkey = pkey;
    if (migReq !== undefined) config.migReq = migReq;
    if (path !== undefined) config.path = path;
    if (destQpn !== undefined) config.destQpn = destQpn;
    if (mtu !== undefined) config.mtu = mtu;
    if (maxDestRdAtomic !== undefined) config.maxDestRdAtomic = maxDestRdAtomic;
    if (minRnrTimer !== undefined) config.minRnrTimer = minRnrTimer;
    if (maxRdAtomic !== undefined) config.maxRdAtomic = maxRdAtomic;
    if (attributes.timeout !== undefined) config.ackTimeoutNs = ackTimeoutNs(attributes.timeout);
    if (attributes.retryCnt !== undefined) config.retryCnt = attributes.retryCnt;
    if (attributes.rnrRetry !== undefined) config.rnrRetry = attributes.rnrRetry;
  }
}

/** Two P_Keys match when their numbers agree and at least one is a full member. */
function pkeysMatch(a: number, b: number): boolean {
  return ((a ^ b) & 0x7fff) === 0 && ((a | b) & 0x8000) !== 0;
}
