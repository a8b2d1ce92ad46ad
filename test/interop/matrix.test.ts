/**
 * Goal: unmodified rdmacm-utils on a real rdma_rxe talk to this stack, in both roles, and errors end with the statuses verbs name.
 * Method: the interop experiments with two kernels and both path MTUs, on guests that are booted once for each; every
 * expectation of a case must hold. The newest kernel of the lab is part of `npm run interop -- --all`.
 */
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { interopMatrix } from '../../tools/experiment/matrix.ts';
import { failuresOf, runJudgedCase } from '../../tools/experiment/run.ts';
import { Stages } from '../../tools/experiment/stage.ts';
import { buildImage } from '../../tools/lab/image.ts';
import { describeWithLab } from '../lab/support.ts';

/** Captures stay, for whoever wants to look; git ignores them. */
const DIRECTORY = fileURLToPath(new URL('../../interop-out', import.meta.url));

describeWithLab('rdma_rxe', () => {
  describe.each(['6.1', '6.12'] as const)('Linux %s', (kernel) => {
    const stages = new Stages(() => {});
    beforeAll(async () => {
      await buildImage(kernel);
    });
    afterAll(() => stages.close());

    describe.each(interopMatrix(kernel))('$experiment.name with MTU $mtu', ({ experiment, mtu }) => {
      it.each(experiment.cases)('$name', async (spec) => {
        const directory = `${DIRECTORY}/${kernel}/${experiment.name}-mtu${mtu}`;
        const result = await runJudgedCase(experiment, spec, { directory, stages });
        expect(failuresOf(result)).toEqual([]);
        expect(result.judgements.length).toBeGreaterThan(2);
      });
    });
  });
});
