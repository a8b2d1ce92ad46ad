import { defineConfig } from 'vitest/config';
import { computingTests } from './test/support/computing.ts';
import { LongestFirst } from './test/support/longest-first.ts';
import { reporters } from './test/support/reporters.ts';
import { leftToOtherTurns } from './test/support/turns.ts';

const { long: computing } = computingTests(import.meta.dirname);
const left = leftToOtherTurns(process.env['ROCE_TURN']);
// Node's own modules, which tsx translates: Vite's runner reads every import through a getter, and ten million packets
// take more than twice as long.
const native = { execArgv: ['--import', 'tsx'], experimental: { viteModuleRunner: false, nodeLoader: false } };

export default defineConfig({
  // `rocev2/...` in tools/ and examples/ are the sources here, as the compiler has them (tsconfig.json).
  resolve: { tsconfigPaths: true },
  test: {
    projects: [
      { extends: true, test: { name: 'computing', include: computing, exclude: [...left], ...native } },
      {
        extends: true,
        test: {
          name: 'machine',
          include: ['test/**/*.long.test.ts', 'embargo/test/*.long.test.ts'],
          exclude: [...computing, ...left],
        },
      },
    ],
    // What a page or another process has yet to show: waited for as long as a busy machine may need.
    expect: { poll: { timeout: 30_000 } },
    testTimeout: 3_600_000,
    hookTimeout: 3_600_000,
    maxWorkers: 2,
    sequence: { sequencer: LongestFirst },
    setupFiles: ['test/support/programs.ts', 'test/support/internal-errors.ts'],
    ...reporters(process.env),
  },
});
