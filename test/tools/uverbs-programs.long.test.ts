/**
 * Goal: every program of the table in docs/uverbs.md runs, or fails as it says, and its capture is as it says.
 * Method: each runs as `roce run` runs it, on a device of its own; exit code, what is printed, the capture as the
 * analyzer and tshark read it. Through loss, something has to be lost and sent again.
 */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { buildShim } from '../../tools/uverbs/build.ts';
import { viewsOfTshark } from '../../tools/uverbs/programs/captures.ts';
import { nameOf } from '../../tools/uverbs/programs/case.ts';
import { PROGRAM_CASES } from '../../tools/uverbs/programs/index.ts';
import { firstCellsOf, PAGE, rowOf, rowsIn } from '../../tools/uverbs/programs/page.ts';
import { type CaseOutcome, runCase } from '../../tools/uverbs/programs/run-case.ts';
import { describeWith } from '../support/need.ts';

const directory = mkdtempSync(join(tmpdir(), 'roce-programs-long-'));
afterAll(() => rmSync(directory, { recursive: true }));

describeWith(['verbs', 'middleware', 'tshark'], 'every program of the table', () => {
  const outcomes: CaseOutcome[] = [];

  it.each(PROGRAM_CASES.map((one, at) => [nameOf(one), one, at] as const))('%s', async (_, one, at) => {
    const outcome = await runCase(one, join(directory, `${at}`), await buildShim());
    outcomes.push(outcome);
    expect(outcome.faults, outcome.printed).toEqual([]);
  });

  it('and tshark reads what they sent, as the page says', async () => {
    const views = await viewsOfTshark(outcomes, join(directory, 'all.pcapng'));
    const rows = views.flatMap((tshark, at) =>
      outcomes.slice(at, at + 1).map((outcome) => [nameOf(outcome.case), rowOf({ outcome, tshark })]),
    );
    const written = [...rowsIn(readFileSync(PAGE, 'utf8'))].map(([name, row]) => [name, firstCellsOf(row)]);
    expect(Object.fromEntries(rows)).toEqual(Object.fromEntries(written));
  });
});
