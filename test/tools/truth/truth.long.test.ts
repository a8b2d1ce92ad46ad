/**
 * Goal: the figures of docs/analyze.md are what is measured, and verdicts are right wherever they can be. Method: all
 * runs are played again.
 */
import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { PAGE, SEEDS, truthText, withTable } from '../../../tools/truth/page.ts';
import { measure, precision, recall, total } from '../../../tools/truth/table.ts';

const truth = await measure(SEEDS);

it('there are 500 runs or more', () => expect(truth.runs).toBeGreaterThanOrEqual(500));

it('docs/analyze.md has the figures; if not: npm run docs:truth, and npx biome check --write docs/analyze.md', () => {
  const page = readFileSync(PAGE, 'utf8');
  const cells = (text: string) => text.replaceAll(/ +/g, ' ').replaceAll(/-{3,}/g, '---');
  expect(cells(page)).toBe(cells(withTable(page, truthText(truth))));
});

it('losses: 99 of 100 are right where nothing is overtaken, and 99 of 100 that can be told are found', () => {
  for (const { kind, judgement } of truth.rows.filter(({ kind }) => kind === '1 % lost')) {
    expect(precision(judgement, 'lost'), kind).toBeGreaterThanOrEqual(0.99);
    expect(recall(judgement.decidable, 'lost'), kind).toBeGreaterThanOrEqual(0.99);
  }
});

it('no timeout is shorter than agreed, and 99 of 100 are found by the requester', () => {
  expect(truth.rows.reduce((sum, { timeouts }) => sum + timeouts.tooShort, 0)).toBe(0);
  const rows = truth.rows.filter(({ vantage }) => vantage === 'requester');
  const real = rows.reduce((sum, { timeouts }) => sum + timeouts.real, 0);
  const told = rows.reduce((sum, { timeouts }) => sum + timeouts.told, 0);
  expect(real).toBeGreaterThan(20);
  expect(Math.abs(told - real)).toBeLessThanOrEqual(real * 0.01);
});

it('nothing is told to be lost at the requester where packets are only late', () => {
  for (const { kind, vantage, judgement } of truth.rows)
    if (vantage === 'requester' && total(judgement.lost) === 0)
      expect([kind, precision(judgement, 'lost')]).toEqual([kind, undefined]);
});

it.each([
  ['counted', 0.99],
  ['random', 0.96],
  ['zero', 0.97],
  ['IPv6', 0.97],
] as const)(
  'of all losses that are told, identifications %s, the share that is right is %d or more',
  (numbering, share) => {
    let [told, right] = [0, 0];
    for (const { judgement } of truth.rows.filter((row) => row.numbering === numbering)) {
      const { lost, overtaken, discarded, sound } = judgement;
      right += lost.lost;
      told += lost.lost + overtaken.lost + discarded.lost + sound.lost;
    }
    expect(told).toBeGreaterThan(500);
    expect(right / told).toBeGreaterThanOrEqual(share);
  },
);
