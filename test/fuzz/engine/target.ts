/** What a fuzz target is. CONTRIBUTING.md says how to add one. */

/** A part of the project that takes bytes of others. */
export interface FuzzTarget {
  /** As typed: `--target pcapng`; the name of its corpus, too. */
  readonly name: string;
  /** The input is a list of records (records.ts): the mutator then works on these, too. */
  readonly records?: boolean;
  /** Longest input. */
  readonly maxBytes: number;
  /** Words of its format, for the mutator; those in the code are found there. */
  readonly words?: readonly (string | Uint8Array)[];
  /** Most steps (loop turns and calls) of one input: more is a hang. Default 2,000,000. */
  readonly maxSteps?: number;
  /** Inputs to begin with. */
  seeds(): Uint8Array[];
  /**
   * Runs one input; returns the name of what came of it, one of few. Whatever is thrown is a finding: errors that are
   * documented for such input have to be caught and named. Depends on the input only.
   */
  run(input: Uint8Array, hits: Uint8Array): string | Promise<string>;
  /** Blocks of a program that is not ours to count: `run` sets the first of its `hits`. */
  ownBlocks?(): number;
  /** A program that takes long to start gets many inputs at a time; a finding is what `check` returns. */
  readonly batch?: {
    readonly size: number;
    check(inputs: readonly Uint8Array[]): Promise<string | undefined>;
  };
  /** Called at the end. */
  close?(): Promise<void>;
}

/** Thrown by targets where a promise is not kept. */
export class Finding extends Error {
  override readonly name = 'Finding';
}

/** @throws Finding */
export function promise(kept: boolean, sentence: string): asserts kept {
  if (!kept) throw new Finding(sentence);
}
