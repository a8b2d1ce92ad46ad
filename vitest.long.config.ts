import { defineConfig } from 'vitest/config';
import { LongestFirst } from './test/support/longest-first.ts';
import { reporters } from './test/support/reporters.ts';

export default defineConfig({
  // `rocev2/...` in tools/ and examples/ are the sources here, as the compiler has them (tsconfig.json).
  resolve: { tsconfigPaths: true },
  test: {
    include: ['test/**/*.long.test.ts', 'embargo/test/*.long.test.ts'],
    testTimeout: 3_600_000,
    hookTimeout: 3_600_000,
    maxWorkers: 2,
    sequence: { sequencer: LongestFirst },
    setupFiles: ['test/support/programs.ts'],
    ...reporters(process.env),
  },
});
