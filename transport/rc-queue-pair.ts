/**
 * RcQueuePair: one reliable connection. It passes values between requester, completer and responder, none of which sees
 * the others, and owns the way to ERROR. Everything that is true of any service is in queue-pair.ts.
 */
import { aethMsn, aethSyndrome, SYNDROME_KIND_MASK, SYNDROME_VALUE_MASK, SyndromeKind } from '../packets/aeth.ts';
import type { Frame } from '../packets/frame.ts';
import type { FrameWriter } from '../packets/frame-writer.ts';
import { AETH_AT, OpFlag } from '../packets/opcode.ts';
import { PSN_MASK } from '../packets/psn.ts';
import { Attempt } from './attempt.ts';
import { Completer, ResponseOutcome } from './completer.ts';
import type { Pacer } from './congestion/pacer.ts';
import type { PortCounters } from './counters.ts';
import { type CreditLimit, creditCode } from './credits.ts';
import type { QpInspection } from './inspection.ts';
import { MigState, type QpAttributes } from './qp-attributes.ts';
import type { QpCapabilities } from './qp-capabilities.ts';
import type { QpIdentity } from './qp-identity.ts';
import { QpState, rightsOf } from './qp-state.ts';
import { QpType } from './qp-type.ts';
import { BURST, QueuePair } from './queue-pair.ts';
import type { RecvQueue } from './recv-queue.ts';
import type { ReplyQueue } from './reply-queue.ts';
import { countOutcome, isExpected, JUDGEMENTS, RequestOutcome } from './request-outcome.ts';
import { Requester } from './requester.ts';
import { Responder } from './responder.ts';
import type { RetryTrigger } from './trace.ts';
import { Verdict } from './verdict.ts';
import { type RecvWr, WcStatus } from './work.ts';

/**
 * Requests that go ahead of a lone ACK: the data of a message in two parts, and the SEND behind it that says so. A link
 * that cuts datagrams out of a run hands over both as one, which a peer that waits for them sees at once.
 */
const REQUESTS_AHEAD = 2;

/**
 * A queue pair of a reliable connection: RC, or either end of XRC.
 *
 * @example
 * ```ts
 * import { QpState, WrOpcode } from 'rocev2';
 * import { FrameWriter, HeaderTemplate, IpAddress, Medium } from 'rocev2/packets';
 * import { Prng } from 'rocev2/sim';
 * import { CompletionQueue, KeyTable, PortCounters, ProtectionDomain, RcQueuePair } from 'rocev2/transport';
 *
 * const [local, remote] = [IpAddress.parse('10.0.0.1'), IpAddress.parse('10.0.0.2')];
 * const macs = { sourceMac: new Uint8Array(6), destMac: new Uint8Array(6) };
 * const ip = { source: local, destination: remote, trafficClass: 0, hopLimit: 64, flowLabel: 0, sourcePort: 50_000 };
 * const path = { local, remote, template: new HeaderTemplate({ medium: Medium.Ip, ...macs, ...ip }) };
 * const cq = new CompletionQueue(16, []);
 * const pd = new ProtectionDomain(1);
 * const identity = { qpn: 0x11, pd, keys: new KeyTable(new Prng(1), 16), sendCq: cq, recvCq: cq };
 * const room = { maxSendWr: 4, maxRecvWr: 4, maxSge: 1, maxInlineData: 64 };
 * const qp = new RcQueuePair(identity, room, new PortCounters());
 * qp.modify({ state: QpState.Init, access: 0 });
 * const limits = { maxDestRdAtomic: 1, minRnrTimer: 12 };
 * qp.modify({ state: QpState.Rtr, path, destQpn: 0x22, rqPsn: 0, mtu: 1024, ...limits });
 * qp.modify({ state: QpState.Rts, sqPsn: 0, timeout: 14, retryCnt: 7, rnrRetry: 7, maxRdAtomic: 1 });
 * qp.postSend({ wrId: 1, opcode: WrOpcode.Send, inline: Uint8Array.of(1, 2, 3) });
 * const frames = new FrameWriter(4, 2048);
 * qp.transmit(0, frames);
 * // One packet, and a deadline: without an ACK it leaves again after 67 ms.
 * console.log(frames.count, frames.lengths[0], qp.nextDeadline(), cq.length); // 1 48 67108864 0
 * ```
 */
export class RcQueuePair extends QueuePair {
  readonly #requester = new Requester();
  readonly #completer = new Completer(this.counters);
  readonly #responder = new Responder(this.pools, this.counters);
  /** The responder's. Fields and methods, no private accessors: V8 calls those by way of its runtime. */
  readonly #replies: ReplyQueue = this.#responder.replies;
  /** The last ACK advertised zero credits. */
  #noReceivesAdvertised = false;
  /** A READ response was sent last: a request goes before the next one. */
  #requestGoesNext = false;

  /** `type` is RC, or one of the two XRC types, whose connections work the same way. */
  constructor(identity: QpIdentity, capabilities: QpCapabilities, counters: PortCounters, type: QpType = QpType.Rc) {
    super(type, identity, capabilities, counters);
  }

  /** As in ERROR, ACKs still leave and READs are not answered any more. */
  override retire(): void {
    this.#replies.dropFromFirstRead();
    super.retire();
    this.#responder.abandon(undefined, this.config);
  }

  /** Receives posted after zero credits were advertised are advertised at once, for the peer waits. */
  override postRecv(wr: RecvWr): void {
    super.postRecv(wr);
    if (!this.#noReceivesAdvertised || !rightsOf(this.current).respond) return;
    this.#noReceivesAdvertised = false;
    this.#responder.repeatAcknowledge();
  }

  handleFrame(now: number, frame: Frame): void {
    if (!this.admitsFromPeer(now, frame)) return;
    if ((frame.flags & OpFlag.Response) !== 0) this.#handleResponse(now, frame);
    else this.#handleRequest(now, frame);
  }

  handleReserved(now: number, frame: Frame): void {
    if (this.admitsFromPeer(now, frame) && this.mayRespond())
      this.#applyRequest(frame, this.#responder.handleReserved(now, frame, this.config));
  }

  handleTimeout(now: number): boolean {
    this.pacer?.handleTimeout(now);
    if (now < this.#ackDeadline()) return false;
    const { rnrWaiting, nakWaiting } = this.#completer;
    const silence = !(rnrWaiting || nakWaiting);
    if (silence) this.counters.localAckTimeoutErr += 1;
    if (nakWaiting) this.counters.rcvdSeqErr += 1;
    this.#apply(now, this.#completer.timeout(), nakWaiting ? 'nak' : 'timeout');
    return silence;
  }

  /** Replies first, then requests; but READ responses and requests take turns: a busy responder would send none. */
  transmit(now: number, writer: FrameWriter): void {
    let budget = BURST;
    // A few requests go ahead of a lone ACK where all fit: they matter more to the application. Where one packet fits,
    // the ACK goes: requests would delay it infinitely, and the peer would run out of retries.
    for (let ahead = 0; ahead < REQUESTS_AHEAD && writer.room > 1 && this.#replies.isAcknowledge; ahead++) {
      if (!this.#transmitRequest(now, writer)) break;
      budget--;
    }
    for (; budget > 0 && !writer.full; budget--) {
      if (this.#requestGoesNext && this.#replies.isData && this.#transmitRequest(now, writer)) continue;
      if (!this.#transmitReply(now, writer) && !this.#transmitRequest(now, writer)) return;
    }
  }

  get pending(): boolean {
    if (this.pacing) return this.#replies.length > 0 && !this.#replies.isData;
    return this.#replies.length > 0 || this.#mayRequest();
  }

  nextDeadline(): number {
    return this.pacer === undefined ? this.#ackDeadline() : Math.min(this.#ackDeadline(), this.pacer.deadline);
  }

  /** @internal */
  held(sinceNs: number, untilNs: number): void {
    this.#completer.held(sinceNs, untilNs, this.config);
  }

  /** @internal */
  inspect(): QpInspection {
    const { nextPsn, sentPsn, outstanding } = this.#requester.inspect();
    return {
      sends: this.sendQueue.inspect(),
      receives: this.recvQueue.inspect(),
      requester: { nextPsn, sentPsn, outstanding, ...this.#completer.inspect(), deadline: this.#ackDeadline() },
      responder: this.#responder.inspect(),
    };
  }

  /** Nothing posted, nothing to time; one that only responds does not even read its completer. */
  #ackDeadline(): number {
    return this.sendQueue.length === 0 ? Number.POSITIVE_INFINITY : this.#completer.deadline;
  }

  protected begin(attributes: QpAttributes): void {
    if (attributes.rqPsn !== undefined) this.#responder.reset(attributes.rqPsn, attributes.msn);
    if (attributes.sqPsn !== undefined) {
      this.#requester.begin(attributes.sqPsn, this.sendQueue, this.config);
      this.#completer.reset(attributes.sqPsn, this.config);
    } else if (attributes.retryCnt !== undefined || attributes.rnrRetry !== undefined) {
      this.#completer.limit(this.config);
    }
  }

  protected clearConnection(): void {
    this.#requester.reset(0, this.sendQueue);
    this.#responder.reset(0);
    this.#completer.reset(0, this.config);
    this.#replies.reset();
    this.#noReceivesAdvertised = false;
  }

  protected override rateChanged({ rateBps }: Pacer): void {
    this.#requester.setRate(rateBps, this.config);
  }

  protected override oweBecn(): void {
    this.#replies.becnOwed = true;
  }

  /**
   * Without a NAK. ACKs of what was executed are still sent, as hardware has sent them before the completion can be
   * polled; READs are not answered any more.
   */
  protected enterError(status: WcStatus): void {
    this.moveTo(QpState.Error);
    this.#replies.dropFromFirstRead();
    this.flush(status);
  }

  protected override flush(firstStatus: WcStatus): void {
    this.#responder.abandon(WcStatus.WrFlushErr, this.config);
    super.flush(firstStatus);
  }

  protected override flushSends(firstStatus: WcStatus): void {
    this.#completer.stopTimers();
    super.flushSends(firstStatus);
    this.#requester.reset(this.#requester.sentPsn, this.sendQueue);
  }

  /** Where the receive for a request comes from; undefined when the request names a queue that is not there. */
  protected receivesFor(_frame: Frame): RecvQueue | undefined {
    return this.recvQueue;
  }

  #handleRequest(now: number, frame: Frame): void {
    if (!this.mayRespond()) return;
    const outcome = this.#responder.handle(now, frame, this.receivesFor(frame), this.config);
    if (isExpected(outcome)) this.noteRequest();
    this.#applyRequest(frame, outcome);
  }

  #applyRequest(frame: Frame, outcome: RequestOutcome): void {
    const judgement = JUDGEMENTS[outcome];
    if (judgement !== undefined) this.config.trace?.judged(this.qpn, frame.psn, judgement);
    countOutcome(outcome, this.counters);
    if (outcome === RequestOutcome.Executed) this.port?.learn(frame);
    else if (outcome === RequestOutcome.Refused) this.#refused();
    else if (outcome === RequestOutcome.Overrun) this.fail();
  }

  /** The NAK is queued; the queue pair goes to ERROR (ref:conformance#KEY-01, KEY-02). */
  #refused(): void {
    this.counters.refusedRequest += 1;
    const { verdict } = this.#responder;
    // Already in ERROR: replies queued before were still leaving, and the key of one was invalidated.
    if (this.current !== QpState.Error)
      this.note(verdict === Verdict.KeyRefused || verdict === Verdict.UnknownSrq ? 'qp-access-err' : 'qp-req-err');
    this.moveTo(QpState.Error);
    this.flush(WcStatus.WrFlushErr);
  }

  #handleResponse(now: number, frame: Frame): void {
    if (!rightsOf(this.current).request) {
      this.counters.badState += 1;
      return;
    }
    if (this.#requester.credits?.limited === true) this.#takeCredits(frame, this.#requester.credits);
    if (frame.becn === 1 && this.config.congestion?.notification?.parameters.signal === 'ack')
      this.handleCnp(now, frame, true);
    const outcome = this.#completer.handle(now, frame, this.sendQueue, this.#requester.sentPsn, this.config);
    if (outcome === ResponseOutcome.Ignore) this.counters.ignoredResponse += 1;
    else if (outcome === ResponseOutcome.Retry) {
      this.counters.rcvdSeqErr += 1;
      if (!isNak(frame)) this.counters.impliedNakSeqErr += 1;
    }
    if (this.#completer.ackedTo > this.#completer.una) this.port?.learn(frame);
    this.#apply(now, outcome, 'nak');
  }

  #apply(now: number, outcome: ResponseOutcome, trigger: RetryTrigger): void {
    const completer = this.#completer;
    const requester = this.#requester;
    const { qpn } = this;
    const { trace } = this.config;
    if (outcome === ResponseOutcome.Ignore) return;
    if (completer.ackedTo > completer.una) this.#advance(now);
    if (this.current === QpState.Error) return;
    if (outcome === ResponseOutcome.Retry) {
      completer.beginRetry(now, trigger === 'nak');
      requester.seek(this.sendQueue, completer.resumePsn, this.config.mtu);
      trace?.retried(qpn, completer.resumePsn & PSN_MASK, trigger, completer.retriesLeft);
      requester.retryFlush(this.sendQueue, this.config, completer.retriesLeft);
    } else if (outcome === ResponseOutcome.Rnr) {
      this.counters.rcvdRnrErr += 1;
      completer.beginRnrWait(now);
      trace?.rnrWait(qpn, completer.resumePsn & PSN_MASK, completer.waitNs);
      requester.seek(this.sendQueue, completer.resumePsn, this.config.mtu);
    } else if (outcome === ResponseOutcome.Fatal && completer.status === WcStatus.RetryExcErr && this.#mayMigrate()) {
      // The path has failed, not the peer: from the oldest unacknowledged packet again, by the other path.
      completer.limit(this.config);
      completer.stopTimers();
      requester.seek(this.sendQueue, completer.una, this.config.mtu);
      trace?.retried(qpn, completer.una & PSN_MASK, 'migration', completer.retriesLeft);
    } else if (outcome === ResponseOutcome.Fatal) {
      completer.countFailure();
      this.enterError(completer.status);
    }
  }

  #mayMigrate(): boolean {
    return this.config.pathMigState === MigState.Armed && this.migrate();
  }

  /** Everything before `ackedTo` is acknowledged: complete it, in order. */
  #advance(now: number): void {
    const una = this.#completer.ackedTo;
    this.#responder.peerLives(this.config);
    if (!this.#completeBefore(una)) return;
    this.#completer.advance(now, una, una < this.#requester.sentPsn, this.config);
    this.config.trace?.acknowledged(this.qpn, una & PSN_MASK, this.#requester.sentPsn - una);
    if (this.#requester.psn < una) this.#requester.seek(this.sendQueue, una, this.config.mtu);
    if (this.current === QpState.Sqd) this.noteDrained();
  }

  /**
   * Completes, in order, all requests whose PSNs lie before `una`; one that was executed here has none. False when it
   * found no room.
   */
  #completeBefore(una: number): boolean {
    const queue = this.sendQueue;
    while (queue.length > 0) {
      const entry = queue.at(queue.head);
      if (!entry.started || entry.lastPsn >= una) break;
      if (entry.expectsResponse) this.#requester.answered(entry);
      if (entry.signaled) this.completeSend(entry, WcStatus.Success);
      entry.release();
      queue.shift();
    }
    if (!this.config.sendCq.overrun) return true;
    this.fail();
    return false;
  }

  #transmitReply(now: number, writer: FrameWriter): boolean {
    const { isData } = this.#replies;
    if (isData && !this.mayLeave(now)) return false;
    if (this.config.flowControl && !this.recvQueue.shared) this.#countReceives();
    const attempt = this.#responder.transmit(this.config, writer);
    if (attempt === Attempt.Fault) this.#refused();
    else if (attempt === Attempt.Sent) {
      if (isData) {
        this.#requestGoesNext = true;
        this.frameSent(now, writer);
      } else this.pacer?.sentUnpaced();
    }
    return attempt !== Attempt.Nothing;
  }

  /** The message in progress counts: its receive is taken, but it is not among those that the MSN counts. */
  #countReceives(): void {
    if (this.#replies.length === 0) return;
    const receives = this.recvQueue.length + (this.#responder.holdsReceive ? 1 : 0);
    this.#replies.ackSyndrome = creditCode(receives);
    this.#noReceivesAdvertised = receives === 0;
  }

  /** Ghosts of old ACKs may give credits, too (ref:conformance#REQ-10): never more than there were. */
  #takeCredits(frame: Frame, credits: CreditLimit): void {
    const at = AETH_AT[frame.opcode] as number;
    if (at < 0) return;
    const syndrome = aethSyndrome(frame.view, frame.bthOffset + at);
    if ((syndrome & SYNDROME_KIND_MASK) !== SyndromeKind.Ack) return;
    credits.granted(aethMsn(frame.view, frame.bthOffset + at), syndrome & SYNDROME_VALUE_MASK);
  }

  #mayRequest(): boolean {
    if (this.sendQueue.length === 0) return false;
    const rights = rightsOf(this.current);
    if (!rights.request || this.#completer.rnrWaiting) return false;
    return this.#requester.ready(this.sendQueue, this.config, this.#completer.una, rights.start);
  }

  #transmitRequest(now: number, writer: FrameWriter): boolean {
    if (!this.#mayRequest() || !this.mayLeave(now)) return false;
    const requester = this.#requester;
    const { psn } = requester;
    const again = psn < requester.sentPsn;
    const { start } = rightsOf(this.current);
    switch (requester.transmit(this.sendQueue, this.config, this.#completer.una, start, writer)) {
      case Attempt.Sent:
        if (again) this.counters.retransmittedPkts += 1;
        this.#completer.sent(now, !again && requester.drawsReply ? psn : -1, this.config);
        this.#requestGoesNext = false;
        this.frameSent(now, writer);
        return true;
      case Attempt.Executed:
        return this.#completeBefore(this.#completer.una);
      case Attempt.Fault:
        this.enterError(requester.fault);
        return false;
      default:
        return false;
    }
  }
}

function isNak({ opcode, view, bthOffset }: Frame): boolean {
  const at = AETH_AT[opcode] ?? -1;
  return at >= 0 && (aethSyndrome(view, bthOffset + at) & SYNDROME_KIND_MASK) === SyndromeKind.Nak;
}
