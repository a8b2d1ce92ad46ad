/** Goal: an entry of the library can be looked through: what belongs to another subject has an entry of its own. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';

const ROOT = join(import.meta.dirname, '../..');
const { exports } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));
const ENTRIES = Object.entries<{ readonly default?: string }>(exports).flatMap(([name, { default: built = '' }]) =>
  built.startsWith('./dist/') ? [[name, built.replace('./dist/', '').replace(/\.js$/, '.ts')] as const] : [],
);
/** `rocev2/nvme` has the most: structures, statuses and both roles of one protocol. */
const MOST_NAMES = 180;

it.each(ENTRIES)('%s has few enough names', async (_, source) => {
  const names = Object.keys(await import(join(ROOT, source)));
  expect(names.length).toBeGreaterThan(0);
  expect(names.length).toBeLessThanOrEqual(MOST_NAMES);
});

it('has each entry in the table of the README, with what it needs', () => {
  const rows = readFileSync(join(ROOT, 'README.md'), 'utf8').match(/^\| `rocev2[`/].*$/gm) ?? [];
  const listed = rows.flatMap((row) => row.split('|')[1]?.match(/(?<=`)rocev2[^`]*/g) ?? []);
  const entries = Object.keys(exports).filter((name) => name !== './package.json');
  expect(listed.sort()).toEqual(entries.map((name) => name.replace(/^\./, 'rocev2')).sort());
});

it('gives each name of the codecs once', async () => {
  const [codecs, network, management] = await Promise.all(
    ['index', 'network', 'management'].map(async (name) => Object.keys(await import(join(ROOT, `packets/${name}.ts`)))),
  );
  const names = [...(codecs ?? []), ...(network ?? []), ...(management ?? [])];
  expect(new Set(names).size).toBe(names.length);
});
