/** Tests of a column of the table in docs/uverbs.md: each program, between two hosts. */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { buildShim } from '../../tools/uverbs/build.ts';
import { viewsOfTshark } from '../../tools/uverbs/programs/captures.ts';
import { nameOf, type ProgramCase } from '../../tools/uverbs/programs/case.ts';
import { AGAIN, type Column, casesOf, cellOf, openColumn, runInColumn } from '../../tools/uverbs/programs/columns.ts';
import { cellIn, PAGE, rowsIn } from '../../tools/uverbs/programs/page.ts';
import type { CaseOutcome } from '../../tools/uverbs/programs/run-case.ts';
import type { ProgramStage } from '../../tools/uverbs/programs/stage.ts';

/**
 * To be called in a `describe` that has asked for what the hosts need, and for tshark. One case for each program; with
 * ROCE_PROGRAMS=all every case of the page, which takes ten minutes a column.
 */
export function testColumn(column: Column): void {
  const directory = mkdtempSync(join(tmpdir(), 'roce-column-'));
  const all = casesOf(column);
  const cases = process.env['ROCE_PROGRAMS'] === 'all' ? all : onePerProgram(all);
  if (cases.length < all.length)
    console.log(`${column}: ${cases.length} of ${all.length} cases; all with ROCE_PROGRAMS=all`);
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
    if (outcome.before !== undefined)
      console.log(`${column}: ${nameOf(one)} is run again: ${outcome.before.join('; ')}`);
    outcomes.push(outcome);
    expect(outcome.faults, outcome.printed).toEqual([]);
  });

  it('and tshark reads what they sent, as the page says', async () => {
    const views = await viewsOfTshark(outcomes, join(directory, 'all.pcapng'));
    const cells = views.flatMap((tshark, at) =>
      outcomes.slice(at, at + 1).map((outcome) => [nameOf(outcome.case), cellOf(outcome, tshark).replace(AGAIN, '')]),
    );
    const rows = rowsIn(readFileSync(PAGE, 'utf8'));
    const written = cases.map((one) => [nameOf(one), cellIn(rows.get(nameOf(one)) ?? '', column).replace(AGAIN, '')]);
    expect(Object.fromEntries(cells)).toEqual(Object.fromEntries(written));
  });
}

/** The first of each program, and of each way in which programs of its package differ. */
function onePerProgram(cases: readonly ProgramCase[]): ProgramCase[] {
  const chosen = new Map<string, ProgramCase>();
  for (const one of cases) {
    const words = nameOf(one).split(' ');
    const program = words.find((word) => word !== 'env' && !word.includes('=')) ?? '';
    const ways = WAYS.filter((way) => way.test(nameOf(one))).map((way) => `${one.from} ${way}`);
    for (const kind of [program, ...ways]) if (!chosen.has(kind)) chosen.set(kind, one);
  }
  return [...new Set(chosen.values())];
}

/** By rdma_cm, with events, over UD, and by a wire with losses. */
const WAYS = [/ -R\b/, / -e(?! (?:msg|rdm|dgram))\b/, / -c UD\b|\bud_lat|-e dgram|=ud_verbs/, /% loss/];
