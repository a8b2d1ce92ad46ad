/**
 * One TCP connection as a machine without I/O: segments and the time go in, segments come out, a deadline is a number.
 *
 * Enough of RFC 9293 for a few short conversations in both roles: handshake (simultaneous open too), data in order,
 * windows and their probes, retransmission, closing from either side, resets. Not supported: window scaling, SACK,
 * timestamps, urgent data, fast retransmission; an out-of-order segment is dropped; the peer retransmits it. Never more
 * than the initial window of RFC 6928 is under way, so there is no congestion window to grow.
 *
 * Positions count from the SYN, which is position 0, and never wrap; only `#positionOf` and the writers know of 32
 * bits. The state is not stored: it follows from what was sent, received and acknowledged (`state`).
 * Sources: RFC 9293 3.10 (events), 3.5.2 and RFC 5961 (resets), 3.8.6.1 (probes); RFC 6298; RFC 1122 4.2.3.3.
 */
import { StreamBuffer } from './byte-queue.ts';
import type { TcpConnectionOptions, TcpEnd, TcpState } from './connection-types.ts';
import { RetransmissionTimeout } from './retransmission.ts';
import { sequenceLength, TcpFlag, type TcpSegment } from './segment.ts';

export class TcpConnection {
  /** Set once the connection is over; `timeout` when the peer stopped answering. */
  end: TcpEnd | undefined;
  readonly #options: TcpConnectionOptions;
  readonly #timeout = new RetransmissionTimeout();
  /** From the first byte that is not acknowledged on. */
  readonly #outgoing = new StreamBuffer();
  readonly #incoming = new StreamBuffer();
  /** Initial receive sequence, once the peer's SYN has come. */
  #irs: number | undefined;
  #mss: number;
  /** First position that is not acknowledged, next to send, and the end of what was ever sent. */
  #unacked = 0;
  #next = 0;
  #sentEnd = 0;
  /** Next position expected; 1 when only the SYN has come. */
  #expected = 0;
  #peerWindow = 0;
  #windowSeenAt = 0;
  /** Window at the last acknowledgement we sent, to know when its growth needs a window update. */
  #toldWindow = MAX_WINDOW;
  #congestionBytes: number;
  /** Position after the last byte written: where the FIN comes. */
  #bytesEnd = 1;
  #finWanted = false;
  #finReceived = false;
  /** The peer closed first, so the peer is the one in TIME-WAIT. */
  #passiveClose = false;
  #readerGone = false;
  #ackOwed = false;
  /** Sequence number of a reset to be sent. */
  #resetAt: number | undefined;
  #probe = false;
  #heldBack = false;
  #retries = 0;
  #deadline = Infinity;

  constructor(options: TcpConnectionOptions) {
    this.#options = options;
    this.#mss = options.mss;
    this.#congestionBytes = INITIAL_SEGMENTS * options.mss;
  }

  get state(): TcpState {
    if (this.end !== undefined) return 'closed';
    if (this.#irs === undefined) return 'syn-sent';
    if (this.#unacked === 0) return 'syn-received';
    if (!this.#finSent) return this.#finReceived ? 'close-wait' : 'established';
    if (this.#finReceived && this.#passiveClose) return 'last-ack';
    if (this.#finReceived) return this.#finAcked ? 'time-wait' : 'closing';
    return this.#finAcked ? 'fin-wait-2' : 'fin-wait-1';
  }

  /** Initial send sequence. */
  get iss(): number {
    return this.#options.iss;
  }

  /** Both SYNs were exchanged. */
  get connected(): boolean {
    return this.#unacked > 0;
  }

  /** Bytes received and not yet read. */
  get readable(): number {
    return this.#incoming.length;
  }

  /** The peer sends no more; received data can still be read. */
  get finReceived(): boolean {
    return this.#finReceived;
  }

  /** Bytes written and not yet acknowledged. */
  get unacknowledged(): number {
    return this.#outgoing.length;
  }

  /** All data written, and the FIN, are acknowledged. */
  get finAcked(): boolean {
    return this.#finAcked;
  }

  /** When `handleTimeout` has something to do; Infinity when never. */
  get deadline(): number {
    return this.#deadline;
  }

  // The application.

  write(bytes: Uint8Array): void {
    this.#outgoing.push(bytes);
    this.#bytesEnd += bytes.length;
  }

  /** Takes up to `length` of the received bytes. */
  read(length: number): Uint8Array {
    const bytes = this.#incoming.peek(0, Math.min(length, this.#incoming.length));
    this.#incoming.drop(bytes.length);
    // RFC 9293 3.8.6.2.2: not for every byte.
    if (this.#window - this.#toldWindow >= Math.min(2 * this.#options.mss, MAX_WINDOW / 2)) this.#ackOwed = true;
    return bytes;
  }

  /** Nothing more will be written, and data received from now on are discarded. */
  finish(): void {
    this.#finWanted = true;
    this.#readerGone = true;
    this.#incoming.drop(this.#incoming.length);
  }

  /** Ends the connection at once; with a RST if the peer has answered, which one that only sent a SYN has not. */
  abort(): void {
    if (this.end !== undefined) return;
    const answered = this.connected || this.#heldBack;
    if (answered && this.state !== 'time-wait') this.#resetAt = this.#options.iss + this.#sentEnd;
    this.#over('aborted');
  }

  // The wire.

  handleSegment(now: number, segment: TcpSegment): void {
    if (this.end !== undefined) return;
    if (this.#irs === undefined) this.#handleSynSent(now, segment);
    else this.#handleSynchronized(now, segment);
  }

  /** The next segment to send, or undefined. Call until there is none. */
  poll(now: number): TcpSegment | undefined {
    if (this.#resetAt !== undefined) {
      const reset = { seq: this.#resetAt >>> 0, ack: 0, flags: TcpFlag.Rst, window: 0, data: NOTHING };
      this.#resetAt = undefined;
      return reset;
    }
    if (this.end !== undefined) return undefined;
    if (this.#next === 0) return this.#synSegment(now);
    return this.#dataSegment(now) ?? this.#ackSegment();
  }

  /** The path to the peer is not resolved: counts as a loss when it stays so. */
  stall(now: number): void {
    if (this.end === undefined && this.#deadline === Infinity) this.#deadline = now + this.#timeout.valueNs;
  }

  handleTimeout(now: number): void {
    if (now < this.#deadline) return;
    this.#deadline = Infinity;
    const { state } = this;
    if (state === 'time-wait' || state === 'fin-wait-2') {
      this.#over('finished');
      return;
    }
    if (++this.#retries > (this.connected ? MAX_RETRIES : this.#options.maxSynRetries)) {
      if (this.#heldBack) this.abort();
      else this.#over('timeout');
      return;
    }
    this.#timeout.expired();
    this.#congestionBytes = this.#mss;
    this.#next = this.#unacked;
    this.#probe = true;
  }

  /** RFC 9293 3.10.7.3. */
  #handleSynSent(now: number, segment: TcpSegment): void {
    const { flags } = segment;
    const acknowledges = (flags & TcpFlag.Ack) !== 0 && this.#acknowledged(segment) === 1 && this.#sentEnd === 1;
    if ((flags & TcpFlag.Ack) !== 0 && !acknowledges) {
      // The peer still has an older connection of these ports: reset it.
      if ((flags & TcpFlag.Rst) === 0) this.#resetAt = segment.ack;
      return;
    }
    if ((flags & TcpFlag.Rst) !== 0) {
      if (acknowledges) this.#over('refused');
      return;
    }
    if ((flags & TcpFlag.Syn) === 0) return;
    this.#takeSyn(segment);
    if (acknowledges) {
      this.#takeAck(now, segment, 0);
      this.#ackOwed = true;
    } else this.#next = 0;
  }

  /** RFC 9293 3.10.7.4. */
  #handleSynchronized(now: number, segment: TcpSegment): void {
    const { flags, data } = segment;
    const at = this.#positionOf(segment);
    if (this.#isStale(segment, at)) {
      // A repeated SYN: the peer has not received our answer.
      if ((flags & TcpFlag.Syn) !== 0 && !this.connected) this.#next = 0;
      else if ((flags & TcpFlag.Rst) === 0) this.#ackOwed = true;
      return;
    }
    if ((flags & (TcpFlag.Rst | TcpFlag.Syn)) !== 0) {
      if ((flags & TcpFlag.Rst) !== 0 && at === this.#expected) this.#over(this.connected ? 'reset' : 'refused');
      else this.#ackOwed = true;
      return;
    }
    if ((flags & TcpFlag.Ack) === 0 || !this.#takeAck(now, segment, at)) return;
    if (this.end !== undefined) return;
    this.#takeData(data, at);
    if ((flags & TcpFlag.Fin) !== 0 && at + data.length === this.#expected && !this.#finReceived) {
      this.#takeFin(now);
    }
  }

  /** Outside the window, or received already. */
  #isStale(segment: TcpSegment, at: number): boolean {
    const length = sequenceLength(segment);
    if (at > this.#expected + this.#window) return true;
    return length === 0 ? at < this.#expected : at + length <= this.#expected;
  }

  #takeSyn(segment: TcpSegment): void {
    const { mss, defaultMss } = this.#options;
    this.#irs = segment.seq;
    this.#expected = 1;
    this.#mss = Math.max(MIN_MSS, Math.min(mss, segment.mss ?? defaultMss));
    this.#congestionBytes = INITIAL_SEGMENTS * this.#mss;
  }

  /** A passive open: the SYN that a listener has received. */
  accept(syn: TcpSegment): void {
    this.#takeSyn(syn);
    this.#peerWindow = syn.window;
  }

  /** A passive open of which nothing was kept: `syn` is the peer's SYN once more, and our SYN-ACK has arrived. */
  restore(syn: TcpSegment): void {
    this.accept(syn);
    this.#next = 1;
    this.#sentEnd = 1;
  }

  /** The peer has answered our SYN-ACK, but nothing can take the connection: it is reset if this lasts. */
  holdBack(): void {
    this.#heldBack = true;
  }

  /** False when the segment acknowledges data that were never sent: it is ignored then. */
  #takeAck(now: number, segment: TcpSegment, at: number): boolean {
    const acknowledged = this.#acknowledged(segment);
    if (acknowledged > this.#sentEnd || (!this.connected && acknowledged < 1)) {
      this.#ackOwed = true;
      return false;
    }
    // The peer answers, whatever its window: RFC 1122 4.2.2.17.
    this.#retries = 0;
    if (at >= this.#windowSeenAt && acknowledged >= this.#unacked) {
      this.#windowSeenAt = at;
      this.#peerWindow = segment.window;
    }
    if (acknowledged > this.#unacked) this.#advance(now, acknowledged);
    return true;
  }

  #advance(now: number, acknowledged: number): void {
    this.#outgoing.drop(Math.min(this.#bytesEnd, acknowledged) - Math.max(1, this.#unacked));
    this.#unacked = acknowledged;
    this.#next = Math.max(this.#next, acknowledged);
    this.#timeout.acknowledged(now, acknowledged);
    this.#congestionBytes = Math.min(INITIAL_SEGMENTS * this.#mss, this.#congestionBytes + this.#mss);
    this.#deadline = this.#unacked < this.#sentEnd ? now + this.#timeout.valueNs : Infinity;
    if (this.#finAcked) this.#closedOurs(now);
  }

  #takeData(data: Uint8Array, at: number): void {
    if (data.length === 0) return;
    this.#ackOwed = true;
    const skip = this.#expected - at;
    if (skip < 0 || this.#finReceived) return;
    const fresh = data.subarray(skip, skip + this.#window);
    if (!this.#readerGone) this.#incoming.push(fresh);
    this.#expected += fresh.length;
  }

  #takeFin(now: number): void {
    this.#finReceived = true;
    this.#passiveClose = !this.#finSent;
    this.#expected += 1;
    this.#ackOwed = true;
    if (this.#finAcked) this.#closedOurs(now);
  }

  /** Our FIN is acknowledged. */
  #closedOurs(now: number): void {
    if (!this.#finReceived) this.#deadline = now + LINGER_NS;
    else if (this.#passiveClose) this.#over('finished');
    else this.#deadline = now + LINGER_NS;
  }

  #over(end: TcpEnd): void {
    this.end = end;
    this.#deadline = Infinity;
  }

  #synSegment(now: number): TcpSegment {
    this.#took(now, 1);
    const flags = this.#irs === undefined ? TcpFlag.Syn : TcpFlag.Syn | TcpFlag.Ack;
    return { ...this.#segment(0, flags, NOTHING), mss: this.#options.mss };
  }

  #dataSegment(now: number): TcpSegment | undefined {
    // Before the peer has answered there is nothing to send it.
    if (!this.connected || this.#irs === undefined || this.#next > this.#bytesEnd) return undefined;
    const at = this.#next;
    const left = this.#bytesEnd - at;
    const allowed = Math.min(Math.max(this.#peerWindow, this.#probe ? 1 : 0), this.#congestionBytes);
    const length = Math.max(0, Math.min(this.#mss, left, this.#unacked + allowed - at));
    const ends = this.#finWanted && length === left;
    if (length === 0 && !ends) {
      // RFC 9293 3.8.6.1: with data and a closed window, send probes.
      if (left > 0 && this.#unacked === this.#sentEnd && this.#deadline === Infinity) {
        this.#deadline = now + this.#timeout.valueNs;
      }
      return undefined;
    }
    this.#probe = false;
    const data = this.#outgoing.peek(at - this.#unacked, length);
    this.#took(now, at + length + (ends ? 1 : 0));
    const push = length === left && length > 0 ? TcpFlag.Psh : 0;
    return this.#segment(at, TcpFlag.Ack | push | (ends ? TcpFlag.Fin : 0), data);
  }

  #ackSegment(): TcpSegment | undefined {
    return this.#ackOwed && this.#irs !== undefined && this.connected
      ? this.#segment(this.#sentEnd, TcpFlag.Ack, NOTHING)
      : undefined;
  }

  /** Positions up to `end` leave now. */
  #took(now: number, end: number): void {
    if (end > this.#sentEnd) this.#timeout.sent(now, end);
    this.#next = end;
    this.#sentEnd = Math.max(this.#sentEnd, end);
    if (this.#deadline === Infinity) this.#deadline = now + this.#timeout.valueNs;
  }

  #segment(at: number, flags: number, data: Uint8Array): TcpSegment {
    const acknowledges = (flags & TcpFlag.Ack) !== 0;
    if (acknowledges) this.#ackOwed = false;
    this.#toldWindow = this.#window;
    return {
      seq: (this.#options.iss + at) >>> 0,
      ack: acknowledges ? ((this.#irs ?? 0) + this.#expected) >>> 0 : 0,
      flags,
      window: this.#window,
      data,
    };
  }

  get #window(): number {
    return MAX_WINDOW - this.#incoming.length;
  }

  get #finSent(): boolean {
    return this.#finWanted && this.#sentEnd > this.#bytesEnd;
  }

  get #finAcked(): boolean {
    return this.#finWanted && this.#unacked > this.#bytesEnd;
  }

  #positionOf(segment: TcpSegment): number {
    return this.#expected + ((segment.seq - (this.#irs ?? 0) - this.#expected) | 0);
  }

  #acknowledged(segment: TcpSegment): number {
    return this.#unacked + ((segment.ack - this.#options.iss - this.#unacked) | 0);
  }
}

const NOTHING = new Uint8Array(0);
const MAX_WINDOW = 0xff_ff;
/** RFC 6928. */
const INITIAL_SEGMENTS = 10;
/** Lower bound, whatever the peer's option. */
const MIN_MSS = 64;
/** As Linux: some minutes. */
const MAX_RETRIES = 10;
/** For TIME-WAIT and for a peer that never closes, as Linux. */
const LINGER_NS = 60e9;
