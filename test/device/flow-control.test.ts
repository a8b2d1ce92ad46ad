/**
 * Goal: end-to-end credits are used where both sides of a connection say so, and then a receiver that keeps posting is
 * never overrun by more than one packet. Method: connections on a simulated network; what the wire carried is looked at
 * in counters.
 */
import { describe, expect, it } from 'vitest';
import { WcStatus, WrOpcode } from '../../src/index.ts';
import { makePair, makeSide, PORT } from './support.ts';

async function connected(ours: boolean | undefined, theirs: boolean | undefined) {
  const pair = makePair();
  const left = makeSide(pair.a);
  const right = makeSide(pair.b);
  const listener = pair.b.cm.listen(PORT);
  const say = (flowControl: boolean | undefined) => (flowControl === undefined ? {} : { flowControl });
  const accepting = listener.next().then(({ value }) => value.accept({ qp: right.qp, ...say(theirs) }));
  const connecting = pair.a.cm.connect({ address: '10.0.0.2', port: PORT, qp: left.qp, ...say(ours) });
  await pair.world.run(Promise.all([connecting, accepting]));
  return { ...pair, left, right };
}

const MESSAGES = 200;
const ROOM = 4;

/** Every completion of a receive posts another: `ROOM` are posted at any time. */
async function run({ world, left, right }: Awaited<ReturnType<typeof connected>>) {
  for (let wrId = 0; wrId < ROOM; wrId++) right.qp.postRecv({ wrId, sges: [{ mr: right.mr, length: 64 }] });
  for (let wrId = 0; wrId < 100; wrId++) left.qp.postSend({ wrId, opcode: WrOpcode.Send, inline: Uint8Array.of(wrId) });
  for (let i = 0; i < MESSAGES; i++) {
    const { value } = await world.run(right.cq.next());
    expect([value.wrId, value.status]).toEqual([i, WcStatus.Success]);
    right.qp.postRecv({ wrId: i + ROOM, sges: [{ mr: right.mr, length: 64 }] });
    if (i < 100) left.qp.postSend({ wrId: 100 + i, opcode: WrOpcode.Send, inline: Uint8Array.of(i) });
  }
}

describe('end-to-end credits', () => {
  it.each([
    [true, undefined],
    [true, true],
  ])('asked for by %s and %s are used: at most one packet at a time finds no receive', async (ours, theirs) => {
    const pair = await connected(ours, theirs);
    await run(pair);
    expect(pair.left.qp.core.config.flowControl).toBe(true);
    expect(pair.right.qp.core.config.flowControl).toBe(true);
    const { sendRnrErr } = pair.b.portCounters;
    const { retransmittedPkts } = pair.a.portCounters;
    expect(retransmittedPkts).toBeLessThanOrEqual(sendRnrErr);
  });

  it.each([
    [undefined, true],
    [false, undefined],
    [true, false],
    [undefined, undefined],
  ])('asked for by %s and %s are not used: a burst overruns the receiver', async (ours, theirs) => {
    const pair = await connected(ours, theirs);
    await run(pair);
    expect(pair.left.qp.core.config.flowControl || pair.right.qp.core.config.flowControl).toBe(false);
    expect(pair.a.portCounters.retransmittedPkts).toBeGreaterThan(pair.b.portCounters.sendRnrErr);
  });

  it('are not promised for a queue pair whose receives are shared', async () => {
    const { world, a, b } = makePair();
    const left = makeSide(a);
    const pd = b.allocPd();
    const cq = b.createCq(8);
    const srq = pd.createSrq({ maxWr: 8 });
    const qp = pd.createQp({ sendCq: cq, recvCq: cq, srq });
    const listener = b.cm.listen(PORT);
    const accepting = listener.next().then(({ value }) => value.accept({ qp, flowControl: true }));
    await world.run(
      Promise.all([a.cm.connect({ address: '10.0.0.2', port: PORT, qp: left.qp, flowControl: true }), accepting]),
    );
    expect([left.qp.core.config.flowControl, qp.core.config.flowControl]).toEqual([false, false]);
  });
});
