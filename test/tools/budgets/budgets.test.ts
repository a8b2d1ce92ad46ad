/**
 * Goal: the budgets that are promised are kept, and docs/security-budgets.md shows them. Method: every flood, in the
 * simulated world and in virtual time; the page and the exit are tried with figures of their own as well.
 */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { BUDGETS, type Budget } from '../../../tools/budgets/budgets.ts';
import { showBudgets } from '../../../tools/budgets/command.ts';
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

  it('that is exceeded ends the command with 1, and is in its lines and on its page', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'roce-budgets-'));
    const page = join(folder, 'page.md');
    const lines: string[] = [];
    const output = { line: (text: string) => lines.push(text), complaint: (text: string) => lines.push(`! ${text}`) };
    const kept = await showBudgets({ budgets: [budget(1234)] }, output);
    const exceeded = await showBudgets({ budgets: [budget(1234), budget(1233)], json: true, page }, output);
    expect([kept, exceeded]).toEqual([0, 1]);
    expect(lines).toHaveLength(2 + 2);
    const row = { group: 'held', name: 'cups', unit: 'entries', measured: 1234 };
    expect(lines.slice(2).map((line) => JSON.parse(line))).toEqual([
      { ...row, budget: 1234, kept: true },
      { ...row, budget: 1233, kept: false },
    ]);
    expect(readFileSync(page, 'utf8')).toContain('| cups | 1,234 | 1,233 | entries |');
    rmSync(folder, { recursive: true });
  });
});
