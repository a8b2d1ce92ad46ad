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

it('gives each name of the codecs once', async () => {
  const [codecs, network, management] = await Promise.all(
    ['index', 'network', 'management'].map(async (name) => Object.keys(await import(join(ROOT, `packets/${name}.ts`)))),
  );
  const names = [...(codecs ?? []), ...(network ?? []), ...(management ?? [])];
  expect(new Set(names).size).toBe(names.length);
});
