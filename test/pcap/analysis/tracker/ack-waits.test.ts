/**
 * Goal: without connection management a timeout is told only where the requester has not shown that it waits longer.
 * Method: conversations by hand, as rdma_rxe guests had them.
 */
import { expect, it } from 'vitest';
import { Op } from '../../../../packets/opcode.ts';
import { Script } from './script.ts';

/** Waits of the timeouts that are told, in milliseconds. */
const timeoutsOf = (script: Script): number[] =>
  script
    .analyze()
    .events.filter(({ kind }) => kind === 'timeout')
    .map(({ durationNs }) => Math.round(durationNs / 1e6));

const begun = () => new Script().sends(0, 0).ack(0);

it('a wait of less than half of the longest before is no timeout', () => {
  const script = (ms: number) =>
    begun()
      .sends(1, 3)
      .wait(200e6)
      .sends(1, 3)
      .ack(3)
      .sends(4, 5)
      .wait(ms * 1e6)
      .sends(4, 5);
  expect(timeoutsOf(script(90).ack(5))).toEqual([200]);
  expect(timeoutsOf(script(110).ack(5))).toEqual([200, 110]);
});

it('a request that was answered late, and not sent again, shows the same', () => {
  const script = (ms: number) => {
    const quick = new Script();
    // The usual round trip is short.
    for (let psn = 0; psn < 10; psn++) quick.sends(psn, psn).ack(psn);
    const waits = quick.sends(10, 10).wait(100e6).ack(10).sends(11, 12);
    return waits
      .wait(ms * 1e6)
      .sends(11, 12)
      .ack(12);
  };
  expect(timeoutsOf(script(40))).toEqual([]);
  expect(timeoutsOf(script(60))).toEqual([60]);
});

it('timeouts one after the other may take longer each time, and show nothing', () => {
  const script = begun().sends(1, 2).wait(8e6).sends(1, 2).wait(30e6).sends(1, 2).ack(2);
  expect(timeoutsOf(script.sends(3, 4).wait(8e6).sends(3, 4).ack(4))).toEqual([8, 30, 8]);
});

it('a requester waits from its last answer, whatever it has sent again for a NAK since', () => {
  const script = begun().sends(1, 4).nak(1).wait(10e6).sends(1, 4).wait(60e6).sends(1, 4).ack(4);
  expect(timeoutsOf(script)).toEqual([70]);
});

it('answers to a READ that came before are answers, too', () => {
  const script = begun().read(1, 4).answers(1, 4, [2]).wait(30e6).read(1, 4).wait(30e6).answers(1, 4, [2]).wait(20e6);
  expect(timeoutsOf(script.a(Op.ReadRequest, 2, { length: 3000 }).answers(2, 4))).toEqual([30]);
});
