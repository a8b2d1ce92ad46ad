/**
 * The words of `roce verify`: a line for each difference, the account at the end, and the same as JSON. Never compares
 * anything.
 */

import type { KnownDifference } from './expectation.ts';
import { EXPECTATIONS } from './expectations.ts';
import type { FrameDifference, VerifySummary } from './verify.ts';

/** `frame 7: infiniband.bth.psn is 5, tshark has 6`, and the id of the row that expects it. */
export function differenceLine({ frame, field, ours, theirs, expectation }: FrameDifference): string {
  const why = expectation === undefined ? '' : `   (expected: ${expectation.id})`;
  return `frame ${frame}: ${sentence(field, ours, theirs)}${why}`;
}

function sentence(field: string, ours: FrameDifference['ours'], theirs: readonly string[]): string {
  const said = short(theirs.join(', '));
  if (ours === undefined) return `tshark has ${field} ${said}, which we do not print`;
  if (theirs.length === 0) return `${field} is ${short(`${ours}`)}, tshark has no such field`;
  return `${field} is ${short(`${ours}`)}, tshark has ${said}`;
}

/** The account: what was compared, what was expected, what tshark was right about. */
export function summaryLines(summary: VerifySummary, version: string): string[] {
  const { frames, roceFrames, fields, agreed, expected, unexpected, noLongerNeeded } = summary;
  const lines = [
    `tshark ${version}: ${count(frames, 'frame')}, ${roceFrames} of them RoCEv2; ${count(fields, 'field')} compared, ${agreed} agree`,
  ];
  const total = [...expected.values()].reduce((sum, times) => sum + times, 0);
  if (total > 0) lines.push(`${count(total, 'difference')} expected:`);
  for (const [id, times] of sorted(expected)) {
    const row = rowOf(id);
    lines.push(`  ${String(times).padStart(7)}  ${id}: ${row === undefined ? '' : blame(row)}`);
  }
  if (noLongerNeeded.size > 0) lines.push('no longer needed, tshark is right:');
  for (const [id, times] of sorted(noLongerNeeded)) lines.push(`  ${String(times).padStart(7)}  ${id}`);
  lines.push(unexpected === 0 ? 'nothing unexpected' : `${count(unexpected, 'difference')} UNEXPECTED`);
  return lines;
}

/** What `--json` prints: the account, and the differences that were kept. */
export function summaryJson(
  file: string,
  version: string,
  summary: VerifySummary,
  kept: readonly FrameDifference[],
): object {
  const { frames, roceFrames, fields, agreed, names, expected, unexpected, noLongerNeeded } = summary;
  return {
    file,
    tshark: version,
    frames,
    roceFrames,
    fields,
    agreed,
    fieldNames: [...names].sort(),
    expected: Object.fromEntries(sorted(expected)),
    unexpected,
    noLongerNeeded: Object.fromEntries(sorted(noLongerNeeded)),
    differences: kept.map(({ expectation, ours, ...difference }) => ({
      ...difference,
      ours: ours ?? null,
      expectation: expectation?.id ?? null,
    })),
  };
}

/** The table itself, a paragraph a row: `--expectations`. */
export function expectationLines(table: readonly KnownDifference[] = EXPECTATIONS): string[] {
  return table.flatMap((row) => [
    `${row.id}: from ${row.versions.from}${row.versions.below === undefined ? '' : ` below ${row.versions.below}`}`,
    `    fields  ${row.fields.join(' ')}`,
    `    tshark  ${row.tshark}`,
    `    truth   ${row.truth}`,
    `    source  ${row.source}`,
  ]);
}

function blame({ blind, tshark, truth }: KnownDifference): string {
  return blind === 'tshark' ? `tshark ${tshark}` : `tshark ${tshark} (${truth})`;
}

function rowOf(id: string): KnownDifference | undefined {
  return EXPECTATIONS.find((row) => row.id === id);
}

function sorted(counts: ReadonlyMap<string, number>): (readonly [string, number])[] {
  return [...counts].sort(([a], [b]) => (a < b ? -1 : 1));
}

function count(number: number, noun: string): string {
  return `${number} ${noun}${number === 1 ? '' : 's'}`;
}

function short(text: string): string {
  return text.length <= SHOWN_CHARACTERS ? text : `${text.slice(0, SHOWN_CHARACTERS)}...`;
}

const SHOWN_CHARACTERS = 72;
