/**
 * What is done to one frame, as values: decided by the engine, carried out by a path, shown to observers. Owns the bits
 * and their names. Made once and filled again for each frame.
 */

import type { CompiledRule } from './compile.ts';
import { describeFate, Fate } from './fault-spec.ts';

/** What was done: bits that may come together. The first five are those of the simulated wire. */
export const FrameAction = {
  ...Fate,
  Rewritten: 1 << 5,
  /** Held back until others have passed. */
  Reordered: 1 << 6,
  /** Dropped because too many frames wait, or too many bytes for the rate. */
  Overflowed: 1 << 7,
  /** Dropped because the other side does not carry frames of this length. */
  Oversize: 1 << 8,
} as const;

/** What is done to one frame. */
export class FrameDecision {
  /** Bits of `FrameAction`; 0 when the frame passes as it came. */
  did = 0;
  /** Rules that are carried out. */
  readonly rules: CompiledRule[] = [];
  /** For each of `rules`, the bit that it flips; -1 for those that flip none. */
  readonly bits: number[] = [];
  /** Bit of the whole frame that chance flips; -1: none. */
  chanceBit = -1;
  /** Of `did`, what chance has decided. */
  byChance = 0;
  /** Frames that leave besides the frame itself. */
  copies = 0;
  /** Between one copy and the next, nanoseconds. */
  copyDelayNs = 0;
  /** By rules, nanoseconds, on top of what the wire takes. */
  delayNs = 0;
  /** So many frames overtake it; 0: it is not reordered. */
  behind = 0;
  /** The longest that it waits for them, nanoseconds. */
  holdNs = 0;

  /** Nothing is done: what `decide` begins with. */
  reset(): void {
    this.did = 0;
    this.rules.length = 0;
    this.bits.length = 0;
    this.chanceBit = -1;
    this.byChance = 0;
    this.copies = 0;
    this.copyDelayNs = 0;
    this.delayNs = 0;
    this.behind = 0;
    this.holdNs = 0;
  }

  /** Whether the frame does not leave. */
  get dropped(): boolean {
    return (this.did & FrameAction.Dropped) !== 0;
  }

  /** Drops the frame for a reason that is no fault: Overflowed or Oversize. */
  refuse(reason: number): void {
    this.reset();
    this.did = FrameAction.Dropped | reason;
  }

  /** What was done and by which rule, as text: 'dropped by "third packet"'; empty when nothing was. */
  describe(): string {
    if ((this.did & FrameAction.Overflowed) !== 0) return 'dropped: the queue is full';
    if ((this.did & FrameAction.Oversize) !== 0) return 'dropped: longer than the other side carries';
    const words = this.rules.map((rule, index) => `${this.#deed(rule, this.bits[index] ?? -1)} by "${rule.name}"`);
    if (this.byChance !== 0) words.push(`${describeFate(this.byChance)} by chance`);
    return words.join(', ');
  }

  #deed({ action, rule }: CompiledRule, bit: number): string {
    switch (action) {
      case 'drop':
        return 'dropped';
      case 'duplicate':
        return `duplicated (${rule.copies ?? 1} more)`;
      case 'delay':
        return `delayed by ${(rule.delayNs ?? 0) / 1e6} ms`;
      case 'reorder':
        return `held back behind ${rule.behind ?? 1}`;
      case 'corrupt':
        return `corrupted (bit ${bit})`;
      case 'mark-ce':
        return 'marked CE';
      case 'rewrite':
        return `rewritten (${Object.entries(rule.set ?? {})
          .map(([name, value]) => `${name} = ${value}`)
          .join(', ')})`;
    }
  }
}
