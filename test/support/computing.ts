/**
 * Which test files only compute: they ask `need.ts` for nothing, and start and change nothing outside of themselves.
 * They share a process and its modules, which halves their time, and they pass or fail alike on any machine: CI's
 * second bare lane and the lane with everything leave them out.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const FOLDERS = [
  'device',
  'faults',
  'ground',
  'packets',
  'pcap',
  'property',
  'sim',
  'trace',
  'transport',
  'ulp',
  'tools/conformance',
  'tools/sim',
];
/** What a file has that is more than computing: something of the machine, its own process, or another one. */
const MORE = /support\/need|lab\/support|node:child_process|process\.(env|chdir|exitCode|on)\b|useFakeTimers/;

/** Their paths, from the root of the repository. */
export function computingTests(root: string): string[] {
  return FOLDERS.flatMap((folder) => testsBelow(root, `test/${folder}`));
}

function testsBelow(root: string, folder: string): string[] {
  return readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .map((file) => join(folder, file))
    .filter((file) => file.endsWith('.test.ts') && !file.endsWith('.long.test.ts'))
    .filter((file) => !MORE.test(readFileSync(join(root, file), 'utf8')))
    .sort();
}
