/** `roce doctor`: what can be done on this machine, what is missing for the rest, and how to get it. */
import { Command } from 'commander';
import { terminal } from '../output.ts';
import { examine } from './examine.ts';
import { describeExamination } from './report.ts';

export function doctorCommand(): Command {
  return new Command('doctor')
    .description('what can be done on this machine, what is missing for the rest, and how to get it')
    .option('--json', 'the same as JSON')
    .action(async ({ json = false }: { readonly json?: boolean }) => {
      const found = await examine();
      terminal.line(json ? JSON.stringify(found, undefined, 2) : describeExamination(found).join('\n'));
    });
}
