/**
 * Received data that the application has not read yet, and the updates due to the peer: credits, and freed halves of
 * the receive buffer.
 *
 * Owns the counting (rdma:rsocket.c#rrecv, #rs_give_credits, #rs_send_credits). Never posts anything. Detects a peer
 * that sends more than its credits and buffers allow: `arrived` returns false.
 */
import type { RSocketSettings } from './options.ts';

/** An update for the peer. */
export interface CreditUpdate {
  /** Data of the Sgl message: the number of the last message the peer may send. */
  readonly credits: number;
  /** First byte of the half that is free again; -1 when none is. */
  readonly halfAt: number;
}

export class ReceiveWindow {
  readonly #buffer: Uint8Array;
  readonly #half: number;
  readonly #queue: number;
  /** Bytes of each message that waits, oldest first; the first counts down while it is read. */
  readonly #messages: number[] = [];
  /** Read position of the application. */
  #readAt = 0;
  /** Where the next message lies: messages follow each other and never cross the middle. */
  #arriveAt = 0;
  /** Bytes offered to the peer and not filled yet. */
  #offered: number;
  /** Bytes that may be offered again, and the half that is next. */
  #free: number;
  #nextHalf: number;
  /** Messages the application has read, and the count at which a credit update is due; 16 bits both. */
  #taken = 0;
  #oweAt: number;
  #available = 0;

  constructor({ receiveBuffer, receiveQueue }: RSocketSettings, buffer: Uint8Array) {
    this.#buffer = buffer;
    this.#half = receiveBuffer / 2;
    this.#queue = receiveQueue;
    this.#offered = this.#half;
    this.#free = this.#half;
    this.#nextHalf = this.#half;
    this.#oweAt = receiveQueue >> 1;
  }

  /** Bytes that can be read. */
  get available(): number {
    return this.#available;
  }

  /** Whether a message waits, one of no bytes included. */
  get pending(): boolean {
    return this.#messages.length > 0;
  }

  /** A data message of `length` bytes has come; false when the peer had no room or no credit for it. */
  arrived(length: number): boolean {
    const leftInHalf = this.#half - (this.#arriveAt % this.#half);
    if (this.#messages.length >= this.#queue || length > this.#offered || length > leftInHalf) return false;
    this.#offered -= length;
    this.#arriveAt = (this.#arriveAt + length) % (2 * this.#half);
    this.#messages.push(length);
    this.#available += length;
    return true;
  }

  /** A message came that used a credit and has no data to read. */
  arrivedEmpty(): void {
    this.#taken = (this.#taken + 1) & SEQUENCE_MASK;
  }

  /** Moves received bytes into `into`; returns their number. */
  read(into: Uint8Array): number {
    let at = 0;
    while (this.#messages.length > 0 && at < into.length) {
      const message = this.#messages[0] ?? 0;
      const size = Math.min(message, into.length - at);
      this.#copy(into, at, size);
      at += size;
      if (size < message) this.#messages[0] = message - size;
      else {
        this.#messages.shift();
        this.#taken = (this.#taken + 1) & SEQUENCE_MASK;
      }
    }
    this.#available -= at;
    this.#free += at;
    return at;
  }

  /** Whether an update of credits or of a free half is due: half of either is used up. */
  get owes(): boolean {
    const used = ((this.#taken - this.#oweAt) << 16) >> 16;
    return this.#free >= this.#half || used >= 0;
  }

  /** Takes the update for the peer; it counts as sent from then on. */
  grant(): CreditUpdate {
    this.#oweAt = (this.#taken + (this.#queue >> 1)) & SEQUENCE_MASK;
    // Not cut to 16 bits, as rsocket.c does not; the receiver does.
    const credits = this.#taken + this.#queue;
    if (this.#free < this.#half) return { credits, halfAt: -1 };
    const halfAt = this.#nextHalf;
    this.#free -= this.#half;
    this.#offered += this.#half;
    this.#nextHalf = this.#half - halfAt;
    return { credits, halfAt };
  }

  #copy(into: Uint8Array, at: number, size: number): void {
    const first = Math.min(size, 2 * this.#half - this.#readAt);
    into.set(this.#buffer.subarray(this.#readAt, this.#readAt + first), at);
    if (first < size) into.set(this.#buffer.subarray(0, size - first), at + first);
    this.#readAt = (this.#readAt + size) % (2 * this.#half);
  }
}

const SEQUENCE_MASK = 0xff_ff;
