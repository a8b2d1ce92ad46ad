/** What `roce doctor` has found, for a terminal. Owns the text. */
import { describeSurvey } from '../links/report.ts';
import { formatTable } from '../table.ts';
import type { Examination, FoundAbility } from './examine.ts';

/** Lines without their line ends. */
export function describeExamination({ machine, abilities, ...survey }: Examination): string[] {
  const rows = abilities.map(({ title, commands, usable }) => [title, usable ? 'yes' : 'no', commands.join(', ')]);
  return [
    `${machine.system}, ${machine.processors} processors, Node ${machine.node}, CRC-32 by ${machine.crc32}`,
    '',
    'What can be done here:',
    ...formatTable(['', 'here', 'commands'], rows, []),
    ...abilities.flatMap(missingLines),
    '',
    ...describeSurvey(survey),
  ];
}

function missingLines({ title, missing }: FoundAbility): string[] {
  if (missing.length === 0) return [];
  const lines = missing.map(({ what, remedy }) => `  ${what}${remedy === '' ? '' : `; ${remedy}`}`);
  return ['', `missing for: ${title}`, ...lines];
}
