/**
 * The filter language as data: every word in its group, found by any of its spellings. Help texts, documents and
 * completion are made from it.
 */

import type { FilterWord } from './word.ts';
import { ANALYSIS_WORDS } from './words-analysis.ts';
import { CAPTURE_WORDS, DAMAGE_WORDS } from './words-capture.ts';
import { ADDRESS_WORDS, PROTOCOL_WORDS, TRAFFIC_CLASS_WORDS } from './words-network.ts';
import { HEADER_WORDS, OPERATION_WORDS, SERVICE_WORDS } from './words-roce.ts';

/** A heading and the words below it. */
export interface WordGroup {
  /** The heading. */
  readonly title: string;
  /** In the order in which help shows them. */
  readonly words: readonly FilterWord[];
}

/** All words. */
export const WORD_GROUPS: readonly WordGroup[] = [
  { title: 'RoCE: services and management', words: SERVICE_WORDS },
  { title: 'RoCE: operations and answers', words: OPERATION_WORDS },
  { title: 'RoCE: fields', words: HEADER_WORDS },
  { title: 'Damage', words: DAMAGE_WORDS },
  { title: 'In the light of the packets before (analysis)', words: ANALYSIS_WORDS },
  { title: 'Addresses', words: ADDRESS_WORDS },
  { title: 'Protocols', words: PROTOCOL_WORDS },
  { title: 'Traffic class', words: TRAFFIC_CLASS_WORDS },
  { title: 'The capture', words: CAPTURE_WORDS },
];

/** The word with this spelling, of one part or of two with a blank. */
export function findWord(spelling: string): FilterWord | undefined {
  return BY_SPELLING.get(spelling.toLowerCase());
}

/** All spellings. */
export function wordSpellings(): string[] {
  return [...BY_SPELLING.keys()];
}

const BY_SPELLING: ReadonlyMap<string, FilterWord> = new Map(
  WORD_GROUPS.flatMap(({ words }) =>
    words.flatMap((word) => [word.word, ...word.aliases].map((spelling) => [spelling, word] as const)),
  ),
);
