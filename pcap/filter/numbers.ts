/**
 * The numbers a word of the filter can be followed by: `5`, `0x11`, `10-20`, `1,5,7-9`, `> 1000`.
 *
 * Owns their syntax and their test. NaN stands for "this packet has no such number" and passes no test, not even `!=`.
 */

/** How numbers are to be read. */
export interface NumberRules {
  /** The largest that makes sense. */
  readonly max: number;
  /** A range whose end is below its beginning continues at 0 after `max`, as PSNs do; otherwise it is an error. */
  readonly wraps?: boolean;
}

/** A test of one number. */
export type NumberTest = (value: number) => boolean;

/** The test that `text` stands for; undefined when it is not of the syntax or beyond `max`. */
export function parseNumbers(text: string, rules: NumberRules): NumberTest | undefined {
  const [, operator, operand = ''] = COMPARISON.exec(text) ?? [];
  if (operator !== undefined) {
    const value = parseNumber(operand, rules.max);
    return value === undefined ? undefined : compareWith(operator, value);
  }
  const tests: NumberTest[] = [];
  for (const part of text.split(',')) {
    const test = parsePart(part, rules);
    if (test === undefined) return undefined;
    tests.push(test);
  }
  const [only] = tests;
  return tests.length === 1 && only !== undefined ? only : (value) => tests.some((test) => test(value));
}

/** A whole number in decimal or as `0x...`, of 0 to `max`; undefined for anything else. */
export function parseNumber(text: string, max: number): number | undefined {
  if (!NUMBER.test(text)) return undefined;
  const value = Number(text);
  return value <= max ? value : undefined;
}

/** The test of a comparison operator; for any other text that of `==`. */
export function compareWith(operator: string, value: number): NumberTest {
  switch (operator) {
    case '!=':
      // NaN differs from everything, and is to match nothing.
      return (actual) => actual < value || actual > value;
    case '<':
      return (actual) => actual < value;
    case '<=':
      return (actual) => actual <= value;
    case '>':
      return (actual) => actual > value;
    case '>=':
      return (actual) => actual >= value;
    default:
      return (actual) => actual === value;
  }
}

function parsePart(text: string, { max, wraps = false }: NumberRules): NumberTest | undefined {
  const [first = '', last, ...rest] = text.split('-');
  const from = parseNumber(first, max);
  if (from === undefined || rest.length > 0) return undefined;
  if (last === undefined) return (value) => value === from;
  const to = parseNumber(last, max);
  if (to === undefined) return undefined;
  if (from <= to) return (value) => value >= from && value <= to;
  return wraps ? (value) => value >= from || value <= to : undefined;
}

const NUMBER = /^(?:\d{1,15}|0x[0-9a-f]{1,12})$/i;
const COMPARISON = /^(==|!=|<=|>=|<|>) (.*)$/;
