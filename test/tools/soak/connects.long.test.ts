/**
 * Goal: connections with rdma_rxe leave nothing behind, neither in our device nor in the guest's kernel. Method: 200 of
 * the 10,000 of `npm run soak -- connects`, half of them from the guest's cmtime and half to it.
 */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { soakConnects } from '../../../tools/soak/connects.ts';
import { GuestStage, OURS, THEIRS } from '../../../tools/soak/guest-stage.ts';
import { describeWith } from '../../support/need.ts';

describeWith('lab', 'connections with Linux 6.12', () => {
  let stage: GuestStage | undefined;
  beforeAll(async () => {
    stage = await GuestStage.make('6.12');
  });
  afterAll(() => stage?.close());

  it('200 of them, made and ended from both sides, leave all tables of both as they were', async () => {
    if (stage === undefined) throw new Error('the guest has not booted');
    const { guest, open } = stage;
    const ends = { device: open.device, guest, ours: OURS, theirs: THEIRS };
    const figures = await soakConnects({ ...ends, cycles: 200, batch: 10 });
    expect(figures.faults).toEqual([]);
    expect([figures.fromGuest, figures.fromUs]).toEqual([100, 100]);
    expect(figures.guest.before).toMatch(/^pd \d+ cq \d+ qp \d+ cm_id 0 mr 0 ctx 0 srq 0$/);
    expect(figures.memory).toHaveLength(10);
    expect(new Set(figures.memory.map(({ descriptors }) => descriptors)).size).toBe(1);
  });
});
