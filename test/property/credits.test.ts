/**
 * End-to-end credits with the smallest of receive queues. Goal: nothing is ever held up for good, everything arrives
 * once and in order, and on a good wire only the one packet beyond the limit is sent in vain. Method: two devices on a
 * simulated wire; work, queue sizes, faults and the laziness of the receiver drawn by fast-check.
 */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  Access,
  attachDevice,
  IpAddress,
  Medium,
  type Qp,
  QpState,
  WcStatus,
  WorkCompletion,
  World,
  WrOpcode,
} from '../../src/index.ts';
import { fcRuns } from '../transport/support/peer.ts';

const { Send, SendWithImm, RdmaWrite, RdmaWriteWithImm, RdmaRead } = WrOpcode;
const RECEIVED: readonly number[] = [Send, SendWithImm, RdmaWriteWithImm];

interface Scenario {
  readonly seed: number;
  readonly faults: { readonly loss: number; readonly duplicate: number; readonly reorder: number };
  readonly psn: number;
  /** Receives there is room for. */
  readonly room: number;
  /** The receiver posts what it has taken after so long. */
  readonly pauseNs: number;
  readonly rnrTimer: number;
  readonly work: readonly { readonly opcode: WrOpcode; readonly bytes: number }[];
}

const scenarioOf = (worst: number) => {
  const probability = fc.double({ min: 0, max: worst, noNaN: true });
  return fc.record<Scenario>({
    seed: fc.nat(0x7f_ff_ff_ff),
    faults: fc.record({ loss: probability, duplicate: probability, reorder: probability }),
    psn: fc.constantFrom(0, 0xff_ff_f8, 0x7f_ff_fa),
    room: fc.integer({ min: 1, max: 5 }),
    pauseNs: fc.constantFrom(1, 3_000, 50_000, 700_000),
    rnrTimer: fc.integer({ min: 1, max: 14 }),
    work: fc.array(
      fc.record({
        opcode: fc.constantFrom(Send, Send, SendWithImm, RdmaWrite, RdmaWriteWithImm, RdmaRead),
        bytes: fc.nat(1200),
      }),
      { minLength: 1, maxLength: 40 },
    ),
  });
};

const MTU = 256;
const SLOT = 1200;

function run(scenario: Scenario) {
  const { seed, faults, psn, room, pauseNs, rnrTimer, work } = scenario;
  const world = new World({ seed, medium: Medium.Ip, faults });
  const a = attachDevice(world, 'a', { addresses: ['10.0.0.1/24'] });
  const b = attachDevice(world, 'b', { addresses: ['10.0.0.2/24'] });
  const all = Access.LocalWrite | Access.RemoteWrite | Access.RemoteRead;
  const left = a.allocPd();
  const leftCq = a.createCq(1024);
  const source = left.regMr(SLOT);
  const from = left.createQp({ sendCq: leftCq, recvCq: leftCq });
  const right = b.allocPd();
  const rightCq = b.createCq(1024);
  const target = right.regMr(SLOT, { access: all });
  const to = right.createQp({ sendCq: rightCq, recvCq: rightCq, maxRecvWr: room });
  connect(from, to, '10.0.0.2', psn, rnrTimer, all);
  connect(to, from, '10.0.0.1', psn, rnrTimer, all);
  let posted = 0;
  const post = () => to.postRecv({ wrId: posted++, sges: [{ mr: target, length: SLOT }] });
  for (let i = 0; i < room; i++) post();
  const remote = { remoteAddr: target.iova, rkey: target.rkey };
  for (const [wrId, { opcode, bytes }] of work.entries())
    from.postSend({ wrId, opcode, sges: [{ mr: source, length: bytes }], immData: wrId, ...remote });
  const came: number[] = [];
  const wc = new WorkCompletion();
  /** When what was taken is posted again. */
  const due: number[] = [];
  for (let steps = 0; from.core.sendsOutstanding > 0; steps++) {
    expect(steps, 'everything comes to an end').toBeLessThan(20_000);
    if (!world.step()) {
      expect(due.length, 'somebody has something to do').toBeGreaterThan(0);
      world.runFor((due[0] ?? 0) - world.now);
    }
    while (rightCq.poll(wc)) {
      if (wc.status !== WcStatus.Success) continue;
      expect(wc.wrId).toBe(came.length);
      came.push(wc.byteLen);
      due.push(world.now + pauseNs);
    }
    for (; (due[0] ?? Infinity) <= world.now; due.shift()) if (to.state === QpState.Rts) post();
  }
  const sent: number[] = [];
  while (leftCq.poll(wc)) sent.push(wc.status);
  return { a, b, from, came, sent };
}

function connect(qp: Qp, peer: Qp, address: string, psn: number, minRnrTimer: number, access: number): void {
  qp.modifyNow({ state: QpState.Init, access });
  qp.modifyNow({
    state: QpState.Rtr,
    av: { destination: IpAddress.parse(address) },
    destQpn: peer.qpn,
    rqPsn: psn,
    mtu: MTU,
    maxDestRdAtomic: 4,
    minRnrTimer,
    flowControl: true,
  });
  qp.modifyNow({ state: QpState.Rts, sqPsn: psn, timeout: 8, retryCnt: 7, rnrRetry: 7, maxRdAtomic: 4 });
}

/** What the receiver must see of the work. */
const expectedOf = ({ work }: Scenario) =>
  work.filter(({ opcode }) => RECEIVED.includes(opcode)).map(({ bytes }) => bytes);

describe('end-to-end credits', () => {
  it('on a good wire hold nothing up for good, and waste one packet for each time that there is no receive', () => {
    fc.assert(
      fc.property(scenarioOf(0), (scenario) => {
        const { a, b, came, sent } = run(scenario);
        expect(sent).toEqual(scenario.work.map(() => WcStatus.Success));
        expect(came).toEqual(expectedOf(scenario));
        expect(a.portCounters.rcvdRnrErr).toBe(b.portCounters.sendRnrErr);
        // Behind the probe nothing is sent but what takes no receive, so nothing else has to be repeated in vain.
        const plain = scenario.work.every(({ opcode, bytes }) => RECEIVED.includes(opcode) && bytes <= MTU);
        if (plain) expect(a.portCounters.retransmittedPkts).toBeLessThanOrEqual(b.portCounters.sendRnrErr);
      }),
      { numRuns: fcRuns(200) },
    );
  });

  it('on a bad wire hold nothing up for good either: what does not arrive has run out of retries', () => {
    fc.assert(
      fc.property(scenarioOf(0.15), (scenario) => {
        const { from, came, sent } = run(scenario);
        const expected = expectedOf(scenario);
        expect(came).toEqual(expected.slice(0, came.length));
        if (from.state === QpState.Rts)
          expect([came.length, sent.length]).toEqual([expected.length, scenario.work.length]);
        else expect(sent.find((status) => status !== WcStatus.Success)).toBe(WcStatus.RetryExcErr);
      }),
      { numRuns: fcRuns(200) },
    );
  });
});
