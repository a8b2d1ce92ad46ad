/**
 * Frames on a byte stream: a 4-byte big-endian length before each, as QEMU's stream and socket netdevs do
 * (ref:platform#4). Owns the splitting of chunks into batches and the packing of batches into chunks. Never touches a
 * socket.
 * One receive buffer for the life of the stream: a frame that a chunk cuts waits there for its rest, and whole frames
 * are handed over in place, so receiving costs one bulk copy per chunk and nothing per frame.
 */
import type { FrameBatch } from '../../../packets/frame-writer.ts';

export const LENGTH_BYTES = 4;
/**
 * The longest frame QEMU itself takes (its NET_BUFSIZE). A longer one means that the stream is out of step, or the peer
 * hostile.
 */
export const MAX_FRAME_BYTES = 4096 + 65_536;

const BATCH_FRAMES = 64;
const BUFFER_BYTES = 0x4_00_00;
/** From here on a bulk copy beats a loop (ref:platform#5). */
const BULK_COPY_BYTES = 256;

/** Chunks in, batches out. */
export class FrameSplitter implements FrameBatch {
  readonly bytes = new Uint8Array(BUFFER_BYTES);
  readonly view = new DataView(this.bytes.buffer);
  readonly starts = new Int32Array(BATCH_FRAMES);
  readonly lengths = new Int32Array(BATCH_FRAMES);
  count = 0;
  readonly #deliver: (batch: FrameBatch) => void;
  /** Bytes in the buffer; the first of them begins a length. */
  #filled = 0;

  constructor(deliver: (batch: FrameBatch) => void) {
    this.#deliver = deliver;
  }

  /**
   * Takes the next bytes of the stream; the length that makes no sense, when there is one: nothing after it can be
   * understood.
   */
  push(chunk: Uint8Array): number | undefined {
    let from = 0;
    while (from < chunk.length) {
      const count = Math.min(chunk.length - from, this.bytes.length - this.#filled);
      this.bytes.set(chunk.subarray(from, from + count), this.#filled);
      this.#filled += count;
      from += count;
      const absurd = this.#split();
      if (absurd !== undefined) return absurd;
    }
    return undefined;
  }

  /** Hands over the whole frames in the buffer and moves the rest to its start. */
  #split(): number | undefined {
    let at = 0;
    let absurd: number | undefined;
    while (this.#filled - at >= LENGTH_BYTES) {
      const length = this.view.getUint32(at);
      if (length === 0 || length > MAX_FRAME_BYTES) {
        absurd = length;
        break;
      }
      if (this.#filled - at - LENGTH_BYTES < length) break;
      this.starts[this.count] = at + LENGTH_BYTES;
      this.lengths[this.count] = length;
      this.count++;
      at += LENGTH_BYTES + length;
      if (this.count === BATCH_FRAMES) this.#flush();
    }
    this.#flush();
    this.bytes.copyWithin(0, at, this.#filled);
    this.#filled -= at;
    return absurd;
  }

  #flush(): void {
    if (this.count > 0) this.#deliver(this);
    this.count = 0;
  }
}

/** Bytes that frames `from .. to - 1` take on the stream. */
export function framedBytes(batch: FrameBatch, from: number, to: number): number {
  let total = 0;
  for (let i = from; i < to; i++) total += LENGTH_BYTES + (batch.lengths[i] ?? 0);
  return total;
}

/** Writes frames `from .. to - 1` with their lengths to the start of `out`; returns the number of bytes. */
export function packFrames(batch: FrameBatch, from: number, to: number, out: Uint8Array, outView: DataView): number {
  let at = 0;
  for (let i = from; i < to; i++) {
    const start = batch.starts[i] ?? 0;
    const length = batch.lengths[i] ?? 0;
    outView.setUint32(at, length);
    at += LENGTH_BYTES;
    if (length >= BULK_COPY_BYTES) out.set(batch.bytes.subarray(start, start + length), at);
    else
      for (let offset = 0; offset < length; offset++)
        outView.setUint8(at + offset, batch.view.getUint8(start + offset));
    at += length;
  }
  return at;
}
