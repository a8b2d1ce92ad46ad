/**
 * Words about what a packet is to those before it: its conversation and the marks that the tracker puts on it.
 *
 * Owns no rule: the tracker decides what is a retransmission. Without facts these words match nothing.
 */
import { MARK_NAMES } from '../analysis/facts.ts';
import type { FilterSubject } from './types.ts';
import { type FilterWord, flagWord, numberWord } from './word.ts';

/** What needs the packets before. */
export const ANALYSIS_WORDS: readonly FilterWord[] = [
  numberWord('stream', 'conversation of this number, as `roce analyze` counts them', {
    what: 'a number',
    max: 999_999_999,
    aliases: ['conversation'],
    analysis: true,
    get: ({ facts }) => facts?.conversation?.id ?? Number.NaN,
  }),
  numberWord('rel-psn', 'PSN counted from the first of its conversation and direction', {
    what: 'a PSN',
    max: Number.MAX_SAFE_INTEGER,
    analysis: true,
    get: ({ facts }) => facts?.relativePsn ?? Number.NaN,
  }),
  flagWord('marked', 'remarkable in any of the ways below', (subject) => marksOf(subject) !== 0, { analysis: true }),
  ...MARK_NAMES.flatMap((name, bitNumber) => {
    const meaning = MEANINGS()[name];
    if (meaning === undefined) return [];
    const [text, ...aliases] = meaning;
    return [
      flagWord(name, text, (subject) => (marksOf(subject) & (1 << bitNumber)) !== 0, { aliases, analysis: true }),
    ];
  }),
];

function marksOf({ facts }: FilterSubject): number {
  return facts?.marks ?? 0;
}

/** Marks that need the packets before this one, their help texts, and synonyms. The other marks are words already. */
function MEANINGS(): Partial<Record<(typeof MARK_NAMES)[number], readonly [string, ...string[]]>> {
  return {
    retransmission: ['sent before, by the same end', 'retransmit'],
    copy: ['the same frame again, unchanged', 'duplicate'],
    late: ['comes after packets that were sent later', 'reordered'],
    gap: ['packets are missing before it'],
    'implied-nak': ['asks again for what a gap in responses lacks'],
    'after-timeout': ['sent after a time without an answer', 'timeout'],
    'ghost-ack': ['acknowledges what is acknowledged already, or nothing that was asked'],
    violation: ['breaks a rule of the protocol'],
  };
}
