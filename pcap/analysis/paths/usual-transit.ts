/**
 * How long frames usually take on a path, and from when on one was held.
 *
 * A path has a shortest delay, its floor, and a jitter that goes on without a break from the floor to the longest delay
 * that is usual. What was held stands apart: from the delay of nine frames in ten upwards, the first gap ends what is
 * usual. A gap is an octave (nothing takes between x and 2x more than the floor) where one program has captured both
 * sides, and two octaves where two hosts have, each of which is now and then late in its own way. Owns the counts, half
 * an octave each.
 */
import { Histogram } from '../tracker/histogram.ts';

/** Collects the transit times of one path. */
export class UsualTransit {
  /** The shortest transit time that is known to be no mistake. */
  readonly floorNs: number;
  readonly #times = new Histogram();
  /** Times beyond the floor, by half octaves; the first one holds all that is too short to be jitter. */
  readonly #beyond = new Uint32Array(HALF_OCTAVES);
  readonly #gap: number;
  #candidateNs = 0;

  /** @param together whether one program has captured both sides */
  constructor(floorNs: number, together: boolean) {
    this.floorNs = Math.round(floorNs);
    this.#gap = together ? GAP : WIDE_GAP;
  }

  /** Half of the frames take no longer; the floor while nothing is known. */
  get medianNs(): number {
    return this.#times.count === 0 ? this.floorNs : this.#times.percentile(0.5);
  }

  add(transitNs: number): void {
    this.#times.add(transitNs);
    const at = halfOctaveOf(transitNs - this.floorNs);
    this.#beyond[at] = (this.#beyond[at] as number) + 1;
    if (this.#times.count % RENEWED === 0) this.#candidateNs = this.heldBeyondNs() - this.floorNs;
  }

  /** Whether a frame may turn out to have been held, when all are known. */
  mayBeHeld(transitNs: number): boolean {
    return transitNs - this.floorNs > this.#candidateNs / 2;
  }

  /** A frame that took longer was held. */
  heldBeyondNs(): number {
    const bulk = BULK * this.#times.count;
    let seen = 0;
    let usual = 0;
    for (let at = 0; at < HALF_OCTAVES; at++) {
      const here = this.#beyond[at] as number;
      if (seen >= bulk && at > usual + this.#gap) break;
      seen += here;
      if (here > 0) usual = at;
    }
    return this.floorNs + Math.round(SHORTEST_NS * 2 ** ((usual + 1) / 2));
  }
}

function halfOctaveOf(beyondNs: number): number {
  if (beyondNs <= SHORTEST_NS) return 0;
  return Math.min(HALF_OCTAVES - 1, 1 + Math.floor(2 * Math.log2(beyondNs / SHORTEST_NS)));
}

/** Less is no delay but the way of a batch through a program, or the resolution of a clock. */
const SHORTEST_NS = 1_000;
/** Up to several hours. */
const HALF_OCTAVES = 80;
/** Half octaves without a frame that end what is usual. */
const GAP = 2;
const WIDE_GAP = 4;
/** This share of the frames is not held. */
const BULK = 0.9;
/** Frames after which the threshold for candidates is looked at again. */
const RENEWED = 1024;
