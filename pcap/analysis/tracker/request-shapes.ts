/**
 * Opcode and length of the newest requests of a PSN space: a retransmission has those of its original
 * (ref:rxe#8).
 *
 * Owns a table indexed by the low bits of the relative PSN. It grows while one request would replace another; there is
 * a bound for each table, and one for all tables of an analysis.
 */
import type { MutableFacts } from './mutable-facts.ts';
import type { MemoryBudget } from './packet-memory.ts';

export class RequestShapes {
  /** Shape, -1 for none, and the low bits of the PSN, in turn. */
  #newest = NOTHING;
  #mask = 0;
  readonly #budget: MemoryBudget;

  constructor(budget: MemoryBudget) {
    this.#budget = budget;
  }

  /** An original. */
  remember(psn: number, shape: number): void {
    if (this.#newest === NOTHING) this.#resize(FIRST_REMEMBERED);
    const low = psn | 0;
    let at = 2 * (low & this.#mask);
    while (this.#newest[at] !== -1 && this.#newest[at + 1] !== low && this.#mayGrow()) {
      this.#budget.entries -= this.#mask + 1;
      this.#resize(2 * (this.#mask + 1));
      at = 2 * (low & this.#mask);
    }
    this.#newest[at] = shape;
    this.#newest[at + 1] = low;
  }

  /** The shape that the original had, if it is known and was another one; otherwise -1. */
  otherThan(shape: number, psn: number): number {
    const at = 2 * (psn & this.#mask);
    const was = this.#newest[at] ?? -1;
    return was === -1 || this.#newest[at + 1] !== (psn | 0) || was === shape ? -1 : was;
  }

  #mayGrow(): boolean {
    return this.#mask + 1 < REMEMBERED && this.#budget.entries > this.#mask;
  }

  #resize(entries: number): void {
    const old = this.#newest;
    this.#newest = new Int32Array(2 * entries).fill(-1);
    this.#mask = entries - 1;
    for (let at = 0; at < old.length; at += 2) {
      if (old[at] === -1) continue;
      const to = 2 * ((old[at + 1] as number) & this.#mask);
      this.#newest[to] = old[at] as number;
      this.#newest[to + 1] = old[at + 1] as number;
    }
  }
}

/** Requests remembered, at most and at first: powers of two. */
const REMEMBERED = 256;
const FIRST_REMEMBERED = 4;
const NOTHING = new Int32Array(0);

/** Opcode and length: a retransmission has the same. */
export function shapeOf({ dissection: { frame } }: MutableFacts): number {
  return (frame.opcode << 16) | frame.payloadLength;
}
