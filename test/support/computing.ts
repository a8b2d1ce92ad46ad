/**
 * Which test files only compute: they ask `need.ts` for nothing, and start and change nothing outside of themselves.
 * They share a process and its modules, which halves their time, and they pass or fail alike on any machine: CI runs
 * the short ones in its first lane only.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const FOLDERS = [
  'device',
  'faults',
  'fuzz',
  'ground',
  'packets',
  'pcap',
  'property',
  'sim',
  'trace',
  'transport',
  'ulp',
  'uverbs',
  'tools/conformance',
  'tools/sim',
  'tools/swarm',
];
/** What a file has that is more than computing: something of the machine, its own process, or another one. */
const MORE = /support\/need|lab\/support|node:child_process|process\.(env|chdir|exitCode|on)\b|useFakeTimers/;

/** Those of `npm test` and of `npm run test:long`, their paths from the root of the repository. */
export function computingTests(root: string): { short: string[]; long: string[] } {
  const all = FOLDERS.flatMap((folder) => testsBelow(root, `test/${folder}`));
  const isLong = (file: string): boolean => file.endsWith('.long.test.ts');
  return { short: all.filter((file) => !isLong(file)), long: all.filter(isLong) };
}

function testsBelow(root: string, folder: string): string[] {
  return readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .map((file) => join(folder, file))
    .filter((file) => file.endsWith('.test.ts') && !MORE.test(readFileSync(join(root, file), 'utf8')))
    .sort();
}
