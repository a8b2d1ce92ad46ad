/**
 * Goal: a device reacts to congestion on its wire, and says how fast its queue pairs may send, wherever the stack runs.
 * Method: a cable whose far end marks or not, both placements; what is asserted are counters, rates and data, never
 * speed.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { WrOpcode } from '../../../src/index.ts';
import { type Cable, connectSides, openCable, PLACEMENTS, success } from './support.ts';

const LINE_RATE_BPS = 8e9;

describe.each(PLACEMENTS)('a device in the thread of the %s', (placement) => {
  let cable: Cable;
  beforeAll(async () => {
    cable = await openCable(
      placement,
      {
        congestion: { reaction: { kind: 'dcqcn', profile: 'paper' }, lineRateBps: LINE_RATE_BPS },
      },
      {
        // Every packet that comes to the far end has met a queue.
        congestion: { notification: { minTimeBetweenCnpsNs: 0 } },
        faults: { faults: { bToA: { ceMark: 1 } } },
      },
    );
  });
  afterAll(() => cable.close());

  it('slows down a flow whose packets are marked, and loses nothing of it', async () => {
    const { ours, theirs } = await connectSides(cable);
    expect(ours.qp.congestion).toEqual({ rateBps: LINE_RATE_BPS, targetRateBps: LINE_RATE_BPS, alpha: 1 });
    ours.mr.bytes.forEach((_, i) => {
      ours.mr.bytes[i] = i * 7;
    });
    ours.qp.postSend({
      wrId: 1,
      opcode: WrOpcode.RdmaWrite,
      sges: [{ mr: ours.mr }],
      remoteAddr: theirs.mr.iova,
      rkey: theirs.mr.rkey,
    });
    await success(ours.cq);
    expect(theirs.mr.bytes).toEqual(new Uint8Array(ours.mr.bytes));
    const far = theirs.device.portCounters;
    expect(far.npEcnMarkedRocePackets).toBeGreaterThan(0);
    expect(far.npCnpSent).toBeGreaterThan(0);
    const near = ours.device.portCounters;
    expect(near.rpCnpHandled).toBeGreaterThan(0);
    expect(near.rpCnpIgnored).toBe(0);
    const { rateBps = 0, alpha = 0 } = ours.qp.congestion ?? {};
    // Either the cut is still to be seen, or time has passed, in which alpha decays.
    expect(Math.min(rateBps / LINE_RATE_BPS, alpha)).toBeLessThan(1);
    // The far end reacts to nothing.
    expect(theirs.qp.congestion).toBeUndefined();
    ours.qp.destroy();
    expect(ours.qp.congestion).toBeUndefined();
  });

  it('says nothing of a queue pair that went with its device', async () => {
    const { ours } = await connectSides(cable);
    expect(ours.qp.congestion).toBeDefined();
    await cable.close();
    expect(ours.qp.congestion).toBeUndefined();
  });
});
