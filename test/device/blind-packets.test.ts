/**
 * Goal: packets with a random PSN, from a station that knows addresses and queue pair numbers, cost a connection little
 * and never its life (ref:hostile#SEC-01, ref:hostile#SEC-11). Method: 100 messages of 32 packets in a simulated world,
 * and one forged packet for every so many of the requester's; what the honest two send is compared with an undisturbed
 * run.
 */
import { describe, expect, it } from 'vitest';
import { Op } from '../../packets/opcode.ts';
import { QpState, WcStatus, WorkCompletion, WrOpcode } from '../../src/index.ts';
import { MAX_PSN_WINDOW } from '../../transport/defences.ts';
import { Triangle, type TriangleOptions } from './attacker.ts';

const MESSAGES = 100;
const BYTES = 32 * 1024;
const NOTHING = { va: 0n, rkey: 0, length: 0 };

/** Round trips of 20 us, and of 104 us, which 128 packets of 1 KiB do not fill. */
const NEAR = {} as const;
const FAR = { faults: { rateBps: 10e9, delayNs: 50_000 } } as const;

interface Attack extends TriangleOptions {
  readonly opcode?: WrOpcode;
  /** Requests of the requester for each forged packet; absent: no attack. */
  readonly every?: number;
  readonly forge?: (triangle: Triangle) => void;
}

/** Works until all is done or the connection is lost. */
async function work({ opcode = WrOpcode.RdmaWrite, every = 0, forge = forgeWrite, ...options }: Attack) {
  const triangle = await new Triangle(options).connect();
  const { world, left, right, requester, responder } = triangle;
  let requests = 0;
  triangle.onRequest = () => {
    requests += 1;
    if (every > 0 && requests % every === 0) forge(triangle);
  };
  const remote = { remoteAddr: right.mr.iova, rkey: right.mr.rkey };
  for (let wrId = 0; wrId < MESSAGES; wrId++) right.qp.postRecv({ wrId, sges: [{ mr: right.mr, length: BYTES }] });
  for (let wrId = 0; wrId < MESSAGES; wrId++)
    left.qp.postSend({ wrId, opcode, sges: [{ mr: left.mr, length: BYTES }], ...remote });
  world.runFor(20e9, { done: () => left.cq.length === MESSAGES });
  const finishedAt = world.now;
  const wc = new WorkCompletion();
  let completed = 0;
  while (left.cq.poll(wc)) if (wc.status === WcStatus.Success) completed += 1;
  const { frames, attacker } = triangle;
  return {
    ...{ frames, completed, finishedAt, forged: attacker.sent, alive: left.qp.state === QpState.Rts },
    ...{ requester: requester.portCounters, responder: responder.portCounters },
  };
}

function forgeWrite({ attacker, requester, responder, right }: Triangle): void {
  attacker.forge({ opcode: Op.WriteOnly, psn: attacker.anyPsn(), reth: NOTHING }, requester, responder, right.qp);
}

describe('SEC-01 requests with a random PSN', () => {
  it.each([
    ['WRITEs', NEAR, WrOpcode.RdmaWrite],
    ['WRITEs over a longer way', FAR, WrOpcode.RdmaWrite],
    ['SENDs', NEAR, WrOpcode.Send],
    ['READs', NEAR, WrOpcode.RdmaRead],
  ])(
    '1 in 10 of them cost %s half as many frames again at most, and 1 in 3 not the connection',
    async (_, way, opcode) => {
      const calm = await work({ ...way, opcode });
      expect(calm).toMatchObject({ completed: MESSAGES, responder: { psnOutsideWindow: 0, outOfSeqRequest: 0 } });
      for (const [every, factor] of [
        [100, 1.5],
        [10, 1.5],
        [3, 1.6],
      ] as const) {
        const { frames, completed, alive } = await work({ ...way, opcode, every });
        expect([every, completed, alive]).toEqual([every, MESSAGES, true]);
        expect(frames / calm.frames).toBeLessThan(factor);
      }
    },
  );

  it('are counted by the responder, nearly all of them as outside of its window', async () => {
    const { forged, responder, requester } = await work({ every: 3 });
    expect(forged).toBeGreaterThan(1000);
    expect(responder.psnOutsideWindow).toBeGreaterThan(0.98 * forged);
    expect(responder.outOfSeqRequest).toBeLessThan(20);
    expect(requester.retryExceededErr).toBe(0);
  });

  it('make a requester go back once in a round trip, where the responder refuses every one', async () => {
    const responder = { defences: { psnWindow: MAX_PSN_WINDOW } };
    const { completed, requester } = await work({ ...FAR, responder, every: 3 });
    expect(completed).toBe(MESSAGES);
    expect(requester.earlyNak).toBeGreaterThan(5 * requester.rcvdSeqErr);
    expect(requester.retransmittedPkts).toBeLessThanOrEqual(128 * requester.rcvdSeqErr);
  });
});

describe('SEC-11 an honest connection over a wire that loses, doubles and reorders', () => {
  it('waits a round trip for what is lost twice, and no ACK timeout', async () => {
    // An ACK timeout is 67 ms here.
    const { completed, finishedAt, requester } = await work({
      faults: { rateBps: 10e9, loss: 0.01, duplicate: 0.01, reorder: 0.01, corrupt: 0.002 },
    });
    expect([completed, requester.localAckTimeoutErr]).toEqual([MESSAGES, 0]);
    expect(requester.earlyNak).toBeGreaterThan(20);
    expect(finishedAt).toBeLessThan(50e6);
  });
});

describe('SEC-11 responses with a random PSN', () => {
  it.each([
    ['sequence NAKs', 0x60],
    ['NAKs of remote access', 0x62],
    ['RNR NAKs', 0x2a],
    ['ACKs', 0x1f],
  ])('%s, one for every packet, change nothing', async (_, syndrome) => {
    const calm = await work({});
    const forge = ({ attacker, requester, responder, left }: Triangle) =>
      attacker.forge(
        { opcode: Op.Acknowledge, psn: attacker.anyPsn(), syndrome, msn: 0 },
        responder,
        requester,
        left.qp,
      );
    const { frames, completed, forged, requester } = await work({ every: 1, forge });
    expect([frames, completed]).toEqual([calm.frames, MESSAGES]);
    // Those that are old by less than the window are ghosts like any other.
    expect(requester.responseOutsideWindow).toBeGreaterThan(0.98 * forged);
    expect(requester.ignoredResponse).toBe(forged);
  });
});
