/**
 * The packets that prove a finding: the first of them by number, and how many there are. Owns the bound; knows nothing of what they prove.
 */
import { MOST_FRAMES } from '../types.ts';

/** First packets and count, in the order of their adding. */
export class FrameList {
  /** At most `MOST_FRAMES`. */
  readonly frames: number[] = [];
  /** All that were added. */
  count = 0;

  add(frame: number): void {
    this.count++;
    if (this.frames.length < MOST_FRAMES) this.frames.push(frame);
  }

  addAll(other: FrameList): void {
    for (const frame of other.frames) if (this.frames.length < MOST_FRAMES) this.frames.push(frame);
    this.count += other.count;
  }
}

/** Frames of several lists for one finding, each once and in order, as many as a finding may name. */
export function mergedFrames(lists: readonly (readonly number[])[]): number[] {
  const all = new Set(lists.flat().filter((frame) => frame > 0));
  return [...all].sort((a, b) => a - b).slice(0, MOST_FRAMES);
}
