/**
 * docs/conformance-mutants.md: every deliberate bug and the rules that catch it. The long tests see that it is true.
 */
import { findRule } from '../rules/index.ts';
import { MUTANT_GROUPS, MUTANTS } from './index.ts';
import type { Mutant } from './types.ts';

export function mutantsPage(): string {
  const caught = MUTANTS.filter((mutant) => mutant.caughtBy.length > 0).length;
  return [
    '# Bugs that the rules catch',
    '',
    'Written by `npm run docs:conformance`. Each of these bugs was put into a copy of the stack, alone, and the rules named here were run on it:',
    'they pass without the bug and are broken with it (a rule that is no `must` then gives a variation). `npm run test:long` repeats that; it runs',
    'the named rules of each bug, and not the whole suite.',
    '',
    `There are ${MUTANTS.length}; named rules catch ${caught}. The others are at the end, with the reason.`,
    '',
    'Bugs of the last four groups were drawn from the sources of the stack before anyone looked at the rules. "At first" says how many the rules',
    'caught as they were then; some of what they missed has made them stronger since.',
    '',
    '| bugs of | number | caught at first | caught now |',
    '| --- | --- | --- | --- |',
    ...MUTANT_GROUPS.map(groupRow),
    '',
    '| bug | what it does | file | caught by |',
    '| --- | --- | --- | --- |',
    ...MUTANTS.filter((mutant) => mutant.caughtBy.length > 0).map(
      (mutant) =>
        `| ${mutant.id} | ${mutant.says} | \`${mutant.file}\` | ${mutant.caughtBy.map(ruleCell).join('; ')} |`,
    ),
    '',
    '## Not caught',
    '',
    '| bug | what it does | file | why |',
    '| --- | --- | --- | --- |',
    ...MUTANTS.filter((mutant) => mutant.caughtBy.length === 0).map(
      (mutant) => `| ${mutant.id} | ${mutant.says} | \`${mutant.file}\` | ${mutant.escapes} |`,
    ),
    '',
  ].join('\n');
}

function groupRow([title, mutants]: readonly [string, readonly Mutant[]]): string {
  const drawn = mutants.filter(({ atFirst }) => atFirst !== undefined);
  const first = drawn.filter(({ atFirst }) => atFirst === 'caught').length;
  const now = mutants.filter((mutant) => mutant.caughtBy.length > 0).length;
  return `| ${title} | ${mutants.length} | ${drawn.length === 0 ? '' : first} | ${now} |`;
}

function ruleCell(id: string): string {
  return `**${id}** ${findRule(id)?.says.replaceAll('|', '\\|').replace(/\.$/, '') ?? ''}`;
}
