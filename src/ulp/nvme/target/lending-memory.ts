/**
 * Memory that lends its bytes: they can be sent, and sent again, from where they are.
 *
 * Owns the promise that lent bytes do not change. A packet that is lost is made again from memory: were it other memory
 * by then, a host would get a block of which one part is old and another new, which no disk may give (a controller
 * writes at least one block atomically, whatever it says). So a piece that is written while it is lent is copied, and
 * the copy takes its place when the last loan of it ends. Nobody waits: a host that acknowledges nothing holds up no
 * writes of another. The copies are bounded as the loans are, of which a piece with a copy gets no more.
 */
import type { NvmeLoan } from './backend.ts';

export class LendingMemory {
  readonly bytes: Uint8Array;
  /** Loans of each piece that is lent. */
  readonly #loans = new Map<number, number>();
  /** What pieces that are lent hold now. */
  readonly #copies = new Map<number, Uint8Array>();
  #lent = 0;

  constructor(bytes: Uint8Array) {
    this.bytes = bytes;
  }

  /** Undefined: too little to be worth it, too much is lent, or some of it was written while it was lent. */
  lend(offset: number, length: number): NvmeLoan | undefined {
    if (length < WORTH_LENDING || this.#lent + length > MOST_LENT) return undefined;
    const last = pieceOf(offset + length - 1);
    if (this.#copies.size > 0)
      for (let piece = pieceOf(offset); piece <= last; piece++) if (this.#copies.has(piece)) return undefined;
    for (let piece = pieceOf(offset); piece <= last; piece++) this.#loans.set(piece, (this.#loans.get(piece) ?? 0) + 1);
    this.#lent += length;
    return { memory: this.bytes, offset, end: () => this.#end(offset, length) };
  }

  read(offset: number, into: Uint8Array): void {
    const end = offset + into.length;
    into.set(this.bytes.subarray(offset, end));
    if (this.#copies.size === 0) return;
    for (let at = offset; at < end; at = endOfPiece(at)) {
      const to = Math.min(end, endOfPiece(at));
      const copy = this.#copies.get(pieceOf(at));
      if (copy !== undefined) into.set(copy.subarray(withinPiece(at), withinPiece(at) + to - at), at - offset);
    }
  }

  /** Zeros where there is no `from`. */
  write(offset: number, length: number, from?: Uint8Array): void {
    if (this.#loans.size === 0) {
      put(this.bytes, offset, length, from);
      return;
    }
    const end = offset + length;
    for (let at = offset; at < end; at = endOfPiece(at)) {
      const size = Math.min(end, endOfPiece(at)) - at;
      const copy = this.#copyOf(pieceOf(at));
      const piece = from?.subarray(at - offset, at - offset + size);
      if (copy === undefined) put(this.bytes, at, size, piece);
      else put(copy, withinPiece(at), size, piece);
    }
  }

  /** Where a piece is written; undefined where nobody has borrowed it. */
  #copyOf(piece: number): Uint8Array | undefined {
    if (!this.#loans.has(piece)) return undefined;
    let copy = this.#copies.get(piece);
    if (copy === undefined) {
      copy = this.bytes.slice(piece * PIECE_BYTES, (piece + 1) * PIECE_BYTES);
      this.#copies.set(piece, copy);
    }
    return copy;
  }

  #end(offset: number, length: number): void {
    this.#lent -= length;
    const last = pieceOf(offset + length - 1);
    for (let piece = pieceOf(offset); piece <= last; piece++) {
      const loans = (this.#loans.get(piece) ?? 0) - 1;
      if (loans > 0) this.#loans.set(piece, loans);
      else this.#ended(piece);
    }
  }

  #ended(piece: number): void {
    this.#loans.delete(piece);
    const copy = this.#copies.get(piece);
    if (copy === undefined) return;
    this.#copies.delete(piece);
    this.bytes.set(copy, piece * PIECE_BYTES);
  }
}

function put(to: Uint8Array, at: number, length: number, from: Uint8Array | undefined): void {
  if (from === undefined) to.fill(0, at, at + length);
  else to.set(from, at);
}

function pieceOf(offset: number): number {
  return Math.floor(offset / PIECE_BYTES);
}

function endOfPiece(offset: number): number {
  return (pieceOf(offset) + 1) * PIECE_BYTES;
}

function withinPiece(offset: number): number {
  return offset % PIECE_BYTES;
}

/** What is copied when it is written while it is lent. */
const PIECE_BYTES = 0x1_00_00;
/** Copying less costs less than keeping accounts. */
const WORTH_LENDING = PIECE_BYTES;
/** As much as commands may have in a target's own memory. */
const MOST_LENT = 32 << 20;
