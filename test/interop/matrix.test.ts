/**
 * Goal: unmodified rdmacm-utils on a real rdma_rxe talk to this stack, in both roles, and errors end with the statuses verbs name.
 * Method: a guest per kernel and path MTU, a capture per case, read back by this project and by tshark.
 * The newest kernel of the lab is part of `npm run interop -- --all`.
 */
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { plan, StationKeeper } from '../../tools/interop/matrix.ts';
import { buildImage } from '../../tools/lab/image.ts';
import { describeWithLab } from '../lab/support.ts';

const KERNELS = ['6.1', '6.12'] as const;
/** Captures stay, for whoever wants to look; git ignores them. */
const DIRECTORY = fileURLToPath(new URL('../../interop-out', import.meta.url));

describeWithLab('rdma_rxe', () => {
  describe.each(KERNELS.flatMap(plan))('$kernel with path MTU $mtu', ({ kernel, mtu, cases }) => {
    const keeper = new StationKeeper(kernel, mtu, () => {});
    beforeAll(async () => {
      await buildImage(kernel);
    });
    afterAll(() => keeper.close());

    it.each(cases)('$name', async (planned) => {
      const { note, frames } = await keeper.run(planned, DIRECTORY);
      expect(note).toBe('');
      expect(frames).toBeGreaterThan(4);
    });
  });
});
