/** The survey of links for a terminal. Owns the text. */
import type { LinkEcn } from 'rocev2';
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
    ...links.flatMap(ecnLines),
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

/** 'yes', 'no', or what there is: 'IPv4', 'IPv6 set', 'IPv4, IPv6 set'. */
function ecnText({ set, read }: LinkEcn): string {
  const both = set.filter((version) => read.includes(version));
  const one = (versions: readonly number[], others: readonly number[], word: string): string[] =>
    versions.filter((version) => !others.includes(version)).map((version) => `IPv${version} ${word}`);
  if (both.length === 2) return 'yes';
  const words = [...both.map((version) => `IPv${version}`), ...one(set, read, 'set'), ...one(read, set, 'seen')];
  return words.length === 0 ? 'no' : words.join(', ');
}

function ecnLines({ name, ecn }: SurveyedLink): string[] {
  return ecn.reason === undefined ? [] : ['', `ECN on ${name}: ${ecn.reason}`];
}

const yesNo = (value: boolean): string => (value ? 'yes' : 'no');
