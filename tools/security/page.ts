/**
 * docs/security-tests.md: each attack with its defence and the tests that carry its id. Owns how titles of tests are
 * found in their files, and the form of the page.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { DEFAULT_DEFENCES, DEFAULT_LIMITS, DEFAULT_STRANGER_LIMITS } from 'rocev2';
import { grouped } from '../table.ts';
import { ATTACKS, type Attack, type Setting } from './attacks.ts';

/** A title of a test, or of a group of tests, that names attacks. */
export interface TaggedTest {
  /** From the root of the repository. */
  readonly file: string;
  readonly title: string;
  readonly ids: readonly string[];
}

export const SECURITY_PAGE = 'docs/security-tests.md';
const ROOT = fileURLToPath(new URL('../..', import.meta.url));

/** Where the repository keeps its tests. */
export function readTaggedTests(root = ROOT): TaggedTest[] {
  return readdirSync(join(root, 'test'), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.test.ts'))
    .sort()
    .flatMap((name) => taggedTests(`test/${name}`, readFileSync(join(root, 'test', name), 'utf8')));
}

/** Titles in the text of a test file: the first argument of `it`, `describe` and of what their `each` makes. */
export function taggedTests(file: string, text: string): TaggedTest[] {
  const code = text.replace(/\/\*[\s\S]*?\*\//g, '').replace(/^\s*\/\/.*$/gm, '');
  return [...code.matchAll(TITLE)].flatMap(([, , title = '']) => {
    const ids = [...new Set(title.match(ID) ?? [])];
    return ids.length === 0 ? [] : [{ file, title, ids }];
  });
}

/** What is wrong between attacks and tests, a line each; none when all is well. */
export function contradictions(attacks: readonly Attack[], tests: readonly TaggedTest[]): string[] {
  const known = new Set(attacks.map(({ id }) => id));
  const tested = new Set(tests.flatMap(({ ids }) => ids));
  return [
    ...attacks.filter(({ id }) => !tested.has(id)).map(({ id }) => `${id} has no test`),
    ...tests.flatMap(({ file, title, ids }) =>
      ids.filter((id) => !known.has(id)).map((id) => `${file}: ${id} is no attack: ${title}`),
    ),
  ];
}

/** The text of the page. */
export function securityPage(attacks: readonly Attack[], tests: readonly TaggedTest[]): string {
  const covered = attacks.filter(({ id }) => tests.some(({ ids }) => ids.includes(id)));
  return [
    '# Attacks and their tests',
    '',
    '<!-- Written by `npm run docs:security` from tools/security/attacks.ts and the titles of tests. -->',
    '',
    `${covered.length} of ${attacks.length} attacks of [reference/hostile.md](reference/hostile.md#2) have a test whose title carries the id.`,
    'Settings are those of `DeviceOptions`, with their defaults. `npm run budgets` measures floods ([security-budgets.md](security-budgets.md)).',
    '',
    '| id | attack | defence, or why there is none | settings (default) | tests |',
    '| --- | --- | --- | --- | --- |',
    ...attacks.map((attack) => row(attack, tests)),
    '',
  ].join('\n');
}

/** The page of this repository, as it has to be now. */
export const currentSecurityPage = (): string => securityPage(ATTACKS, readTaggedTests());

function row({ id, attack, defence, settings = [] }: Attack, tests: readonly TaggedTest[]): string {
  const files = new Map<string, string[]>();
  for (const { file, title, ids } of tests)
    if (ids.includes(id)) files.set(file, [...(files.get(file) ?? []), `› ${cell(title)}`]);
  const shown = [...files].map(([file, titles]) => [`\`${file.slice('test/'.length)}\``, ...titles].join('<br>'));
  const set = settings.map((setting) => `\`${setting}\` (${defaultOf(setting)})`);
  const link = `[${id}](reference/hostile.md#${id})`;
  return `| ${[link, attack, defence, set.join('<br>') || '—', shown.join('<br>')].join(' | ')} |`;
}

function defaultOf(setting: Setting): string {
  const [group = '', name = ''] = setting.split('.');
  const value = DEFAULTS[group]?.[name];
  return typeof value === 'number' ? grouped(value) : value === true ? 'on' : 'off';
}

function cell(title: string): string {
  return title.replaceAll('\\', '').replaceAll('|', '\\|').replaceAll('<', '&lt;');
}

const DEFAULTS: Readonly<Record<string, Readonly<Record<string, number | boolean>>>> = {
  defences: { ...DEFAULT_DEFENCES },
  strangers: { ...DEFAULT_STRANGER_LIMITS },
  limits: { ...DEFAULT_LIMITS },
};
const ID = /SEC-\d+/g;
/** A string that is a first argument and not the last. */
const TITLE = /\(\s*(['"`])((?:(?!\1)[^\\\n]|\\.)*)\1\s*,/g;
