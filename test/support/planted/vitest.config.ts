/** Runs the tests beside it as the project's own are run; `need.test.ts` looks at what comes of them. */
import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';
import { reporters } from '../reporters.ts';

export default defineConfig({
  resolve: { tsconfigPaths: true },
  test: {
    root: fileURLToPath(new URL('../../..', import.meta.url)),
    include: ['test/support/planted/*.ts'],
    exclude: ['test/support/planted/vitest.config.ts'],
    setupFiles: ['test/support/programs.ts'],
    ...reporters(process.env),
  },
});
