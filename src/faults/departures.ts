/**
 * Which packets a queue marks Congestion Experienced: decided as each leaves, by the bytes behind it then.
 *
 * Owns the list of frames that wait for a rate, and the random draw. Rule: ref:dcqcn#1 (RED on the instantaneous queue,
 * taken at departure). A frame leaves when its first byte does; frames that came in up to then are behind it. `next`
 * may be called late: the result is that of the moment of departure, whatever has come in since. Never touches a frame,
 * and has no clock.
 */
import { markingProbability } from '../ground/ecn.ts';
import type { Prng } from '../ground/prng.ts';
import type { EcnProfile } from './fault-spec.ts';

/** Frames that wait for a rate, first in, first out. */
export class RateQueue {
  /** Set by `next`: bytes that waited behind the frame. */
  behindBytes = 0;
  readonly #profile: EcnProfile;
  readonly #random: Prng;
  /** A ring of a power of two, by place: when the frame came in, when it leaves, its bytes, and its identifier. */
  #cameNs = new Float64Array(FIRST_PLACES);
  #leavesNs = new Float64Array(FIRST_PLACES);
  #bytes = new Int32Array(FIRST_PLACES);
  #names = new Int32Array(FIRST_PLACES);
  /** Counted on without end; the place is what the mask leaves. */
  #head = 0;
  #tail = 0;
  /** Frames before this one had come in when that at the head left, and how many bytes they are, from the head on. */
  #arrived = 0;
  #arrivedBytes = 0;

  /** @internal */
  constructor(profile: EcnProfile, random: Prng) {
    this.#profile = profile;
    this.#random = random;
  }

  /**
   * A frame comes in.
   *
   * @param cameNs never less than that of the frame before, like `leavesNs`, which is not less than `cameNs`
   * @param name the identifier that `next` returns
   */
  enter(cameNs: number, leavesNs: number, bytes: number, name: number): void {
    if (this.#tail - this.#head === this.#names.length) this.#grow();
    const place = this.#tail++ & (this.#names.length - 1);
    this.#cameNs[place] = cameNs;
    this.#leavesNs[place] = leavesNs;
    this.#bytes[place] = bytes;
    this.#names[place] = name;
  }

  /**
   * The next frame that left before `until` and is marked, by its identifier, or -1: there is none.
   *
   * @param until all that came in before it has to be known
   */
  next(until: number): number {
    const mask = this.#names.length - 1;
    while (this.#head !== this.#tail) {
      const place = this.#head & mask;
      const leavesNs = this.#leavesNs[place] ?? 0;
      if (leavesNs >= until) return -1;
      this.#admit(leavesNs);
      this.#head++;
      this.#arrivedBytes -= this.#bytes[place] ?? 0;
      this.behindBytes = this.#arrivedBytes;
      if (this.#random.chance(markingProbability(this.#profile, this.behindBytes))) return this.#names[place] ?? -1;
    }
    return -1;
  }

  /** Counts what had come in by `now`. */
  #admit(now: number): void {
    const mask = this.#names.length - 1;
    for (; this.#arrived !== this.#tail; this.#arrived++) {
      const place = this.#arrived & mask;
      if ((this.#cameNs[place] ?? 0) > now) return;
      this.#arrivedBytes += this.#bytes[place] ?? 0;
    }
  }

  #grow(): void {
    const places = this.#names.length;
    const at = Array.from({ length: places }, (_, i) => (this.#head + i) & (places - 1));
    this.#cameNs = larger(this.#cameNs, at, new Float64Array(2 * places));
    this.#leavesNs = larger(this.#leavesNs, at, new Float64Array(2 * places));
    this.#bytes = larger(this.#bytes, at, new Int32Array(2 * places));
    this.#names = larger(this.#names, at, new Int32Array(2 * places));
    this.#arrived -= this.#head;
    this.#tail -= this.#head;
    this.#head = 0;
  }
}

function larger<T extends Float64Array | Int32Array>(from: T, at: readonly number[], to: T): T {
  at.forEach((place, i) => {
    to[i] = from[place] ?? 0;
  });
  return to;
}

const FIRST_PLACES = 64;
