/**
 * `roce links`: what wires this machine has for a device, and what each of the others lacks here.
 */
import { Command } from 'commander';
import { linkOptionsHelp } from '../options.ts';
import { terminal } from '../output.ts';
import { describeSurvey } from './report.ts';
import { surveyLinks } from './survey.ts';

export function linksCommand(): Command {
  return new Command('links')
    .description('list the links this machine can be used with, and what the others lack here')
    .option('--json', 'the same as JSON')
    .addHelpText('after', () => `\n${linkOptionsHelp()}`)
    .action(async ({ json = false }: { readonly json?: boolean }) => {
      const survey = await surveyLinks();
      const lines = json ? [JSON.stringify(survey, undefined, 2)] : describeSurvey(survey);
      terminal.line(lines.join('\n'));
    });
}
