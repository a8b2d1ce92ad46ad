/**
 * Captured frames from the worker to the application: packed by the worker, unpacked for the sink there.
 *
 * ```
 *  time ns (double) | direction and length (u32: bit 31 is out) | bytes, padded to 8
 * ```
 * The bytes in flight are bounded: an application that does not read loses frames, and the next frame carries their
 * number.
 */
import type { CaptureSink } from '../links/index.ts';
import { Word } from './control.ts';
import type { Outbox } from './outbox.ts';

/** The worker's sink. */
export class CaptureFeed implements CaptureSink {
  readonly #outbox: Pick<Outbox, 'post'>;
  readonly #words: Int32Array;
  #bytes = new Uint8Array(CHUNK_BYTES);
  #view = new DataView(this.#bytes.buffer);
  #end = 0;
  #missed = 0;

  constructor(outbox: Pick<Outbox, 'post'>, words: Int32Array) {
    this.#outbox = outbox;
    this.#words = words;
  }

  frame(timeNs: number, direction: 'in' | 'out', bytes: Uint8Array, start: number, end: number): void {
    const size = HEADER_BYTES + padded(end - start);
    if (this.#end + size > CHUNK_BYTES) this.#send();
    if (Atomics.load(this.#words, Word.Captured) > MAX_ON_ITS_WAY) {
      this.#missed += 1;
      return;
    }
    if (this.#end === 0) queueMicrotask(() => this.#send());
    const at = this.#end;
    this.#view.setFloat64(at, timeNs);
    this.#view.setUint32(at + 8, (end - start) | (direction === 'out' ? OUT_BIT : 0));
    this.#view.setUint32(at + 12, this.#missed);
    this.#bytes.set(bytes.subarray(start, end), at + HEADER_BYTES);
    this.#missed = 0;
    this.#end = at + size;
  }

  #send(): void {
    if (this.#end === 0) return;
    const packed = this.#bytes.slice(0, this.#end);
    this.#end = 0;
    Atomics.add(this.#words, Word.Captured, packed.length);
    this.#outbox.post({ kind: 'frames', packed });
  }
}

/** The application's side. @param skewNs added to the worker's times, whose clock started later */
export function unpackFrames(packed: Uint8Array, skewNs: number, sink: CaptureSink): void {
  const view = new DataView(packed.buffer, packed.byteOffset, packed.byteLength);
  for (let at = 0; at < packed.length; ) {
    const word = view.getUint32(at + 8);
    const missed = view.getUint32(at + 12);
    const length = word & ~OUT_BIT;
    const start = at + HEADER_BYTES;
    const direction = word >>> 31 === 1 ? 'out' : 'in';
    const comment =
      missed === 0 ? undefined : `${missed} frames before this one are missing: they were not read in time`;
    sink.frame(Math.round(view.getFloat64(at) + skewNs), direction, packed, start, start + length, comment);
    at = start + padded(length);
  }
}

function padded(length: number): number {
  return (length + 7) & ~7;
}

const HEADER_BYTES = 16;
const OUT_BIT = 0x80_00_00_00;
const CHUNK_BYTES = 1 << 18;
const MAX_ON_ITS_WAY = 1 << 26;
