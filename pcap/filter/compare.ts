/**
 * Comparisons of a field with a value: the kinds of values, and what `<` means for each.
 *
 * Owns the parsing of the value, once, when a filter is compiled. A field that a packet does not have passes no
 * comparison, not even `!=`. Of a name that stands for two fields one has to pass, for `!=` both, as in tshark 4.
 */
import { formatMac, IpAddress, IpPrefix, parseMac } from '../../packets/address.ts';
import { RoceError } from '../../packets/errors.ts';
import type { FieldValue } from '../../packets/field-list.ts';
import { type Frame, frameDestinationIs, frameSourceIs } from '../../packets/frame.ts';
import { fastField, mayHave } from './fast-fields.ts';
import { type FieldKind, fieldKind, fieldsOf } from './field-names.ts';
import { compareWith } from './numbers.ts';
import type { Comparison, FilterSubject, Predicate } from './types.ts';
import { anyOf } from './word.ts';

/** All fields of the packet that is being judged. */
export type FieldReader = (subject: FilterSubject) => Readonly<Record<string, FieldValue>>;

/**
 * The test of `field operator value`, or a phrase with what was expected where the value makes no sense. `field` is a
 * known one.
 */
export function compileComparison(
  field: string,
  operator: Comparison,
  value: string,
  read: FieldReader,
): Predicate | string {
  const kind = fieldKind(field) ?? 'text';
  const test = operator === 'contains' ? containsTest(kind, value) : valueTest(kind, operator, value);
  if (typeof test === 'string') return test;
  const names = fieldsOf(field);
  const fast = kind === 'number' && names.length === 1 ? fastField(field) : undefined;
  if (fast !== undefined) return fastTest(fast, operator, Number(value));
  const quick = kind === 'address' ? addressOfFrame(names, operator, value) : undefined;
  if (quick !== undefined) return quick;
  const possible = mayHave(field);
  const passes = (fields: Readonly<Record<string, FieldValue>>, name: string): boolean => {
    const actual = fields[name];
    return actual !== undefined && test(actual);
  };
  if (operator === '!=') return (subject) => possible(subject) && names.every((name) => passes(read(subject), name));
  return (subject) => possible(subject) && names.some((name) => passes(read(subject), name));
}

/** `ip.src == 10.0.0.1` and the like, without the record. */
function addressOfFrame(names: readonly string[], operator: Comparison, value: string): Predicate | undefined {
  if (operator !== '==' || value.includes('/')) return undefined;
  const address = IpAddress.parse(value);
  const tests: Predicate[] = [];
  for (const name of names) {
    const [version, is] = FRAME_ADDRESSES.get(name) ?? [];
    if (is === undefined) return undefined;
    // An IPv6 header may hold an IPv4 address in its long form. As text the two are the same, so the record has to be
    // used.
    if (version !== address.version) return undefined;
    tests.push(({ dissection: { frame } }) => is(frame, address));
  }
  return anyOf(tests);
}

type ValueTest = (actual: FieldValue) => boolean;

function fastTest(get: (subject: FilterSubject) => number, operator: Comparison, value: number): Predicate {
  const test = compareWith(operator, value);
  return (subject) => test(get(subject));
}

function containsTest(kind: FieldKind, value: string): ValueTest | string {
  if (kind === 'number' || kind === 'time')
    return 'contains looks into texts, addresses and bytes; this field is a number';
  const wanted = value.toLowerCase();
  return (actual) => String(actual).toLowerCase().includes(wanted);
}

function valueTest(kind: FieldKind, operator: Comparison, value: string): ValueTest | string {
  switch (kind) {
    case 'number':
      return numberTest(operator, value);
    case 'time':
      return timeTest(operator, value);
    case 'address':
      return addressTest(operator, value);
    case 'mac':
      return normalTest(operator, value, macText, 'a MAC address is expected, such as 52:54:00:00:00:01');
    case 'bytes':
      return normalTest(operator, value, bytesText, 'bytes are expected, in hex with colons');
    default:
      return normalTest(operator, value, (text) => text, 'a text is expected');
  }
}

/** Whole numbers; those that a double cannot hold come as text (`FieldList.toRecord`). */
function numberTest(operator: Comparison, value: string): ValueTest | string {
  if (!NUMBER.test(value)) return 'a number is expected, in decimal or as 0x...';
  const wanted = BigInt(value);
  if (wanted <= BigInt(Number.MAX_SAFE_INTEGER)) {
    const test = compareWith(operator, Number(value));
    return (actual) => (typeof actual === 'number' ? test(actual) : orderTest(operator, BigInt(actual), wanted));
  }
  return (actual) => orderTest(operator, BigInt(actual), wanted);
}

/** Seconds with a fraction: exact to the nanosecond. */
function timeTest(operator: Comparison, value: string): ValueTest | string {
  const wanted = nanoseconds(value);
  if (wanted === undefined) return 'seconds are expected, with up to nine decimals';
  return (actual) => {
    const time = nanoseconds(String(actual));
    return time !== undefined && orderTest(operator, time, wanted);
  };
}

function addressTest(operator: Comparison, value: string): ValueTest | string {
  const expected = 'an IP address is expected, or a network such as 10.0.0.0/24';
  if (!value.includes('/')) return normalTest(operator, value, (text) => IpAddress.parse(text).toString(), expected);
  const prefix = orUndefined(() => IpPrefix.parse(value));
  if (prefix === undefined) return expected;
  if (operator !== '==' && operator !== '!=') return 'a network is compared with == or != only';
  return (actual) => prefix.contains(IpAddress.parse(String(actual))) === (operator === '==');
}

/** Texts; `normalize` brings the value to the form that fields have. */
function normalTest(
  operator: Comparison,
  value: string,
  normalize: (text: string) => string,
  expected: string,
): ValueTest | string {
  const wanted = orUndefined(() => normalize(value));
  if (wanted === undefined) return expected;
  return (actual) => orderTest(operator, String(actual), wanted);
}

function orderTest<T extends string | bigint>(operator: Comparison, actual: T, wanted: T): boolean {
  switch (operator) {
    case '!=':
      return actual !== wanted;
    case '<':
      return actual < wanted;
    case '<=':
      return actual <= wanted;
    case '>':
      return actual > wanted;
    case '>=':
      return actual >= wanted;
    default:
      return actual === wanted;
  }
}

function macText(text: string): string {
  return formatMac(parseMac(text));
}

function bytesText(text: string): string {
  if (!BYTES.test(text)) throw new RoceError('ERR_ROCE_ARGUMENT', 'bytes in hex with colons are expected');
  return text.toLowerCase();
}

function nanoseconds(text: string): bigint | undefined {
  const [, sign = '', seconds = '', fraction = ''] = SECONDS.exec(text) ?? [];
  if (seconds === '') return undefined;
  // As the field is written: the fraction counts forward, also before 1970.
  return BigInt(`${sign}${seconds}`) * 1_000_000_000n + BigInt(fraction.padEnd(9, '0'));
}

function orUndefined<T>(parse: () => T): T | undefined {
  try {
    return parse();
  } catch (error) {
    if (error instanceof RoceError) return undefined;
    throw error;
  }
}

const FRAME_ADDRESSES: ReadonlyMap<string, readonly [4 | 6, (frame: Frame, address: IpAddress) => boolean]> = new Map([
  ['ip.src', [4, frameSourceIs]],
  ['ip.dst', [4, frameDestinationIs]],
  ['ipv6.src', [6, frameSourceIs]],
  ['ipv6.dst', [6, frameDestinationIs]],
]);
const NUMBER = /^(?:\d{1,30}|0x[0-9a-f]{1,24})$/i;
const BYTES = /^[0-9a-f]{2}(:[0-9a-f]{2})*$/i;
const SECONDS = /^(-?)(\d{1,15})(?:\.(\d{1,9}))?$/;
