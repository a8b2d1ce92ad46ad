/** Measured budgets as a table for a terminal, and as docs/security-budgets.md. Owns their form. */
import { formatTable, grouped } from '../table.ts';
import { BUDGETS, type Budget } from './budgets.ts';

export const BUDGETS_PAGE = 'docs/security-budgets.md';

/** A budget and what was seen. */
export interface MeasuredBudget extends Omit<Budget, 'measure'> {
  readonly measured: number;
  readonly kept: boolean;
}

/** Measures all of them, one after the other. */
export async function measureBudgets(budgets: readonly Budget[] = BUDGETS): Promise<MeasuredBudget[]> {
  const rows: MeasuredBudget[] = [];
  for (const { measure, ...budget } of budgets) {
    const measured = await measure();
    rows.push({ ...budget, measured, kept: measured <= budget.budget });
  }
  return rows;
}

/** Lines of a table. */
export function budgetTable(rows: readonly MeasuredBudget[]): string[] {
  const cells = rows.map((row) => [row.group, row.name, figure(row.measured), figure(row.budget), row.unit, mark(row)]);
  const headings = ['', 'flood', 'measured', 'budget', '', ''];
  return formatTable(headings, cells, ['left', 'left', 'right', 'right', 'left', 'left']);
}

/** The text of the page. */
export function budgetsPage(rows: readonly MeasuredBudget[]): string {
  return [
    '# Budgets against floods',
    '',
    '<!-- Written by `npm run budgets -- --write` from tools/budgets/budgets.ts. -->',
    '',
    'What an attacker can draw, fill and delay with the default settings, in the simulated world (seeded, virtual time), and the most that is allowed.',
    'A test measures all of it. "Many addresses" are 2,000 or more that do not exist.',
    'Settings and tests: [security-tests.md](security-tests.md). What each defence does: [reference/hostile.md](reference/hostile.md#3).',
    '',
    ...GROUPS.flatMap(([group, title, text]) => [
      `## ${title}`,
      '',
      text,
      '',
      '| flood | measured | budget | unit |',
      '| --- | ---: | ---: | --- |',
      ...rows
        .filter((row) => row.group === group)
        .map(({ name, measured, budget, unit }) => `| ${name} | ${figure(measured)} | ${figure(budget)} | ${unit} |`),
      '',
    ]),
  ].join('\n');
}

function mark({ kept }: MeasuredBudget): string {
  return kept ? 'kept' : 'EXCEEDED';
}

/** Three digits that count below 1,000. */
function figure(value: number): string {
  return value >= 1000 ? grouped(Math.round(value)) : String(Number(value.toPrecision(3)));
}

const GROUPS = [
  [
    'out per in',
    'What leaves for what comes',
    'Frames and bytes out for each that came from an address that has proved nothing. Questions about addresses are not counted: their number is bounded below.',
  ],
  ['held', 'What is held', 'The most entries after 2,000 frames, 10,000 in a second.'],
  [
    'until served',
    'Until an honest caller is served',
    'Virtual time from the call of an honest peer to its connection, a second after a flood of 1,500 frames in a second began, and long after it ended.',
  ],
] as const;
