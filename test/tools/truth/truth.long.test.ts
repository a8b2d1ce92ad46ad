/**
 * Goal: the figures of docs/analyze.md are what is measured. Method: all runs are played again. Where there is one
 * thing wrong with the network, verdicts are nearly always right.
 */
import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { PAGE, SEEDS, withTable } from '../../../tools/truth/page.ts';
import { measure, precision, RUN_KINDS, recall, truthTable } from '../../../tools/truth/table.ts';

const rows = await measure(SEEDS);

it('there are 500 runs or more', () => expect(RUN_KINDS.length * 2 * SEEDS).toBeGreaterThanOrEqual(500));

it('docs/analyze.md has the figures; if not: npm run docs:truth, and npx biome check --write docs/analyze.md', () => {
  const page = readFileSync(PAGE, 'utf8');
  const cells = (text: string) => text.replaceAll(/ +/g, ' ').replaceAll(/-{3,}/g, '---');
  expect(cells(page)).toBe(cells(withTable(page, truthTable(rows))));
});

it('losses: 99 of 100 are right, and 99 of 100 are found', () => {
  for (const { kind, judgement } of rows.filter(({ kind }) => kind === '1 % lost')) {
    expect(precision(judgement, 'lost'), kind).toBeGreaterThanOrEqual(0.99);
    expect(recall(judgement, 'lost'), kind).toBeGreaterThanOrEqual(0.99);
  }
});

it('overtaken packets at the requester: 95 of 100 are right, and 98 of 100 are found', () => {
  const late = rows.filter(({ kind, vantage }) => kind.includes('% late') && vantage === 'requester');
  for (const { kind, judgement } of late.filter((row) => !row.kind.includes('lost'))) {
    expect(precision(judgement, 'overtaken'), kind).toBeGreaterThanOrEqual(0.95);
    expect(recall(judgement, 'overtaken'), kind).toBeGreaterThanOrEqual(0.98);
  }
});
