/**
 * Goal: the budgets that are promised are kept, and docs/security-budgets.md shows them. Method: every flood, in the
 * simulated world and in virtual time; the page and the exit are tried with figures of their own as well.
 */
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { BUDGETS, type Budget } from '../../../tools/budgets/budgets.ts';
import { BUDGETS_PAGE, budgetsPage, budgetTable, measureBudgets } from '../../../tools/budgets/report.ts';

describe('the budgets', () => {
  it('are kept, whatever flood comes, and are on the page as measured', { timeout: 240_000 }, async () => {
    const rows = await measureBudgets();
    expect(rows.filter(({ kept }) => !kept)).toEqual([]);
    expect(readFileSync(BUDGETS_PAGE, 'utf8')).toBe(budgetsPage(rows));
    // A budget of which nothing is used may be one whose flood hits nothing.
    const counted = rows.filter(({ unit, budget }) => unit !== 'ms' && budget > 0);
    const unused = counted.filter(({ measured, budget }) => measured < budget / 4).map(({ name }) => name);
    expect(unused).toEqual([]);
  });

  it('tell floods apart, by name and unit', () => {
    const names = BUDGETS.map(({ name, unit }) => `${name} ${unit}`);
    expect(names.filter((name, i) => names.indexOf(name) !== i)).toEqual([]);
  });
});

describe('a budget', () => {
  const budget = (most: number): Budget => ({
    ...{ group: 'held', name: 'cups', unit: 'entries', budget: most },
    measure: () => Promise.resolve(1234),
  });

  it('that is just kept is kept, and one that is not is marked', async () => {
    const [kept, exceeded] = await measureBudgets([budget(1234), budget(1233)]);
    expect([kept?.kept, exceeded?.kept]).toEqual([true, false]);
    const lines = budgetTable([kept, exceeded].filter((row) => row !== undefined));
    expect(lines.map((line) => line.trim().split(/ {2,}/))).toEqual([
      ['flood', 'measured', 'budget'],
      ['held', 'cups', '1,234', '1,234', 'entries', 'kept'],
      ['held', 'cups', '1,234', '1,233', 'entries', 'EXCEEDED'],
    ]);
  });
});
