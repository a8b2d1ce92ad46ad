/**
 * The frames between the shim in a client and this server, as `tools/uverbs/shim/wire.h` describes them; a test
 * compares the two. Owns the numbers and the splitting of what a client sends. Never trusts a length: a frame that is
 * too long or of another version ends the connection.
 */

/** Changes whenever a shim and a server of different versions would misunderstand each other. */
export const WIRE_VERSION = 3;
export const HEADER_BYTES = 16;
export const MAX_BODY = 65_536;
export const TOKEN_BYTES = 16;
export const RECORD_BYTES = 32;
/** Of an event, within its record. */
export const MAX_EVENT_BYTES = 24;
export const PAGE_BYTES = 4096;
/** Handles whose completion queues can be armed without a command. */
export const ARMED = 992;

export const FrameType = {
  Open: 1,
  Join: 2,
  Channel: 3,
  Command: 4,
  Doorbell: 5,
  EventRead: 6,
  Answer: 7,
  Cancelled: 8,
} as const;

export const FileKind = { Uverbs: 1, RdmaCm: 2 } as const;

/** A frame of a client, valid during the call that gets it. */
export interface Frame {
  readonly type: number;
  readonly id: number;
  /** The body's bytes, and where among them it lies. */
  readonly view: DataView;
  readonly start: number;
  readonly length: number;
}

/** Cuts the bytes of one connection into frames. */
export class FrameReader {
  #bytes = new Uint8Array(SMALL);
  #view = new DataView(this.#bytes.buffer);
  #used = 0;
  readonly #frame = { type: 0, id: 0, view: this.#view, start: 0, length: 0 };

  /** Where the next bytes belong: at least one has room. */
  get room(): Uint8Array {
    return this.#bytes;
  }

  /** From where on in `room`. */
  get used(): number {
    return this.#used;
  }

  /**
   * Takes `count` bytes that have been put there; calls `handle` for each whole frame, until it says false. False when
   * what came is no stream of frames, or `handle` has said so.
   */
  push(count: number, handle: (frame: Frame) => boolean): boolean {
    this.#used += count;
    let at = 0;
    while (this.#used - at >= HEADER_BYTES) {
      const length = this.#view.getUint32(at, true);
      if (length > MAX_BODY || this.#view.getUint16(at + 6, true) !== WIRE_VERSION) return false;
      const end = at + HEADER_BYTES + length;
      if (end > this.#used) {
        this.#makeRoom(HEADER_BYTES + length);
        break;
      }
      const frame = this.#frame;
      frame.type = this.#view.getUint16(at + 4, true);
      frame.id = this.#view.getUint32(at + 8, true);
      frame.view = this.#view;
      frame.start = at + HEADER_BYTES;
      frame.length = length;
      at = end;
      if (!handle(frame)) return false;
    }
    if (at > 0) this.#bytes.copyWithin(0, at, this.#used);
    this.#used -= at;
    return true;
  }

  #makeRoom(bytes: number): void {
    if (bytes <= this.#bytes.length) return;
    const larger = new Uint8Array(HEADER_BYTES + MAX_BODY);
    larger.set(this.#bytes);
    this.#bytes = larger;
    this.#view = new DataView(larger.buffer);
  }
}

/** Writes a header; the server's frames have the same one. */
export function writeHeader(view: DataView, length: number, type: number, id: number, error: number): void {
  view.setUint32(0, length, true);
  view.setUint16(4, type, true);
  view.setUint16(6, WIRE_VERSION, true);
  view.setUint32(8, id, true);
  view.setUint32(12, error, true);
}

/** Enough for doorbells and most commands. */
const SMALL = 4096;
