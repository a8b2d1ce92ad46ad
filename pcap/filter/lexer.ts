/**
 * Splits the text of a filter into tokens.
 *
 * Owns which characters form a token: an address, a range, or a name with dots and dashes is one word. The meaning of
 * words is elsewhere.
 */
import { FilterError } from './filter-error.ts';
import type { Comparison } from './types.ts';

/** A piece of the text and its position. */
export interface Token {
  readonly kind: 'word' | 'quoted' | 'comparison' | 'and' | 'or' | 'not' | '(' | ')' | 'end';
  /** Its text; of a quoted one the text inside the quotes. */
  readonly text: string;
  /** From 1. */
  readonly column: number;
  /** Characters of the text it takes. */
  readonly length: number;
}

/** Tokens of `text`, the last one of kind `end`. @throws FilterError for a character or a quote that belongs nowhere */
export function tokenize(text: string): Token[] {
  if (text.length > LONGEST_FILTER)
    throw new FilterError(LONGEST_FILTER + 1, 0, `a filter has at most ${LONGEST_FILTER} characters`);
  const tokens: Token[] = [];
  let at = 0;
  while (at < text.length) {
    const blank = match(BLANK, text, at);
    if (blank !== undefined) {
      at += blank.length;
      continue;
    }
    const token = tokenAt(text, at);
    tokens.push(token);
    at += token.length;
  }
  tokens.push({ kind: 'end', text: '', column: text.length + 1, length: 0 });
  return tokens;
}

/** Whether `text` can stand as one word, without quotes, and is read as nothing else. */
export function isPlainWord(text: string): boolean {
  return match(WORD, text, 0) === text && !RESERVED.has(text.toLowerCase());
}

/** `text` in quotes, so that `tokenize` gives it back. */
export function quote(text: string): string {
  return `"${text.replaceAll(/["\\]/g, (character) => `\\${character}`)}"`;
}

function tokenAt(text: string, at: number): Token {
  const column = at + 1;
  const operator = match(OPERATOR, text, at);
  if (operator !== undefined) return { ...operatorToken(operator), column, length: operator.length };
  const quoted = match(QUOTED, text, at);
  if (quoted !== undefined) {
    const inside = quoted.slice(1, -1).replaceAll(/\\(["\\])/g, '$1');
    return { kind: 'quoted', text: inside, column, length: quoted.length };
  }
  if (text[at] === '"') throw new FilterError(column, text.length - at, 'the quote is not closed');
  const word = match(WORD, text, at);
  if (word === undefined) {
    const character = String.fromCodePoint(text.codePointAt(at) ?? 0);
    throw new FilterError(column, character.length, `'${character}' has no place in a filter, unless in quotes`);
  }
  const reserved = RESERVED.get(word.toLowerCase());
  return { ...(reserved ?? { kind: 'word', text: word }), column, length: word.length };
}

function operatorToken(operator: string): Pick<Token, 'kind' | 'text'> {
  if (operator === '(' || operator === ')') return { kind: operator, text: operator };
  return SYMBOLS.get(operator) ?? { kind: 'comparison', text: operator };
}

function match(pattern: RegExp, text: string, at: number): string | undefined {
  pattern.lastIndex = at;
  return pattern.exec(text)?.[0];
}

const comparison = (text: Comparison): Pick<Token, 'kind' | 'text'> => ({ kind: 'comparison', text });

/** Everything that is not one of the operators, a quote or a parenthesis may be in a word. */
const WORD = /[^\s()!=<>&|"]+/y;
const BLANK = /\s+/y;
const OPERATOR = /&&|\|\||==|!=|<=|>=|[<>=!()]/y;
const QUOTED = /"(?:[^"\\]|\\.)*"/sy;
const SYMBOLS: ReadonlyMap<string, Pick<Token, 'kind' | 'text'>> = new Map([
  ['&&', { kind: 'and', text: 'and' }],
  ['||', { kind: 'or', text: 'or' }],
  ['!', { kind: 'not', text: 'not' }],
  ['=', comparison('==')],
]);
/** tshark spells its operators out as well. */
const RESERVED: ReadonlyMap<string, Pick<Token, 'kind' | 'text'>> = new Map([
  ['and', { kind: 'and', text: 'and' }],
  ['or', { kind: 'or', text: 'or' }],
  ['not', { kind: 'not', text: 'not' }],
  ['eq', comparison('==')],
  ['ne', comparison('!=')],
  ['lt', comparison('<')],
  ['le', comparison('<=')],
  ['gt', comparison('>')],
  ['ge', comparison('>=')],
  ['contains', comparison('contains')],
]);
const LONGEST_FILTER = 100_000;
