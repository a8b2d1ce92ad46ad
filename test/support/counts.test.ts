/**
 * Goal: what .ci/counts.mjs says of a CI run is a failure wherever the run was none or less than it should be. Method:
 * reports as vitest writes them, made up.
 */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';

const COUNTS = fileURLToPath(new URL('../../.ci/counts.mjs', import.meta.url));
const LANES = ['bare-20', 'bare-22', 'bare-24', 'test', 'long'];

const FAILED = { status: 'failed', fullName: 'a case that fails' };

interface Report {
  readonly passed?: number;
  readonly failed?: number;
  readonly skipped?: number;
  /** Files that failed before a test of theirs began. */
  readonly brokenFiles?: number;
  readonly success?: boolean;
  /** What the file of the passed tests takes. */
  readonly seconds?: number;
  /** The file that has the skipped tests. */
  readonly skippedIn?: string;
}

function report({
  passed = 3,
  failed = 0,
  skipped = 0,
  brokenFiles = 0,
  success = failed + brokenFiles === 0,
  seconds = 59,
  skippedIn = 'test/a.test.ts',
}: Report) {
  const file = (status: string, assertionResults: unknown[], name = 'test/a.test.ts') => ({
    ...{ name: `/a clone/${name}`, status, assertionResults, startTime: 0, endTime: seconds * 1000 },
  });
  return JSON.stringify({
    ...{ numPassedTests: passed, numFailedTests: failed, numPendingTests: skipped, numTodoTests: 0 },
    ...{ success, startTime: 0 },
    testResults: [
      ...(passed + failed === 0 ? [] : [file(failed === 0 ? 'passed' : 'failed', [failed === 0 ? {} : FAILED])]),
      ...(skipped === 0 ? [] : [file('passed', [{ status: 'skipped' }], skippedIn)]),
      ...Array.from({ length: brokenFiles }, () => file('failed', [])),
    ],
  });
}

/** What it prints and ends with when every lane is well but `lane`, which has that report, or that text, or none. */
function counts(lane?: string, its?: Report | string, left: readonly string[] = []) {
  const directory = mkdtempSync(join(tmpdir(), 'roce-counts-'));
  try {
    for (const name of LANES) {
      const text = name !== lane ? report({}) : typeof its === 'string' ? its : its && report(its);
      if (text !== undefined) writeFileSync(join(directory, `${name}.json`), text);
    }
    const { status, stdout } = spawnSync(process.execPath, [COUNTS, directory, ...left], { encoding: 'utf8' });
    return { status, lines: stdout.trim().split('\n') };
  } finally {
    rmSync(directory, { recursive: true });
  }
}

it('is well when every lane is, and adds them up', () => {
  const { status, lines } = counts();
  expect(lines).toHaveLength(LANES.length + 1);
  expect(lines.at(-1)).toBe('15 passed, 0 failed, 0 skipped');
  expect(status).toBe(0);
});

it('lets a bare lane skip what a lane with everything runs', () => {
  const { status, lines } = counts('bare-22', { skipped: 40 });
  expect([status, lines.at(-1)]).toEqual([0, '15 passed, 0 failed, 0 skipped']);
});

it('needs no report of the lanes that are left to other turns, and of every other', () => {
  const { status, lines } = counts('bare-24', undefined, ['bare-24', 'bare-22']);
  expect(lines).toContain('bare lane, Node 24, unprivileged: left to another turn');
  expect(lines).toContain('bare lane, Node 22, root: left to another turn');
  expect([status, lines.at(-1)]).toEqual([0, '9 passed, 0 failed, 0 skipped']);
  expect(counts('bare-22', undefined, ['bare-24']).status).toBe(1);
});

it('names what failed and what takes a minute or more, for the output of a run is cut short where people read it', () => {
  expect(counts('long', { failed: 1, seconds: 61 }).lines).toEqual(
    expect.arrayContaining(['  61 s test/a.test.ts', '  failed: test/a.test.ts: a case that fails']),
  );
});

it.each<[string, string, Report | string | undefined, RegExp]>([
  ['a lane without a report', 'test', undefined, /^npm test: ended without a report$/],
  ['a report that is cut short', 'long', report({}).slice(0, -20), /^npm run test:long: its report cannot be read$/],
  ['a lane without a test', 'bare-20', { passed: 0 }, /^bare lane, Node 20.*: 0 passed/],
  ['a test that failed', 'test', { failed: 1 }, /^npm test: 3 passed, 1 failed/],
  ['a file that failed before its tests', 'long', { brokenFiles: 2 }, /, 2 files failed without a test/],
  ['a run that says itself that it failed', 'bare-24', { success: false }, /^bare lane, Node 24.*: 3 passed/],
  ['a skipped test where everything is there', 'test', { skipped: 1 }, /^npm test: 3 passed, 0 failed, 1 skipped/],
  [
    'a test that every lane skips',
    'bare-20',
    { skipped: 1, skippedIn: 'test/b.test.ts' },
    /^.test.b.test.ts: skipped in a bare lane, and run in no other$/,
  ],
])('is no success with %s', (_, lane, its, line) => {
  const { status, lines } = counts(lane, its);
  expect(lines).toContainEqual(expect.stringMatching(line));
  expect(lines.at(-1)).toMatch(/^\d+ passed, \d+ failed, \d+ skipped$/);
  expect(status).toBe(1);
});
