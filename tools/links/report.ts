/** The survey of links for a terminal. Owns the text. */
import { formatTable } from '../table.ts';
import type { Survey, SurveyedInterface, SurveyedLink } from './survey.ts';

/** Lines without their line ends. */
export function describeSurvey({ links, interfaces }: Survey): string[] {
  const rows = links.map(({ name, usage, medium, ecn, usable, summary }) => [
    usage || name,
    medium,
    ecnText(ecn),
    yesNo(usable),
    summary,
  ]);
  return [
    'Links, as --link takes them:',
    ...formatTable(['link', 'medium', 'ECN', 'here', ''], rows, []),
    ...links.flatMap(missingLines),
    '',
    'Interfaces of this machine, and the links that can be used on each:',
    ...interfaces.flatMap(interfaceLines),
    ...(interfaces.length === 0 ? ['  none'] : []),
  ];
}

function missingLines({ name, requirements }: SurveyedLink): string[] {
  const missing = requirements.filter(({ met }) => !met);
  if (missing.length === 0) return [];
  return ['', `${name} lacks`, ...missing.map(({ what, remedy }) => `  ${what}${remedy === '' ? '' : `; ${remedy}`}`)];
}

function interfaceLines({ name, mtu, mac, addresses, links }: SurveyedInterface): string[] {
  const facts = [mtu === null ? undefined : `mtu ${mtu}`, mac ?? undefined, addresses.join(', ')];
  const heading = `  ${name}: ${facts.filter((fact) => fact !== undefined && fact !== '').join('; ')}`;
  return [heading.replace(/: $/, ''), ...(links.length === 0 ? [] : [`    ${links.join('  ')}`])];
}

const ecnText = (versions: readonly (4 | 6)[]): string =>
  versions.length === 2 ? 'yes' : versions.length === 0 ? 'no' : `IPv${versions.join()}`;
const yesNo = (value: boolean): string => (value ? 'yes' : 'no');
