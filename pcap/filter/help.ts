/**
 * Help for the filter language in a terminal, and completion for an editor. Both are made from the words of the
 * language.
 */
import { fieldNames, headerNames } from './field-names.ts';
import { findWord, WORD_GROUPS, wordSpellings } from './language.ts';

/** One proposal at the cursor. */
export interface Completion {
  /** What to put in the place of `[from, to)`. */
  readonly text: string;
  /** First column that it replaces, from 0. */
  readonly from: number;
  /** Column after the last that it replaces. */
  readonly to: number;
  /** Its meaning; empty for a name that explains itself. */
  readonly meaning: string;
}

/** The whole language in lines of at most `width` columns. */
export function filterHelp(width = 100): string[] {
  const column = Math.max(...WORD_GROUPS.flatMap(({ words }) => words.map(({ syntax }) => syntax.length))) + 4;
  const lines = [...INTRODUCTION];
  for (const { title, words } of WORD_GROUPS) {
    lines.push('', `${title}:`);
    for (const { syntax, aliases, meaning, choices } of words) {
      const also = aliases.length === 0 ? '' : `; also ${aliases.join(', ')}`;
      const names = choices.length === 0 ? '' : `: ${choices.join(', ')}`;
      lines.push(...entry(`  ${syntax}`, `${meaning}${also}${names}`, column, width));
    }
  }
  lines.push('', ...FIELDS, '', ...EXAMPLES);
  return lines;
}

/**
 * Completions at `cursor` (0 .. length) of `text`, at most `limit`: words and fields that begin like the word there, or
 * operands of the word before it.
 */
export function completeFilter(text: string, cursor: number, limit = 20): Completion[] {
  const before = text.slice(0, cursor);
  const [begun = ''] = /[^\s()!=<>&|"]*$/.exec(before) ?? [];
  const from = cursor - begun.length;
  const [previous = ''] = /[^\s()!=<>&|"]*$/.exec(before.slice(0, from).trimEnd()) ?? [];
  const to = cursor + (/^[^\s()!=<>&|"]*/.exec(text.slice(cursor))?.[0].length ?? 0);
  return candidates(previous)
    .filter(({ text: candidate }) => candidate.startsWith(begun.toLowerCase()))
    .slice(0, limit)
    .map((candidate) => ({ ...candidate, from, to }));
}

function candidates(previous: string): Pick<Completion, 'text' | 'meaning'>[] {
  const word = findWord(previous);
  const choices = (word?.choices ?? []).map((text) => ({ text, meaning: '' }));
  if (word?.operand === 'required') return choices;
  const spellings = wordSpellings().map((text) => ({ text, meaning: findWord(text)?.meaning ?? '' }));
  const fields = [...fieldNames(), ...headerNames()].map((text) => ({ text, meaning: '' }));
  return [...choices, ...spellings, ...fields];
}

/** A word and what it means, wrapped beside it. */
function entry(word: string, meaning: string, column: number, width: number): string[] {
  const lines: string[] = [];
  let line = word.padEnd(column);
  for (const part of meaning.split(' ')) {
    if (line.length + part.length > width && line.trim() !== '' && line.length > column) {
      lines.push(line.trimEnd());
      line = ' '.repeat(column);
    }
    line += `${part} `;
  }
  return [...lines, line.trimEnd()];
}

const INTRODUCTION = [
  'A filter is made of the words below, joined with "and", "or", "not" (or &&, ||, !) and parentheses;',
  '"not" binds most tightly, then "and", then "or".',
  'N is a number (5, 0x11), a range (10-20), several with commas (1,5,7-9) or a comparison (> 1000).',
];

const FIELDS = [
  "Any field by tshark's name, as --json prints it, alone or compared with ==, !=, <, <=, >, >= or contains:",
  '  infiniband.bth.psn == 5     infiniband.reth     ip.src == 10.0.0.0/24     frame.comment contains "lost"',
  'A packet without the field passes no comparison, not even !=.',
];

const EXAMPLES = [
  'Examples:',
  '  nak or rnr                                      negative acknowledgements',
  '  host 10.0.0.1 and write and psn 0xfffff0-15     WRITEs around the wrap of the PSN',
  '  roce and not cnp and (bad-icrc or malformed)    what receivers drop in silence',
  '  retransmission and qp 0x11                      what was sent again to one queue pair',
];
