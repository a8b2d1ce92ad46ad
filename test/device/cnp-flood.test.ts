/**
 * Goal: notifications that no honest receiver sends do not slow a flow down (ref:hostile#SEC-13). Method: WRITEs at
 * 1 Gb/s in a simulated world; forged CNPs for every frame of the requester.
 */
import { describe, expect, it } from 'vitest';
import { Op } from '../../packets/opcode.ts';
import { WorkCompletion, WrOpcode } from '../../src/index.ts';
import { Triangle } from './attacker.ts';

const HALF_NS = 20_000_000;
const LINE_RATE = 1e9;
const BYTES = 32 * 1024;

/** Megabits a second that the requester sends in the second half of 40 ms, with so many CNPs forged for each frame. */
async function rateUnder(forged: number, profile: 'paper' | 'mlx') {
  const reaction = { kind: 'dcqcn', profile } as const;
  const requesting = { congestion: { reaction, notification: false, lineRateBps: LINE_RATE } } as const;
  const triangle = await new Triangle({ faults: { rateBps: LINE_RATE }, requester: requesting }).connect();
  const { world, left, right, requester, responder, attacker } = triangle;
  triangle.onRequest = () => {
    for (let i = 0; i < forged; i++) attacker.forge({ opcode: Op.Cnp, psn: 0, becn: 1 }, responder, requester, left.qp);
  };
  const remote = { remoteAddr: right.mr.iova, rkey: right.mr.rkey };
  const wc = new WorkCompletion();
  let posted = 0;
  const work = () => {
    while (left.cq.poll(wc)) posted -= 1;
    for (; posted < 16; posted++)
      left.qp.postSend({ wrId: posted, opcode: WrOpcode.RdmaWrite, sges: [{ mr: left.mr, length: BYTES }], ...remote });
    return false;
  };
  work();
  world.runFor(HALF_NS, { done: work });
  const { sentPkts } = requester.portCounters;
  world.runFor(HALF_NS, { done: work });
  const mbps = ((requester.portCounters.sentPkts - sentPkts) * 1024 * 8 * 1e3) / HALF_NS;
  return { mbps, forged: attacker.sent, counters: requester.portCounters };
}

describe.each(['paper', 'mlx'] as const)('SEC-13 a flow of profile %s', (profile) => {
  it('keeps most of its rate when three CNPs are forged for each of its frames', async () => {
    const calm = await rateUnder(0, profile);
    const { mbps, counters, forged } = await rateUnder(3, profile);
    expect(calm.mbps).toBeGreaterThan(900);
    expect(mbps).toBeGreaterThan(0.8 * calm.mbps);
    expect(counters.rpCnpExcess).toBeGreaterThan(0.98 * forged);
  });
});
