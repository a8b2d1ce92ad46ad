/** What `npm run budgets` does, whatever the budgets are. Owns what it prints, what it writes and its exit code. */
import { writeFileSync } from 'node:fs';
import type { ToolOutput } from '../output.ts';
import { BUDGETS, type Budget } from './budgets.ts';
import { budgetsPage, budgetTable, measureBudgets } from './report.ts';

export interface BudgetRun {
  /** One JSON object a row in place of a table. */
  readonly json?: boolean | undefined;
  /** File that the page is written to; absent: none. */
  readonly page?: string | undefined;
  /** Default: all there are. */
  readonly budgets?: readonly Budget[];
}

const EXIT_EXCEEDED = 1;

/** Measures and prints; returns the exit code: 0 every budget is kept, 1 one is exceeded. */
export async function showBudgets({ json, page, budgets = BUDGETS }: BudgetRun, output: ToolOutput): Promise<number> {
  const rows = await measureBudgets(budgets);
  for (const line of json === true ? rows.map((row) => JSON.stringify(row)) : budgetTable(rows)) output.line(line);
  if (page !== undefined) writeFileSync(page, budgetsPage(rows));
  return rows.every(({ kept }) => kept) ? 0 : EXIT_EXCEEDED;
}
