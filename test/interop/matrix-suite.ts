/**
 * The interop matrix as tests, for matrix-6.12.long.test.ts and matrix-6.1.long.test.ts.
 *
 * Goal: unmodified programs on a real rdma_rxe talk to this stack, in both roles; what does not work does not work
 * between two guests either, and docs/interop.md says so. Method: the cells of the matrix that are marked for it, on
 * guests that are booted once for each MTU; then the experiment about errors. The rest of the matrix and the newest
 * kernel are part of `npm run interop -- --all`.
 */
import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { loadExperiment } from '../../tools/experiment/load.ts';
import { failuresOf, runJudgedCase } from '../../tools/experiment/run.ts';
import { HostPool } from '../../tools/experiment/stage.ts';
import { CELLS } from '../../tools/interop/cells/index.ts';
import { caseName } from '../../tools/interop/experiments.ts';
import { parseInterop } from '../../tools/interop/interop-file.ts';
import { entriesOf, MatrixRun } from '../../tools/interop/matrix-run.ts';
import { buildImage } from '../../tools/lab/image.ts';
import { describeWith } from '../support/need.ts';

/** Captures stay, for whoever wants to look; git ignores them. */
const DIRECTORY = fileURLToPath(new URL('../../interop-out', import.meta.url));
const PAGE = fileURLToPath(new URL('../../docs/interop.md', import.meta.url));
const ENTRIES = entriesOf(CELLS.filter(({ inCi }) => inCi)).map((entry) => ({ name: caseName(entry), entry }));

/** Runs what CI runs of the matrix, with one kernel. */
export function describeMatrix(kernel: '6.1' | '6.12'): void {
  describeWith(['lab', 'tshark'], `rdma_rxe of Linux ${kernel}`, () => matrix(kernel));
}

function matrix(kernel: '6.1' | '6.12'): void {
  const page = existsSync(PAGE) ? parseInterop(readFileSync(PAGE, 'utf8'), CELLS) : undefined;

  describe('the matrix', () => {
    const rows = page?.kernels.get(kernel)?.rows;
    const run = new MatrixRun({ kernel, directory: `${DIRECTORY}/${kernel}`, log: console.log });
    beforeAll(async () => {
      await buildImage(kernel);
    });
    afterAll(() => run.close());

    it.each(ENTRIES)('$name', async ({ name, entry }) => {
      const failures = await run.run(entry);
      // What is a limit of rdma_rxe by the page is looked into below.
      if (rows?.get(name)?.verdict !== 'rxe') expect(failures).toEqual([]);
    });

    it('what fails, fails between two guests as well', async () => {
      await run.findLimits();
      const ours = run.rows.filter(({ verdict }) => verdict === 'fail');
      expect(ours.map(({ entry, failures }) => [caseName(entry), failures])).toEqual([]);
      expect(run.rows).toHaveLength(ENTRIES.length);
    });

    it('is as docs/interop.md says', () => {
      const now = run.rows.map(({ entry, verdict }) => `${caseName(entry)}: ${verdict}`);
      const told = run.rows.map(({ entry }) => `${caseName(entry)}: ${rows?.get(caseName(entry))?.verdict}`);
      expect(now).toEqual(told);
    });
  });

  describe('errors', () => {
    const stages = new HostPool(() => {});
    const experiment = loadExperiment('interop-errors', { kernel });
    afterAll(() => stages.close());

    it.each(experiment.cases)('$name', async (spec) => {
      const directory = `${DIRECTORY}/${kernel}/${experiment.name}`;
      const result = await runJudgedCase(experiment, spec, { directory, stages });
      expect(failuresOf(result)).toEqual([]);
      expect(result.judgements.length).toBeGreaterThan(2);
    });
  });
}
