/**
 * Goal: no input that was ever interesting breaks anything again. Method: each target runs its corpus once, with
 * counters in the code: a corpus that reaches less than it did is an error, too.
 */
import { describe, it } from 'vitest';
import { type Reach, runCorpus } from './regression.ts';

/** What each corpus reached when it was made, less some room for changes of the code. */
const REACH: readonly (readonly [string, Reach])[] = [];

describe('the corpus of', () => {
  it.each(REACH)('%s breaks nothing, and reaches what it is there for', runCorpus);
});
