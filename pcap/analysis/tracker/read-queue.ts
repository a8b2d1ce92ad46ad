/**
 * READs, atomics and other requests with a response of their own instead of an ACK: their PSNs, and how far their
 * responses have come.
 *
 * Owns a ring of entries in the order of the requests: the oldest is replaced. Answered requests stay for a while,
 * because they may be requested again. Rules: ref:wire#8 (responses take the PSNs of the request's range; a resumed
 * READ begins in the middle of it).
 */
import { OpFlag } from '../../../packets/opcode.ts';

/** Flags of requests with a response of their own. An ACK, in contrast, may stand for several requests. */
export const HAS_RESPONSE = OpFlag.Read | OpFlag.Atomic | OpFlag.Flush | OpFlag.AtomicWrite;

/** One such request. */
export class ReadEntry {
  /** PSNs from `start` to just before `end`. */
  start = 0;
  end = 0;
  /** `end` is a guess from below: the path MTU is not known yet. */
  openEnded = false;
  /** Answered by READ responses, not by the answer of an atomic. */
  isRead = true;
  /** Requested bytes. */
  length = 0;
  /** The PSN whose response is expected. */
  next = 0;
  askedNs = 0;
  frame = 0;
  /** How long its first response took, nanoseconds; Infinity: it has not come in order. */
  responseTimeNs = Number.POSITIVE_INFINITY;
  /** When it, or a part of it, was requested again; -1: never. */
  askedAgainNs = -1;
  askedAgainFrame = -1;
  /** Its first PSN that was; -1: none. */
  askedAgainPsn = -1;
  /** A copy of the request was captured; -1: none. */
  copiedFrame = -1;

  get complete(): boolean {
    return this.next >= this.end && !this.openEnded;
  }
}

export class ReadQueue {
  #entries: ReadEntry[] = [];
  /** Counted from the first request on; entry i is at i modulo the number of entries. */
  #first = 0;
  #end = 0;
  /** The oldest that is not complete. */
  #oldest = 0;
  /** The last packet that requested any of them again; -1: none did. */
  askedAgainFrame = -1;

  get newest(): ReadEntry | undefined {
    return this.#end > this.#first ? this.#at(this.#end - 1) : undefined;
  }

  /** Entries from the oldest incomplete one on. */
  get outstanding(): number {
    return this.#end - this.#oldest;
  }

  /** PSNs of outstanding entries beyond the one that each request takes. */
  get extraPsns(): number {
    let sum = 0;
    for (let i = this.#oldest; i < this.#end; i++) {
      const { start, end } = this.#at(i);
      sum += end - start - 1;
    }
    return sum;
  }

  /** A fresh entry behind all others, to be filled in. */
  push(): ReadEntry {
    if (this.#end - this.#first === this.#entries.length) this.#makeRoom();
    const entry = this.#at(this.#end++);
    entry.responseTimeNs = Number.POSITIVE_INFINITY;
    entry.askedAgainNs = -1;
    entry.askedAgainFrame = -1;
    entry.askedAgainPsn = -1;
    entry.copiedFrame = -1;
    return entry;
  }

  /** Puts the entry that was pushed last where it belongs by its PSN. */
  sort(): void {
    for (let i = this.#end - 1; i > this.#first; i--) {
      const size = this.#entries.length;
      const entry = this.#at(i);
      const before = this.#at(i - 1);
      if (before.start <= entry.start) return;
      this.#entries[i % size] = before;
      this.#entries[(i - 1) % size] = entry;
      if (i - 1 < this.#oldest) this.#oldest = i - 1;
    }
  }

  /** The newest entry with this PSN. */
  find(psn: number): ReadEntry | undefined {
    for (let i = this.#end - 1; i >= this.#first; i--) {
      const entry = this.#at(i);
      if (psn >= entry.start && (psn < entry.end || entry.openEnded)) return entry;
      if (psn >= entry.end) return undefined;
    }
    return undefined;
  }

  /** The oldest incomplete entry that begins before `psn`. */
  incompleteBefore(psn: number): ReadEntry | undefined {
    while (this.#oldest < this.#end && this.#at(this.#oldest).complete) this.#oldest++;
    if (this.#oldest >= this.#end) return undefined;
    const entry = this.#at(this.#oldest);
    return entry.start < psn ? entry : undefined;
  }

  /** Notes that PSNs from `from` to just before `to` are requested again. */
  askAgain(from: number, to: number, timeNs: number, frame: number): void {
    this.askedAgainFrame = frame;
    for (let i = this.#end - 1; i >= this.#first; i--) {
      const entry = this.#at(i);
      if (entry.end <= from) return;
      if (entry.start >= to) continue;
      entry.askedAgainNs = timeNs;
      entry.askedAgainFrame = frame;
      entry.askedAgainPsn = Math.max(from, entry.start);
    }
  }

  /** Notes that the request for PSNs from `from` to just before `to` was captured twice. */
  copied(from: number, to: number, frame: number): void {
    for (let i = this.#end - 1; i >= this.#first; i--) {
      const entry = this.#at(i);
      if (entry.end <= from) return;
      if (entry.start < to) entry.copiedFrame = frame;
    }
  }

  /** Gives ends to entries that had none: `mtu` is known now. Returns the end of the last. */
  resolve(mtu: number): number {
    let end = -1;
    for (let i = this.#oldest; i < this.#end; i++) {
      const entry = this.#at(i);
      if (!entry.openEnded) continue;
      entry.end = Math.max(entry.next, entry.start + Math.max(1, Math.ceil(entry.length / mtu)));
      entry.openEnded = false;
      end = Math.max(end, entry.end);
    }
    return end;
  }

  #at(index: number): ReadEntry {
    return this.#entries[index % this.#entries.length] as ReadEntry;
  }

  /** Grows while there is something outstanding, to a bound; else the oldest goes. */
  #makeRoom(): void {
    const size = this.#entries.length;
    if (size < FIRST_ENTRIES || (size < MAX_ENTRIES && this.outstanding * 2 > size)) {
      const kept: ReadEntry[] = [];
      for (let i = this.#first; i < this.#end; i++) kept.push(this.#at(i));
      const count = kept.length;
      const total = Math.max(FIRST_ENTRIES, 2 * size);
      while (kept.length < total) kept.push(new ReadEntry());
      this.#oldest -= this.#first;
      this.#first = 0;
      this.#end = count;
      this.#entries = kept;
      return;
    }
    this.#first++;
    if (this.#oldest < this.#first) this.#oldest = this.#first;
  }
}

const FIRST_ENTRIES = 8;
const MAX_ENTRIES = 512;
