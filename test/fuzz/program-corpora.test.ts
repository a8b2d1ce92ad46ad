/**
 * Goal: as in corpus.test.ts, for what runs in programs: the JSON reader of the agent, compiled with sanitizers, and the
 * post-dissector in tshark.
 */
import { it } from 'vitest';
import { describeWith } from '../support/need.ts';
import { runCorpus } from './regression.ts';

describeWith('compiler', "the corpus of the agent's JSON reader", () => {
  it('breaks nothing, and reaches what it is there for', () =>
    runCorpus('agent-json', { blocks: 170, outcomes: ['an object', 'a value', 'too many lists inside one another'] }));
});

describeWith('tshark-lua', 'the corpus of the post-dissector', () => {
  it('breaks nothing, and reaches what it is there for', () =>
    runCorpus('lua', { blocks: 860, outcomes: ['0 conversations', '1 conversations'] }));
});
