/**
 * The packets that prove a finding: the first of them by number, and how many there are. Owns the bound.
 */
import { MOST_FRAMES } from '../types.ts';

/** First packets and count, in the order of their adding. */
export class FrameList {
  /** All that were added. */
  count = 0;
  /** Made with the first: most lists stay empty. */
  #frames: number[] | undefined;

  /** At most `MOST_FRAMES`. */
  get frames(): readonly number[] {
    return this.#frames ?? NONE;
  }

  add(frame: number): void {
    this.count++;
    this.#frames ??= [];
    if (this.#frames.length < MOST_FRAMES) this.#frames.push(frame);
  }

  clear(): void {
    this.count = 0;
    this.#frames = undefined;
  }

  addAll(other: FrameList): void {
    const count = this.count + other.count;
    for (const frame of other.frames) this.add(frame);
    this.count = count;
  }
}

/** Frames of several lists for one finding, each once and in order, as many as a finding may name. */
export function mergedFrames(lists: readonly (readonly number[])[]): number[] {
  const all = new Set(lists.flat().filter((frame) => frame > 0));
  return [...all].sort((a, b) => a - b).slice(0, MOST_FRAMES);
}

const NONE: readonly number[] = [];
