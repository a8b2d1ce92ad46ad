/**
 * Frames sent from where they lie, up to 64 with one call (man 2 sendmmsg).
 * Owns the message headers that point at them. Never copies a frame: the kernel does, before the call returns.
 */
import type { FrameBatch } from '../../packets/frame-writer.ts';
import { FrameAddresses } from './descriptor-link.ts';
import { type Libc, MSG_DONTWAIT } from './libc.ts';

export class FrameSender {
  readonly #libc: Libc;
  readonly #fd: number;
  readonly #frames: FrameAddresses;
  /** Held: the kernel reads both by address. */
  readonly #headers = new DataView(new ArrayBuffer(MAX_MESSAGES * MMSGHDR_BYTES));
  readonly #vectors = new DataView(new ArrayBuffer(MAX_MESSAGES * IOVEC_BYTES));
  readonly #headersAddress: number;

  constructor(libc: Libc, fd: number) {
    this.#libc = libc;
    this.#fd = fd;
    this.#frames = new FrameAddresses(libc);
    this.#headersAddress = libc.address(this.#headers.buffer);
    const vectors = libc.address(this.#vectors.buffer);
    for (let i = 0; i < MAX_MESSAGES; i++) {
      setAddress(this.#headers, i * MMSGHDR_BYTES + MSG_IOV_AT, vectors + i * IOVEC_BYTES);
      this.#headers.setUint32(i * MMSGHDR_BYTES + MSG_IOVLEN_AT, 1, true);
    }
  }

  /** Sends frames `from .. to - 1`, as many as one call takes; how many the kernel took, or a negative errno for the first of them. */
  send(batch: FrameBatch, from: number, to: number): number {
    const count = Math.min(to - from, MAX_MESSAGES);
    for (let i = 0; i < count; i++) {
      setAddress(this.#vectors, i * IOVEC_BYTES, this.#frames.of(batch, from + i));
      this.#vectors.setUint32(i * IOVEC_BYTES + IOV_LEN_AT, batch.lengths[from + i] as number, true);
    }
    const sent = this.#libc.sendmmsg(this.#fd, this.#headersAddress, count, MSG_DONTWAIT);
    return sent < 0 ? -this.#libc.errno() : sent;
  }
}

/** Without a BigInt per frame. */
function setAddress(view: DataView, at: number, address: number): void {
  view.setUint32(at, address >>> 0, true);
  view.setUint32(at + 4, address / 2 ** 32, true);
}

const MAX_MESSAGES = 64;
/** struct mmsghdr: a msghdr and the length sent, on 64-bit machines (ref:platform#3). */
const MMSGHDR_BYTES = 64;
const MSG_IOV_AT = 16;
const MSG_IOVLEN_AT = 24;
/** struct iovec: address and length. */
const IOVEC_BYTES = 16;
const IOV_LEN_AT = 8;
