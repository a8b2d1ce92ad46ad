/**
 * What a run prints and leaves: vitest's own report, then what the machine lacks, each reason once with the number of
 * tests that are skipped for it. With `ROCE_TEST_REPORT=FILE` the results as JSON too, for CI.
 */
import type { Reporter, TestCase, TestModule, TestSuite } from 'vitest/node';

/** Reporters as vitest's configuration takes them. */
export function reporters({ ROCE_TEST_REPORT = '' }: NodeJS.ProcessEnv) {
  const shown = ['default', new MissingThings()];
  if (ROCE_TEST_REPORT === '') return { reporters: shown };
  return { reporters: [...shown, 'json'], outputFile: { json: ROCE_TEST_REPORT } };
}

class MissingThings implements Reporter {
  onTestRunEnd(modules: readonly TestModule[]): void {
    const skipped = new Map<string, number>();
    for (const module of modules) {
      for (const test of module.children.allTests('skipped')) {
        const reason = reasonOf(test);
        if (reason !== undefined) skipped.set(reason, (skipped.get(reason) ?? 0) + 1);
      }
    }
    if (skipped.size === 0) return;
    const lines = [...skipped].map(([reason, count]) => ` ${`${count}`.padStart(5)}  ${reason}\n`);
    process.stdout.write(`\n Skipped tests, and what they need:\n${lines.join('')}\n`);
  }
}

function reasonOf(test: TestCase): string | undefined {
  let place: TestCase | TestSuite | TestModule = test;
  while (place.type !== 'module') {
    const { missing } = place.meta();
    if (missing !== undefined) return missing;
    place = place.parent;
  }
  return undefined;
}
