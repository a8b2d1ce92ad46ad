/** Goal: the page about the filter is what the words say. Method: it is made again; its examples are compiled. */
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { compileFilter } from '../../pcap/filter/index.ts';
import { filterPage } from '../../tools/dump/filter-page.ts';

const page = readFileSync(fileURLToPath(new URL('../../docs/filter.md', import.meta.url)), 'utf8');

it('docs/filter.md is made from the words of the language; npx tsx tools/dump/filter-page.ts writes it', () => {
  expect(page).toBe(filterPage());
});

it('the examples of docs/filter.md are filters', () => {
  const examples = [...page.slice(page.indexOf('## Examples')).matchAll(/^\| `([^`]+)` \|/gm)].map(
    ([, text = '']) => text,
  );
  expect(examples.length).toBeGreaterThan(5);
  for (const example of examples) expect(compileFilter(example).text).not.toBe('');
});
