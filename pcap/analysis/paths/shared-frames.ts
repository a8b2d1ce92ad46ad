/**
 * Which interfaces saw the same frames at all, however far apart in the capture.
 *
 * Owns a sample of the frames, chosen by what is in them, so that it is the same at every interface. It tells nothing
 * of single frames: it is what a comparison that did not come about is noticed by. Bounded memory.
 */
import { FrameStatus } from '../../../packets/frame.ts';
import { FrameReader, type PathFacts } from './captured-frame.ts';

export class SharedFrames {
  /** The interface that saw a frame first, by its key. */
  readonly #first = new Map<number, number>();
  readonly #reader = new FrameReader();
  readonly #seen = new Map<number, number>();
  /** By both indices, the lower one first. */
  readonly #shared = new Map<string, number>();

  packet(facts: PathFacts): void {
    const { frame, status } = facts.dissection;
    if (status !== FrameStatus.Ok || ((frame.psn ^ frame.destQpn) & SAMPLE_MASK) !== 0) return;
    const { interfaceIndex } = facts.packet;
    const { key } = this.#reader.record(facts);
    const first = this.#first.get(key);
    if (first === interfaceIndex || (first === undefined && this.#first.size >= MOST_KEYS)) return;
    this.#seen.set(interfaceIndex, (this.#seen.get(interfaceIndex) ?? 0) + 1);
    if (first === undefined) this.#first.set(key, interfaceIndex);
    else {
      const pair = [first, interfaceIndex].sort((a, b) => a - b).join('-');
      this.#shared.set(pair, (this.#shared.get(pair) ?? 0) + 1);
    }
  }

  /** Pairs of interfaces that share more than what loss and retransmission make the same. */
  pairs(): (readonly [number, number])[] {
    const seen = (index: number): number => this.#seen.get(index) ?? 0;
    return [...this.#shared].flatMap(([pair, shared]) => {
      const [one = 0, other = 0] = pair.split('-').map(Number);
      const enough = shared >= FEWEST_SHARED && shared >= LEAST_SHARE * Math.min(seen(one), seen(other));
      return enough ? [[one, other] as const] : [];
    });
  }
}

/** One frame in so many, less one. */
const SAMPLE_MASK = 0xff;
const MOST_KEYS = 65_536;
const FEWEST_SHARED = 8;
/** As for pairs that are recognized. */
const LEAST_SHARE = 0.25;
