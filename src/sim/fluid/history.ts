/**
 * The state a fixed time ago. Owns a ring of past states, one for each step; between two of them the past is a straight
 * line, which is as exact as a second-order method needs. Before the first state everything had been as in the first.
 */

/** A delay line for states. */
export class History {
  readonly #rows: readonly Float64Array[];
  readonly #wholeSteps: number;
  readonly #fraction: number;
  #newest = 0;

  /** `delaySteps`: how far back `read` looks, in steps, 0 or more. */
  constructor(delaySteps: number, first: Float64Array) {
    this.#wholeSteps = Math.floor(delaySteps);
    this.#fraction = delaySteps - this.#wholeSteps;
    this.#rows = Array.from({ length: this.#wholeSteps + 2 }, () => Float64Array.from(first));
  }

  /** The state one step later than the last that was recorded. */
  record(state: Float64Array): void {
    this.#newest = (this.#newest + 1) % this.#rows.length;
    this.#row(0).set(state);
  }

  /** Into `into`: the state `delaySteps` before the last that was recorded. */
  read(into: Float64Array): void {
    const later = this.#row(this.#wholeSteps);
    into.set(later);
    if (this.#fraction === 0) return;
    const earlier = this.#row(this.#wholeSteps + 1);
    for (let i = 0; i < into.length; i++) {
      const end = later[i] as number;
      into[i] = end + this.#fraction * ((earlier[i] as number) - end);
    }
  }

  #row(stepsBack: number): Float64Array {
    const { length } = this.#rows;
    return this.#rows[(this.#newest + length - stepsBack) % length] as Float64Array;
  }
}
