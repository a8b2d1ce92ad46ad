/**
 * Parses the text of a filter to its tree, and prints the tree.
 *
 * Owns the grammar and its error messages. "not" binds most tightly, then "and", then "or". pcap-filter(7) gives "and"
 * and "or" the same rank, which surprises most users.
 *
 * ```
 * filter   = [ either ]
 * either   = both { ("or" | "||") both }
 * both     = negation { ("and" | "&&") negation }
 * negation = ("not" | "!") negation | "(" either ")" | word [ operand ] | field [ comparison value ]
 * ```
 */
import { invariant } from '../../packets/errors.ts';
import { compileComparison } from './compare.ts';
import { fieldKind, fieldNames, headerNames, isHeaderName } from './field-names.ts';
import { FilterError } from './filter-error.ts';
import { findWord, WORD_GROUPS, wordSpellings } from './language.ts';
import { isPlainWord, quote, type Token, tokenize } from './lexer.ts';
import { suggest } from './suggest.ts';
import { COMPARISONS, type FilterNode } from './types.ts';
import type { FilterWord } from './word.ts';

/** The tree of a filter. @throws FilterError ERR_ROCE_ARGUMENT with the place and what was expected there */
export function parseFilter(text: string): FilterNode {
  return new Parser(tokenize(text)).filter();
}

/** The text of a tree, which `parseFilter` makes the same tree of. */
export function printFilter(node: FilterNode): string {
  switch (node.kind) {
    case 'all':
      return '';
    case 'and':
    case 'or':
      return node.terms.map((term) => printTerm(term)).join(` ${node.kind} `);
    case 'not':
      return `not ${printTerm(node.operand)}`;
    case 'word':
      return node.operand === '' ? node.word : `${node.word} ${printOperand(node.operand)}`;
    case 'field':
      return node.field;
    case 'comparison':
      return `${node.field} ${node.operator} ${printValue(node.value)}`;
  }
}

/** In parentheses where it has terms of its own, so that the reader need not know the precedence. */
function printTerm(node: FilterNode): string {
  return node.kind === 'and' || node.kind === 'or' ? `(${printFilter(node)})` : printFilter(node);
}

function printOperand(operand: string): string {
  const [operator = '', value = '', ...rest] = operand.split(' ');
  const compares = rest.length === 0 && COMPARISONS.some((known) => known === operator) && isPlainWord(value);
  return compares ? operand : printValue(operand);
}

function printValue(value: string): string {
  return isPlainWord(value) ? value : quote(value);
}

class Parser {
  readonly #tokens: readonly Token[];
  #at = 0;
  #depth = 0;
  /** The last word that takes a value: a lone value may belong to it. */
  #lastWord = '';

  constructor(tokens: readonly Token[]) {
    this.#tokens = tokens;
  }

  filter(): FilterNode {
    if (this.#peek().kind === 'end') return { kind: 'all' };
    const node = this.#either();
    const rest = this.#peek();
    if (rest.kind === 'end') return node;
    if (rest.kind === ')') throw this.#error(rest, 'this parenthesis closes nothing');
    const meant = rest.kind === 'word' ? suggest(rest.text, findWord(this.#lastWord)?.choices ?? []) : [];
    throw this.#unexpected(rest, `'and', 'or' or the end of the filter is expected`, meant);
  }

  #either(): FilterNode {
    return this.#terms('or', () => this.#terms('and', () => this.#negation()));
  }

  #terms(kind: 'and' | 'or', next: () => FilterNode): FilterNode {
    const first = next();
    const terms = [first];
    while (this.#peek().kind === kind) {
      this.#at++;
      terms.push(next());
    }
    return terms.length === 1 ? first : { kind, terms };
  }

  #negation(): FilterNode {
    const token = this.#peek();
    if (token.kind !== 'not' && token.kind !== '(') return this.#primary();
    this.#at++;
    this.#depth++;
    if (this.#depth > DEEPEST)
      throw this.#error(token, `at most ${DEEPEST} parentheses and negations inside each other`);
    const inner = token.kind === 'not' ? this.#negation() : this.#either();
    this.#depth--;
    if (token.kind === 'not') return { kind: 'not', operand: inner };
    const close = this.#peek();
    if (close.kind !== ')') throw this.#unexpected(close, `'and', 'or' or a closing parenthesis is expected`);
    this.#at++;
    return inner;
  }

  #primary(): FilterNode {
    const token = this.#peek();
    if (token.kind !== 'word') throw this.#unexpected(token, 'a word of the filter language is expected');
    const next = this.#tokens[this.#at + 1];
    const two = next?.kind === 'word' ? findWord(`${token.text} ${next.text}`) : undefined;
    const word = two ?? findWord(token.text);
    if (word !== undefined) {
      this.#at += two === undefined ? 1 : 2;
      return this.#word(word);
    }
    const field = token.text.toLowerCase();
    if (fieldKind(field) === undefined && !isHeaderName(field)) throw this.#unknown(token);
    this.#at++;
    return this.#field(field, token);
  }

  #word(word: FilterWord): FilterNode {
    const plain: FilterNode = { kind: 'word', word: word.word, operand: '' };
    if (word.operand === 'none') return plain;
    this.#lastWord = word.word;
    const token = this.#peek();
    const operand = this.#operand();
    if (operand !== undefined && word.bind(operand) !== undefined) {
      this.#at += token.kind === 'comparison' ? 2 : 1;
      return { kind: 'word', word: word.word, operand };
    }
    // Text after a word that needs no operand is judged by what is expected there.
    if (word.operand === 'optional' && !this.#isValue(token)) return plain;
    const meant = token.kind === 'word' ? suggest(token.text, word.choices) : [];
    throw this.#unexpected(token, `'${word.word}' needs ${word.expected}`, meant);
  }

  /** The operand at the cursor as it is kept in the tree; undefined when none stands there. */
  #operand(): string | undefined {
    const token = this.#peek();
    if (token.kind === 'quoted') return token.text;
    if (token.kind === 'word') return token.text;
    const value = this.#tokens[this.#at + 1];
    return token.kind === 'comparison' && value?.kind === 'word' ? `${token.text} ${value.text}` : undefined;
  }

  /** Whether a token can only have been meant as a value. */
  #isValue(token: Token): boolean {
    return token.kind === 'comparison' || token.kind === 'quoted' || (token.kind === 'word' && /^\d/.test(token.text));
  }

  #field(field: string, at: Token): FilterNode {
    const token = this.#peek();
    if (token.kind !== 'comparison') return { kind: 'field', field };
    if (fieldKind(field) === undefined)
      throw this.#error(
        at,
        `'${field}' is a header, not a field: it can be there or not, but not be compared`,
        this.#below(field),
      );
    const operator = COMPARISONS.find((known) => known === token.text);
    invariant(operator !== undefined, 'the lexer knows the comparisons');
    this.#at++;
    const value = this.#peek();
    if (value.kind !== 'word' && value.kind !== 'quoted')
      throw this.#unexpected(value, `a value for '${field}' is expected`);
    const test = compileComparison(field, operator, value.text, () => ({}));
    if (typeof test === 'string') throw this.#error(value, `'${field}': ${test}`);
    this.#at++;
    return { kind: 'comparison', field, operator, value: value.text };
  }

  #below(header: string): string[] {
    return fieldNames()
      .filter((name) => name.startsWith(`${header}.`))
      .slice(0, 3);
  }

  #unknown(token: Token): FilterError {
    const { text } = token;
    if (/^\d/.test(text) && this.#lastWord !== '') {
      return this.#error(token, `'${text}' is a value without a word before it`, [`${this.#lastWord} ${text}`]);
    }
    const wanted = text.toLowerCase();
    const choices = WORD_GROUPS.flatMap(({ words }) => words)
      .filter((word) => word.choices.includes(wanted))
      .map((word) => `${word.word} ${wanted}`);
    const near = choices.length > 0 ? choices : suggest(text, [...wordSpellings(), ...fieldNames(), ...headerNames()]);
    return this.#error(token, `'${text}' is not known`, near);
  }

  #unexpected(token: Token, expected: string, suggestions: readonly string[] = []): FilterError {
    const found = token.kind === 'end' ? 'the end' : `'${token.text}'`;
    return this.#error(token, `${expected}, not ${found}`, suggestions);
  }

  #error(token: Token, sentence: string, suggestions: readonly string[] = []): FilterError {
    return new FilterError(token.column, token.length, sentence, suggestions);
  }

  #peek(): Token {
    const token = this.#tokens[this.#at] ?? this.#tokens.at(-1);
    invariant(token !== undefined, 'the last token is the end');
    return token;
  }
}

const DEEPEST = 200;
