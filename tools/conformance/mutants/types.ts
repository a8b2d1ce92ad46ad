/** A deliberate bug of our own transport: one change of text, switched on alone, that a named rule has to catch. Data only. */
export interface Mutant {
  /** A few words with hyphens: `ack-one-too-far`. */
  readonly id: string;
  /** File that is changed, from the root of the project. */
  readonly file: string;
  /** Text that stands there exactly once, and what stands there instead. */
  readonly find: string;
  readonly replace: string;
  /** The bug, a sentence. */
  readonly says: string;
  /** Rules of which at least one, named here, must fail with it; all of them do. */
  readonly caughtBy: readonly string[];
}
