/**
 * Delivery of results: promises are settled and events emitted at the end of each turn of a device, each part for
 * itself, so that an error in one delivers those of the others all the same.
 */
import type { InternalErrors } from './internal-errors.ts';

/** Results that may throw while they are delivered, one after the other, before the rest waits for the next turn. */
const ROUNDS = 16;

export class Settling {
  readonly #parts: readonly (() => void)[];
  readonly #errors: InternalErrors;

  /** `parts` take each result from its queue before they deliver it. */
  constructor(parts: readonly (() => void)[], errors: InternalErrors) {
    this.#parts = parts;
    this.#errors = errors;
  }

  settle(): void {
    for (let i = 0; i < this.#parts.length; i++) this.#settlePart(this.#parts[i] as () => void);
  }

  /** What throws is no longer in its queue: the next round does the rest. */
  #settlePart(settle: () => void): void {
    for (let round = 0; round < ROUNDS; round++) {
      try {
        settle();
        return;
      } catch (error) {
        this.#errors.caught('settle', error);
      }
    }
  }
}
