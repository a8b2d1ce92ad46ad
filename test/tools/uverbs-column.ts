/** Tests of a column of the table in docs/uverbs.md: each program, between two hosts. */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { buildShim } from '../../tools/uverbs/build.ts';
import { viewsOfTshark } from '../../tools/uverbs/programs/captures.ts';
import { nameOf } from '../../tools/uverbs/programs/case.ts';
import { type Column, casesOf, cellOf, openColumn, runInColumn } from '../../tools/uverbs/programs/columns.ts';
import { cellIn, PAGE, rowsIn } from '../../tools/uverbs/programs/page.ts';
import type { CaseOutcome } from '../../tools/uverbs/programs/run-case.ts';
import type { ProgramStage } from '../../tools/uverbs/programs/stage.ts';

/** To be called in a `describe` that has asked for what the hosts need, and for tshark. */
export function testColumn(column: Column): void {
  const directory = mkdtempSync(join(tmpdir(), 'roce-column-'));
  const cases = casesOf(column);
  const outcomes: CaseOutcome[] = [];
  let stage: ProgramStage | undefined;

  beforeAll(async () => {
    stage = await openColumn(column, await buildShim());
  });

  afterAll(async () => {
    await stage?.close();
    rmSync(directory, { recursive: true });
  });

  it.each(cases.map((one, at) => [nameOf(one), one, at] as const))('%s', async (_, one, at) => {
    if (stage === undefined) throw new Error('there are no hosts');
    const outcome = await runInColumn(column, stage, one, join(directory, `${at}`));
    outcomes.push(outcome);
    expect(outcome.faults, outcome.printed).toEqual([]);
  });

  it('and tshark reads what they sent, as the page says', async () => {
    const views = await viewsOfTshark(outcomes, join(directory, 'all.pcapng'));
    const cells = views.flatMap((tshark, at) =>
      outcomes.slice(at, at + 1).map((outcome) => [nameOf(outcome.case), cellOf(outcome, tshark)]),
    );
    const rows = rowsIn(readFileSync(PAGE, 'utf8'));
    const written = cases.map((one) => [nameOf(one), cellIn(rows.get(nameOf(one)) ?? '', column)]);
    expect(Object.fromEntries(cells)).toEqual(Object.fromEntries(written));
  });
}
