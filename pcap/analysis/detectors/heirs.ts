/**
 * Where the next life of two queue pairs begins. Until its first response a request may have looked like a
 * retransmission of the life before, and detectors have seen it as that.
 *
 * Owns the look-up. `tracker/lives.ts` decides what a life is.
 */
import type { ConversationReport } from '../types.ts';

/** First packet of the next life, by the id of the conversation that was before. */
export function heirFrames(conversations: readonly ConversationReport[]): ReadonlyMap<number, number> {
  const frames = new Map<number, number>();
  for (const { previousLife, firstFrame } of conversations) {
    if (previousLife !== 0) frames.set(previousLife, Math.min(firstFrame, frames.get(previousLife) ?? firstFrame));
  }
  return frames;
}
