/**
 * docs/conformance-mutants.md: every deliberate bug and the rules that catch it. The long tests see that it is true.
 */
import { findRule } from '../rules/index.ts';
import { MUTANTS } from './index.ts';

export function mutantsPage(): string {
  return [
    '# Bugs that the rules catch',
    '',
    'Written by `npm run docs:conformance`. Each of these bugs was put into a copy of `transport/`, alone, and the suite was run on it: every rule',
    'named here passes without the bug and is broken with it (a rule that is no `must` then gives a variation). `npm run test:long` repeats it.',
    `There are ${MUTANTS.length}.`,
    '',
    '| bug | what it does | file | caught by |',
    '| --- | --- | --- | --- |',
    ...MUTANTS.map(
      ({ id, says, file, caughtBy }) => `| ${id} | ${says} | \`${file}\` | ${caughtBy.map(ruleCell).join('; ')} |`,
    ),
    '',
  ].join('\n');
}

function ruleCell(id: string): string {
  return `**${id}** ${findRule(id)?.says.replaceAll('|', '\\|').replace(/\.$/, '') ?? ''}`;
}
