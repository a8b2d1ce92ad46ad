/**
 * Frames sent from where they lie, up to 64 with one call (man 2 sendmmsg).
 * Owns the message headers that point at them. Never copies a frame: the kernel does, before the call returns.
 */
import type { FrameBatch } from '../../../packets/frame-writer.ts';
import { FrameAddresses } from './descriptor-link.ts';
import { type Libc, MSG_DONTWAIT } from './libc.ts';
import { IOVEC_BYTES, Mmsghdr, writeAddress, writeVector } from './socket-messages.ts';

export class FrameSender {
  readonly #libc: Libc;
  readonly #fd: number;
  readonly #frames: FrameAddresses;
  /** Held: the kernel reads both by address. */
  readonly #headers = new DataView(new ArrayBuffer(MAX_MESSAGES * Mmsghdr.Bytes));
  readonly #vectors = new DataView(new ArrayBuffer(MAX_MESSAGES * IOVEC_BYTES));
  readonly #headersAddress: number;

  constructor(libc: Libc, fd: number) {
    this.#libc = libc;
    this.#fd = fd;
    this.#frames = new FrameAddresses(libc);
    this.#headersAddress = libc.address(this.#headers.buffer);
    const vectors = libc.address(this.#vectors.buffer);
    for (let i = 0; i < MAX_MESSAGES; i++) {
      writeAddress(this.#headers, i * Mmsghdr.Bytes + Mmsghdr.Iov, vectors + i * IOVEC_BYTES);
      this.#headers.setUint32(i * Mmsghdr.Bytes + Mmsghdr.IovCount, 1, true);
    }
  }

  /**
   * Sends frames `from .. to - 1`, as many as one call takes; how many the kernel took, or a negative errno for the
   * first of them.
   */
  send(batch: FrameBatch, from: number, to: number): number {
    const count = Math.min(to - from, MAX_MESSAGES);
    for (let i = 0; i < count; i++) {
      const address = this.#frames.of(batch, from + i);
      writeVector(this.#vectors, i * IOVEC_BYTES, address, batch.lengths[from + i] as number);
    }
    const sent = this.#libc.sendmmsg(this.#fd, this.#headersAddress, count, MSG_DONTWAIT);
    return sent < 0 ? -this.#libc.errno() : sent;
  }
}

const MAX_MESSAGES = 64;
