/**
 * What a word of the filter language is, and the kinds of words: alone, with numbers, with names, with an address.
 *
 * Owns the shape of an entry of the language; the entries are in `words-*.ts`. An entry contains its own documentation.
 */
import { IpAddress, IpPrefix, parseMac } from '../../packets/address.ts';
import { RoceError } from '../../packets/errors.ts';
import { type NumberRules, parseNumbers } from './numbers.ts';
import type { FilterSubject, Predicate } from './types.ts';

/** One word of the language. */
export interface FilterWord {
  /** As it is printed; of two words for some: "src host". */
  readonly word: string;
  /** Other spellings. */
  readonly aliases: readonly string[];
  /** How it is written: "psn NUMBERS". */
  readonly syntax: string;
  /** What it matches, a phrase without a full stop. */
  readonly meaning: string;
  /** Whether something follows the word. */
  readonly operand: 'none' | 'optional' | 'required';
  /** What is to follow, for error messages: "a QPN from 0 to 0xffffff". */
  readonly expected: string;
  /** Names that may follow; empty where it is no matter of names. */
  readonly choices: readonly string[];
  /** Whether it needs the analysis of the packets before. */
  readonly analysis: boolean;
  /** Whether it reads bytes of the packet: false where a `PacketOutline` is enough. */
  readonly needsPacket: boolean;
  /** The test for an operand, '' for none; undefined when the operand makes no sense. */
  bind(operand: string): Predicate | undefined;
}

/** A word with what its maker need not repeat. */
export interface WordOptions {
  readonly aliases?: readonly string[];
  readonly analysis?: boolean;
  /** It looks at nothing but what a `PacketOutline` has; words of the analysis never do. */
  readonly outline?: boolean;
}

/** A word that stands alone. */
export function flagWord(word: string, meaning: string, test: Predicate, options: WordOptions = {}): FilterWord {
  const bind = (operand: string) => (operand === '' ? test : undefined);
  return { ...common(word, meaning, options), syntax: word, operand: 'none', expected: '', bind };
}

/** What a word with numbers is about. */
export interface NumberWord extends WordOptions, NumberRules {
  /** What the number is, with an article: "a PSN". */
  readonly what: string;
  /** How the operand is called in `syntax`. */
  readonly name?: string;
  /** NaN where the packet has none. */
  get(subject: FilterSubject): number;
  /** A second number of the packet: one of the two has to pass, both where the comparison is `!=`. */
  getOther?(subject: FilterSubject): number;
  /** Makes the word usable alone: what it then matches. */
  alone?(subject: FilterSubject): boolean;
}

/** A word with a number, a range, several of them, or a comparison. */
export function numberWord(word: string, meaning: string, options: NumberWord): FilterWord {
  const { what, max, get, getOther, alone, name = 'N' } = options;
  const operand = alone === undefined ? 'required' : 'optional';
  const limit = max > 9999 && HEX_LIMITS.has(max) ? `0x${max.toString(16)}` : `${max}`;
  return {
    ...common(word, meaning, options),
    syntax: operand === 'optional' ? `${word} [${name}]` : `${word} ${name}`,
    operand,
    expected: `${what} from 0 to ${limit}, a range, several with commas or a comparison`,
    bind: (text) => {
      if (text === '') return alone;
      const test = parseNumbers(text, options);
      if (test === undefined || getOther === undefined) return test && ((subject) => test(get(subject)));
      if (text.startsWith('!=')) return (subject) => test(get(subject)) && test(getOther(subject));
      return (subject) => test(get(subject)) || test(getOther(subject));
    },
  };
}

/** A word with one of several names behind it, or several with commas; without any, it matches where `alone` does. */
export function choiceWord(
  word: string,
  meaning: string,
  choices: Readonly<Record<string, Predicate>>,
  options: WordOptions & { readonly alone?: Predicate; readonly name: string },
): FilterWord {
  const { alone, name } = options;
  const names = new Map(Object.entries(choices));
  return {
    ...common(word, meaning, options),
    syntax: alone === undefined ? `${word} ${name}` : `${word} [${name}]`,
    operand: alone === undefined ? 'required' : 'optional',
    expected: `one of ${[...names.keys()].join(', ')}`,
    choices: [...names.keys()],
    bind: (text) => {
      if (text === '') return alone;
      const tests = text.split(',').map((choice) => names.get(choice.toLowerCase()));
      const known = tests.filter((test) => test !== undefined);
      return known.length < tests.length ? undefined : anyOf(known);
    },
  };
}

/** A word with an address. */
export function hostWord(
  word: string,
  meaning: string,
  make: (address: IpAddress) => Predicate,
  options: WordOptions = {},
): FilterWord {
  const expected = 'an IPv4 or IPv6 address';
  return operandWord(word, 'ADDRESS', meaning, expected, IpAddress.parse, make, options);
}

/** A word with a network. */
export function netWord(word: string, meaning: string, make: (prefix: IpPrefix) => Predicate): FilterWord {
  return operandWord(word, 'ADDRESS/BITS', meaning, 'an address, a slash and a number of bits', IpPrefix.parse, make);
}

/** A word with a MAC address. */
export function macWord(word: string, meaning: string, make: (mac: Uint8Array) => Predicate): FilterWord {
  return operandWord(word, 'MAC', meaning, 'a MAC address such as 52:54:00:00:00:01', parseMac, make);
}

/** A word with any text, in quotes where it has blanks. */
export function textWord(
  word: string,
  meaning: string,
  make: (text: string) => Predicate,
  options: WordOptions = {},
): FilterWord {
  return operandWord(word, 'TEXT', meaning, 'a text', (text) => text, make, options);
}

/** The test that passes where one of `tests` does. */
export function anyOf(tests: readonly Predicate[]): Predicate {
  const [first, second] = tests;
  if (first !== undefined && second === undefined) return first;
  return (subject) => {
    for (const test of tests) if (test(subject)) return true;
    return false;
  };
}

function operandWord<T>(
  word: string,
  name: string,
  meaning: string,
  expected: string,
  parse: (text: string) => T,
  make: (value: T) => Predicate,
  options: WordOptions = {},
): FilterWord {
  const bind = (text: string) => {
    const value = text === '' ? undefined : parsed(parse, text);
    return value === undefined ? undefined : make(value);
  };
  return { ...common(word, meaning, options), syntax: `${word} ${name}`, operand: 'required', expected, bind };
}

function common(word: string, meaning: string, { aliases = [], analysis = false, outline = analysis }: WordOptions) {
  return { word, meaning, aliases, analysis, needsPacket: !outline, choices: [] };
}

function parsed<T>(parse: (text: string) => T, text: string): T | undefined {
  try {
    return parse(text);
  } catch (error) {
    if (error instanceof RoceError) return undefined;
    throw error;
  }
}

/** Limits that are known by their hex form. */
const HEX_LIMITS: ReadonlySet<number> = new Set([0xff_ff, 0xff_ff_ff, 0xff_ff_ff_ff]);
