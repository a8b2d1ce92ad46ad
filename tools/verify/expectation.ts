/**
 * What is known to differ between tshark and the truth, as a kind of row, and how a difference is matched to one.
 *
 * Owns matching and versions; the rows are `expectations.ts`. Never compares fields.
 */

import type { FieldValue } from 'rocev2/packets';
import { type FieldComparison, type FieldDifference, isSameValue } from './compare.ts';
import type { OurFrame } from './our-frame.ts';
import type { TsharkFrame } from './tshark-frames.ts';

/** Both views of one frame. */
export interface FramePair {
  readonly ours: OurFrame;
  readonly theirs: TsharkFrame;
}

/** tshark has no such field where we have one. */
export const Absent = Symbol('absent');
/** tshark has a field that we do not print; its value is the wire's, whatever it is. */
export const Present = Symbol('present');
/** tshark reads other bytes, so that it may print anything or nothing. */
export const Whatever = Symbol('whatever');
/** What tshark is expected to print of a field; a list where it prints the name more than once. */
export type ExpectedValue = FieldValue | readonly string[] | typeof Absent | typeof Present | typeof Whatever;

/** One thing on which tshark and we are known to differ. */
export interface KnownDifference {
  /** Kept for good: reports name it. */
  readonly id: string;
  /** Which side does not see what is on the wire. */
  readonly blind: 'tshark' | 'us';
  /** First version known to do so, and the first that does not, where one is known. */
  readonly versions: { readonly from: string; readonly below?: string };
  /** tshark's names; one that ends in `*` stands for all that begin so. */
  readonly fields: readonly string[];
  /** Which frames it is about. */
  readonly when: (pair: FramePair) => boolean;
  /** What tshark prints of such a field in such a frame. */
  readonly says: (pair: FramePair, field: string) => ExpectedValue;
  /** tshark does so in some such frames only: that it does not is no news. */
  readonly sometimes?: boolean;
  /** What tshark does, in words. */
  readonly tshark: string;
  /** What is on the wire. */
  readonly truth: string;
  /** Where both are from. */
  readonly source: string;
}

/** The rows that a version of tshark is affected by. */
export function expectationsFor(version: string, table: readonly KnownDifference[]): readonly KnownDifference[] {
  return table.filter(
    ({ versions: { from, below } }) =>
      compareVersions(version, from) >= 0 && (below === undefined || compareVersions(version, below) < 0),
  );
}

/** The row that explains a difference; undefined when none does. */
export function explain(
  difference: FieldDifference,
  pair: FramePair,
  table: readonly KnownDifference[],
): KnownDifference | undefined {
  return table.find(
    (row) =>
      row.fields.some((pattern) => isNamed(difference.field, pattern)) &&
      row.when(pair) &&
      saysSo(row.says(pair, difference.field), difference),
  );
}

/**
 * Rows that predict another value than ours for a field on which the two agree: tshark is right where it was expected
 * to be wrong.
 */
export function needless(
  { compared, differences }: FieldComparison,
  pair: FramePair,
  table: readonly KnownDifference[],
): readonly KnownDifference[] {
  const different = new Set(differences.map(({ field }) => field));
  return table.filter(
    (row) =>
      row.sometimes !== true &&
      row.when(pair) &&
      compared.some((field) => {
        if (different.has(field) || !row.fields.some((pattern) => isNamed(field, pattern))) return false;
        const ours = pair.ours.fields[field];
        const said = row.says(pair, field);
        if (ours === undefined || typeof said === 'object') return false;
        return typeof said === 'symbol' ? said === Absent : !isSameValue(said, `${ours}`);
      }),
  );
}

/**
 * What a row with a list of values predicts and tshark does not show: where it has the field, and none of the values.
 * Without this a blindness that shows somewhere else, as FECN and BECN do among the reserved bits, would hide that the
 * two read different bits.
 */
export function unmet(
  { differences }: FieldComparison,
  pair: FramePair,
  table: readonly KnownDifference[],
): readonly FieldDifference[] {
  return table.flatMap((row) =>
    row.fields.flatMap((field) => {
      if (pair.theirs[field] === undefined || differences.some((difference) => difference.field === field)) return [];
      const said = row.when(pair) ? row.says(pair, field) : Whatever;
      return typeof said === 'object' ? [{ field, ours: said.join(', '), theirs: [] }] : [];
    }),
  );
}

/** Below 0, 0 or above 0, as "4.0.17" is older than, equal to or newer than "4.2". What is no number counts as 0. */
export function compareVersions(a: string, b: string): number {
  const [left, right] = [numbersOf(a), numbersOf(b)];
  for (let i = 0; i < Math.max(left.length, right.length); i++) {
    const difference = (left[i] ?? 0) - (right[i] ?? 0);
    if (difference !== 0) return difference;
  }
  return 0;
}

function numbersOf(version: string): number[] {
  return version.split('.').map((part) => Number.parseInt(part, 10) || 0);
}

function isNamed(field: string, pattern: string): boolean {
  return pattern.endsWith('*') ? field.startsWith(pattern.slice(0, -1)) : field === pattern;
}

function saysSo(said: ExpectedValue, { ours, theirs }: FieldDifference): boolean {
  switch (said) {
    case Whatever:
      return true;
    case Absent:
      return theirs.length === 0 && ours !== undefined;
    case Present:
      return theirs.length > 0 && ours === undefined;
  }
  if (typeof said === 'object') {
    return said.length === theirs.length && said.every((value, i) => value === theirs[i]);
  }
  const value = theirs.at(-1);
  return value !== undefined && isSameValue(said, value);
}
