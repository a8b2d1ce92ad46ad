/**
 * Where packets were captured: each interface of a capture is a vantage point of its own, unless the options join them
 * (members of a LAG).
 *
 * Owns the numbers of vantage points, in the order of their appearance. Packets of `any` (Linux cooked v2) carry their
 * interface themselves.
 */
import type { MutableFacts } from './mutable-facts.ts';

export class VantagePoints {
  readonly #together: boolean;
  readonly #numbers = new Map<number, number>();
  #lastInterface = -1;
  #lastCooked = -1;
  #lastNumber = 0;

  constructor(together: boolean) {
    this.#together = together;
  }

  /** Vantage points there are. */
  get count(): number {
    return this.#numbers.size;
  }

  of({ packet: { interfaceIndex }, dissection: { cookedInterface } }: MutableFacts): number {
    if (this.#together) return 0;
    if (interfaceIndex === this.#lastInterface && cookedInterface === this.#lastCooked) return this.#lastNumber;
    const key = interfaceIndex * 0x1_00_00_00_00 + cookedInterface;
    let number = this.#numbers.get(key);
    if (number === undefined) {
      // More are not distinguished: an attacker may name four billion.
      number = Math.min(this.#numbers.size, MOST_VANTAGES - 1);
      if (this.#numbers.size < MOST_VANTAGES) this.#numbers.set(key, number);
    }
    this.#lastInterface = interfaceIndex;
    this.#lastCooked = cookedInterface;
    this.#lastNumber = number;
    return number;
  }
}

/** That are distinguished. */
export const MOST_VANTAGES = 64;
