/**
 * A deliberate bug of our own transport: one edit at a named place, switched on alone, that a named rule has to catch.
 * Data only.
 */
export interface Mutant extends Anchor {
  /** A few words with hyphens: `ack-one-too-far`. */
  readonly id: string;
  readonly edit: Edit;
  /** The bug, a sentence. */
  readonly says: string;
  /** Rules that fail with it, all of them; none where `escapes` says why. */
  readonly caughtBy: readonly string[];
  /** Why no rule catches it, a clause. */
  readonly escapes?: string;
  /** Of a bug that was drawn without looking at the rules: whether they caught it as they were. */
  readonly atFirst?: 'caught' | 'missed';
}

/** Names one node of the syntax tree of a file. Spaces, comments, line breaks and optional commas do not matter. */
export interface Anchor {
  /** File that is changed, from the root of the project. */
  readonly file: string;
  /** Where in the file: `Class.member`, `Class.#member`, or a function or variable at the top of the module. */
  readonly in: string;
  /**
   * The node, as code: an expression, or with its semicolon or braces a statement. It stands there exactly once; where
   * it would stand twice, a larger piece of the code around it is the anchor.
   */
  readonly at: string;
}

/** What is done to the node of the anchor. Code is an expression for an expression, and statements for a statement. */
export type Edit =
  /** The statement is taken out. */
  | 'drop'
  | { readonly replace: string }
  /** Of an expression with two operands (`a && b`, `a + b`) one is kept. */
  | { readonly keep: 'left' | 'right' }
  /** The expression becomes `(it) && (code)`. */
  | { readonly and: string }
  /** The expression becomes `(it) || (code)`. */
  | { readonly or: string }
  /** The expression becomes `(it) + n`. */
  | { readonly offset: number }
  /** Statements are put behind the statement. */
  | { readonly after: string };
