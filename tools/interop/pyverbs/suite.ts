/**
 * rdma-core's own tests of verbs, for Python: where Debian's package python3-pyverbs has put them, on this machine and
 * in a guest. They are run as they are; nothing of them is kept here.
 */
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gunzipSync } from 'node:zlib';

/** Whose packages the tests are of, and those they need: libibverbs, its provider for rxe, librdmacm, Python. */
export const DEBIANS = ['12', '13'] as const;
export type Debian = (typeof DEBIANS)[number];

/** Runs tests, each in a process of its own. */
export const RUNNER = fileURLToPath(new URL('./run-tests.py', import.meta.url));
/** Debian's Python, which pyverbs is compiled for: not another one that comes first in PATH. */
export const PYTHON = '/usr/bin/python3';
/** Where the package has its tests, some of them compressed. */
export const TESTS = '/usr/share/doc/rdma-core/tests';
/** Seconds that a test may take: in a guest, whose processor is emulated, those of rdma_cm take three. */
export const TEST_SECONDS = 60;

/** Why the tests cannot be run here, a sentence; undefined where they can. */
export function pyverbsMissing(): string | undefined {
  if (spawnSync(PYTHON, ['-c', 'import pyverbs.device']).status !== 0)
    return "Debian's Python has no pyverbs (Debian package python3-pyverbs)";
  if (existsSync(join(TESTS, '__init__.py'))) return undefined;
  return `${TESTS} is not there: dpkg has been told to leave out what Debian has in /usr/share/doc (Debian package python3-pyverbs)`;
}

/** The version of the package. */
export function pyverbsVersion(): string {
  const { stdout } = spawnSync('dpkg-query', ['-s', 'python3-pyverbs'], { encoding: 'utf8' });
  return /^Version: (\S+)$/m.exec(stdout)?.[1] ?? 'unknown';
}

/** Puts the tests, uncompressed, below `directory`: what the runner is to be given. */
export function unpackTests(directory: string, from = TESTS): string {
  const into = join(directory, 'tests');
  mkdirSync(into, { recursive: true });
  for (const name of readdirSync(from)) {
    const bytes = readFileSync(join(from, name));
    if (name.endsWith('.py')) writeFileSync(join(into, name), bytes);
    if (name.endsWith('.py.gz')) writeFileSync(join(into, name.slice(0, -'.gz'.length)), gunzipSync(bytes));
  }
  return into;
}

/**
 * What `roce run` is given to run the tests on a device of ours. Its interface is lo, which is named to the tests:
 * librdmacm reaches the device of `roce run` by 127.0.0.1 as well.
 */
export function oursArguments(tests: string, patterns: readonly string[] = []): string[] {
  return ['run', '--', PYTHON, RUNNER, tests, String(TEST_SECONDS), 'lo', ...patterns];
}
