import { defineConfig } from 'vitest/config';
import { computingTests } from './test/support/computing.ts';
import { LongestFirst } from './test/support/longest-first.ts';
import { reporters } from './test/support/reporters.ts';

const { short: computing } = computingTests(import.meta.dirname);
const LONG = 'test/**/*.long.test.ts';
const PACKAGE = 'test/package/*.test.ts';

export default defineConfig({
  // `rocev2/...` in tools/ and examples/ are the sources here, as the compiler has them (tsconfig.json).
  resolve: { tsconfigPaths: true },
  test: {
    projects: [
      { extends: true, test: { name: 'computing', include: computing, isolate: false } },
      // One after the other: a package is built in dist/, which others read.
      { extends: true, test: { name: 'package', include: [PACKAGE], fileParallelism: false } },
      {
        extends: true,
        test: { name: 'machine', include: ['test/**/*.test.ts'], exclude: [LONG, PACKAGE, ...computing] },
      },
    ],
    // What a page or another process has yet to show: waited for as long as a busy machine may need.
    expect: { poll: { timeout: 30_000 } },
    testTimeout: 120_000,
    // On a new machine the lab downloads its guests' packages first.
    hookTimeout: 900_000,
    // Two cores: a worker each, and qemu guests beside them.
    maxWorkers: 2,
    sequence: { sequencer: LongestFirst },
    setupFiles: ['test/support/programs.ts', 'test/support/internal-errors.ts'],
    ...reporters(process.env),
  },
});
