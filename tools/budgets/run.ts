/**
 * `npm run budgets`: what floods can draw, fill and delay, beside what is allowed.
 *
 *   npm run budgets                a table
 *   npm run budgets -- --json      one JSON object a row
 *   npm run budgets -- --write     docs/security-budgets.md as well
 *
 * Exit codes: 0 every budget is kept, 1 one is exceeded, 2 the command line is invalid.
 */
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Command } from 'commander';
import { terminal } from '../output.ts';
import { showBudgets } from './command.ts';
import { BUDGETS_PAGE } from './report.ts';

interface BudgetFlags {
  readonly json?: boolean;
  readonly write?: boolean;
}

const EXIT_USAGE = 2;

await new Command('budgets')
  .description('what floods can draw, fill and delay, beside what is allowed')
  .option('--json', 'one JSON object a row')
  .option('--write', `write ${BUDGETS_PAGE}`)
  .exitOverride((error) => process.exit(error.exitCode === 0 ? 0 : EXIT_USAGE))
  .action(run)
  .parseAsync();

async function run({ json, write }: BudgetFlags): Promise<void> {
  const page = write === true ? join(fileURLToPath(new URL('../..', import.meta.url)), BUDGETS_PAGE) : undefined;
  process.exitCode = await showBudgets({ json, page }, terminal);
}
