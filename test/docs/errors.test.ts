/**
 * Goal: docs/errors.md has every code of `RoceError`, with the errno that it has and the entries that throw it. Method:
 * its table, against the table of the code and against the codes in the sources of each room.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { ERRNO_OF } from '../../packets/errors.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
/** Entry that stands for each room of the library. */
const ENTRIES: Readonly<Record<string, string>> = {
  packets: 'packets',
  transport: 'transport',
  pcap: 'pcap',
  'src/device': 'rocev2',
  'src/faults': 'faults',
  'src/sim': 'sim',
  'src/node': 'node',
  'src/trace': 'trace',
  'src/uverbs': 'uverbs',
  'src/ulp/nvme': 'nvme',
  'src/ulp/rsockets': 'rsockets',
};

const rows = readFileSync(join(ROOT, 'docs/errors.md'), 'utf8')
  .split('\n')
  .filter((line) => line.startsWith('| `ERR_'))
  .map((line) => line.split('|').map((cell) => cell.trim().replaceAll('`', '')));

it('lists every code once, in the order of the code, with its errno', () => {
  expect(rows.map(([, code, errno]) => [code, errno])).toEqual(Object.entries(ERRNO_OF));
});

it('says of each what it means, and what to do', () => {
  for (const [, code, , meaning = '', , advice = ''] of rows) {
    expect(meaning.length, code).toBeGreaterThan(20);
    expect(advice.length, code).toBeGreaterThan(20);
  }
});

it('names the entries that throw it', () => {
  const found = new Map(Object.keys(ERRNO_OF).map((code) => [code, new Set<string>()]));
  for (const [room, entry] of Object.entries(ENTRIES))
    for (const name of readdirSync(join(ROOT, room), { recursive: true, encoding: 'utf8' })) {
      if (!name.endsWith('.ts') || (room === 'packets' && name === 'errors.ts')) continue;
      // A code in a condition or in a type is asked for, not thrown.
      const text = readFileSync(join(ROOT, room, name), 'utf8').replace(/[!=]==\s*'ERR_ROCE_\w+'|\*.*$/gm, '');
      for (const [, code = ''] of text.matchAll(/'(ERR_ROCE_\w+)'/g)) found.get(code)?.add(entry);
    }
  expect(rows.map(([, code, , , entries]) => [code, entries])).toEqual(
    [...found].map(([code, entries]) => [code, [...entries].join(', ')]),
  );
});
