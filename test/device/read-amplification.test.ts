/**
 * Goal: what one forged READ draws is bounded, and the bound costs an honest requester little (ref:hostile#SEC-15).
 * Method: the attacker knows the PSN and the key, which is the worst; then honest READs of 16 times the budget, by a
 * requester that sees a gap at once and by one that waits for its ACK timer.
 */
import { describe, expect, it } from 'vitest';
import { Op } from '../../packets/opcode.ts';
import { WcStatus, WorkCompletion, WrOpcode } from '../../src/index.ts';
import { FIRST_PSN, Triangle } from './attacker.ts';

const WHOLE = 1 << 20;
const BUDGET = WHOLE / 16;
const CUT = { responder: { defences: { maxReadResponseBytes: BUDGET } }, bytes: WHOLE } as const;

async function honestRead(options: ConstructorParameters<typeof Triangle>[0]) {
  const triangle = await new Triangle(options).connect();
  const { world, left, right, requester, responder } = triangle;
  right.mr.bytes.set(Uint8Array.from({ length: WHOLE }, (_, i) => i * 7));
  const start = world.now;
  const remote = { remoteAddr: right.mr.iova, rkey: right.mr.rkey };
  left.qp.postSend({ wrId: 1, opcode: WrOpcode.RdmaRead, sges: [{ mr: left.mr }], ...remote });
  world.runFor(60e9, { done: () => left.cq.length > 0 });
  const wc = new WorkCompletion();
  expect([left.cq.poll(wc), wc.status]).toEqual([true, WcStatus.Success]);
  expect(Buffer.compare(left.mr.bytes, right.mr.bytes)).toBe(0);
  return { ns: world.now - start, requester: requester.portCounters, responder: responder.portCounters };
}

it.each([
  ['of 1 MiB draws 64 KiB and a packet', CUT, BUDGET + 2 * 1200 + BUDGET / 10],
  ['of 1 MiB draws 1 MiB by default', { bytes: WHOLE }, 1.1 * WHOLE],
])('SEC-15 a READ %s', async (_, options, most) => {
  const triangle = await new Triangle(options).connect();
  const { attacker, requester, responder, right, world } = triangle;
  const reth = { va: right.mr.iova, rkey: right.mr.rkey, length: WHOLE };
  attacker.forge({ opcode: Op.ReadRequest, psn: FIRST_PSN, reth }, requester, responder, right.qp);
  world.runFor(1e9);
  expect(triangle.bytes).toBeLessThan(most);
  expect(triangle.bytes).toBeGreaterThan(0.8 * most);
});

describe('an honest READ of 16 times the budget', () => {
  it('takes a round trip more for each, and no timeout', async () => {
    const calm = await honestRead({ bytes: WHOLE });
    const cut = await honestRead(CUT);
    expect(cut.responder.readResponseCut).toBe(15);
    expect(cut.requester).toMatchObject({ localAckTimeoutErr: 0, rcvdSeqErr: 15 });
    // A round trip on this wire is 4 us and the time of the packets in it.
    expect(cut.ns - calm.ns).toBeLessThan(15 * 20_000);
  });

  it('takes an ACK timer more for each by a requester that waits for it, as rdma_rxe does, and completes', async () => {
    const cut = await honestRead({ ...CUT, requester: { peer: 'rxe-6.12' } });
    expect(cut.requester).toMatchObject({ localAckTimeoutErr: 15, retryExceededErr: 0 });
  });
});
