/**
 * Ids of receive work requests, 64 bits of the client's choice, as the numbers that the transport carries. Nearly all
 * are small or user addresses and stay what they are; the others wait in a table under a negative number until their
 * receive completes.
 */

const EXACT_HIGH = 0x20_00_00;

export class WorkIds {
  readonly #large = new Map<number, readonly [high: number, low: number]>();
  #next = 1;

  /** Ids that wait. */
  get size(): number {
    return this.#large.size;
  }

  /** The number for an id, given as its halves. */
  keep(high: number, low: number): number {
    if (high < EXACT_HIGH) return high * 2 ** 32 + low;
    const number = -this.#next++;
    this.#large.set(number, [high, low]);
    return number;
  }

  /** The halves of an id that `keep` has returned a number for; they are forgotten. */
  take(number: number): readonly [high: number, low: number] {
    if (number >= 0) return [Math.floor(number / 2 ** 32), number % 2 ** 32];
    const halves = this.#large.get(number) ?? [0, 0];
    this.#large.delete(number);
    return halves;
  }

  /** Nothing completes any more. */
  clear(): void {
    this.#large.clear();
  }
}
